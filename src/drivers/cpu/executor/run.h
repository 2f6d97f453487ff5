/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - running the plans of a graph
 *
 * Plan by plan: get the plan that fits the frame, give memory to the slots that it
 * writes, look up where its operands lie, run its steps one after the other, and go on
 * where it ends. The arena is one for all plans of an execution, since nothing in it
 * lives from one plan to the next.
 *
 * Deadline and cancellation are looked at between steps, and where kernels ask. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_RUN_H
#define NN_DRIVERS_CPU_EXECUTOR_RUN_H

#include "drivers/cpu/executor/services.h"

/* nn_run_plans() - runs the graph's plans from *node on, up to its end or to an IF or WHILE;
 * *node is then where it stopped: at n_nodes, or at that node.
 * Returns: 0, NN_EXEC_E_DEADLINE, _REFUSED, _CANCELLED, -ENOMEM, -EDQUOT. */
int nn_run_plans(struct nn_run *run, uint32_t graph, struct nn_frame *frame, uint32_t *node);

#endif
