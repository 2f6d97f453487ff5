/* SPDX-License-Identifier: Apache-2.0 */
/* compile.h - from a validated model to a program that can be executed */
#ifndef NN_DRIVERS_CPU_LOWERING_COMPILE_H
#define NN_DRIVERS_CPU_LOWERING_COMPILE_H

#include "drivers/cpu/executor/program.h"

/* How a program is made. */
struct nn_compile_options {
    struct nn_team *team; /* borrowed */
    uint32_t isa;
    enum nn_pass_set passes;
    struct nn_stop *stop;         /* the caller's */
    const struct nn_meter *meter; /* borrowed while the program lives; NULL: none */
};

/* nn_compile() - copies the model, runs the passes, and makes the plans
 * that can be made. The pools must stay mapped.
 * Returns: 0, NN_PROGRAM_E_REFUSED, NN_PROGRAM_E_STOPPED, -ENOMEM, -EDQUOT. */
int nn_compile(const struct nnhal_driver_model *model, const struct nn_compile_options *options,
               struct nn_why *why, struct nn_program **ret_program);

/* nn_compile_graphs() - the same without a plan: executions make what they need.
 * Returns: as nn_compile(). */
int nn_compile_graphs(const struct nnhal_driver_model *model,
                      const struct nn_compile_options *options, struct nn_why *why,
                      struct nn_program **ret_program);

#endif
