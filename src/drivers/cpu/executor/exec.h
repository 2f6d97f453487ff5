/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h - one execution of a program: its arguments become slots, and slots results
 *
 * An execution that exceeds its deadline gets NN_EXEC_E_DEADLINE; outputs are
 * unspecified then. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_EXEC_H
#define NN_DRIVERS_CPU_EXECUTOR_EXEC_H

#include "drivers/cpu/executor/services.h"

/* nn_exec() - one execution of the program, on the calling thread and the
 * team. Sets the dimensions of all outputs, also when some do not fit.
 * Returns: 0, NN_EXEC_E_*, -ENOMEM. */
int nn_exec(struct nn_program *program, struct nnhal_execution *execution, struct nn_why *why);

#endif
