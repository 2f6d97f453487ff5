/* SPDX-License-Identifier: Apache-2.0 */
/* device-performance.h - what a device is expected to cost, and where that is known from
 *
 * What it declares is known when it is opened. Figures that were measured in an earlier process are
 * read when a planner first asks what it costs: a program that leaves nothing to choose reads no
 * file. Threads: any. */
#ifndef NN_RUNTIME_DEVICE_PERFORMANCE_H
#define NN_RUNTIME_DEVICE_PERFORMANCE_H

#include "runtime/device.h"

/* nn_rt_device_get_performance() - as it is now; what it points to is the device's. Figures that
 * were kept and do not count are told of in the log. */
void nn_rt_device_get_performance(ANeuralNetworksDevice *device,
                                  struct nn_rt_performance *ret_performance);

/* nn_rt_device_set_figures() - they count from now on, and are kept for later processes.
 * Returns: 0; OP_FAILED: they could not be kept. */
int nn_rt_device_set_figures(ANeuralNetworksDevice *device, const struct nn_rt_figures *figures,
                             struct nn_why *why);

/* nn_rt_device_get_figure() - all of it but size. Returns: 0, BAD_STATE (nothing was measured), BAD_DATA
 * (no such figure). */
int nn_rt_device_get_figure(ANeuralNetworksDevice *device, uint32_t index, struct nn_why *why,
                            struct nnhal_figure *ret_figure);

#endif
