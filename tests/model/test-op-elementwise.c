/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operations, comparisons, functions, activations and conversions. */
#include "model/one-op.h"
#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
#define Z16 NNHAL_TENSOR_QUANT16_SYMM
#define I32 NNHAL_TENSOR_INT32
#define B8  NNHAL_TENSOR_BOOL8

static struct one_op pair(uint32_t operation, uint32_t type, uint32_t n_a, const uint32_t *a,
                          uint32_t n_b, const uint32_t *b, uint32_t out_type)
{
    struct one_op c = one_op(operation);

    op_tensor(&c, type, n_a, a);
    op_tensor(&c, type, n_b, b);
    op_output(&c, out_type);
    return c;
}

TEST(arithmetic_broadcasts)
{
    struct one_op c = pair(NNHAL_OP_ADD, F32, DIMS(4, 1, 3), DIMS(2, 1), F32);

    op_i32(&c, 3);
    expect_shape(&c, DIMS(4, 2, 3));
    c = pair(NNHAL_OP_DIV, F32, DIMS(0, 2), DIMS(1, 2), F32);
    op_i32(&c, 0);
    expect_shape(&c, DIMS(0, 2));
    c = pair(NNHAL_OP_SUB, F32, DIMS(3), DIMS(2), F32);
    op_i32(&c, 0);
    expect_refused(&c);
    c = pair(NNHAL_OP_MUL, F32, DIMS(3), DIMS(3), F32);
    op_i32(&c, 4);
    expect_refused(&c);
}
TEST_END

TEST(arithmetic_levels)
{
    static const struct {
        uint32_t operation, type;
        unsigned level;
    } rows[] = {{NNHAL_OP_ADD, F32, 1}, {NNHAL_OP_ADD, F16, 3}, {NNHAL_OP_ADD, Q8, 1},
                {NNHAL_OP_ADD, Q8S, 4}, {NNHAL_OP_ADD, I32, 4}, {NNHAL_OP_SUB, F32, 2},
                {NNHAL_OP_SUB, Q8, 3},  {NNHAL_OP_DIV, F32, 2}, {NNHAL_OP_DIV, I32, 4}};

    for (size_t i = 0; i < NN_N_ELEMENTS(rows); i++) {
        struct one_op c = pair(rows[i].operation, rows[i].type, DIMS(2), DIMS(2), rows[i].type);

        op_i32(&c, 0);
        expect_level(&c, rows[i].level);
    }
    struct one_op c = pair(NNHAL_OP_DIV, Q8, DIMS(2), DIMS(2), Q8);

    op_i32(&c, 0);
    expect_invalid(&c);
}
TEST_END

TEST(arithmetic_checks_ranks_only_when_both_are_known)
{
    struct one_op c = pair(NNHAL_OP_ADD, F32, DIMS(1, 1, 1, 1, 1), DIMS(2), F32);

    op_i32(&c, 0);
    expect_invalid(&c);
    c = pair(NNHAL_OP_ADD, F32, DIMS(1, 1, 1, 1, 1), NO_DIMS, F32);
    op_i32(&c, 0);
    expect_level(&c, 3);
}
TEST_END

/* What validation could not know is judged when the operation is executed. */
TEST(arithmetic_of_nnapi_is_inferred_up_to_rank_4)
{
    static const uint32_t operations[] = {NNHAL_OP_ADD, NNHAL_OP_SUB, NNHAL_OP_MUL, NNHAL_OP_DIV};

    for (size_t i = 0; i < NN_N_ELEMENTS(operations); i++) {
        struct one_op c = pair(operations[i], F32, DIMS(1, 1, 1, 1, 1), DIMS(2), F32);
        struct one_op other = pair(operations[i], F32, DIMS(2), DIMS(1, 1, 1, 1, 1), F32);

        op_i32(&c, 0);
        op_i32(&other, 0);
        expect_refused(&c);
        expect_refused(&other);
        c.is_lite = other.is_lite = true;
        expect_shape(&c, DIMS(1, 1, 1, 1, 2));
        expect_shape(&other, DIMS(1, 1, 1, 1, 2));
    }
    struct one_op c = one_op(NNHAL_OP_DEQUANTIZE);

    op_tensor(&c, Q8, DIMS(1, 1, 1, 1, 2));
    op_output(&c, F32);
    expect_refused(&c);
    c.is_lite = true;
    expect_shape(&c, DIMS(1, 1, 1, 1, 2));
}
TEST_END

TEST(integers_take_no_activation)
{
    struct one_op c = pair(NNHAL_OP_MUL, I32, DIMS(2), DIMS(2), I32);

    op_i32(&c, 1);
    expect_refused(&c);
}
TEST_END

TEST(mul_needs_a_coarser_output)
{
    struct one_op c = pair(NNHAL_OP_MUL, Q8, DIMS(2), DIMS(2), Q8);

    op_i32(&c, 0);
    c.outputs[0].scale = 0.25f;
    expect_invalid(&c);
    c.outputs[0].scale = 0.26f;
    expect_level(&c, 1);
}
TEST_END

TEST(others_broadcast_but_take_nothing_empty)
{
    static const uint32_t operations[] = {NNHAL_OP_MAXIMUM, NNHAL_OP_MINIMUM, NNHAL_OP_POW,
                                          NNHAL_OP_PRELU};

    for (size_t i = 0; i < NN_N_ELEMENTS(operations); i++) {
        struct one_op c = pair(operations[i], F32, DIMS(2, 1, 1, 1, 1, 3), DIMS(4, 1), F32);

        expect_shape(&c, DIMS(2, 1, 1, 1, 4, 3));
        c = pair(operations[i], F32, DIMS(0), DIMS(1), F32);
        expect_refused(&c);
    }
}
TEST_END

TEST(comparisons_and_logic_give_booleans)
{
    struct one_op c = pair(NNHAL_OP_LESS, Q8, DIMS(2, 3), DIMS(3), B8);

    expect_shape(&c, DIMS(2, 3));
    expect_level(&c, 3);
    c = pair(NNHAL_OP_EQUAL, B8, DIMS(0), DIMS(1), B8);
    expect_refused(&c);
    c = pair(NNHAL_OP_LOGICAL_OR, B8, DIMS(2, 1), DIMS(5), B8);
    expect_shape(&c, DIMS(2, 5));
    c = pair(NNHAL_OP_LOGICAL_AND, I32, DIMS(2, 1), DIMS(5), B8);
    expect_invalid(&c);
}
TEST_END

static struct one_op one(uint32_t operation, uint32_t type, uint32_t n, const uint32_t *dims,
                         uint32_t out_type)
{
    struct one_op c = one_op(operation);

    op_tensor(&c, type, n, dims);
    op_output(&c, out_type);
    return c;
}

TEST(functions_keep_the_shape)
{
    struct one_op c = one(NNHAL_OP_EXP, F16, DIMS(1, 2, 3, 4, 5), F16);

    expect_shape(&c, DIMS(1, 2, 3, 4, 5));
    expect_level(&c, 3);
    c = one(NNHAL_OP_FLOOR, F32, DIMS(1, 2, 3, 4, 5), F32);
    expect_invalid(&c);
    c = one(NNHAL_OP_SQRT, F32, DIMS(2, 0), F32);
    expect_refused(&c);
    c = one(NNHAL_OP_RSQRT, Q8, DIMS(2), Q8);
    expect_level(&c, 7);
}
TEST_END

TEST(activations_set_scales)
{
    struct one_op c = one(NNHAL_OP_LOGISTIC, Q8S, DIMS(2, 0), Q8S);

    c.outputs[0].scale = 1.0f / 256;
    c.outputs[0].zero_point = -128;
    c.outputs[0].is_fixed = true;
    expect_shape(&c, DIMS(2, 0));
    c = one(NNHAL_OP_LOGISTIC, Q8, DIMS(2), Q8);
    c.outputs[0].is_fixed = true;
    expect_refused(&c);
    c = one(NNHAL_OP_TANH, Q8, DIMS(2), Q8); /* an internal one takes what is computed */
    expect_shape(&c, DIMS(2));
    ck_assert(c.results[0].scale == 1.0f / 128);
    ck_assert_int_eq(c.results[0].zero_point, 128);
    c = one(NNHAL_OP_TANH, Q8, DIMS(2), Q8);
    c.inputs[0].scale = 0x1p-28f;
    expect_refused(&c);
    c = one(NNHAL_OP_RELU6, Q8, DIMS(2), Q8);
    c.inputs[0].scale = 0.75f;
    expect_shape(&c, DIMS(2));
    ck_assert(c.results[0].scale == 0.75f);
}
TEST_END

/* Their results have one scale: another that is declared is not replaced, but refused. */
TEST(functions_of_sixteen_bits_have_limits)
{
    static const uint32_t operations[] = {NNHAL_OP_LOGISTIC, NNHAL_OP_TANH};

    for (size_t i = 0; i < NN_N_ELEMENTS(operations); i++) {
        struct one_op c = one(operations[i], Z16, DIMS(2, 3), Z16);

        c.outputs[0].scale = 1.0f / 32768;
        expect_shape(&c, DIMS(2, 3));
        c.outputs[0].scale = 1.0f / 32767;
        expect_refused(&c);
        c.outputs[0].scale = 1.0f / 32768;
        c.inputs[0].scale = 5.4f;
        expect_refused(&c);
        c.inputs[0].scale = 1e-14f;
        expect_refused(&c);
    }
    for (int slope = -1; slope <= 1; slope++) {
        struct one_op c = one(NN_TFLITE_OP(LEAKY_RELU), Z16, DIMS(2, 3), Z16);

        op_float(&c, (float)slope);
        if (slope < 0)
            expect_refused(&c);
        else
            expect_shape(&c, DIMS(2, 3));
    }
}
TEST_END

/* nnhal.tflite's keep the scale that is declared. */
TEST(scales_that_are_declared_stay)
{
    struct one_op c;

    for (int32_t code = 0; code <= 4; code++) {
        c = one(NN_TFLITE_OP(RELU), Q8, DIMS(2, 3), Q8);
        op_i32(&c, code);
        c.inputs[0].scale = 0.75f;
        c.outputs[0].scale = 0.125f;
        if (code < 1 || code > 3) {
            expect_refused(&c);
            continue;
        }
        expect_shape(&c, DIMS(2, 3));
        ck_assert(c.results[0].scale == 0.125f);
    }
    c = one(NN_TFLITE_OP(BITCAST), Z16, DIMS(2, 3), Z16);
    c.inputs[0].scale = 0.75f;
    c.outputs[0].scale = 0.125f;
    expect_shape(&c, DIMS(2, 3));
    ck_assert(c.results[0].scale == 0.125f);
}
TEST_END

TEST(hard_swish_and_elu)
{
    struct one_op c = one(NNHAL_OP_HARD_SWISH, Q8, DIMS(3), Q8);

    expect_level(&c, 4);
    expect_shape(&c, DIMS(3));
    c.outputs[0].scale = 0.5f / 256;
    expect_refused(&c);
    c = one(NNHAL_OP_ELU, F32, DIMS(3, 0), F32);
    op_float(&c, 1.0f);
    expect_shape(&c, DIMS(3, 0));
}
TEST_END

TEST(conversions)
{
    struct one_op c = one(NNHAL_OP_DEQUANTIZE, Q8, DIMS(2, 2), F32);

    expect_level(&c, 1);
    c = one(NNHAL_OP_DEQUANTIZE, Q8, DIMS(2, 2), F16);
    expect_level(&c, 3);
    expect_shape(&c, DIMS(2, 2));
    c = one(NNHAL_OP_QUANTIZE, F32, DIMS(2, 2, 1, 1, 1), Q8S);
    expect_shape(&c, DIMS(2, 2, 1, 1, 1));
    c = one(NNHAL_OP_CAST, I32, DIMS(2, 2), F32);
    expect_shape(&c, DIMS(2, 2));
    expect_level(&c, 3);
    op_set_dims(&c.outputs[0], F32, DIMS(2, 3));
    expect_invalid(&c);
    op_set_dims(&c.outputs[0], F32, DIMS(2, 0));
    expect_level(&c, 3);
    c = one(NNHAL_OP_CAST, Q8S, DIMS(2, 2), F32);
    expect_invalid(&c);
    c = one(NNHAL_OP_CAST, Q8S, DIMS(2, 2), Q8S);
    expect_level(&c, 4);
}
TEST_END

CHECK_MAIN("op-elementwise", arithmetic_broadcasts, arithmetic_levels,
           arithmetic_checks_ranks_only_when_both_are_known,
           arithmetic_of_nnapi_is_inferred_up_to_rank_4, integers_take_no_activation,
           mul_needs_a_coarser_output, others_broadcast_but_take_nothing_empty,
           comparisons_and_logic_give_booleans, functions_keep_the_shape, activations_set_scales,
           functions_of_sixteen_bits_have_limits, scales_that_are_declared_stay, hard_swish_and_elu,
           conversions)
