/* SPDX-License-Identifier: Apache-2.0 */
/* branches.h - the graphs that an IF or WHILE refers to, as executions, and the values around them
 *
 * A branch reads and writes at places of one memory (places.h), or what the application gave. A
 * loop's state has two places, of which the body reads one and writes the other, so that a call has
 * the same arguments every second time: each branch has an execution per row of places that
 * it reads, which stays bound.
 *
 *     row START   what the operation is given: WHILE has bytes at pointers copied once
 *     row A, B    the loop's state
 *
 * One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_BRANCHES_H
#define NN_RUNTIME_PARTITION_BRANCHES_H

#include "runtime/partition/place-argument.h"
#include "runtime/partition/step.h"

enum nn_rt_row {
    NN_RT_ROW_START,
    NN_RT_ROW_A,
    NN_RT_ROW_B,
    _NN_RT_ROW_N,
};

enum { NN_RT_N_BRANCHES = 2 };

struct nn_rt_branches {
    ANeuralNetworksExecution *whole; /* of the operation, the only one of its model */
    const struct nnhal_operation *operation;
    bool is_loop;
    struct nn_arena memory; /* of arrays */
    uint32_t n_given;       /* inputs of the operation behind the branches */
    struct nn_rt_argument *given;
    struct nn_rt_value *given_known;
    uint32_t n_made; /* what the operation makes, or the body, if that is more */
    /* Values with a place: those given, then row A of those made, then row B, then a condition. */
    uint32_t n_values;
    struct nn_rt_plan_value *values;
    struct nn_rt_value *declared; /* by the branch that makes them */
    struct nn_rt_value *known;    /* as they are now */
    uint64_t *sizes;
    struct nn_rt_places places;
    bool is_true;        /* the condition of an IF */
    bool lacks_room;     /* a loop has ended, and its outputs were too small: */
    enum nn_rt_row last; /* what it ended with is there */
    struct nn_rt_knowledge knowledge[NN_RT_N_BRANCHES]; /* of a call's results; no plan: not yet */
    ANeuralNetworksExecution *executions[NN_RT_N_BRANCHES][_NN_RT_ROW_N]; /* NULL: none yet */
};

/* nn_rt_branches_init() - of an execution whose compilation has branches, which is borrowed; branches are
 * zeroed. nn_rt_branches_done() in any case. Returns: 0, -ENOMEM. */
int nn_rt_branches_init(struct nn_rt_branches *branches, ANeuralNetworksExecution *whole);
void nn_rt_branches_done(struct nn_rt_branches *branches);

/* nn_rt_branches_rest() - gives the memory back, and that of what is below. */
void nn_rt_branches_rest(struct nn_rt_branches *branches);

/* nn_rt_branches_begin() - with the arguments of this computation. Returns: 0, -ENOMEM, -errno. */
int nn_rt_branches_begin(struct nn_rt_branches *branches);

/* nn_rt_branches_find_given() - an operand of the operation as it was given, with the shape that it has
 * now. Its memory is borrowed. */
struct nn_rt_argument nn_rt_branches_find_given(const struct nn_rt_branches *branches,
                                                uint32_t operand);

/* nn_rt_branches_call() - computes a branch that reads from a row. A body writes the other row, or A;
 * the branches of IF write where the application wants it. What follows from the shapes that it reads
 * has room for what it makes before it is made; what did not fit is given more
 * room, and the call is made once more; so it is in memory of its own where a process that took part
 * in it was given up, and could still write into the loop's state.
 * Returns: 0; OUTPUT_INSUFFICIENT_SIZE of the application's outputs; OP_FAILED for an empty input;
 * DEAD_OBJECT; what the device answers; -ENOMEM, -errno. */
int nn_rt_branches_call(struct nn_rt_branches *branches, uint32_t branch, enum nn_rt_row row,
                        const struct nn_rt_steps_calls *calls, struct nn_why *why);

/* nn_rt_branches_next() - the row that a body writes which reads this one. */
enum nn_rt_row nn_rt_branches_next(enum nn_rt_row row);

/* nn_rt_branches_state() - value i of the loop in a row, and what is known of it. */
struct nn_rt_argument nn_rt_branches_state(const struct nn_rt_branches *branches,
                                           enum nn_rt_row row, uint32_t i,
                                           const struct nn_rt_value **ret_known);

/* nn_rt_branches_condition() - what the condition of a loop said last. */
bool nn_rt_branches_condition(const struct nn_rt_branches *branches);

/* nn_rt_branches_find_output() - the output of the whole that is output i of the operation.
 * Returns: NN_RT_PLAN_NONE if nothing reads it. */
uint32_t nn_rt_branches_find_output(const struct nn_rt_branches *branches, uint32_t i);

/* nn_rt_branches_fit_output() - the shape that an output of the whole gets from a value, and whether it has
 * the room. Returns: false if it is a picture, or the value's shape is not certain or contradicts it. */
bool nn_rt_branches_fit_output(const struct nn_rt_branches *branches, uint32_t output,
                               const struct nn_rt_value *known,
                               struct nn_rt_execution_shape *ret_shape);

#endif
