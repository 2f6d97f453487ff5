/* SPDX-License-Identifier: Apache-2.0 */
/* fallback.h - what happens when the device that a compilation chose fails
 *
 * A compilation without a list of devices leaves the choice to the runtime, so
 * that the runtime answers for it: an execution that its device fails is
 * computed once more by the device that is linked in and stands last in the
 * list. The model is prepared there when this first happens. Arguments in
 * memories of the failing device are copied out before and back after; those
 * that went with its process cannot be, and the failure stands.
 * A model with an OEM_OPERATION has another meaning on each device: its failure stands.
 * NNHAL_FALLBACK=off (secure_getenv) lets every failure stand. */
#ifndef NN_RUNTIME_EXECUTION_FALLBACK_H
#define NN_RUNTIME_EXECUTION_FALLBACK_H

#include "runtime/execution/execution.h"

/* nn_rt_fallback_is_possible() - whether another device is to compute what ended with r. */
bool nn_rt_fallback_is_possible(const ANeuralNetworksExecution *execution, int r);

/* nn_rt_fallback_compute() - computes on that device; between begin and end of the execution.
 * why holds the sentence of the failure, which stays if this fails too.
 * Returns: 0; OUTPUT_INSUFFICIENT_SIZE; failed. */
int nn_rt_fallback_compute(ANeuralNetworksExecution *execution, uint64_t deadline_ns, int failed,
                           struct nn_why *why);

#endif
