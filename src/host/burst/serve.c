/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - from the queue of requests to the queue of results */
#include "base/log.h"
#include "base/sys.h"
#include "hal/burst-packet.h"
#include "host/burst/context.h"
#include "shm/ring.h"

/* How long a client may take to fill the slots that a request names. */
#define SLOTS_TIMEOUT_NS UINT64_C(2000000000)

enum {
    SLOTS_PER_EVENT = 256,
};

/* What executes: an executor, or (execute is NULL) the driver's execute(). */
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
static uint32_t fill_slots(struct nn_call *call, struct nn_burst_context *context,
                           uint32_t n_missing, uint64_t deadline_ns)
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
    return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                        "slot %d of the burst is empty: set_burst_memory fills it",
                        context->missing[0]);
}

static uint32_t find_slots(struct nn_call *call, struct nn_burst_context *context,
                           const struct nn_burst_request *request)
{
    uint32_t n_missing;

    if (nn_burst_cache_missing(&context->cache, request->pools, request->n_pools, context->missing,
                               &n_missing) != 0)
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "a slot of a burst is at most %d",
                            NN_BURST_CACHE_SLOTS - 1);
    return n_missing ? fill_slots(call, context, n_missing, request->deadline_ns) : NNHAL_NONE;
}

/* A request that is not known: judges it from the first element to the last. */
static uint32_t bind_request(struct nn_call *call, struct nn_burst_context *context,
                             uint32_t n_data, struct nn_burst_bound **ret_bound)
{
    struct nn_burst_request request;
    uint32_t status;
    int r = nn_burst_request_decode(context->request, n_data, call->arena, &request);

    if (r == NN_BURST_E_MEMORY)
        return nn_call_fail_no_memory(call);
    if (r != 0)
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "what came is no packet of a request");
    status = find_slots(call, context, &request);
    if (status != NNHAL_NONE)
        return status;
    return nn_burst_cache_bind(call, &context->cache, context->prepared, &request,
                               (struct nn_burst_elements){context->request, n_data}, ret_bound);
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

static uint32_t run_by_executor(struct nn_call *call, struct nn_burst_context *context,
                                const struct nn_burst_bound *bound, struct nn_binding_run *run,
                                const struct handler *handler, struct nn_binding_result *outcome)
{
    const struct nn_model_io *io = &context->prepared->io;
    struct errand errand = {.execute = handler->execute,
                            .ctx = handler->ctx,
                            .request = {.size = sizeof(errand.request)}};
    const uint32_t *keys;
    uint32_t status = nn_burst_executor_begin(call, &context->executor, &bound->binding, &keys);

    if (status != NNHAL_NONE)
        return status;
    errand.request.inputs = key_places(bound->inputs, io->n_inputs, keys, call->arena);
    errand.request.outputs = key_places(bound->outputs, io->n_outputs, keys, call->arena);
    run->execute = run_errand;
    run->ctx = &errand;
    if (errand.request.inputs && errand.request.outputs)
        status = nn_binding_run(call, &bound->binding, run, outcome);
    else
        status = nn_call_fail_no_memory(call);
    nn_burst_executor_end(&context->executor, &bound->binding,
                          nn_burst_cache_is_stale(&context->cache, bound));
    return status;
}

static uint32_t run_bound(struct nn_call *call, struct nn_burst_context *context,
                          const struct nn_burst_bound *bound, uint32_t n_data,
                          const struct handler *handler, struct nn_burst_result *result)
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

    nn_call_work(call, context->prepared->priority, run.deadline_ns, run.is_cancelled);
    if (handler->execute)
        status = run_by_executor(call, context, bound, &run, handler, &outcome);
    else
        status = nn_binding_run(call, &bound->binding, &run, &outcome);
    nn_call_rest(call);
    result->n_output_shapes = outcome.n_shapes;
    result->output_shapes = outcome.shapes;
    result->timing = outcome.timing;
    return status;
}

/* Returns: whether the burst goes on. */
static bool burst_answer(struct nn_burst_context *context, uint32_t n_data,
                         const struct handler *handler)
{
    struct nn_burst_result result = nn_burst_refusal(context->request[0].sequence, NNHAL_NONE);
    struct nn_burst_bound *bound = nn_burst_cache_find(&context->cache, context->request, n_data);
    struct nn_call call = {.session = context->session, .arena = &context->arena};
    bool goes_on;

    if (!bound)
        result.status = bind_request(&call, context, n_data, &bound);
    if (bound) {
        result.status = run_bound(&call, context, bound, n_data, handler, &result);
        nn_burst_cache_end(&context->cache, bound);
    }
    if (call.message)
        nn_log("host", NN_LOG_DEBUG, "burst %llu, request %u: %s",
               (unsigned long long)context->object.id, result.sequence, call.message);
    goes_on = send_result(context, &result);
    nn_arena_reset(&context->arena);
    return goes_on;
}

/* -- serving: the burst's thread ---------------------------------------------- */

/* An executor that serves learns it from the channel, and this thread when that returns. */
static bool is_over(const struct nn_burst_context *context)
{
    return context->is_broken || __atomic_load_n(&context->is_ending, __ATOMIC_ACQUIRE);
}

static void renew_counters(struct nn_burst_context *context)
{
    nn_ring_renew_read(context->requests);
    nn_ring_renew_write(context->results);
}

/* As struct nnhal_burst_channel has them: 1, 0 nothing has come, -1 the end. */
static int32_t channel_wait(void *host, uint64_t deadline_ns)
{
    struct nn_burst_context *context = host;
    int r;

    do {
        if (is_over(context))
            return -1;
        r = nn_spin_wait_to_read(&context->spin, context->requests, 1, deadline_ns);
        if (r == NN_RING_E_INTERRUPTED) /* by nn_bursts_renew() */
            renew_counters(context);
    } while (r == NN_RING_E_INTERRUPTED);
    if (r == NNHAL_FMQ_E_TIMED_OUT)
        return 0;
    context->is_broken = r != 0;
    return r == 0 ? 1 : -1;
}

static int32_t burst_read_request(struct nn_burst_context *context, const struct handler *handler)
{
    uint32_t n_data;
    int r;

    if (is_over(context))
        return -1;
    r = nn_burst_receive_request(context->requests, context->request, &n_data);
    if (r == NN_BURST_E_EMPTY)
        return 0;
    context->is_broken = r != 0 || !burst_answer(context, n_data, handler);
    return context->is_broken ? -1 : 1;
}

static int32_t channel_answer(void *host, execute_fn execute, void *ctx)
{
    const struct handler handler = {.execute = execute, .ctx = ctx};

    return burst_read_request(host, &handler);
}

void *nn_burst_serve(void *ctx)
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
        r = burst_read_request(context, &handler);
        if (r == 0)
            r = channel_wait(context, NNHAL_NO_TIME);
    } while (r > 0);
    /* Broken by its words: a client that waits for a result has to learn that none comes. */
    if (!__atomic_load_n(&context->is_ending, __ATOMIC_ACQUIRE)) {
        nn_ring_give_up(context->requests);
        nn_ring_give_up(context->results);
    }
    return NULL;
}
