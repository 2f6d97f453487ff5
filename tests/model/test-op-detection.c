/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes and regions: families detection and roi. */
#include "model/op-case.h"

#include "support/check-main.h"

#define F32  NNHAL_TENSOR_FLOAT32
#define I32  NNHAL_TENSOR_INT32
#define Q8   NNHAL_TENSOR_QUANT8_ASYMM
#define Q16A NNHAL_TENSOR_QUANT16_ASYMM

static struct op_case c;

/* Refused with dimension d of input i one larger, if there are that many inputs of tensors. */
static void expect_each_refused(void (*make)(void), uint32_t n_tensors)
{
    for (uint32_t i = 0; i < n_tensors; i++)
        for (uint32_t d = 0; d < 2; d++) {
            make();
            if (d >= c.operands[c.inputs[i]].n_dimensions)
                continue;
            c.dims[c.inputs[i]][d]++;
            EXPECT_REFUSED(&c);
        }
}

static void bbox_transform(void)
{
    op_case_init(&c, NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM);
    IN(&c, F32, 5, 4);
    IN(&c, F32, 5, 8);
    IN(&c, I32, 5);
    IN(&c, F32, 2, 2);
    OUT(&c, F32);
}

TEST(bbox_transform_shapes)
{
    bbox_transform();
    EXPECT_SHAPE(&c, 0, 5, 8);
    c.dims[0][0] = c.dims[1][0] = c.dims[2][0] = 0;
    EXPECT_SHAPE(&c, 0, 0, 8);
    expect_each_refused(bbox_transform, 3);
    bbox_transform();
    c.dims[3][1] = 3;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(boxes_are_in_eighths)
{
    op_case_init(&c, NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM);
    IN(&c, Q16A, 5, 4);
    op_case_quant(&c, 0.125f, 0);
    IN(&c, Q8, 5, 8);
    IN(&c, I32, 5);
    IN(&c, Q16A, 2, 2);
    op_case_quant(&c, 0.125f, 0);
    OUT(&c, Q16A);
    EXPECT_SHAPE(&c, 0, 5, 8);
    ck_assert(c.infer_outputs[0].scale == 0.125f && c.infer_outputs[0].zero_point == 0);
    c.operands[0].scale = 0.25f;
    EXPECT_REFUSED(&c);
    c.operands[0].scale = 0.125f;
    c.operands[3].zero_point = 1;
    EXPECT_REFUSED(&c);
}
TEST_END

static void nms_limit(void)
{
    op_case_init(&c, NNHAL_OP_BOX_WITH_NMS_LIMIT);
    IN(&c, F32, 5, 3);
    IN(&c, F32, 5, 12);
    IN(&c, I32, 5);
    IN_F32(&c, 0.5f);
    IN_I32(&c, -1);
    IN_I32(&c, 0);
    for (uint32_t i = 0; i < 3; i++)
        IN_F32(&c, 0.5f);
    OUT(&c, F32);
    OUT(&c, F32);
    OUT(&c, I32);
    OUT(&c, I32);
}

TEST(nms_limit_knows_a_bound_only)
{
    nms_limit();
    EXPECT_SHAPE(&c, 0, 10);
    EXPECT_SHAPE(&c, 1, 10, 4);
    for (uint32_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(c.infer_outputs[i].late_dims, 1);
        ck_assert(!c.infer_outputs[i].is_known);
    }
    c.numbers[5][0] = 3;
    EXPECT_REFUSED(&c);
    expect_each_refused(nms_limit, 3);
    nms_limit();
    c.dims[0][1] = 1;
    c.dims[1][1] = 4;
    EXPECT_REFUSED(&c);
}
TEST_END

static void proposals(void)
{
    op_case_init(&c, NNHAL_OP_GENERATE_PROPOSALS);
    IN(&c, F32, 2, 3, 4, 5);
    IN(&c, F32, 2, 3, 4, 20);
    IN(&c, F32, 5, 4);
    IN(&c, F32, 2, 2);
    IN_F32(&c, 8.0f);
    IN_F32(&c, 8.0f);
    IN_I32(&c, -1);
    IN_I32(&c, -1);
    IN_F32(&c, 0.5f);
    IN_F32(&c, 1.0f);
    IN_BOOL(&c, 0);
    OUT(&c, F32);
    OUT(&c, F32);
    OUT(&c, I32);
}

TEST(proposals_shapes)
{
    proposals();
    EXPECT_SHAPE(&c, 1, 120, 4);
    ck_assert_uint_eq(c.infer_outputs[1].late_dims, 1);
    expect_each_refused(proposals, 4);
    proposals();
    c.numbers[10][0] = 1;
    EXPECT_REFUSED(&c);
    proposals();
    c.dims[0][1] = c.dims[1][1] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

static void detection(void)
{
    op_case_init(&c, NNHAL_OP_DETECTION_POSTPROCESSING);
    IN(&c, F32, 2, 6, 3);
    IN(&c, F32, 2, 6, 7);
    IN(&c, F32, 6, 4);
    for (uint32_t i = 0; i < 4; i++)
        IN_F32(&c, 10.0f);
    IN_BOOL(&c, 0);
    IN_I32(&c, 5);
    IN_I32(&c, 2);
    IN_I32(&c, 3);
    IN_F32(&c, 0.0f);
    IN_F32(&c, 0.5f);
    IN_BOOL(&c, 0);
    OUT(&c, F32);
    OUT(&c, F32);
    OUT(&c, I32);
    OUT(&c, I32);
}

TEST(detection_has_room_for_classes_in_fast_mode)
{
    detection();
    EXPECT_SHAPE(&c, 0, 2, 10);
    EXPECT_SHAPE(&c, 1, 2, 10, 4);
    EXPECT_SHAPE(&c, 3, 2);
    c.numbers[7][0] = 1;
    EXPECT_SHAPE(&c, 2, 2, 5);
    expect_each_refused(detection, 3);
}
TEST_END

TEST(detection_refuses_values)
{
    static const uint32_t floats[] = {3, 6, 11, 12}, integers[] = {8, 9};

    for (size_t i = 0; i < 4; i++) {
        detection();
        memcpy(c.numbers[floats[i]], (float[]){-1.0f}, sizeof(float));
        EXPECT_REFUSED(&c);
    }
    for (size_t i = 0; i < 2; i++) {
        detection();
        c.numbers[integers[i]][0] = 0;
        EXPECT_REFUSED(&c);
    }
    detection();
    c.numbers[7][0] = 1;
    c.numbers[10][0] = 0;
    EXPECT_REFUSED(&c);
    detection();
    c.numbers[8][0] = INT32_MAX;
    c.numbers[9][0] = INT32_MAX;
    EXPECT_REFUSED(&c);
}
TEST_END

static void roi(uint32_t operation, int is_nchw)
{
    op_case_init(&c, operation);
    IN(&c, F32, 2, 3, 4, 5);
    IN(&c, F32, 6, 4);
    IN(&c, I32, 6);
    IN_I32(&c, 7);
    IN_I32(&c, 8);
    IN_F32(&c, 2.0f);
    IN_F32(&c, 2.0f);
    if (operation == NNHAL_OP_ROI_ALIGN) {
        IN_I32(&c, 0);
        IN_I32(&c, 2);
    }
    IN_BOOL(&c, is_nchw);
    OUT(&c, F32);
}

TEST(roi_shapes)
{
    static const uint32_t operations[] = {NNHAL_OP_ROI_ALIGN, NNHAL_OP_ROI_POOLING};

    for (int i = 0; i < 2; i++) {
        roi(operations[i], 0);
        EXPECT_SHAPE(&c, 0, 6, 7, 8, 5);
        c.numbers[3][0] = 0;
        EXPECT_REFUSED(&c);
        roi(operations[i], 1);
        EXPECT_SHAPE(&c, 0, 6, 3, 7, 8);
        c.dims[2][0] = 5;
        EXPECT_REFUSED(&c);
        roi(operations[i], 0);
        memcpy(c.numbers[5], (float[]){0.0f}, sizeof(float));
        EXPECT_REFUSED(&c);
    }
}
TEST_END

TEST(only_align_takes_no_region)
{
    roi(NNHAL_OP_ROI_ALIGN, 0);
    c.dims[1][0] = c.dims[2][0] = 0;
    EXPECT_SHAPE(&c, 0, 0, 7, 8, 5);
    c.numbers[7][0] = -1;
    EXPECT_REFUSED(&c);
    roi(NNHAL_OP_ROI_POOLING, 0);
    c.dims[1][0] = c.dims[2][0] = 0;
    EXPECT_REFUSED(&c);
}
TEST_END

TEST(heat_maps_are_square)
{
    op_case_init(&c, NNHAL_OP_HEATMAP_MAX_KEYPOINT);
    IN(&c, F32, 2, 4, 4, 5);
    IN(&c, F32, 2, 4);
    IN_BOOL(&c, 0);
    OUT(&c, F32);
    OUT(&c, F32);
    EXPECT_SHAPE(&c, 0, 2, 5);
    EXPECT_SHAPE(&c, 1, 2, 5, 2);
    c.numbers[2][0] = 1;
    EXPECT_REFUSED(&c);
    c.numbers[2][0] = 0;
    c.dims[0][1] = c.dims[0][2] = 1;
    EXPECT_REFUSED(&c);
    c.dims[0][1] = c.dims[0][2] = 4;
    c.dims[1][0] = 3;
    EXPECT_REFUSED(&c);
}
TEST_END

CHECK_MAIN("op-detection", bbox_transform_shapes, boxes_are_in_eighths,
           nms_limit_knows_a_bound_only, proposals_shapes,
           detection_has_room_for_classes_in_fast_mode, detection_refuses_values, roi_shapes,
           only_align_takes_no_region, heat_maps_are_square)
