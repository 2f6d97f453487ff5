/* SPDX-License-Identifier: Apache-2.0 */
/* telling.h - finish() for those who listen, and the devices that they are told of */
#ifndef NN_RUNTIME_COMPILATION_TELLING_H
#define NN_RUNTIME_COMPILATION_TELLING_H

#include "runtime/compilation/preparation.h"

/* Devices, each once, in the order in which they were added. Zeroed at first; where memory is short,
 * some lack. */
struct nn_rt_told_devices {
    uint32_t n;
    const ANeuralNetworksDevice **devices;
    size_t n_ids;
    char *ids; /* "a=1,b=2": name and version of each */
};

/* nn_rt_told_devices_add() - nothing for NULL. */
void nn_rt_told_devices_add(struct nn_rt_told_devices *told, const ANeuralNetworksDevice *device);

/* nn_rt_told_devices_add_all() - those that are to compute a finished compilation, its parts and branches. */
void nn_rt_told_devices_add_all(struct nn_rt_told_devices *told,
                                const ANeuralNetworksCompilation *compilation);

/* nn_rt_told_devices_get_ids() - "" if there are none; until more are added. */
const char *nn_rt_told_devices_get_ids(const struct nn_rt_told_devices *told);

void nn_rt_told_devices_done(struct nn_rt_told_devices *told);

/* nn_rt_compilation_finish_telling() - nn_rt_compilation_finish(), whose end is told unless it was
 * called twice (diagnostic.h). */
int nn_rt_compilation_finish_telling(ANeuralNetworksCompilation *compilation, struct nn_why *why);

#endif
