/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/outcome.h"

#include "base/sys.h"
#include "runtime/compilation/telling.h"
#include "runtime/model/portrait.h"
#include "runtime/partition/plan.h"

/* A computation that ended before a device was asked counts for none. */
static void count_outcome(const ANeuralNetworksExecution *execution, int result)
{
    ANeuralNetworksDevice *planned = execution->compilation->device;
    bool is_helped = execution->failure.text[0] != '\0';
    bool is_split = nn_rt_compilation_is_split(execution->compilation); /* its parts count */

    if (!execution->device)
        return;
    if (result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
        if (!is_split)
            nn_rt_device_count_short(execution->device);
        return;
    }
    if ((result || is_helped) && !is_split)
        nn_rt_device_count_failure(planned);
    if (!result && (is_helped || !is_split))
        nn_rt_device_count_success(execution->device, is_helped);
}

/* The branches of a part that the library runs may be of several devices. */
static void add_part(const struct nnhal_part_info *part, const struct nn_rt_plan_part *planned,
                     struct nn_rt_told_devices *devices)
{
    if (!planned->compilation) /* nothing reads what it makes */
        return;
    if (planned->is_control)
        nn_rt_told_devices_add_all(devices, planned->compilation);
    nn_rt_told_devices_add(devices, part->device);
}

/* Those that computed; of a failure in parts, all that were to. */
static void add_devices(const ANeuralNetworksExecution *execution, int result,
                        struct nn_rt_told_devices *devices)
{
    const ANeuralNetworksCompilation *compilation = execution->compilation;

    if (!execution->device)
        return;
    if (!nn_rt_compilation_is_split(compilation) || execution->failure.text[0])
        nn_rt_told_devices_add(devices, execution->device);
    else if (result)
        nn_rt_told_devices_add_all(devices, compilation);
    else
        for (uint32_t i = 0; i < execution->n_parts; i++)
            add_part(&execution->parts[i], &compilation->plan->parts[i], devices);
}

static void tell_outcome(const ANeuralNetworksExecution *execution, int result)
{
    ANeuralNetworksDiagnosticExecutionInfo info = {.mode = execution->mode,
                                                   .timing = execution->timing};
    struct nn_rt_told_devices devices = {0};

    nn_rt_model_describe(execution->compilation->finished, &info.told);
    add_devices(execution, result, &devices);
    info.told.device_ids = nn_rt_told_devices_get_ids(&devices);
    info.told.code = nn_result_from_error(result);
    info.told.duration_ns = execution->begin_ns ? nn_sys_now_ns() - execution->begin_ns
                                                : NNHAL_NO_TIME;
    info.told.is_cached = nn_rt_compilation_has_cache(execution->compilation);
    nn_rt_diagnostic_tell_execution(&info);
    nn_rt_told_devices_done(&devices);
}

/* Told first: when it is completed, the application may compute again. */
void nn_rt_execution_end(ANeuralNetworksExecution *execution, int result)
{
    count_outcome(execution, result);
    /* A part of another computation is told with it. */
    if (execution->mode != ANNDIAG_EXECUTION_MODE_UNKNOWN && nn_rt_diagnostic_is_heard())
        tell_outcome(execution, result);
    nn_rt_execution_complete(execution, result);
}
