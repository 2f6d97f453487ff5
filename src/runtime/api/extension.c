/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/api.h"
#include "host/host.h"
#include "runtime/calibration/calibration.h"
#include "runtime/compilation/settings.h"
#include "runtime/copy-count.h"
#include "runtime/device-performance.h"
#include "runtime/execution/execution.h"
#include "runtime/model/builder.h"
#include "runtime/registry.h"

#include <nnhal/ext.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Callers built with an older or a newer header have another size: only the common part is written,
 * and to's own size stays. least: what the oldest header has. Returns: 0, BAD_DATA. */
static int copy_sized(void *to, const void *from, size_t n_from, size_t least, struct nn_why *why)
{
    size_t size, n_to;

    memcpy(&n_to, to, sizeof(n_to));
    size = n_to < n_from ? n_to : n_from;
    if (size < least)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "size %zu: set it to %zu", n_to, n_from);
    memcpy((uint8_t *)to + sizeof(n_to), (const uint8_t *)from + sizeof(n_to), size - sizeof(n_to));
    return 0;
}

_Static_assert(offsetof(struct nnhal_where, size) == 0 &&
                   offsetof(struct nnhal_cache_info, size) == 0 &&
                   offsetof(struct nnhal_part_info, size) == 0 &&
                   offsetof(struct nnhal_device_counts, size) == 0 &&
                   offsetof(struct nnhal_figure, size) == 0 &&
                   offsetof(struct nnhal_plan, size) == 0 &&
                   offsetof(struct nnhal_operation_verdict, size) == 0 &&
                   offsetof(struct nnhal_part_move, size) == 0 &&
                   offsetof(struct nnhal_part_cost, size) == 0,
               "size comes first");

_public_ int nnhal_device_get_where(const ANeuralNetworksDevice *device, struct nnhal_where *where)
{
    struct nnhal_where full;
    struct nn_why why = {0};

    if (!device || !where)
        return nn_api_null(__func__);
    nn_rt_device_get_where((ANeuralNetworksDevice *)device, &full);
    return nn_api_end(
        __func__, NULL,
        copy_sized(where, &full, sizeof(full), offsetof(struct nnhal_where, way_name), &why), &why);
}

_public_ int nnhal_compilation_get_device(const ANeuralNetworksCompilation *compilation,
                                          ANeuralNetworksDevice **device)
{
    struct nn_why why = {0};
    int r;

    if (!compilation || !device)
        return nn_api_null(__func__);
    r = nn_rt_compilation_check_finished(compilation, &why);
    if (!r)
        *device = compilation->device;
    return nn_api_end(__func__, &compilation->object, r, &why);
}

_public_ int nnhal_execution_get_device(const ANeuralNetworksExecution *execution,
                                        ANeuralNetworksDevice **device)
{
    struct nn_why why = {0};

    if (!execution || !device)
        return nn_api_null(__func__);
    return nn_api_end(
        __func__, &execution->object,
        nn_rt_execution_get_device((ANeuralNetworksExecution *)execution, &why, device), &why);
}

_public_ int nnhal_execution_get_part(const ANeuralNetworksExecution *execution, uint32_t part,
                                      struct nnhal_part_info *info)
{
    struct nnhal_part_info full = {0};
    struct nn_why why = {0};
    int r;

    if (!execution || !info)
        return nn_api_null(__func__);
    r = nn_rt_execution_get_part((ANeuralNetworksExecution *)execution, part, &why, &full);
    if (!r)
        r = copy_sized(info, &full, sizeof(full), offsetof(struct nnhal_part_info, reserved), &why);
    return nn_api_end(__func__, &execution->object, r, &why);
}

_public_ int nnhal_device_get_counts(const ANeuralNetworksDevice *device,
                                     struct nnhal_device_counts *counts)
{
    struct nnhal_device_counts full;
    struct nn_why why = {0};

    if (!device || !counts)
        return nn_api_null(__func__);
    nn_rt_device_get_counts(device, &full);
    return nn_api_end(__func__, NULL,
                      copy_sized(counts, &full, sizeof(full),
                                 offsetof(struct nnhal_device_counts, n_failed), &why),
                      &why);
}

_public_ int nnhal_device_calibrate(ANeuralNetworksDevice *device)
{
    struct nn_why why = {0};

    if (!device)
        return nn_api_null(__func__);
    return nn_api_end(__func__, NULL, nn_rt_calibration_run(device, &why), &why);
}

_public_ int nnhal_device_get_figure(const ANeuralNetworksDevice *device, uint32_t index,
                                     struct nnhal_figure *figure)
{
    struct nnhal_figure full = {0};
    struct nn_why why = {0};
    int r;

    if (!device || !figure)
        return nn_api_null(__func__);
    r = nn_rt_device_get_figure((ANeuralNetworksDevice *)device, index, &why, &full);
    if (!r)
        r = copy_sized(figure, &full, sizeof(full), offsetof(struct nnhal_figure, name), &why);
    return nn_api_end(__func__, NULL, r, &why);
}

_public_ int nnhal_compilation_set_deferred(ANeuralNetworksCompilation *compilation,
                                            int is_deferred)
{
    struct nn_why why = {0};

    if (!compilation)
        return nn_api_null(__func__);
    return nn_api_end(__func__, &compilation->object,
                      nn_rt_compilation_set_deferred(compilation, is_deferred != 0, &why), &why);
}

_public_ int nnhal_compilation_get_cache_info(const ANeuralNetworksCompilation *compilation,
                                              struct nnhal_cache_info *info)
{
    struct nn_why why = {0};
    int r;

    if (!compilation || !info)
        return nn_api_null(__func__);
    r = nn_rt_compilation_check_finished(compilation, &why);
    if (!r) {
        const struct nnhal_cache_info full = {.outcome = compilation->cache.outcome,
                                              .stage = compilation->stage,
                                              .why = compilation->cache.why};

        r = copy_sized(info, &full, sizeof(full), offsetof(struct nnhal_cache_info, why), &why);
    }
    return nn_api_end(__func__, &compilation->object, r, &why);
}

_public_ int nnhal_compilation_get_plan(const ANeuralNetworksCompilation *compilation,
                                        struct nnhal_plan *plan)
{
    const struct nn_rt_plan *made;
    struct nn_why why = {0};
    int r;

    if (!compilation || !plan)
        return nn_api_null(__func__);
    r = nn_rt_compilation_get_plan((ANeuralNetworksCompilation *)compilation, &why, &made);
    if (!r)
        r = copy_sized(plan, &made->told, sizeof(made->told),
                       offsetof(struct nnhal_plan, n_operations), &why);
    return nn_api_end(__func__, (struct nn_rt_object *)&compilation->object, r, &why);
}

_public_ int nnhal_compilation_get_verdict(const ANeuralNetworksCompilation *compilation,
                                           const ANeuralNetworksDevice *device, uint32_t operation,
                                           struct nnhal_operation_verdict *verdict)
{
    struct nnhal_operation_verdict full = {0};
    const struct nn_rt_plan *plan;
    struct nn_why why = {0};
    int r;

    if (!compilation || !device || !verdict)
        return nn_api_null(__func__);
    r = nn_rt_compilation_get_plan((ANeuralNetworksCompilation *)compilation, &why, &plan);
    if (!r)
        r = nn_rt_plan_get_verdict(plan, device, operation, &why, &full);
    if (!r)
        r = copy_sized(verdict, &full, sizeof(full),
                       offsetof(struct nnhal_operation_verdict, reserved), &why);
    return nn_api_end(__func__, (struct nn_rt_object *)&compilation->object, r, &why);
}

_public_ int nnhal_compilation_get_cost(const ANeuralNetworksCompilation *compilation,
                                        uint32_t part, struct nnhal_part_cost *cost)
{
    struct nnhal_part_cost full = {0};
    struct nn_why why = {0};
    int r;

    if (!compilation || !cost)
        return nn_api_null(__func__);
    r = nn_rt_compilation_get_cost((ANeuralNetworksCompilation *)compilation, part, &why, &full);
    if (!r)
        r = copy_sized(cost, &full, sizeof(full), offsetof(struct nnhal_part_cost, compute_ns),
                       &why);
    return nn_api_end(__func__, (struct nn_rt_object *)&compilation->object, r, &why);
}

_public_ int nnhal_compilation_get_move(const ANeuralNetworksCompilation *compilation,
                                        uint32_t move, struct nnhal_part_move *info)
{
    struct nnhal_part_move full = {0};
    struct nn_why why = {0};
    int r;

    if (!compilation || !info)
        return nn_api_null(__func__);
    r = nn_rt_compilation_get_move((ANeuralNetworksCompilation *)compilation, move, &why, &full);
    if (!r)
        r = copy_sized(info, &full, sizeof(full), offsetof(struct nnhal_part_move, is_resident),
                       &why);
    return nn_api_end(__func__, (struct nn_rt_object *)&compilation->object, r, &why);
}

static size_t get_error(const struct nn_rt_object *object, char *text, size_t n_bytes)
{
    return nn_rt_object_get_message((struct nn_rt_object *)object, text, text ? n_bytes : 0);
}

static size_t no_object(char *text, size_t n_bytes)
{
    if (text && n_bytes)
        text[0] = '\0';
    return 0;
}

_public_ size_t nnhal_model_get_error(const ANeuralNetworksModel *model, char *text, size_t n_bytes)
{
    return model ? get_error(&model->object, text, n_bytes) : no_object(text, n_bytes);
}

_public_ size_t nnhal_compilation_get_error(const ANeuralNetworksCompilation *compilation,
                                            char *text, size_t n_bytes)
{
    return compilation ? get_error(&compilation->object, text, n_bytes) : no_object(text, n_bytes);
}

_public_ size_t nnhal_execution_get_error(const ANeuralNetworksExecution *execution, char *text,
                                          size_t n_bytes)
{
    return execution ? get_error(&execution->object, text, n_bytes) : no_object(text, n_bytes);
}

_public_ size_t nnhal_get_last_error(char *text, size_t n_bytes)
{
    if (text && n_bytes)
        snprintf(text, n_bytes, "%s", nn_api_last_error());
    return strlen(nn_api_last_error());
}

_public_ size_t nnhal_get_left_out(uint32_t index, char *text, size_t n_bytes)
{
    return nn_rt_registry_tell_left_out(index, text, n_bytes);
}

_public_ uint64_t nnhal_get_copied_bytes(void)
{
    return nn_rt_copy_count_get();
}

_public_ uint64_t nnhal_get_imported_memories(void)
{
    return nn_rt_memory_n_imports();
}

_public_ void nnhal_set_step_listener(nnhal_step_fn on_step, void *ctx)
{
    nn_host_listen_steps(on_step, ctx);
}

_public_ const char *nnhal_get_result_name(int result)
{
    return nn_result_name(result);
}
