/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/binding.h"

#include "host/execution/extensions.h"

/* -- pools --------------------------------------------------------------------- */

static uint32_t find_buffer(struct nn_call *call, struct nn_binding_pool *ret_pool, uint32_t i,
                            uint32_t token, struct nn_request_pool_info *info)
{
    ret_pool->buffer = nn_buffer_find(call->session, token);
    if (!ret_pool->buffer)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the request: token %u names no buffer of this session", i,
                            token);
    *info = (struct nn_request_pool_info){.is_buffer = true};
    return NNHAL_NONE;
}

/* given: the memory, if it is known already. */
static uint32_t find_memory(struct nn_call *call, struct nn_binding_pool *ret_pool, uint32_t i,
                            uint64_t id, struct nn_memory *given, struct nn_request_pool_info *info)
{
    ret_pool->memory = given ? (struct nn_memory *)nn_object_ref(&given->object)
                             : nn_memory_get(call->session, id);
    if (!ret_pool->memory)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the request is no memory of this session: import it first",
                            i);
    *info = (struct nn_request_pool_info){.size = nn_memory_size(ret_pool->memory)};
    return NNHAL_NONE;
}

static uint32_t add_pool(struct nn_call *call, struct nn_binding *binding,
                         const struct nnhal_request_pool *pool, struct nn_memory *given,
                         struct nn_request_pool_info *info)
{
    uint32_t i = binding->n_pools++;

    if ((pool->memory != 0) == (pool->token != 0))
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the request must be a memory or a token, one of the two",
                            i);
    if (pool->token != 0)
        return find_buffer(call, &binding->pools[i], i, pool->token, info);
    return find_memory(call, &binding->pools[i], i, pool->memory, given, info);
}

static uint32_t add_pools(struct nn_call *call, struct nn_binding *binding,
                          const struct nnhal_request *request, struct nn_memory *const *memories,
                          struct nn_arena *store, struct nn_request_pool_info **ret_infos)
{
    struct nn_request_pool_info *infos;
    uint32_t status = NNHAL_NONE;

    if (request->n_pools > NNHAL_MAX_POOLS || (request->n_pools && !request->pools))
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "the request has %u pools, at most %d are allowed", request->n_pools,
                            NNHAL_MAX_POOLS);
    infos = nn_arena_new_n(call->arena, struct nn_request_pool_info, request->n_pools);
    binding->pools = nn_arena_new_n(store, struct nn_binding_pool, request->n_pools);
    if (!infos || !binding->pools)
        return nn_call_fail_no_memory(call);
    for (uint32_t i = 0; i < request->n_pools && status == NNHAL_NONE; i++)
        status = add_pool(call, binding, &request->pools[i], memories ? memories[i] : NULL,
                          &infos[i]);
    *ret_infos = infos;
    return status;
}

/* -- arguments --------------------------------------------------------------- */

/* Where a present argument's bytes are. */
struct place {
    void *data; /* NULL: the driver knows by memory */
    uint64_t n_bytes;
    void *memory;
    uint64_t offset;
    const struct nn_memory *picture; /* data comes with each run; NULL: it is none */
};

/* A buffer that is used as a whole: its view, if that is what the tensor needs
 * (0: not known yet). */
static uint32_t locate_whole(struct nn_call *call, const struct nn_memory *memory, uint32_t i,
                             uint64_t n_needed, struct place *ret_place)
{
    bool fits = (memory->view || memory->is_padded) &&
                (n_needed == 0 || n_needed == memory->n_view);

    ret_place->memory = memory->driver_memory;
    ret_place->n_bytes = memory->n_view;
    ret_place->data = fits ? memory->view : NULL;
    if (nn_memory_is_copied(memory))
        ret_place->picture = memory;
    if (fits || memory->driver_memory)
        return NNHAL_NONE;
    return nn_call_fail(
        call, NNHAL_GENERAL_FAILURE,
        "pool %u of the request is a hardware buffer of %llu bytes of pixels, the tensor "
        "in it has %llu: make them the same",
        i, (unsigned long long)memory->n_view, (unsigned long long)n_needed);
}

/* The same for any memory, if it can be used that way. */
static uint32_t argument_locate(struct nn_call *call, struct nn_binding *binding,
                                const struct nnhal_data_location *location, bool is_output,
                                uint64_t n_needed, struct place *ret_place)
{
    struct nn_binding_pool *pool = &binding->pools[location->pool_index];
    const struct nn_memory *memory = pool->memory;
    uint32_t status = nn_memory_check_decoded(call, memory, "request", location->pool_index);

    if (status != NNHAL_NONE)
        return status;
    if (is_output ? !memory->is_writable : !memory->is_readable)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the request holds an %s but is not %s: import it with %s",
                            location->pool_index, is_output ? "output" : "input",
                            is_output ? "writable" : "readable",
                            is_output ? "PROT_WRITE" : "PROT_READ");
    pool->is_read |= !is_output;
    pool->is_written |= is_output;
    *ret_place = (struct place){.data = NULL};
    if (memory->is_opaque)
        return locate_whole(call, memory, location->pool_index, n_needed, ret_place);
    *ret_place = (struct place){
        .data = (char *)memory->view + location->offset,
        .n_bytes = location->length,
        .memory = memory->driver_memory,
        .offset = location->offset,
    };
    return NNHAL_NONE;
}

/* Bytes of an argument whose shape is known, else 0. The request is valid. */
static uint64_t bytes_needed(uint32_t type, uint32_t n_dimensions, const uint32_t *dimensions)
{
    uint64_t n_bytes = 0;

    if (!nn_operand_bytes(type, n_dimensions, dimensions, &n_bytes))
        return 0;
    return n_bytes;
}

/* Whether another pool of the request, or this one, uses the buffer already, as
 * what it may not be beside a writer. */
static bool is_taken(const struct nn_binding *binding, const struct nn_buffer *buffer,
                     bool is_output)
{
    for (uint32_t i = 0; i < binding->n_pools; i++)
        if (binding->pools[i].buffer == buffer &&
            (binding->pools[i].is_written || (is_output && binding->pools[i].is_read)))
            return true;
    return false;
}

/* An argument that lies in a buffer: n_dimensions and dimensions are what model and
 * request say of it. */
static uint32_t bind_use(struct nn_call *call, struct nn_binding *binding,
                         struct nn_binding_use use, uint32_t n_dimensions,
                         const uint32_t *dimensions)
{
    struct nn_binding_pool *pool = &binding->pools[use.pool];
    const char *what = use.is_output ? "output" : "input";

    if (!nn_buffer_serves_as(pool->buffer, binding->prepared, use.is_output, use.argument))
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "the buffer of pool %u was not allocated to be %s %u of this model",
                            use.pool, what, use.argument);
    if (use.is_output && !nn_buffer_fits(pool->buffer, n_dimensions, dimensions))
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "output %u: its dimensions contradict those that its buffer was allocated "
            "with",
            use.argument);
    if (is_taken(binding, pool->buffer, use.is_output))
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "%s %u: its buffer is another argument already; as an output it can be that "
            "one only",
            what, use.argument);
    pool->is_read |= !use.is_output;
    pool->is_written |= use.is_output;
    binding->uses[binding->n_uses++] = use;
    return NNHAL_NONE;
}

static void add_picture(struct nn_binding *binding, const struct place *place, uint32_t argument,
                        bool is_output)
{
    if (place->picture)
        binding->pictures[binding->n_pictures++] = (struct nn_binding_picture){place->picture,
                                                                               argument, is_output};
}

static uint32_t bind_input(struct nn_call *call, struct nn_binding *binding, uint32_t i,
                           const struct nnhal_request_argument *argument)
{
    const struct nnhal_operand *operand = &binding->prepared->io.inputs[i];
    struct nnhal_input *input = &binding->inputs[i];
    struct place place;
    uint32_t status;

    nn_request_dims(operand, argument, &input->n_dimensions, input->dimensions);
    input->is_omitted = argument->has_no_value != 0;
    if (input->is_omitted)
        return NNHAL_NONE;
    if (binding->pools[argument->location.pool_index].buffer)
        return bind_use(call, binding,
                        (struct nn_binding_use){.pool = argument->location.pool_index,
                                                .argument = i,
                                                .is_output = false},
                        input->n_dimensions, input->dimensions);
    status = argument_locate(call, binding, &argument->location, false,
                             bytes_needed(operand->type, input->n_dimensions, input->dimensions),
                             &place);
    if (status != NNHAL_NONE)
        return status;
    add_picture(binding, &place, i, false);
    input->data = place.data;
    input->size = place.n_bytes;
    input->memory = place.memory;
    input->offset = place.offset;
    return NNHAL_NONE;
}

static uint32_t bind_output(struct nn_call *call, struct nn_binding *binding, uint32_t i,
                            const struct nnhal_request_argument *argument)
{
    const struct nnhal_operand *operand = &binding->prepared->io.outputs[i];
    struct nnhal_output *output = &binding->outputs[i];
    struct place place;
    uint32_t status;

    nn_request_dims(operand, argument, &output->n_dimensions, output->dimensions);
    if (!nn_dims_known(operand->type, output->n_dimensions, output->dimensions))
        binding->is_specified = false;
    output->is_omitted = argument->has_no_value != 0;
    if (output->is_omitted)
        return NNHAL_NONE;
    if (binding->pools[argument->location.pool_index].buffer)
        return bind_use(call, binding,
                        (struct nn_binding_use){.pool = argument->location.pool_index,
                                                .argument = i,
                                                .is_output = true},
                        output->n_dimensions, output->dimensions);
    status = argument_locate(call, binding, &argument->location, true,
                             bytes_needed(operand->type, output->n_dimensions, output->dimensions),
                             &place);
    if (status != NNHAL_NONE)
        return status;
    add_picture(binding, &place, i, true);
    output->data = place.data;
    output->capacity = place.n_bytes;
    output->memory = place.memory;
    output->offset = place.offset;
    return NNHAL_NONE;
}

static uint32_t bind_arguments(struct nn_call *call, struct nn_binding *binding,
                               const struct nnhal_request *request, struct nn_arena *store)
{
    uint32_t status = NNHAL_NONE;

    binding->inputs = nn_arena_new_n(store, struct nnhal_input, request->n_inputs);
    binding->outputs = nn_arena_new_n(store, struct nnhal_output, request->n_outputs);
    binding->uses = nn_arena_new_n(store, struct nn_binding_use,
                                   (size_t)request->n_inputs + request->n_outputs);
    binding->pictures = nn_arena_new_n(store, struct nn_binding_picture,
                                       (size_t)request->n_inputs + request->n_outputs);
    if (!binding->inputs || !binding->outputs || !binding->uses || !binding->pictures)
        return nn_call_fail_no_memory(call);
    binding->is_specified = true;
    for (uint32_t i = 0; i < request->n_inputs && status == NNHAL_NONE; i++)
        status = bind_input(call, binding, i, &request->inputs[i]);
    for (uint32_t i = 0; i < request->n_outputs && status == NNHAL_NONE; i++)
        status = bind_output(call, binding, i, &request->outputs[i]);
    return status;
}

static uint32_t bind_hints(struct nn_call *call, struct nn_binding *binding,
                           const struct nn_binding_source *source, struct nn_arena *store)
{
    uint32_t status = nn_hints_check(call, source->n_hints, source->hints);

    if (status != NNHAL_NONE || !source->n_hints)
        return status;
    binding->hints = nn_hints_copy(source->n_hints, source->hints, store);
    binding->n_hints = source->n_hints;
    return binding->hints ? NNHAL_NONE : nn_call_fail_no_memory(call);
}

/* -- making and ending -------------------------------------------------------- */

uint32_t nn_binding_init(struct nn_call *call, struct nn_binding *binding,
                         struct nn_prepared *prepared, const struct nn_binding_source *source,
                         struct nn_arena *store)
{
    struct nn_request_pool_info *infos = NULL;
    struct nn_why why = {.text = ""};
    uint32_t status;
    int r;

    *binding = (struct nn_binding){.prepared = prepared};
    status = add_pools(call, binding, source->request, source->memories, store, &infos);
    if (status != NNHAL_NONE)
        return status;
    r = nn_request_validate(&prepared->io, source->request, infos, source->flags, call->arena,
                            &why);
    if (r == NN_REFUSED)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT, "%s", why.text);
    if (r != 0)
        return nn_call_fail_no_memory(call);
    status = bind_hints(call, binding, source, store);
    return status == NNHAL_NONE ? bind_arguments(call, binding, source->request, store) : status;
}

void nn_binding_done(struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_pools; i++) {
        nn_memory_unref(binding->pools[i].memory);
        nn_buffer_unref(binding->pools[i].buffer);
    }
    nn_prepared_unref(binding->prepared);
    *binding = (struct nn_binding){.prepared = NULL};
}
