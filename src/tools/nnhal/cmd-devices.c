/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-devices.c - nnhal devices: what there is and how it is reached */
#include "figures.h"
#include "text.h"
#include "tool.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>

struct devices_options {
    bool is_calibrating, is_missing_alone, is_all, is_json;
};

#define TOOL_VALUES struct devices_options
static const struct tool_usage devices_usage = {
#include "options/devices.def"
};

struct device_facts {
    ANeuralNetworksDevice *device;
    const char *name, *version;
    int32_t type;
    int64_t level;
    struct nnhal_where where;
};

static const char *type_name(int32_t type)
{
    static const char *const names[] = {"unknown", "other", "CPU", "GPU", "accelerator"};

    return type >= 0 && type < 5 ? names[type] : names[0];
}

/* 27..31 are levels 1 to 5; from 1000006 on the level is the last digit. */
static int level_number(int64_t level)
{
    return (int)(level >= 1000000 ? level - 1000000 : level - 26);
}

static struct device_facts facts_of(uint32_t index)
{
    struct device_facts facts = {
        .name = "?", .version = "?", .where = {.size = sizeof(facts.where)}};
    ANeuralNetworksDevice *device = NULL;

    ANeuralNetworks_getDevice(index, &device);
    ANeuralNetworksDevice_getName(device, &facts.name);
    ANeuralNetworksDevice_getVersion(device, &facts.version);
    ANeuralNetworksDevice_getType(device, &facts.type);
    ANeuralNetworksDevice_getFeatureLevel(device, &facts.level);
    nnhal_device_get_where(device, &facts.where);
    facts.device = device;
    return facts;
}

static void print_text(uint32_t n)
{
    printf("%-20s %-12s %-6s %-9s %-8s %s\n", "NAME", "TYPE", "LEVEL", "REACHED", "PID", "AT");
    for (uint32_t i = 0; i < n; i++) {
        struct device_facts facts = facts_of(i);

        printf("%-20s %-12s %-6d %-9s %-8d ", facts.name, type_name(facts.type),
               level_number(facts.level), facts.where.way_name, facts.where.pid);
        text_print(*facts.where.path ? facts.where.path : "(built in)");
        putchar('\n');
    }
}

enum { SENTENCE_BYTES = 1024 };

static void print_left_out(void)
{
    char text[SENTENCE_BYTES];

    for (uint32_t i = 0; nnhal_get_left_out(i, text, sizeof(text)) > 0; i++)
        printf("%s\n", text_make_plain(text));
}

static void add_left_out(cJSON *list)
{
    char text[SENTENCE_BYTES];

    for (uint32_t i = 0; nnhal_get_left_out(i, text, sizeof(text)) > 0; i++) {
        cJSON *entry = cJSON_CreateObject();

        text_add_to_json(entry, "left_out", text);
        cJSON_AddItemToArray(list, entry);
    }
}

static void print_json(uint32_t n, bool is_all)
{
    cJSON *list = cJSON_CreateArray();
    char *text;

    for (uint32_t i = 0; i < n; i++) {
        struct device_facts facts = facts_of(i);
        cJSON *entry = cJSON_CreateObject(), *figures = figures_to_json(facts.device);

        cJSON_AddStringToObject(entry, "name", facts.name);
        cJSON_AddStringToObject(entry, "version", facts.version);
        cJSON_AddStringToObject(entry, "type", type_name(facts.type));
        cJSON_AddNumberToObject(entry, "feature_level", (double)facts.level);
        cJSON_AddStringToObject(entry, "mode", facts.where.way_name);
        cJSON_AddNumberToObject(entry, "pid", facts.where.pid);
        cJSON_AddStringToObject(entry, "path", facts.where.path);
        if (figures)
            cJSON_AddItemToObject(entry, "figures", figures);
        cJSON_AddItemToArray(list, entry);
    }
    if (is_all)
        add_left_out(list);
    text = cJSON_Print(list);
    puts(text ? text : "[]");
    free(text);
    cJSON_Delete(list);
}

static int devices_command(int argc, char **argv)
{
    struct devices_options o = {0};
    uint32_t n = 0;
    int status = tool_parse(argc, argv, &devices_usage, &o);

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (o.is_calibrating || o.is_missing_alone)
        status = figures_measure(!o.is_calibrating);
    ANeuralNetworks_getDeviceCount(&n);
    if (o.is_json)
        print_json(n, o.is_all);
    else
        print_text(n);
    if (o.is_all && !o.is_json)
        print_left_out();
    if ((o.is_calibrating || o.is_missing_alone) && !o.is_json)
        figures_print();
    return status;
}

const struct tool_command cmd_devices = {&devices_usage, devices_command};
