/* SPDX-License-Identifier: Apache-2.0 */
/* RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, HARD_SWISH, LEAKY_RELU and RELU of nnhal.tflite: all take zero-sized inputs */
#include "model/infer.h"

#include "base/cleanup.h"

#include <math.h>

/* TensorFlow Lite's form of 16 bits brings codes to steps of 1/12288 by a multiplier below 2^16 and a
 * shift of up to 31 bits. A result of another scale than the form's would be read wrongly. */
static int infer_smooth_sixteen(struct nn_infer *infer)
{
    const struct nn_infer_operand *output = &infer->outputs[0];
    double scale = (double)infer->inputs[0].scale;

    if (!(scale * 12288.0 < 65536.0))
        return nn_refuse(infer->why, "the input's scale %g is too large", scale);
    if (!(scale * 12288.0 * 0x1p31 >= 1.0))
        return nn_refuse(infer->why, "the input's scale %g is too small", scale);
    if (output->scale != 1.0f / 32768)
        return nn_refuse(infer->why, "the output has scale %g, it must be 1/32768",
                         (double)output->scale);
    return 0;
}

/* LOGISTIC and TANH bring the input to 4 integer bits by a multiplier above 1. */
static int infer_smooth(struct nn_infer *infer, float scale, int32_t zero_point,
                        int32_t zero_point_signed)
{
    uint32_t type = infer->inputs[0].type;

    nn_infer_set_dims_like(infer, 0, 0);
    if (type == NNHAL_TENSOR_QUANT16_SYMM)
        return infer_smooth_sixteen(infer);
    if (type != NNHAL_TENSOR_QUANT8_ASYMM && type != NNHAL_TENSOR_QUANT8_ASYMM_SIGNED)
        return 0;
    if (!((double)infer->inputs[0].scale * 0x1p27 > 1.0))
        return nn_refuse(infer->why, "the input's scale %g is too small",
                         (double)infer->inputs[0].scale);
    nn_infer_set_quant(infer, 0, scale,
                       type == NNHAL_TENSOR_QUANT8_ASYMM ? zero_point : zero_point_signed);
    return 0;
}

static int infer_logistic(struct nn_infer *infer)
{
    return infer_smooth(infer, 1.0f / 256, 0, -128);
}

static int infer_tanh(struct nn_infer *infer)
{
    return infer_smooth(infer, 1.0f / 128, 128, 0);
}

/* The fixed-point form needs an output step of at least 1/128 of the input's. */
static int infer_hard_swish(struct nn_infer *infer)
{
    float scale = infer->inputs[0].scale / 128.0f / infer->outputs[0].scale;
    bool is_quantized = infer->inputs[0].type == NNHAL_TENSOR_QUANT8_ASYMM ||
                        infer->inputs[0].type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    int exponent;

    if (is_quantized) {
        (void)frexpf(scale, &exponent);
        if (exponent > 0)
            return nn_refuse(infer->why,
                             "the output's scale %g is below 1/128 of the input's scale %g",
                             (double)infer->outputs[0].scale, (double)infer->inputs[0].scale);
    }
    return nn_infer_same_dims(infer);
}

static int infer_leaky_relu(struct nn_infer *infer)
{
    float slope;
    int r = nn_infer_float(infer, 1, &slope);

    if (r)
        return r;
    if (!(slope >= 0.0f))
        return nn_refuse(infer->why, "the slope %g is below 0", (double)slope);
    return nn_infer_same_dims(infer);
}

static int infer_scaled_relu(struct nn_infer *infer)
{
    int32_t code;

    if (nn_infer_i32(infer, 1, &code) == 0 && (code < NNHAL_FUSED_RELU || code > NNHAL_FUSED_RELU6))
        return nn_refuse(infer->why, "input 1 is %d, which is no RELU", code);
    return nn_infer_same_dims(infer);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_RELU, NULL, nn_infer_same, 0},
    {NNHAL_OP_RELU1, NULL, nn_infer_same, 0},
    {NNHAL_OP_RELU6, NULL, nn_infer_same, 0},
    {NNHAL_OP_TANH, NULL, infer_tanh, 0},
    {NNHAL_OP_LOGISTIC, NULL, infer_logistic, 0},
    {NNHAL_OP_ELU, NULL, nn_infer_same_dims, 0},
    {NNHAL_OP_HARD_SWISH, NULL, infer_hard_swish, 0},
    {NN_TFLITE_OP(LEAKY_RELU), NULL, infer_leaky_relu, 0},
    {NN_TFLITE_OP(RELU), NULL, infer_scaled_relu, 0},
};

NN_OP_FAMILY(activation, functions);
