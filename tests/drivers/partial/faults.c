/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - each fault, as a driver's author might make it
 *
 *     shape      the last dimension of an output is one too small
 *     wrong      MAXIMUM computes something else
 *     drift      what is computed a second time is something else
 *     stale      every execution gives what the first one of the prepared model gave
 *     race       results go through memory that all executions share
 *     overrun    four bytes behind an output are written to
 *     scribble   an input is written to
 *     small      an output that is too small is no failure
 *     deadline   the deadline of executions is lost
 *     cancel     so is their cancellation
 *     leak       256 KiB of each execution are not freed
 *     keep       prepared models are not released
 *     key        the first model that was cached comes back in place of every other
 *     trust      a data cache that was changed ends the process
 *     greedy     so does memory that is refused
 *     frail      so does MAXIMUM that is to be cached
 *     deep       a long model is not prepared
 *     hang       an execution does not end
 *     half       there is burst_opened() without burst_closed()
 *     untyped    the device has no type
 *
 * And what is no fault, though few drivers do it:
 *
 *     untidy     a prepare() that fails leaves a pointer to nothing
 *     lean       the table ends behind execute(), and has no close()
 *     strict     open() fails where a service is missing */
#include "drivers/partial/faults.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LEAK_BYTES = 1 << 18, SCRATCH_BYTES = 1 << 20, MOST_CACHED = 4096 };

/* A prepared model, with what faults remember of it. */
struct faulty {
    void *prepared;
    bool is_maximum;
    uint32_t n_executed;
    uint8_t *first; /* the first output of the first execution */
    uint64_t n_first;
};

static const struct nnhal_driver *inner;
static struct nnhal_driver outer;
static struct nnhal_driver_services services; /* as the inner table gets them */
static const struct nnhal_driver_services *given;
static const char *planted;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_planted(const char *fault)
{
    return strcmp(planted, fault) == 0;
}

/* -- memory ---------------------------------------------------------------------------- */

static uint32_t greedy_charge(void *ctx, void *account, uint64_t n_bytes)
{
    if (given->charge(given->ctx, account, n_bytes) != NNHAL_NONE)
        abort(); /* as one that uses what it did not get */
    return NNHAL_NONE;
}

/* Devices are found from here where none is closed: a sanitizer takes them for lost else. */
struct opened {
    void *device;
    struct opened *before;
};

static struct opened *last_opened;

static void keep_opened(void *device)
{
    struct opened *opened = malloc(sizeof(*opened));

    if (!opened)
        return;
    *opened = (struct opened){device, last_opened};
    last_opened = opened;
}

static bool has_all(const struct nnhal_driver_services *theirs)
{
    return theirs->log && theirs->explain && theirs->allocate && theirs->release &&
           theirs->charge && theirs->uncharge && theirs->end_fenced && theirs->refuse;
}

static uint32_t faulty_open(const struct nnhal_driver_services *theirs, void **ret_device)
{
    uint32_t status;

    if (is_planted("strict") && !has_all(theirs))
        return NNHAL_GENERAL_FAILURE;
    given = theirs;
    services = *theirs;
    if (is_planted("greedy"))
        services.charge = greedy_charge;
    status = inner->open(&services, ret_device);
    if (status == NNHAL_NONE && is_planted("lean"))
        keep_opened(*ret_device);
    return status;
}

static void leak(void)
{
    static uint8_t *last; /* found from here alone: the one before is lost */
    uint8_t *block = malloc(LEAK_BYTES);

    if (block)
        memset(block, 1, LEAK_BYTES);
    __atomic_store_n(&last, block, __ATOMIC_RELAXED);
}

/* -- the cache ------------------------------------------------------------------------- */

static struct nnhal_cache_buffer first_files[2]; /* of the first model that was cached */
static uint64_t known[MOST_CACHED];              /* what data caches were handed over */
static unsigned n_known;

static uint64_t digest(const struct nnhal_cache_buffer *buffer)
{
    uint64_t hash = 1469598103934665603u ^ buffer->size;

    for (uint64_t i = 0; i < buffer->size; i++)
        hash = (hash ^ ((const uint8_t *)buffer->bytes)[i]) * 1099511628211u;
    return hash;
}

static struct nnhal_cache_buffer copy_buffer(const struct nnhal_cache_buffer *buffer)
{
    void *bytes = aligned_alloc(64, (buffer->size + 127) / 64 * 64);

    if (bytes)
        memcpy(bytes, buffer->bytes, buffer->size);
    return (struct nnhal_cache_buffer){bytes, buffer->size};
}

static void remember_cache(const struct nnhal_cache *cache)
{
    if (!cache || cache->model_files[0].size == 0)
        return;
    pthread_mutex_lock(&lock);
    if (!first_files[0].bytes && is_planted("key")) {
        first_files[0] = copy_buffer(&cache->model_files[0]);
        first_files[1] = copy_buffer(&cache->data_files[0]);
    }
    if (n_known < MOST_CACHED)
        known[n_known++] = digest(&cache->data_files[0]);
    pthread_mutex_unlock(&lock);
}

static bool is_known(const struct nnhal_cache_buffer *data)
{
    uint64_t hash = digest(data);
    bool is_there = false;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < n_known; i++)
        is_there |= known[i] == hash;
    pthread_mutex_unlock(&lock);
    return is_there;
}

static struct faulty *wrap(void *prepared)
{
    struct faulty *faulty = calloc(1, sizeof(*faulty));

    if (faulty)
        faulty->prepared = prepared;
    else
        inner->release(prepared);
    return faulty;
}

static uint32_t faulty_prepare_from_cache(void *device,
                                          const struct nnhal_prepare_from_cache *prepare,
                                          void **ret_prepared)
{
    struct nnhal_cache cache = *prepare->cache;
    struct nnhal_prepare_from_cache other = *prepare;
    uint32_t status;

    if (is_planted("trust") && !is_known(&cache.data_files[0]))
        abort(); /* as one that takes an offset from it */
    if (is_planted("key") && first_files[0].bytes) {
        cache.model_files = &first_files[0];
        cache.data_files = &first_files[1];
    }
    other.cache = &cache;
    status = inner->prepare_from_cache(device, &other, ret_prepared);
    if (status == NNHAL_NONE)
        *ret_prepared = wrap(*ret_prepared);
    return status == NNHAL_NONE && !*ret_prepared ? NNHAL_RESOURCE_EXHAUSTED_TRANSIENT : status;
}

/* -- prepared models ------------------------------------------------------------------- */

static bool is_maximum(const struct nnhal_subgraph *graph)
{
    return graph->n_operations == 1 && graph->operations[0].type == NNHAL_OP_MAXIMUM;
}

static uint32_t faulty_prepare(void *device, const struct nnhal_prepare *prepare,
                               void **ret_prepared)
{
    const struct nnhal_subgraph *graph = &prepare->model.model->main;
    struct faulty *faulty;
    uint32_t status;

    if (is_planted("deep") && graph->n_operations > 20)
        return NNHAL_GENERAL_FAILURE;
    if (is_planted("frail") && prepare->cache && is_maximum(graph))
        abort();
    status = inner->prepare(device, prepare, ret_prepared);
    if (status != NNHAL_NONE) {
        if (is_planted("untidy"))
            *ret_prepared = (void *)(uintptr_t)1;
        return status;
    }
    remember_cache(prepare->cache);
    faulty = wrap(*ret_prepared);
    *ret_prepared = faulty;
    if (!faulty)
        return NNHAL_RESOURCE_EXHAUSTED_TRANSIENT;
    faulty->is_maximum = is_maximum(graph);
    return NNHAL_NONE;
}

static void faulty_release(void *prepared)
{
    struct faulty *faulty = prepared;

    if (is_planted("keep"))
        return;
    inner->release(faulty->prepared);
    free(faulty->first);
    free(faulty);
}

/* -- executions ------------------------------------------------------------------------ */

/* The bytes that an output has; at least what it may have where it is whole. */
static uint64_t bytes_of(const struct nnhal_output *output)
{
    return output->data && !output->is_omitted ? output->capacity : 0;
}

static void replay_first(struct faulty *faulty, const struct nnhal_output *output)
{
    uint64_t n = bytes_of(output);

    pthread_mutex_lock(&lock);
    if (!faulty->first && n > 0) {
        faulty->first = malloc(n);
        faulty->n_first = faulty->first ? n : 0;
        if (faulty->first)
            memcpy(faulty->first, output->data, n);
    } else if (n == faulty->n_first) {
        memcpy(output->data, faulty->first, n);
    }
    pthread_mutex_unlock(&lock);
}

/* Without a lock, as its author forgot it; long enough that others come. */
static void share_scratch(const struct nnhal_output *output)
{
    static uint8_t scratch[SCRATCH_BYTES];
    const struct timespec nap = {.tv_nsec = 2000000};
    uint64_t n = bytes_of(output);

    if (n == 0 || n > SCRATCH_BYTES)
        return;
    for (uint64_t i = 0; i < n; i++)
        __atomic_store_n(&scratch[i], ((uint8_t *)output->data)[i], __ATOMIC_RELAXED);
    nanosleep(&nap, NULL);
    for (uint64_t i = 0; i < n; i++)
        ((uint8_t *)output->data)[i] = __atomic_load_n(&scratch[i], __ATOMIC_RELAXED);
}

/* The highest byte of the last element: no tolerance allows that. */
static void spoil(const struct nnhal_output *output)
{
    uint64_t n = bytes_of(output);

    if (n > 0)
        ((uint8_t *)output->data)[n - 1] ^= 0x40;
}

static void spoil_results(struct faulty *faulty, struct nnhal_execution *execution)
{
    struct nnhal_output *output = &execution->outputs[0];
    uint32_t n = __atomic_fetch_add(&faulty->n_executed, 1, __ATOMIC_RELAXED);

    if (is_planted("shape") && output->n_dimensions > 0 &&
        output->dimensions[output->n_dimensions - 1] > 1)
        output->dimensions[output->n_dimensions - 1]--;
    if ((is_planted("wrong") && faulty->is_maximum) || (is_planted("drift") && n > 0))
        spoil(output);
    if (is_planted("stale"))
        replay_first(faulty, output);
    if (is_planted("race"))
        share_scratch(output);
    if (is_planted("overrun") && bytes_of(output) > 0)
        memset((uint8_t *)output->data + output->capacity, 0x77, 4);
}

static void spoil_request(struct nnhal_execution *execution)
{
    static const uint32_t never;
    const struct nnhal_input *input = &execution->inputs[0];

    if (is_planted("deadline"))
        execution->deadline_ns = NNHAL_NO_TIME;
    if (is_planted("cancel"))
        execution->is_cancelled = &never;
    if (is_planted("leak"))
        leak();
    if (is_planted("scribble") && execution->n_inputs > 0 && input->data && input->size > 0)
        ((uint8_t *)input->data)[0] ^= 1;
}

static uint32_t faulty_execute(void *prepared, struct nnhal_execution *execution)
{
    struct faulty *faulty = prepared;
    struct nnhal_execution other = *execution;
    uint32_t status;

    while (is_planted("hang"))
        pause();
    spoil_request(&other);
    status = inner->execute(faulty->prepared, &other);
    execution->timing = other.timing;
    if (status == NNHAL_NONE)
        spoil_results(faulty, execution);
    if (is_planted("small") && status == NNHAL_OUTPUT_INSUFFICIENT_SIZE) {
        for (uint32_t i = 0; i < execution->n_outputs; i++)
            execution->outputs[i].is_insufficient = 0;
        return NNHAL_NONE;
    }
    return status;
}

static uint32_t half_opened(void *prepared)
{
    return 0;
}

static void spoil_table(void)
{
    if (is_planted("half"))
        outer.burst_opened = half_opened;
    if (is_planted("untyped"))
        outer.type = 0;
    if (is_planted("lean")) {
        outer.size = offsetof(struct nnhal_driver, execute) + sizeof(outer.execute);
        outer.close = NULL;
    }
}

const struct nnhal_driver *faults_plant(const struct nnhal_driver *table, const char *fault,
                                        size_t n)
{
    planted = strndup(fault, n);
    if (!planted)
        return NULL;
    inner = table;
    outer = *table;
    outer.open = faulty_open;
    outer.prepare = faulty_prepare;
    outer.release = faulty_release;
    outer.execute = faulty_execute;
    outer.prepare_from_cache = faulty_prepare_from_cache;
    /* These get what the inner table prepared. */
    outer.optimize = NULL;
    outer.burst_opened = NULL;
    outer.burst_closed = NULL;
    outer.execute_fenced = NULL;
    outer.cancel_fenced = NULL;
    spoil_table();
    return &outer;
}
