/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - what caching keeps in a host and in a prepared model
 *
 * The data alone, so that hosts and prepared models can hold it; reoptimize.h says
 * what is done with it. */
#ifndef NN_HOST_CACHING_STATE_H
#define NN_HOST_CACHING_STATE_H

#include "base/jobs.h"

#include <nnhal/types.h>

#include <pthread.h>
#include <stdbool.h>

struct nn_host_session;
struct nn_prepared;

/* What is kept of it is in the head of a cache. */
enum nn_stage {
    NN_STAGE_QUICK = 0,
    NN_STAGE_WHOLE = 1,
    NN_STAGE_OPTIMIZED = 2,
};

/* A host's. */
struct nn_reoptimizer {
    pthread_mutex_t lock;
    struct nn_jobs *jobs;        /* made when it is needed first */
    struct nn_prepared *running; /* whose turn it is */
    uint32_t n_held;             /* models whose files are held */
};

/* A prepared model's. */
struct nn_reoptimization {
    struct nn_job job;
    struct nn_host_session *session;
    enum nn_stage stage;
    uint32_t threshold; /* executions before it is optimized; 0: it is not */
    uint32_t n_executions;
    uint32_t is_cancelled;
    /* Of the files of the cache, duplicated: the model's, then the data's; NULL: none. */
    uint32_t n_model, n_data;
    int32_t *fds;
    uint32_t n_stalling; /* of fds: counted in the session's n_stalling_files */
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES];
};

#endif
