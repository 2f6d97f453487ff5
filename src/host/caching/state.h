/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - what caching keeps in a host and in a prepared model
 *
 * The data alone, so that hosts and prepared models can hold it; reoptimize.h and
 * model-store.h say what is done with it. */
#ifndef NN_HOST_CACHING_STATE_H
#define NN_HOST_CACHING_STATE_H

#include "base/jobs.h"
#include "cache/hash.h"

#include <nnhal/types.h>

#include <pthread.h>
#include <stdbool.h>

struct nn_host_session;
struct nn_prepared;
struct nnhal_cache;
struct nnhal_store;

/* -- better plans in the background (reoptimize.h) ------------------------------- */

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

/* -- models of applications without a cache (model-store.h) -------------------------- */

/* What a host keeps models with. */
struct nn_model_store {
    pthread_mutex_t lock;
    bool is_on;
    bool has_failed; /* opening was tried, and is not again */
    bool is_choosy;  /* keeps only what compiles more slowly than it is found */
    char *folder;    /* NULL: not known yet */
    struct nnhal_store *store;
};

/* What is known of a model on its way, in struct nn_prepared. */
struct nn_store_entry {
    struct nnhal_cache *cache; /* what the driver fills, to be kept; NULL: it is not to be */
    struct nn_hash structure;  /* of the model without the constants in its pools */
    struct nn_hash key;
    uint64_t compile_ns; /* what it took the last time; 0: not known, or not asked for */
    uint64_t begun_ns;
};

#endif
