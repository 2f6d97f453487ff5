/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - an execution of a plan with several parts
 *
 * Each part is an execution of its own compilation, so that recovery, bursts and
 * fallback of a part are those of any execution. What the application has set goes to
 * the parts as it is. Values between parts lie where places.h says. Where the room of a value whose
 * size could not be known does not suffice, its shape is known then and the part is computed once
 * more. What was computed is read to know the shapes that depend on it.
 *
 * Devices cannot be given an empty tensor as an input. A part all of whose
 * outputs are empty is not computed; of another that reads an empty value its remnant is
 * (remnant.h); where it has none, the model has to be computed whole.
 * Parts of one wave are computed side by side (wave.h) where two of them at least take longer than
 * waking a thread. All else is done by the thread that owns the computation, one at a time. */
#ifndef NN_RUNTIME_PARTITION_STEPS_H
#define NN_RUNTIME_PARTITION_STEPS_H

#include "runtime/execution/execution.h"

/* How a part is computed, by computation.c. */
struct nn_rt_steps_calls {
    void *ctx;
    /* Begins, computes and ends; on any thread, several parts at a time. part: NN_RT_PLAN_NONE for a remnant, of which no burst knows.
     * Returns: as nn_rt_execution_compute(). */
    int (*compute)(void *ctx, uint32_t part, ANeuralNetworksExecution *step, struct nn_why *why);
};

/* nn_rt_steps_compute() - computes the parts wave by wave, the first time makes their executions; between begin and end of the execution, which keeps them. Who computed what is in
 * execution->parts then.
 * Returns: 0 and OUTPUT_INSUFFICIENT_SIZE with the execution's shapes; what the device of a
 * part answers; -ENOMEM. */
int nn_rt_steps_compute(ANeuralNetworksExecution *execution, const struct nn_rt_steps_calls *calls,
                        struct nn_why *why);

/* nn_rt_steps_need_whole() - whether the last computation failed for a reason that only a device
 * which computes the whole model does not have. */
bool nn_rt_steps_need_whole(const struct nn_rt_steps *steps);

/* nn_rt_steps_rest() - gives the memory of values back. Accepts NULL. */
void nn_rt_steps_rest(struct nn_rt_steps *steps);

/* nn_rt_steps_free() - accepts NULL; returns NULL. */
struct nn_rt_steps *nn_rt_steps_free(struct nn_rt_steps *steps);

#endif
