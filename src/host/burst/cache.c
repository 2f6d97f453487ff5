/* SPDX-License-Identifier: Apache-2.0 */
#include "host/burst/cache.h"

#include "base/sys.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

void nn_burst_cache_init(struct nn_burst_cache *cache, const struct nn_meter *meter)
{
    pthread_condattr_t attributes;

    memset(cache, 0, sizeof(*cache));
    pthread_mutex_init(&cache->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&cache->filled, &attributes);
    pthread_condattr_destroy(&attributes);
    for (uint32_t i = 0; i < NN_BURST_CACHE_BINDINGS; i++) {
        nn_arena_init(&cache->bound[i].arena, 0);
        cache->bound[i].arena.meter = meter;
    }
}

/* Empties one of the bindings, but keeps a chunk of memory for the next. */
static void binding_drop(struct nn_burst_bound *bound)
{
    nn_binding_done(&bound->binding);
    nn_arena_reset(&bound->arena);
    *bound = (struct nn_burst_bound){.arena = bound->arena};
}

void nn_burst_cache_done(struct nn_burst_cache *cache)
{
    for (uint32_t i = 0; i < NN_BURST_CACHE_BINDINGS; i++) {
        binding_drop(&cache->bound[i]);
        nn_arena_done(&cache->bound[i].arena);
    }
    for (uint32_t i = 0; i < NN_BURST_CACHE_SLOTS; i++)
        nn_memory_unref(cache->slots[i]);
    pthread_cond_destroy(&cache->filled);
    pthread_mutex_destroy(&cache->lock);
}

void nn_burst_cache_close(struct nn_burst_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->is_closed = true;
    pthread_cond_broadcast(&cache->filled);
    pthread_mutex_unlock(&cache->lock);
}

/* -- slots ------------------------------------------------------------------- */

static bool is_slot(int32_t slot)
{
    return slot >= 0 && slot < NN_BURST_CACHE_SLOTS;
}

int nn_burst_cache_set(struct nn_burst_cache *cache, int32_t slot, struct nn_memory *memory)
{
    int r = 0;

    if (!is_slot(slot))
        return NN_BURST_CACHE_E_RANGE;
    pthread_mutex_lock(&cache->lock);
    if (!cache->slots[slot]) {
        nn_object_ref(&memory->object);
        cache->slots[slot] = memory;
        pthread_cond_broadcast(&cache->filled);
    } else if (cache->slots[slot] != memory) {
        r = NN_BURST_CACHE_E_TAKEN;
    }
    pthread_mutex_unlock(&cache->lock);
    return r;
}

static bool binding_uses(const struct nn_burst_bound *bound, int32_t slot)
{
    for (uint32_t i = 0; i < bound->n_pools; i++)
        if (bound->pools[i].slot == slot)
            return true;
    return false;
}

struct nn_memory *nn_burst_cache_free(struct nn_burst_cache *cache, int32_t slot)
{
    struct nn_memory *memory;

    if (!is_slot(slot))
        return NULL;
    pthread_mutex_lock(&cache->lock);
    memory = steal_ptr(&cache->slots[slot]);
    cache->n_freed++;
    for (uint32_t i = 0; i < NN_BURST_CACHE_BINDINGS; i++) {
        struct nn_burst_bound *bound = &cache->bound[i];

        if (!binding_uses(bound, slot))
            continue;
        if (bound->is_running)
            bound->is_stale = true;
        else
            binding_drop(bound);
    }
    pthread_mutex_unlock(&cache->lock);
    return memory;
}

int nn_burst_cache_missing(struct nn_burst_cache *cache, const struct nn_burst_pool *pools,
                           uint32_t n_pools, int32_t *ret_slots, uint32_t *ret_n_slots)
{
    uint64_t is_seen[NN_BURST_CACHE_SLOTS / 64] = {0};
    uint32_t n = 0;

    for (uint32_t i = 0; i < n_pools; i++)
        if (pools[i].slot >= NN_BURST_CACHE_SLOTS)
            return NN_BURST_CACHE_E_RANGE;
    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < n_pools; i++) {
        int32_t slot = pools[i].slot;

        if (slot < 0 || cache->slots[slot] || (is_seen[slot / 64] >> (slot % 64) & 1))
            continue;
        is_seen[slot / 64] |= UINT64_C(1) << (slot % 64);
        ret_slots[n++] = slot;
    }
    pthread_mutex_unlock(&cache->lock);
    *ret_n_slots = n;
    return 0;
}

static bool all_filled(const struct nn_burst_cache *cache, const int32_t *slots, uint32_t n_slots)
{
    for (uint32_t i = 0; i < n_slots; i++)
        if (!cache->slots[slots[i]])
            return false;
    return true;
}

int nn_burst_cache_wait(struct nn_burst_cache *cache, const int32_t *slots, uint32_t n_slots,
                        uint64_t deadline_ns)
{
    const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
                                      .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    bool are_filled;
    int r = 0;

    pthread_mutex_lock(&cache->lock);
    for (;;) {
        are_filled = all_filled(cache, slots, n_slots);
        if (are_filled || cache->is_closed || r != 0)
            break;
        r = pthread_cond_timedwait(&cache->filled, &cache->lock, &deadline);
    }
    pthread_mutex_unlock(&cache->lock);
    return are_filled ? 0 : NN_BURST_CACHE_E_MISSING;
}

/* -- bindings ------------------------------------------------------------------ */

/* Whether two elements say the same. What differs from time to time is the
 * number, which is not the element's own, and the deadline of the last one. */
static bool same_datum(const struct nnhal_fmq_request_datum *a,
                       const struct nnhal_fmq_request_datum *b)
{
    const size_t begin = offsetof(struct nnhal_fmq_request_datum, of);
    const size_t deadline = offsetof(struct nnhal_fmq_request_datum, of.measure_timing.deadline_ns);
    const size_t after = deadline + sizeof(a->of.measure_timing.deadline_ns);

    if (a->kind != b->kind)
        return false;
    if (a->kind != NNHAL_FMQ_REQUEST_MEASURE_TIMING)
        return memcmp((const char *)a + begin, (const char *)b + begin, sizeof(*a) - begin) == 0;
    return memcmp((const char *)a + begin, (const char *)b + begin, deadline - begin) == 0 &&
           memcmp((const char *)a + after, (const char *)b + after, sizeof(*a) - after) == 0;
}

static bool is_of(const struct nn_burst_bound *bound, const struct nnhal_fmq_request_datum *data,
                  uint32_t n_data)
{
    if (bound->n_data != n_data || bound->is_running || bound->is_stale)
        return false;
    for (uint32_t i = 0; i < n_data; i++)
        if (!same_datum(&bound->data[i], &data[i]))
            return false;
    return true;
}

struct nn_burst_bound *nn_burst_cache_find(struct nn_burst_cache *cache,
                                           const struct nnhal_fmq_request_datum *data,
                                           uint32_t n_data)
{
    struct nn_burst_bound *found = NULL;

    pthread_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < NN_BURST_CACHE_BINDINGS && !found; i++) {
        uint32_t at = (cache->last + i) % NN_BURST_CACHE_BINDINGS;

        if (is_of(&cache->bound[at], data, n_data)) {
            found = &cache->bound[at];
            found->is_running = true;
            cache->last = at;
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

/* The place for one more: the one after the last used that does not run. */
static struct nn_burst_bound *make_room(struct nn_burst_cache *cache)
{
    struct nn_burst_bound *bound;

    do {
        cache->last = (cache->last + 1) % NN_BURST_CACHE_BINDINGS;
        bound = &cache->bound[cache->last];
    } while (bound->is_running);
    binding_drop(bound);
    bound->is_running = true;
    return bound;
}

/* References to the memories of the pools that are slots; under the lock.
 * Returns: false if a slot is empty. */
static bool take_memories(const struct nn_burst_cache *cache, const struct nn_burst_pool *pools,
                          uint32_t n_pools, struct nn_memory **memories,
                          struct nnhal_request_pool *request_pools)
{
    for (uint32_t i = 0; i < n_pools; i++) {
        request_pools[i] = (struct nnhal_request_pool){.token = pools[i].token};
        if (pools[i].slot < 0)
            continue;
        memories[i] = cache->slots[pools[i].slot];
        if (!memories[i])
            return false;
        nn_object_ref(&memories[i]->object);
        request_pools[i].memory = memories[i]->object.id;
    }
    return true;
}

/* What a request is known by when it comes again. */
struct request_copy {
    const struct nnhal_fmq_request_datum *data;
    const struct nn_burst_pool *pools;
    const struct nnhal_burst_place *inputs, *outputs;
};

static const struct nnhal_burst_place *keep_places(struct nn_arena *arena, uint32_t n,
                                                   const struct nnhal_request_argument *arguments)
{
    struct nnhal_burst_place *places = nn_arena_new_n(arena, struct nnhal_burst_place, n);

    for (uint32_t i = 0; i < n && places; i++) {
        places[i].key = NNHAL_BURST_NO_KEY;
        if (!arguments[i].has_no_value)
            places[i] = (struct nnhal_burst_place){.key = arguments[i].location.pool_index,
                                                   .offset = arguments[i].location.offset};
    }
    return places;
}

static bool request_copy_init(struct nn_arena *arena, const struct nn_burst_request *request,
                              struct nn_burst_elements elements, struct request_copy *copy)
{
    copy->data = nn_arena_dup(arena, elements.data, elements.n_data * sizeof(*elements.data));
    copy->pools = nn_arena_dup(arena, request->pools, request->n_pools * sizeof(*request->pools));
    copy->inputs = keep_places(arena, request->n_inputs, request->inputs);
    copy->outputs = keep_places(arena, request->n_outputs, request->outputs);
    return copy->data && copy->pools && copy->inputs && copy->outputs;
}

uint32_t nn_burst_cache_bind(struct nn_call *call, struct nn_burst_cache *cache,
                             struct nn_prepared *prepared, const struct nn_burst_request *request,
                             struct nn_burst_elements elements, struct nn_burst_bound **ret_bound)
{
    struct nnhal_request_pool *pools = nn_arena_new_n(call->arena, struct nnhal_request_pool,
                                                      request->n_pools);
    struct nn_memory **memories = nn_arena_new_n(call->arena, struct nn_memory *, request->n_pools);
    const struct nnhal_request bare = {.n_inputs = request->n_inputs,
                                       .n_outputs = request->n_outputs,
                                       .n_pools = request->n_pools,
                                       .inputs = request->inputs,
                                       .outputs = request->outputs,
                                       .pools = pools};
    struct nn_burst_bound *bound;
    struct request_copy copy = {.data = NULL};
    uint32_t status = NNHAL_NONE;
    uint64_t n_freed;

    if (!pools || !memories)
        return nn_call_fail_no_memory(call);
    pthread_mutex_lock(&cache->lock);
    bound = make_room(cache);
    n_freed = cache->n_freed;
    if (!take_memories(cache, request->pools, request->n_pools, memories, pools))
        status = nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                              "a slot of the request is empty: set_burst_memory fills it");
    pthread_mutex_unlock(&cache->lock);
    if (status == NNHAL_NONE) {
        nn_object_ref(&prepared->object);
        status = nn_binding_init(
            call, &bound->binding, prepared,
            &(struct nn_binding_source){.request = &bare, .memories = memories}, &bound->arena);
    }
    for (uint32_t i = 0; i < request->n_pools; i++)
        nn_memory_unref(memories[i]);
    if (status == NNHAL_NONE && !request_copy_init(&bound->arena, request, elements, &copy))
        status = nn_call_fail_no_memory(call);
    pthread_mutex_lock(&cache->lock);
    bound->data = copy.data;
    bound->n_data = elements.n_data;
    bound->pools = copy.pools;
    bound->n_pools = copy.pools ? request->n_pools : 0;
    bound->inputs = copy.inputs;
    bound->outputs = copy.outputs;
    bound->is_stale = cache->n_freed != n_freed || status != NNHAL_NONE;
    pthread_mutex_unlock(&cache->lock);
    if (status == NNHAL_NONE)
        *ret_bound = bound;
    else
        nn_burst_cache_end(cache, bound);
    return status;
}

bool nn_burst_cache_is_stale(struct nn_burst_cache *cache, const struct nn_burst_bound *bound)
{
    bool is_stale;

    pthread_mutex_lock(&cache->lock);
    is_stale = bound->is_stale;
    pthread_mutex_unlock(&cache->lock);
    return is_stale;
}

void nn_burst_cache_end(struct nn_burst_cache *cache, struct nn_burst_bound *bound)
{
    pthread_mutex_lock(&cache->lock);
    bound->is_running = false;
    if (bound->is_stale)
        binding_drop(bound);
    pthread_mutex_unlock(&cache->lock);
}
