/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/supported-operations.h"

#include "base/log.h"
#include "runtime/partition/planner.h"
#include "runtime/partition/verdicts.h"
#include "runtime/registry.h"

#include <string.h>

/* Whether an IF or WHILE is left that these devices could share. */
static bool lacks_control(const struct nn_rt_model *finished, uint32_t n_devices,
                          const bool *supported)
{
    for (uint32_t i = 0; n_devices > 1 && i < finished->model.main.n_operations; i++) {
        if (nn_rt_shared_control_is(&finished->model.main.operations[i]) &&
            !supported[finished->original[i]])
            return true;
    }
    return false;
}

/* What finish() takes, although no device does. */
static int add_controls(struct nn_rt_model *finished, const ANeuralNetworksDevice *const *devices,
                        uint32_t n_devices, bool *supported)
{
    struct nn_rt_planner planner = {
        .finished = finished, .preference = NNHAL_FAST_SINGLE_ANSWER, .is_explicit = true};
    struct nn_why why = {0};
    int r = nn_rt_planner_init(&planner, (ANeuralNetworksDevice *const *)devices, n_devices, &why);

    if (!r)
        r = nn_rt_planner_list_controls(&planner, &why);
    for (uint32_t i = 0; !r && i < planner.controls.n; i++)
        supported[finished->original[planner.controls.list[i].operation]] = true;
    nn_rt_planner_done(&planner);
    return r < 0 ? r : 0;
}

int nn_rt_supported_operations_get(const ANeuralNetworksModel *model,
                                   const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                                   struct nn_why *why, bool *ret_supported)
{
    struct nn_rt_model *finished;
    int r;

    r = nn_rt_builder_get_finished(model, why, &finished);
    if (!r)
        r = nn_rt_registry_check_list(devices, n_devices, why);
    if (r)
        return r;
    memset(ret_supported, 0, finished->model.main.n_operations * sizeof(*ret_supported));
    for (uint32_t i = 0; i < n_devices; i++) {
        ANeuralNetworksDevice *device = (ANeuralNetworksDevice *)devices[i];
        const struct nn_rt_answer *answer;

        r = nn_rt_verdicts_get(finished, device, why, &answer);
        /* Short memory says nothing about the device. */
        if (r < 0 || r == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT)
            return r;
        if (r) {
            nn_log("compilation", NN_LOG_WARNING, "%s", why->text);
            continue;
        }
        for (uint32_t j = 0; j < finished->model.main.n_operations; j++)
            if (answer->verdicts[j] == NNHAL_VERDICT_TAKEN)
                ret_supported[finished->original[j]] = true;
    }
    return lacks_control(finished, n_devices, ret_supported)
               ? add_controls(finished, devices, n_devices, ret_supported)
               : 0;
}
