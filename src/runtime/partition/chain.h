/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - an execution in parts that its devices start by themselves
 *
 * Each part is a fenced computation (execution/fenced.h), and all are launched at once: the first waits for
 * what the request waits for, each other one for the fence of the part before it. The last one's fence is that of
 * the whole. No thread of ours stands in between; a device without a queue is waited for by its host, which
 * then computes the part.
 *
 *     launch --> wait, by any number of threads --> collect, once
 *
 * A part that fails, or is late, fails those after it. Nothing is computed elsewhere: what a fence has told
 * cannot be taken back.
 *
 * Suited are executions with every argument in a memory and with shapes that the model tells, of
 * compilations whose failures are not computed by another device (fallback.h), whose parts follow each other
 * in one line: so that a value is not written before all have read what lay in its place, and nothing
 * is written any more when the last fence tells of a failure. After a part in a service all are in other
 * processes: if the service is stopped, what waits for it is ended by leaving those. Each launch makes
 * executions of its own. */
#ifndef NN_RUNTIME_PARTITION_CHAIN_H
#define NN_RUNTIME_PARTITION_CHAIN_H

#include "runtime/execution/fenced.h"

struct nn_rt_chain;

/* nn_rt_chain_launch() - hands the parts of an execution, which has begun and is borrowed, to their
 * devices. A part after the first that cannot be launched has failed: the chain tells.
 * Returns: 0; NN_RT_FENCED_E_UNSUITED, what the first device answers, -ENOMEM: nothing was launched. */
int nn_rt_chain_launch(ANeuralNetworksExecution *execution,
                       const struct nn_rt_fenced_request *request, struct nn_why *why,
                       struct nn_rt_chain **ret_chain);

/* nn_rt_chain_free() - after collect. Accepts NULL; returns NULL. */
struct nn_rt_chain *nn_rt_chain_free(struct nn_rt_chain *chain);

/* nn_rt_chain_dup_fence() - the caller's; -1: all has ended, or it has to be waited for. */
int nn_rt_chain_dup_fence(const struct nn_rt_chain *chain);

/* nn_rt_chain_wait() - until no part is being computed, or is given up (nn_rt_fenced_wait()). */
void nn_rt_chain_wait(const struct nn_rt_chain *chain);

/* nn_rt_chain_collect() - waits, too. Who computed what is in execution->parts then.
 * Returns: 0; what the first part that failed was answered. */
int nn_rt_chain_collect(struct nn_rt_chain *chain, struct nn_why *why);

#endif
