/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/builder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tfl_fail(struct tfl_builder *b, int result, const char *format, ...)
{
    char reason[256];
    va_list args;

    if (b->result)
        return;
    b->result = result;
    if (!b->message_size)
        return;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    if (b->op)
        b->reason_at = (size_t)snprintf(b->message, b->message_size,
                                        "operation %u (%s): ", b->op->number, b->op->name);
    if (b->reason_at >= b->message_size)
        b->reason_at = 0;
    snprintf(b->message + b->reason_at, b->message_size - b->reason_at, "%s", reason);
}

void *tfl_keep(struct tfl_builder *b, size_t n_bytes)
{
    void **blocks = reallocarray(b->blocks, b->n_blocks + 1, sizeof(*blocks));
    void *block;

    if (!blocks)
        goto out_of_memory;
    b->blocks = blocks;
    block = calloc(1, n_bytes ? n_bytes : 1);
    if (!block)
        goto out_of_memory;
    b->blocks[b->n_blocks++] = block;
    return block;

out_of_memory:
    tfl_fail(b, -ENOMEM, "out of memory");
    return NULL;
}

void tfl_done(struct tfl_builder *b)
{
    for (size_t i = 0; i < b->n_blocks; i++)
        free(b->blocks[i]);
    free(b->blocks);
    free(b->operands);
    free(b->states);
    free(b->origins);
    ANeuralNetworksModel_free(b->model);
    b->blocks = NULL;
    b->n_blocks = 0;
    b->operands = NULL;
    b->states = NULL;
    b->origins = NULL;
    b->model = NULL;
}

const struct tfl_tensor *tfl_in(const struct tfl_builder *b, uint32_t i)
{
    if (i >= b->op->n_inputs || b->op->inputs[i] < 0)
        return NULL;
    return &b->graph->tensors[b->op->inputs[i]];
}

const struct tfl_tensor *tfl_out(const struct tfl_builder *b, uint32_t i)
{
    if (i >= b->op->n_outputs || b->op->outputs[i] < 0)
        return NULL;
    return &b->graph->tensors[b->op->outputs[i]];
}

void tfl_set_output_shape(struct tfl_builder *b, uint32_t i, uint32_t n_dimensions,
                          const uint32_t *dimensions)
{
    struct tfl_tensor *tensor;

    if (!tfl_out(b, i))
        return;
    tensor = &b->graph->tensors[b->op->outputs[i]];
    tensor->n_dimensions = n_dimensions;
    memcpy(tensor->dimensions, dimensions, n_dimensions * sizeof(*dimensions));
}
