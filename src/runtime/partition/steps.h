/* SPDX-License-Identifier: Apache-2.0 */
/* steps.h - an execution of a plan with several parts
 *
 * Each part is an execution of its own compilation (step.h), so that recovery, bursts and
 * fallback of a part are those of any execution. What the application has set goes to
 * the parts as it is; exchange.h has what they give each other.
 *
 * An execution that is continued (execution->is_continued) begins with the part that lacked room.
 *
 * Where a process ends that holds what a part has made for others (residents.h), all parts are computed once
 * more, with what they give each other in shared memory.
 *
 * The parts are computed in the plan's order, batch by batch: those of a batch side by side (wave.h).
 * All else is done by the thread that owns the computation, one at a time. */
#ifndef NN_RUNTIME_PARTITION_STEPS_H
#define NN_RUNTIME_PARTITION_STEPS_H

#include "runtime/partition/step.h"

/* nn_rt_steps_compute() - computes the parts, the first time makes their executions; between begin and
 * end of the execution, which keeps them. Who computed what is in execution->parts then.
 * Returns: 0 and OUTPUT_INSUFFICIENT_SIZE with the execution's shapes; what the device of a
 * part answers; -ENOMEM. */
int nn_rt_steps_compute(ANeuralNetworksExecution *execution, const struct nn_rt_steps_calls *calls,
                        struct nn_why *why);

/* nn_rt_steps_need_whole() - whether the last computation failed for a reason that only a device
 * which computes the whole model does not have. */
bool nn_rt_steps_need_whole(const struct nn_rt_steps *steps);

#endif
