/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-token.h"

#include <string.h>

enum { N_WORDS = ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN / 8 };

/* Four hashes (FNV-1a, started apart), which see the same bytes. */
struct token {
    uint64_t words[N_WORDS];
};

static void token_add(struct token *token, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < N_WORDS; k++) {
            token->words[k] ^= ((const uint8_t *)bytes)[i];
            token->words[k] *= UINT64_C(0x100000001b3);
            token->words[k] ^= token->words[k] >> (29 + k);
        }
}

static void token_add_u64(struct token *token, uint64_t value)
{
    token_add(token, &value, sizeof(value));
}

static void token_add_text(struct token *token, const char *text)
{
    token_add(token, text, strlen(text) + 1);
}

static void token_start(struct token *token)
{
    for (int k = 0; k < N_WORDS; k++)
        token->words[k] = UINT64_C(0xcbf29ce484222325) + (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15);
}

static void token_add_tensor(struct token *token, const struct tfl_graph *graph, int32_t number,
                             bool has_shape)
{
    const struct tfl_tensor *tensor;

    token_add_u64(token, (uint64_t)number);
    if (number < 0)
        return;
    tensor = &graph->tensors[number];
    token_add_text(token, tensor->name);
    token_add_u64(token, (uint64_t)tensor->type);
    token_add_u64(token, tensor->n_bytes);
    if (!has_shape)
        return;
    token_add_u64(token, tensor->file_offset);
    token_add_u64(token, tensor->n_dimensions);
    token_add(token, tensor->dimensions, tensor->n_dimensions * sizeof(*tensor->dimensions));
}

static void token_add_tensors(struct token *token, const struct tfl_graph *graph,
                              const int32_t *list, uint32_t n, bool has_shape)
{
    token_add_u64(token, n);
    for (uint32_t i = 0; i < n; i++)
        token_add_tensor(token, graph, list[i], has_shape);
}

static void token_add_operators(struct token *token, const struct tfl_graph *graph, bool has_shapes)
{
    for (uint32_t i = 0; i < graph->n_operators; i++) {
        const struct tfl_operator *op = &graph->operators[i];

        token_add_u64(token, op->number);
        token_add_u64(token, (uint64_t)op->code);
        token_add_tensors(token, graph, op->inputs, op->n_inputs, has_shapes);
        token_add_tensors(token, graph, op->outputs, op->n_outputs, has_shapes);
    }
}

void tfl_token_make(const struct tfl_settings *settings, const struct tfl_graph *graph,
                    uint8_t bytes[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN])
{
    struct token token;

    token_start(&token);
    token_add_text(&token, settings->model_token);
    token_add_u64(&token, settings->allows_fp16);
    token_add_operators(&token, graph, true);
    token_add_tensors(&token, graph, graph->inputs, graph->n_inputs, true);
    token_add_tensors(&token, graph, graph->outputs, graph->n_outputs, true);
    memcpy(bytes, token.words, sizeof(token.words));
}

uint64_t tfl_graph_hash(const struct tfl_graph *graph)
{
    struct token token;

    token_start(&token);
    token_add_operators(&token, graph, false);
    return token.words[0];
}
