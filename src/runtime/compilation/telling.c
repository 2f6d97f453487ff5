/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/telling.h"

#include "base/sys.h"
#include "runtime/model/portrait.h"
#include "runtime/partition/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- devices ---------------------------------------------------------------------------- */

static bool has_device(const struct nn_rt_told_devices *told, const ANeuralNetworksDevice *device)
{
    for (uint32_t i = 0; i < told->n; i++)
        if (told->devices[i] == device)
            return true;
    return false;
}

void nn_rt_told_devices_add(struct nn_rt_told_devices *told, const ANeuralNetworksDevice *device)
{
    const ANeuralNetworksDevice **devices;
    size_t n_more;
    char *ids;

    if (!device || has_device(told, device))
        return;
    n_more = strlen(device->name) + strlen(device->version) + sizeof(",=");
    devices = reallocarray(told->devices, told->n + 1, sizeof(*devices));
    if (devices)
        told->devices = devices;
    ids = realloc(told->ids, told->n_ids + n_more);
    if (ids)
        told->ids = ids;
    if (!devices || !ids)
        return;
    devices[told->n] = device;
    told->n_ids += (size_t)snprintf(ids + told->n_ids, n_more, "%s%s=%s", told->n ? "," : "",
                                    device->name, device->version);
    told->n++;
}

void nn_rt_told_devices_add_all(struct nn_rt_told_devices *told,
                                const ANeuralNetworksCompilation *compilation)
{
    if (!nn_rt_compilation_is_split(compilation)) {
        nn_rt_told_devices_add(told, compilation->device);
        return;
    }
    for (uint32_t i = 0; i < 2; i++)
        if (compilation->branches[i])
            nn_rt_told_devices_add_all(told, compilation->branches[i]);
    for (uint32_t i = 0; compilation->plan && i < compilation->plan->n_parts; i++)
        if (compilation->plan->parts[i].compilation)
            nn_rt_told_devices_add_all(told, compilation->plan->parts[i].compilation);
}

const char *nn_rt_told_devices_get_ids(const struct nn_rt_told_devices *told)
{
    return told->n ? told->ids : "";
}

void nn_rt_told_devices_done(struct nn_rt_told_devices *told)
{
    free(told->devices);
    free(told->ids);
    *told = (struct nn_rt_told_devices){0};
}

/* -- finish() --------------------------------------------------------------------------- */

int nn_rt_compilation_finish_telling(ANeuralNetworksCompilation *compilation, struct nn_why *why)
{
    ANeuralNetworksDiagnosticCompilationInfo info = {0};
    struct nn_rt_told_devices devices = {0};
    uint64_t begin_ns;
    int r;

    if (!nn_rt_diagnostic_is_heard())
        return nn_rt_compilation_finish(compilation, why);
    begin_ns = nn_sys_now_ns();
    r = nn_rt_compilation_finish(compilation, why);
    if (r == ANEURALNETWORKS_BAD_STATE)
        return r;
    nn_rt_model_describe(compilation->finished, &info.told);
    if (!r)
        nn_rt_told_devices_add_all(&devices, compilation);
    info.told.device_ids = nn_rt_told_devices_get_ids(&devices);
    info.told.code = nn_result_from_error(r);
    info.told.duration_ns = nn_sys_now_ns() - begin_ns;
    info.told.is_cached = nn_rt_compilation_has_cache(compilation);
    nn_rt_diagnostic_tell_compilation(&info);
    nn_rt_told_devices_done(&devices);
    return r;
}
