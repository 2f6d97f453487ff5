/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/parts.h"

#include <nnhal/ext.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = ANEURALNETWORKS_NO_ERROR };

static const char *name_of(const ANeuralNetworksDevice *device)
{
    const char *name = "?";

    ANeuralNetworksDevice_getName(device, &name);
    return name;
}

static bool is_reference(const ANeuralNetworksDevice *device)
{
    return strcmp(name_of(device), "nnapi-reference") == 0;
}

/* -- why ---------------------------------------------------------------------------------- */

static bool is_taken(const struct nnhal_plan_device *device, uint32_t operation)
{
    return device->verdicts[operation] == NNHAL_VERDICT_TAKEN ||
           device->verdicts[operation] == NNHAL_VERDICT_UNASKED;
}

/* Whether no driver takes an operation; *ret_speaker: one that said why, or NULL. */
static bool is_left_over(const struct nnhal_plan *plan, uint32_t operation,
                         const struct nnhal_plan_device **ret_speaker)
{
    *ret_speaker = NULL;
    for (uint32_t d = 0; d < plan->n_devices; d++) {
        const struct nnhal_plan_device *device = &plan->devices[d];

        if (is_reference(device->device))
            continue;
        if (is_taken(device, operation))
            return false;
        if (!*ret_speaker && device->why[0])
            *ret_speaker = device;
    }
    return true;
}

/* Why nnapi-reference is planned for a part. */
static void explain_reference(const struct nnhal_plan *plan, const struct nnhal_plan_part *planned,
                              struct part_told *part)
{
    for (uint32_t i = 0; i < planned->n_operations; i++) {
        const struct nnhal_plan_device *speaker;

        if (!is_left_over(plan, planned->operations[i], &speaker))
            continue;
        snprintf(part->why, sizeof(part->why), "no driver takes operation %u%s%s%s%s",
                 planned->operations[i], speaker ? "; " : "",
                 speaker ? name_of(speaker->device) : "", speaker ? ": " : "",
                 speaker ? speaker->why : "");
        return;
    }
    snprintf(part->why, sizeof(part->why), "the plan expects the least cost so");
}

/* -- a part --------------------------------------------------------------------------------- */

/* As it was computed last. Returns: false if no execution has succeeded. */
static bool read_computed(const ANeuralNetworksExecution *execution, uint32_t number,
                          struct part_told *part)
{
    struct nnhal_part_info info = {.size = sizeof(info)};

    if (!execution || nnhal_execution_get_part(execution, number, &info) != OK)
        return false;
    part->n_parts = info.n_parts;
    part->device = info.device;
    part->planned = info.planned;
    if (info.device != info.planned && info.why[0])
        snprintf(part->why, sizeof(part->why), "%s failed: %s", name_of(info.planned), info.why);
    else if (info.device != info.planned)
        snprintf(part->why, sizeof(part->why), "branches of the part were planned for it");
    return true;
}

bool part_read(const ANeuralNetworksCompilation *compilation,
               const ANeuralNetworksExecution *execution, uint32_t number,
               struct part_told *ret_part)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};
    const struct nnhal_plan_part *planned;
    bool is_computed;

    *ret_part = (struct part_told){0};
    if (nnhal_compilation_get_plan(compilation, &plan) != OK || number >= plan.n_parts)
        return false;
    planned = &plan.parts[number];
    is_computed = read_computed(execution, number, ret_part);
    if (!is_computed) {
        ret_part->n_parts = plan.n_parts;
        ret_part->device = ret_part->planned = planned->device;
    }
    /* What failed in parts may have been computed as a whole. */
    ret_part->n_operations = ret_part->n_parts == plan.n_parts ? planned->n_operations
                                                               : plan.n_operations;
    if (number < ret_part->n_parts && ret_part->device == ret_part->planned &&
        is_reference(ret_part->device) && plan.n_devices > 1)
        explain_reference(&plan, planned, ret_part);
    return number < ret_part->n_parts;
}

/* -- a promise ------------------------------------------------------------------------------ */

/* The number of the first part that nnapi-reference computed; *ret_n if there is none. */
static uint32_t find_reference(const ANeuralNetworksExecution *execution, uint32_t *ret_n)
{
    struct nnhal_part_info info = {.size = sizeof(info)};
    uint32_t i = 0;

    *ret_n = 0;
    do {
        if (nnhal_execution_get_part(execution, i, &info) != OK)
            break;
        *ret_n = info.n_parts;
        if (is_reference(info.device))
            break;
    } while (++i < *ret_n);
    return i;
}

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...)
{
    size_t n = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

bool parts_keep_promise(const ANeuralNetworksCompilation *compilation,
                        const ANeuralNetworksExecution *execution, char *text, size_t size)
{
    const char *mode = getenv("NNHAL_MODE");
    struct part_told part;
    uint32_t n, first;

    if (!mode || !*mode || strcmp(mode, "auto") == 0)
        return true;
    first = find_reference(execution, &n);
    if (first >= n)
        return true;
    snprintf(text, size, "nnapi-reference computed the model");
    if (n > 1)
        snprintf(text, size, "nnapi-reference computed part %u of %u", first + 1, n);
    append(text, size, ", and NNHAL_MODE=%s asks for a driver", mode);
    for (uint32_t i = 0; i < n && part_read(compilation, execution, i, &part); i++) {
        if (n > 1)
            append(text, size, "; part %u on %s", i + 1, name_of(part.device));
        if (part.why[0])
            append(text, size, "%s%s", n > 1 ? ", because " : ": ", part.why);
    }
    return false;
}
