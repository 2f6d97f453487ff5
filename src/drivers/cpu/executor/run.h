/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - running a program
 *
 * A run goes over a graph plan by plan: get the plan that fits the frame, give
 * memory to the slots that it writes, look up where its operands lie, run its
 * steps one after the other, and go on where it ends. IF and WHILE
 * (control.c) run other graphs on frames of their own, by the same function; the
 * arena is one for all of them, since nothing in it lives from one plan to the
 * next.
 *
 * Deadline and cancellation are looked at between steps, between rounds of
 * a loop, and where kernels ask. Who loses the deadline gets
 * NN_EXEC_E_DEADLINE; outputs are unspecified then. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_RUN_H
#define NN_DRIVERS_CPU_EXECUTOR_RUN_H

#include "drivers/cpu/executor/services.h"

/* nn_exec() - one execution of the program, on the calling thread and the
 * team. Sets the dimensions of all outputs, also when some do not fit.
 * Returns: 0, NN_EXEC_E_*, -ENOMEM. */
int nn_exec(struct nn_program *program, struct nnhal_execution *execution, struct nn_why *why);

/* nn_run_graph() - runs a graph whose input slots are set and whose output
 * slots may be bound. Returns: 0, NN_EXEC_E_DEADLINE, _REFUSED, _CANCELLED, -ENOMEM. */
int nn_run_graph(struct nn_run *run, uint32_t graph, struct nn_frame *frame);

/* nn_run_control() - the IF or WHILE node of the graph (control.c). Returns: as nn_run_graph(). */
int nn_run_control(struct nn_run *run, uint32_t graph, uint32_t node, struct nn_frame *frame);

#endif
