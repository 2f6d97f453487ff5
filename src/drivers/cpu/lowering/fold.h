/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - what can be computed when the model is prepared
 *
 * Operations all of whose inputs are constants (DEQUANTIZE of weights, shape
 * arithmetic) run once, with the kernels that would run them later, and their
 * results become constants of the graph. A model of some hundred bytes can ask for work without
 * end, so all graphs of a program together have one budget: of results, so that folding cannot make
 * a small model large; of work, which is estimated from shapes and attributes before anything
 * is computed (work.h) and is at most what the caller's deadline leaves; and of operations and of values
 * looked at, since each operation is a program of the graph's size. What is beyond it stays a step.
 * An operation that fails is left alone, too: it fails where it would have. */
#ifndef NN_DRIVERS_CPU_LOWERING_FOLD_H
#define NN_DRIVERS_CPU_LOWERING_FOLD_H

#include "drivers/cpu/executor/program.h"

#define NN_FOLD_MAX_BYTES  (UINT64_C(256) << 20)
#define NN_FOLD_MAX_NODES  1024
#define NN_FOLD_MAX_VISITS (UINT64_C(1) << 22)
#define NN_FOLD_MAX_WORK   (UINT64_C(1) << 30) /* nanoseconds of plain C, roughly: a second */

/* What folding may still spend. */
struct nn_fold_budget {
    struct nn_stop *stop;
    uint64_t n_bytes, n_nodes, n_visits, n_work;
};

/* nn_fold_budget() - a whole one. */
static inline struct nn_fold_budget nn_fold_budget(struct nn_stop *stop)
{
    return (struct nn_fold_budget){.stop = stop,
                                   .n_bytes = NN_FOLD_MAX_BYTES,
                                   .n_nodes = NN_FOLD_MAX_NODES,
                                   .n_visits = NN_FOLD_MAX_VISITS,
                                   .n_work = NN_FOLD_MAX_WORK};
}

enum {
    NN_FOLD_E_STOPPED = 1, /* the caller's deadline has passed, or it was cancelled */
};

/* nn_fold_constants() - folds one graph of the program, which has no plans yet.
 * Returns: 0, NN_FOLD_E_STOPPED, -ENOMEM. */
int nn_fold_constants(struct nn_program *program, uint32_t graph, struct nn_fold_budget *budget);

#endif
