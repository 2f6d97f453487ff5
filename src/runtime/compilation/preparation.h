/* SPDX-License-Identifier: Apache-2.0 */
/* preparation.h - what finish() has devices prepare: a model whole, or in parts
 *
 * The planner (partition/planner.h) says who computes what. A plan that cannot be prepared is
 * followed by another one, without what it has failed with, until one can, or no device is left. All
 * functions block for devices. */
#ifndef NN_RUNTIME_COMPILATION_PREPARATION_H
#define NN_RUNTIME_COMPILATION_PREPARATION_H

#include "runtime/compilation/compilation.h"

/* nn_rt_compilation_finish() - sets plan, device, prepared and stage. One thread at a time.
 * Returns: as ANeuralNetworksCompilation_finish(), or -ENOMEM. */
int nn_rt_compilation_finish(ANeuralNetworksCompilation *compilation, struct nn_why *why);

/* nn_rt_compilation_prepare_on() - asks a device whether it takes the model, and lets it prepare that,
 * until the compilation's timeout. cache NULL: none. The reference is the caller's.
 * Returns: 0; BAD_DATA (an operation that it does not take); what the device answers; -ENOMEM. */
int nn_rt_compilation_prepare_on(ANeuralNetworksCompilation *compilation,
                                 ANeuralNetworksDevice *device, struct nn_rt_cache *cache,
                                 struct nn_why *why, struct nn_rt_prepared **ret_prepared);

/* nn_rt_compilation_prepare_part() - sets part->compilation to a finished one of these operations
 * of whole, for the part's device in plan. A part that leaves operands out is not cached.
 * Returns: 0; what the device answers; BAD_DATA (the rules refuse the part); -ENOMEM. The caller
 * has part->compilation to unref in any case. */
int nn_rt_compilation_prepare_part(const ANeuralNetworksCompilation *whole,
                                   const struct nn_rt_plan *plan, struct nn_rt_plan_part *part,
                                   struct nn_why *why);

/* nn_rt_compilation_get_fallback() - the model as this device has prepared it, the first
 * time now; the reference is the caller's.
 * Returns: 0; what the device answers; -ENOMEM. */
int nn_rt_compilation_get_fallback(ANeuralNetworksCompilation *compilation,
                                   ANeuralNetworksDevice *device, struct nn_why *why,
                                   struct nn_rt_prepared **ret_prepared);

#endif
