/* SPDX-License-Identifier: Apache-2.0 */
/* GATHER, the lookups, SELECT, TOPK_V2, sampling and resizing. */
#include "model/op-case.h"

#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM

static struct op_case c;

TEST(gather_puts_the_indices_shape_in_the_axis_place)
{
    op_case_init(&c, NNHAL_OP_GATHER);
    IN(&c, F32, 2, 3, 4);
    IN_I32(&c, -2);
    IN(&c, I32, 5, 6);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 5, 6, 4);
    c.numbers[1][0] = 3;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(gather_refuses_ranks_and_empty_tensors)
{
    op_case_init(&c, NNHAL_OP_GATHER);
    IN(&c, F32, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
    IN_I32(&c, 0);
    IN(&c, I32, 1, 1, 1, 1, 1, 1, 1, 1);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_GATHER);
    IN(&c, F32, 2, 3);
    IN_I32(&c, 0);
    IN(&c, I32, 0);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(lookups_give_a_row_for_each_key)
{
    op_case_init(&c, NNHAL_OP_EMBEDDING_LOOKUP);
    IN(&c, I32, 7);
    IN(&c, Q8, 3, 2, 5);
    OUT_DIMS(&c, Q8, 0, 0, 0);
    EXPECT_LEVEL(&c, 3);
    EXPECT_SHAPE(&c, 0, 7, 2, 5);

    op_case_init(&c, NNHAL_OP_HASHTABLE_LOOKUP);
    IN(&c, I32, 7);
    IN(&c, I32, 3);
    IN(&c, F32, 3, 2);
    OUT(&c, F32);
    OUT(&c, Q8);
    EXPECT_SHAPE(&c, 0, 7, 2);
    EXPECT_SHAPE(&c, 1, 7);
    ck_assert(c.infer_outputs[1].scale == 1.0f && c.infer_outputs[1].zero_point == 0);
    c.dims[1][0] = 4;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(outputs_of_the_model_must_have_the_computed_scale)
{
    op_case_init(&c, NNHAL_OP_HASHTABLE_LOOKUP);
    IN(&c, I32, 7);
    IN(&c, I32, 3);
    IN(&c, F32, 3, 2);
    OUT(&c, F32);
    OUT(&c, Q8);
    c.operands[c.outputs[1]].lifetime = NNHAL_SUBGRAPH_OUTPUT;
    EXPECT_REFUSED(&c);
    op_case_quant(&c, 1.0f, 0);
    EXPECT_SHAPE(&c, 1, 7);
}
TEST_END

TEST(lsh_projection_kinds)
{
    op_case_init(&c, NNHAL_OP_LSH_PROJECTION);
    IN(&c, F32, 4, 8);
    IN(&c, I32, 3, 5);
    IN(&c, F32, 3);
    IN_I32(&c, 2);
    OUT(&c, I32);
    EXPECT_SHAPE(&c, 0, 32);
    c.numbers[3][0] = 3;
    EXPECT_SHAPE(&c, 0, 4);
    c.numbers[3][0] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[3][0] = 2;
    c.dims[2][0] = 4;
    EXPECT_REFUSED(&c);
    c.dims[2][0] = 3;
    c.dims[0][1] = 33;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(select_does_not_broadcast)
{
    op_case_init(&c, NNHAL_OP_SELECT);
    IN(&c, NNHAL_TENSOR_BOOL8, 2, 3);
    IN(&c, F32, 2, 3);
    IN(&c, F32, 2, 3);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 3);
    c.dims[2][1] = 1;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(topk_takes_at_most_what_there_is)
{
    op_case_init(&c, NNHAL_OP_TOPK_V2);
    IN(&c, F32, 2, 3);
    IN_I32(&c, 3);
    OUT(&c, F32);
    OUT(&c, I32);
    EXPECT_SHAPE(&c, 1, 2, 3);
    c.numbers[1][0] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(multinomial_needs_samples_and_two_seeds)
{
    op_case_init(&c, NNHAL_OP_RANDOM_MULTINOMIAL);
    IN(&c, F32, 2, 3);
    IN_I32(&c, 10);
    IN(&c, I32, 2);
    OUT(&c, I32);
    EXPECT_SHAPE(&c, 0, 2, 10);
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = 10;
    c.dims[2][0] = 3;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(resize_by_size)
{
    op_case_init(&c, NNHAL_OP_RESIZE_BILINEAR);
    IN(&c, F32, 2, 3, 4, 5);
    IN_I32(&c, 7);
    IN_I32(&c, 9);
    OUT_DIMS(&c, F32, 0, 0, 0, 0);
    EXPECT_LEVEL(&c, 1);
    EXPECT_SHAPE(&c, 0, 2, 9, 7, 5);
    c.dims[0][0] = 0;
    EXPECT_SHAPE(&c, 0, 0, 9, 7, 5);
    c.dims[0][3] = 0;
    EXPECT_REFUSED(&c);
    c.dims[0][3] = 5;
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(resize_by_factor)
{
    op_case_init(&c, NNHAL_OP_RESIZE_NEAREST_NEIGHBOR);
    IN(&c, F32, 2, 5, 3, 4);
    IN_F32(&c, 1.9f);
    IN_F32(&c, 0.67f);
    IN_BOOL(&c, 1);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 5, 2, 7);
    memcpy(c.numbers[1], (float[]){0.2f}, sizeof(float));
    EXPECT_REFUSED(&c);
    memcpy(c.numbers[1], (float[]){__builtin_nanf("")}, sizeof(float));
    EXPECT_REFUSED(&c);
    memcpy(c.numbers[1], (float[]){1e30f}, sizeof(float));
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(resize_flags)
{
    op_case_init(&c, NNHAL_OP_RESIZE_BILINEAR);
    IN(&c, F32, 1, 3, 4, 5);
    IN_I32(&c, 7);
    IN_I32(&c, 9);
    IN_BOOL(&c, 0);
    IN_BOOL(&c, 1);
    IN_BOOL(&c, 0);
    OUT_DIMS(&c, F32, 0, 0, 0, 0);
    EXPECT_LEVEL(&c, 4);
    EXPECT_SHAPE(&c, 0, 1, 9, 7, 5);
    c.numbers[5][0] = 1;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(resize_sizes_have_one_type)
{
    op_case_init(&c, NNHAL_OP_RESIZE_BILINEAR);
    IN(&c, F16, 1, 3, 4, 5);
    IN_I32(&c, 7);
    IN_F32(&c, 2.0f);
    OUT(&c, F16);
    EXPECT_INVALID(&c);

    /* The layout of RESIZE_NEAREST_NEIGHBOR is not optional. */
    op_case_init(&c, NNHAL_OP_RESIZE_NEAREST_NEIGHBOR);
    IN(&c, F32, 1, 3, 4, 5);
    IN_I32(&c, 7);
    IN_I32(&c, 7);
    OUT(&c, F32);
    EXPECT_INVALID(&c);
}
TEST_END

CHECK_MAIN("op-lookup", gather_puts_the_indices_shape_in_the_axis_place,
           gather_refuses_ranks_and_empty_tensors, lookups_give_a_row_for_each_key,
           outputs_of_the_model_must_have_the_computed_scale, lsh_projection_kinds,
           select_does_not_broadcast, topk_takes_at_most_what_there_is,
           multinomial_needs_samples_and_two_seeds, resize_by_size, resize_by_factor, resize_flags,
           resize_sizes_have_one_type)
