/* SPDX-License-Identifier: Apache-2.0 */
/* op-move.c - operations that move elements to other places
 *
 * Padding, slicing, tiling, reversing, shuffling, and the conversions between
 * space, depth and batch. None of them computes with an element. */
#include "model/geometry.h"
#include "model/infer.h"
#include "model/slice.h"
#include "model/operands.h"

#include "base/cleanup.h"

#include <string.h>

/* Sets a computed dimension, which may not fit 32 bits. */
static int set_dim(const struct nn_infer *infer, uint64_t value, uint32_t *ret)
{
    if (value > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    *ret = (uint32_t)value;
    return 0;
}

/* The positions of height and width in a rank-4 tensor, and of its channels. */
struct layout {
    uint32_t h, w, c;
};

/* Input 0 is an image with the layout that optional input i says. */
static int read_layout(const struct nn_infer *infer, uint32_t i, struct layout *ret)
{
    bool is_nchw;
    int r = nn_infer_optional_bool(infer, i, &is_nchw);
    if (r)
        return r;
    *ret = is_nchw ? (struct layout){2, 3, 1} : (struct layout){1, 2, 3};
    return 0;
}

/* -- PAD, PAD_V2, MIRROR_PAD ------------------------------------------------- */

/* A zero point of the input as padding came with level 3. */
static int validate_zero_point(struct nn_op_context *context)
{
    const struct nnhal_operand *input = nn_op_input(context, 0);

    if (input->type == NNHAL_TENSOR_QUANT8_ASYMM && input->zero_point != 0)
        nn_op_need_level(context, 3);
    return 0;
}

/* The paddings of input 1, [rank, 2], as 2 * rank numbers; none is negative. */
static int read_paddings(struct nn_infer *infer, uint32_t rank, uint32_t *ret)
{
    const struct nn_infer_operand *paddings = &infer->inputs[NN_PAD_PADDINGS];
    const void *values;
    uint64_t n;
    int r;

    if (paddings->n_dims != 2 || paddings->dims[0] != rank || paddings->dims[1] != 2)
        return nn_refuse(infer->why, "paddings must have the shape [%u, 2]", rank);
    r = nn_infer_i32s(infer, NN_PAD_PADDINGS, &values, &n);
    if (r)
        return r;
    for (uint32_t i = 0; i < 2 * rank; i++) {
        int32_t padding = nn_infer_i32_at(values, i);

        if (padding < 0)
            return nn_refuse(infer->why, "padding %d of dimension %u is negative", padding, i / 2);
        ret[i] = (uint32_t)padding;
    }
    return 0;
}

static int set_padded(struct nn_infer *infer, const uint32_t *paddings)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK];

    for (uint32_t d = 0; d < input->n_dims; d++)
        if (set_dim(infer, (uint64_t)paddings[2 * d] + input->dims[d] + paddings[2 * d + 1],
                    &dims[d]))
            return NN_REFUSED;
    return nn_infer_moved(infer, input->n_dims, dims);
}

static int infer_pad(struct nn_infer *infer)
{
    uint32_t paddings[2 * NNHAL_MAX_RANK];
    int r;

    r = read_paddings(infer, infer->inputs[0].n_dims, paddings);
    if (r)
        return r;
    return set_padded(infer, paddings);
}

/* Input and output of MIRROR_PAD and REVERSE: equal quantization and known ranks. */
static int validate_alike(struct nn_op_context *context)
{
    const struct nnhal_operand *input = nn_op_input(context, 0);
    const struct nnhal_operand *output = nn_op_output(context, 0);

    if (nn_type_is_quantized(input->type) &&
        nn_op_check_same_quant(context, input, output, "input 0 and the output"))
        return NN_REFUSED;
    if (input->n_dimensions && output->n_dimensions && input->n_dimensions != output->n_dimensions)
        return nn_refuse(context->why, "input 0 has rank %u, the output %u", input->n_dimensions,
                         output->n_dimensions);
    return 0;
}

static int validate_mirror_pad(struct nn_op_context *context)
{
    const struct nnhal_operand *input = nn_op_input(context, 0);
    const struct nnhal_operand *paddings = nn_op_input(context, 1);

    if (paddings->n_dimensions) {
        if (nn_op_check_rank(context, paddings, 2, 2, "input 1"))
            return NN_REFUSED;
        if (paddings->dimensions[1] != 0 && paddings->dimensions[1] != 2)
            return nn_refuse(context->why, "paddings have %u columns, 2 are needed",
                             paddings->dimensions[1]);
        if (input->n_dimensions && paddings->dimensions[0] != 0 &&
            paddings->dimensions[0] != input->n_dimensions)
            return nn_refuse(context->why, "paddings have %u rows, input 0 has rank %u",
                             paddings->dimensions[0], input->n_dimensions);
    }
    return validate_alike(context);
}

static int infer_mirror_pad(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t paddings[2 * NNHAL_MAX_RANK];
    int32_t mode;
    int r;

    r = nn_infer_i32(infer, NN_PAD_MODE, &mode);
    if (r)
        return r;
    if (mode != 0 && mode != 1)
        return nn_refuse(infer->why, "mode %d is neither 0 (REFLECT) nor 1 (SYMMETRIC)", mode);
    r = read_paddings(infer, input->n_dims, paddings);
    if (r)
        return r;
    for (uint32_t i = 0; i < 2 * input->n_dims; i++) {
        uint32_t most = input->dims[i / 2] - (mode == 0 ? 1 : 0);

        if (paddings[i] > most)
            return nn_refuse(infer->why, "padding %u of dimension %u, at most %u can be mirrored",
                             paddings[i], i / 2, most);
    }
    return set_padded(infer, paddings);
}

/* -- SLICE, STRIDED_SLICE ---------------------------------------------------- */

/* Input i holds one number per dimension of input 0. */
static int read_per_dim(const struct nn_infer *infer, uint32_t i, const void **ret)
{
    uint32_t rank = infer->inputs[0].n_dims;
    uint64_t n;
    int r;

    r = nn_infer_i32s(infer, i, ret, &n);
    if (r)
        return r;
    if (infer->inputs[i].n_dims != 1 || n != rank)
        return nn_refuse(infer->why, "input %u has %llu elements, input 0 has rank %u", i,
                         (unsigned long long)n, rank);
    return 0;
}

/* A size of -1 is all that is left. A slice may be empty. */
static int infer_slice(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK];
    const void *begins, *sizes;
    int r;

    if ((r = read_per_dim(infer, 1, &begins)) || (r = read_per_dim(infer, 2, &sizes)))
        return r;
    for (uint32_t d = 0; d < input->n_dims; d++) {
        int64_t begin = nn_infer_i32_at(begins, d), size = nn_infer_i32_at(sizes, d);
        int64_t dim = input->dims[d];

        if (size == -1)
            size = dim - begin;
        if (begin < 0 || begin > dim || size < 0 || size > dim - begin)
            return nn_refuse(infer->why, "slice of %lld from %lld of dimension %u, which is %lld",
                             (long long)size, (long long)begin, d, (long long)dim);
        dims[d] = (uint32_t)size;
    }
    return nn_infer_moved(infer, input->n_dims, dims);
}

struct strided_slice {
    const void *begins, *ends, *strides;
    int32_t begin_mask, end_mask, shrink_mask;
};

static int read_strided_slice(const struct nn_infer *infer, struct strided_slice *slice)
{
    int r;

    if ((r = read_per_dim(infer, NN_STRIDED_BEGINS, &slice->begins)) ||
        (r = read_per_dim(infer, NN_STRIDED_ENDS, &slice->ends)) ||
        (r = read_per_dim(infer, NN_STRIDED_STRIDES, &slice->strides)) ||
        (r = nn_infer_i32(infer, NN_STRIDED_BEGIN_MASK, &slice->begin_mask)) ||
        (r = nn_infer_i32(infer, NN_STRIDED_END_MASK, &slice->end_mask)))
        return r;
    return nn_infer_i32(infer, NN_STRIDED_SHRINK_MASK, &slice->shrink_mask);
}

static int infer_strided_slice(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], n_dims = 0;
    struct strided_slice slice;
    int r;

    r = read_strided_slice(infer, &slice);
    if (r)
        return r;
    for (uint32_t d = 0; d < input->n_dims; d++) {
        bool is_shrunk = slice.shrink_mask >> d & 1;
        struct nn_slice range = {
            .begin = nn_infer_i32_at(slice.begins, d),
            .end = nn_infer_i32_at(slice.ends, d),
            .stride = nn_infer_i32_at(slice.strides, d),
            .ignores_begin = slice.begin_mask >> d & 1,
            .ignores_end = slice.end_mask >> d & 1,
        };
        int32_t begin;
        uint32_t n;

        if (!nn_slice_range(&range, input->dims[d], &begin, &n))
            return nn_refuse(infer->why, "the stride of dimension %u is 0", d);
        if (is_shrunk && (range.stride < 0 || n != 1))
            return nn_refuse(infer->why, "dimension %u is dropped, but has %u elements, stride %d",
                             d, n, range.stride);
        if (!is_shrunk)
            dims[n_dims++] = n;
    }
    if (n_dims == 0)
        dims[n_dims++] = 1;
    nn_infer_set_dims(infer, 0, n_dims, dims);
    return 0;
}

/* -- TILE, REVERSE, CHANNEL_SHUFFLE ------------------------------------------ */

/* A multiple of 0 would make an empty tensor. */
static int infer_tile(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK];
    const void *multiples;
    int r;

    r = read_per_dim(infer, 1, &multiples);
    if (r)
        return r;
    for (uint32_t d = 0; d < input->n_dims; d++) {
        int32_t multiple = nn_infer_i32_at(multiples, d);

        if (multiple < 1)
            return nn_refuse(infer->why, "multiple %d of dimension %u", multiple, d);
        if (set_dim(infer, (uint64_t)input->dims[d] * (uint32_t)multiple, &dims[d]))
            return NN_REFUSED;
    }
    return nn_infer_moved(infer, input->n_dims, dims);
}

static int validate_reverse(struct nn_op_context *context)
{
    const struct nnhal_operand *axis = nn_op_input(context, 1);

    if (axis->n_dimensions) {
        if (nn_op_check_rank(context, axis, 1, 1, "input 1"))
            return NN_REFUSED;
        if (axis->dimensions[0] > 1)
            return nn_refuse(context->why, "the axis tensor has %u elements, 1 is needed",
                             axis->dimensions[0]);
    }
    return validate_alike(context);
}

static int infer_reverse(struct nn_infer *infer)
{
    uint32_t rank = infer->inputs[0].n_dims;
    const void *values;
    int32_t axis;
    uint64_t n;
    int r;

    r = nn_infer_i32s(infer, 1, &values, &n);
    if (r)
        return r;
    if (infer->inputs[1].n_dims != 1 || n != 1)
        return nn_refuse(infer->why, "the axis tensor must have the shape [1]");
    axis = nn_infer_i32_at(values, 0);
    if (axis < 0 || (uint32_t)axis >= rank)
        return nn_refuse(infer->why, "axis %d of a tensor of rank %u", axis, rank);
    return nn_infer_same(infer);
}

static int infer_channel_shuffle(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    int32_t n_groups;
    uint32_t axis;
    int r;

    if ((r = nn_infer_axis(infer, NN_SHUFFLE_AXIS, input->n_dims, &axis)) ||
        (r = nn_infer_i32(infer, NN_SHUFFLE_GROUPS, &n_groups)))
        return r;
    if (n_groups <= 0 || input->dims[axis] % (uint32_t)n_groups)
        return nn_refuse(infer->why, "%d groups of %u channels", n_groups, input->dims[axis]);
    return nn_infer_same(infer);
}

/* -- space, depth and batch -------------------------------------------------- */

/* A block size as a scalar. */
static int read_block(const struct nn_infer *infer, uint32_t i, uint64_t *ret)
{
    int32_t block;
    int r;

    r = nn_infer_i32(infer, i, &block);
    if (r)
        return r;
    if (block < 1)
        return nn_refuse(infer->why, "block size %d", block);
    *ret = (uint64_t)block;
    return 0;
}

static int infer_depth_to_space(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK];
    struct layout at;
    uint64_t block = 1;
    int r;

    if ((r = read_layout(infer, NN_SPACE_LAYOUT, &at)) ||
        (r = read_block(infer, NN_SPACE_BLOCK, &block)))
        return r;
    if (input->dims[at.c] % (block * block))
        return nn_refuse(infer->why, "%u channels are no multiple of the square of block size %u",
                         input->dims[at.c], (unsigned)block);
    memcpy(dims, input->dims, sizeof(dims));
    dims[at.c] = (uint32_t)(dims[at.c] / (block * block));
    if (set_dim(infer, dims[at.h] * block, &dims[at.h]) ||
        set_dim(infer, dims[at.w] * block, &dims[at.w]))
        return NN_REFUSED;
    return nn_infer_moved(infer, 4, dims);
}

static int infer_space_to_depth(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK];
    struct layout at;
    uint64_t block = 1;
    int r;

    if ((r = read_layout(infer, NN_SPACE_LAYOUT, &at)) ||
        (r = read_block(infer, NN_SPACE_BLOCK, &block)))
        return r;
    if (input->dims[at.h] % block || input->dims[at.w] % block)
        return nn_refuse(infer->why, "%u x %u is no multiple of block size %u", input->dims[at.h],
                         input->dims[at.w], (unsigned)block);
    memcpy(dims, input->dims, sizeof(dims));
    dims[at.h] /= (uint32_t)block;
    dims[at.w] /= (uint32_t)block;
    /* Up to 2^16, its square times any dimension fits 64 bits. */
    if (block > UINT16_MAX || set_dim(infer, dims[at.c] * block * block, &dims[at.c]))
        return nn_refuse(infer->why, "the output is too large");
    return nn_infer_moved(infer, 4, dims);
}

/* The block shape of input 1, [2]: height and width. */
static int read_block_shape(const struct nn_infer *infer, uint32_t ret[2])
{
    const void *values;
    uint64_t n;
    int r;

    r = nn_infer_i32s(infer, NN_SPACE_BLOCK, &values, &n);
    if (r)
        return r;
    if (infer->inputs[NN_SPACE_BLOCK].n_dims != 1 || n != 2)
        return nn_refuse(infer->why, "the block shape must have the shape [2]");
    for (uint32_t i = 0; i < 2; i++) {
        int32_t block = nn_infer_i32_at(values, i);

        if (block < 1)
            return nn_refuse(infer->why, "block size %d", block);
        ret[i] = (uint32_t)block;
    }
    return 0;
}

static int infer_batch_to_space(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], block[2];
    struct layout at;
    uint64_t area;
    int r;

    if ((r = read_layout(infer, NN_SPACE_LAYOUT, &at)) || (r = read_block_shape(infer, block)))
        return r;
    area = (uint64_t)block[0] * block[1];
    if (input->dims[0] % area)
        return nn_refuse(infer->why, "batch %u is no multiple of %u x %u", input->dims[0], block[0],
                         block[1]);
    memcpy(dims, input->dims, sizeof(dims));
    dims[0] = (uint32_t)(dims[0] / area);
    if (set_dim(infer, (uint64_t)dims[at.h] * block[0], &dims[at.h]) ||
        set_dim(infer, (uint64_t)dims[at.w] * block[1], &dims[at.w]))
        return NN_REFUSED;
    return nn_infer_moved(infer, 4, dims);
}

/* The paddings of input 2, [2, 2]: top, bottom, left, right. */
static int read_batch_paddings(const struct nn_infer *infer, uint32_t ret[4])
{
    const struct nn_infer_operand *paddings = &infer->inputs[NN_SPACE_TO_BATCH_PADDINGS];
    const void *values;
    uint64_t n;
    int r;

    if (paddings->n_dims != 2 || paddings->dims[0] != 2 || paddings->dims[1] != 2)
        return nn_refuse(infer->why, "paddings must have the shape [2, 2]");
    r = nn_infer_i32s(infer, NN_SPACE_TO_BATCH_PADDINGS, &values, &n);
    if (r)
        return r;
    for (uint32_t i = 0; i < 4; i++) {
        int32_t padding = nn_infer_i32_at(values, i);

        if (padding < 0)
            return nn_refuse(infer->why, "padding %d is negative", padding);
        ret[i] = (uint32_t)padding;
    }
    return 0;
}

static int infer_space_to_batch(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], block[2], paddings[4];
    uint64_t height, width;
    struct layout at;
    int r;

    if ((r = read_layout(infer, NN_SPACE_TO_BATCH_LAYOUT, &at)) ||
        (r = read_block_shape(infer, block)) || (r = read_batch_paddings(infer, paddings)))
        return r;
    height = (uint64_t)paddings[0] + input->dims[at.h] + paddings[1];
    width = (uint64_t)paddings[2] + input->dims[at.w] + paddings[3];
    if (height % block[0] || width % block[1])
        return nn_refuse(infer->why, "padded, %llu x %llu is no multiple of %u x %u",
                         (unsigned long long)height, (unsigned long long)width, block[0], block[1]);
    memcpy(dims, input->dims, sizeof(dims));
    if (block[0] > UINT16_MAX || block[1] > UINT16_MAX ||
        set_dim(infer, (uint64_t)dims[0] * block[0] * block[1], &dims[0]) ||
        set_dim(infer, height / block[0], &dims[at.h]) ||
        set_dim(infer, width / block[1], &dims[at.w]))
        return nn_refuse(infer->why, "the output is too large");
    return nn_infer_moved(infer, 4, dims);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_PAD, validate_zero_point, infer_pad, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_PAD_V2, NULL, infer_pad, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_MIRROR_PAD, validate_mirror_pad, infer_mirror_pad, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_SLICE, NULL, infer_slice, 0},
    {NNHAL_OP_STRIDED_SLICE, NULL, infer_strided_slice, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_TILE, NULL, infer_tile, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_REVERSE, validate_reverse, infer_reverse, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 8)},
    {NNHAL_OP_CHANNEL_SHUFFLE, NULL, infer_channel_shuffle,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_DEPTH_TO_SPACE, NULL, infer_depth_to_space, NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
    {NNHAL_OP_SPACE_TO_DEPTH, NULL, infer_space_to_depth, NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
    {NNHAL_OP_BATCH_TO_SPACE_ND, NULL, infer_batch_to_space,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
    {NNHAL_OP_SPACE_TO_BATCH_ND, validate_zero_point, infer_space_to_batch,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(4, 4)},
};

NN_OP_FAMILY(move, functions);
