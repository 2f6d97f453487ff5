/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/partial/buffers.h"

#include <stdlib.h>
#include <string.h>

struct buffer {
    unsigned char *bytes; /* inverted */
    uint64_t n_bytes;
};

static bool (*may_have)(uint32_t n_held);
static uint32_t n_held;

static struct buffer_counts *counts(void)
{
    static struct buffer_counts own;
    const char *text = getenv("NN_TEST_BUFFERS");

    return text ? (struct buffer_counts *)strtoull(text, NULL, 16) : &own;
}

static void count(uint32_t *n)
{
    __atomic_add_fetch(n, 1, __ATOMIC_RELAXED);
}

static void invert(void *to, const void *from, uint64_t n_bytes)
{
    for (uint64_t i = 0; i < n_bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)~((const unsigned char *)from)[i];
}

static void fill(struct buffer *buffer, const void *data, uint64_t n_bytes)
{
    free(buffer->bytes);
    buffer->bytes = malloc(n_bytes);
    buffer->n_bytes = n_bytes;
    invert(buffer->bytes, data, n_bytes);
}

/* -- the table ------------------------------------------------------------------------- */

static uint32_t buffer_allocate(void *device, const struct nnhal_allocate *allocate,
                                void **ret_buffer)
{
    if (!may_have(__atomic_load_n(&n_held, __ATOMIC_RELAXED)))
        return NNHAL_GENERAL_FAILURE;
    count(&n_held);
    count(&counts()->n_made);
    *ret_buffer = calloc(1, sizeof(struct buffer));
    return NNHAL_NONE;
}

static void buffer_release(void *opaque)
{
    struct buffer *buffer = opaque;

    __atomic_sub_fetch(&n_held, 1, __ATOMIC_RELAXED);
    count(&counts()->n_released);
    free(buffer->bytes);
    free(buffer);
}

static uint32_t buffer_copy_to(void *opaque, void *data, uint64_t n_bytes)
{
    const struct buffer *buffer = opaque;

    if (n_bytes > buffer->n_bytes)
        return NNHAL_GENERAL_FAILURE;
    count(&counts()->n_copied_out);
    invert(data, buffer->bytes, n_bytes);
    return NNHAL_NONE;
}

static uint32_t buffer_copy_from(void *buffer, uint32_t n_dimensions, const uint32_t *dimensions,
                                 const void *data, uint64_t n_bytes)
{
    count(&counts()->n_copied_in);
    fill(buffer, data, n_bytes);
    return NNHAL_NONE;
}

void buffers_add(struct nnhal_driver *table, bool (*decide)(uint32_t n_held))
{
    may_have = decide;
    table->allocate_buffer = buffer_allocate;
    table->release_buffer = buffer_release;
    table->copy_to = buffer_copy_to;
    table->copy_from = buffer_copy_from;
}

/* -- executions ------------------------------------------------------------------------ */

/* An execution whose arguments in buffers lie in blocks, which it owns, as the arrays. */
struct plain {
    struct nnhal_execution execution;
    struct nnhal_input *inputs;
    struct nnhal_output *outputs;
    void **blocks; /* of inputs, then of outputs; NULL: the argument is in no buffer */
};

static void read_buffer(struct nnhal_input *input, void **ret_block)
{
    const struct buffer *buffer = input->buffer;

    count(&counts()->n_read);
    *ret_block = malloc(buffer->n_bytes);
    invert(*ret_block, buffer->bytes, buffer->n_bytes);
    input->data = *ret_block;
    input->buffer = NULL;
}

static void plain_init(struct plain *plain, const struct nnhal_execution *from)
{
    plain->execution = *from;
    plain->inputs = calloc(from->n_inputs, sizeof(*plain->inputs));
    plain->outputs = calloc(from->n_outputs, sizeof(*plain->outputs));
    plain->blocks = calloc((size_t)from->n_inputs + from->n_outputs, sizeof(void *));
    memcpy(plain->inputs, from->inputs, from->n_inputs * sizeof(*plain->inputs));
    memcpy(plain->outputs, from->outputs, from->n_outputs * sizeof(*plain->outputs));
    plain->execution.inputs = plain->inputs;
    plain->execution.outputs = plain->outputs;
    for (uint32_t i = 0; i < from->n_inputs; i++)
        if (plain->inputs[i].buffer)
            read_buffer(&plain->inputs[i], &plain->blocks[i]);
    for (uint32_t i = 0; i < from->n_outputs; i++)
        if (plain->outputs[i].buffer) {
            plain->blocks[from->n_inputs + i] = malloc(plain->outputs[i].capacity);
            plain->outputs[i].data = plain->blocks[from->n_inputs + i];
            plain->outputs[i].buffer = NULL;
        }
}

static void plain_done(struct plain *plain)
{
    for (uint32_t i = 0; i < plain->execution.n_inputs + plain->execution.n_outputs; i++)
        free(plain->blocks[i]);
    free(plain->blocks);
    free(plain->inputs);
    free(plain->outputs);
}

/* What was computed, as the original has it. */
static void tell(const struct plain *plain, struct nnhal_execution *execution)
{
    execution->timing = plain->execution.timing;
    for (uint32_t i = 0; i < execution->n_outputs; i++) {
        struct nnhal_output *to = &execution->outputs[i];
        struct buffer *buffer = to->buffer;

        if (buffer && !plain->outputs[i].is_insufficient) {
            count(&counts()->n_written);
            fill(buffer, plain->outputs[i].data, to->capacity);
        }
        to->n_dimensions = plain->outputs[i].n_dimensions;
        to->is_insufficient = plain->outputs[i].is_insufficient;
        memcpy(to->dimensions, plain->outputs[i].dimensions, sizeof(to->dimensions));
    }
}

static bool has_buffers(const struct nnhal_execution *execution)
{
    for (uint32_t i = 0; i < execution->n_inputs; i++)
        if (execution->inputs[i].buffer)
            return true;
    for (uint32_t i = 0; i < execution->n_outputs; i++)
        if (execution->outputs[i].buffer)
            return true;
    return false;
}

uint32_t buffers_execute(void *prepared, struct nnhal_execution *execution,
                         uint32_t (*execute)(void *prepared, struct nnhal_execution *execution))
{
    struct plain plain;
    uint32_t status;

    if (!has_buffers(execution))
        return execute(prepared, execution);
    plain_init(&plain, execution);
    status = execute(prepared, &plain.execution);
    if (status == NNHAL_NONE || status == NNHAL_OUTPUT_INSUFFICIENT_SIZE)
        tell(&plain, execution);
    plain_done(&plain);
    return status;
}
