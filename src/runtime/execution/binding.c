/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/binding.h"

#include "base/arith.h"
#include "base/error.h"
#include "runtime/copy-count.h"
#include "runtime/memory/domain.h"

#include <string.h>

/* No two arguments share a cache line: drivers can use aligned loads, and threads that write
 * different outputs do not slow each other down. */
#define ARGUMENT_ALIGNMENT 64

static void copy_counted(void *to, const void *from, uint64_t n_bytes)
{
    memcpy(to, from, n_bytes);
    nn_rt_copy_count_add(n_bytes);
}

/* -- the argument pool ------------------------------------------------------------ */

static int place_arguments(struct nn_rt_argument *arguments, uint32_t n, uint64_t *size)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t padded;

        if (arguments[i].kind != NN_ARGUMENT_POINTER)
            continue;
        arguments[i].offset = *size;
        if (!nn_align_up(arguments[i].length, ARGUMENT_ALIGNMENT, &padded) ||
            !nn_add_u64(*size, padded, size))
            return nn_error_origin(-ENOMEM);
    }
    return 0;
}

/* The sizes of arguments never change once computing has begun, so that a pool
 * which is there fits. */
static int binding_take_pool(struct nn_rt_binding *binding, struct nn_rt_arguments *arguments)
{
    uint64_t size = 0;
    int r;

    r = place_arguments(arguments->inputs, arguments->n_inputs, &size);
    if (!r)
        r = place_arguments(arguments->outputs, arguments->n_outputs, &size);
    if (binding->argument_pool && nn_rt_memory_is_exposed(binding->argument_pool))
        binding->argument_pool = nn_rt_memory_unref(binding->argument_pool);
    if (r || !size || binding->argument_pool)
        return r;
    return nn_rt_argument_pools_take(binding->pools, size, &binding->argument_pool);
}

static void inputs_copy_in(const struct nn_rt_binding *binding,
                           const struct nn_rt_arguments *arguments)
{
    for (uint32_t i = 0; i < arguments->n_inputs; i++) {
        const struct nn_rt_argument *input = &arguments->inputs[i];

        if (input->kind == NN_ARGUMENT_POINTER)
            copy_counted(nn_rt_memory_data(binding->argument_pool) + input->offset, input->pointer,
                         input->length);
    }
}

void nn_rt_binding_copy_out(const struct nn_rt_binding *binding,
                            const struct nn_rt_argument *output, uint64_t n_bytes)
{
    copy_counted(output->pointer, nn_rt_memory_data(binding->argument_pool) + output->offset,
                 n_bytes);
}

/* -- the request ------------------------------------------------------------------ */

/* The pools that a request names, each memory once. */
struct request_pools {
    struct nn_rt_binding *binding;
    struct nn_why *why;
    uint32_t n;
    ANeuralNetworksMemory **memories;
    struct nnhal_request_pool *pools;
};

static int pool_fill(struct request_pools *pools, ANeuralNetworksMemory *memory,
                     struct nnhal_request_pool *ret_pool)
{
    struct nn_rt_session *session = pools->binding->prepared->session;
    struct nn_rt_domain_handle place = {0};
    int r;

    if (!nn_rt_memory_is_in_device(memory))
        return nn_rt_memory_import(memory, session, pools->why, &ret_pool->memory);
    r = nn_rt_domain_get_buffer(memory->domain, session, pools->why, &place);
    ret_pool->token = place.token;
    return r;
}

static int request_pool_find(struct request_pools *pools, ANeuralNetworksMemory *memory,
                             uint32_t *ret_index)
{
    uint32_t i = pools->n;
    int r;

    /* Neighboring arguments mostly lie in one memory: last first. */
    while (i > 0)
        if (pools->memories[--i] == memory) {
            *ret_index = i;
            return 0;
        }
    i = pools->n;
    r = pool_fill(pools, memory, &pools->pools[i]);
    if (r)
        return r;
    pools->memories[i] = memory;
    pools->n++;
    *ret_index = i;
    return 0;
}

static int fill_argument(struct request_pools *pools, struct nn_rt_argument *argument,
                         struct nnhal_request_argument *ret)
{
    const struct nn_rt_session *session = pools->binding->prepared->session;
    ANeuralNetworksMemory *memory = argument->memory;
    int r;

    if (argument->kind == NN_ARGUMENT_OMITTED) {
        ret->has_no_value = 1;
        return 0;
    }
    if (argument->kind == NN_ARGUMENT_POINTER)
        memory = pools->binding->argument_pool;
    else
        ret->location.padding = argument->padding;
    if (argument->has_type) {
        ret->n_dimensions = argument->n_dims;
        ret->dimensions = argument->dims;
    }
    if (!nn_rt_memory_is_in_device(memory)) {
        ret->location.offset = argument->offset;
        ret->location.length = argument->length;
    }
    r = request_pool_find(pools, memory, &ret->location.pool_index);
    if (r)
        return r;
    pools->binding->copied_bytes += nn_rt_memory_copied_bytes(memory, session);
    return 0;
}

static int fill_arguments(struct request_pools *pools, struct nn_rt_argument *arguments, uint32_t n,
                          const struct nnhal_request_argument **ret)
{
    struct nnhal_request_argument *filled = nn_arena_new_n(&pools->binding->arena,
                                                           struct nnhal_request_argument, n);
    int r = filled ? 0 : nn_error_origin(-ENOMEM);

    for (uint32_t i = 0; !r && i < n; i++)
        r = fill_argument(pools, &arguments[i], &filled[i]);
    *ret = filled;
    return r;
}

static int fill_request(struct nn_rt_binding *binding, struct nn_rt_arguments *arguments,
                        struct nn_why *why)
{
    struct request_pools pools = {.binding = binding, .why = why};
    size_t n = (size_t)arguments->n_inputs + arguments->n_outputs;
    int r;

    pools.memories = nn_arena_new_n(&binding->arena, ANeuralNetworksMemory *, n);
    pools.pools = nn_arena_new_n(&binding->arena, struct nnhal_request_pool, n);
    if (!pools.memories || !pools.pools)
        return nn_error_origin(-ENOMEM);
    r = fill_arguments(&pools, arguments->inputs, arguments->n_inputs, &binding->request.inputs);
    if (!r)
        r = fill_arguments(&pools, arguments->outputs, arguments->n_outputs,
                           &binding->request.outputs);
    binding->request.n_inputs = arguments->n_inputs;
    binding->request.n_outputs = arguments->n_outputs;
    binding->request.n_pools = pools.n;
    binding->request.pools = pools.pools;
    return r;
}

int nn_rt_binding_bind(struct nn_rt_binding *binding, struct nn_rt_arguments *arguments,
                       struct nn_rt_prepared *prepared, struct nn_why *why)
{
    int r;

    nn_arena_init(&binding->arena, 0);
    binding->prepared = nn_rt_prepared_ref(prepared);
    r = binding_take_pool(binding, arguments);
    if (!r)
        r = fill_request(binding, arguments, why);
    if (r)
        nn_rt_binding_unbind(binding);
    return r;
}

int nn_rt_binding_set_reusable(struct nn_rt_binding *binding,
                               const struct nn_rt_compute_options *options, struct nn_why *why)
{
    struct nn_hal_create_execution_args args = {
        .prepared_model = binding->prepared->id,
        .request = binding->request,
        .measure = options->measure,
        .loop_timeout_ns = options->loop_timeout_ns,
        .n_hints = options->attributes->n,
        .hints = options->attributes->hints,
    };
    struct nn_hal_create_execution_reply reply = {0};
    struct nn_rt_session *session = binding->prepared->session;
    struct nn_arena arena;
    uint32_t status;
    int r;

    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(
        session, nn_hal_create_execution(session->hal, &args, &reply, &arena));
    r = nn_fail_status(why, status, binding->prepared->device->name, reply.message);
    if (!r)
        binding->execution = reply.execution;
    nn_arena_done(&arena);
    return r;
}

/* Packs the request for the burst, unless that has been done. */
static int packet_pack(struct nn_rt_binding *binding, const struct nn_rt_compute_options *options)
{
    const struct nn_burst_pack_options pack = {options->measure, options->loop_timeout_ns};
    struct nn_burst *burst = options->channel->burst;
    uint64_t id = nn_burst_id(burst);
    int r;

    if (binding->packet && nn_burst_packet_is_for(binding->packet, id))
        return 0;
    /* A request that has no place in a burst is not packed for it again at each computation. */
    if (binding->unfit_burst == id)
        return NN_BURST_E_UNSENT;
    binding->packet = nn_burst_packet_free(binding->packet);
    r = nn_burst_pack(burst, &binding->request, &pack, &binding->packet);
    if (r == NN_BURST_E_UNSENT)
        binding->unfit_burst = id;
    return r;
}

/* Returns: 0 with the status; others: nothing was sent. */
static int binding_execute_in_burst(struct nn_rt_binding *binding,
                                    const struct nn_rt_compute_options *options,
                                    struct nn_arena *arena, uint32_t *ret_status,
                                    struct nn_hal_execute_synchronously_reply *reply)
{
    int r = options->attributes->n ? NN_BURST_E_UNSENT : packet_pack(binding, options);

    if (r) /* packets have no place for attributes, and long requests none in a packet */
        return r;
    return nn_burst_execute(options->channel->burst, binding->packet, options->deadline_ns, arena,
                            ret_status, reply);
}

void nn_rt_binding_count_copies(const struct nn_rt_binding *binding)
{
    if (binding->copied_bytes)
        nn_rt_copy_count_add(binding->copied_bytes);
}

/* Whether a deadline was missed by the device or by its answer cannot be told. */
static uint32_t binding_check_status(struct nn_rt_binding *binding, uint32_t status)
{
    if (status == NNHAL_NONE)
        nn_rt_binding_count_copies(binding);
    binding->is_left = status == NNHAL_MISSED_DEADLINE_TRANSIENT || status == NNHAL_DEAD_OBJECT;
    return nn_rt_session_check_status(binding->prepared->session, status);
}

uint32_t nn_rt_binding_execute(struct nn_rt_binding *binding,
                               const struct nn_rt_arguments *arguments,
                               const struct nn_rt_compute_options *options, struct nn_arena *arena,
                               struct nn_hal_execute_synchronously_reply *reply)
{
    struct nn_hal_execute_synchronously_args args = {
        .measure = options->measure,
        .deadline_ns = options->deadline_ns,
        .loop_timeout_ns = options->loop_timeout_ns,
    };
    struct nn_rt_session *session = binding->prepared->session;
    uint32_t status;

    if (!nn_rt_session_is_alive(session))
        return NNHAL_DEAD_OBJECT;
    inputs_copy_in(binding, arguments);
    if (options->channel && !binding_execute_in_burst(binding, options, arena, &status, reply))
        return binding_check_status(binding, status);
    args.execution = binding->execution;
    if (!binding->execution) {
        args.prepared_model = binding->prepared->id;
        args.request = binding->request;
        args.n_hints = options->attributes->n;
        args.hints = options->attributes->hints;
    }
    return binding_check_status(binding,
                                nn_hal_execute_synchronously(session->hal, &args, reply, arena));
}

static void free_execution(struct nn_rt_binding *binding)
{
    struct nn_hal_free_execution_args args = {.execution = binding->execution};
    struct nn_hal_free_execution_reply reply = {0};
    struct nn_arena arena;

    if (!binding->execution || !nn_rt_session_is_alive(binding->prepared->session))
        return;
    nn_arena_init(&arena, 0);
    nn_hal_free_execution(binding->prepared->session->hal, &args, &reply, &arena);
    nn_arena_done(&arena);
}

void nn_rt_binding_unbind(struct nn_rt_binding *binding)
{
    if (!binding->prepared)
        return;
    free_execution(binding);
    binding->execution = 0;
    binding->packet = nn_burst_packet_free(binding->packet);
    binding->unfit_burst = 0;
    binding->request = (struct nnhal_request){0};
    binding->copied_bytes = 0;
    nn_arena_done(&binding->arena);
    if (binding->is_left)
        binding->argument_pool = nn_rt_memory_unref(binding->argument_pool);
    binding->is_left = false;
    binding->prepared = nn_rt_prepared_unref(binding->prepared);
}

void nn_rt_binding_done(struct nn_rt_binding *binding)
{
    nn_rt_binding_unbind(binding);
    if (binding->argument_pool)
        binding->argument_pool = nn_rt_argument_pools_give(binding->pools, binding->argument_pool);
}
