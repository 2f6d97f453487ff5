/* SPDX-License-Identifier: Apache-2.0 */
/* L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION, plain C, along any axis. */
#include "drivers/cpu/kernels/common/fixed-math.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/slices.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <errno.h>
#include <math.h>

/* ---- L2_NORMALIZATION ---- */

struct l2_params {
    uint32_t axis;
    uint32_t is_last; /* the axis is the last one */
};

static bool check_axis(const struct nn_kernel_step *step)
{
    const uint32_t *axis = step->params; /* the first member of both kinds of parameters */

    return *axis < step->inputs[0].n_dims;
}

static bool find_normalize_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    return nn_slices_find_scratch(step, *(const uint32_t *)step->params, ret);
}

static int lower_l2(struct nn_lower *lower)
{
    struct l2_params *params = lower->params;
    const struct nn_lower_operand *in = &lower->inputs[0];

    if (!nn_slices_axis(lower, 1, -1, &params->axis))
        return nn_lower_refuse(lower, "input 1 is not an axis of input 0");
    params->is_last = params->axis == in->n_dims - 1;
    return 0;
}

/* x / max(|x|, 1e-6): a slice of zeros stays one. */
static void l2_slice(const struct nn_kernel_args *args, const float *in, float *out, size_t n)
{
    struct nn_pace pace = nn_pace(args->stop);
    double sum = 0.0;
    float norm;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            sum += (double)in[i] * (double)in[i];
    norm = sqrtf((float)sum);
    norm = norm > 1e-6f ? norm : 1e-6f;
    for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n, 1, &part);) {
        NN_IVDEP
        for (size_t i = part.begin; i < part.end; i++)
            out[i] = in[i] / norm;
    }
}

static int nn_l2_normalization_float(const struct nn_kernel_args *args)
{
    const struct l2_params *params = args->params;

    nn_slices_run_f32(args, params->axis, 32, l2_slice);
    return 0;
}

/* 128 d / sqrt(sum). The reference's signed form along the last axis shifts by
 * 7 after it has been scaled, others before. */
static int32_t l2_code(int32_t d, int32_t mantissa, int shift, bool shifts_late)
{
    if (!shifts_late)
        return nn_rdp(nn_srdhm(128 * d, mantissa), shift);
    return nn_multiplier_apply(d, (struct nn_multiplier){mantissa, 7 - shift});
}

static void l2_slices_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_slices_job *job = ctx;
    const struct l2_params *params = job->args->params;
    const struct nn_tensor *in = &job->args->inputs[0];
    const struct nn_tensor *out = &job->args->outputs[0];
    const struct nn_slices *s = &job->slices;
    uint32_t flip = nn_quant_flip(in->type);
    int32_t out_zero = flip ? 0 : 128;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t item = begin; item < end; item++) {
        size_t first = nn_slices_first(s, item);
        const uint8_t *from = (const uint8_t *)in->data + first;
        uint8_t *to = (uint8_t *)out->data + first;
        int64_t sum = 0;
        int32_t mantissa;
        int shift;

        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, s->n, 1, &part);)
            for (size_t k = part.begin; k < part.end; k++) {
                int32_t d = nn_quant_code(from[k * s->inner], flip) - in->zero_point;

                sum += d * d;
            }
        nn_fx_inverse_sqrt(sum, &mantissa, &shift);
        for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, s->n, 3, &part);)
            for (size_t k = part.begin; k < part.end; k++) {
                int32_t d = nn_quant_code(from[k * s->inner], flip) - in->zero_point;
                int32_t code = out_zero + l2_code(d, mantissa, shift, flip && params->is_last);

                to[k * s->inner] = (uint8_t)nn_clamp_i32(code, nn_quant_low(in->type),
                                                         nn_quant_high(in->type));
            }
    }
}

static int nn_l2_normalization_q8(const struct nn_kernel_args *args)
{
    const struct l2_params *params = args->params;

    nn_slices_for(args, params->axis, 4, 50, l2_slices_q8);
    return 0;
}

/* ---- LOCAL_RESPONSE_NORMALIZATION ---- */

struct local_params {
    uint32_t axis;
    int32_t radius;
    float bias, alpha, beta;
};

static int lower_local(struct nn_lower *lower)
{
    struct local_params *params = lower->params;

    params->radius = nn_lower_i32(lower, 1, 0);
    params->bias = nn_lower_f32(lower, 2, 1.0f);
    params->alpha = nn_lower_f32(lower, 3, 1.0f);
    params->beta = nn_lower_f32(lower, 4, 0.5f);
    if (!nn_slices_axis(lower, 5, -1, &params->axis))
        return nn_lower_refuse(lower, "input 5 is not an axis of input 0");
    return 0;
}

/* The usual exponents, 1/2, 3/4 and 1, need no logarithm. */
static float to_power(float base, float exponent)
{
    if (exponent == 0.5f)
        return sqrtf(base);
    if (exponent == 0.75f)
        return sqrtf(base) * sqrtf(sqrtf(base));
    return exponent == 1.0f ? base : powf(base, exponent);
}

static void local_slice(const struct nn_kernel_args *args, const float *in, float *out, size_t n)
{
    const struct local_params *params = args->params;
    size_t radius = nn_min_size((size_t)params->radius, n);
    struct nn_pace pace = nn_pace(args->stop);

    for (size_t i = 0; i < n && !nn_pace_ends(&pace, 20 + 2 * radius); i++) {
        size_t begin = i > radius ? i - radius : 0, end = nn_min_size(n, i + radius + 1);
        float sum = 0.0f;

        for (size_t k = begin; k < end; k++)
            sum += in[k] * in[k];
        out[i] = in[i] / to_power(params->bias + params->alpha * sum, params->beta);
    }
}

static int nn_local_response_float(const struct nn_kernel_args *args)
{
    const struct local_params *params = args->params;
    size_t n = args->inputs[0].dims[params->axis];
    size_t width = nn_min_size((size_t)params->radius, n);

    nn_slices_run_f32(args, params->axis, 16 * (20 + 2 * width), local_slice);
    return 0;
}

static bool check_local(const struct nn_kernel_step *step)
{
    const struct local_params *params = step->params;

    return params->axis < step->inputs[0].n_dims && params->radius >= 0;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("l2_normalization_float", L2_NORMALIZATION), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct l2_params), .lower = lower_l2, .run = nn_l2_normalization_float,
     .check = check_axis, .find_scratch = find_normalize_scratch},
    {NN_VARIANT_ROW("l2_normalization_q8", L2_NORMALIZATION), .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct l2_params), .lower = lower_l2, .run = nn_l2_normalization_q8,
     .check = check_axis},
    {NN_VARIANT_ROW("local_response_normalization_float", LOCAL_RESPONSE_NORMALIZATION),
     .in0 = NN_T_F32 | NN_T_F16, .params_bytes = sizeof(struct local_params), .lower = lower_local,
     .run = nn_local_response_float, .check = check_local, .find_scratch = find_normalize_scratch},
};

NN_VARIANT_FAMILY(normalize, kernels);
