/* SPDX-License-Identifier: Apache-2.0 */
/* fence-line.h - an execution in parts that its devices start by themselves
 *
 * Each part is a fenced computation (execution/fenced.h), and all are launched at once: the first waits
 * for what the request waits for, each other one for the fence of the part before it. The last one's fence is
 * that of the whole. No thread of ours stands in between.
 *
 *     launch --> wait for the link (execution/chain.h), by any number of threads --> collect, once
 *
 * Suited is what no thread of ours is needed for: a plan whose parts follow each other in one line, and
 * of which the last alone makes outputs of the model; arguments in memories; shapes that the model tells;
 * no control flow of ours, no limit of time; and no other device that computes what fails, as where the
 * application has listed devices: what a fence has told cannot be taken back.
 *
 * Since the last part alone writes to the application's memory, nothing does after the fence of the whole has
 * told of a failure, also where parts before it are still computed: what they write to is used for
 * nothing else then.
 * A part that fails by itself, or whose process dies or is given up, fails those behind it. It alone counts as
 * a failure of its device, and a whole that failed has no results. Each launch makes executions of its own. */
#ifndef NN_RUNTIME_PARTITION_FENCE_LINE_H
#define NN_RUNTIME_PARTITION_FENCE_LINE_H

#include "runtime/execution/chain.h"
#include "runtime/execution/fenced.h"

struct nn_rt_fence_line;

/* nn_rt_fence_line_launch() - hands the parts of an execution, which has begun and is borrowed, to their
 * devices. link is the whole's, with what it waits for, and lives as long as the line: it gets the last
 * part's fence and session, and the parts before that as its inner ones. Blocks until each device has taken
 * its part. Where one does not, those before it may still be computed, for nothing.
 * Returns: 0; NN_RT_FENCED_E_UNSUITED, also where a device is dead or takes no more that waits: a job may
 * compute it; what else the device of a part answers, which counts as a failure of that; -ENOMEM, -errno. */
int nn_rt_fence_line_launch(ANeuralNetworksExecution *execution,
                            const struct nn_rt_fenced_request *request, struct nn_rt_link *link,
                            struct nn_why *why, struct nn_rt_fence_line **ret_line);

/* nn_rt_fence_line_collect() - what became of the parts, after a wait for the link that was not ended by a
 * limit, and before it is detached. Blocks as nn_rt_fenced_collect(), but on no part that is still computed. Who
 * computed what is in execution->parts then.
 * Returns: 0; what the first part that failed by itself was answered; OP_FAILED: none did, but something
 * that the whole depends on. */
int nn_rt_fence_line_collect(struct nn_rt_fence_line *line, struct nn_why *why);

/* nn_rt_fence_line_free() - when no thread waits for the link any more. Accepts NULL; returns NULL. */
struct nn_rt_fence_line *nn_rt_fence_line_free(struct nn_rt_fence_line *line);

NN_DEFINE_CLEANUP(struct nn_rt_fence_line, nn_rt_fence_line_free)

#endif
