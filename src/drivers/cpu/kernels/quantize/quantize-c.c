/* SPDX-License-Identifier: Apache-2.0 */
/* QUANTIZE, DEQUANTIZE, CAST, plain C. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/round.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <errno.h>
#include <string.h>

/* ---- QUANTIZE ---- */

/* clamp(round(x / scale) + zero point), half away from zero; a NaN gives the
 * highest code. */
static void quantize_chunk(const float *in, uint8_t *out, size_t n, const struct nn_tensor *to)
{
    float scale = to->scale;
    int32_t zero = to->zero_point;
    int32_t low = nn_quant_low(to->type);
    int32_t high = nn_quant_high(to->type);

    for (size_t i = 0; i < n; i++) {
        float x = in[i] / scale;
        int32_t code;

        x = x < 1000.0f ? x : 1000.0f;
        x = x > -1000.0f ? x : -1000.0f;
        code = nn_round_near(x) + zero;
        out[i] = (uint8_t)nn_clamp_i32(code, low, high);
    }
}

static void quantize_row_f32(const struct nn_kernel_args *args, const struct nn_row *row)
{
    quantize_chunk((const float *)args->inputs[0].data + row->in0,
                   (uint8_t *)args->outputs[0].data + row->out, row->n, &args->outputs[0]);
}

static void quantize_row_f16(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const uint16_t *in = (const uint16_t *)args->inputs[0].data + row->in0;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    float wide[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, row->n - i);

        nn_f16_widen(wide, in + i, n);
        quantize_chunk(wide, out + i, n, &args->outputs[0]);
    }
}

/* ---- DEQUANTIZE ---- */

/* nn_quant_real() of n codes, whose kind is a constant where this is called. */
NN_INLINE void dequantize_chunk(const uint8_t *in, float *out, size_t n,
                                const struct nn_tensor *from, const uint32_t flip)
{
    const int32_t zero_point = from->zero_point;
    const float scale = from->scale;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = nn_quant_real(nn_quant_code(in[i], flip), zero_point, scale);
}

/* TENSOR_QUANT8_SYMM is signed as well. */
static void dequantize_codes(const uint8_t *in, float *out, size_t n, const struct nn_tensor *from)
{
    if (from->type == NNHAL_TENSOR_QUANT8_ASYMM)
        dequantize_chunk(in, out, n, from, 0);
    else
        dequantize_chunk(in, out, n, from, 0x80);
}

static void dequantize_row_f32(const struct nn_kernel_args *args, const struct nn_row *row)
{
    dequantize_codes((const uint8_t *)args->inputs[0].data + row->in0,
                     (float *)args->outputs[0].data + row->out, row->n, &args->inputs[0]);
}

static void dequantize_row_f16(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const uint8_t *in = (const uint8_t *)args->inputs[0].data + row->in0;
    uint16_t *out = (uint16_t *)args->outputs[0].data + row->out;
    float wide[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, row->n - i);

        dequantize_codes(in + i, wide, n, &args->inputs[0]);
        nn_narrow(out + i, wide, n);
    }
}

/* Per-channel scales are weights. */
struct channel_params {
    uint32_t channel_dim;
    uint32_t n_channels;
};

static int lower_dequantize_channels(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0];
    struct channel_params *params = lower->params;
    float *scales;

    if (in->channel_dim >= in->n_dims || in->n_channel_scales != in->dims[in->channel_dim])
        return nn_lower_refuse(lower, "input 0 has %u scales for another number of channels",
                               in->n_channel_scales);
    params->channel_dim = in->channel_dim;
    params->n_channels = in->n_channel_scales;
    scales = nn_lower_weights(lower, (uint64_t)in->n_channel_scales * sizeof(float));
    if (!scales)
        return -ENOMEM;
    memcpy(scales, in->channel_scales, in->n_channel_scales * sizeof(float));
    return 0;
}

static bool check_channels(const struct nn_kernel_step *step)
{
    const struct channel_params *params = step->params;

    return params->channel_dim < step->inputs[0].n_dims &&
           step->inputs[0].dims[params->channel_dim] == params->n_channels &&
           step->weights_bytes / sizeof(float) >= params->n_channels;
}

static int nn_dequantize_qpc(const struct nn_kernel_args *args)
{
    const struct channel_params *params = args->params;
    const struct nn_tensor *in = &args->inputs[0];
    const float *scales = (const float *)(const void *)args->weights;
    const int8_t *codes = in->data;
    size_t n = nn_tensor_count(in), inner = 1;
    struct nn_pace pace = nn_pace(args->stop);

    for (uint32_t d = params->channel_dim + 1; d < in->n_dims; d++)
        inner *= in->dims[d];
    for (size_t i = 0; i < n && !nn_pace_ends(&pace, 5); i++) {
        float real = (float)codes[i] * scales[i / inner % params->n_channels];

        if (args->outputs[0].type == NNHAL_TENSOR_FLOAT16)
            ((uint16_t *)args->outputs[0].data)[i] = nn_f32_to_f16(real);
        else
            ((float *)args->outputs[0].data)[i] = real;
    }
    return 0;
}

/* ---- CAST ---- */

/* Every element type fits a double. */
static void load_doubles(const struct nn_tensor *tensor, size_t at, size_t n, double *to)
{
    switch (tensor->type) {
    case NNHAL_TENSOR_FLOAT32:
        for (size_t i = 0; i < n; i++)
            to[i] = (double)((const float *)tensor->data)[at + i];
        break;
    case NNHAL_TENSOR_FLOAT16:
        for (size_t i = 0; i < n; i++)
            to[i] = (double)nn_f16_to_f32(((const uint16_t *)tensor->data)[at + i]);
        break;
    case NNHAL_TENSOR_INT32:
        for (size_t i = 0; i < n; i++)
            to[i] = ((const int32_t *)tensor->data)[at + i];
        break;
    default:
        for (size_t i = 0; i < n; i++)
            to[i] = ((const uint8_t *)tensor->data)[at + i];
        break;
    }
}

/* Truncated toward zero and saturated; a NaN gives 0. */
static int32_t truncate_to(double x, double low, double high)
{
    x = x > low ? x : x <= low ? low : 0.0;
    return (int32_t)(x < high ? x : high);
}

static void store_doubles(const struct nn_tensor *tensor, size_t at, size_t n, const double *from)
{
    switch (tensor->type) {
    case NNHAL_TENSOR_FLOAT32:
        for (size_t i = 0; i < n; i++)
            ((float *)tensor->data)[at + i] = (float)from[i];
        break;
    case NNHAL_TENSOR_FLOAT16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)tensor->data)[at + i] = nn_f32_to_f16((float)from[i]);
        break;
    case NNHAL_TENSOR_INT32:
        for (size_t i = 0; i < n; i++)
            ((int32_t *)tensor->data)[at + i] = truncate_to(from[i], INT32_MIN, INT32_MAX);
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)tensor->data)[at + i] = (uint8_t)truncate_to(from[i], 0, 255);
        break;
    }
}

static void cast_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    double wide[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, row->n - i);

        load_doubles(&args->inputs[0], row->in0 + i, n, wide);
        store_doubles(&args->outputs[0], row->out + i, n, wide);
    }
}

static int nn_cast(const struct nn_kernel_args *args)
{
    struct nn_pace pace = nn_pace(args->stop);

    if (args->inputs[0].type == args->outputs[0].type)
        nn_pace_copy(&pace, args->outputs[0].data, args->inputs[0].data, args->inputs[0].size);
    else
        nn_rows_run(args, 40, cast_row);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("quantize_f32", QUANTIZE), .in0 = NN_T_F32, .out0 = NN_T_U8 | NN_T_S8,
     .is_elementwise = 1, .walk = nn_rows_run, .row = quantize_row_f32, .element_cost = 24},
    {NN_VARIANT_ROW("quantize_f16", QUANTIZE), .in0 = NN_T_F16, .out0 = NN_T_U8 | NN_T_S8,
     .is_elementwise = 1, .walk = nn_rows_run, .row = quantize_row_f16, .element_cost = 48},
    {NN_VARIANT_ROW("dequantize_q8", DEQUANTIZE),
     .in0 = NN_T_U8 | NN_T_S8 | NN_T(TENSOR_QUANT8_SYMM), .out0 = NN_T_F32, .is_elementwise = 1,
     .walk = nn_rows_run, .row = dequantize_row_f32, .element_cost = 4},
    {NN_VARIANT_ROW("dequantize_q8_f16", DEQUANTIZE),
     .in0 = NN_T_U8 | NN_T_S8 | NN_T(TENSOR_QUANT8_SYMM), .out0 = NN_T_F16, .is_elementwise = 1,
     .walk = nn_rows_run, .row = dequantize_row_f16, .element_cost = 8},
    {NN_VARIANT_ROW("dequantize_qpc", DEQUANTIZE), .in0 = NN_T_QPC,
     .params_bytes = sizeof(struct channel_params), .lower = lower_dequantize_channels,
     .run = nn_dequantize_qpc, .check = check_channels},
    {NN_VARIANT_ROW("cast", CAST), .in0 = NN_T_ANY, .run = nn_cast},
};

NN_VARIANT_FAMILY(quantize, kernels);
