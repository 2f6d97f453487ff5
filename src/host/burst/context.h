/* SPDX-License-Identifier: Apache-2.0 */
/* context.h - what a burst consists of, for the files that make and serve it
 *
 * burst.c makes and ends contexts, and has the HAL's methods; serve.c is
 * their threads. */
#ifndef NN_HOST_BURST_CONTEXT_H
#define NN_HOST_BURST_CONTEXT_H

#include "host/burst/cache.h"
#include "host/burst/executor.h"
#include "shm/spin.h"

struct nn_ring;

struct nn_burst_context {
    struct nn_object object;         /* first */
    struct nn_host_session *session; /* outlives it */
    struct nn_prepared *prepared;
    struct nn_ring *requests, *results;
    uint32_t n_result_elements;
    struct nnhal_fmq_request_datum *request; /* the copy that is judged */
    struct nnhal_fmq_result_datum *result;
    int32_t missing[NN_BURST_CACHE_SLOTS];
    struct nn_burst_cache cache;
    struct nn_burst_executor executor;
    bool is_opened;        /* the driver was told */
    struct nn_arena arena; /* of the request in progress */
    struct nn_spin spin;
    pthread_t thread;
    bool has_thread;
    uint32_t is_ending; /* atomic */
    bool is_broken;     /* the thread's: a queue cannot be used any more */
    struct nn_quota_charge charge;
    struct nn_quota_charge bytes_charge;
};

/* nn_burst_serve() - the thread of a context: until it is ending, or the client
 * has broken a queue. Returns: NULL. */
void *nn_burst_serve(void *context);

#endif
