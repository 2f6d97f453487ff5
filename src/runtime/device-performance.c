/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device-performance.h"

#include "base/log.h"
#include "runtime/calibration/figures-file.h"

#include <android/NeuralNetworks.h>

static struct nn_rt_figures_owner owner_of(ANeuralNetworksDevice *device)
{
    struct nnhal_where where;

    nn_rt_device_get_where(device, &where);
    return (struct nn_rt_figures_owner){device->name, device->version, where.way_name};
}

/* Short of memory a device counts as it declares itself. */
static void load_figures(ANeuralNetworksDevice *device)
{
    const struct nn_rt_figures_owner owner = owner_of(device);
    struct nn_rt_figures figures = {0};
    struct nn_why why = {0};
    int r = nn_rt_figures_load(&owner, &why, &figures);

    if (r == NN_RT_FIGURES_E_IGNORED)
        nn_log("runtime", NN_LOG_WARNING, "%s: %s", device->name, why.text);
    pthread_mutex_lock(&device->lock);
    if (!device->has_looked && !r) {
        device->performance.is_measured = true;
        device->performance.figures = figures;
    }
    device->has_looked = true;
    pthread_mutex_unlock(&device->lock);
}

static bool has_looked(ANeuralNetworksDevice *device)
{
    bool result;

    pthread_mutex_lock(&device->lock);
    result = device->has_looked;
    pthread_mutex_unlock(&device->lock);
    return result;
}

void nn_rt_device_get_performance(ANeuralNetworksDevice *device,
                                  struct nn_rt_performance *ret_performance)
{
    /* After a fork a thread of the parent may have had the lock: what it declares has to do. */
    if (nn_rt_device_is_foreign(device)) {
        *ret_performance = device->performance;
        return;
    }
    if (!has_looked(device))
        load_figures(device);
    pthread_mutex_lock(&device->lock);
    *ret_performance = device->performance;
    pthread_mutex_unlock(&device->lock);
}

int nn_rt_device_set_figures(ANeuralNetworksDevice *device, const struct nn_rt_figures *figures,
                             struct nn_why *why)
{
    const struct nn_rt_figures_owner owner = owner_of(device);

    pthread_mutex_lock(&device->lock);
    device->performance.is_measured = true;
    device->performance.figures = *figures;
    device->has_looked = true;
    pthread_mutex_unlock(&device->lock);
    return nn_rt_figures_save(&owner, figures, why) ? ANEURALNETWORKS_OP_FAILED : 0;
}

int nn_rt_device_get_figure(ANeuralNetworksDevice *device, uint32_t index, struct nn_why *why,
                            struct nnhal_figure *ret_figure)
{
    struct nn_rt_performance performance;

    nn_rt_device_get_performance(device, &performance);
    if (index >= NN_RT_FIGURE_N)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "figure %u: there are %d", index,
                       NN_RT_FIGURE_N);
    if (!performance.is_measured)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                       "%s was not measured: nnhal devices --calibrate does", device->name);
    *ret_figure = (struct nnhal_figure){
        .value = performance.figures.values[index],
        .name = nn_rt_figure_name((enum nn_rt_figure)index),
    };
    return 0;
}
