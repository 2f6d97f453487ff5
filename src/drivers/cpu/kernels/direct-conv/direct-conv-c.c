/* SPDX-License-Identifier: Apache-2.0 */
/* GROUPED_CONV_2D and TRANSPOSE_CONV_2D, plain C, by the definition: an output is
 * act(bias + sum over taps and channels of cell * weight), in a fixed order.
 *
 * The input is brought to NHWC and, if it is float16, to float32, in scratch;
 * a float16 filter likewise. 8-bit: int32 sums of differences from the zero points,
 * then the channel's multiplier; multipliers are the step's weights. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/direct-conv/direct-conv.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <errno.h>
#include <string.h>

enum {
    LANES = 8,
    LONG = 1024,     /* products of a sum that looks by itself */
    PIECE = 1 << 16, /* products between two looks */
};

struct direct_params {
    struct nn_window_2d window;
    float low, high;
    int32_t q8_low, q8_high;
    uint32_t operation;
};

struct direct_job {
    const struct nn_kernel_args *args;
    const struct nn_window_2d *window;
    struct nn_taps (*taps)(const struct nn_window *window, size_t at);
    const void *in;     /* [batch, height, width, in_depth], float32 or bytes */
    const void *filter; /* [out_depth, height, width, depth] */
    size_t depth;       /* of a group */
    size_t n_per_group; /* output channels */
};

static int lower_conv(struct nn_lower *lower)
{
    struct direct_params *params = lower->params;
    const struct nn_lower_operand *out = &lower->outputs[0];
    int32_t activation = nn_lower_window_activation(lower);
    bool is_known;

    params->operation = lower->operation;
    if (nn_is_q8(out->type))
        is_known = nn_activation_q8(activation, nn_quant_flip(out->type) != 0, out->scale,
                                    out->zero_point, &params->q8_low, &params->q8_high);
    else
        is_known = nn_activation_f32(activation, &params->low, &params->high);
    if (!is_known)
        return nn_lower_refuse(lower, "%d is not a fused activation", activation);
    return nn_lower_window(lower, &params->window);
}

static bool check_tensors(const struct direct_params *params, const struct nn_tensor *inputs,
                          const struct nn_tensor *outputs)
{
    return (params->operation == NNHAL_OP_GROUPED_CONV_2D ||
            params->operation == NNHAL_OP_TRANSPOSE_CONV_2D) &&
           nn_window_fits(&params->window, params->operation, &inputs[NN_CONV_INPUT],
                          &inputs[NN_CONV_FILTER], &outputs[0]) &&
           inputs[NN_CONV_BIAS].n_dims == 1 &&
           inputs[NN_CONV_BIAS].dims[0] == params->window.out_depth;
}

static bool check_float(const struct nn_kernel_step *step)
{
    return check_tensors(step->params, step->inputs, step->outputs);
}

static struct direct_job make_job(const struct nn_kernel_args *args)
{
    const struct direct_params *params = args->params;
    const struct nn_window_2d *window = &params->window;
    bool is_transposed = params->operation == NNHAL_OP_TRANSPOSE_CONV_2D;

    return (struct direct_job){.args = args,
                               .window = window,
                               .taps = is_transposed ? nn_transpose_taps : nn_direct_taps,
                               .in = args->inputs[NN_CONV_INPUT].data,
                               .filter = args->inputs[NN_CONV_FILTER].data,
                               .depth = window->in_depth / (size_t)window->groups,
                               .n_per_group = window->out_depth / (size_t)window->groups};
}

static size_t row_cost(const struct direct_job *job)
{
    const struct nn_window_2d *window = job->window;

    return (size_t)window->out_width * window->out_depth * window->width.filter *
               window->height.filter * job->depth / 4 +
           20;
}

/* ---- float32 and float16 ---- */

static bool find_float_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct direct_params *params = step->params;
    bool is_half = step->inputs[NN_CONV_INPUT].type == NNHAL_TENSOR_FLOAT16;
    size_t n_in = nn_tensor_count(&step->inputs[NN_CONV_INPUT]), n = 0;

    if (is_half || params->window.is_nchw)
        n = n_in;
    if (is_half && !nn_add_size(n, nn_tensor_count(&step->inputs[NN_CONV_FILTER]), &n))
        return false;
    /* An NCHW float16 image is turned around before it is widened. */
    if (is_half && params->window.is_nchw && !nn_add_size(n, n_in, &n))
        return false;
    return nn_mul_size(n, sizeof(float), &ret->bytes);
}

static void widen_all(float *to, const uint16_t *from, size_t n, struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        nn_f16_widen(to + part.begin, from + part.begin, part.end - part.begin);
}

static void prepare_float(struct direct_job *job)
{
    const struct nn_tensor *in = &job->args->inputs[NN_CONV_INPUT];
    const struct nn_tensor *filter = &job->args->inputs[NN_CONV_FILTER];
    const struct nn_window_2d *window = job->window;
    size_t n = nn_tensor_count(in), n_filter = nn_tensor_count(filter);
    size_t n_pixels = (size_t)window->width.input * window->height.input;
    float *scratch = (float *)(void *)job->args->scratch;
    struct nn_pace pace = nn_pace(job->args->stop);

    if (in->type == NNHAL_TENSOR_FLOAT32) {
        if (window->is_nchw) {
            nn_nchw_to_nhwc(scratch, in->data, window->batch, n_pixels, window->in_depth,
                            sizeof(float), job->args->stop);
            job->in = scratch;
        }
        return;
    }
    if (window->is_nchw) {
        uint16_t *turned = (uint16_t *)(void *)(scratch + n + n_filter);

        nn_nchw_to_nhwc(turned, in->data, window->batch, n_pixels, window->in_depth,
                        sizeof(uint16_t), job->args->stop);
        job->in = turned;
    }
    widen_all(scratch, job->in, n, &pace);
    widen_all(scratch + n, filter->data, n_filter, &pace);
    job->in = scratch;
    job->filter = scratch + n;
}

/* Whether to leave a sum of which n products are left: those that are not long are a channel's cost. */
static bool dot_ends(struct nn_pace *pace, size_t n)
{
    return n > LONG && nn_pace_ends(pace, nn_min_size(n, PIECE) / 2);
}

/* Short ones one by one, long ones over lanes. */
static float dot_f32(const float *a, const float *b, size_t n, struct nn_pace *pace)
{
    float lanes[LANES] = {0};
    size_t i = 0;

    if (n < LANES) {
        float sum = 0.0f;

        for (; i < n; i++)
            sum += a[i] * b[i];
        return sum;
    }
    for (size_t end; i + LANES <= n && !dot_ends(pace, n - i);) {
        end = nn_min_size(n / LANES * LANES, i + PIECE);
        for (; i < end; i += LANES)
            for (size_t k = 0; k < LANES; k++)
                lanes[k] += a[i + k] * b[i + k];
    }
    for (size_t k = 0; k < n % LANES; i++, k++)
        lanes[k] += a[i] * b[i];
    for (size_t k = LANES / 2; k > 0; k /= 2) {
        for (size_t j = 0; j < k; j++)
            lanes[j] += lanes[j + k];
    }
    return lanes[0];
}

/* The sum for one output element: cells of the group's channels, weights of its filter. */
static float sum_float(const struct direct_job *job, const struct nn_pixel_taps *pixel,
                       size_t channel, struct nn_pace *pace)
{
    const struct nn_window_2d *window = job->window;
    const float *in = (const float *)job->in + channel / job->n_per_group * job->depth;
    const float *filter = job->filter;
    const struct nn_taps *ys = &pixel->ys, *xs = &pixel->xs;
    float sum = 0.0f;

    for (size_t i = 0; i < ys->n; i++) {
        size_t y = (size_t)(ys->cell + (int64_t)i * ys->cell_step);
        size_t tap_y = channel * window->height.filter + ys->tap + i * ys->tap_step;

        for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, xs->n, 5, &part);)
            for (size_t j = part.begin; j < part.end; j++) {
                size_t x = (size_t)(xs->cell + (int64_t)j * xs->cell_step);
                size_t tap = tap_y * window->width.filter + xs->tap + j * xs->tap_step;
                size_t cell = (pixel->image * window->height.input + y) * window->width.input + x;

                sum += dot_f32(in + cell * window->in_depth, filter + tap * job->depth, job->depth,
                               pace);
            }
    }
    return sum;
}

static void rows_float(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct direct_job *job = ctx;
    const struct direct_params *params = job->args->params;
    const struct nn_window_2d *window = job->window;
    const void *bias = job->args->inputs[NN_CONV_BIAS].data;
    void *out = job->args->outputs[0].data;
    bool is_half = job->args->inputs[NN_CONV_BIAS].type == NNHAL_TENSOR_FLOAT16;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        struct nn_pixel_taps pixel = {.ys = job->taps(&window->height, row % window->out_height),
                                      .image = row / window->out_height};
        size_t cost;

        for (size_t x = 0; x < window->out_width; x++) {
            pixel.xs = job->taps(&window->width, x);
            cost = 5 + pixel.ys.n * pixel.xs.n * job->depth / 2;
            if (nn_pace_ends(&pace, 5))
                return;
            for (size_t c = 0; c < window->out_depth && !nn_pace_ends(&pace, cost); c++) {
                float value = sum_float(job, &pixel, c, &pace);
                size_t at = nn_direct_out_at(window, row, x, c);

                value += is_half ? nn_f16_to_f32(((const uint16_t *)bias)[c])
                                 : ((const float *)bias)[c];
                value = nn_clamp_f32(value, params->low, params->high);
                if (is_half)
                    ((uint16_t *)out)[at] = nn_f32_to_f16(value);
                else
                    ((float *)out)[at] = value;
            }
        }
    }
}

static int nn_direct_conv_float(const struct nn_kernel_args *args)
{
    struct direct_job job = make_job(args);

    prepare_float(&job);
    nn_parallel_for(args, (size_t)job.window->batch * job.window->out_height, row_cost(&job),
                    rows_float, &job);
    return 0;
}

/* ---- 8-bit ---- */

/* One multiplier per output channel, also where all are the same. As in TensorFlow Lite,
 * scales are multiplied in double for int8 and in float for uint8. */
static int lower_q8(struct nn_lower *lower)
{
    const struct direct_params *params = lower->params;
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *in = &lower->inputs[NN_CONV_INPUT];
    bool is_per_channel = filter->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL;
    bool is_signed = in->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    struct nn_multiplier *multipliers;
    int r = lower_conv(lower);

    if (r)
        return r;
    if (is_per_channel && filter->n_channel_scales != params->window.out_depth)
        return nn_lower_refuse(lower, "the filter has %u scales for %u channels",
                               filter->n_channel_scales, params->window.out_depth);
    multipliers = nn_lower_weights(lower,
                                   (uint64_t)params->window.out_depth * sizeof(*multipliers));
    if (!multipliers)
        return -ENOMEM;
    for (uint32_t c = 0; c < params->window.out_depth; c++) {
        float scale = is_per_channel ? filter->channel_scales[c] : filter->scale;
        float product = in->scale * scale;
        double exact = (double)in->scale * (double)scale;

        multipliers[c] = nn_multiplier_make((is_signed ? exact : (double)product) /
                                            (double)lower->outputs[0].scale);
    }
    return 0;
}

static bool find_q8_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct direct_params *params = step->params;

    ret->bytes = params->window.is_nchw ? nn_tensor_count(&step->inputs[NN_CONV_INPUT]) : 0;
    return true;
}

static bool check_q8(const struct nn_kernel_step *step)
{
    const struct direct_params *params = step->params;

    return check_tensors(params, step->inputs, step->outputs) &&
           step->weights_bytes / sizeof(struct nn_multiplier) >= params->window.out_depth;
}

/* How bytes of the input and of the filter become differences from their zero points. */
struct codes {
    uint32_t in_flip, filter_flip;
    int32_t in_zero, filter_zero;
};

/* Sums wrap, as the reference's accumulators do. */
static uint32_t dot_q8(const uint8_t *a, const uint8_t *b, size_t n, const struct codes *codes,
                       struct nn_pace *pace)
{
    uint32_t sum = 0;

    for (size_t i = 0, end; i < n && !dot_ends(pace, n - i);)
        for (end = nn_min_size(n, i + PIECE); i < end; i++)
            sum += (uint32_t)((nn_quant_code(a[i], codes->in_flip) - codes->in_zero) *
                              (nn_quant_code(b[i], codes->filter_flip) - codes->filter_zero));
    return sum;
}

static int32_t sum_q8(const struct direct_job *job, const struct codes *codes,
                      const struct nn_pixel_taps *pixel, size_t channel, struct nn_pace *pace)
{
    const struct nn_window_2d *window = job->window;
    const uint8_t *in = (const uint8_t *)job->in + channel / job->n_per_group * job->depth;
    const uint8_t *filter = job->filter;
    const struct nn_taps *ys = &pixel->ys, *xs = &pixel->xs;
    uint32_t sum = 0;

    for (size_t i = 0; i < ys->n; i++) {
        size_t y = (size_t)(ys->cell + (int64_t)i * ys->cell_step);
        size_t tap_y = channel * window->height.filter + ys->tap + i * ys->tap_step;

        for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, xs->n, 5, &part);)
            for (size_t j = part.begin; j < part.end; j++) {
                size_t x = (size_t)(xs->cell + (int64_t)j * xs->cell_step);
                size_t tap = tap_y * window->width.filter + xs->tap + j * xs->tap_step;
                size_t cell = (pixel->image * window->height.input + y) * window->width.input + x;

                sum += dot_q8(in + cell * window->in_depth, filter + tap * job->depth, job->depth,
                              codes, pace);
            }
    }
    return (int32_t)sum;
}

static struct codes make_codes(const struct nn_kernel_args *args)
{
    const struct nn_tensor *in = &args->inputs[NN_CONV_INPUT];
    const struct nn_tensor *filter = &args->inputs[NN_CONV_FILTER];
    bool is_per_channel = filter->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL;

    return (struct codes){
        .in_flip = nn_quant_flip(in->type),
        .in_zero = in->zero_point,
        .filter_flip = is_per_channel ? 0x80 : nn_quant_flip(filter->type),
        .filter_zero = is_per_channel ? 0 : filter->zero_point,
    };
}

static void rows_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct direct_job *job = ctx;
    const struct direct_params *params = job->args->params;
    const struct nn_multiplier *multipliers =
        (const struct nn_multiplier *)(const void *)job->args->weights;
    const struct nn_window_2d *window = job->window;
    const int32_t *bias = job->args->inputs[NN_CONV_BIAS].data;
    const struct codes codes = make_codes(job->args);
    uint8_t *out = job->args->outputs[0].data;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        struct nn_pixel_taps pixel = {.ys = job->taps(&window->height, row % window->out_height),
                                      .image = row / window->out_height};
        size_t cost;

        for (size_t x = 0; x < window->out_width; x++) {
            pixel.xs = job->taps(&window->width, x);
            cost = 5 + pixel.ys.n * pixel.xs.n * job->depth / 2;
            if (nn_pace_ends(&pace, 5))
                return;
            for (size_t c = 0; c < window->out_depth && !nn_pace_ends(&pace, cost); c++) {
                uint32_t sum = (uint32_t)sum_q8(job, &codes, &pixel, c, &pace);
                int64_t code = nn_multiplier_apply((int32_t)(sum + (uint32_t)bias[c]),
                                                   multipliers[c]);

                code += job->args->outputs[0].zero_point;
                code = code < params->q8_low ? params->q8_low : code;
                code = code > params->q8_high ? params->q8_high : code;
                out[nn_direct_out_at(window, row, x, c)] = (uint8_t)code;
            }
        }
    }
}

static int nn_direct_conv_q8(const struct nn_kernel_args *args)
{
    struct direct_job job = make_job(args);
    const struct nn_window_2d *window = job.window;

    if (window->is_nchw) {
        nn_nchw_to_nhwc(args->scratch, args->inputs[NN_CONV_INPUT].data, window->batch,
                        (size_t)window->width.input * window->height.input, window->in_depth, 1,
                        args->stop);
        job.in = args->scratch;
    }
    nn_parallel_for(args, (size_t)window->batch * window->out_height, row_cost(&job), rows_q8,
                    &job);
    return 0;
}

#define ROWS(op_name, op)                                                                          \
    {NN_VARIANT_ROW(op_name "_float", op),                                                         \
     .in0 = NN_T_F32 | NN_T_F16,                                                                   \
     .params_bytes = sizeof(struct direct_params),                                                 \
     .lower = lower_conv,                                                                          \
     .run = nn_direct_conv_float,                                                                  \
     .check = check_float,                                                                         \
     .find_scratch = find_float_scratch},                                                          \
    {                                                                                              \
        NN_VARIANT_ROW(op_name "_q8", op),                                                         \
            .in0 = NN_T_U8 | NN_T_S8, .params_bytes = sizeof(struct direct_params),                \
            .lower = lower_q8, .run = nn_direct_conv_q8, .check = check_q8,                        \
            .find_scratch = find_q8_scratch                                                        \
    }

static const struct nn_kernel kernels[] = {
    ROWS("grouped_conv_2d", GROUPED_CONV_2D),
    ROWS("transpose_conv_2d", TRANSPOSE_CONV_2D),
};

NN_VARIANT_FAMILY(direct_conv, kernels);
