/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - one part of an execution in parts
 *
 *     begin --> run, on any thread --> finish
 *
 * What is computed of a part is all of it, what is left of it (remnant.h), or nothing: devices cannot be
 * given an empty tensor as an input. A part all of whose outputs are empty is not computed; of
 * another that reads an empty value its remnant is; where it has none, the model has to be
 * computed whole. Where the room of a value whose size could not be known does not suffice, its shape
 * is known then: the part is computed once more, or goes on (execution->is_continued).
 * All but the run is done by the thread that owns the computation, one at a time. */
#ifndef NN_RUNTIME_PARTITION_STEP_H
#define NN_RUNTIME_PARTITION_STEP_H

#include "runtime/partition/exchange.h"
#include "runtime/partition/remnant.h"
#include "runtime/partition/wave.h"

/* How a part is computed, by computation.c. */
struct nn_rt_steps_calls {
    void *ctx;
    /* Begins, computes and ends; on any thread, several parts at a time. part: NN_RT_PLAN_NONE for a
     * remnant or a branch, of which no burst knows.
     * Returns: as nn_rt_execution_compute(). */
    int (*compute)(void *ctx, uint32_t part, ANeuralNetworksExecution *step, struct nn_why *why);
};

struct nn_rt_step {
    uint32_t number; /* of the part */
    const struct nn_rt_plan_part *planned;
    ANeuralNetworksExecution *whole; /* of planned; NULL: it is never computed */
    struct nn_rt_remnant remnant;    /* none: none was needed */
    bool needs_whole_model;
    /* Of this computation: */
    const struct nn_rt_plan_part *part;  /* planned, or the remnant's */
    ANeuralNetworksExecution *execution; /* of part; NULL: nothing is to be computed */
    const struct nn_rt_steps_calls *calls;
    struct nn_rt_errand errand; /* the run */
    int result;                 /* of it */
    bool is_made;               /* it has made all that it has to */
    struct nn_why why;
};

/* nn_rt_step_init() - part number of the exchange's plan; step is zeroed. nn_rt_step_done() in any case.
 * Returns: 0; as nn_rt_execution_new(). */
int nn_rt_step_init(struct nn_rt_step *step, const struct nn_rt_exchange *exchange, uint32_t number,
                    struct nn_why *why);
void nn_rt_step_done(struct nn_rt_step *step);

/* nn_rt_step_rest() - so that places can move: it refers to none, and what is below it has none. */
void nn_rt_step_rest(struct nn_rt_step *step);

/* nn_rt_step_renew() - it can be computed once more from now on: the whole says how often. */
void nn_rt_step_renew(struct nn_rt_step *step);

/* nn_rt_step_begin() - all that comes before the run, or leaves execution NULL. calls is borrowed until
 * the end. Returns: 0; OP_FAILED with needs_whole_model; what a device answers; -ENOMEM. */
int nn_rt_step_begin(struct nn_rt_step *step, struct nn_rt_exchange *exchange,
                     const struct nn_rt_steps_calls *calls, struct nn_why *why);

/* nn_rt_step_finish() - what the run came to, after another one where a value did not fit.
 * Returns: as the run, with its sentence in step->why. */
int nn_rt_step_finish(struct nn_rt_step *step, struct nn_rt_exchange *exchange);

/* nn_rt_step_is_haunted() - whether a process that was given up in the run may still write to values that
 * other parts read, and that can move: not to what lay in its device. If it may write to outputs of the
 * whole, which cannot, that is haunted from now on. */
bool nn_rt_step_is_haunted(const struct nn_rt_step *step, const struct nn_rt_exchange *exchange);

/* nn_rt_step_repeat() - begins, runs and finishes once more, when arguments have moved. Returns: as
 * nn_rt_step_finish(); 0 where nothing is to be computed. */
int nn_rt_step_repeat(struct nn_rt_step *step, struct nn_rt_exchange *exchange);

/* nn_rt_step_tell() - who computed it, in the whole execution's parts. */
void nn_rt_step_tell(const struct nn_rt_step *step, const struct nn_rt_exchange *exchange);

#endif
