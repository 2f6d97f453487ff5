/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operations: one operand, or two that are stretched to one shape. */
#include "checkkernel/shapes.h"

#include "compiler/internal-op.h"
#include "model/ops.h"

#include <string.h>

static const uint32_t typical[4] = {1, 56, 56, 64};

static void generate_one(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t type = draw_type(draw, row->in0), dims[4];
    uint32_t n_dims = 4 - draw_below(draw, 4);

    draw_dims(draw, n_dims, 400, typical + 4 - n_dims, dims);
    draw_tensor(draw, c, type, n_dims, dims);
    if (type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL)
        draw_channels(draw, &c->inputs[0], draw_below(draw, n_dims));
    if (row->operation == NNHAL_OP_ELU || row->operation == NN_TFLITE_OP(LEAKY_RELU))
        draw_scalar(c, 0.75f);
    draw_output(draw, c, type);
}

/* 1 / 256 for [0, 1], 1 / 128 for [-1, 1], and what tells int8 from uint8; of 16 bits 1 / 32768. */
static void generate_smooth(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    bool is_signed, is_tanh = row->operation == NNHAL_OP_TANH;

    generate_one(draw, c, row);
    if (c->inputs[0].type == NNHAL_TENSOR_QUANT16_SYMM) {
        c->outputs[0].scale = 1.0f / 32768;
        return;
    }
    is_signed = c->inputs[0].type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    c->outputs[0].scale = is_tanh ? 1.0f / 128 : 1.0f / 256;
    c->outputs[0].zero_point = (is_signed ? -128 : 0) + (is_tanh ? 128 : 0);
}

static void generate_converted(struct draw *draw, struct kernel_case *c,
                               const struct nn_kernel *row)
{
    generate_one(draw, c, row);
    c->n_outputs = 0;
    if (row->operation == NNHAL_OP_QUANTIZE)
        draw_output(draw, c, draw_type(draw, row->out0));
    else if (row->operation == NNHAL_OP_DEQUANTIZE)
        draw_output(draw, c, draw_type(draw, row->out0 ? row->out0 : NN_T_F32 | NN_T_F16));
    else
        draw_output(draw, c, draw_type(draw, NN_T_ANY));
}

/* The second operand: the same shape, a row, a column, one element; either may be the shorter. */
static void generate_pair(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    uint32_t type = draw_type(draw, row->in0), dims[2][4], n_dims = 4 - draw_below(draw, 4);
    uint32_t shorter = draw_below(draw, 2), stretched = draw_below(draw, 16);

    draw_dims(draw, n_dims, 300, typical + 4 - n_dims, dims[0]);
    for (uint32_t i = 0; i < n_dims; i++)
        dims[1][i] = stretched >> i & 1 ? 1 : dims[0][i];
    draw_tensor(draw, c, type, n_dims, dims[shorter]);
    draw_tensor(draw, c, type, n_dims, dims[!shorter]);
    draw_output(draw, c, type);
}

static void generate_arithmetic(struct draw *draw, struct kernel_case *c,
                                const struct nn_kernel *row)
{
    generate_pair(draw, c, row);
    kernel_case_i32(c, c->inputs[0].type == NNHAL_TENSOR_INT32 ? 0 : (int32_t)draw_below(draw, 4));
    if (row->operation == NNHAL_OP_MUL)
        c->outputs[0].scale *= c->inputs[0].scale * c->inputs[1].scale * 64.0f;
    if (strncmp(row->name, "coarse_", 7) == 0)
        c->outputs[0].scale /= 256.0f;
}

static void generate_prelu(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    generate_pair(draw, c, row);
    c->outputs[0].scale *= c->inputs[0].scale * c->inputs[1].scale * 64.0f;
}

static void generate_comparison(struct draw *draw, struct kernel_case *c,
                                const struct nn_kernel *row)
{
    generate_pair(draw, c, row);
    c->n_outputs = 0;
    kernel_case_output(c, NNHAL_TENSOR_BOOL8);
}

static void generate_lookup(struct draw *draw, struct kernel_case *c, const struct nn_kernel *row)
{
    static const uint32_t n_codes = 256;
    struct kernel_operand *table;

    generate_one(draw, c, row);
    table = draw_constant(draw, c, c->inputs[0].type, 1, &n_codes, 4);
    for (uint32_t i = 0; draw_coin(draw, 4) && i < n_codes; i++)
        table->data[i] = (uint8_t)(i ^ 0x80);
}

const struct shapes shapes_elementwise[] = {
    {NNHAL_OP_ABS, generate_one},
    {NNHAL_OP_NEG, generate_one},
    {NNHAL_OP_EXP, generate_one},
    {NNHAL_OP_LOG, generate_one},
    {NNHAL_OP_SIN, generate_one},
    {NNHAL_OP_SQRT, generate_one},
    {NNHAL_OP_RSQRT, generate_one},
    {NNHAL_OP_FLOOR, generate_one},
    {NN_TFLITE_OP(COS), generate_one},
    {NN_TFLITE_OP(ROUND), generate_one},
    {NNHAL_OP_RELU, generate_one},
    {NNHAL_OP_RELU1, generate_one},
    {NNHAL_OP_RELU6, generate_one},
    {NNHAL_OP_ELU, generate_one},
    {NN_TFLITE_OP(LEAKY_RELU), generate_one},
    {NNHAL_OP_HARD_SWISH, generate_one},
    {NNHAL_OP_LOGICAL_NOT, generate_one},
    {NNHAL_OP_TANH, generate_smooth},
    {NNHAL_OP_LOGISTIC, generate_smooth},
    {NNHAL_OP_QUANTIZE, generate_converted},
    {NNHAL_OP_DEQUANTIZE, generate_converted},
    {NNHAL_OP_CAST, generate_converted},
    {NNHAL_OP_MAXIMUM, generate_pair},
    {NNHAL_OP_MINIMUM, generate_pair},
    {NNHAL_OP_POW, generate_pair},
    {NN_TFLITE_OP(FLOOR_MOD), generate_pair},
    {NNHAL_OP_LOGICAL_AND, generate_pair},
    {NNHAL_OP_LOGICAL_OR, generate_pair},
    {NNHAL_OP_PRELU, generate_prelu},
    {NNHAL_OP_ADD, generate_arithmetic},
    {NNHAL_OP_SUB, generate_arithmetic},
    {NNHAL_OP_MUL, generate_arithmetic},
    {NNHAL_OP_DIV, generate_arithmetic},
    {NNHAL_OP_EQUAL, generate_comparison},
    {NNHAL_OP_NOT_EQUAL, generate_comparison},
    {NNHAL_OP_LESS, generate_comparison},
    {NNHAL_OP_LESS_EQUAL, generate_comparison},
    {NNHAL_OP_GREATER, generate_comparison},
    {NNHAL_OP_GREATER_EQUAL, generate_comparison},
    {NN_INTERNAL_OP_LUT, generate_lookup},
    {0, NULL},
};
