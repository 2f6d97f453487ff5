/* SPDX-License-Identifier: Apache-2.0 */
/* op-case.h - one operation and its operands, to be judged
 *
 * A case is an operation that is put together operand by operand and then
 * validated and inferred:
 *
 *     struct op_case c;
 *
 *     op_case_init(&c, NNHAL_OP_TILE);
 *     IN(&c, NNHAL_TENSOR_FLOAT32, 2, 3);
 *     IN_I32S(&c, 1, 2);
 *     OUT(&c, NNHAL_TENSOR_FLOAT32);
 *     EXPECT_SHAPE(&c, 0, 2, 6);
 *
 * Quantized operands have scale 1/2 and zero point 10 (0 for symmetric types)
 * unless op_case_quant() says otherwise for the last one added. */
#ifndef NN_TESTS_OP_CASE_H
#define NN_TESTS_OP_CASE_H

#include "model/infer.h"

#include <check.h>
#include <stdarg.h>
#include <string.h>

#define OP_CASE_MAX 80

struct op_case {
    struct nnhal_operand operands[2 * OP_CASE_MAX];
    uint32_t dims[2 * OP_CASE_MAX][NNHAL_MAX_RANK];
    int32_t numbers[OP_CASE_MAX][NNHAL_MAX_RANK * 2];
    const void *values[2 * OP_CASE_MAX];
    uint32_t inputs[OP_CASE_MAX], outputs[OP_CASE_MAX];
    struct nnhal_operation operation;
    uint32_t n_operands, n_inputs, n_outputs;
    struct nn_infer_operand infer_inputs[OP_CASE_MAX], infer_outputs[OP_CASE_MAX];
    struct nn_operation_facts facts;
    struct nn_why why;
};

static inline void op_case_init(struct op_case *c, uint32_t type)
{
    memset(c, 0, sizeof(*c));
    c->operation.type = type;
}

static inline uint32_t op_case_operand(struct op_case *c, uint32_t type, uint32_t lifetime,
                                       uint32_t n_dims, const uint32_t *dims)
{
    uint32_t i = c->n_operands++;
    struct nnhal_operand *operand = &c->operands[i];

    operand->type = type;
    operand->lifetime = lifetime;
    operand->n_dimensions = n_dims;
    operand->dimensions = c->dims[i];
    if (n_dims)
        memcpy(c->dims[i], dims, n_dims * sizeof(dims[0]));
    if (nn_type_is_quantized(type))
        operand->scale = 0.5f;
    if (type == NNHAL_TENSOR_QUANT8_ASYMM || type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)
        operand->zero_point = 10;
    return i;
}

static inline void op_case_in(struct op_case *c, uint32_t type, uint32_t n_dims,
                              const uint32_t *dims)
{
    c->inputs[c->n_inputs++] = op_case_operand(c, type, NNHAL_SUBGRAPH_INPUT, n_dims, dims);
}

static inline void op_case_out(struct op_case *c, uint32_t type, uint32_t n_dims,
                               const uint32_t *dims)
{
    c->outputs[c->n_outputs++] = op_case_operand(c, type, NNHAL_TEMPORARY_VARIABLE, n_dims, dims);
}

/* An input with a value of n words. */
static inline void op_case_words(struct op_case *c, uint32_t type, uint32_t n_dims,
                                 const uint32_t *dims, uint32_t n, const void *words)
{
    uint32_t i = op_case_operand(c, type, NNHAL_CONSTANT_COPY, n_dims, dims);

    c->inputs[c->n_inputs++] = i;
    memcpy(c->numbers[c->n_inputs - 1], words, n * sizeof(int32_t));
    c->values[i] = c->numbers[c->n_inputs - 1];
}

static inline void op_case_omit(struct op_case *c, uint32_t type)
{
    c->inputs[c->n_inputs++] = op_case_operand(c, type, NNHAL_NO_VALUE, 0, NULL);
}

static inline void op_case_quant(struct op_case *c, float scale, int32_t zero_point)
{
    c->operands[c->n_operands - 1].scale = scale;
    c->operands[c->n_operands - 1].zero_point = zero_point;
}

#define OP_CASE_N(...)   (sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))
#define IN(c, type, ...) op_case_in((c), (type), OP_CASE_N(__VA_ARGS__), (uint32_t[]){__VA_ARGS__})
#define OUT(c, type)     op_case_out((c), (type), 0, NULL)
#define OUT_DIMS(c, type, ...)                                                                     \
    op_case_out((c), (type), OP_CASE_N(__VA_ARGS__), (uint32_t[]){__VA_ARGS__})
/* A TENSOR_INT32 of rank 1 with these values. */
#define IN_I32S(c, ...)                                                                            \
    op_case_words((c), NNHAL_TENSOR_INT32, 1, (uint32_t[]){OP_CASE_N(__VA_ARGS__)},                \
                  OP_CASE_N(__VA_ARGS__), (int32_t[]){__VA_ARGS__})
/* A TENSOR_INT32 of shape [n, 2]. */
#define IN_PAIRS(c, ...)                                                                           \
    op_case_words((c), NNHAL_TENSOR_INT32, 2, (uint32_t[]){OP_CASE_N(__VA_ARGS__) / 2, 2},         \
                  OP_CASE_N(__VA_ARGS__), (int32_t[]){__VA_ARGS__})
#define IN_I32(c, v)  op_case_words((c), NNHAL_INT32, 0, NULL, 1, (int32_t[]){v})
#define IN_BOOL(c, v) op_case_words((c), NNHAL_BOOL, 0, NULL, 1, (int32_t[]){v})
#define IN_F32(c, v)  op_case_words((c), NNHAL_FLOAT32, 0, NULL, 1, (float[]){v})

/* What validation says. Returns: 0, NN_REFUSED. */
static inline int op_case_validate(struct op_case *c)
{
    c->operation.n_inputs = c->n_inputs;
    c->operation.n_outputs = c->n_outputs;
    c->operation.inputs = c->inputs;
    c->operation.outputs = c->outputs;
    if (c->operation.type >= NN_TFLITE_OPS)
        return nn_operation_validate_inside(c->operands, c->n_operands, &c->operation, &c->why);
    return nn_operation_validate(c->operands, c->n_operands, &c->operation, &c->facts, &c->why);
}

/* What inference says, after validation has accepted. A dimension of 0 of an
 * input is zero-sized here, as it is when a model is executed. */
static inline int op_case_infer(struct op_case *c)
{
    struct nn_infer infer = {.op = nn_op_find(c->operation.type),
                             .n_inputs = c->n_inputs,
                             .n_outputs = c->n_outputs,
                             .inputs = c->infer_inputs,
                             .outputs = c->infer_outputs,
                             .why = &c->why};

    if (op_case_validate(c))
        ck_abort_msg("refused by validation: %s", c->why.text);
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        nn_infer_operand_init(&c->infer_inputs[i], &c->operands[c->inputs[i]],
                              c->values[c->inputs[i]]);
        c->infer_inputs[i].is_known = true;
    }
    for (uint32_t i = 0; i < c->n_outputs; i++)
        nn_infer_operand_init(&c->infer_outputs[i], &c->operands[c->outputs[i]], NULL);
    return nn_infer(&infer);
}

static inline void op_case_expect_shape(struct op_case *c, uint32_t output, uint32_t n_dims,
                                        const uint32_t *dims)
{
    const struct nn_infer_operand *out = &c->infer_outputs[output];
    int r = op_case_infer(c);

    if (r)
        ck_abort_msg("outcome %d: %s", r, c->why.text);
    ck_assert_uint_eq(out->n_dims, n_dims);
    for (uint32_t d = 0; d < n_dims; d++)
        ck_assert_uint_eq(out->dims[d], dims[d]);
}

#define EXPECT_SHAPE(c, output, ...)                                                               \
    op_case_expect_shape((c), (output), OP_CASE_N(__VA_ARGS__), (uint32_t[]){__VA_ARGS__})

/* Refused at execution only: model validation takes it. */
#define EXPECT_REFUSED(c)                                                                          \
    do {                                                                                           \
        ck_assert_int_eq(op_case_infer(c), NN_REFUSED);                                            \
        ck_assert_str_ne((c)->why.text, "");                                                       \
    } while (0)

/* Refused when it is added to a model. */
#define EXPECT_INVALID(c)                                                                          \
    do {                                                                                           \
        ck_assert_int_eq(op_case_validate(c), NN_REFUSED);                                         \
        ck_assert_str_ne((c)->why.text, "");                                                       \
    } while (0)

#define EXPECT_LEVEL(c, wanted)                                                                    \
    do {                                                                                           \
        ck_assert_int_eq(op_case_validate(c), 0);                                                  \
        ck_assert_uint_eq((c)->facts.level, (wanted));                                             \
    } while (0)

#endif
