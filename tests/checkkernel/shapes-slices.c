/* SPDX-License-Identifier: Apache-2.0 */
/* Operations along axes: softmax, normalizations, reductions, the largest element's index. */
#include "checkkernel/shapes.h"

#include "model/ops.h"

static const uint32_t typical[4] = {1, 14, 14, 256};

/* Input 0: 1 to 4 dimensions. Returns: how many. */
static uint32_t add_input(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t dims[4], n_dims = 4 - draw_below(draw, 4);

    draw_dims(draw, n_dims, 300, typical + 4 - n_dims, dims);
    draw_tensor(draw, c, draw_type(draw, row->in0), n_dims, dims);
    return n_dims;
}

/* The last axis, or any, counted from either end. */
static int32_t draw_axis(struct draw *draw, uint32_t n_dims)
{
    return draw_coin(draw, 2) ? (int32_t)draw_below(draw, 2 * n_dims) - (int32_t)n_dims : -1;
}

static bool is_signed(const struct kernel_case *c)
{
    return c->inputs[0].type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
}

static void add_fixed_output(struct draw *draw, struct kernel_case *c, float scale,
                             int32_t zero_point)
{
    struct kernel_operand *output = draw_output(draw, c, c->inputs[0].type);

    output->scale = scale;
    output->zero_point = zero_point;
}

static void generate_softmax(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t n_dims = add_input(draw, c, row);
    int32_t axis = draw_axis(draw, n_dims);

    draw_scalar(c, draw_coin(draw, 3) ? 0.25f + (float)draw_below(draw, 40) / 8.0f : 1.0f);
    if (row->operation == NNHAL_OP_LOG_SOFTMAX || draw_coin(draw, 2))
        kernel_case_i32(c, axis);
    if (c->inputs[0].type == NNHAL_TENSOR_QUANT16_SYMM)
        add_fixed_output(draw, c, 1.0f / 32768, 0);
    else
        add_fixed_output(draw, c, 1.0f / 256, is_signed(c) ? -128 : 0);
}

static void generate_l2(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t n_dims = add_input(draw, c, row);

    if (draw_coin(draw, 2))
        kernel_case_i32(c, draw_axis(draw, n_dims));
    add_fixed_output(draw, c, 1.0f / 128, is_signed(c) ? 0 : 128);
}

static void generate_local_response(struct draw *draw, struct kernel_case *c,
                                    const struct nn_kernel *row)
{
    uint32_t n_dims = add_input(draw, c, row);

    kernel_case_i32(c, 1 + (int32_t)draw_below(draw, 9));
    draw_scalar(c, 1.0f);
    draw_scalar(c, 0.5f);
    draw_scalar(c, 0.75f);
    if (draw_coin(draw, 2))
        kernel_case_i32(c, draw_axis(draw, n_dims));
    draw_output(draw, c, c->inputs[0].type);
}

static void generate_instance(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t type = draw_type(draw, row->in0), dims[4];

    draw_dims(draw, 4, 60, typical, dims);
    draw_tensor(draw, c, type, 4, dims);
    draw_scalar(c, 1.5f);
    draw_scalar(c, 0.5f);
    draw_scalar(c, 0.01f);
    kernel_case_bool(c, draw_coin(draw, 3));
    draw_output(draw, c, type);
}

/* Any axes, in any order, some twice. */
static void generate_reduction(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    uint32_t n_dims = add_input(draw, c, row), n_axes = 1 + draw_below(draw, n_dims);
    struct kernel_operand *axes;

    axes = draw_indices(draw, c, 1, &n_axes, -(int32_t)n_dims, (int32_t)n_dims);
    axes->is_constant = true;
    if (row->operation == NNHAL_OP_MEAN)
        kernel_case_i32(c, (int32_t)draw_below(draw, 2));
    else
        kernel_case_bool(c, draw_coin(draw, 2));
    draw_output(draw, c, c->inputs[0].type);
}

static void generate_arg(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t n_dims = add_input(draw, c, row);

    bool is_wide = row->operation == NN_TFLITE_OP(ARG_MAX) ||
                   row->operation == NN_TFLITE_OP(ARG_MIN);

    kernel_case_i32(c, draw_axis(draw, n_dims));
    kernel_case_output(c, is_wide ? (uint32_t)NN_TYPE_TENSOR_INT64 : NNHAL_TENSOR_INT32);
}

const struct shapes shapes_slices[] = {
    {NNHAL_OP_SOFTMAX, generate_softmax},
    {NNHAL_OP_LOG_SOFTMAX, generate_softmax},
    {NNHAL_OP_L2_NORMALIZATION, generate_l2},
    {NNHAL_OP_LOCAL_RESPONSE_NORMALIZATION, generate_local_response},
    {NNHAL_OP_INSTANCE_NORMALIZATION, generate_instance},
    {NNHAL_OP_MEAN, generate_reduction},
    {NNHAL_OP_REDUCE_MAX, generate_reduction},
    {NNHAL_OP_REDUCE_MIN, generate_reduction},
    {NNHAL_OP_REDUCE_PROD, generate_reduction},
    {NNHAL_OP_REDUCE_SUM, generate_reduction},
    {NNHAL_OP_REDUCE_ALL, generate_reduction},
    {NNHAL_OP_REDUCE_ANY, generate_reduction},
    {NNHAL_OP_ARGMAX, generate_arg},
    {NNHAL_OP_ARGMIN, generate_arg},
    {NN_TFLITE_OP(ARG_MAX), generate_arg},
    {NN_TFLITE_OP(ARG_MIN), generate_arg},
    {0, NULL},
};
