/* SPDX-License-Identifier: Apache-2.0 */
/* ADD, SUB, MUL, LEAKY_RELU, QUANTIZE and DEQUANTIZE of 16-bit activations, plain C.
 *
 * As TensorFlow Lite computes: AddElementwise and SubElementwise with general scales and 15 bits of
 * fraction, MulElementwise, QuantizeLeakyRelu, AffineQuantize, which divides in double, Requantize. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/sixteen/sixteen.h"
#include "model/operands.h"
#include "model/ops.h"

#include <math.h>

struct element_params {
    int32_t low, high; /* codes */
    /* Of the operands and of their sum; MUL and QUANTIZE have the first, LEAKY_RELU two: of numbers
     * from 0 on, and below. */
    struct nn_multiplier multipliers[3];
    uint32_t negates; /* SUB */
};

static const int16_t *codes_at(const struct nn_kernel_args *args, uint32_t input, size_t at)
{
    return (const int16_t *)args->inputs[input].data + at;
}

static int set_activation(struct nn_lower *lower)
{
    struct element_params *params = lower->params;

    if (!nn_sixteen_bounds(nn_lower_i32(lower, NN_PAIR_ACTIVATION, 0), lower->outputs[0].scale,
                           &params->low, &params->high))
        return nn_lower_refuse(lower, "input 2 is not a fused activation");
    return 0;
}

/* ---- ADD, SUB ---- */

/* Codes times 2^15 are brought to twice the coarser scale, so that their sum fits 32 bits. */
static int lower_sum(struct nn_lower *lower)
{
    float a = lower->inputs[0].scale, b = lower->inputs[1].scale;
    double twice = 2.0 * (double)(a > b ? a : b);
    double reals[3] = {(double)a / twice, (double)b / twice,
                       twice / (32768.0 * (double)lower->outputs[0].scale)};
    struct element_params *params = lower->params;

    for (int i = 0; i < 3; i++) {
        params->multipliers[i] = nn_multiplier_make(reals[i]);
        if (!(reals[i] < 1.0) || params->multipliers[i].shift > 0)
            return nn_lower_refuse(lower, "the output's scale is too small for the inputs' scales");
    }
    params->negates = lower->operation == NNHAL_OP_SUB;
    return set_activation(lower);
}

static void sum_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct element_params *params = args->params;
    const int16_t *a = codes_at(args, 0, row->in0), *b = codes_at(args, 1, row->in1);
    int16_t *out = (int16_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++) {
        int32_t x = nn_multiplier_apply(a[i * row->step0] * 32768, params->multipliers[0]);
        int32_t y = nn_multiplier_apply(b[i * row->step1] * 32768, params->multipliers[1]);
        uint32_t sum = params->negates ? (uint32_t)x - (uint32_t)y : (uint32_t)x + (uint32_t)y;

        out[i] = (int16_t)nn_clamp_i32(nn_multiplier_apply((int32_t)sum, params->multipliers[2]),
                                       params->low, params->high);
    }
}

/* ---- MUL ---- */

static int lower_mul(struct nn_lower *lower)
{
    float product = lower->inputs[0].scale * lower->inputs[1].scale;
    struct element_params *params = lower->params;

    params->multipliers[0] = nn_multiplier_make((double)(product / lower->outputs[0].scale));
    return set_activation(lower);
}

static void mul_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct element_params *params = args->params;
    const int16_t *a = codes_at(args, 0, row->in0), *b = codes_at(args, 1, row->in1);
    int16_t *out = (int16_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = (int16_t)nn_clamp_i32(
            nn_multiplier_apply(a[i * row->step0] * b[i * row->step1], params->multipliers[0]),
            params->low, params->high);
}

/* ---- LEAKY_RELU ---- */

static int lower_leaky_relu(struct nn_lower *lower)
{
    float in = lower->inputs[0].scale, out = lower->outputs[0].scale;
    float slope = nn_lower_f32(lower, 1, 0), below = in * slope;
    struct element_params *params = lower->params;

    params->multipliers[0] = nn_multiplier_make((double)(in / out));
    params->multipliers[1] = nn_multiplier_make((double)(below / out));
    return 0;
}

static void leaky_relu_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct element_params *params = args->params;
    const int16_t *in = codes_at(args, 0, row->in0);
    int16_t *out = (int16_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = nn_sat16(nn_multiplier_apply(in[i], params->multipliers[in[i] < 0]));
}

/* ---- QUANTIZE, DEQUANTIZE ---- */

static void quantize_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const float *in = (const float *)args->inputs[0].data + row->in0;
    int16_t *out = (int16_t *)args->outputs[0].data + row->out;
    double scale = (double)args->outputs[0].scale;

    for (size_t i = 0; i < row->n; i++)
        out[i] = nn_sat16(nn_round_to_i32((double)in[i] / scale));
}

static int lower_requantize(struct nn_lower *lower)
{
    struct element_params *params = lower->params;

    params->multipliers[0] = nn_multiplier_make((double)lower->inputs[0].scale /
                                                (double)lower->outputs[0].scale);
    return 0;
}

static void requantize_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct element_params *params = args->params;
    const struct nn_tensor *to = &args->outputs[0];
    const int16_t *in = codes_at(args, 0, row->in0);

    for (size_t i = 0; i < row->n; i++) {
        int32_t code = nn_multiplier_apply(in[i], params->multipliers[0]);

        if (to->type == NNHAL_TENSOR_QUANT16_SYMM)
            ((int16_t *)to->data)[row->out + i] = nn_sat16(code);
        else
            ((int8_t *)to->data)[row->out + i] = (int8_t)nn_clamp_i32(
                (int32_t)((uint32_t)nn_sat16(code) + (uint32_t)to->zero_point), INT8_MIN, INT8_MAX);
    }
}

static void dequantize_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const int16_t *in = codes_at(args, 0, row->in0);
    float *out = (float *)args->outputs[0].data + row->out;
    float scale = args->inputs[0].scale;

    for (size_t i = 0; i < row->n; i++)
        out[i] = (float)in[i] * scale;
}

#define PAIR(row_name, op, lower_function, row_function)                                           \
    {                                                                                              \
        NN_ROW(row_name "_z16__c", op),                                                            \
            .in0 = NN_T_Z16, .params_bytes = sizeof(struct element_params), .in_place = 3,         \
            .is_elementwise = 1, .lower = lower_function, .walk = nn_broadcast_run,                \
            .row = row_function, .element_cost = 80                                                \
    }

static const struct nn_kernel kernels[] = {
    PAIR("add", ADD, lower_sum, sum_row),
    PAIR("sub", SUB, lower_sum, sum_row),
    PAIR("mul", MUL, lower_mul, mul_row),
    {NN_TFLITE_ROW("leaky_relu_z16__c", LEAKY_RELU), .in0 = NN_T_Z16,
     .params_bytes = sizeof(struct element_params), .in_place = 1, .is_elementwise = 1,
     .lower = lower_leaky_relu, .walk = nn_rows_run, .row = leaky_relu_row, .element_cost = 48},
    {NN_ROW("quantize_f32_z16__c", QUANTIZE), .in0 = NN_T_F32, .out0 = NN_T_Z16,
     .is_elementwise = 1, .walk = nn_rows_run, .row = quantize_row, .element_cost = 96},
    {NN_ROW("quantize_z16__c", QUANTIZE), .in0 = NN_T_Z16, .out0 = NN_T_Z16 | NN_T_S8,
     .params_bytes = sizeof(struct element_params), .is_elementwise = 1, .lower = lower_requantize,
     .walk = nn_rows_run, .row = requantize_row, .element_cost = 48},
    {NN_ROW("dequantize_z16__c", DEQUANTIZE), .in0 = NN_T_Z16, .is_elementwise = 1,
     .walk = nn_rows_run, .row = dequantize_row, .element_cost = 16},
};

NN_KERNEL_FAMILY(sixteen_elements, kernels);
