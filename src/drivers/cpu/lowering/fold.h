/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - what can be computed when the model is prepared
 *
 * Operations all of whose inputs are constants (DEQUANTIZE of weights, shape
 * arithmetic) run once, with the kernels that would run them later, and their
 * results become constants of the graph. So that folding cannot make a small model
 * large, what would make results of more than NN_FOLD_MAX_BYTES together is not run; so that
 * it takes no time beyond measure (each operation is a program of the graph's size), neither
 * is what comes after NN_FOLD_MAX_NODES operations, or fewer in a graph of so many
 * values that they would be looked at more than NN_FOLD_MAX_VISITS times. An operation that fails is
 * left alone, too: it fails where it would have. */
#ifndef NN_DRIVERS_CPU_LOWERING_FOLD_H
#define NN_DRIVERS_CPU_LOWERING_FOLD_H

#include "drivers/cpu/executor/program.h"

#define NN_FOLD_MAX_BYTES  (UINT64_C(256) << 20)
#define NN_FOLD_MAX_NODES  1024
#define NN_FOLD_MAX_VISITS (UINT32_C(1) << 22)

/* nn_fold_constants() - folds one graph of the program, which has no plans yet.
 * Returns: 0, -ENOMEM. */
int nn_fold_constants(struct nn_program *program, uint32_t graph);

#endif
