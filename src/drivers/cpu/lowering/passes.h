/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - the passes that this driver runs, in their order */
#ifndef NN_CPU_LOWERING_PASSES_H
#define NN_CPU_LOWERING_PASSES_H

#include "compiler/passes.h"
#include "drivers/cpu/lowering/fold.h"

/* nn_pass_u8() - int8 data of convolutions, and of what follows them, is kept as
 * uint8, each code and the zero point 128 higher: one set of kernels serves both.
 * Returns: 0, -ENOMEM. */
int nn_pass_u8(struct nn_graph *graph);

/* nn_cpu_passes_run() - the passes of that set over one graph of the program, which has no plans
 * yet; budget is what folding may still spend. Returns: 0, NN_PASSES_E_STOPPED, -ENOMEM. */
int nn_cpu_passes_run(struct nn_program *program, uint32_t graph, enum nn_pass_set set,
                      struct nn_fold_budget *budget);

#endif
