/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED, CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV_2D of 16-bit activations and 8-bit
 * weights, plain C, by the definition: sums of 64 bits, then the channel's multiplier.
 *
 * As TensorFlow Lite's FullyConnected, ConvPerChannel, DepthwiseConvPerChannel and TransposeConv of
 * int16 compute; sixteen.h says how they round. Multipliers of channels are the step's weights. */
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/conv/conv.h"
#include "drivers/cpu/kernels/direct-conv/direct-conv.h"
#include "drivers/cpu/kernels/sixteen/sixteen.h"

#include <errno.h>

/* The bias wraps where it does not fit. */
static int16_t finish(int64_t sum, int64_t bias, struct nn_multiplier multiplier,
                      enum nn_rounding rounding, int32_t low, int32_t high)
{
    int64_t all = (int64_t)((uint64_t)sum + (uint64_t)bias);

    return (int16_t)nn_clamp_i32(nn_sixteen_scale(all, multiplier, rounding), low, high);
}

/* ---- FULLY_CONNECTED ---- */

struct dense_params {
    int32_t low, high;
    struct nn_multiplier multiplier;
};

static int lower_dense(struct nn_lower *lower)
{
    const struct nn_lower_operand *out = &lower->outputs[0];
    struct dense_params *params = lower->params;

    if (!nn_sixteen_bounds(nn_lower_i32(lower, NN_DENSE_ACTIVATION, 0), out->scale, &params->low,
                           &params->high))
        return nn_lower_refuse(lower, "input 3 is not a fused activation");
    params->multiplier = nn_multiplier_of_scales(lower->inputs[NN_DENSE_INPUT].scale,
                                                 lower->inputs[NN_DENSE_WEIGHTS].scale, out->scale);
    return 0;
}

/* One item is one output. */
static void dense_items(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_kernel_args *args = ctx;
    const struct dense_params *params = args->params;
    const struct nn_tensor *weights = &args->inputs[NN_DENSE_WEIGHTS];
    const struct nn_tensor *bias = &args->inputs[NN_DENSE_BIAS];
    enum nn_rounding rounding = bias->type == NNHAL_TENSOR_INT32 ? NN_ROUNDING_ONCE
                                                                 : NN_ROUNDING_REDUCED;
    size_t n_units = weights->dims[0], k = weights->dims[1];
    struct nn_pace pace = nn_pace(args->stop);

    for (size_t i = begin; i < end && !nn_pace_ends(&pace, 10); i++) {
        size_t unit = i % n_units;
        int64_t sum = nn_sixteen_dot_long((const int16_t *)args->inputs[NN_DENSE_INPUT].data +
                                              i / n_units * k,
                                          (const int8_t *)weights->data + unit * k, k, &pace);

        ((int16_t *)args->outputs[0].data)[i] = finish(sum, nn_sixteen_bias(bias, unit),
                                                       params->multiplier, rounding, params->low,
                                                       params->high);
    }
}

static int nn_fully_connected_z16__c(const struct nn_kernel_args *args)
{
    nn_parallel_for(args, nn_tensor_count(&args->outputs[0]),
                    10 + args->inputs[NN_DENSE_WEIGHTS].dims[1], dense_items,
                    (void *)(uintptr_t)args);
    return 0;
}

/* ---- convolutions ---- */

struct sixteen_params {
    struct nn_window_2d window;
    int32_t low, high;
    uint32_t operation;
};

static int lower_conv(struct nn_lower *lower)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    struct sixteen_params *params = lower->params;
    struct nn_multiplier *multipliers;
    int r = nn_lower_window(lower, &params->window);
    uint32_t n = params->window.out_depth;

    if (r)
        return r;
    params->operation = lower->operation;
    if (!nn_sixteen_bounds(nn_lower_window_activation(lower), lower->outputs[0].scale, &params->low,
                           &params->high))
        return nn_lower_refuse(lower, "the activation is not a fused one");
    if (filter->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL && filter->n_channel_scales != n)
        return nn_lower_refuse(lower, "the filter has %u scales for %u channels",
                               filter->n_channel_scales, n);
    multipliers = nn_lower_weights(lower, (uint64_t)n * sizeof(*multipliers));
    if (!multipliers)
        return -ENOMEM;
    nn_conv_multipliers(lower, multipliers, n);
    return 0;
}

static bool check_conv(const struct nn_kernel_step *step)
{
    const struct sixteen_params *params = step->params;
    const struct nn_tensor *bias = &step->inputs[NN_CONV_BIAS];

    return (params->operation == NNHAL_OP_CONV_2D ||
            params->operation == NNHAL_OP_DEPTHWISE_CONV_2D ||
            params->operation == NNHAL_OP_TRANSPOSE_CONV_2D) &&
           nn_window_fits(&params->window, params->operation, &step->inputs[NN_CONV_INPUT],
                          &step->inputs[NN_CONV_FILTER], &step->outputs[0]) &&
           bias->n_dims == 1 && bias->dims[0] == params->window.out_depth &&
           step->weights_bytes / sizeof(struct nn_multiplier) >= params->window.out_depth;
}

static bool find_conv_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct sixteen_params *params = step->params;

    ret->bytes = params->window.is_nchw ? step->inputs[NN_CONV_INPUT].size : 0;
    return true;
}

struct sixteen_job {
    const struct nn_kernel_args *args;
    const struct nn_window_2d *window;
    struct nn_taps (*taps)(const struct nn_window *window, size_t at);
    const int16_t *in; /* [batch, height, width, in_depth] */
    bool is_depthwise;
    enum nn_rounding rounding;
};

/* What a tap adds to a channel: of the filter [out_depth, height, width, in_depth] a row, of
 * DEPTHWISE_CONV_2D's [height, width, out_depth] one weight. */
static int64_t tap_sum(const struct sixteen_job *job, const int16_t *cell, size_t tap,
                       size_t channel, struct nn_pace *pace)
{
    const struct nn_window_2d *window = job->window;
    const int8_t *filter = job->args->inputs[NN_CONV_FILTER].data;
    size_t n_taps = (size_t)window->height.filter * window->width.filter;

    if (job->is_depthwise)
        return (int64_t)cell[channel / (size_t)window->groups] *
               filter[tap * window->out_depth + channel];
    return nn_sixteen_dot_long(cell, filter + (channel * n_taps + tap) * window->in_depth,
                               window->in_depth, pace);
}

static int64_t pixel_sum(const struct sixteen_job *job, const struct nn_pixel_taps *pixel,
                         size_t channel, struct nn_pace *pace)
{
    const struct nn_window_2d *window = job->window;
    int64_t sum = 0;

    for (size_t i = 0; i < pixel->ys.n; i++) {
        size_t y = (size_t)(pixel->ys.cell + (int64_t)i * pixel->ys.cell_step);
        size_t tap_y = pixel->ys.tap + i * pixel->ys.tap_step;

        for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, pixel->xs.n, 5, &part);)
            for (size_t j = part.begin; j < part.end; j++) {
                size_t x = (size_t)(pixel->xs.cell + (int64_t)j * pixel->xs.cell_step);
                size_t tap = tap_y * window->width.filter + pixel->xs.tap + j * pixel->xs.tap_step;
                size_t cell = (pixel->image * window->height.input + y) * window->width.input + x;

                sum += tap_sum(job, job->in + cell * window->in_depth, tap, channel, pace);
            }
    }
    return sum;
}

static size_t pixel_cost(const struct sixteen_job *job)
{
    const struct nn_window_2d *window = job->window;
    size_t n_taps = (size_t)window->height.filter * window->width.filter;

    return window->out_depth * (10 + n_taps * (job->is_depthwise ? 3 : 3 + window->in_depth / 2));
}

static void conv_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct sixteen_job *job = ctx;
    const struct sixteen_params *params = job->args->params;
    const struct nn_multiplier *multipliers =
        (const struct nn_multiplier *)(const void *)job->args->weights;
    const struct nn_window_2d *window = job->window;
    const struct nn_tensor *bias = &job->args->inputs[NN_CONV_BIAS];
    int16_t *out = job->args->outputs[0].data;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        struct nn_pixel_taps pixel = {.ys = job->taps(&window->height, row % window->out_height),
                                      .image = row / window->out_height};

        for (size_t x = 0; x < window->out_width; x++) {
            pixel.xs = job->taps(&window->width, x);
            if (nn_pace_ends(&pace, 10))
                return;
            for (size_t c = 0; c < window->out_depth && !nn_pace_ends(&pace, 10); c++)
                out[nn_direct_out_at(window, row, x, c)] = finish(
                    pixel_sum(job, &pixel, c, &pace), nn_sixteen_bias(bias, c), multipliers[c],
                    job->rounding, params->low, params->high);
        }
    }
}

static int nn_conv_z16__c(const struct nn_kernel_args *args)
{
    const struct sixteen_params *params = args->params;
    const struct nn_window_2d *window = &params->window;
    bool is_transposed = params->operation == NNHAL_OP_TRANSPOSE_CONV_2D;
    struct sixteen_job job = {.args = args,
                              .window = window,
                              .taps = is_transposed ? nn_transpose_taps : nn_direct_taps,
                              .in = args->inputs[NN_CONV_INPUT].data,
                              .is_depthwise = params->operation == NNHAL_OP_DEPTHWISE_CONV_2D,
                              .rounding = args->inputs[NN_CONV_BIAS].type != NNHAL_TENSOR_INT32
                                              ? NN_ROUNDING_REDUCED
                                          : is_transposed ? NN_ROUNDING_TWICE
                                                          : NN_ROUNDING_ONCE};

    if (window->is_nchw) {
        nn_nchw_to_nhwc(args->scratch, job.in, window->batch,
                        (size_t)window->width.input * window->height.input, window->in_depth,
                        sizeof(int16_t), args->stop);
        job.in = (const int16_t *)(const void *)args->scratch;
    }
    nn_parallel_for(args, (size_t)window->batch * window->out_height,
                    window->out_width * pixel_cost(&job), conv_rows, &job);
    return 0;
}

#define CONV(row_name, op)                                                                         \
    {                                                                                              \
        NN_ROW(row_name "_z16__c", op),                                                            \
            .in0 = NN_T_Z16, .params_bytes = sizeof(struct sixteen_params), .lower = lower_conv,   \
            .run = nn_conv_z16__c, .check = check_conv, .find_scratch = find_conv_scratch          \
    }

static const struct nn_kernel kernels[] = {
    {NN_ROW("fully_connected_z16__c", FULLY_CONNECTED), .in0 = NN_T_Z16,
     .params_bytes = sizeof(struct dense_params), .lower = lower_dense,
     .run = nn_fully_connected_z16__c},
    CONV("conv_2d", CONV_2D),
    CONV("depthwise_conv_2d", DEPTHWISE_CONV_2D),
    CONV("transpose_conv_2d", TRANSPOSE_CONV_2D),
};

NN_KERNEL_FAMILY(sixteen_sums, kernels);
