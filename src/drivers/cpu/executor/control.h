/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - running a graph with the IFs and WHILEs in it
 *
 * IF and WHILE run other graphs on frames of their own, by the same function. The deadline
 * is looked at between rounds of a loop, too. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_CONTROL_H
#define NN_DRIVERS_CPU_EXECUTOR_CONTROL_H

#include "drivers/cpu/executor/run.h"

/* nn_run_graph() - runs a graph whose input slots are set and whose output
 * slots may be bound. Returns: 0, NN_EXEC_E_DEADLINE, _REFUSED, _CANCELLED, -ENOMEM. */
int nn_run_graph(struct nn_run *run, uint32_t graph, struct nn_frame *frame);

#endif
