/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - what a device answered for a computation
 *
 * A device in another process may answer anything, so its reply is checked
 * before it is used: as many shapes as outputs, dimensions that refine what
 * was known and never contradict it, sizes that fit the buffers. What breaks
 * that is OP_FAILED. */
#ifndef NN_RUNTIME_EXECUTION_REPLY_H
#define NN_RUNTIME_EXECUTION_REPLY_H

#include "runtime/execution/execution.h"

/* nn_rt_reply_accept() - keeps shapes and timing, and copies outputs by pointer out.
 * Returns: 0; the ResultCode of status; OP_FAILED. */
int nn_rt_reply_accept(ANeuralNetworksExecution *execution, uint32_t status,
                       const struct nn_hal_execute_synchronously_reply *reply, struct nn_why *why);

/* nn_rt_reply_accept_launch() - of a fenced computation that has been launched: its
 * outputs are fully specified, and lie in memories, which from now on count as initialized. */
void nn_rt_reply_accept_launch(ANeuralNetworksExecution *execution);

/* nn_rt_reply_mark_outputs() - tells the memories made from descriptors that outputs lie
 * in whether they hold results. */
void nn_rt_reply_mark_outputs(ANeuralNetworksExecution *execution, bool is_computed);

/* nn_rt_reply_accept_fenced() - the timing of a fenced computation that went well. */
void nn_rt_reply_accept_fenced(ANeuralNetworksExecution *execution,
                               const struct nn_hal_get_fenced_info_reply *info);

#endif
