/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/telling.h"

#include "base/sys.h"
#include "runtime/model/portrait.h"

#include <stdio.h>

void nn_rt_device_format_id(const ANeuralNetworksDevice *device,
                            char ret_text[NN_RT_DEVICE_ID_BYTES])
{
    ret_text[0] = '\0';
    if (device)
        snprintf(ret_text, NN_RT_DEVICE_ID_BYTES, "%s=%s", device->name, device->version);
}

int nn_rt_compilation_finish_telling(ANeuralNetworksCompilation *compilation, struct nn_why *why)
{
    ANeuralNetworksDiagnosticCompilationInfo info = {0};
    char ids[NN_RT_DEVICE_ID_BYTES];
    uint64_t begin_ns;
    int r;

    if (!nn_rt_diagnostic_is_heard())
        return nn_rt_compilation_finish(compilation, why);
    begin_ns = nn_sys_now_ns();
    r = nn_rt_compilation_finish(compilation, why);
    if (r == ANEURALNETWORKS_BAD_STATE)
        return r;
    nn_rt_model_describe(compilation->finished, &info.told);
    nn_rt_device_format_id(compilation->device, ids);
    info.told.device_ids = ids;
    info.told.code = nn_result_from_error(r);
    info.told.duration_ns = nn_sys_now_ns() - begin_ns;
    info.told.is_cached = nn_rt_compilation_has_cache(compilation);
    nn_rt_diagnostic_tell_compilation(&info);
    return r;
}
