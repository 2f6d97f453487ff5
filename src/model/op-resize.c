/* SPDX-License-Identifier: Apache-2.0 */
/* op-resize.c - RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR
 *
 * The new size is given as numbers, or as factors of the old one; width comes
 * first. Nothing but the batch may be empty. */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

#include <math.h>
#include <string.h>

/* The size of one axis from input i. */
static int read_size(const struct nn_infer *infer, uint32_t i, uint32_t old, uint32_t *ret)
{
    int32_t size;
    float factor, product;
    int r;

    if (infer->inputs[i].type == NNHAL_INT32) {
        r = nn_infer_i32(infer, i, &size);
        if (r)
            return r;
    } else {
        r = nn_infer_float(infer, i, &factor);
        if (r)
            return r;
        product = floorf((float)old * factor);
        /* Written so that a NaN is refused, too. */
        size = product >= 1.0f && product < 2147483648.0f ? (int32_t)product : 0;
    }
    if (size <= 0)
        return nn_refuse(infer->why, "the new %s is not above 0",
                         i == NN_RESIZE_WIDTH ? "width" : "height");
    *ret = (uint32_t)size;
    return 0;
}

static int check_corners(const struct nn_infer *infer)
{
    bool aligns_corners, has_half_pixels;
    int r;

    if ((r = nn_infer_optional_bool(infer, NN_RESIZE_ALIGN_CORNERS, &aligns_corners)) ||
        (r = nn_infer_optional_bool(infer, NN_RESIZE_HALF_PIXELS, &has_half_pixels)))
        return r;
    if (aligns_corners && has_half_pixels)
        return nn_refuse(infer->why, "corners cannot be aligned with half pixel centers");
    return 0;
}

static int infer_resize(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], h, w;
    bool is_nchw;
    int r;

    if (!input->dims[1] || !input->dims[2] || !input->dims[3])
        return nn_refuse(infer->why, "only the batch of a resized image may be 0");
    if ((r = nn_infer_optional_bool(infer, NN_RESIZE_LAYOUT, &is_nchw)) ||
        (r = check_corners(infer)))
        return r;
    h = is_nchw ? 2 : 1;
    w = h + 1;
    memcpy(dims, input->dims, sizeof(dims));
    if ((r = read_size(infer, NN_RESIZE_WIDTH, input->dims[w], &dims[w])) ||
        (r = read_size(infer, NN_RESIZE_HEIGHT, input->dims[h], &dims[h])))
        return r;
    return nn_infer_moved(infer, 4, dims);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_RESIZE_BILINEAR, NULL, infer_resize, NN_INFER_RANK(4, 4)},
    {NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, NULL, infer_resize, NN_INFER_RANK(4, 4)},
};

NN_OP_FAMILY(resize, functions);
