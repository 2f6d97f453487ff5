/* SPDX-License-Identifier: Apache-2.0 */
/* argument-pool.h - pools for arguments given by pointer, kept for the next execution
 *
 * Making shared memory and importing it costs far more than a small inference,
 * so that a compilation keeps a few pools that its executions are done with. A pool that
 * a process which was given up has mapped is never used again.
 * Threads: any. */
#ifndef NN_RUNTIME_MEMORY_ARGUMENT_POOL_H
#define NN_RUNTIME_MEMORY_ARGUMENT_POOL_H

#include "runtime/memory/memory.h"

/* What is kept at most. */
#define NN_RT_ARGUMENT_POOLS_MAX      4
#define NN_RT_ARGUMENT_POOL_MAX_BYTES (UINT64_C(64) << 20) /* of one pool */

struct nn_rt_argument_pools {
    pthread_mutex_t lock;
    uint32_t n_pools;
    ANeuralNetworksMemory *pools[NN_RT_ARGUMENT_POOLS_MAX];
};

void nn_rt_argument_pools_init(struct nn_rt_argument_pools *cache);
void nn_rt_argument_pools_done(struct nn_rt_argument_pools *cache);

/* nn_rt_argument_pools_take() - a pool of at least n_bytes, the caller's; its contents are
 * undefined. Returns: 0, -ENOMEM, -errno. */
int nn_rt_argument_pools_take(struct nn_rt_argument_pools *cache, uint64_t n_bytes,
                              ANeuralNetworksMemory **ret_pool);

/* nn_rt_argument_pools_give() - takes a pool back, which nothing uses any more, or frees it.
 * Accepts NULL; returns NULL. */
ANeuralNetworksMemory *nn_rt_argument_pools_give(struct nn_rt_argument_pools *cache,
                                                 ANeuralNetworksMemory *pool);

#endif
