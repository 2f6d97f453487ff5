/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model/supported-operations.h"

#include "base/log.h"
#include "runtime/registry.h"

#include <string.h>

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
        const uint8_t *supported;

        r = nn_rt_model_get_supported(finished, device, why, &supported);
        /* Short memory says nothing about the device. */
        if (r < 0 || r == ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT)
            return r;
        if (r) {
            nn_log("compilation", NN_LOG_WARNING, "%s", why->text);
            continue;
        }
        for (uint32_t j = 0; j < finished->model.main.n_operations; j++)
            if (supported[j])
                ret_supported[finished->original[j]] = true;
    }
    return 0;
}
