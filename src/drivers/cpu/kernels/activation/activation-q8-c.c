/* SPDX-License-Identifier: Apache-2.0 */
/* RELU, RELU1, RELU6, TANH, LOGISTIC, HARD_SWISH, RELU of nnhal.tflite, of 8-bit quantized tensors, plain C:
 * functions of one code, so each is a table of 256. */
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/fixed-math.h"
#include "drivers/cpu/kernels/common/lut.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"

#include "model/ops.h"

/* ---- RELU, RELU1, RELU6 ---- */

struct bounds {
    int32_t low, high;
};

static int32_t clamp_code(const void *ctx, int32_t code)
{
    const struct bounds *bounds = ctx;

    return nn_clamp_i32(code, bounds->low, bounds->high);
}

static int lower_clamp(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0];
    int32_t code = lower->operation == NNHAL_OP_RELU    ? NNHAL_FUSED_RELU
                   : lower->operation == NNHAL_OP_RELU1 ? NNHAL_FUSED_RELU1
                                                        : NNHAL_FUSED_RELU6;
    struct bounds bounds;

    nn_activation_q8(code, nn_quant_flip(in->type) != 0, in->scale, in->zero_point, &bounds.low,
                     &bounds.high);
    return nn_lut_lower(lower, clamp_code, &bounds);
}

/* ---- RELU to another scale ---- */

struct scaled {
    struct bounds bounds;
    struct nn_multiplier multiplier;
    int32_t in_zero_point, out_zero_point;
};

static int32_t scale_code(const void *ctx, int32_t code)
{
    const struct scaled *scaled = ctx;
    int64_t x = nn_multiplier_apply(code - scaled->in_zero_point, scaled->multiplier);

    return nn_clamp_i32(nn_sat16(x + scaled->out_zero_point), scaled->bounds.low,
                        scaled->bounds.high);
}

/* The quotient is a float, as in TensorFlow Lite. */
static int lower_scaled(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0], *out = &lower->outputs[0];
    struct scaled scaled = {.multiplier = nn_multiplier_make((double)(in->scale / out->scale)),
                            .in_zero_point = in->zero_point,
                            .out_zero_point = out->zero_point};

    if (!nn_activation_q8(nn_lower_i32(lower, 1, 0), nn_quant_flip(out->type) != 0, out->scale,
                          out->zero_point, &scaled.bounds.low, &scaled.bounds.high))
        return nn_lower_refuse(lower, "input 1 is not a fused activation");
    return nn_lut_lower(lower, scale_code, &scaled);
}

/* ---- TANH, LOGISTIC ---- */

/* The input as a number of 4 integer bits; codes beyond the radius saturate. */
struct smooth {
    uint32_t type;
    int32_t zero_point; /* of the input */
    struct nn_multiplier multiplier;
    int32_t radius;
    int32_t (*function)(int32_t a);
    int drop_bits; /* from Q0 to codes */
    int32_t out_zero_point;
};

static int32_t smooth_code(const void *ctx, int32_t code)
{
    const struct smooth *smooth = ctx;
    bool is_signed = smooth->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    int32_t low = nn_quant_low(smooth->type);
    int32_t high = nn_quant_high(smooth->type);
    int32_t v = code - smooth->zero_point;
    /* The signed form saturates at the radius already; one of 0 would take 0 for an end. */
    int32_t last = is_signed && smooth->radius > 0 ? smooth->radius - 1 : smooth->radius;
    int32_t a, result;

    if (v > last)
        return high;
    if (v < -last)
        return low;
    a = nn_srdhm(nn_shl_wrap(v, smooth->multiplier.shift), smooth->multiplier.mantissa);
    result = nn_rdp(smooth->function(a), smooth->drop_bits) + smooth->out_zero_point;
    return nn_clamp_i32(result, low, high);
}

static int lower_smooth(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0];
    bool is_tanh = lower->operation == NNHAL_OP_TANH;
    struct smooth smooth = {.type = in->type,
                            .zero_point = in->zero_point,
                            .multiplier = nn_multiplier_make((double)in->scale * 0x1p27),
                            .function = is_tanh ? nn_fx_tanh : nn_fx_logistic,
                            .drop_bits = is_tanh ? 24 : 23,
                            .out_zero_point = nn_quant_low(in->type) + (is_tanh ? 128 : 0)};

    smooth.radius = nn_fx_radius(4, smooth.multiplier.shift);
    return nn_lut_lower(lower, smooth_code, &smooth);
}

/* ---- HARD_SWISH ---- */

struct hard_swish {
    uint32_t type;
    int32_t zero_point, out_zero_point;
    int16_t out_mantissa, relu_mantissa;
    int out_shift, relu_shift;
};

/* relu6(x + 3) / 6 of x, 7 bits finer than its code, as Q0 of 16 bits. */
static int32_t hard_swish_gate(const struct hard_swish *swish, int16_t fine)
{
    int16_t gate = fine;

    if (swish->relu_shift > 0)
        gate = nn_sat16((int64_t)gate * (INT64_C(1) << (swish->relu_shift - 1)));
    gate = nn_mul16(gate, swish->relu_mantissa);
    if (swish->relu_shift > 0)
        gate = nn_sat16((int64_t)gate * 2);
    if (swish->relu_shift < 0)
        gate = (int16_t)nn_rdp(gate, -swish->relu_shift);
    return (gate + 32768) >> 1;
}

static int32_t hard_swish_code(const void *ctx, int32_t code)
{
    const struct hard_swish *swish = ctx;
    int16_t fine = (int16_t)((code - swish->zero_point) * 128); /* at most 255 * 128 */
    int32_t scaled = nn_mul16(fine, swish->out_mantissa);
    int32_t product = hard_swish_gate(swish, fine) * scaled / 32768;
    int32_t result = nn_rdp(product, -swish->out_shift) + swish->out_zero_point;

    return nn_clamp_i32(result, nn_quant_low(swish->type), nn_quant_high(swish->type));
}

static int16_t mantissa_16(struct nn_multiplier multiplier)
{
    return nn_sat16(((int64_t)multiplier.mantissa + 32768) >> 16);
}

static int lower_hard_swish(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0];
    const struct nn_lower_operand *out = &lower->outputs[0];
    float fine = in->scale / 128.0f;
    struct nn_multiplier to_out = nn_multiplier_make((double)(fine / out->scale));
    struct nn_multiplier to_relu = nn_multiplier_make((double)(fine / (3.0f / 32768.0f)));
    struct hard_swish swish = {.type = in->type,
                               .zero_point = in->zero_point,
                               .out_zero_point = out->zero_point,
                               .out_mantissa = mantissa_16(to_out),
                               .relu_mantissa = mantissa_16(to_relu),
                               .out_shift = to_out.shift,
                               .relu_shift = to_relu.shift};

    if (to_out.shift > 0)
        return nn_lower_refuse(lower, "the output's scale is below 1/128 of the input's");
    return nn_lut_lower(lower, hard_swish_code, &swish);
}

#define ROW(head, lower_function)                                                                  \
    {                                                                                              \
        head, .in0 = NN_T_U8 | NN_T_S8, .weights_bytes = 256, .in_place = 1, .is_elementwise = 1,  \
              .lower = lower_function, .walk = nn_rows_run, .row = nn_lut_row,                     \
              .element_cost = NN_LUT_COST                                                          \
    }

static const struct nn_kernel kernels[] = {
    ROW(NN_VARIANT_ROW("relu_q8", RELU), lower_clamp),
    ROW(NN_VARIANT_ROW("relu1_q8", RELU1), lower_clamp),
    ROW(NN_VARIANT_ROW("relu6_q8", RELU6), lower_clamp),
    ROW(NN_VARIANT_ROW("tanh_q8", TANH), lower_smooth),
    ROW(NN_VARIANT_ROW("logistic_q8", LOGISTIC), lower_smooth),
    ROW(NN_VARIANT_ROW("hard_swish_q8", HARD_SWISH), lower_hard_swish),
    ROW(NN_VARIANT_TFLITE_ROW("scaled_relu_q8", RELU), lower_scaled),
};

NN_VARIANT_FAMILY(activation_q8, kernels);
