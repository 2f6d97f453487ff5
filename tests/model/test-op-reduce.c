/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax, normalizations, reductions, matrix products. */
#include "model/one-op.h"
#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED
#define Z16 NNHAL_TENSOR_QUANT16_SYMM
#define I32 NNHAL_TENSOR_INT32
#define B8  NNHAL_TENSOR_BOOL8

static struct one_op one(uint32_t operation, uint32_t type, uint32_t n, const uint32_t *dims,
                         uint32_t out_type)
{
    struct one_op c = one_op(operation);

    op_tensor(&c, type, n, dims);
    op_output(&c, out_type);
    return c;
}

TEST(softmax_levels_and_scales)
{
    struct one_op c = one(NNHAL_OP_SOFTMAX, F32, DIMS(2, 3), F32);

    op_float(&c, 1.0f);
    expect_level(&c, 1);
    expect_shape(&c, DIMS(2, 3));
    op_set_dims(&c.inputs[0], F32, DIMS(3));
    expect_level(&c, 3);
    op_i32(&c, -2);
    expect_refused(&c);
    c = one(NNHAL_OP_SOFTMAX, F32, DIMS(2, 3), F32);
    op_float(&c, 0.0f);
    expect_refused(&c);
    c = one(NNHAL_OP_SOFTMAX, Q8, DIMS(2, 3), Q8);
    op_float(&c, 1.0f);
    expect_refused(&c); /* scale 1/2, also for an internal result */
    c.outputs[0].scale = 1.0f / 256;
    expect_shape(&c, DIMS(2, 3));
}
TEST_END

TEST(softmax_of_sixteen_bits_has_limits)
{
    struct one_op c = one(NNHAL_OP_SOFTMAX, Z16, DIMS(2, 65536), Z16);

    op_float(&c, 1.0f);
    c.outputs[0].scale = 1.0f / 32767;
    expect_refused(&c);
    c.outputs[0].scale = 1.0f / 32768;
    expect_shape(&c, DIMS(2, 65536));
    c.inputs[0].dims[1]++;
    expect_refused(&c);
}
TEST_END

TEST(log_softmax_needs_an_axis_inside)
{
    struct one_op c = one(NNHAL_OP_LOG_SOFTMAX, F32, DIMS(2, 3, 1, 1, 1), F32);

    op_float(&c, 1.0f);
    op_i32(&c, -5);
    expect_shape(&c, DIMS(2, 3, 1, 1, 1));
    c.inputs[2].value = NULL;
    ck_assert_int_eq(op_infer(&c), NN_INFER_E_UNKNOWN);
}
TEST_END

TEST(l2_normalization_levels_and_scales)
{
    struct one_op c = one(NNHAL_OP_L2_NORMALIZATION, F32, DIMS(1, 2, 3, 4), F32);

    expect_level(&c, 1);
    op_set_dims(&c.inputs[0], F32, DIMS(3));
    expect_level(&c, 3);
    op_set_dims(&c.inputs[0], F32, NO_DIMS);
    expect_level(&c, 3);
    c = one(NNHAL_OP_L2_NORMALIZATION, Q8S, DIMS(2, 3), Q8S);
    op_i32(&c, 1);
    expect_shape(&c, DIMS(2, 3));
    ck_assert(c.results[0].scale == 1.0f / 128);
    ck_assert_int_eq(c.results[0].zero_point, 0);
}
TEST_END

TEST(local_response_needs_a_radius)
{
    struct one_op c = one(NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION, F32, DIMS(1, 2, 3, 4), F32);

    op_i32(&c, 2);
    op_float(&c, 1.0f);
    op_float(&c, 1.0f);
    op_float(&c, 0.5f);
    expect_level(&c, 1);
    expect_shape(&c, DIMS(1, 2, 3, 4));
    c.values[1][0] = -1;
    expect_refused(&c);
}
TEST_END

TEST(instance_normalization_has_rank_4)
{
    struct one_op c = one(NNHAL_OP_INSTANCE_NORMALIZATION, F32, DIMS(2, 3, 4), F32);

    op_float(&c, 1.0f);
    op_float(&c, 0.0f);
    op_float(&c, 0.1f);
    op_bool(&c, false);
    expect_level(&c, 3);
    expect_refused(&c);
}
TEST_END

static struct one_op reduce(uint32_t operation, uint32_t type, int32_t first, int32_t second,
                            bool keeps)
{
    struct one_op c = one(operation, type, DIMS(2, 3, 4), type);

    OP_LIST(&c, first, second);
    op_bool(&c, keeps);
    return c;
}

TEST(reductions_drop_or_keep_dimensions)
{
    struct one_op c = reduce(NNHAL_OP_REDUCE_SUM, F32, 0, -1, false);

    expect_shape(&c, DIMS(3));
    c = reduce(NNHAL_OP_REDUCE_SUM, F32, 0, -1, true);
    expect_shape(&c, DIMS(1, 3, 1));
    c = reduce(NNHAL_OP_REDUCE_ALL, B8, 1, -2, false); /* one axis, named twice */
    expect_shape(&c, DIMS(2, 4));
    c = reduce(NNHAL_OP_REDUCE_MAX, Q8, 0, 3, false);
    expect_refused(&c);
    c = one(NNHAL_OP_REDUCE_MIN, F32, DIMS(3), F32);
    OP_LIST(&c, 0);
    op_bool(&c, false);
    expect_shape(&c, DIMS(1));
    c.inputs[1].value = NULL;
    ck_assert_int_eq(op_infer(&c), NN_INFER_E_UNKNOWN);
}
TEST_END

TEST(mean_keeps_scales_and_refuses_no_axes)
{
    struct one_op c = one(NNHAL_OP_MEAN, Q8, DIMS(2, 3), Q8);

    c.inputs[0].scale = 0.75f;
    OP_LIST(&c, 1);
    op_i32(&c, 2);
    expect_shape(&c, DIMS(2, 1));
    ck_assert(c.results[0].scale == 0.75f);
    c.inputs[1].dims[0] = 0;
    expect_refused(&c);
}
TEST_END

TEST(arg_drops_its_axis)
{
    struct one_op c = one(NNHAL_OP_ARGMAX, Q8S, DIMS(2, 3, 4), I32);

    op_i32(&c, -2);
    expect_shape(&c, DIMS(2, 4));
    expect_level(&c, 4);
    c = one(NNHAL_OP_ARGMIN, F32, DIMS(3), I32);
    op_i32(&c, 0);
    expect_shape(&c, DIMS(1));
    c.values[1][0] = 1;
    expect_refused(&c);
}
TEST_END

static struct one_op fully_connected(uint32_t n, const uint32_t *dims, uint32_t units,
                                     uint32_t depth)
{
    struct one_op c = one(NNHAL_OP_FULLY_CONNECTED, F32, n, dims, F32);

    op_tensor(&c, F32, DIMS(units, depth));
    op_tensor(&c, F32, DIMS(units));
    op_i32(&c, 0);
    return c;
}

TEST(fully_connected_flattens)
{
    struct one_op c = fully_connected(DIMS(4, 1, 5, 1), 3, 10);

    expect_level(&c, 1);
    expect_shape(&c, DIMS(2, 3));
    c = fully_connected(DIMS(0, 5), 3, 5);
    expect_shape(&c, DIMS(0, 3));
    c = fully_connected(DIMS(4, 5), 3, 7);
    expect_invalid(&c);
    expect_refused(&c);
    c = fully_connected(DIMS(5), 3, 5);
    expect_invalid(&c);
    op_set_dims(&c.inputs[1], F32, NO_DIMS); /* ranks are judged together */
    expect_level(&c, 3);
}
TEST_END

static struct one_op matmul(uint32_t n_a, const uint32_t *a, uint32_t n_b, const uint32_t *b,
                            bool adjoint_a, bool adjoint_b)
{
    struct one_op c = one(NNHAL_OP_BATCH_MATMUL, F32, n_a, a, F32);

    op_tensor(&c, F32, n_b, b);
    op_bool(&c, adjoint_a);
    op_bool(&c, adjoint_b);
    return c;
}

TEST(matmul_shapes)
{
    struct one_op c = matmul(DIMS(2, 3, 4), DIMS(2, 4, 5), false, false);

    expect_level(&c, 6);
    expect_shape(&c, DIMS(2, 3, 5));
    c = matmul(DIMS(2, 4, 3), DIMS(2, 5, 4), true, true);
    expect_shape(&c, DIMS(2, 3, 5));
    c = matmul(DIMS(2, 3, 4), DIMS(2, 5, 4), false, false);
    expect_refused(&c);
    c = matmul(DIMS(2, 3, 4), DIMS(1, 4, 5), false, false);
    expect_refused(&c);
    c = matmul(DIMS(4), DIMS(4), false, false);
    expect_refused(&c);
}
TEST_END

CHECK_MAIN("op-reduce", softmax_levels_and_scales, softmax_of_sixteen_bits_has_limits,
           log_softmax_needs_an_axis_inside, l2_normalization_levels_and_scales,
           local_response_needs_a_radius, instance_normalization_has_rank_4,
           reductions_drop_or_keep_dimensions, mean_keeps_scales_and_refuses_no_axes,
           arg_drops_its_axis, fully_connected_flattens, matmul_shapes)
