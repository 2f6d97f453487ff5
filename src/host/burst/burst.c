/* SPDX-License-Identifier: Apache-2.0 */
#include "host/burst/burst.h"

#include "base/error.h"
#include "base/thread.h"
#include "hal/burst-packet.h"
#include "host/burst/context.h"
#include "host/methods.h"
#include "shm/ring.h"

/* -- beginning and end ----------------------------------------------------------- */

static void burst_stop(struct nn_burst_context *context)
{
    __atomic_store_n(&context->is_ending, 1, __ATOMIC_RELEASE);
    if (context->requests) {
        nn_ring_close(context->requests);
        nn_ring_close(context->results);
    }
    nn_burst_cache_close(&context->cache);
}

static void burst_destroy(struct nn_object *object)
{
    struct nn_burst_context *context = (struct nn_burst_context *)object;

    if (context->has_thread) {
        burst_stop(context);
        pthread_join(context->thread, NULL);
    }
    nn_burst_executor_close(&context->executor);
    if (context->is_opened)
        context->prepared->host->driver.burst_closed(context->prepared->driver_prepared);
    nn_burst_cache_done(&context->cache);
    nn_arena_done(&context->arena);
    nn_ring_free(context->requests);
    nn_ring_free(context->results);
    free(context->request);
    free(context->result);
    nn_prepared_unref(context->prepared);
    nn_quota_release(&context->bytes_charge);
    nn_quota_release(&context->charge);
    free(context);
}

static void burst_unrefp(struct nn_burst_context **context)
{
    if (*context)
        nn_object_unref(&(*context)->object);
}

static void stop_visited(struct nn_object *object, void *ctx)
{
    burst_stop((struct nn_burst_context *)object);
}

void nn_bursts_cancel(struct nn_host_session *session)
{
    nn_objects_visit_all(&session->objects, NN_OBJECT_BURST, stop_visited, NULL);
}

static void renew_visited(struct nn_object *object, void *ctx)
{
    struct nn_burst_context *context = (struct nn_burst_context *)object;

    if (context->requests)
        nn_ring_interrupt(context->requests);
}

void nn_bursts_renew(struct nn_host_session *session)
{
    nn_objects_visit_all(&session->objects, NN_OBJECT_BURST, renew_visited, NULL);
}

/* Whether a queue can carry elements of this size; its file is checked by the code that
 * maps it. */
static uint32_t check_queue(struct nn_call *call, const struct nn_hal_queue_descriptor *queue,
                            size_t element_size, const char *name)
{
    if (queue->flavour != NNHAL_FMQ_SYNCHRONIZED || queue->element_size != element_size)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "the queue of %s must be synchronized, with elements of %zu bytes",
                            name, element_size);
    if (queue->n_elements < NN_BURST_REFUSAL_ELEMENTS)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "the queue of %s has %u elements: no packet fits", name,
                            queue->n_elements);
    return NNHAL_NONE;
}

static uint32_t queue_attach(struct nn_call *call, const struct nn_hal_queue_descriptor *queue,
                             const char *name, struct nn_ring **ret_ring)
{
    const struct nnhal_fmq_descriptor descriptor = {
        .n_elements = queue->n_elements,
        .element_size = queue->element_size,
        .flavour = queue->flavour,
        .fd = queue->fd,
    };
    int r = nn_ring_attach(&descriptor, NULL, ret_ring);

    if (r == NNHAL_FMQ_E_INVALID)
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "the queue of %s is not what its descriptor says: a memfd of that many "
            "elements, open for reading and writing, sealed against changing its size",
            name);
    return r == 0 ? NNHAL_NONE : nn_call_fail_no_memory(call);
}

/* The queues, which must have been judged, and the copies of their packets. */
static uint32_t map_queues(struct nn_call *call, struct nn_burst_context *context,
                           const struct nn_hal_configure_execution_burst_args *args)
{
    uint64_t n_bytes = (uint64_t)args->requests.n_elements * sizeof(*context->request) +
                       (uint64_t)args->results.n_elements * sizeof(*context->result);
    uint32_t status = nn_call_charge(call, NN_QUOTA_BURST_BYTES, n_bytes, "bytes of queues",
                                     &context->bytes_charge);

    if (status == NNHAL_NONE)
        status = queue_attach(call, &args->requests, "requests", &context->requests);
    if (status == NNHAL_NONE)
        status = queue_attach(call, &args->results, "results", &context->results);
    if (status != NNHAL_NONE)
        return status;
    context->n_result_elements = args->results.n_elements;
    context->request = calloc(args->requests.n_elements, sizeof(*context->request));
    context->result = calloc(args->results.n_elements, sizeof(*context->result));
    return context->request && context->result ? NNHAL_NONE : nn_call_fail_no_memory(call);
}

/* A client in this process calls, which is shorter than any queue: its burst
 * is what the driver is told, and nothing is served. */
static bool is_queueless(const struct nn_host_session *session,
                         const struct nn_hal_configure_execution_burst_args *args)
{
    return !session->is_service && args->requests.n_elements == 0 && args->results.n_elements == 0;
}

static uint32_t open_burst(struct nn_call *call, struct nn_burst_context *context,
                           const struct nn_hal_configure_execution_burst_args *args)
{
    uint32_t status = NNHAL_NONE;

    context->prepared = nn_prepared_get(context->session, args->prepared_model);
    if (!context->prepared)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%llu is no prepared model of this session, or was freed",
                            (unsigned long long)args->prepared_model);
    if (is_queueless(context->session, args))
        return nn_call_charge(call, NN_QUOTA_BURSTS, 1, "bursts", &context->charge);
    status = check_queue(call, &args->requests, sizeof(*context->request), "requests");
    if (status == NNHAL_NONE)
        status = check_queue(call, &args->results, sizeof(*context->result), "results");
    if (status == NNHAL_NONE)
        status = nn_call_charge(call, NN_QUOTA_BURSTS, 1, "bursts", &context->charge);
    if (status == NNHAL_NONE)
        status = map_queues(call, context, args);
    return status;
}

/* Tells the driver. Returns: how many threads an execution has, as far as it says. */
static uint32_t tell_opened(struct nn_burst_context *context)
{
    const struct nnhal_driver *driver = &context->prepared->host->driver;
    uint32_t n_threads = 0;

    if (driver->burst_opened)
        n_threads = driver->burst_opened(context->prepared->driver_prepared);
    context->is_opened = driver->burst_opened != NULL;
    return n_threads;
}

/* Its thread begins when it has an id, which events name. */
static uint32_t burst_start(struct nn_call *call, struct nn_burst_context *context,
                            const struct nn_hal_configure_execution_burst_args *args,
                            struct nn_hal_configure_execution_burst_reply *reply)
{
    struct nn_objects *objects = &context->session->objects;

    nn_spin_init(&context->spin, context->prepared->is_low_power ? 0 : args->spin_ns,
                 tell_opened(context));
    context->spin.may_move = true;
    if (nn_objects_add(objects, &context->object) < 0)
        return nn_call_fail_no_memory(call);
    if (context->requests &&
        nn_thread_start("nnhal-burst", nn_burst_serve, context, &context->thread) < 0) {
        nn_objects_remove(objects, context->object.id, NN_OBJECT_BURST);
        return nn_call_fail_no_memory(call);
    }
    context->has_thread = context->requests != NULL;
    reply->burst = context->object.id;
    reply->n_threads = context->spin.n_threads;
    return NNHAL_NONE;
}

/* -- the methods -------------------------------------------------------------------- */

uint32_t nn_host_configure_execution_burst(struct nn_call *call,
                                           const struct nn_hal_configure_execution_burst_args *args,
                                           struct nn_hal_configure_execution_burst_reply *reply)
{
    _cleanup_(burst_unrefp) struct nn_burst_context *context = calloc(1, sizeof(*context));
    uint32_t status;

    if (!context)
        return nn_call_fail_no_memory(call);
    nn_object_init(&context->object, NN_OBJECT_BURST, burst_destroy);
    context->session = call->session;
    nn_arena_init(&context->arena, 0);
    context->arena.meter = &call->session->meter;
    nn_burst_cache_init(&context->cache, &call->session->meter);
    status = open_burst(call, context, args);
    if (status == NNHAL_NONE && context->requests)
        status = nn_burst_executor_open(call, &context->executor, context->prepared);
    return status == NNHAL_NONE ? burst_start(call, context, args, reply) : status;
}

static struct nn_burst_context *burst_find(struct nn_host_session *session, uint64_t id)
{
    return (struct nn_burst_context *)nn_objects_get(&session->objects, id, NN_OBJECT_BURST);
}

static uint32_t say_unset(struct nn_call *call, int r, int32_t slot)
{
    if (r == NN_BURST_CACHE_E_RANGE)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%d is no slot of a burst: they are numbered from 0 to %d", slot,
                            NN_BURST_CACHE_SLOTS - 1);
    return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                        "another memory lies in slot %d: free_burst_memory empties it", slot);
}

uint32_t nn_host_set_burst_memory(struct nn_call *call,
                                  const struct nn_hal_set_burst_memory_args *args,
                                  struct nn_hal_set_burst_memory_reply *reply)
{
    _cleanup_(burst_unrefp) struct nn_burst_context *context = burst_find(call->session,
                                                                          args->burst);
    _cleanup_(nn_memory_unrefp) struct nn_memory *memory = nn_memory_get(call->session,
                                                                         args->memory);
    int r;

    if (!context)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%llu is no burst of this session, or was freed",
                            (unsigned long long)args->burst);
    if (!memory)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "%llu is no memory of this session: import it first",
                            (unsigned long long)args->memory);
    if (call->session->is_service && memory->region && nn_region_may_stall(memory->region))
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "a file of this file system is too slow for a burst: use a memfd, or "
                            "execute without one");
    r = nn_burst_cache_set(&context->cache, args->slot, memory);
    return r == 0 ? NNHAL_NONE : say_unset(call, r, args->slot);
}

uint32_t nn_host_free_burst_memory(struct nn_call *call,
                                   const struct nn_hal_free_burst_memory_args *args,
                                   struct nn_hal_free_burst_memory_reply *reply)
{
    _cleanup_(burst_unrefp) struct nn_burst_context *context = burst_find(call->session,
                                                                          args->burst);

    _cleanup_(nn_memory_unrefp) struct nn_memory *memory = NULL;

    if (!context)
        return NNHAL_NONE;
    memory = nn_burst_cache_free(&context->cache, args->slot);
    nn_burst_executor_forget(&context->executor, memory);
    return NNHAL_NONE;
}

uint32_t nn_host_free_burst(struct nn_call *call, const struct nn_hal_free_burst_args *args,
                            struct nn_hal_free_burst_reply *reply)
{
    /* It waits for the burst's thread, which may wait for its turn. */
    nn_permit_leave(&call->permit);
    nn_objects_remove(&call->session->objects, args->burst, NN_OBJECT_BURST);
    nn_permit_enter(&call->permit);
    return NNHAL_NONE;
}
