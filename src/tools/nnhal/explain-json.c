/* SPDX-License-Identifier: Apache-2.0 */
/* explain-json.c - all of a plan, for programs */
#include "explanation.h"

#include "parts/parts.h"
#include "text.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>

static void add_ms(cJSON *object, const char *key, uint64_t ns)
{
    cJSON_AddNumberToObject(object, key, (double)ns / 1e6);
}

static void add_numbers(cJSON *object, const char *key, struct operations list)
{
    cJSON *numbers = cJSON_AddArrayToObject(object, key);

    for (uint32_t i = 0; i < list.n; i++)
        cJSON_AddItemToArray(numbers, cJSON_CreateNumber(list.numbers[i]));
}

static void add_operations(const struct explanation *e, cJSON *root)
{
    cJSON *list = cJSON_AddArrayToObject(root, "operations");

    for (uint32_t i = 0; i < e->plan.n_operations; i++) {
        cJSON *entry = cJSON_CreateObject();

        text_add_to_json(entry, "name", explanation_name(e, i));
        cJSON_AddNumberToObject(entry, "of", nnhal_tflite_origin(e->session->net, i));
        cJSON_AddItemToArray(list, entry);
    }
}

/* -- parts --------------------------------------------------------------------------------- */

static void add_expected(const struct nnhal_plan_part *part, cJSON *entry)
{
    cJSON *expected = cJSON_AddObjectToObject(entry, "expected");

    add_ms(expected, "total_ms", part->compute_ns + part->launch_ns + part->move_ns);
    add_ms(expected, "compute_ms", part->compute_ns);
    add_ms(expected, "launch_ms", part->launch_ns);
    add_ms(expected, "move_ms", part->move_ns);
    cJSON_AddNumberToObject(expected, "move_bytes", (double)part->move_bytes);
}

static void add_cost(const struct explanation *e, uint32_t number, cJSON *entry)
{
    struct nnhal_part_cost cost;
    cJSON *measured;

    if (!explanation_cost(e, number, &cost))
        return;
    measured = cJSON_AddObjectToObject(entry, "measured");
    cJSON_AddNumberToObject(measured, "computations", (double)cost.n_computations);
    add_ms(measured, "total_ms", cost.total_ns);
    if (!cost.compute_ns)
        return;
    add_ms(measured, "compute_ms", cost.compute_ns);
    add_ms(measured, "launch_ms", cost.launch_ns);
    add_ms(measured, "move_ms", cost.move_ns);
}

static void add_reason(const struct explanation *e, uint32_t number, cJSON *entry)
{
    struct part_told told;

    if (!part_read(e->session->compilation, e->session->execution, number, &told) || !told.why[0])
        return;
    if (told.device != told.planned)
        cJSON_AddStringToObject(entry, "computed_on", explanation_device_name(told.device));
    text_add_to_json(entry, told.device != told.planned ? "failure" : "why", told.why);
}

static void add_part(const struct explanation *e, uint32_t number, cJSON *list)
{
    const struct nnhal_plan_part *part = &e->plan.parts[number];
    cJSON *entry = cJSON_CreateObject();

    cJSON_AddNumberToObject(entry, "part", number + 1);
    session_device_to_json(part->device, entry);
    cJSON_AddNumberToObject(entry, "wave", part->wave + 1);
    add_numbers(entry, "operations",
                (struct operations){part->n_operations, (uint32_t *)(uintptr_t)part->operations});
    add_expected(part, entry);
    add_cost(e, number, entry);
    add_reason(e, number, entry);
    cJSON_AddItemToArray(list, entry);
}

static void add_moves(const struct explanation *e, cJSON *root)
{
    cJSON *list = cJSON_AddArrayToObject(root, "moves");
    struct nnhal_part_move *moves;
    uint32_t n = explanation_moves(e, &moves);

    for (uint32_t i = 0; i < n; i++) {
        cJSON *entry = cJSON_CreateObject();

        cJSON_AddNumberToObject(entry, "from", moves[i].from + 1);
        cJSON_AddNumberToObject(entry, "to", moves[i].to + 1);
        cJSON_AddNumberToObject(entry, "bytes", (double)moves[i].n_bytes);
        cJSON_AddItemToArray(list, entry);
    }
    free(moves);
}

/* -- devices --------------------------------------------------------------------------------- */

static void add_said(const struct said *said, cJSON *list)
{
    static const char *const names[] = {
        [NNHAL_VERDICT_UNASKED] = "unasked",         [NNHAL_VERDICT_TAKEN] = "taken",
        [NNHAL_VERDICT_UNSUPPORTED] = "unsupported", [NNHAL_VERDICT_TOO_OLD] = "too_old",
        [NNHAL_VERDICT_UNREACHED] = "unreached",     [NNHAL_VERDICT_REFUSED] = "refused",
    };
    cJSON *entry = cJSON_CreateObject();

    cJSON_AddStringToObject(entry, "verdict",
                            said->verdict < sizeof(names) / sizeof(names[0]) ? names[said->verdict]
                                                                             : "?");
    add_numbers(entry, "operations", said->list);
    if (said->why[0])
        text_add_to_json(entry, "why", said->why);
    cJSON_AddItemToArray(list, entry);
}

static void add_device(const struct explanation *e, const struct nnhal_plan_device *device,
                       cJSON *list)
{
    cJSON *entry = cJSON_CreateObject(), *verdicts;
    struct said *said;
    uint32_t n = explanation_said(e, device, &said);

    cJSON_AddStringToObject(entry, "device", explanation_device_name(device->device));
    cJSON_AddStringToObject(entry, "judged_by", explanation_source(device->source, true));
    verdicts = cJSON_AddArrayToObject(entry, "verdicts");
    for (uint32_t i = 0; i < n; i++)
        add_said(&said[i], verdicts);
    explanation_said_free(said, n);
    cJSON_AddItemToArray(list, entry);
}

void explanation_print_json(const struct explanation *e)
{
    cJSON *root = cJSON_CreateObject(), *parts, *devices;
    char *text;

    text_add_to_json(root, "model", e->session->options.model);
    add_operations(e, root);
    cJSON_AddNumberToObject(root, "parts_before_merging", e->plan.n_before);
    add_ms(root, "expected_ms", e->plan.expected_ns);
    if (e->run_ns) {
        cJSON_AddNumberToObject(root, "runs", e->n_runs);
        add_ms(root, "median_ms", e->run_ns);
    }
    parts = cJSON_AddArrayToObject(root, "parts");
    for (uint32_t i = 0; i < e->plan.n_parts; i++)
        add_part(e, i, parts);
    add_moves(e, root);
    devices = cJSON_AddArrayToObject(root, "devices");
    for (uint32_t i = 0; i < e->plan.n_devices; i++)
        add_device(e, &e->plan.devices[i], devices);
    text = cJSON_Print(root);
    puts(text ? text : "{}");
    free(text);
    cJSON_Delete(root);
}
