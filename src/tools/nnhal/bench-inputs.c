/* SPDX-License-Identifier: Apache-2.0 */
#include "bench-inputs.h"

#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The same numbers in bench/peers/measure.c. */
static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}

static void fill_random(struct session_buffer *buffer, int32_t type)
{
    uint32_t state = 1;

    switch (type) {
    case ANEURALNETWORKS_TENSOR_FLOAT32:
        for (size_t i = 0; i < buffer->n_bytes / sizeof(float); i++)
            ((float *)(void *)buffer->data)[i] = (float)(next_random(&state) >> 8) / (1 << 24);
        break;
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM:
    case ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED:
    case ANEURALNETWORKS_TENSOR_QUANT8_SYMM:
        for (size_t i = 0; i < buffer->n_bytes; i++)
            buffer->data[i] = (uint8_t)(next_random(&state) >> 24);
        break;
    case ANEURALNETWORKS_TENSOR_BOOL8:
        for (size_t i = 0; i < buffer->n_bytes; i++)
            buffer->data[i] = next_random(&state) >> 31;
        break;
    default:
        break;
    }
}

static int read_inputs(struct session *session, const char *path)
{
    FILE *file = fopen(path, "rb");
    bool is_whole;

    if (!file)
        return tool_error(TOOL_BAD_FILE, "%s: %s", path, strerror(errno));
    is_whole = true;
    for (uint32_t i = 0; i < session->n_inputs; i++)
        is_whole = is_whole && fread(session->inputs[i].data, 1, session->inputs[i].n_bytes,
                                     file) == session->inputs[i].n_bytes;
    is_whole = is_whole && fgetc(file) == EOF;
    fclose(file);
    if (!is_whole)
        return tool_error(TOOL_BAD_FILE,
                          "%s: must have as many bytes as the inputs together have, in their order",
                          path);
    return TOOL_OK;
}

int bench_fill_inputs(struct session *session, const char *what)
{
    if (!strcmp(what, "zeros"))
        return TOOL_OK;
    if (strcmp(what, "random") != 0)
        return read_inputs(session, what);
    for (uint32_t i = 0; i < session->n_inputs; i++)
        fill_random(&session->inputs[i], nnhal_tflite_input(session->net, i)->type);
    return TOOL_OK;
}
