/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h - one node as a program of its own
 *
 * A graph with the same values and only this node, whose outputs are outputs while it
 * lasts: for folding constants, and for timing kernels. The program must have no other user. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_EVALUATE_H
#define NN_DRIVERS_CPU_EXECUTOR_EVALUATE_H

#include "drivers/cpu/executor/control.h"

struct nn_evaluation {
    struct nn_graph *graph; /* the whole one */
    const struct nn_node *node;
    struct nn_program_graph only;
    struct nn_program small;
    struct nn_workspace workspace;
    struct nn_stop *stop;
};

/* nn_evaluation_init() - of a node whose outputs are temporaries or outputs; stop is for all that
 * follows. */
void nn_evaluation_init(struct nn_evaluation *alone, struct nn_program *program, uint32_t graph,
                        struct nn_node *node, struct nn_stop *stop);

/* nn_evaluation_run() - with the inputs that are in the frame, which is of the whole graph. The plan is
 * made the first time. Returns: as nn_run_graph(). */
int nn_evaluation_run(struct nn_evaluation *alone, struct nn_frame *frame);

/* nn_evaluation_size() - how many bytes of results a run will make, at most. The plan is made.
 * Returns: as nn_program_get_plan(). */
int nn_evaluation_size(struct nn_evaluation *alone, const struct nn_frame *frame,
                       uint64_t *ret_bytes);

/* nn_evaluation_done() - the outputs are what they were. */
void nn_evaluation_done(struct nn_evaluation *alone);

#endif
