/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and convolutions: forms, shapes, refusals. */
#include "model/window.h"

#include "model/one-op.h"
#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define QPC NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL
#define I32 NNHAL_TENSOR_INT32

static struct one_op pool(uint32_t n, const uint32_t *dims)
{
    struct one_op c = one_op(NNHAL_OP_MAX_POOL_2D);

    op_tensor(&c, F32, n, dims);
    op_output(&c, F32);
    return c;
}

TEST(pool_forms_and_layouts)
{
    struct one_op c = pool(DIMS(2, 5, 7, 3));

    OP_I32S(&c, 1, 2, 1, 2, 3, 0); /* SAME, stride 2 wide 1 high, filter 2 wide 3 high */
    expect_shape(&c, DIMS(2, 5, 4, 3));
    c = pool(DIMS(2, 5, 7, 3));
    OP_I32S(&c, 2, 2, 1, 2, 3, 0);
    expect_shape(&c, DIMS(2, 3, 3, 3));
    op_bool(&c, true); /* now [2, 5 channels, 7 high, 3 wide] */
    expect_shape(&c, DIMS(2, 5, 5, 1));
    c = pool(DIMS(2, 5, 7, 3));
    OP_I32S(&c, 1, 0, 2, 1, 2, 1, 2, 3, 0); /* left, right, top, bottom, strides, filter */
    expect_shape(&c, DIMS(2, 6, 4, 3));
}
TEST_END

TEST(pool_takes_an_empty_batch_only)
{
    struct one_op c = pool(DIMS(0, 4, 4, 1));

    OP_I32S(&c, 1, 1, 1, 2, 2, 0);
    expect_shape(&c, DIMS(0, 4, 4, 1));
    c = pool(DIMS(1, 4, 0, 1));
    OP_I32S(&c, 1, 1, 1, 2, 2, 0);
    expect_refused(&c);
}
TEST_END

TEST(pool_refuses_bad_windows)
{
    static const int32_t bad[][6] = {
        {1, 0, 1, 2, 2, 0},  /* stride 0 */
        {1, 1, 1, 0, 2, 0},  /* filter 0 */
        {1, 1, 1, 2, -2, 0}, /* filter below 0 */
        {1, 1, 1, 2, 2, 4},  /* activation */
        {2, 1, 1, 5, 2, 0},  /* filter wider than the image */
    };

    for (size_t i = 0; i < NN_N_ELEMENTS(bad); i++) {
        struct one_op c = pool(DIMS(1, 4, 4, 1));

        op_i32s(&c, bad[i], 6);
        expect_refused(&c);
    }
    struct one_op c = pool(DIMS(1, 4, 4, 1));

    OP_I32S(&c, 2, 0, 0, 0, 1, 1, 2, 2, 0); /* padding as large as the filter */
    expect_refused(&c);
    c = pool(DIMS(4, 4, 1));
    OP_I32S(&c, 1, 1, 1, 2, 2, 0);
    expect_refused(&c);
}
TEST_END

static struct one_op conv(uint32_t operation, uint32_t n, const uint32_t *filter, uint32_t bias)
{
    struct one_op c = one_op(operation);

    op_tensor(&c, F32, DIMS(1, 9, 8, 4));
    op_tensor(&c, F32, n, filter);
    op_tensor(&c, F32, DIMS(bias));
    op_output(&c, F32);
    return c;
}

TEST(conv_forms)
{
    struct one_op c = conv(NNHAL_OP_CONV_2D, DIMS(6, 3, 2, 4), 6);

    OP_I32S(&c, 2, 1, 2, 0);
    expect_shape(&c, DIMS(1, 4, 7, 6));
    expect_level(&c, 1);
    op_bool(&c, false);
    expect_shape(&c, DIMS(1, 4, 7, 6));
    OP_I32S(&c, 3, 2); /* dilation 3 wide, 2 high */
    expect_shape(&c, DIMS(1, 3, 5, 6));
    expect_level(&c, 3);
    c = conv(NNHAL_OP_CONV_2D, DIMS(6, 3, 2, 4), 6);
    OP_I32S(&c, 1, 1, 2, 0, 1, 1, 0);
    expect_shape(&c, DIMS(1, 9, 9, 6));
    op_bool(&c, false);
    OP_I32S(&c, 3, 2);
    expect_shape(&c, DIMS(1, 7, 7, 6));
}
TEST_END

TEST(conv_refuses_what_does_not_fit)
{
    struct one_op c = conv(NNHAL_OP_CONV_2D, DIMS(6, 3, 2, 5), 6); /* depth */

    OP_I32S(&c, 2, 1, 1, 0);
    expect_refused(&c);
    c = conv(NNHAL_OP_CONV_2D, DIMS(6, 3, 2, 4), 5); /* bias */
    OP_I32S(&c, 2, 1, 1, 0);
    expect_refused(&c);
    c = conv(NNHAL_OP_CONV_2D, DIMS(6, 3, 2, 4), 6); /* dilation 0 */
    OP_I32S(&c, 2, 1, 1, 0);
    op_bool(&c, false);
    OP_I32S(&c, 0, 1);
    expect_refused(&c);
    c = conv(NNHAL_OP_CONV_2D, DIMS(6, 3, 2, 4), 6); /* an unknown stride */
    OP_I32S(&c, 2, 1, 1, 0);
    c.inputs[4].value = NULL;
    ck_assert_int_eq(op_infer(&c), NN_INFER_E_UNKNOWN);
}
TEST_END

TEST(depthwise_counts_channels)
{
    struct one_op c = conv(NNHAL_OP_DEPTHWISE_CONV_2D, DIMS(1, 3, 3, 8), 8);

    OP_I32S(&c, 1, 2, 2, 2, 0);
    expect_shape(&c, DIMS(1, 5, 4, 8));
    c = conv(NNHAL_OP_DEPTHWISE_CONV_2D, DIMS(2, 3, 3, 8), 8);
    OP_I32S(&c, 1, 2, 2, 2, 0);
    expect_refused(&c);
    c = conv(NNHAL_OP_DEPTHWISE_CONV_2D, DIMS(1, 3, 3, 8), 8);
    OP_I32S(&c, 1, 2, 2, 3, 0);
    expect_refused(&c);
    c = conv(NNHAL_OP_DEPTHWISE_CONV_2D, DIMS(1, 3, 3, 8), 8);
    OP_I32S(&c, 0, 0, 0, 0, 2, 2, 2, 0);
    expect_shape(&c, DIMS(1, 4, 3, 8));
}
TEST_END

TEST(grouped_conv_divides_channels)
{
    struct one_op c = conv(NNHAL_OP_GROUPED_CONV_2D, DIMS(6, 3, 3, 2), 6);

    OP_I32S(&c, 1, 1, 1, 2, 0);
    op_bool(&c, false);
    expect_shape(&c, DIMS(1, 9, 8, 6));
    c.n_inputs--; /* without a layout, as one client has it */
    expect_shape(&c, DIMS(1, 9, 8, 6));
    c = conv(NNHAL_OP_GROUPED_CONV_2D, DIMS(5, 3, 3, 2), 5);
    OP_I32S(&c, 1, 1, 1, 2, 0);
    op_bool(&c, false);
    expect_refused(&c);
    c = conv(NNHAL_OP_GROUPED_CONV_2D, DIMS(6, 3, 3, 2), 6);
    OP_I32S(&c, 0, 0, 0, 0, 1, 1, 0, 0); /* no groups */
    op_bool(&c, false);
    expect_refused(&c);
}
TEST_END

TEST(transpose_conv_asks_for_a_shape)
{
    static const int32_t same[] = {1, 18, 16, 6}, other[] = {1, 19, 16, 6};
    struct one_op c = conv(NNHAL_OP_TRANSPOSE_CONV_2D, DIMS(6, 3, 3, 4), 6);

    op_list(&c, same, 4);
    OP_I32S(&c, 1, 2, 2, 0);
    op_bool(&c, false);
    expect_shape(&c, DIMS(1, 18, 16, 6));
    c = conv(NNHAL_OP_TRANSPOSE_CONV_2D, DIMS(6, 3, 3, 4), 6);
    op_list(&c, other, 4);
    OP_I32S(&c, 2, 2, 2, 0);
    op_bool(&c, false);
    expect_refused(&c);
    c = conv(NNHAL_OP_TRANSPOSE_CONV_2D, DIMS(6, 3, 3, 4), 6);
    OP_I32S(&c, 1, 0, 1, -1, 2, 2, 0); /* bottom may be negative */
    op_bool(&c, false);
    expect_shape(&c, DIMS(1, 19, 16, 6));
}
TEST_END

static struct one_op quantized_conv(float out_scale)
{
    struct one_op c = one_op(NNHAL_OP_CONV_2D);

    op_tensor(&c, Q8, DIMS(1, 9, 8, 4))->scale = 0.5f;
    op_tensor(&c, Q8, DIMS(6, 3, 2, 4))->scale = 0.25f;
    op_tensor(&c, I32, DIMS(6))->scale = 0.125f;
    OP_I32S(&c, 2, 1, 1, 0);
    op_output(&c, Q8)->scale = out_scale;
    return c;
}

TEST(scales_decide_level_and_refusal)
{
    struct one_op c = quantized_conv(0.126f);

    expect_level(&c, 1);
    c = quantized_conv(0.125f);
    expect_level(&c, 3);
    c.inputs[2].scale = 0.125001f;
    expect_refused(&c);
}
TEST_END

TEST(per_channel_filters_have_one_channel_dimension)
{
    static const float scales[] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
    struct one_op c = quantized_conv(0.5f);

    c.inputs[1].type = QPC;
    c.inputs[1].scale = 0.0f;
    c.inputs[2].scale = 0.0f;
    c.channel_quant = (struct nnhal_channel_quant){0, 6, scales};
    c.inputs[1].channel_quant = &c.channel_quant;
    expect_level(&c, 3);
    expect_shape(&c, DIMS(1, 7, 7, 6));
    c.channel_quant.channel_dim = 3;
    expect_invalid(&c);
}
TEST_END

CHECK_MAIN("op-window", pool_forms_and_layouts, pool_takes_an_empty_batch_only,
           pool_refuses_bad_windows, conv_forms, conv_refuses_what_does_not_fit,
           depthwise_counts_channels, grouped_conv_divides_channels,
           transpose_conv_asks_for_a_shape, scales_decide_level_and_refusal,
           per_channel_filters_have_one_channel_dimension)
