/* SPDX-License-Identifier: Apache-2.0 */
#include "model/op-case.h"

#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM
#define Q8S NNHAL_TENSOR_QUANT8_ASYMM_SIGNED

static struct op_case c;

static void reshape_to(const int32_t *shape, uint32_t n)
{
    op_case_init(&c, NNHAL_OP_RESHAPE);
    IN(&c, F32, 2, 3, 4);
    op_case_words(&c, I32, 1, (uint32_t[]){n}, n, shape);
    OUT(&c, F32);
}

TEST(reshape_fills_in_one_dimension)
{
    reshape_to((int32_t[]){4, -1}, 2);
    EXPECT_SHAPE(&c, 0, 4, 6);
    reshape_to((int32_t[]){24}, 1);
    EXPECT_SHAPE(&c, 0, 24);
    reshape_to((int32_t[]){1, 2, 3, 2, 2}, 5);
    EXPECT_SHAPE(&c, 0, 1, 2, 3, 2, 2);
}
TEST_END

TEST(reshape_takes_a_shape_of_any_rank)
{
    op_case_init(&c, NNHAL_OP_RESHAPE);
    IN(&c, F32, 2, 3, 4);
    op_case_words(&c, I32, 2, (uint32_t[]){1, 2}, 2, (int32_t[]){4, -1});
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 4, 6);
}
TEST_END

TEST(reshape_refuses_what_does_not_fit)
{
    static const int32_t wrong[][3] = {{5, 5, 1},
                                       {-1, -1, 4},
                                       {5, -1, 1},
                                       {0, -1, 1},
                                       {-2, 12, 1},
                                       {0, 0, 0},
                                       {INT32_MAX, INT32_MAX, INT32_MAX}};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        reshape_to(wrong[i], 3);
        EXPECT_REFUSED(&c);
    }
}
TEST_END

TEST(reshape_waits_for_the_shape)
{
    op_case_init(&c, NNHAL_OP_RESHAPE);
    IN(&c, F32, 2, 3);
    IN(&c, I32, 2);
    OUT(&c, F32);
    ck_assert_int_eq(op_case_infer(&c), NN_INFER_E_UNKNOWN);
}
TEST_END

TEST(reshape_of_integers_needs_level_6)
{
    op_case_init(&c, NNHAL_OP_RESHAPE);
    IN(&c, I32, 2, 3);
    IN_I32S(&c, 6);
    OUT(&c, I32);
    EXPECT_LEVEL(&c, 6);
}
TEST_END

TEST(squeeze_drops_ones)
{
    op_case_init(&c, NNHAL_OP_SQUEEZE);
    IN(&c, F32, 1, 3, 1, 2);
    op_case_omit(&c, I32);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 3, 2);

    op_case_init(&c, NNHAL_OP_SQUEEZE);
    IN(&c, F32, 1, 3, 1, 2);
    IN_I32S(&c, -2, 2);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 1, 3, 2);

    op_case_init(&c, NNHAL_OP_SQUEEZE);
    IN(&c, F32, 1, 1);
    op_case_omit(&c, I32);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 1);
}
TEST_END

TEST(squeeze_refuses_other_dimensions)
{
    op_case_init(&c, NNHAL_OP_SQUEEZE);
    IN(&c, F32, 1, 3);
    IN_I32S(&c, 1);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_SQUEEZE);
    IN(&c, F32, 1, 3);
    IN_I32S(&c, 2);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(expand_dims_inserts_a_one)
{
    static const int32_t axes[] = {0, 1, 2, -1, -3};
    static const uint32_t shapes[][3] = {{1, 4, 5}, {4, 1, 5}, {4, 5, 1}, {4, 5, 1}, {1, 4, 5}};

    for (size_t i = 0; i < 5; i++) {
        op_case_init(&c, NNHAL_OP_EXPAND_DIMS);
        IN(&c, F32, 4, 5);
        IN_I32(&c, axes[i]);
        OUT(&c, F32);
        op_case_expect_shape(&c, 0, 3, shapes[i]);
    }
    op_case_init(&c, NNHAL_OP_EXPAND_DIMS);
    IN(&c, F32, 4, 5);
    IN_I32(&c, 3);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(transpose_permutes)
{
    op_case_init(&c, NNHAL_OP_TRANSPOSE);
    IN(&c, F32, 2, 3, 4);
    IN_I32S(&c, 2, 0, 1);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 4, 2, 3);

    op_case_init(&c, NNHAL_OP_TRANSPOSE);
    IN(&c, F32, 2, 3, 4);
    op_case_omit(&c, I32);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 4, 3, 2);

    op_case_init(&c, NNHAL_OP_TRANSPOSE);
    IN(&c, F32, 2, 0);
    IN_I32S(&c, 1, 0);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 0, 2);
}
TEST_END

TEST(transpose_refuses_what_is_no_permutation)
{
    static const int32_t wrong[][3] = {{0, 1, 1}, {0, 1, 3}, {0, 1, -1}};

    for (size_t i = 0; i < 3; i++) {
        op_case_init(&c, NNHAL_OP_TRANSPOSE);
        IN(&c, F32, 2, 3, 4);
        op_case_words(&c, I32, 1, (uint32_t[]){3}, 3, wrong[i]);
        OUT(&c, F32);
        EXPECT_REFUSED(&c);
    }
    op_case_init(&c, NNHAL_OP_TRANSPOSE);
    IN(&c, F32, 2, 3, 4);
    IN_I32S(&c, 1, 0);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(concatenation_adds_up_the_axis)
{
    op_case_init(&c, NNHAL_OP_CONCATENATION);
    IN(&c, F32, 2, 3);
    IN(&c, F32, 2, 5);
    IN(&c, F32, 2, 0);
    IN_I32(&c, 1);
    OUT_DIMS(&c, F32, 0, 0);
    EXPECT_LEVEL(&c, 1);
    EXPECT_SHAPE(&c, 0, 2, 8);
}
TEST_END

TEST(concatenation_refuses_axis_and_shapes)
{
    static const int32_t wrong[] = {0, 2, -1};

    for (size_t i = 0; i < 3; i++) {
        op_case_init(&c, NNHAL_OP_CONCATENATION);
        IN(&c, F32, 2, 3);
        IN(&c, F32, 2, 5);
        IN_I32(&c, wrong[i]);
        OUT(&c, F32);
        EXPECT_REFUSED(&c);
    }
    op_case_init(&c, NNHAL_OP_CONCATENATION);
    IN(&c, F32, 1, 1, 1, 1, 1);
    IN_I32(&c, 0);
    OUT(&c, F32);
    EXPECT_INVALID(&c);
}
TEST_END

TEST(concatenation_of_different_scales_needs_level_3)
{
    op_case_init(&c, NNHAL_OP_CONCATENATION);
    IN(&c, Q8, 2);
    IN(&c, Q8, 2);
    IN_I32(&c, 0);
    OUT_DIMS(&c, Q8, 4);
    EXPECT_LEVEL(&c, 1);
    c.operands[1].zero_point = 11;
    EXPECT_LEVEL(&c, 3);
}
TEST_END

TEST(pack_inserts_the_axis)
{
    op_case_init(&c, NNHAL_OP_PACK);
    IN_I32(&c, 1);
    IN(&c, F32, 2, 3);
    IN(&c, F32, 2, 3);
    OUT(&c, F32);
    EXPECT_LEVEL(&c, 6);
    EXPECT_SHAPE(&c, 0, 2, 2, 3);
}
TEST_END

TEST(pack_refuses)
{
    op_case_init(&c, NNHAL_OP_PACK);
    IN_I32(&c, 1);
    IN(&c, F32, 2, 3);
    IN(&c, F32, 3, 2);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_PACK);
    IN_I32(&c, -1);
    IN(&c, F32, 2, 3);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);

    /* When it is added: ranks, and scales. */
    op_case_init(&c, NNHAL_OP_PACK);
    IN_I32(&c, 1);
    IN(&c, F32, 2, 3);
    OUT_DIMS(&c, F32, 1, 2);
    EXPECT_INVALID(&c);

    op_case_init(&c, NNHAL_OP_PACK);
    IN_I32(&c, 1);
    IN(&c, Q8, 2, 3);
    op_case_quant(&c, 0.25f, 10);
    OUT(&c, Q8);
    EXPECT_INVALID(&c);
}
TEST_END

TEST(split_divides)
{
    op_case_init(&c, NNHAL_OP_SPLIT);
    IN(&c, Q8S, 4, 6);
    IN_I32(&c, -1);
    IN_I32(&c, 3);
    OUT(&c, Q8S);
    OUT(&c, Q8S);
    OUT(&c, Q8S);
    EXPECT_SHAPE(&c, 2, 4, 2);
    c.numbers[2][0] = 2;
    EXPECT_REFUSED(&c);
    c.numbers[2][0] = 3;
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(rank_and_fill)
{
    op_case_init(&c, NNHAL_OP_RANK);
    IN(&c, Q8, 2, 3);
    OUT(&c, NNHAL_INT32);
    ck_assert_int_eq(op_case_infer(&c), 0);
    ck_assert_uint_eq(c.infer_outputs[0].n_dims, 0);

    op_case_init(&c, NNHAL_OP_FILL);
    IN_I32S(&c, 2, 0, 5);
    IN_F32(&c, 1.0f);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 0, 5);
    c.numbers[0][1] = -1;
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_FILL);
    IN_I32S(&c, 2);
    IN_F32(&c, 1.0f);
    OUT(&c, I32);
    EXPECT_INVALID(&c);
}
TEST_END

TEST(outputs_that_are_too_large_are_refused)
{
    op_case_init(&c, NNHAL_OP_FILL);
    IN_I32S(&c, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX);
    IN_F32(&c, 1.0f);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);
}
TEST_END

CHECK_MAIN("op-shape", reshape_fills_in_one_dimension, reshape_takes_a_shape_of_any_rank,
           reshape_refuses_what_does_not_fit, reshape_waits_for_the_shape,
           reshape_of_integers_needs_level_6, squeeze_drops_ones, squeeze_refuses_other_dimensions,
           expand_dims_inserts_a_one, transpose_permutes, transpose_refuses_what_is_no_permutation,
           concatenation_adds_up_the_axis, concatenation_refuses_axis_and_shapes,
           concatenation_of_different_scales_needs_level_3, pack_inserts_the_axis, pack_refuses,
           split_divides, rank_and_fill, outputs_that_are_too_large_are_refused)
