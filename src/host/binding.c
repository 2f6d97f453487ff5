/* SPDX-License-Identifier: Apache-2.0 */
#include "host/binding.h"

/* -- memories ---------------------------------------------------------------- */

static uint32_t add_pool(struct nn_binding *binding, struct nn_session *session,
                         const struct nnhal_request_pool *pool, struct nn_request_pool_info *info,
                         const char **message, struct nn_arena *arena)
{
    uint32_t i = binding->n_memories;
    struct nn_memory *memory;

    if ((pool->memory != 0) == (pool->token != 0))
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "pool %u of the request must be a memory or a token, one of the two", i);
    if (pool->token != 0)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "pool %u of the request: token %u names no buffer of this session", i,
                      pool->token);
    memory = nn_memory_get(session, pool->memory);
    if (!memory)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "pool %u of the request is no memory of this session: import it first", i);
    binding->memories[i].memory = memory;
    binding->n_memories++;
    *info = (struct nn_request_pool_info){.size = nn_memory_size(memory)};
    return NNHAL_NONE;
}

static uint32_t add_pools(struct nn_binding *binding, struct nn_session *session,
                          const struct nnhal_request *request, struct nn_arena *store,
                          struct nn_request_pool_info **ret_infos, const char **message,
                          struct nn_arena *arena)
{
    struct nn_request_pool_info *infos;
    uint32_t status = NNHAL_NONE;

    if (request->n_pools > NNHAL_MAX_POOLS || (request->n_pools && !request->pools))
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "the request has %u pools, at most %d are allowed", request->n_pools,
                      NNHAL_MAX_POOLS);
    infos = nn_arena_new_n(arena, struct nn_request_pool_info, request->n_pools);
    binding->memories = nn_arena_new_n(store, struct nn_binding_memory, request->n_pools);
    if (!infos || !binding->memories)
        return nn_say_no_memory(message, arena);
    for (uint32_t i = 0; i < request->n_pools && status == NNHAL_NONE; i++)
        status = add_pool(binding, session, &request->pools[i], &infos[i], message, arena);
    *ret_infos = infos;
    return status;
}

/* -- arguments --------------------------------------------------------------- */

/* Where a present argument's bytes are, if its memory can be used that way. */
static uint32_t locate(struct nn_binding *binding, const struct nnhal_data_location *location,
                       bool is_output, void **ret_data, const char **message,
                       struct nn_arena *arena)
{
    struct nn_binding_memory *entry = &binding->memories[location->pool_index];
    const struct nn_memory *memory = entry->memory;

    if (!memory->region)
        return nn_say(message, arena, NNHAL_GENERAL_FAILURE,
                      "pool %u of the request is a hardware buffer that this device cannot map: "
                      "use shared memory or a BLOB buffer",
                      location->pool_index);
    if (is_output ? !memory->is_writable : !memory->is_readable)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "pool %u of the request holds an %s but is not %s: import it with %s",
                      location->pool_index, is_output ? "output" : "input",
                      is_output ? "writable" : "readable", is_output ? "PROT_WRITE" : "PROT_READ");
    entry->is_written |= is_output;
    *ret_data = (char *)nn_region_data(memory->region) + location->offset;
    return NNHAL_NONE;
}

static uint32_t bind_input(struct nn_binding *binding, uint32_t i,
                           const struct nnhal_request_argument *argument, const char **message,
                           struct nn_arena *arena)
{
    struct nnhal_input *input = &binding->inputs[i];
    void *data = NULL;
    uint32_t status;

    nn_request_dimensions(&binding->prepared->io.inputs[i], argument, &input->n_dimensions,
                          input->dimensions);
    input->is_omitted = argument->has_no_value != 0;
    if (input->is_omitted)
        return NNHAL_NONE;
    status = locate(binding, &argument->location, false, &data, message, arena);
    input->data = data;
    input->size = argument->location.length;
    return status;
}

static uint32_t bind_output(struct nn_binding *binding, uint32_t i,
                            const struct nnhal_request_argument *argument, const char **message,
                            struct nn_arena *arena)
{
    const struct nnhal_operand *operand = &binding->prepared->io.outputs[i];
    struct nnhal_output *output = &binding->outputs[i];

    nn_request_dimensions(operand, argument, &output->n_dimensions, output->dimensions);
    if (!nn_dimensions_known(operand->type, output->n_dimensions, output->dimensions))
        binding->is_specified = false;
    output->is_omitted = argument->has_no_value != 0;
    if (output->is_omitted)
        return NNHAL_NONE;
    output->capacity = argument->location.length;
    return locate(binding, &argument->location, true, &output->data, message, arena);
}

static uint32_t bind_arguments(struct nn_binding *binding, const struct nnhal_request *request,
                               struct nn_arena *store, const char **message, struct nn_arena *arena)
{
    uint32_t status = NNHAL_NONE;

    binding->inputs = nn_arena_new_n(store, struct nnhal_input, request->n_inputs);
    binding->outputs = nn_arena_new_n(store, struct nnhal_output, request->n_outputs);
    if (!binding->inputs || !binding->outputs)
        return nn_say_no_memory(message, arena);
    binding->is_specified = true;
    for (uint32_t i = 0; i < request->n_inputs && status == NNHAL_NONE; i++)
        status = bind_input(binding, i, &request->inputs[i], message, arena);
    for (uint32_t i = 0; i < request->n_outputs && status == NNHAL_NONE; i++)
        status = bind_output(binding, i, &request->outputs[i], message, arena);
    return status;
}

/* -- making and ending -------------------------------------------------------- */

uint32_t nn_binding_init(struct nn_binding *binding, struct nn_session *session,
                         struct nn_prepared *prepared, const struct nnhal_request *request,
                         unsigned flags, struct nn_arena *store, const char **message,
                         struct nn_arena *arena)
{
    struct nn_request_pool_info *infos = NULL;
    struct nn_why why = {.text = ""};
    uint32_t status;
    int r;

    *binding = (struct nn_binding){.prepared = prepared};
    status = add_pools(binding, session, request, store, &infos, message, arena);
    if (status != NNHAL_NONE)
        return status;
    r = nn_request_validate(&prepared->io, request, infos, flags, arena, &why);
    if (r == NN_REFUSED)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT, "%s", why.text);
    if (r != 0)
        return nn_say_no_memory(message, arena);
    return bind_arguments(binding, request, store, message, arena);
}

void nn_binding_done(struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_memories; i++)
        nn_memory_unref(binding->memories[i].memory);
    nn_prepared_unref(binding->prepared);
    *binding = (struct nn_binding){.prepared = NULL};
}
