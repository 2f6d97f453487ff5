/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h - an execution in parts that its devices start by themselves
 *
 * Each part is a fenced computation (execution/fenced.h), and all are launched at once. A part waits for
 * the fences of those that make what it reads, or, if it reads nothing of others, for what the
 * request waits for: in any order of the plan no thread of ours stands in between. A device
 * without a queue is waited for by its host, which then computes the part. The last part waits
 * for all that nothing waits for, too: its fence is that of the whole.
 *
 *     launch --> wait, by any number of threads --> collect, once
 *
 * A part that fails, or is late, fails those that read what it makes, and they those after them; the
 * others are computed. Nothing is computed elsewhere: what the fence has told cannot be taken back.
 *
 * Suited are executions with every argument in a memory and with shapes that the model tells, of
 * compilations whose failures are not computed by another device (fallback.h). */
#ifndef NN_RUNTIME_PARTITION_CHAIN_H
#define NN_RUNTIME_PARTITION_CHAIN_H

#include "runtime/execution/fenced.h"

struct nn_rt_chain;

/* nn_rt_chain_launch() - hands the parts of an execution, which has begun and is borrowed, to their
 * devices. A part that cannot be launched has failed: the chain tells.
 * Returns: 0; NN_RT_FENCED_E_UNSUITED, -ENOMEM: nothing was launched. */
int nn_rt_chain_launch(ANeuralNetworksExecution *execution,
                       const struct nn_rt_fenced_request *request, struct nn_why *why,
                       struct nn_rt_chain **ret_chain);

/* nn_rt_chain_free() - after collect. Accepts NULL; returns NULL. */
struct nn_rt_chain *nn_rt_chain_free(struct nn_rt_chain *chain);

/* nn_rt_chain_dup_fence() - the caller's; -1: all has ended, or no descriptor is left. */
int nn_rt_chain_dup_fence(const struct nn_rt_chain *chain);

/* nn_rt_chain_wait() - until no part is being computed, or is given up (nn_rt_fenced_wait()). */
void nn_rt_chain_wait(const struct nn_rt_chain *chain, uint64_t deadline_ns);

/* nn_rt_chain_collect() - waits, too. Who computed what is in execution->parts then.
 * Returns: 0; what the first part that failed was answered. */
int nn_rt_chain_collect(struct nn_rt_chain *chain, uint64_t deadline_ns, struct nn_why *why);

#endif
