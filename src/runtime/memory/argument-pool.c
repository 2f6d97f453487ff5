/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/staging.h"

#include "base/arith.h"
#include "base/error.h"

#define GRANULE 4096

void nn_rt_staging_init(struct nn_rt_staging *staging)
{
    *staging = (struct nn_rt_staging){.n_pools = 0};
    pthread_mutex_init(&staging->lock, NULL);
}

void nn_rt_staging_done(struct nn_rt_staging *staging)
{
    while (staging->n_pools)
        nn_rt_memory_unref(staging->pools[--staging->n_pools]);
    pthread_mutex_destroy(&staging->lock);
}

/* Executions of one compilation mostly need the same: the first that fits and
 * is not much too large will do. */
static ANeuralNetworksMemory *take_kept(struct nn_rt_staging *staging, uint64_t n_bytes)
{
    ANeuralNetworksMemory *pool = NULL;

    pthread_mutex_lock(&staging->lock);
    for (uint32_t i = 0; i < staging->n_pools && !pool; i++)
        if (staging->pools[i]->size >= n_bytes && staging->pools[i]->size / 2 <= n_bytes) {
            pool = staging->pools[i];
            staging->pools[i] = staging->pools[--staging->n_pools];
        }
    pthread_mutex_unlock(&staging->lock);
    return pool;
}

int nn_rt_staging_take(struct nn_rt_staging *staging, uint64_t n_bytes,
                       ANeuralNetworksMemory **ret_pool)
{
    uint64_t rounded;

    if (!nn_align_up(n_bytes, GRANULE, &rounded))
        return nn_error_origin(-ENOMEM);
    *ret_pool = take_kept(staging, rounded);
    return *ret_pool ? 0 : nn_rt_memory_new_pool("nnhal-arguments", rounded, ret_pool);
}

ANeuralNetworksMemory *nn_rt_staging_give(struct nn_rt_staging *staging,
                                          ANeuralNetworksMemory *pool)
{
    if (!pool)
        return NULL;
    /* A forked child must not touch the lock. */
    if (!nn_rt_object_is_foreign(&pool->object) && pool->size <= NN_RT_STAGING_MAX_BYTES) {
        pthread_mutex_lock(&staging->lock);
        if (staging->n_pools < NN_RT_STAGING_MAX_POOLS) {
            staging->pools[staging->n_pools++] = pool;
            pool = NULL;
        }
        pthread_mutex_unlock(&staging->lock);
    }
    return nn_rt_memory_unref(pool);
}
