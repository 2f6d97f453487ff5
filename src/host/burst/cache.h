/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - what a burst keeps between its requests
 *
 * Memories by slot: what lies in a slot stays mapped until the slot is
 * freed, even if the memory's id is freed before. And the bindings of the last few
 * different requests: one that comes again, all elements equal but for sequence
 * number and deadline, is not judged again. A request is compared as it was
 * copied out of the queue, so that what was judged is what is run.
 *
 * A binding holds its memories too. When a slot is freed, the bindings that use
 * it go: at once, or at the end of the run in progress. What can change of a
 * buffer that a token names (its contents, whether it was freed) is judged at
 * each run (binding.h).
 *
 * Threads: set, free and close: any. The rest: the thread that serves the burst.
 * The lock is held for a few steps, never during a wait. */
#ifndef NN_HOST_BURST_CACHE_H
#define NN_HOST_BURST_CACHE_H

#include "hal/burst-packet.h"
#include "host/execution/binding.h"

#include <pthread.h>

enum {
    NN_BURST_CACHE_SLOTS = 1024,
    NN_BURST_CACHE_BINDINGS = 4,
};

enum {
    NN_BURST_CACHE_E_RANGE = 1,   /* no such slot */
    NN_BURST_CACHE_E_TAKEN = 2,   /* another memory lies in the slot */
    NN_BURST_CACHE_E_MISSING = 3, /* slots are empty */
    NN_BURST_CACHE_E_MEMORY = 4,
};

/* A request that was judged. */
struct nn_burst_bound {
    struct nn_binding binding;
    struct nn_arena arena; /* of the binding and of what follows */
    uint32_t n_data;       /* 0: this one is free */
    const struct nnhal_fmq_request_datum *data;
    uint32_t n_pools;
    const struct nn_burst_pool *pools;
    /* Of each argument, with the index of its pool instead of a key. */
    const struct nnhal_burst_place *inputs, *outputs;
    bool is_running;
    bool is_stale; /* to be dropped when it does not run any more */
};

struct nn_burst_cache {
    pthread_mutex_t lock;
    pthread_cond_t filled; /* a slot was, or the burst ends */
    bool is_closed;
    struct nn_memory *slots[NN_BURST_CACHE_SLOTS]; /* NULL: empty */
    uint64_t n_freed;                              /* slots, ever */
    struct nn_burst_bound bound[NN_BURST_CACHE_BINDINGS];
    uint32_t last; /* used */
};

void nn_burst_cache_init(struct nn_burst_cache *cache, const struct nn_meter *meter);

/* nn_burst_cache_done() - the burst is served no more. */
void nn_burst_cache_done(struct nn_burst_cache *cache);

/* nn_burst_cache_close() - ends the wait for slots, now and later. */
void nn_burst_cache_close(struct nn_burst_cache *cache);

/* nn_burst_cache_set() - puts a memory into a slot; takes a reference of its own.
 * The same memory again is no error. Returns: 0, RANGE, TAKEN. */
int nn_burst_cache_set(struct nn_burst_cache *cache, int32_t slot, struct nn_memory *memory);

/* nn_burst_cache_free() - empties a slot. Returns: the memory that lay in it, with
 * the slot's reference; NULL: none. */
struct nn_memory *nn_burst_cache_free(struct nn_burst_cache *cache, int32_t slot);

/* nn_burst_cache_find() - the binding of a request that came before, running from
 * now on. Returns: NULL if there is none. */
struct nn_burst_bound *nn_burst_cache_find(struct nn_burst_cache *cache,
                                           const struct nnhal_fmq_request_datum *data,
                                           uint32_t n_data);

/* nn_burst_cache_missing() - which slots of the pools are empty, each once, into
 * ret_slots, which has room for NN_BURST_CACHE_SLOTS. Returns: 0 with their
 * number, RANGE. */
int nn_burst_cache_missing(struct nn_burst_cache *cache, const struct nn_burst_pool *pools,
                           uint32_t n_pools, int32_t *ret_slots, uint32_t *ret_n_slots);

/* nn_burst_cache_wait() - until none of these slots is empty.
 * Returns: 0, MISSING (the deadline has passed, or the burst ends). */
int nn_burst_cache_wait(struct nn_burst_cache *cache, const int32_t *slots, uint32_t n_slots,
                        uint64_t deadline_ns);

/* A request as it came out of the queue. */
struct nn_burst_elements {
    const struct nnhal_fmq_request_datum *data;
    uint32_t n_data;
};

/* nn_burst_cache_bind() - judges a request and binds it; running from now on. It is found by its
 * elements again. Returns: NNHAL_NONE, or the status with the call's message set. */
uint32_t nn_burst_cache_bind(struct nn_call *call, struct nn_burst_cache *cache,
                             struct nn_prepared *prepared, const struct nn_burst_request *request,
                             struct nn_burst_elements elements, struct nn_burst_bound **ret_bound);

/* nn_burst_cache_is_stale() - whether a slot of a running binding was freed. */
bool nn_burst_cache_is_stale(struct nn_burst_cache *cache, const struct nn_burst_bound *bound);

/* nn_burst_cache_end() - a binding does not run any more. */
void nn_burst_cache_end(struct nn_burst_cache *cache, struct nn_burst_bound *bound);

#endif
