/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/supported.h"

#include "base/log.h"
#include "runtime/registry.h"

#include <string.h>

int nn_supported(const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
                 uint32_t n_devices, struct nn_why *why, bool *ret_supported)
{
    struct nn_rt_frozen *frozen;
    int r;

    r = nn_rt_builder_get_frozen(model, why, &frozen);
    if (!r)
        r = nn_rt_registry_check_list(devices, n_devices, why);
    if (r)
        return r;
    memset(ret_supported, 0, frozen->model.main.n_operations * sizeof(*ret_supported));
    for (uint32_t i = 0; i < n_devices; i++) {
        ANeuralNetworksDevice *device = (ANeuralNetworksDevice *)devices[i];
        const uint8_t *supported;

        if (nn_rt_frozen_get_supported(frozen, device, why, &supported)) {
            nn_log("compilation", NN_LOG_WARNING, "%s", why->text);
            continue;
        }
        for (uint32_t j = 0; j < frozen->model.main.n_operations; j++)
            if (supported[j])
                ret_supported[frozen->original[j]] = true;
    }
    return 0;
}
