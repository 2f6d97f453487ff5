/* SPDX-License-Identifier: Apache-2.0 */
#include "host/memory/admission.h"

#include "model/infer.h"

#include <string.h>

static const struct nn_binding_pool *pool_of(const struct nn_binding *binding,
                                             const struct nn_binding_use *use)
{
    return &binding->pools[use->pool];
}

/* -- admission ----------------------------------------------------------------- */

/* Gives back the first n pools of a admission that has changed nothing. */
static void give_back(const struct nn_binding *binding, uint32_t n)
{
    while (n-- > 0) {
        const struct nn_binding_pool *pool = &binding->pools[n];

        if (pool->buffer && pool->is_written)
            nn_buffer_cancel_write(pool->buffer);
        else if (pool->buffer && pool->is_read)
            nn_buffer_end_read(pool->buffer);
    }
}

static uint32_t buffers_enter(struct nn_call *call, const struct nn_binding *binding)
{
    for (uint32_t i = 0; i < binding->n_pools; i++) {
        const struct nn_binding_pool *pool = &binding->pools[i];
        uint32_t status;

        if (!pool->buffer || !(pool->is_read || pool->is_written))
            continue;
        status = nn_buffer_begin(call, pool->buffer, pool->is_written);
        if (status == NNHAL_NONE)
            continue;
        give_back(binding, i);
        return status;
    }
    return NNHAL_NONE;
}

/* -- arguments ------------------------------------------------------------------- */

static uint32_t fill_input(struct nn_call *call, const struct nn_buffer *buffer, uint32_t i,
                           struct nnhal_input *input)
{
    uint32_t n, merged[NNHAL_MAX_RANK];

    if (!buffer->is_initialized)
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "input %u is a buffer that holds no value: nothing was written to it, or what "
            "wrote to it failed",
            i);
    if (!nn_dims_merge(input->n_dimensions, input->dimensions, buffer->n_present, buffer->present,
                       &n, merged) ||
        n != buffer->n_present || memcmp(merged, buffer->present, n * sizeof(merged[0])) != 0)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "input %u: its dimensions are not those of the value in the buffer", i);
    if (!nn_dims_known(buffer->type, n, merged))
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "input %u: the value in the buffer is empty, which no input may be", i);
    input->n_dimensions = n;
    memcpy(input->dimensions, merged, n * sizeof(merged[0]));
    nn_operand_bytes(buffer->type, n, merged, &input->size);
    input->data = buffer->store.bytes;
    input->buffer = buffer->store.driver_buffer;
    return NNHAL_NONE;
}

static void place_output(const struct nn_buffer *buffer, struct nnhal_output *output)
{
    output->data = buffer->store.bytes;
    output->buffer = buffer->store.driver_buffer;
    output->capacity = buffer->store.capacity;
}

/* What is known of the shape beforehand has room beforehand. */
static uint32_t fill_output(struct nn_call *call, struct nn_buffer *buffer,
                            struct nnhal_output *output)
{
    uint32_t n, merged[NNHAL_MAX_RANK], status;
    uint64_t n_bytes = 0;

    nn_dims_merge(output->n_dimensions, output->dimensions, buffer->n_dimensions,
                  buffer->dimensions, &n, merged);
    if (nn_dims_known(buffer->type, n, merged))
        nn_operand_bytes(buffer->type, n, merged, &n_bytes);
    status = nn_buffer_reserve(call, buffer, n_bytes);
    if (status == NNHAL_NONE)
        place_output(buffer, output);
    return status;
}

static uint32_t admission_fill(struct nn_call *call, struct nn_admission *admission)
{
    const struct nn_binding *binding = admission->binding;
    const struct nn_model_io *io = &binding->prepared->io;
    struct nnhal_input *inputs = nn_arena_dup(call->arena, binding->inputs,
                                              (size_t)io->n_inputs * sizeof(*inputs));
    struct nnhal_output *outputs = nn_arena_dup(call->arena, binding->outputs,
                                                (size_t)io->n_outputs * sizeof(*outputs));
    uint32_t status = NNHAL_NONE;

    if (!inputs || !outputs)
        return nn_call_fail_no_memory(call);
    for (uint32_t i = 0; i < binding->n_uses && status == NNHAL_NONE; i++) {
        const struct nn_binding_use *use = &binding->uses[i];
        struct nn_buffer *buffer = pool_of(binding, use)->buffer;

        if (use->is_output)
            status = fill_output(call, buffer, &outputs[use->argument]);
        else
            status = fill_input(call, buffer, use->argument, &inputs[use->argument]);
    }
    if (status == NNHAL_NONE)
        status = nn_pictures_init(call, &admission->pictures, binding, inputs, outputs);
    admission->inputs = inputs;
    admission->outputs = admission->filled = outputs;
    return status;
}

uint32_t nn_admission_begin(struct nn_call *call, struct nn_admission *admission,
                            const struct nn_binding *binding)
{
    uint32_t status;

    *admission = (struct nn_admission){
        .binding = binding, .inputs = binding->inputs, .outputs = binding->outputs};
    if (binding->n_uses == 0 && binding->n_pictures == 0)
        return NNHAL_NONE;
    status = buffers_enter(call, binding);
    if (status != NNHAL_NONE)
        return status;
    status = admission_fill(call, admission);
    if (status != NNHAL_NONE) {
        nn_pictures_done(&admission->pictures);
        give_back(binding, binding->n_pools);
    }
    return status;
}

/* -- growing ------------------------------------------------------------------------ */

static uint32_t say_misfit(struct nn_call *call, uint32_t i)
{
    return nn_call_fail(
        call, NNHAL_GENERAL_FAILURE,
        "output %u has another shape than its buffer was allocated with: allocate one "
        "whose dimensions are open, or use shared memory",
        i);
}

/* A driver may leave a dimension of an output that did not fit unknown: then it
 * is tried with twice the room. */
static uint32_t buffer_grow(struct nn_call *call, struct nn_buffer *buffer, uint32_t i,
                            const struct nnhal_output *output)
{
    uint64_t n_bytes;

    if (nn_dims_known(buffer->type, buffer->n_dimensions, buffer->dimensions) ||
        !nn_buffer_fits(buffer, output->n_dimensions, output->dimensions) ||
        !nn_operand_bytes(buffer->type, output->n_dimensions, output->dimensions, &n_bytes))
        return say_misfit(call, i);
    if (n_bytes <= buffer->store.capacity)
        n_bytes = 2 * buffer->store.capacity;
    return nn_buffer_reserve(call, buffer, n_bytes);
}

uint32_t nn_admission_grow(struct nn_call *call, struct nn_admission *admission,
                           const struct nnhal_output *outputs, bool *ret_again)
{
    const struct nn_binding *binding = admission->binding;

    *ret_again = false;
    for (uint32_t i = 0; i < binding->n_uses; i++) {
        const struct nn_binding_use *use = &binding->uses[i];
        struct nn_buffer *buffer = pool_of(binding, use)->buffer;
        uint32_t status;

        if (!use->is_output || !outputs[use->argument].is_insufficient)
            continue;
        status = buffer_grow(call, buffer, use->argument, &outputs[use->argument]);
        if (status != NNHAL_NONE)
            return status;
        place_output(buffer, &admission->filled[use->argument]);
        *ret_again = true;
    }
    return NNHAL_NONE;
}

/* -- ending ---------------------------------------------------------------------------- */

uint32_t nn_admission_check(struct nn_call *call, const struct nn_admission *admission,
                            const struct nnhal_output *outputs)
{
    const struct nn_binding *binding = admission->binding;

    for (uint32_t i = 0; i < binding->n_uses; i++) {
        const struct nn_binding_use *use = &binding->uses[i];
        const struct nnhal_output *output = &outputs[use->argument];

        if (use->is_output && !nn_buffer_fits(pool_of(binding, use)->buffer, output->n_dimensions,
                                              output->dimensions))
            return say_misfit(call, use->argument);
    }
    return NNHAL_NONE;
}

void nn_admission_end(struct nn_admission *admission, bool is_success,
                      const struct nnhal_output *outputs)
{
    const struct nn_binding *binding = admission->binding;

    for (uint32_t i = 0; i < binding->n_uses; i++) {
        const struct nn_binding_use *use = &binding->uses[i];
        const struct nnhal_output *output = &outputs[use->argument];

        if (use->is_output)
            nn_buffer_end_write(pool_of(binding, use)->buffer, is_success, output->n_dimensions,
                                output->dimensions);
    }
    for (uint32_t i = 0; i < binding->n_pools; i++)
        if (binding->pools[i].buffer && binding->pools[i].is_read)
            nn_buffer_end_read(binding->pools[i].buffer);
    nn_pictures_done(&admission->pictures);
}
