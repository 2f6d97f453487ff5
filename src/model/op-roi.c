/* SPDX-License-Identifier: Apache-2.0 */
/* op-roi.c - ROI_ALIGN, ROI_POOLING, HEATMAP_MAX_KEYPOINT: looking into boxes */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

#include <string.h>

#define BOX_SCALE 0.125f

static uint32_t input_dim(const struct nn_infer *infer, uint32_t i, uint32_t d)
{
    return infer->inputs[i].dims[d];
}

/* Refuses the boxes of input 1 unless they are [n, 4], in eighths if quantized. */
static int check_boxes(const struct nn_infer *infer)
{
    const struct nn_infer_operand *boxes = &infer->inputs[1];

    if (boxes->n_dims != 2 || boxes->dims[1] != 4)
        return nn_refuse(infer->why, "boxes must have the shape [boxes, 4]");
    if (boxes->type == NNHAL_TENSOR_QUANT16_ASYMM &&
        (boxes->scale != BOX_SCALE || boxes->zero_point != 0))
        return nn_refuse(infer->why, "input 1 must have scale 0.125 and zero point 0");
    return 0;
}

/* Written so that a NaN is refused. An unknown stride passes: kernels check regions anyway. */
static int check_stride(const struct nn_infer *infer, uint32_t i)
{
    float stride;

    if (nn_infer_float(infer, i, &stride) == 0 && !(stride > 0.0f))
        return nn_refuse(infer->why, "input %u, a stride, is not above 0", i);
    return 0;
}

/* What ROI_ALIGN and ROI_POOLING share; input layout is the flag. */
static int infer_roi(struct nn_infer *infer, uint32_t layout)
{
    uint32_t n_boxes, n_channels;
    int32_t height, width;
    bool is_nchw;
    int r;

    if (check_boxes(infer))
        return NN_REFUSED;
    n_boxes = input_dim(infer, NN_ROI_BOXES, 0);
    if (infer->inputs[NN_ROI_BATCHES].n_dims != 1 || input_dim(infer, NN_ROI_BATCHES, 0) != n_boxes)
        return nn_refuse(infer->why, "batch indexes must have the shape [%u]", n_boxes);
    if ((r = nn_infer_i32(infer, NN_ROI_HEIGHT, &height)) ||
        (r = nn_infer_i32(infer, NN_ROI_WIDTH, &width)) ||
        (r = nn_infer_bool(infer, layout, &is_nchw)))
        return r;
    if (height <= 0 || width <= 0)
        return nn_refuse(infer->why, "output of %d x %d", height, width);
    if (check_stride(infer, NN_ROI_HEIGHT_STRIDE) || check_stride(infer, NN_ROI_WIDTH_STRIDE))
        return NN_REFUSED;
    n_channels = input_dim(infer, 0, is_nchw ? 1 : 3);
    nn_infer_set_dims(infer, 0, 4,
                      is_nchw
                          ? (uint32_t[]){n_boxes, n_channels, (uint32_t)height, (uint32_t)width}
                          : (uint32_t[]){n_boxes, (uint32_t)height, (uint32_t)width, n_channels});
    return 0;
}

/* The batch, too, must not be empty; the number of boxes may be 0. */
static int infer_roi_align(struct nn_infer *infer)
{
    for (uint32_t d = 0; d < infer->inputs[0].n_dims; d++)
        if (input_dim(infer, 0, d) == 0)
            return nn_refuse(infer->why, "input 0 has a dimension of 0");
    for (uint32_t i = NN_ROI_ALIGN_RATIO_H; i <= NN_ROI_ALIGN_RATIO_W; i++) {
        int32_t ratio;

        if (nn_infer_i32(infer, i, &ratio) == 0 && ratio < 0)
            return nn_refuse(infer->why, "input %u, a sampling ratio, is %d", i, ratio);
    }
    return infer_roi(infer, NN_ROI_ALIGN_LAYOUT);
}

static int infer_roi_pooling(struct nn_infer *infer)
{
    int r;

    r = infer_roi(infer, NN_ROI_POOLING_LAYOUT);
    if (r)
        return r;
    nn_infer_set_quant_like(infer, 0, 0);
    return 0;
}

/* A side of 2, because the peak's neighbors are mirrored at the edges. */
static int infer_heatmap_max_keypoint(struct nn_infer *infer)
{
    uint32_t n_boxes, n_keypoints, h;
    bool is_nchw;
    int r;

    if (check_boxes(infer))
        return NN_REFUSED;
    r = nn_infer_bool(infer, 2, &is_nchw);
    if (r)
        return r;
    h = is_nchw ? 2 : 1;
    n_boxes = input_dim(infer, 0, 0);
    n_keypoints = input_dim(infer, 0, is_nchw ? 1 : 3);
    if (input_dim(infer, 0, h) != input_dim(infer, 0, h + 1) || input_dim(infer, 0, h) < 2)
        return nn_refuse(infer->why, "heat maps of %u x %u are not square with sides of at least 2",
                         input_dim(infer, 0, h), input_dim(infer, 0, h + 1));
    if (input_dim(infer, 1, 0) != n_boxes)
        return nn_refuse(infer->why, "%u boxes for %u heat maps", input_dim(infer, 1, 0), n_boxes);
    nn_infer_set_dims(infer, 0, 2, (uint32_t[]){n_boxes, n_keypoints});
    nn_infer_set_dims(infer, 1, 3, (uint32_t[]){n_boxes, n_keypoints, 2});
    if (infer->outputs[1].type == NNHAL_TENSOR_QUANT16_ASYMM)
        nn_infer_set_quant(infer, 1, BOX_SCALE, 0);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_HEATMAP_MAX_KEYPOINT, NULL, infer_heatmap_max_keypoint,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
    {NNHAL_OP_ROI_ALIGN, NULL, infer_roi_align, NN_INFER_RANK(4, 4)},
    {NNHAL_OP_ROI_POOLING, NULL, infer_roi_pooling, NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
};

NN_OP_FAMILY(roi, functions);
