/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "parts/parts.h"
#include "text.h"
#include "tool.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <string.h>

enum { MAX_COMPLAINT_BYTES = 8192 };

static bool read_part(const struct session *session, uint32_t number, struct part_told *ret_part)
{
    bool is_there = part_read(session->compilation, session->execution, number, ret_part);

    text_make_plain(ret_part->why);
    return is_there;
}

int session_check_devices(struct session *session)
{
    struct nnhal_part_info first = {.size = sizeof(first)};
    char text[MAX_COMPLAINT_BYTES];

    nnhal_compilation_get_device(session->compilation, &session->device);
    nnhal_execution_get_part(session->execution, 0, &first);
    if (first.n_parts == 1)
        session->device = first.device;
    if (session->options.device ||
        parts_keep_promise(session->compilation, session->execution, text, sizeof(text)))
        return TOOL_OK;
    return tool_error(TOOL_FAILED, "%s; --device nnapi-reference asks for it",
                      text_make_plain(text));
}

/* -- as text ------------------------------------------------------------------------------- */

void session_put_device(const ANeuralNetworksDevice *device, char *text, size_t size)
{
    struct nnhal_where where = {.size = sizeof(where)};
    const char *name = "?";

    ANeuralNetworksDevice_getName(device, &name);
    if (nnhal_device_get_where(device, &where) != ANEURALNETWORKS_NO_ERROR)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "%s, %s, pid %d", name, where.way_name, where.pid);
}

void session_where(const struct session *session, char *text, size_t size)
{
    struct part_told part;
    char where[512];

    session_put_device(session->device, where, sizeof(where));
    if (read_part(session, 0, &part) && part.n_parts > 1)
        snprintf(text, size, "in %u parts", part.n_parts);
    else
        snprintf(text, size, "on %s", where);
}

static void print_substitute(const struct part_told *part, uint32_t number)
{
    char where[512];

    session_put_device(part->device, where, sizeof(where));
    if (part->n_parts > 1)
        printf("  part %u computed on %s, because %s\n", number + 1, where, part->why);
    else
        printf("  computed on %s, because %s\n", where, part->why);
}

static void print_part(const struct part_told *part, uint32_t number)
{
    char where[512];

    session_put_device(part->device, where, sizeof(where));
    printf("  part %u: %u operation%s on %s%s%s\n", number + 1, part->n_operations,
           part->n_operations == 1 ? "" : "s", where, part->why[0] ? ", because " : "", part->why);
}

void session_print_parts(const struct session *session)
{
    struct part_told part;

    for (uint32_t i = 0; read_part(session, i, &part); i++) {
        if (part.n_parts > 1)
            print_part(&part, i);
        else if (part.device != part.planned)
            print_substitute(&part, i);
    }
}

void session_print_substitutes(const struct session *session)
{
    struct part_told part;

    for (uint32_t i = 0; read_part(session, i, &part); i++)
        if (part.device != part.planned)
            print_substitute(&part, i);
}

/* -- as JSON ------------------------------------------------------------------------------- */

void session_device_to_json(const ANeuralNetworksDevice *device, cJSON *object)
{
    struct nnhal_where where = {.size = sizeof(where)};
    const char *name = "";

    ANeuralNetworksDevice_getName(device, &name);
    cJSON_AddStringToObject(object, "device", name);
    if (nnhal_device_get_where(device, &where) != ANEURALNETWORKS_NO_ERROR)
        return;
    cJSON_AddStringToObject(object, "mode", where.way_name);
    cJSON_AddNumberToObject(object, "pid", where.pid);
}

static void part_to_json(const struct part_told *part, cJSON *parts)
{
    cJSON *object = cJSON_CreateObject();

    session_device_to_json(part->device, object);
    cJSON_AddNumberToObject(object, "operations", part->n_operations);
    if (part->device != part->planned)
        cJSON_AddStringToObject(object, "failure", part->why);
    else if (part->why[0])
        cJSON_AddStringToObject(object, "why", part->why);
    cJSON_AddItemToArray(parts, object);
}

void session_devices_to_json(const struct session *session, cJSON *root)
{
    cJSON *parts = NULL;
    struct part_told part;

    session_device_to_json(session->device, root);
    for (uint32_t i = 0; read_part(session, i, &part); i++) {
        if (part.device != part.planned && !cJSON_HasObjectItem(root, "failure"))
            cJSON_AddStringToObject(root, "failure", part.why);
        if (part.n_parts == 1)
            continue;
        if (!parts)
            parts = cJSON_AddArrayToObject(root, "parts");
        part_to_json(&part, parts);
    }
}
