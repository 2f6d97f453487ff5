/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-info.c - nnhal info: what a .tflite file says of itself */
#include "kinds.h"
#include "labels.h"
#include "text.h"
#include "tool.h"

#include <nnhal/tflite-info.h>

#include <cjson/cJSON.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct info_options {
    bool is_json;
};

#define TOOL_VALUES struct info_options
static const struct tool_usage info_usage = {
#include "options/info.def"
};

enum { SHOWN_LABELS = 3 };

static const char *name_of(const void *info, uint32_t i)
{
    return nnhal_tflite_info_operation(info, i);
}

static uint32_t count_kinds(const struct nnhal_tflite_info *info, struct kind **ret_kinds)
{
    return kinds_count(name_of, info, nnhal_tflite_info_n_operations(info), ret_kinds);
}

static void print_text(const char *before, const char *text, const char *behind)
{
    if (!*text)
        return;
    fputs(before, stdout);
    text_print(text);
    fputs(behind, stdout);
}

static void print_numbers(const float *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        printf("%s%g", i ? ", " : "", (double)values[i]);
}

static void print_labels(const struct nnhal_tflite_info *info, uint32_t output, uint32_t n)
{
    const struct labels labels = {.info = info};
    char text[LABEL_BYTES];

    printf("    %u labels:", n);
    for (uint32_t i = 0; i < n && i < SHOWN_LABELS; i++)
        printf("%s %s", i ? "," : "", labels_name(&labels, output, i, text));
    puts(n > SHOWN_LABELS ? ", ..." : "");
}

static void print_tensor(const struct nnhal_tflite_description *tensor, uint32_t index)
{
    printf("  %u ", index);
    text_print(*tensor->name ? tensor->name : "(without a name)");
    printf(": %s [", tensor->type);
    for (uint32_t k = 0; k < tensor->n_dimensions; k++)
        printf("%s%u", k ? ", " : "", tensor->dimensions[k]);
    printf("]");
    if (tensor->scale > 0)
        printf(", scale %g, zero point %d", (double)tensor->scale, tensor->zero_point);
    putchar('\n');
    print_text("    ", tensor->title, "\n");
    print_text("    ", tensor->text, "\n");
    if (tensor->sample_rate)
        printf("    sound: %u samples a second, %u channel%s\n", tensor->sample_rate,
               tensor->n_channels, tensor->n_channels == 1 ? "" : "s");
    if (!tensor->n_means)
        return;
    printf("    normalized: (value - mean) / deviation, mean ");
    print_numbers(tensor->means, tensor->n_means);
    printf(", deviation ");
    print_numbers(tensor->deviations, tensor->n_means);
    putchar('\n');
}

static void print_info(const struct nnhal_tflite_info *info, const char *path)
{
    const struct nnhal_tflite_origin *origin = nnhal_tflite_info_origin(info);
    struct kind *kinds;
    uint32_t n;

    printf("%s\n", path);
    print_text("  ", origin->name, "\n");
    print_text("  ", origin->text, "\n");
    print_text("  version ", origin->version, "\n");
    print_text("  by ", origin->author, "\n");
    print_text("  license: ", origin->license, "\n");
    puts("inputs:");
    for (uint32_t i = 0; i < nnhal_tflite_info_n_inputs(info); i++)
        print_tensor(nnhal_tflite_info_input(info, i), i);
    puts("outputs:");
    for (uint32_t i = 0; i < nnhal_tflite_info_n_outputs(info); i++) {
        print_tensor(nnhal_tflite_info_output(info, i), i);
        if (nnhal_tflite_info_output(info, i)->n_labels)
            print_labels(info, i, nnhal_tflite_info_output(info, i)->n_labels);
    }
    printf("operations: %u\n", nnhal_tflite_info_n_operations(info));
    n = count_kinds(info, &kinds);
    for (uint32_t i = 0; i < n; i++) {
        printf("  %4u ", kinds[i].n);
        text_print(kinds[i].name);
        putchar('\n');
    }
    free(kinds);
}

static cJSON *tensor_to_json(const struct nnhal_tflite_description *tensor)
{
    cJSON *entry = cJSON_CreateObject(), *dimensions = cJSON_CreateArray();

    text_add_to_json(entry, "name", tensor->name);
    cJSON_AddStringToObject(entry, "type", tensor->type);
    for (uint32_t k = 0; k < tensor->n_dimensions; k++)
        cJSON_AddItemToArray(dimensions, cJSON_CreateNumber(tensor->dimensions[k]));
    cJSON_AddItemToObject(entry, "dimensions", dimensions);
    if (tensor->scale > 0) {
        cJSON_AddNumberToObject(entry, "scale", (double)tensor->scale);
        cJSON_AddNumberToObject(entry, "zero_point", tensor->zero_point);
    }
    if (*tensor->title)
        text_add_to_json(entry, "title", tensor->title);
    if (*tensor->text)
        text_add_to_json(entry, "text", tensor->text);
    if (tensor->sample_rate) {
        cJSON_AddNumberToObject(entry, "sample_rate", tensor->sample_rate);
        cJSON_AddNumberToObject(entry, "channels", tensor->n_channels);
    }
    if (tensor->n_means) {
        cJSON_AddItemToObject(entry, "mean",
                              cJSON_CreateFloatArray(tensor->means, (int)tensor->n_means));
        cJSON_AddItemToObject(entry, "deviation",
                              cJSON_CreateFloatArray(tensor->deviations, (int)tensor->n_means));
    }
    return entry;
}

static cJSON *labels_to_json(const struct nnhal_tflite_info *info, uint32_t output)
{
    const struct labels labels = {.info = info};
    cJSON *list = cJSON_CreateArray();
    char text[LABEL_BYTES];

    for (uint32_t i = 0; i < nnhal_tflite_info_output(info, output)->n_labels; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(labels_name(&labels, output, i, text)));
    return list;
}

static cJSON *output_to_json(const struct nnhal_tflite_info *info, uint32_t output)
{
    const struct nnhal_tflite_description *tensor = nnhal_tflite_info_output(info, output);
    cJSON *entry = tensor_to_json(tensor);

    if (tensor->n_labels)
        cJSON_AddItemToObject(entry, "labels", labels_to_json(info, output));
    return entry;
}

static cJSON *info_to_json(const struct nnhal_tflite_info *info, const char *path)
{
    const struct nnhal_tflite_origin *origin = nnhal_tflite_info_origin(info);
    cJSON *root = cJSON_CreateObject(), *inputs = cJSON_CreateArray();
    cJSON *outputs = cJSON_CreateArray(), *operations = cJSON_CreateObject();
    struct kind *kinds;
    uint32_t n;

    cJSON_AddStringToObject(root, "model", path);
    text_add_to_json(root, "name", origin->name);
    text_add_to_json(root, "text", origin->text);
    text_add_to_json(root, "version", origin->version);
    text_add_to_json(root, "author", origin->author);
    text_add_to_json(root, "license", origin->license);
    for (uint32_t i = 0; i < nnhal_tflite_info_n_inputs(info); i++)
        cJSON_AddItemToArray(inputs, tensor_to_json(nnhal_tflite_info_input(info, i)));
    for (uint32_t i = 0; i < nnhal_tflite_info_n_outputs(info); i++)
        cJSON_AddItemToArray(outputs, output_to_json(info, i));
    n = count_kinds(info, &kinds);
    for (uint32_t i = 0; i < n; i++) {
        char *name = strdup(kinds[i].name);

        if (name)
            cJSON_AddNumberToObject(operations, text_make_plain(name), kinds[i].n);
        free(name);
    }
    free(kinds);
    cJSON_AddItemToObject(root, "inputs", inputs);
    cJSON_AddItemToObject(root, "outputs", outputs);
    cJSON_AddItemToObject(root, "operations", operations);
    return root;
}

static void print_json(const struct nnhal_tflite_info *info, const char *path)
{
    cJSON *root = info_to_json(info, path);
    char *text = cJSON_Print(root);

    puts(text ? text : "{}");
    free(text);
    cJSON_Delete(root);
}

static int info_command(int argc, char **argv)
{
    struct info_options o = {0};
    int status = tool_parse(argc, argv, &info_usage, &o);
    struct nnhal_tflite_info *info = NULL;
    char message[256];

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    if (nnhal_tflite_info_read(argv[optind], &info, message, sizeof(message)) < 0)
        return tool_error(TOOL_BAD_FILE, "%s: %s", argv[optind], text_make_plain(message));
    tool_complain(info, argv[optind]);
    if (o.is_json)
        print_json(info, argv[optind]);
    else
        print_info(info, argv[optind]);
    nnhal_tflite_info_free(info);
    return TOOL_OK;
}

const struct tool_command cmd_info = {&info_usage, info_command};
