/* SPDX-License-Identifier: Apache-2.0 */
/* control-flow.h - an IF or WHILE whose branches several devices compute
 *
 * No device takes the operation, but devices take its branches, each whole or in parts: the runtime
 * reads the conditions and calls branch after branch. Between two calls of a loop it looks at the
 * loop's timeout and at the deadline of the computation. What a loop has in the end is copied to its
 * outputs, once; where they are too small, it stays until they are larger (execution->is_continued).
 *
 *     IF      condition read -> then, or else
 *     WHILE   condition -> body -> condition -> ... -> outputs
 *
 * Each branch is a compilation of its own, so that it may have parts, and control flow of this kind,
 * itself, and recovery and fallback of a call are those of any execution. A device that dies is
 * asked for the same round again: what the body reads is never what it writes. */
#ifndef NN_RUNTIME_PARTITION_CONTROL_FLOW_H
#define NN_RUNTIME_PARTITION_CONTROL_FLOW_H

#include "runtime/partition/step.h"

/* nn_rt_control_flow_compute() - runs the operation, the first time makes executions of its branches;
 * between begin and end of the execution, which keeps them. deadline_ns: until then.
 * Returns: 0 and OUTPUT_INSUFFICIENT_SIZE with the execution's shapes; MISSED_DEADLINE_TRANSIENT, also
 * for the loop's timeout; OP_FAILED: a condition or an output has no value that can be used, or a value
 * within has too little room; UNMAPPABLE: a memory of the application cannot be read or written; what
 * the device of a branch answers; -ENOMEM. */
int nn_rt_control_flow_compute(ANeuralNetworksExecution *execution,
                               const struct nn_rt_steps_calls *calls, uint64_t deadline_ns,
                               struct nn_why *why);

#endif
