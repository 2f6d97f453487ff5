/* SPDX-License-Identifier: Apache-2.0 */
#include "host/burst.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/thread.h"
#include "hal/burst-packet.h"
#include "host/burst-cache.h"
#include "host/burst-executor.h"
#include "shm/ring.h"
#include "shm/spin.h"

#include <string.h>

/* How long a client may take to fill the slots that a request names. */
#define SLOTS_TIMEOUT_NS UINT64_C(2000000000)

enum {
    SLOTS_PER_EVENT = 256,
};

struct nn_burst_context {
    struct nn_object object;    /* first */
    struct nn_session *session; /* outlives it */
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
    struct nn_quota_charge charge;
    struct nn_quota_charge bytes_charge;
};

/* Whoever executes: an executor, or (execute is NULL) the driver's execute(). */
typedef uint32_t (*execute_fn)(void *ctx, const struct nnhal_burst_request *request);

struct handler {
    execute_fn execute;
    void *ctx;
};

/* -- answering: the burst's thread -------------------------------------------- */

/* Returns: whether the burst goes on. */
static bool send_result(struct nn_burst_context *context, const struct nn_burst_result *result)
{
    const struct nn_burst_result refusal = nn_burst_refusal(result->sequence,
                                                            NNHAL_GENERAL_FAILURE);
    uint32_t n_data;
    int r = nn_burst_result_encode(result, context->result, context->n_result_elements, &n_data);

    if (r != 0) /* longer than the queue; a refusal never is */
        r = nn_burst_result_encode(&refusal, context->result, context->n_result_elements, &n_data);
    if (r == 0)
        r = nn_ring_write_blocking(context->results, context->result, n_data, NNHAL_NO_TIME);
    return r == 0;
}

/* Tells the client which slots are empty, and waits until they are not. */
static uint32_t fill_slots(struct nn_burst_context *context, uint32_t n_missing,
                           uint64_t deadline_ns, const char **message)
{
    const struct nn_hal_listener *listener = &context->session->listener;
    uint64_t end_ns = nn_sys_now_ns() + SLOTS_TIMEOUT_NS;

    for (uint32_t i = 0; i < n_missing && listener->get_memories; i += SLOTS_PER_EVENT) {
        uint32_t n_left = n_missing - i;
        const struct nn_hal_get_memories_event event = {
            .burst = context->object.id,
            .n_slots = n_left < SLOTS_PER_EVENT ? n_left : SLOTS_PER_EVENT,
            .slots = context->missing + i,
        };

        listener->get_memories(listener->ctx, &event);
    }
    if (listener->get_memories &&
        nn_burst_cache_wait(&context->cache, context->missing, n_missing,
                            deadline_ns < end_ns ? deadline_ns : end_ns) == 0)
        return NNHAL_NONE;
    return nn_say(message, &context->arena, NNHAL_GENERAL_FAILURE,
                  "slot %d of the burst is empty: set_burst_memory fills it", context->missing[0]);
}

static uint32_t find_slots(struct nn_burst_context *context, const struct nn_burst_request *request,
                           const char **message)
{
    uint32_t n_missing;

    if (nn_burst_cache_missing(&context->cache, request->pools, request->n_pools, context->missing,
                               &n_missing) != 0)
        return nn_say(message, &context->arena, NNHAL_GENERAL_FAILURE,
                      "a slot of a burst is at most %d", NN_BURST_CACHE_SLOTS - 1);
    return n_missing ? fill_slots(context, n_missing, request->deadline_ns, message) : NNHAL_NONE;
}

/* A request that is not known: judges it from the first element to the last. */
static uint32_t bind_request(struct nn_burst_context *context, uint32_t n_data,
                             const char **message, struct nn_burst_bound **ret_bound)
{
    struct nn_arena *arena = &context->arena;
    struct nn_burst_request request;
    uint32_t status;
    int r = nn_burst_request_decode(context->request, n_data, arena, &request);

    if (r == NN_BURST_E_MEMORY)
        return nn_say_no_memory(message, arena);
    if (r != 0)
        return nn_say(message, arena, NNHAL_GENERAL_FAILURE, "what came is no packet of a request");
    status = find_slots(context, &request, message);
    if (status != NNHAL_NONE)
        return status;
    return nn_burst_cache_bind(&context->cache, context->session, context->prepared, &request,
                               context->request, n_data, message, arena, ret_bound);
}

/* A request on its way to an executor. */
struct errand {
    execute_fn execute;
    void *ctx;
    struct nnhal_burst_request request;
};

static uint32_t run_errand(void *ctx, struct nnhal_execution *execution)
{
    struct errand *errand = ctx;

    errand->request.execution = execution;
    return errand->execute(errand->ctx, &errand->request);
}

/* The places of a bound request, pools replaced by keys. */
static const struct nnhal_burst_place *key_places(const struct nnhal_burst_place *places,
                                                  uint32_t n, const uint32_t *keys,
                                                  struct nn_arena *arena)
{
    struct nnhal_burst_place *keyed = nn_arena_dup(arena, places, n * sizeof(*places));

    for (uint32_t i = 0; i < n && keyed; i++)
        if (keyed[i].key != NNHAL_BURST_NO_KEY)
            keyed[i].key = keys[keyed[i].key];
    return keyed;
}

static uint32_t run_by_executor(struct nn_burst_context *context,
                                const struct nn_burst_bound *bound, struct nn_binding_run *run,
                                const struct handler *handler, struct nn_binding_result *outcome,
                                const char **message)
{
    const struct nn_model_io *io = &context->prepared->io;
    struct nn_arena *arena = &context->arena;
    struct errand errand = {.execute = handler->execute,
                            .ctx = handler->ctx,
                            .request = {.size = sizeof(errand.request)}};
    const uint32_t *keys;
    uint32_t status = nn_burst_executor_begin(&context->executor, &bound->binding, &keys, message,
                                              arena);

    if (status != NNHAL_NONE)
        return status;
    errand.request.inputs = key_places(bound->inputs, io->n_inputs, keys, arena);
    errand.request.outputs = key_places(bound->outputs, io->n_outputs, keys, arena);
    run->execute = run_errand;
    run->ctx = &errand;
    if (errand.request.inputs && errand.request.outputs)
        status = nn_binding_run(&bound->binding, run, outcome, message, arena);
    else
        status = nn_say_no_memory(message, arena);
    nn_burst_executor_end(&context->executor, &bound->binding,
                          nn_burst_cache_is_stale(&context->cache, bound));
    return status;
}

static uint32_t run_bound(struct nn_burst_context *context, const struct nn_burst_bound *bound,
                          uint32_t n_data, const struct handler *handler,
                          struct nn_burst_result *result, const char **message)
{
    const struct nnhal_fmq_request_datum *last = &context->request[n_data - 1];
    struct nn_binding_run run = {
        .deadline_ns = last->of.measure_timing.deadline_ns,
        .loop_timeout_ns = last->of.measure_timing.loop_timeout_ns,
        .measure = last->of.measure_timing.measure != 0,
        .is_cancelled = &context->session->is_cancelled,
    };
    struct nn_binding_result outcome = {.timing = {NNHAL_NO_TIME, NNHAL_NO_TIME}};
    uint32_t status;

    if (handler->execute)
        status = run_by_executor(context, bound, &run, handler, &outcome, message);
    else
        status = nn_binding_run(&bound->binding, &run, &outcome, message, &context->arena);
    result->n_output_shapes = outcome.n_shapes;
    result->output_shapes = outcome.shapes;
    result->timing = outcome.timing;
    return status;
}

/* Returns: whether the burst goes on. */
static bool answer(struct nn_burst_context *context, uint32_t n_data, const struct handler *handler)
{
    struct nn_burst_result result = nn_burst_refusal(context->request[0].sequence, NNHAL_NONE);
    struct nn_burst_bound *bound = nn_burst_cache_find(&context->cache, context->request, n_data);
    const char *message = NULL;
    bool goes_on;

    if (!bound)
        result.status = bind_request(context, n_data, &message, &bound);
    if (bound) {
        result.status = run_bound(context, bound, n_data, handler, &result, &message);
        nn_burst_cache_end(&context->cache, bound);
    }
    if (message)
        nn_log("host", NN_LOG_DEBUG, "burst %llu, request %u: %s",
               (unsigned long long)context->object.id, result.sequence, message);
    goes_on = send_result(context, &result);
    nn_arena_reset(&context->arena);
    return goes_on;
}

/* -- serving: the burst's thread ---------------------------------------------- */

/* As struct nnhal_burst_channel has them: 1, 0 nothing has come, -1 the end. */
static int32_t channel_wait(void *host, uint64_t deadline_ns)
{
    struct nn_burst_context *context = host;
    int r;

    if (__atomic_load_n(&context->is_ending, __ATOMIC_ACQUIRE))
        return -1;
    r = nn_spin_wait_to_read(&context->spin, context->requests, 1, deadline_ns);
    if (r == NNHAL_FMQ_E_TIMED_OUT)
        return 0;
    return r == 0 ? 1 : -1;
}

static int32_t take(struct nn_burst_context *context, const struct handler *handler)
{
    uint32_t n_data;
    int r;

    if (__atomic_load_n(&context->is_ending, __ATOMIC_ACQUIRE))
        return -1;
    r = nn_burst_receive_request(context->requests, context->request, &n_data);
    if (r == NN_BURST_E_EMPTY)
        return 0;
    return r == 0 && answer(context, n_data, handler) ? 1 : -1;
}

static int32_t channel_answer(void *host, execute_fn execute, void *ctx)
{
    const struct handler handler = {.execute = execute, .ctx = ctx};

    return take(host, &handler);
}

static void *burst_thread(void *ctx)
{
    struct nn_burst_context *context = ctx;
    const struct nnhal_burst_executor *executor = &context->executor.table;
    const struct nnhal_burst_channel channel = {
        .size = sizeof(channel), .host = context, .wait = channel_wait, .answer = channel_answer};
    const struct handler handler = {.execute = executor->execute, .ctx = executor->ctx};
    int32_t r;

    if (executor->serve)
        executor->serve(executor->ctx, &channel);
    do {
        r = take(context, &handler);
        if (r == 0)
            r = channel_wait(context, NNHAL_NO_TIME);
    } while (r > 0);
    return NULL;
}

/* -- beginning and end ----------------------------------------------------------- */

static void stop(struct nn_burst_context *context)
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
        stop(context);
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
    stop((struct nn_burst_context *)object);
}

void nn_bursts_cancel(struct nn_session *session)
{
    nn_objects_visit_all(&session->objects, NN_OBJECT_BURST, stop_visited, NULL);
}

/* Whether a queue can carry elements of this size; its file is judged by whoever
 * maps it. */
static uint32_t judge_queue(const struct nn_hal_queue_descriptor *queue, size_t element_size,
                            const char *name, const char **message, struct nn_arena *arena)
{
    if (queue->flavour != NNHAL_FMQ_SYNCHRONIZED || queue->element_size != element_size)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "the queue of %s must be synchronized, with elements of %zu bytes", name,
                      element_size);
    if (queue->n_elements < NN_BURST_REFUSAL_ELEMENTS)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "the queue of %s has %u elements: no packet fits", name, queue->n_elements);
    return NNHAL_NONE;
}

static uint32_t attach(const struct nn_hal_queue_descriptor *queue, const char *name,
                       struct nn_ring **ret_ring, const char **message, struct nn_arena *arena)
{
    const struct nnhal_fmq_descriptor descriptor = {
        .n_elements = queue->n_elements,
        .element_size = queue->element_size,
        .flavour = queue->flavour,
        .fd = queue->fd,
    };
    int r = nn_ring_attach(&descriptor, NULL, ret_ring);

    if (r == NNHAL_FMQ_E_INVALID)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "the queue of %s is not what its descriptor says: a memfd of that many "
                      "elements, open for reading and writing, sealed against changing its size",
                      name);
    return r == 0 ? NNHAL_NONE : nn_say_no_memory(message, arena);
}

/* The queues, which must have been judged, and the copies of their packets. */
static uint32_t map_queues(struct nn_burst_context *context,
                           const struct nn_hal_configure_execution_burst_args *args,
                           const char **message, struct nn_arena *arena)
{
    uint64_t n_bytes = (uint64_t)args->requests.n_elements * sizeof(*context->request) +
                       (uint64_t)args->results.n_elements * sizeof(*context->result);
    uint32_t status = nn_session_charge(context->session, NN_QUOTA_BURST_BYTES, n_bytes,
                                        "bytes of queues", &context->bytes_charge, message, arena);

    if (status == NNHAL_NONE)
        status = attach(&args->requests, "requests", &context->requests, message, arena);
    if (status == NNHAL_NONE)
        status = attach(&args->results, "results", &context->results, message, arena);
    if (status != NNHAL_NONE)
        return status;
    context->n_result_elements = args->results.n_elements;
    context->request = calloc(args->requests.n_elements, sizeof(*context->request));
    context->result = calloc(args->results.n_elements, sizeof(*context->result));
    return context->request && context->result ? NNHAL_NONE : nn_say_no_memory(message, arena);
}

/* Whoever shares this process calls, which is shorter than any queue: its burst
 * is what the driver is told, and nothing is served. */
static bool is_queueless(const struct nn_session *session,
                         const struct nn_hal_configure_execution_burst_args *args)
{
    return !session->is_service && args->requests.n_elements == 0 && args->results.n_elements == 0;
}

static uint32_t open_burst(struct nn_burst_context *context,
                           const struct nn_hal_configure_execution_burst_args *args,
                           struct nn_hal_configure_execution_burst_reply *reply,
                           struct nn_arena *arena)
{
    uint32_t status = NNHAL_NONE;

    context->prepared = nn_prepared_get(context->session, args->prepared_model);
    if (!context->prepared)
        return nn_say(&reply->message, arena, NNHAL_INVALID_ARGUMENT,
                      "%llu is no prepared model of this session, or was freed",
                      (unsigned long long)args->prepared_model);
    if (is_queueless(context->session, args))
        return nn_session_charge(context->session, NN_QUOTA_BURSTS, 1, "bursts", &context->charge,
                                 &reply->message, arena);
    status = judge_queue(&args->requests, sizeof(*context->request), "requests", &reply->message,
                         arena);
    if (status == NNHAL_NONE)
        status = judge_queue(&args->results, sizeof(*context->result), "results", &reply->message,
                             arena);
    if (status == NNHAL_NONE)
        status = nn_session_charge(context->session, NN_QUOTA_BURSTS, 1, "bursts", &context->charge,
                                   &reply->message, arena);
    if (status == NNHAL_NONE)
        status = map_queues(context, args, &reply->message, arena);
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
static uint32_t start(struct nn_burst_context *context,
                      const struct nn_hal_configure_execution_burst_args *args,
                      struct nn_hal_configure_execution_burst_reply *reply, struct nn_arena *arena)
{
    struct nn_objects *objects = &context->session->objects;

    nn_spin_init(&context->spin, context->prepared->is_low_power ? 0 : args->spin_ns,
                 tell_opened(context));
    if (nn_objects_add(objects, &context->object) < 0)
        return nn_say_no_memory(&reply->message, arena);
    if (context->requests &&
        nn_thread_start("nnhal-burst", burst_thread, context, &context->thread) < 0) {
        nn_objects_remove(objects, context->object.id, NN_OBJECT_BURST);
        return nn_say_no_memory(&reply->message, arena);
    }
    context->has_thread = context->requests != NULL;
    reply->burst = context->object.id;
    reply->n_threads = context->spin.n_threads;
    return NNHAL_NONE;
}

/* -- the methods -------------------------------------------------------------------- */

uint32_t nn_host_configure_execution_burst(struct nn_session *session,
                                           const struct nn_hal_configure_execution_burst_args *args,
                                           struct nn_hal_configure_execution_burst_reply *reply,
                                           struct nn_arena *arena)
{
    _cleanup_(burst_unrefp) struct nn_burst_context *context = calloc(1, sizeof(*context));
    uint32_t status;

    if (!context)
        return nn_say_no_memory(&reply->message, arena);
    nn_object_init(&context->object, NN_OBJECT_BURST, burst_destroy);
    context->session = session;
    nn_arena_init(&context->arena, 0);
    nn_burst_cache_init(&context->cache);
    status = open_burst(context, args, reply, arena);
    if (status == NNHAL_NONE && context->requests)
        status = nn_burst_executor_open(&context->executor, context->prepared, &reply->message,
                                        arena);
    return status == NNHAL_NONE ? start(context, args, reply, arena) : status;
}

static struct nn_burst_context *find(struct nn_session *session, uint64_t id)
{
    return (struct nn_burst_context *)nn_objects_get(&session->objects, id, NN_OBJECT_BURST);
}

static uint32_t say_unset(int r, int32_t slot, const char **message, struct nn_arena *arena)
{
    if (r == NN_BURST_CACHE_E_RANGE)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "%d is no slot of a burst: they are numbered from 0 to %d", slot,
                      NN_BURST_CACHE_SLOTS - 1);
    return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                  "another memory lies in slot %d: free_burst_memory empties it", slot);
}

uint32_t nn_host_set_burst_memory(struct nn_session *session,
                                  const struct nn_hal_set_burst_memory_args *args,
                                  struct nn_hal_set_burst_memory_reply *reply,
                                  struct nn_arena *arena)
{
    _cleanup_(burst_unrefp) struct nn_burst_context *context = find(session, args->burst);
    _cleanup_(nn_memory_unrefp) struct nn_memory *memory = nn_memory_get(session, args->memory);
    int r;

    if (!context)
        return nn_say(&reply->message, arena, NNHAL_INVALID_ARGUMENT,
                      "%llu is no burst of this session, or was freed",
                      (unsigned long long)args->burst);
    if (!memory)
        return nn_say(&reply->message, arena, NNHAL_INVALID_ARGUMENT,
                      "%llu is no memory of this session: import it first",
                      (unsigned long long)args->memory);
    if (session->is_service && memory->region && nn_region_may_stall(memory->region))
        return nn_say(&reply->message, arena, NNHAL_GENERAL_FAILURE,
                      "a file of this file system is too slow for a burst: use a memfd, or "
                      "execute without one");
    r = nn_burst_cache_set(&context->cache, args->slot, memory);
    return r == 0 ? NNHAL_NONE : say_unset(r, args->slot, &reply->message, arena);
}

uint32_t nn_host_free_burst_memory(struct nn_session *session,
                                   const struct nn_hal_free_burst_memory_args *args,
                                   struct nn_hal_free_burst_memory_reply *reply,
                                   struct nn_arena *arena)
{
    _cleanup_(burst_unrefp) struct nn_burst_context *context = find(session, args->burst);

    _cleanup_(nn_memory_unrefp) struct nn_memory *memory = NULL;

    if (!context)
        return NNHAL_NONE;
    memory = nn_burst_cache_free(&context->cache, args->slot);
    nn_burst_executor_forget(&context->executor, memory);
    return NNHAL_NONE;
}

uint32_t nn_host_free_burst(struct nn_session *session, const struct nn_hal_free_burst_args *args,
                            struct nn_hal_free_burst_reply *reply, struct nn_arena *arena)
{
    nn_objects_remove(&session->objects, args->burst, NN_OBJECT_BURST);
    return NNHAL_NONE;
}
