/* SPDX-License-Identifier: Apache-2.0 */
/* op-detection.c - from anchors and scores to boxes
 *
 * How many boxes BOX_WITH_NMS_LIMIT and GENERATE_PROPOSALS find is known only
 * when they have run: that dimension is late, and its bound is set here.
 * Quantized boxes and image sizes are in eighths of a pixel. */
#include "model/infer.h"

#include "base/cleanup.h"

#include <string.h>

#define BOX_SCALE 0.125f

static uint32_t input_dim(const struct nn_infer *infer, uint32_t i, uint32_t d)
{
    return infer->inputs[i].dims[d];
}

/* Refuses a quantized operand of boxes unless it counts in eighths from 0. */
static int check_box_quant(const struct nn_infer *infer, uint32_t i)
{
    const struct nn_infer_operand *input = &infer->inputs[i];

    if (input->type != NNHAL_TENSOR_QUANT16_ASYMM && input->type != NNHAL_TENSOR_QUANT16_SYMM)
        return 0;
    if (input->scale != BOX_SCALE || input->zero_point != 0)
        return nn_refuse(infer->why, "input %u must have scale 0.125 and zero point 0", i);
    return 0;
}

static void set_box_quant(struct nn_infer *infer, uint32_t i)
{
    if (infer->outputs[i].type == NNHAL_TENSOR_QUANT16_ASYMM)
        nn_infer_set_quant(infer, i, BOX_SCALE, 0);
}

/* Refuses unless inputs 0 to n-1 have these ranks. */
static int check_ranks(const struct nn_infer *infer, uint32_t n, const uint32_t *ranks)
{
    for (uint32_t i = 0; i < n; i++) {
        int r = nn_infer_rank(infer, i, ranks[i], ranks[i]);

        if (r)
            return r;
    }
    return 0;
}

/* -- AXIS_ALIGNED_BBOX_TRANSFORM --------------------------------------------- */

static int infer_bbox_transform(struct nn_infer *infer)
{
    uint32_t n_boxes;
    int r;

    r = check_ranks(infer, 4, (uint32_t[]){2, 2, 1, 2});
    if (r)
        return r;
    n_boxes = input_dim(infer, 0, 0);
    if (input_dim(infer, 0, 1) != 4)
        return nn_refuse(infer->why, "boxes have %u coordinates, not 4", input_dim(infer, 0, 1));
    if (input_dim(infer, 1, 0) != n_boxes || input_dim(infer, 2, 0) != n_boxes)
        return nn_refuse(infer->why, "%u boxes, %u rows of deltas, %u batch indexes", n_boxes,
                         input_dim(infer, 1, 0), input_dim(infer, 2, 0));
    if (input_dim(infer, 1, 1) == 0 || input_dim(infer, 1, 1) % 4)
        return nn_refuse(infer->why, "%u deltas per box are no multiple of 4",
                         input_dim(infer, 1, 1));
    if (input_dim(infer, 3, 0) == 0 || input_dim(infer, 3, 1) != 2)
        return nn_refuse(infer->why, "image sizes must have the shape [batches, 2]");
    if (check_box_quant(infer, 0) || check_box_quant(infer, 3))
        return NN_REFUSED;
    nn_infer_set_dims_like(infer, 0, 1);
    set_box_quant(infer, 0);
    return 0;
}

/* -- BOX_WITH_NMS_LIMIT ------------------------------------------------------ */

/* Outputs 0 and 1 (a list of scores, a list of boxes) and the further ones
 * (lists of numbers) have as many entries as are found, at most n. */
static void set_found(struct nn_infer *infer, uint32_t n)
{
    for (uint32_t i = 0; i < infer->n_outputs; i++) {
        nn_infer_set_dims(infer, i, i == 1 ? 2 : 1, (uint32_t[]){n, 4});
        infer->outputs[i].late_dims = 1;
    }
    nn_infer_set_quant_like(infer, 0, 0);
    set_box_quant(infer, 1);
}

static int infer_box_with_nms_limit(struct nn_infer *infer)
{
    uint32_t n_boxes, n_classes;
    int32_t kernel;
    uint64_t most;
    int r;

    r = check_ranks(infer, 3, (uint32_t[]){2, 2, 1});
    if (r)
        return r;
    n_boxes = input_dim(infer, 0, 0);
    n_classes = input_dim(infer, 0, 1);
    if (n_classes < 2)
        return nn_refuse(infer->why, "%u classes, the first of which is the background", n_classes);
    if (input_dim(infer, 1, 0) != n_boxes || input_dim(infer, 2, 0) != n_boxes ||
        input_dim(infer, 1, 1) != (uint64_t)n_classes * 4)
        return nn_refuse(infer->why, "%u rows of scores, %u rows of %u coordinates, %u indexes",
                         n_boxes, input_dim(infer, 1, 0), input_dim(infer, 1, 1),
                         input_dim(infer, 2, 0));
    if (check_box_quant(infer, 1))
        return NN_REFUSED;
    r = nn_infer_i32(infer, 5, &kernel);
    if (r)
        return r;
    if (kernel < 0 || kernel > 2)
        return nn_refuse(infer->why, "kernel %d is none of 0 (hard), 1 (linear) and 2 (gaussian)",
                         kernel);
    most = (uint64_t)n_boxes * (n_classes - 1);
    if (most > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    set_found(infer, (uint32_t)most);
    return 0;
}

/* -- GENERATE_PROPOSALS ------------------------------------------------------ */

/* The shapes of scores and deltas, which may have either layout. */
static int check_proposals(const struct nn_infer *infer, uint32_t n_anchors, uint32_t c)
{
    for (uint32_t d = 0; d < 4; d++) {
        uint64_t n = (uint64_t)input_dim(infer, 0, d) * (d == c ? 4 : 1);

        if (input_dim(infer, 1, d) != n)
            return nn_refuse(infer->why, "dimension %u of the deltas is %u, not %llu", d,
                             input_dim(infer, 1, d), (unsigned long long)n);
    }
    if (input_dim(infer, 0, c) != n_anchors || input_dim(infer, 2, 1) != 4)
        return nn_refuse(infer->why, "anchors must have the shape [%u, 4]", input_dim(infer, 0, c));
    if (input_dim(infer, 3, 0) != input_dim(infer, 0, 0) || input_dim(infer, 3, 1) != 2)
        return nn_refuse(infer->why, "image sizes must have the shape [%u, 2]",
                         input_dim(infer, 0, 0));
    return 0;
}

static int infer_generate_proposals(struct nn_infer *infer)
{
    bool is_nchw;
    uint64_t most;
    int r;

    r = check_ranks(infer, 4, (uint32_t[]){4, 4, 2, 2});
    if (r)
        return r;
    r = nn_infer_bool(infer, 10, &is_nchw);
    if (r)
        return r;
    if (check_proposals(infer, input_dim(infer, 2, 0), is_nchw ? 1 : 3) ||
        check_box_quant(infer, 2) || check_box_quant(infer, 3))
        return NN_REFUSED;
    if (!nn_dims_product(4, infer->inputs[0].dims, &most) || most > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    set_found(infer, (uint32_t)most);
    return 0;
}

/* -- DETECTION_POSTPROCESSING ------------------------------------------------ */

static int check_above_0(const struct nn_infer *infer, uint32_t i)
{
    float value;

    if (nn_infer_float(infer, i, &value) == 0 && !(value > 0.0f))
        return nn_refuse(infer->why, "input %u is not above 0", i);
    return 0;
}

static int check_not_below_0(const struct nn_infer *infer, uint32_t i)
{
    float value;

    if (nn_infer_float(infer, i, &value) == 0 && !(value >= 0.0f))
        return nn_refuse(infer->why, "input %u is below 0", i);
    return 0;
}

static int check_detection_shapes(const struct nn_infer *infer)
{
    uint32_t n_batches = input_dim(infer, 0, 0), n_anchors = input_dim(infer, 0, 1);

    if (input_dim(infer, 0, 2) < 2)
        return nn_refuse(infer->why, "%u classes, the first of which is the background",
                         input_dim(infer, 0, 2));
    if (input_dim(infer, 1, 0) != n_batches || input_dim(infer, 1, 1) != n_anchors ||
        input_dim(infer, 1, 2) < 4)
        return nn_refuse(infer->why, "deltas must have the shape [%u, %u, 4 or more]", n_batches,
                         n_anchors);
    if (input_dim(infer, 2, 0) != n_anchors || input_dim(infer, 2, 1) != 4)
        return nn_refuse(infer->why, "anchors must have the shape [%u, 4]", n_anchors);
    return 0;
}

/* How many boxes there is room for, in each batch. */
static int read_room(const struct nn_infer *infer, uint32_t *ret)
{
    int32_t n_detections, n_classes, n_per_class;
    bool is_regular;
    uint64_t room;
    int r;

    if ((r = nn_infer_bool(infer, 7, &is_regular)) || (r = nn_infer_i32(infer, 8, &n_detections)) ||
        (r = nn_infer_i32(infer, 9, &n_classes)))
        return r;
    if (n_detections <= 0 || (!is_regular && n_classes <= 0))
        return nn_refuse(infer->why, "at most %d detections with %d classes each", n_detections,
                         n_classes);
    if (is_regular && nn_infer_i32(infer, 10, &n_per_class) == 0 && n_per_class <= 0)
        return nn_refuse(infer->why, "at most %d detections per class", n_per_class);
    room = (uint64_t)n_detections * (is_regular ? 1 : (uint32_t)n_classes);
    if (room > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    *ret = (uint32_t)room;
    return 0;
}

static int infer_detection_postprocessing(struct nn_infer *infer)
{
    uint32_t n_batches, room = 0;
    int r;

    r = check_ranks(infer, 3, (uint32_t[]){3, 3, 2});
    if (r)
        return r;
    r = read_room(infer, &room);
    if (r)
        return r;
    if (check_detection_shapes(infer))
        return NN_REFUSED;
    for (uint32_t i = 3; i <= 6; i++)
        if (check_above_0(infer, i))
            return NN_REFUSED;
    if (check_not_below_0(infer, 11) || check_not_below_0(infer, 12))
        return NN_REFUSED;
    n_batches = input_dim(infer, 0, 0);
    nn_infer_set_dims(infer, 0, 2, (uint32_t[]){n_batches, room});
    nn_infer_set_dims(infer, 1, 3, (uint32_t[]){n_batches, room, 4});
    nn_infer_set_dims(infer, 2, 2, (uint32_t[]){n_batches, room});
    nn_infer_set_dims(infer, 3, 1, (uint32_t[]){n_batches});
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_AXIS_ALIGNED_BBOX_TRANSFORM, NULL, infer_bbox_transform, 0},
    {NNHAL_OP_BOX_WITH_NMS_LIMIT, NULL, infer_box_with_nms_limit, 0},
    {NNHAL_OP_GENERATE_PROPOSALS, NULL, infer_generate_proposals, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_DETECTION_POSTPROCESSING, NULL, infer_detection_postprocessing, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(detection, functions);
