/* SPDX-License-Identifier: Apache-2.0 */
#include "model/op-case.h"

#include "support/check-main.h"

#define F32 NNHAL_TENSOR_FLOAT32
#define I32 NNHAL_TENSOR_INT32
#define Q8  NNHAL_TENSOR_QUANT8_ASYMM

static struct op_case c;

TEST(pad_adds_margins)
{
    op_case_init(&c, NNHAL_OP_PAD);
    IN(&c, F32, 2, 3);
    IN_PAIRS(&c, 1, 2, 0, 4);
    OUT_DIMS(&c, F32, 0, 0);
    EXPECT_LEVEL(&c, 2);
    EXPECT_SHAPE(&c, 0, 5, 7);
    c.numbers[1][0] = -1;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = INT32_MAX;
    c.numbers[1][1] = INT32_MAX;
    c.dims[0][0] = 100;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(pad_refuses_shapes_of_paddings)
{
    op_case_init(&c, NNHAL_OP_PAD);
    IN(&c, F32, 2, 3);
    IN_PAIRS(&c, 1, 2);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_PAD);
    IN(&c, F32, 2);
    IN_I32S(&c, 1, 2);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_PAD);
    IN(&c, F32, 0, 3);
    IN_PAIRS(&c, 1, 2, 0, 0);
    OUT(&c, F32);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(pad_of_a_zero_point_needs_level_3)
{
    op_case_init(&c, NNHAL_OP_PAD);
    IN(&c, Q8, 2);
    op_case_quant(&c, 0.5f, 0);
    IN_PAIRS(&c, 1, 2);
    OUT_DIMS(&c, Q8, 5);
    EXPECT_LEVEL(&c, 2);
    c.operands[0].zero_point = 1;
    EXPECT_LEVEL(&c, 3);
}
TEST_END

TEST(mirror_pad_has_bounds)
{
    op_case_init(&c, NNHAL_OP_MIRROR_PAD);
    IN(&c, F32, 3);
    IN_PAIRS(&c, 2, 2);
    IN_I32(&c, 0);
    OUT(&c, F32);
    EXPECT_LEVEL(&c, 7);
    EXPECT_SHAPE(&c, 0, 7);
    c.numbers[1][0] = 3;
    EXPECT_REFUSED(&c);
    c.numbers[2][0] = 1;
    EXPECT_SHAPE(&c, 0, 8);
    c.numbers[1][1] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[1][1] = 0;
    c.numbers[2][0] = 2;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(mirror_pad_is_checked_when_added)
{
    op_case_init(&c, NNHAL_OP_MIRROR_PAD);
    IN(&c, F32, 3);
    IN(&c, I32, 2, 2);
    IN_I32(&c, 0);
    OUT(&c, F32);
    EXPECT_INVALID(&c);

    op_case_init(&c, NNHAL_OP_MIRROR_PAD);
    IN(&c, F32, 3);
    IN(&c, I32, 1, 3);
    IN_I32(&c, 0);
    OUT(&c, F32);
    EXPECT_INVALID(&c);

    op_case_init(&c, NNHAL_OP_MIRROR_PAD);
    IN(&c, F32, 3);
    IN(&c, I32, 1, 2);
    IN_I32(&c, 0);
    OUT_DIMS(&c, F32, 0, 0);
    EXPECT_INVALID(&c);
}
TEST_END

TEST(slice_takes_a_part)
{
    op_case_init(&c, NNHAL_OP_SLICE);
    IN(&c, F32, 4, 5);
    IN_I32S(&c, 1, 2);
    IN_I32S(&c, 2, -1);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 3);
    c.numbers[2][0] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = 4;
    c.numbers[2][0] = 0;
    EXPECT_SHAPE(&c, 0, 0, 3);
    c.numbers[1][0] = 5;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = INT32_MIN;
    c.numbers[2][0] = -1;
    EXPECT_REFUSED(&c);
}
TEST_END

/* One dimension of 4: begin, end, stride, and masks; how many elements come out. */
static void strided(int32_t begin, int32_t end, int32_t stride, int32_t begin_mask,
                    int32_t end_mask, int32_t shrink)
{
    op_case_init(&c, NNHAL_OP_STRIDED_SLICE);
    IN(&c, F32, 4);
    IN_I32S(&c, begin);
    IN_I32S(&c, end);
    IN_I32S(&c, stride);
    IN_I32(&c, begin_mask);
    IN_I32(&c, end_mask);
    IN_I32(&c, shrink);
    OUT(&c, F32);
}

TEST(strided_slice_counts)
{
    static const int32_t cases[][6] = {
        /* begin, end, stride, begin mask, end mask; elements */
        {0, 4, 1, 0, 0, 4},         {1, 3, 1, 0, 0, 2},          {0, 4, 3, 0, 0, 2},
        {-3, -1, 1, 0, 0, 2},       {-9, 9, 1, 0, 0, 4},         {3, 0, -1, 0, 0, 3},
        {3, 0, -1, 0, 1, 4},        {9, -9, -1, 0, 0, 4},        {2, 1, 1, 0, 0, 0},
        {1, 3, 1, 1, 1, 4},         {-1, 0, -1, 0, 1, 4},        {0, 1, 100, 0, 1, 1},
        {0, 4, INT32_MAX, 0, 0, 1}, {3, -5, INT32_MIN, 0, 0, 1}, {INT32_MIN, INT32_MAX, 1, 0, 0, 4},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int32_t *s = cases[i];

        strided(s[0], s[1], s[2], s[3], s[4], 0);
        EXPECT_SHAPE(&c, 0, (uint32_t)s[5]);
    }
}
TEST_END

TEST(strided_slice_refuses)
{
    strided(0, 4, 0, 0, 0, 0);
    EXPECT_REFUSED(&c);
    /* A dropped dimension has one element, forwards. */
    strided(1, 2, 1, 0, 0, 1);
    EXPECT_SHAPE(&c, 0, 1);
    strided(1, 3, 1, 0, 0, 1);
    EXPECT_REFUSED(&c);
    strided(1, 0, -1, 0, 0, 1);
    EXPECT_REFUSED(&c);
    strided(-1, 0, 1, 0, 0, 1);
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(tile_multiplies)
{
    op_case_init(&c, NNHAL_OP_TILE);
    IN(&c, F32, 2, 3);
    IN_I32S(&c, 1, 2);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 6);
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = INT32_MAX;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(reverse_names_one_axis)
{
    op_case_init(&c, NNHAL_OP_REVERSE);
    IN(&c, F32, 2, 3);
    IN_I32S(&c, 1);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 3);
    c.numbers[1][0] = -1;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = 2;
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_REVERSE);
    IN(&c, F32, 2, 3);
    IN_I32S(&c, 1, 0);
    OUT(&c, F32);
    EXPECT_INVALID(&c);
}
TEST_END

TEST(channel_shuffle_needs_whole_groups)
{
    op_case_init(&c, NNHAL_OP_CHANNEL_SHUFFLE);
    IN(&c, F32, 2, 6);
    IN_I32(&c, 3);
    IN_I32(&c, -1);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 6);
    c.numbers[1][0] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(depth_and_space)
{
    op_case_init(&c, NNHAL_OP_DEPTH_TO_SPACE);
    IN(&c, F32, 1, 2, 3, 8);
    IN_I32(&c, 2);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 1, 4, 6, 2);
    c.numbers[1][0] = 3;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = INT32_MAX;
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_SPACE_TO_DEPTH);
    IN(&c, F32, 1, 3, 4, 6);
    IN_I32(&c, 2);
    IN_BOOL(&c, 1);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 1, 12, 2, 3);
    c.numbers[2][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(batch_and_space)
{
    op_case_init(&c, NNHAL_OP_BATCH_TO_SPACE_ND);
    IN(&c, F32, 6, 2, 3, 1);
    IN_I32S(&c, 3, 2);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 1, 6, 6, 1);
    c.numbers[1][0] = 4;
    EXPECT_REFUSED(&c);
    c.numbers[1][0] = 0;
    EXPECT_REFUSED(&c);

    op_case_init(&c, NNHAL_OP_SPACE_TO_BATCH_ND);
    IN(&c, F32, 1, 5, 2, 1);
    IN_I32S(&c, 3, 2);
    IN_PAIRS(&c, 1, 0, 2, 2);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 6, 2, 3, 1);
    c.numbers[2][0] = 0;
    EXPECT_REFUSED(&c);
    c.numbers[2][0] = -2;
    EXPECT_REFUSED(&c);
}
TEST_END

CHECK_MAIN("op-move", pad_adds_margins, pad_refuses_shapes_of_paddings,
           pad_of_a_zero_point_needs_level_3, mirror_pad_has_bounds,
           mirror_pad_is_checked_when_added, slice_takes_a_part, strided_slice_counts,
           strided_slice_refuses, tile_multiplies, reverse_names_one_axis,
           channel_shuffle_needs_whole_groups, depth_and_space, batch_and_space)
