/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - kernels timed against each other
 *
 * Which instruction set serves an operation best depends on its shapes and on the machine:
 * wider vectors have longer tails and may cost clock. The table's order is a rule; this measures.
 * Only rows of one name but for what follows "__" are candidates: the same sums in the
 * same order (kernel.h), so that every choice gives the same bits. Each runs alone, on one
 * thread, with arguments of no meaning. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_TUNE_H
#define NN_DRIVERS_CPU_EXECUTOR_TUNE_H

#include "drivers/cpu/executor/program.h"

enum {
    NN_TUNE_E_CANCELLED = 1,
};

/* nn_tune() - chooses for the plan that the program begins with, if it has one, and makes it anew.
 * The program must have no other user. is_cancelled is looked at between kernels.
 * Returns: 0, NN_TUNE_E_CANCELLED, -ENOMEM. */
int nn_tune(struct nn_program *program, const uint32_t *is_cancelled);

#endif
