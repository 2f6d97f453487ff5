/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cases.h"
#include "drivers/cpu/executor/plan.h"
#include "model/types.h"

#include <stdlib.h>
#include <string.h>

enum {
    F32 = NNHAL_TENSOR_FLOAT32,
    U8 = NNHAL_TENSOR_QUANT8_ASYMM,
    S8 = NNHAL_TENSOR_QUANT8_ASYMM_SIGNED,
    Y8 = NNHAL_TENSOR_QUANT8_SYMM,
    Z16 = NNHAL_TENSOR_QUANT16_SYMM,
    I32 = NNHAL_TENSOR_INT32,
};

static const uint32_t one[] = {1}, open_row[] = {0};

/* ---- constants ---- */

/* Numbers of no meaning; from 4 KiB on the driver leaves them in the pool. */
static uint32_t constant(struct builder *b, uint32_t graph, uint32_t type, uint32_t rank,
                         const uint32_t *dims, float scale, int32_t zero_point)
{
    static union {
        uint8_t u8[1 << 15];
        float f32[1 << 13];
        int32_t i32[1 << 13];
    } bytes;
    uint32_t n = nn_type_bytes(type), seed = 77;

    for (uint32_t i = 0; i < rank; i++)
        n *= dims[i];
    for (uint32_t i = 0; type == F32 && i < n / 4; i++)
        bytes.f32[i] = builder_random_float(&seed, -1, 1);
    for (uint32_t i = 0; type == I32 && i < n / 4; i++)
        bytes.i32[i] = builder_random_int(&seed, -100, 100);
    for (uint32_t i = 0; type != F32 && type != I32 && i < n; i++)
        bytes.u8[i] = (uint8_t)builder_random(&seed);
    return builder_constant(b, graph, type, rank, dims, scale, zero_point, bytes.u8, n, n > 64);
}

static uint32_t number(struct builder *b, uint32_t graph, float value)
{
    return builder_constant(b, graph, F32, 1, one, 0, 0, &value, sizeof(value), 0);
}

/* ---- one plan ---- */

/* Convolution, depthwise convolution, reshape and a fully connected layer, in uint8. */
static void build_layers(struct builder *b)
{
    uint32_t in_dims[] = {1, 6, 6, 4}, conv_filter[] = {8, 3, 3, 4}, conv_out[] = {1, 6, 6, 8};
    uint32_t dw_filter[] = {1, 3, 3, 8}, dw_out[] = {1, 3, 3, 8}, flat[] = {1, 72}, two[] = {2};
    uint32_t weights[] = {100, 72}, out_dims[] = {1, 100}, n8[] = {8}, units[] = {100};
    int32_t shape[] = {1, 72};
    uint32_t o[16], conv, dw, reshaped, out;

    o[0] = builder_input(b, 0, U8, 4, in_dims, 0.1f, 100);
    o[1] = constant(b, 0, U8, 4, conv_filter, 0.1f, 90);
    o[2] = constant(b, 0, NNHAL_TENSOR_INT32, 1, n8, 0.1f * 0.1f, 0);
    o[3] = builder_i32(b, 0, 1);
    o[4] = o[5] = builder_i32(b, 0, 1);
    o[6] = builder_i32(b, 0, 1);
    conv = builder_temporary(b, 0, U8, 4, conv_out, 1.0f, 0);
    builder_operation(b, 0, NNHAL_OP_CONV_2D, 7, o, 1, &conv);

    o[0] = conv;
    o[1] = constant(b, 0, U8, 4, dw_filter, 0.1f, 90);
    o[2] = constant(b, 0, NNHAL_TENSOR_INT32, 1, n8, 1.0f * 0.1f, 0);
    o[4] = o[5] = builder_i32(b, 0, 2);
    o[6] = builder_i32(b, 0, 1);
    o[7] = builder_i32(b, 0, 0);
    dw = builder_temporary(b, 0, U8, 4, dw_out, 1.0f, 0);
    builder_operation(b, 0, NNHAL_OP_DEPTHWISE_CONV_2D, 8, o, 1, &dw);

    o[0] = dw;
    o[1] = builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0, shape, sizeof(shape), 0);
    reshaped = builder_temporary(b, 0, U8, 2, flat, 1.0f, 0);
    builder_operation(b, 0, NNHAL_OP_RESHAPE, 2, o, 1, &reshaped);

    o[0] = reshaped;
    o[1] = constant(b, 0, U8, 2, weights, 0.1f, 90);
    o[2] = constant(b, 0, NNHAL_TENSOR_INT32, 1, units, 1.0f * 0.1f, 0);
    o[3] = builder_i32(b, 0, 0);
    out = builder_output(b, 0, U8, 2, out_dims, 1.0f, 128);
    builder_operation(b, 0, NNHAL_OP_FULLY_CONNECTED, 4, o, 1, &out);
}

/* A table in the pool, in place, and ends that share weights. */
/* What passes join, turn and tabulate: a residual block of int8, an activation, floats. */
static void build_fused(struct builder *b)
{
    uint32_t dims[] = {1, 6, 6, 8}, filter[] = {8, 1, 1, 8}, n8[] = {8}, o[7], in, last, out;

    in = last = builder_input(b, 0, S8, 4, dims, 0.1f, -20);
    for (int i = 0; i < 2; i++) {
        o[0] = last;
        o[1] = constant(b, 0, S8, 4, filter, 0.01f, 3);
        o[2] = constant(b, 0, NNHAL_TENSOR_INT32, 1, n8, 0.1f * 0.01f, 0);
        o[3] = o[4] = o[5] = builder_i32(b, 0, 1);
        o[6] = builder_i32(b, 0, 0);
        last = builder_temporary(b, 0, S8, 4, dims, 0.1f, -20);
        builder_operation(b, 0, NNHAL_OP_CONV_2D, 7, o, 1, &last);
    }
    o[0] = last;
    o[1] = in;
    o[2] = builder_i32(b, 0, 0);
    last = builder_temporary(b, 0, S8, 4, dims, 0.1f, -20);
    builder_operation(b, 0, NNHAL_OP_ADD, 3, o, 1, &last);
    o[0] = last;
    last = builder_temporary(b, 0, S8, 4, dims, 0.1f, -20);
    builder_operation(b, 0, NNHAL_OP_HARD_SWISH, 1, o, 1, &last);
    out = builder_output(b, 0, F32, 4, dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_DEQUANTIZE, 1, &last, 1, &out);
}

static void build_table(struct builder *b)
{
    uint32_t table[] = {40, 32}, n[] = {3}, out_dims[] = {3, 32};
    uint32_t o[] = {builder_input(b, 0, NNHAL_TENSOR_INT32, 1, n, 0, 0),
                    constant(b, 0, F32, 2, table, 0, 0)};
    uint32_t looked_up = builder_temporary(b, 0, F32, 2, out_dims, 0, 0);
    uint32_t out = builder_output(b, 0, F32, 2, out_dims, 0, 0);

    builder_operation(b, 0, NNHAL_OP_EMBEDDING_LOOKUP, 2, o, 1, &looked_up);
    builder_operation(b, 0, NNHAL_OP_TANH, 1, &looked_up, 1, &out);
}

static bool fill_table(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes)
{
    const int32_t rows[] = {(int32_t)variant, 39, (int32_t)variant * 7};

    memcpy(bytes, rows, n_bytes);
    return true;
}

/* ---- plans that executions make ---- */

/* [?,64] times weights in the pool, and a table that is added. */
static void build_open(struct builder *b)
{
    uint32_t in_dims[] = {0, 64}, weights[] = {20, 64}, units[] = {20}, out_dims[] = {0, 20};
    uint32_t o[] = {builder_input(b, 0, F32, 2, in_dims, 0, 0),
                    constant(b, 0, F32, 2, weights, 0, 0), constant(b, 0, F32, 1, units, 0, 0),
                    builder_i32(b, 0, 0)};
    uint32_t product = builder_temporary(b, 0, F32, 2, out_dims, 0, 0);
    uint32_t out = builder_output(b, 0, F32, 2, out_dims, 0, 0);

    builder_operation(b, 0, NNHAL_OP_FULLY_CONNECTED, 4, o, 1, &product);
    builder_operation(b, 0, NNHAL_OP_RELU, 1, &product, 1, &out);
}

/* A graph that computes x op constant, of 1,200 numbers. */
static uint32_t add_binary_graph(struct builder *b, uint32_t operation)
{
    uint32_t dims[] = {1200}, graph = builder_add_graph(b);
    uint32_t o[] = {builder_input(b, graph, F32, 1, dims, 0, 0),
                    constant(b, graph, F32, 1, dims, 0, 0), builder_i32(b, graph, 0)};
    uint32_t out = builder_output(b, graph, F32, 1, dims, 0, 0);

    builder_operation(b, graph, operation, 3, o, 1, &out);
    return graph;
}

/* TANH, then one of two branches, then RELU. */
static void build_if(struct builder *b)
{
    uint32_t dims[] = {1200}, in, o[4], chosen, out;
    uint32_t then_graph = add_binary_graph(b, NNHAL_OP_ADD);
    uint32_t else_graph = add_binary_graph(b, NNHAL_OP_MUL);

    o[0] = builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    o[1] = builder_subgraph(b, 0, then_graph);
    o[2] = builder_subgraph(b, 0, else_graph);
    in = builder_input(b, 0, F32, 1, dims, 0, 0);
    o[3] = builder_temporary(b, 0, F32, 1, dims, 0, 0);
    chosen = builder_temporary(b, 0, F32, 1, dims, 0, 0);
    out = builder_output(b, 0, F32, 1, dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_TANH, 1, &in, 1, &o[3]);
    builder_operation(b, 0, NNHAL_OP_IF, 4, o, 1, &chosen);
    builder_operation(b, 0, NNHAL_OP_RELU, 1, &chosen, 1, &out);
}

static bool fill_if(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes)
{
    uint32_t seed = variant;

    if (input == 0)
        *(uint8_t *)bytes = variant % 2;
    for (size_t i = 0; input == 1 && i < n_bytes / 4; i++)
        ((float *)bytes)[i] = builder_random_float(&seed, -2, 2);
    return true;
}

/* while (count < 9) { value = concat(value, count); count++; } */
static void build_while(struct builder *b)
{
    uint32_t condition = builder_add_graph(b), body = builder_add_graph(b);
    uint32_t o[4], outs[2];

    builder_input(b, condition, F32, 1, open_row, 0, 0);
    o[0] = builder_input(b, condition, F32, 1, one, 0, 0);
    o[1] = number(b, condition, 9);
    outs[0] = builder_output(b, condition, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    builder_operation(b, condition, NNHAL_OP_LESS, 2, o, 1, outs);

    o[0] = builder_input(b, body, F32, 1, open_row, 0, 0);
    o[1] = builder_input(b, body, F32, 1, one, 0, 0);
    o[2] = builder_i32(b, body, 0);
    outs[0] = builder_output(b, body, F32, 1, open_row, 0, 0);
    builder_operation(b, body, NNHAL_OP_CONCATENATION, 3, o, 1, outs);
    o[0] = o[1];
    o[1] = number(b, body, 1);
    outs[0] = builder_output(b, body, F32, 1, one, 0, 0);
    builder_operation(b, body, NNHAL_OP_ADD, 3, o, 1, outs);

    o[0] = builder_subgraph(b, 0, condition);
    o[1] = builder_subgraph(b, 0, body);
    o[2] = builder_input(b, 0, F32, 1, one, 0, 0);
    o[3] = builder_input(b, 0, F32, 1, one, 0, 0);
    outs[0] = builder_output(b, 0, F32, 1, open_row, 0, 0);
    outs[1] = builder_output(b, 0, F32, 1, one, 0, 0);
    builder_operation(b, 0, NNHAL_OP_WHILE, 4, o, 2, outs);
}

static bool fill_while(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes)
{
    *(float *)bytes = input ? (float)variant * 2 : 100;
    return true;
}

/* in [2,3] is reshaped to a shape that an addition computes. */
static void build_computed(struct builder *b)
{
    uint32_t two[] = {2}, unknown[] = {0, 0}, in_dims[] = {2, 3}, zeroes[] = {0, 0};
    uint32_t in = builder_input(b, 0, F32, 2, in_dims, 0, 0);
    uint32_t add[] = {builder_input(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0),
                      builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0, zeroes, 8, 0),
                      builder_i32(b, 0, 0)};
    uint32_t shape = builder_temporary(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0);
    uint32_t reshape[] = {in, shape};
    uint32_t reshaped = builder_temporary(b, 0, F32, 2, unknown, 0, 0);
    uint32_t out = builder_output(b, 0, F32, 2, unknown, 0, 0);

    builder_operation(b, 0, NNHAL_OP_ADD, 3, add, 1, &shape);
    builder_operation(b, 0, NNHAL_OP_RESHAPE, 2, reshape, 1, &reshaped);
    builder_operation(b, 0, NNHAL_OP_RELU, 1, &reshaped, 1, &out);
}

static bool fill_computed(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes)
{
    static const int32_t shapes[CASE_N_VARIANTS][2] = {{3, 2}, {6, 1}, {-1, 3}, {4, 2}};
    uint32_t seed = variant;

    if (input == 1)
        memcpy(bytes, shapes[variant], sizeof(shapes[variant]));
    for (size_t i = 0; input == 0 && i < n_bytes / 4; i++)
        ((float *)bytes)[i] = builder_random_float(&seed, -2, 2);
    return true;
}

/* SVDF, whose bias may be omitted. */
static void build_omittable(struct builder *b)
{
    uint32_t in_dims[] = {2, 8}, feature[] = {160, 8}, time[] = {160, 10}, units[] = {160};
    uint32_t state[] = {2, 1600}, out_dims[] = {2, 160}, outs[2];
    uint32_t o[] = {builder_input(b, 0, F32, 2, in_dims, 0, 0),
                    constant(b, 0, F32, 2, feature, 0, 0),
                    constant(b, 0, F32, 2, time, 0, 0),
                    builder_input(b, 0, F32, 1, units, 0, 0),
                    builder_input(b, 0, F32, 2, state, 0, 0),
                    builder_i32(b, 0, 1),
                    builder_i32(b, 0, 0)};

    outs[0] = builder_output(b, 0, F32, 2, state, 0, 0);
    outs[1] = builder_output(b, 0, F32, 2, out_dims, 0, 0);
    builder_operation(b, 0, NNHAL_OP_SVDF, 7, o, 2, outs);
}

static bool fill_omittable(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes)
{
    uint32_t seed = input + variant;

    for (size_t i = 0; i < n_bytes / 4; i++)
        ((float *)bytes)[i] = builder_random_float(&seed, -1, 1);
    return input != 1 || variant % 2 == 0;
}

/* How many boxes are left is not known before. */
static void build_late(struct builder *b)
{
    uint32_t scores[] = {8, 2}, boxes[] = {8, 8}, splits[] = {8}, picked[] = {0};
    uint32_t box_rows[] = {0, 4}, outs[4];
    uint32_t o[] = {builder_input(b, 0, F32, 2, scores, 0, 0),
                    builder_input(b, 0, F32, 2, boxes, 0, 0),
                    builder_input(b, 0, NNHAL_TENSOR_INT32, 1, splits, 0, 0),
                    builder_f32(b, 0, 0.3f),
                    builder_i32(b, 0, -1),
                    builder_i32(b, 0, 0),
                    builder_f32(b, 0, 0.4f),
                    builder_f32(b, 0, 1.0f),
                    builder_f32(b, 0, 0.3f)};
    uint32_t kept = builder_temporary(b, 0, F32, 1, picked, 0, 0);

    outs[0] = kept;
    outs[1] = builder_output(b, 0, F32, 2, box_rows, 0, 0);
    outs[2] = builder_output(b, 0, NNHAL_TENSOR_INT32, 1, picked, 0, 0);
    outs[3] = builder_output(b, 0, NNHAL_TENSOR_INT32, 1, picked, 0, 0);
    builder_operation(b, 0, NNHAL_OP_BOX_WITH_NMS_LIMIT, 9, o, 4, outs);
    outs[0] = builder_output(b, 0, F32, 1, picked, 0, 0);
    builder_operation(b, 0, NNHAL_OP_TANH, 1, &kept, 1, outs);
}

static bool fill_late(uint32_t input, uint32_t variant, void *bytes, size_t n_bytes)
{
    uint32_t seed = input + variant * 11;

    memset(bytes, 0, n_bytes);
    for (size_t i = 0; input < 2 && i < n_bytes / 4; i++)
        ((float *)bytes)[i] = input == 0 ? builder_random_float(&seed, 0, 1)
                                         : (float)(i % 4 / 2 * 10 + i / 4 % 5 * variant);
    return true;
}

/* The cell of int8, whose parameters say how it is walked. */
static void build_sequence(struct builder *b)
{
    uint32_t x[] = {1, 5, 3}, weights[] = {4, 3}, recurrent[] = {4, 4}, bias[] = {4};
    uint32_t state[] = {1, 4}, y[] = {1, 5, 4}, o[33], outs[3], n = 0;

    o[n++] = builder_input(b, 0, S8, 3, x, 0.5f, 3);
    for (int i = 0; i < 4; i++)
        o[n++] = constant(b, 0, Y8, 2, weights, 0.01f, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = constant(b, 0, Y8, 2, recurrent, 0.01f, 0);
    for (int i = 0; i < 3; i++)
        o[n++] = builder_operand(b, 0, Z16, NNHAL_NO_VALUE, 0, NULL, 1, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = constant(b, 0, I32, 1, bias, 0, 0);
    o[n++] = builder_operand(b, 0, Y8, NNHAL_NO_VALUE, 0, NULL, 1, 0);
    o[n++] = builder_operand(b, 0, I32, NNHAL_NO_VALUE, 0, NULL, 0, 0);
    o[n++] = constant(b, 0, S8, 2, state, 0.01f, 2);
    o[n++] = constant(b, 0, Z16, 2, state, 0x1p-11f, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = builder_operand(b, 0, Z16, NNHAL_NO_VALUE, 0, NULL, 1, 0);
    o[n++] = builder_f32(b, 0, 0);
    o[n++] = builder_f32(b, 0, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = builder_f32(b, 0, 0.01f);
    o[n++] = builder_i32(b, 0, 0);
    o[n++] = builder_f32(b, 0, 0.01f);
    o[n++] = builder_bool(b, 0, 0);
    outs[0] = builder_output(b, 0, S8, 3, y, 0.01f, 2);
    outs[1] = builder_output(b, 0, S8, 2, state, 0.01f, 2);
    outs[2] = builder_output(b, 0, Z16, 2, state, 0x1p-11f, 0);
    builder_operation(b, 0, BUILDER_TFLITE(UNIDIRECTIONAL_SEQUENCE_LSTM), n, o, 3, outs);
}

/* The cell of 16 bits, which has a table. */
static void build_sixteen_sequence(struct builder *b)
{
    uint32_t x[] = {1, 5, 3}, weights[] = {4, 3}, recurrent[] = {4, 4}, bias[] = {4};
    uint32_t state[] = {1, 4}, y[] = {1, 5, 4}, o[17], outs[3], n = 0;

    o[n++] = builder_input(b, 0, Z16, 3, x, 0.0001f, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = constant(b, 0, Y8, 2, weights, 0.01f, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = constant(b, 0, Y8, 2, recurrent, 0.01f, 0);
    for (int i = 0; i < 4; i++)
        o[n++] = constant(b, 0, I32, 1, bias, 0, 0);
    o[n++] = constant(b, 0, Z16, 2, state, 0x1p-15f, 0);
    o[n++] = constant(b, 0, Z16, 2, state, 0x1p-13f, 0);
    o[n++] = builder_f32(b, 0, 0);
    o[n++] = builder_bool(b, 0, 0);
    outs[0] = builder_output(b, 0, Z16, 3, y, 0x1p-15f, 0);
    outs[1] = builder_output(b, 0, Z16, 2, state, 0x1p-15f, 0);
    outs[2] = builder_output(b, 0, Z16, 2, state, 0x1p-13f, 0);
    builder_operation(b, 0, BUILDER_TFLITE(UNIDIRECTIONAL_SEQUENCE_LSTM), n, o, 3, outs);
}

const struct cpu_case cpu_cases[] = {
    {"layers", build_layers, NULL},
    {"fused", build_fused, NULL},
    {"table", build_table, fill_table},
    {"open", build_open, NULL},
    {"if", build_if, fill_if},
    {"while", build_while, fill_while},
    {"computed", build_computed, fill_computed},
    {"omittable", build_omittable, fill_omittable},
    {"late", build_late, fill_late},
    {"sequence", build_sequence, NULL},
    {"sixteen-sequence", build_sixteen_sequence, NULL},
    {NULL, NULL, NULL},
};

/* ---- executing ---- */

static void fill(uint32_t type, uint32_t seed, void *bytes, size_t n_bytes)
{
    for (size_t i = 0; type == F32 && i < n_bytes / 4; i++)
        ((float *)bytes)[i] = builder_random_float(&seed, -2, 2);
    for (size_t i = 0; type != F32 && i < n_bytes; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)builder_random(&seed);
}

static void give_input(const struct cpu_case *of, const struct nnhal_operand *operand,
                       uint32_t variant, uint32_t i, void *bytes, struct builder_run *run)
{
    uint32_t dims[NNHAL_MAX_RANK] = {0};
    size_t n_bytes = nn_type_bytes(operand->type);

    for (uint32_t d = 0; d < operand->n_dimensions; d++) {
        dims[d] = operand->dimensions[d] ? operand->dimensions[d] : variant + 1;
        n_bytes *= dims[d];
    }
    builder_run_shape(run, i, operand->n_dimensions, dims);
    fill(operand->type, i + variant * 100, bytes, n_bytes);
    if (!of->fill || of->fill(i, variant, bytes, n_bytes))
        builder_run_input(run, i, bytes, n_bytes);
    else
        run->inputs[i].is_omitted = 1;
}

void case_execute(const struct cpu_case *of, struct builder *b, void *prepared, uint32_t variant,
                  struct case_result *result)
{
    const struct builder_graph *g = &b->graphs[0];
    static _Thread_local _Alignas(64) uint8_t inputs[BUILDER_MAX_IO][CASE_MAX_BYTES];
    struct builder_run run;

    memset(result, 0, sizeof(*result));
    builder_run_init(&run, b);
    for (uint32_t i = 0; i < g->n_inputs; i++)
        give_input(of, &g->operands[g->inputs[i]], variant, i, inputs[i], &run);
    for (uint32_t i = 0; i < g->n_outputs; i++)
        builder_run_output(&run, i, result->bytes[i], CASE_MAX_BYTES);
    result->status = b->driver->execute(prepared, &run.execution);
    result->n_outputs = g->n_outputs;
    for (uint32_t i = 0; i < g->n_outputs; i++) {
        result->n_dims[i] = run.outputs[i].n_dimensions;
        memcpy(result->dims[i], run.outputs[i].dimensions, sizeof(result->dims[i]));
    }
}

/* ---- caching ---- */

static void link_buffers(struct case_cache *cache)
{
    cache->cache = (struct nnhal_cache){.size = sizeof(cache->cache),
                                        .n_model_files = 1,
                                        .n_data_files = 1,
                                        .model_files = &cache->model,
                                        .data_files = &cache->data};
}

void *case_prepare_kept(struct builder *b, bool is_quick, struct case_cache *ret_cache)
{
    struct nnhal_prepare request = {.size = sizeof(request),
                                    .model = builder_model(b),
                                    .preference = NNHAL_FAST_SINGLE_ANSWER,
                                    .priority = NNHAL_PRIORITY_MEDIUM,
                                    .deadline_ns = NNHAL_NO_TIME,
                                    .cache = &ret_cache->cache,
                                    .is_quick = is_quick};
    void *prepared = NULL;

    *ret_cache = (struct case_cache){.cache = {0}};
    link_buffers(ret_cache);
    if (b->driver->prepare(b->device, &request, &prepared) != NNHAL_NONE)
        abort();
    return prepared;
}

void *case_load(struct builder *b, struct case_cache *cache)
{
    struct nnhal_prepare_from_cache request = {
        .size = sizeof(request), .cache = &cache->cache, .deadline_ns = NNHAL_NO_TIME};
    void *prepared = NULL;

    link_buffers(cache);
    if (b->driver->prepare_from_cache(b->device, &request, &prepared) != NNHAL_NONE)
        return NULL;
    return prepared;
}

uint8_t *case_plan(const struct case_cache *cache, struct nn_plan_header *ret_header)
{
    uint8_t *bytes = (uint8_t *)(uintptr_t)cache->model.bytes;

    for (uint64_t at = 0; at + sizeof(*ret_header) <= cache->model.size; at += NN_PLAN_ALIGNMENT) {
        memcpy(ret_header, bytes + at, sizeof(*ret_header));
        if (ret_header->magic == NN_PLAN_MAGIC && ret_header->steps.n != 0)
            return bytes + at;
    }
    abort();
}

uint32_t case_optimize(struct builder *b, void *prepared, struct case_cache *ret_cache)
{
    static const uint32_t is_cancelled;
    struct nnhal_optimize request = {.size = sizeof(request), .is_cancelled = &is_cancelled};

    if (ret_cache) {
        *ret_cache = (struct case_cache){.cache = {0}};
        link_buffers(ret_cache);
        request.cache = &ret_cache->cache;
    }
    return b->driver->optimize(prepared, &request);
}
