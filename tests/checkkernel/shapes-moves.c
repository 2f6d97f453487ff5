/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements: padding, slices, transposition, joining, looking up. */
#include "checkkernel/shapes.h"

#include "model/ops.h"

static const uint32_t typical[4] = {1, 56, 56, 64};

/* Input 0: 1 to 4 dimensions, dims of which are in ret. Returns: how many. */
static uint32_t add_input(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row,
                          uint32_t *ret_dims)
{
    uint32_t n_dims = 4 - draw_below(draw, 4);

    draw_dims(draw, n_dims, 40, typical + 4 - n_dims, ret_dims);
    draw_tensor(draw, c, draw_type(draw, row->in0), n_dims, ret_dims);
    return n_dims;
}

static void add_same_output(struct kernel_case *c)
{
    struct kernel_operand *output = kernel_case_output(c, c->inputs[0].type);

    output->scale = c->inputs[0].scale;
    output->zero_point = c->inputs[0].zero_point;
}

static int32_t draw_axis(struct draw *draw, uint32_t n_dims)
{
    return (int32_t)draw_below(draw, 2 * n_dims) - (int32_t)n_dims;
}

static void add_numbers(struct kernel_case *c, uint32_t n, const int32_t *numbers)
{
    kernel_case_i32s(c, n, numbers)->is_constant = true;
}

static void generate_pad(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);
    struct kernel_operand *paddings;

    paddings = draw_indices(draw, c, 2, (uint32_t[]){n_dims, 2}, 0, 4);
    paddings->is_constant = true;
    if (row->operation == NNHAL_OP_PAD_V2) {
        if (c->inputs[0].type == NNHAL_TENSOR_FLOAT32 || c->inputs[0].type == NNHAL_TENSOR_FLOAT16)
            draw_scalar(c, 1.5f);
        else
            kernel_case_i32(c, (int32_t)draw_below(draw, 100));
    }
    if (row->operation == NNHAL_OP_MIRROR_PAD)
        kernel_case_i32(c, (int32_t)draw_below(draw, 2));
    add_same_output(c);
}

static void generate_transpose(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    int32_t order[4] = {0, 1, 2, 3};
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);

    for (uint32_t i = n_dims; i > 1; i--) {
        uint32_t other = draw_below(draw, i);
        int32_t last = order[i - 1];

        order[i - 1] = order[other];
        order[other] = last;
    }
    add_numbers(c, n_dims, order);
    add_same_output(c);
}

static void generate_slice(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    int32_t begin[4], size[4];
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);

    for (uint32_t i = 0; i < n_dims; i++) {
        begin[i] = (int32_t)draw_below(draw, dims[i]);
        size[i] = draw->is_bench ? (int32_t)dims[i]
                                 : 1 + (int32_t)draw_below(draw, dims[i] - (uint32_t)begin[i]);
    }
    add_numbers(c, n_dims, begin);
    add_numbers(c, n_dims, size);
    add_same_output(c);
}

static void generate_strided_slice(struct draw *draw, struct kernel_case *c,
                                   const struct nn_kernel *row)
{
    int32_t begin[4], end[4], step[4];
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);

    for (uint32_t i = 0; i < n_dims; i++) {
        bool is_back = draw_coin(draw, 3);

        step[i] = (1 + (int32_t)draw_below(draw, 3)) * (is_back ? -1 : 1);
        begin[i] = is_back ? (int32_t)dims[i] - 1 : (int32_t)draw_below(draw, dims[i]);
        end[i] = is_back ? (int32_t)draw_below(draw, dims[i]) : (int32_t)dims[i];
    }
    add_numbers(c, n_dims, begin);
    add_numbers(c, n_dims, end);
    add_numbers(c, n_dims, step);
    for (uint32_t i = 0; i < 3; i++)
        kernel_case_i32(c, (int32_t)draw_below(draw, 1u << n_dims) & (i == 2 ? 0 : 15));
    add_same_output(c);
}

static void generate_tile(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);

    draw_indices(draw, c, 1, &n_dims, 1, 4)->is_constant = true;
    add_same_output(c);
}

static void generate_reverse(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims), one = 1;

    draw_indices(draw, c, 1, &one, 0, (int32_t)n_dims)->is_constant = true;
    add_same_output(c);
}

/* To one dimension, or with one more. */
static void generate_reshape(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);
    const int32_t flat[] = {1, -1};

    if (row->operation == NNHAL_OP_EXPAND_DIMS)
        kernel_case_i32(c, draw_axis(draw, n_dims));
    else if (row->operation == NNHAL_OP_RESHAPE)
        add_numbers(c, 2, flat);
    else
        kernel_case_omit(c, NNHAL_TENSOR_INT32);
    add_same_output(c);
}

static void generate_rank(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4];

    add_input(draw, c, row, dims);
    kernel_case_output(c, NNHAL_INT32);
}

static void generate_fill(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t n_dims = 4 - draw_below(draw, 4);
    bool is_float = draw_coin(draw, 2);

    draw_indices(draw, c, 1, &n_dims, 1, 12)->is_constant = true;
    if (is_float)
        kernel_case_f32(c, 2.5f);
    else
        kernel_case_i32(c, -7);
    kernel_case_output(c, is_float ? NNHAL_TENSOR_FLOAT32 : NNHAL_TENSOR_INT32);
}

static void generate_shuffle(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4), groups = draw_size(draw, 6, 4);
    uint32_t axis = n_dims - 1 - draw_below(draw, n_dims);

    draw_dims(draw, n_dims, 20, typical + 4 - n_dims, dims);
    dims[axis] = groups * draw_size(draw, 6, 16);
    draw_tensor(draw, c, draw_type(draw, row->in0), n_dims, dims);
    kernel_case_i32(c, (int32_t)groups);
    kernel_case_i32(c, (int32_t)axis);
    add_same_output(c);
}

/* Blocks of depth become blocks of space, or back. */
static void generate_depth(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t block = draw_size(draw, 4, 2), dims[4];
    bool is_nchw = draw_coin(draw, 3), is_to_space = row->operation == NNHAL_OP_DEPTH_TO_SPACE;

    draw_dims(draw, 4, 9, typical, dims);
    for (uint32_t i = 1; i < 4; i++)
        if (is_to_space ? i == (is_nchw ? 1u : 3u) : i != (is_nchw ? 1u : 3u))
            dims[i] *= is_to_space ? block * block : block;
    draw_tensor(draw, c, draw_type(draw, row->in0), 4, dims);
    kernel_case_i32(c, (int32_t)block);
    kernel_case_bool(c, is_nchw);
    add_same_output(c);
}

static void generate_batch(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    int32_t blocks[2] = {1 + (int32_t)draw_below(draw, 3), 1 + (int32_t)draw_below(draw, 3)};
    uint32_t dims[4];
    bool is_nchw = draw_coin(draw, 3), is_from_batch = row->operation == NNHAL_OP_BATCH_TO_SPACE_ND;
    uint32_t height = is_nchw ? 2 : 1;

    draw_dims(draw, 4, 9, typical, dims);
    if (is_from_batch)
        dims[0] *= (uint32_t)(blocks[0] * blocks[1]);
    for (uint32_t i = 0; !is_from_batch && i < 2; i++)
        dims[height + i] *= (uint32_t)blocks[i];
    draw_tensor(draw, c, draw_type(draw, row->in0), 4, dims);
    add_numbers(c, 2, blocks);
    if (!is_from_batch) {
        const int32_t paddings[] = {blocks[0], 0, 0, blocks[1]};

        kernel_case_tensor(c, NNHAL_TENSOR_INT32, 2, (uint32_t[]){2, 2}, paddings)->is_constant =
            true;
    }
    kernel_case_bool(c, is_nchw);
    add_same_output(c);
}

/* ---- several tensors ---- */

static void generate_join(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4), n = 1 + draw_below(draw, 4);
    uint32_t axis = draw_below(draw, n_dims), type = draw_type(draw, row->in0);

    if (row->operation == NNHAL_OP_PACK)
        kernel_case_i32(c, (int32_t)axis);
    draw_dims(draw, n_dims, 12, typical + 4 - n_dims, dims);
    for (uint32_t i = 0; i < n; i++) {
        if (row->operation == NNHAL_OP_CONCATENATION)
            dims[axis] = draw_size(draw, 40, 64);
        draw_tensor(draw, c, type, n_dims, dims);
    }
    if (row->operation == NNHAL_OP_CONCATENATION)
        kernel_case_i32(c, (int32_t)axis);
    draw_output(draw, c, type);
    if (row->operation == NNHAL_OP_PACK) {
        for (uint32_t i = 1; i <= n; i++) {
            c->inputs[i].scale = c->outputs[0].scale;
            c->inputs[i].zero_point = c->outputs[0].zero_point;
        }
    }
}

static void generate_split(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4), n = 1 + draw_below(draw, 4);
    uint32_t axis = draw_below(draw, n_dims);

    draw_dims(draw, n_dims, 12, typical + 4 - n_dims, dims);
    dims[axis] *= n;
    draw_tensor(draw, c, draw_type(draw, row->in0), n_dims, dims);
    kernel_case_i32(c, (int32_t)axis);
    kernel_case_i32(c, (int32_t)n);
    for (uint32_t i = 0; i < n; i++)
        add_same_output(c);
}

static void generate_select(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4), type = draw_type(draw, row->in1);

    draw_dims(draw, n_dims, 40, typical + 4 - n_dims, dims);
    draw_tensor(draw, c, NNHAL_TENSOR_BOOL8, n_dims, dims);
    draw_tensor(draw, c, type, n_dims, dims);
    draw_tensor(draw, c, type, n_dims, dims);
    draw_output(draw, c, type);
}

static void generate_topk(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims);

    kernel_case_i32(c, 1 + (int32_t)draw_below(draw, dims[n_dims - 1]));
    add_same_output(c);
    kernel_case_output(c, NNHAL_TENSOR_INT32);
}

static void generate_gather(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = add_input(draw, c, row, dims), axis = draw_below(draw, n_dims);
    uint32_t n = draw_size(draw, 20, 16);

    kernel_case_i32(c, (int32_t)axis);
    draw_indices(draw, c, 1, &n, 0, (int32_t)dims[axis]);
    add_same_output(c);
}

static void generate_embedding(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 3), n = draw_size(draw, 20, 16);

    draw_dims(draw, n_dims, 20, typical + 4 - n_dims, dims);
    draw_indices(draw, c, 1, &n, 0, (int32_t)dims[0]);
    draw_tensor(draw, c, draw_type(draw, row->in1), n_dims, dims);
    draw_output(draw, c, c->inputs[1].type);
    c->outputs[0].scale = c->inputs[1].scale;
    c->outputs[0].zero_point = c->inputs[1].zero_point;
}

static void generate_shape(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4);

    draw_dims(draw, n_dims, 20, typical + 4 - n_dims, dims);
    draw_tensor(draw, c, draw_type(draw, NN_T_F32 | NN_T_I32 | NN_T_U8), n_dims, dims);
    kernel_case_output(c, draw_coin(draw, 2) ? (uint32_t)NN_TYPE_TENSOR_INT64 : NNHAL_TENSOR_INT32);
}

/* Slabs along the first dimension, several of them in one place. */
static void generate_scatter(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 3), n = draw_size(draw, 20, 16);
    const uint32_t types = NN_T_F32 | NN_T_I32 | NN_T_U8 | NN_T_S8 | NN_T_B8;
    int32_t target[4];

    draw_dims(draw, n_dims, 20, typical + 4 - n_dims, dims);
    for (uint32_t d = 0; d < n_dims; d++)
        target[d] = (int32_t)dims[d];
    draw_indices(draw, c, 2, (uint32_t[]){n, 1}, 0, target[0]);
    dims[0] = n;
    draw_tensor(draw, c, draw_type(draw, types), n_dims, dims);
    kernel_case_tensor(c, NNHAL_TENSOR_INT32, 1, &n_dims, target)->is_constant = true;
    kernel_case_output(c, c->inputs[1].type);
    c->outputs[0].scale = c->inputs[1].scale;
    c->outputs[0].zero_point = c->inputs[1].zero_point;
}

static void generate_rfft(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 3), two = 2;
    const int32_t lengths[2] = {1 << draw_below(draw, 5), 1 << draw_below(draw, 7)};

    draw_dims(draw, n_dims, 20, typical + 4 - n_dims, dims);
    draw_tensor(draw, c, NNHAL_TENSOR_FLOAT32, n_dims, dims);
    kernel_case_tensor(c, NNHAL_TENSOR_INT32, 1, &two, lengths)->is_constant = true;
    kernel_case_output(c, NNHAL_TENSOR_FLOAT32);
}

static void generate_pairs(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4);

    draw_dims(draw, n_dims, 20, typical + 4 - n_dims, dims);
    dims[n_dims - 1] *= 2;
    draw_tensor(draw, c, NNHAL_TENSOR_FLOAT32, n_dims, dims);
    kernel_case_output(c, NNHAL_TENSOR_FLOAT32);
}

static void generate_resize(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4];

    draw_dims(draw, 4, 16, typical, dims);
    draw_tensor(draw, c, draw_type(draw, row->in0), 4, dims);
    for (uint32_t i = 0; i < 2; i++) /* width, height */
        kernel_case_i32(c, (int32_t)draw_size(draw, 30, 112));
    kernel_case_bool(c, draw_coin(draw, 3));
    kernel_case_bool(c, draw_coin(draw, 3));
    kernel_case_bool(c, draw_coin(draw, 3));
    add_same_output(c);
}

const struct shapes shapes_moves[] = {
    {NNHAL_OP_PAD, generate_pad},
    {NNHAL_OP_PAD_V2, generate_pad},
    {NNHAL_OP_MIRROR_PAD, generate_pad},
    {NNHAL_OP_TRANSPOSE, generate_transpose},
    {NNHAL_OP_SLICE, generate_slice},
    {NNHAL_OP_STRIDED_SLICE, generate_strided_slice},
    {NNHAL_OP_TILE, generate_tile},
    {NNHAL_OP_REVERSE, generate_reverse},
    {NNHAL_OP_RESHAPE, generate_reshape},
    {NNHAL_OP_SQUEEZE, generate_reshape},
    {NNHAL_OP_EXPAND_DIMS, generate_reshape},
    {NNHAL_OP_RANK, generate_rank},
    {NNHAL_OP_FILL, generate_fill},
    {NNHAL_OP_CHANNEL_SHUFFLE, generate_shuffle},
    {NNHAL_OP_DEPTH_TO_SPACE, generate_depth},
    {NNHAL_OP_SPACE_TO_DEPTH, generate_depth},
    {NNHAL_OP_BATCH_TO_SPACE_ND, generate_batch},
    {NNHAL_OP_SPACE_TO_BATCH_ND, generate_batch},
    {NNHAL_OP_CONCATENATION, generate_join},
    {NNHAL_OP_PACK, generate_join},
    {NNHAL_OP_SPLIT, generate_split},
    {NNHAL_OP_SELECT, generate_select},
    {NNHAL_OP_TOPK_V2, generate_topk},
    {NNHAL_OP_GATHER, generate_gather},
    {NN_TFLITE_OP(SHAPE), generate_shape},
    {NN_TFLITE_OP(SCATTER_ND), generate_scatter},
    {NN_TFLITE_OP(RFFT2D), generate_rfft},
    {NN_TFLITE_OP(COMPLEX_ABS), generate_pairs},
    {NN_TFLITE_OP(REAL), generate_pairs},
    {NN_TFLITE_OP(IMAG), generate_pairs},
    {NNHAL_OP_EMBEDDING_LOOKUP, generate_embedding},
    {NNHAL_OP_RESIZE_BILINEAR, generate_resize},
    {NNHAL_OP_RESIZE_NEAREST_NEIGHBOR, generate_resize},
    {0, NULL},
};
