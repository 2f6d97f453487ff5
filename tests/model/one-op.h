/* SPDX-License-Identifier: Apache-2.0 */
/* one-op.h - one operation, put together in a line, then validated or inferred
 *
 *     struct one_op c = one_op(NNHAL_OP_ADD);
 *     op_tensor(&c, NNHAL_TENSOR_FLOAT32, DIMS(2, 3));
 *     op_tensor(&c, NNHAL_TENSOR_FLOAT32, DIMS(3));
 *     op_i32(&c, 0);
 *     op_output(&c, NNHAL_TENSOR_FLOAT32);
 *     expect_shape(&c, DIMS(2, 3)); */
#ifndef NN_TESTS_MODEL_ONE_OP_H
#define NN_TESTS_MODEL_ONE_OP_H

#include "base/cleanup.h"
#include "model/infer.h"

#include <check.h>
#include <string.h>

enum {
    ONE_OP_OPERANDS = 24,
};

struct one_op {
    uint32_t type;
    bool is_lite; /* inferred as nnhal.tflite's of this code */
    uint32_t n_inputs, n_outputs;
    struct nn_infer_operand inputs[ONE_OP_OPERANDS];
    struct nn_infer_operand outputs[2]; /* as declared */
    struct nn_infer_operand results[2]; /* as inferred */
    int32_t values[ONE_OP_OPERANDS][8]; /* what inputs' value points to */
    struct nnhal_channel_quant channel_quant;
    struct nn_why why;
};

#define DIMS(...)                                                                                  \
    sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[])                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define NO_DIMS 0, NULL

static inline struct one_op one_op(uint32_t type)
{
    return (struct one_op){.type = type};
}

static inline void op_set_dims(struct nn_infer_operand *operand, uint32_t type, uint32_t n,
                               const uint32_t *dims)
{
    *operand = (struct nn_infer_operand){.type = type, .n_dims = n};
    for (uint32_t i = 0; i < n; i++)
        operand->dims[i] = dims[i];
    operand->is_known = n || nn_type_is_scalar(type);
    if (nn_type_is_quantized(type))
        operand->scale = 0.5f;
}

/* An input tensor; returns it, so that scale and the like can be set. */
static inline struct nn_infer_operand *op_tensor(struct one_op *c, uint32_t type, uint32_t n,
                                                 const uint32_t *dims)
{
    op_set_dims(&c->inputs[c->n_inputs], type, n, dims);
    return &c->inputs[c->n_inputs++];
}

static inline void op_scalar(struct one_op *c, uint32_t type, const void *value, size_t n_bytes)
{
    uint32_t i = c->n_inputs;

    memcpy(c->values[i], value, n_bytes);
    op_tensor(c, type, NO_DIMS);
    c->inputs[i].value = c->values[i];
}

static inline void op_i32(struct one_op *c, int32_t value)
{
    op_scalar(c, NNHAL_INT32, &value, sizeof(value));
}

static inline void op_i32s(struct one_op *c, const int32_t *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        op_i32(c, values[i]);
}

#define OP_I32S(c, ...)                                                                            \
    op_i32s((c), (const int32_t[]){__VA_ARGS__},                                                   \
            sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static inline void op_bool(struct one_op *c, bool value)
{
    uint8_t byte = value;

    op_scalar(c, NNHAL_BOOL, &byte, sizeof(byte));
}

static inline void op_float(struct one_op *c, float value)
{
    op_scalar(c, NNHAL_FLOAT32, &value, sizeof(value));
}

/* A TENSOR_INT32 of rank 1 with known elements, at most 8. */
static inline void op_list(struct one_op *c, const int32_t *values, uint32_t n)
{
    uint32_t i = c->n_inputs;

    memcpy(c->values[i], values, n * sizeof(*values));
    op_tensor(c, NNHAL_TENSOR_INT32, 1, &n);
    c->inputs[i].value = c->values[i];
}

#define OP_LIST(c, ...)                                                                            \
    op_list((c), (const int32_t[]){__VA_ARGS__},                                                   \
            sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static inline struct nn_infer_operand *op_output(struct one_op *c, uint32_t type)
{
    op_set_dims(&c->outputs[c->n_outputs], type, NO_DIMS);
    return &c->outputs[c->n_outputs++];
}

static inline int op_infer(struct one_op *c)
{
    struct nn_infer infer = {.op = nn_op_find(c->type),
                             .is_lite = c->is_lite,
                             .n_inputs = c->n_inputs,
                             .n_outputs = c->n_outputs,
                             .inputs = c->inputs,
                             .outputs = c->results,
                             .why = &c->why};

    memcpy(c->results, c->outputs, sizeof(c->results));
    for (uint32_t i = 0; i < c->n_inputs; i++) /* the case may have been copied */
        c->inputs[i].value = c->inputs[i].value ? c->values[i] : NULL;
    return nn_infer(&infer);
}

static inline void expect_shape(struct one_op *c, uint32_t n, const uint32_t *dims)
{
    int r = op_infer(c);

    ck_assert_msg(r == 0, "%s", c->why.text);
    ck_assert_uint_eq(c->results[0].n_dims, n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(c->results[0].dims[i], dims[i]);
}

static inline void expect_refused(struct one_op *c)
{
    ck_assert_int_eq(op_infer(c), NN_REFUSED);
    ck_assert_uint_gt(strlen(c->why.text), 0);
}

/* Validation of the same operands as a model declares them; an output without
 * dimensions has unknown ones. */
static inline int op_validate(struct one_op *c, unsigned *ret_level)
{
    struct nnhal_operand operands[ONE_OP_OPERANDS + 2] = {0};
    uint32_t numbers[ONE_OP_OPERANDS + 2];
    uint32_t unknown[NNHAL_MAX_RANK] = {0};
    struct nnhal_operation operation = {.type = c->type,
                                        .n_inputs = c->n_inputs,
                                        .n_outputs = c->n_outputs,
                                        .inputs = numbers,
                                        .outputs = numbers + c->n_inputs};
    struct nn_operation_facts facts;
    int r;

    for (uint32_t i = 0; i < c->n_inputs + c->n_outputs; i++) {
        const struct nn_infer_operand *from = i < c->n_inputs ? &c->inputs[i]
                                                              : &c->outputs[i - c->n_inputs];

        numbers[i] = i;
        operands[i] = (struct nnhal_operand){.type = from->type,
                                             .n_dimensions = from->n_dims,
                                             .dimensions = from->dims,
                                             .scale = from->scale,
                                             .zero_point = from->zero_point};
        if (i >= c->n_inputs && !from->n_dims) {
            operands[i].n_dimensions = c->inputs[0].n_dims;
            operands[i].dimensions = unknown;
        }
        if (from->channel_quant) {
            operands[i].extra_params = NNHAL_EXTRA_CHANNEL_QUANT;
            operands[i].channel_quant = *from->channel_quant;
        }
    }
    r = nn_operation_validate(operands, c->n_inputs + c->n_outputs, &operation, &facts, &c->why);
    if (r == 0 && ret_level)
        *ret_level = facts.level;
    return r;
}

static inline void expect_level(struct one_op *c, unsigned level)
{
    unsigned got = 0;
    int r = op_validate(c, &got);

    ck_assert_msg(r == 0, "%s", c->why.text);
    ck_assert_uint_eq(got, level);
}

static inline void expect_invalid(struct one_op *c)
{
    ck_assert_int_eq(op_validate(c, NULL), NN_REFUSED);
    ck_assert_uint_gt(strlen(c->why.text), 0);
}

#endif
