/* SPDX-License-Identifier: Apache-2.0 */
/* computation.h - computing an execution, and what is tried when a device fails
 *
 *     begin --> on the device --died--> prepared again, once more --+--> end
 *                    |                                              |
 *                    +--failed, chosen by the runtime--> fallback --+
 *
 * An execution that is split does so part by part (partition/steps.h). The recovery is described
 * in runtime/device.h, the fallback in fallback.h. All functions block until the computation has
 * ended. */
#ifndef NN_RUNTIME_EXECUTION_COMPUTATION_H
#define NN_RUNTIME_EXECUTION_COMPUTATION_H

#include "runtime/execution/burst.h"
#include "runtime/execution/execution.h"

/* nn_rt_execution_compute() - begins, computes and ends; through an implicit burst if there is one
 * (implicit-burst.h). Returns: as ANeuralNetworksExecution_compute(), or -errno. */
int nn_rt_execution_compute(ANeuralNetworksExecution *execution, struct nn_why *why);

/* nn_rt_burst_compute() - the same through the burst.
 * Returns: as ANeuralNetworksExecution_burstCompute(), or -errno. */
int nn_rt_burst_compute(ANeuralNetworksBurst *burst, ANeuralNetworksExecution *execution,
                        struct nn_why *why);

/* nn_rt_execution_compute_begun() - computes between begin and end, with a call.
 * Returns: as nn_rt_execution_compute(). */
int nn_rt_execution_compute_begun(ANeuralNetworksExecution *execution, uint64_t deadline_ns,
                                  struct nn_why *why);

#endif
