/* SPDX-License-Identifier: Apache-2.0 */
#include "host/mutants.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define IN  NNHAL_SUBGRAPH_INPUT
#define OUT NNHAL_SUBGRAPH_OUTPUT
#define TMP NNHAL_TEMPORARY_VARIABLE

/* z = relu(x * y + x), the temporaries' shapes open. */
static void make_formula(struct maker *maker)
{
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, y, none, product, sum, z;

    maker_init(maker, 1);
    x = maker_operand(graph, F32, IN, DIMS(2, 3));
    y = maker_operand(graph, F32, IN, DIMS(2, 0));
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    product = maker_operand(graph, F32, TMP, 0, NULL);
    sum = maker_operand(graph, F32, TMP, DIMS(2, 0));
    z = maker_operand(graph, F32, OUT, DIMS(2, 3));
    maker_operation(graph, NNHAL_OP_MUL, DIMS(x, y, none), 1, &product);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(product, x, none), 1, &sum);
    maker_operation(graph, NNHAL_OP_RELU, 1, &sum, 1, &z);
}

static uint32_t make_bias(struct maker *maker, struct maker_graph *graph, uint32_t n)
{
    const int32_t zeroes[4] = {0};
    uint32_t bias = maker_constant(maker, graph, I32, zeroes, 4ULL * n, DIMS(n));

    graph->operands[bias].scale = 0.25f;
    return bias;
}

/* A small quantized classifier: convolution, pool, fully connected, softmax. */
static void make_vision(struct maker *maker)
{
    const uint8_t weights[24] = {1, 2, 3};
    const int32_t shape[2] = {1, 12};
    const float beta = 1.0f;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, filter, bias, zero, one, two, conv, pooled, to, flat, full, full_bias, b, logits, z;

    maker_init(maker, 1);
    x = maker_operand(graph, Q8, IN, DIMS(1, 4, 4, 2));
    filter = maker_constant(maker, graph, Q8, weights, 6, DIMS(3, 1, 1, 2));
    bias = make_bias(maker, graph, 3);
    zero = maker_i32(maker, graph, 0);
    one = maker_i32(maker, graph, 1);
    two = maker_i32(maker, graph, 2);
    conv = maker_operand(graph, Q8, TMP, DIMS(1, 4, 4, 3));
    pooled = maker_operand(graph, Q8, TMP, DIMS(1, 2, 2, 3));
    to = maker_constant(maker, graph, I32, shape, 8, DIMS(2));
    flat = maker_operand(graph, Q8, TMP, DIMS(1, 12));
    full = maker_constant(maker, graph, Q8, weights, 24, DIMS(2, 12));
    full_bias = make_bias(maker, graph, 2);
    logits = maker_operand(graph, Q8, TMP, DIMS(1, 2));
    b = maker_constant(maker, graph, NNHAL_FLOAT32, &beta, 4, 0, NULL);
    z = maker_operand(graph, Q8, OUT, DIMS(1, 2));
    graph->operands[z].scale = 1.0f / 256;
    maker_operation(graph, NNHAL_OP_CONV_2D, DIMS(x, filter, bias, one, one, one, zero), 1, &conv);
    maker_operation(graph, NNHAL_OP_MAX_POOL_2D, DIMS(conv, one, two, two, two, two, zero), 1,
                    &pooled);
    maker_operation(graph, NNHAL_OP_RESHAPE, DIMS(pooled, to), 1, &flat);
    maker_operation(graph, NNHAL_OP_FULLY_CONNECTED, DIMS(flat, full, full_bias, zero), 1, &logits);
    maker_operation(graph, NNHAL_OP_SOFTMAX, DIMS(logits, b), 1, &z);
}

/* Lists of inputs and outputs: split, concatenate, take the largest. */
static void make_lists(struct maker *maker)
{
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, axis, two, a, b, both, values, indexes;

    maker_init(maker, 1);
    x = maker_operand(graph, F32, IN, DIMS(2, 4));
    axis = maker_i32(maker, graph, 1);
    two = maker_i32(maker, graph, 2);
    a = maker_operand(graph, F32, TMP, DIMS(2, 2));
    b = maker_operand(graph, F32, TMP, DIMS(2, 2));
    both = maker_operand(graph, F32, TMP, DIMS(2, 4));
    values = maker_operand(graph, F32, OUT, DIMS(2, 2));
    indexes = maker_operand(graph, I32, OUT, DIMS(2, 2));
    maker_operation(graph, NNHAL_OP_SPLIT, DIMS(x, axis, two), DIMS(a, b));
    maker_operation(graph, NNHAL_OP_CONCATENATION, DIMS(b, a, axis), 1, &both);
    maker_operation(graph, NNHAL_OP_TOPK_V2, DIMS(both, two), DIMS(values, indexes));
}

static void make_activation(struct maker_graph *graph, uint32_t type)
{
    uint32_t in = maker_operand(graph, F32, IN, DIMS(2, 2));
    uint32_t out = maker_operand(graph, F32, OUT, DIMS(2, 2));

    maker_operation(graph, type, 1, &in, 1, &out);
}

/* A loop whose body branches: 0 condition, 1 body, 2 then, 3 else. */
static void make_nested(struct maker *maker)
{
    const int32_t ten = 10, one = 1;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t f, n, flag, other, limit, out, act, next, step;

    maker_init(maker, 5);
    f = maker_operand(graph, F32, IN, DIMS(2, 2));
    n = maker_operand(graph, I32, IN, DIMS(1));
    flag = maker_operand(graph, NNHAL_TENSOR_BOOL8, IN, DIMS(1));
    out = maker_operand(graph, F32, OUT, DIMS(2, 2));
    limit = maker_reference(graph, 0);
    step = maker_reference(graph, 1);
    maker_operation(graph, NNHAL_OP_WHILE, DIMS(limit, step, f, n, flag), 1, &out);

    graph = &maker->graphs[1];
    maker_operand(graph, F32, IN, DIMS(2, 2));
    n = maker_operand(graph, I32, IN, DIMS(1));
    maker_operand(graph, NNHAL_TENSOR_BOOL8, IN, DIMS(1));
    limit = maker_constant(maker, graph, I32, &ten, 4, DIMS(1));
    out = maker_operand(graph, NNHAL_TENSOR_BOOL8, OUT, DIMS(1));
    maker_operation(graph, NNHAL_OP_LESS, DIMS(n, limit), 1, &out);

    graph = &maker->graphs[2];
    f = maker_operand(graph, F32, IN, DIMS(2, 2));
    n = maker_operand(graph, I32, IN, DIMS(1));
    flag = maker_operand(graph, NNHAL_TENSOR_BOOL8, IN, DIMS(1));
    out = maker_operand(graph, F32, OUT, DIMS(2, 2));
    next = maker_operand(graph, I32, OUT, DIMS(1));
    act = maker_i32(maker, graph, 0);
    step = maker_constant(maker, graph, I32, &one, 4, DIMS(1));
    limit = maker_reference(graph, 2);
    other = maker_reference(graph, 3);
    maker_operation(graph, NNHAL_OP_IF, DIMS(flag, limit, other, f), 1, &out);
    maker_operation(graph, NNHAL_OP_ADD, DIMS(n, step, act), 1, &next);

    make_activation(&maker->graphs[3], NNHAL_OP_RELU);
    make_activation(&maker->graphs[4], NNHAL_OP_TANH);
}

const struct made_model made_models[] = {
    {"formula", make_formula}, {"vision", make_vision},   {"lists", make_lists},
    {"nested", make_nested},   {"full", maker_make_full},
};
const size_t n_made_models = sizeof(made_models) / sizeof(made_models[0]);
