/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/argument-pool.h"

#include "base/arith.h"
#include "base/error.h"

/* Sizes are rounded to a page, which is what shared memory takes anyway: more pools fit again. */
#define GRANULE 4096

void nn_rt_argument_pools_init(struct nn_rt_argument_pools *cache)
{
    *cache = (struct nn_rt_argument_pools){.n_pools = 0};
    pthread_mutex_init(&cache->lock, NULL);
}

void nn_rt_argument_pools_done(struct nn_rt_argument_pools *cache)
{
    while (cache->n_pools)
        nn_rt_memory_unref(cache->pools[--cache->n_pools]);
    pthread_mutex_destroy(&cache->lock);
}

/* Executions of one compilation mostly need the same: the first that fits and
 * is not much too large will do. */
static ANeuralNetworksMemory *take_fitting(struct nn_rt_argument_pools *cache, uint64_t n_bytes)
{
    ANeuralNetworksMemory *pool = NULL;

    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->n_pools && !pool; i++)
        if (cache->pools[i]->size >= n_bytes && cache->pools[i]->size / 2 <= n_bytes) {
            pool = cache->pools[i];
            cache->pools[i] = cache->pools[--cache->n_pools];
        }
    pthread_mutex_unlock(&cache->lock);
    return pool;
}

int nn_rt_argument_pools_take(struct nn_rt_argument_pools *cache, uint64_t n_bytes,
                              ANeuralNetworksMemory **ret_pool)
{
    ANeuralNetworksMemory *pool;
    uint64_t rounded;

    if (!nn_align_up(n_bytes, GRANULE, &rounded))
        return nn_error_origin(-ENOMEM);
    while ((pool = take_fitting(cache, rounded)) && nn_rt_memory_is_exposed(pool))
        nn_rt_memory_unref(pool);
    *ret_pool = pool;
    return pool ? 0 : nn_rt_memory_new_pool("nnhal-arguments", rounded, ret_pool);
}

ANeuralNetworksMemory *nn_rt_argument_pools_give(struct nn_rt_argument_pools *cache,
                                                 ANeuralNetworksMemory *pool)
{
    if (!pool)
        return NULL;
    /* A forked child must not touch the lock. */
    if (!nn_rt_object_is_foreign(&pool->object) && pool->size <= NN_RT_ARGUMENT_POOL_MAX_BYTES) {
        pthread_mutex_lock(&cache->lock);
        if (cache->n_pools < NN_RT_ARGUMENT_POOLS_MAX) {
            cache->pools[cache->n_pools++] = pool;
            pool = NULL;
        }
        pthread_mutex_unlock(&cache->lock);
    }
    return nn_rt_memory_unref(pool);
}
