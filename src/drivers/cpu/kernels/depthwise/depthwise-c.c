/* SPDX-License-Identifier: Apache-2.0 */
/* DEPTHWISE_CONV_2D, plain C: each input channel has depth_multiplier filters of its own.
 *
 * The filter [1,fH,fW,Co] is used tap by tap, LANES channels at a time, whose
 * sums stay in registers. Items are output rows. With a depth multiplier above 1
 * the staged input repeats each channel, so that the inner loop is the same.
 *
 * Weights: multipliers (8 bits), bias, filter (float, or int16 minus its zero
 * point). Scratch: staged input, staged output, and the weights but the
 * multipliers if they are not constant. */
#include "base/arith.h"
#include "base/cleanup.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/conv/conv.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/gemm/gemm.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector-f32.h"

#include <string.h>

enum {
    LANES = 16,
    SLACK = 64,
    MANY_TAPS = 4096,     /* between two looks, of some channels */
    MANY_CHANNELS = 4096, /* of a position, between two looks */
};

struct depthwise_params {
    struct nn_conv_shape shape;
    float low_f32, high_f32;
    int32_t low_q8, high_q8;
    uint32_t is_packed;
    uint32_t reserved;
};

/* The pieces of scratch, in bytes; repeated holds the input with repeated channels. */
struct depthwise_pieces {
    size_t input, repeated, output;
    size_t multipliers, bias, filter; /* of the weights */
};

static size_t whole_lines(size_t n_bytes)
{
    return (n_bytes + SLACK + 63) / 64 * 64;
}

static bool is_float_type(uint32_t type)
{
    return type == NNHAL_TENSOR_FLOAT32 || type == NNHAL_TENSOR_FLOAT16;
}

static bool find_pieces(uint32_t type, const struct nn_conv_shape *shape, const uint32_t *in_dims,
                        const uint32_t *filter, const uint32_t *out_dims,
                        struct depthwise_pieces *ret)
{
    struct nn_conv_sizes in = nn_conv_sizes(in_dims, shape->is_nchw);
    bool is_float = is_float_type(type);
    size_t element = is_float ? sizeof(float) : sizeof(int16_t), n_cells, n_in, n_rep, n_out, taps;

    if (!nn_mul_size(in.n, in.h, &n_cells) || !nn_mul_size(n_cells, in.w, &n_cells) ||
        !nn_mul_size(n_cells, in.c * element, &n_in) ||
        !nn_mul_size(n_cells, filter[3] * element, &n_rep) ||
        !nn_mul_size(filter[1], filter[2], &taps) ||
        !nn_mul_size(taps, filter[3] * element, &taps) ||
        !nn_mul_size(out_dims[0], out_dims[1], &n_out) ||
        !nn_mul_size(n_out, out_dims[2], &n_out) ||
        !nn_mul_size(n_out, out_dims[3] * element, &n_out) || n_in > SIZE_MAX / 8 ||
        n_rep > SIZE_MAX / 8 || n_out > SIZE_MAX / 8 || taps > SIZE_MAX / 8)
        return false;
    *ret = (struct depthwise_pieces){
        .input = !is_float || nn_conv_needs_nhwc(type, shape->is_nchw) ? whole_lines(n_in) : 0,
        .repeated = shape->depth_multiplier > 1 ? whole_lines(n_rep) : 0,
        .output = shape->is_nchw || type == NNHAL_TENSOR_FLOAT16 ? whole_lines(n_out) : 0,
        .multipliers = is_float ? 0 : whole_lines(filter[3] * sizeof(struct nn_multiplier)),
        .bias = whole_lines(filter[3] * sizeof(float)),
        .filter = whole_lines(taps)};
    return true;
}

/* Each piece is far below the largest size, so that sums are too. */
static size_t step_scratch(const struct depthwise_params *params,
                           const struct depthwise_pieces *pieces)
{
    return pieces->input + pieces->repeated + pieces->output +
           (params->is_packed ? 0 : pieces->bias + pieces->filter);
}

static float float_at(const void *data, bool is_half, size_t i)
{
    return is_half ? nn_f16_to_f32(((const uint16_t *)data)[i]) : ((const float *)data)[i];
}

/* Bias and filter [k][n_cols], one behind the other at block. */
static void pack_weights(uint8_t *block, const struct depthwise_pieces *pieces,
                         const struct nn_gemm_weights *from, struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);
    float *bias = (float *)(void *)block;
    float *filter = (float *)(void *)(block + pieces->bias);
    bool is_half = from->type == NNHAL_TENSOR_FLOAT16;
    size_t n = from->n_cols;

    if (!is_half && from->type != NNHAL_TENSOR_FLOAT32) {
        nn_pace_copy(&pace, bias, from->bias, n * sizeof(float));
        nn_gemm_widen_q8((int16_t *)(void *)filter, from->weights,
                         from->type != NNHAL_TENSOR_QUANT8_ASYMM, from->zero_point, n * from->k,
                         &pace);
        return;
    }
    for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            bias[i] = float_at(from->bias, is_half, i);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(&pace, n * from->k, 2, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            filter[i] = float_at(from->weights, is_half, i);
}

/* ---- lowering ---- */

static bool find_bounds(struct nn_lower *lower, struct depthwise_params *params)
{
    const struct nn_lower_operand *output = &lower->outputs[0];

    if (is_float_type(output->type))
        return nn_activation_f32(params->shape.activation, &params->low_f32, &params->high_f32);
    return nn_activation_q8(params->shape.activation,
                            output->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED, output->scale,
                            output->zero_point, &params->low_q8, &params->high_q8);
}

static int lower_depthwise(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_CONV_INPUT];
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *bias = &lower->inputs[NN_CONV_BIAS];
    bool is_float = is_float_type(input->type);
    struct depthwise_params *params = lower->params;
    struct depthwise_pieces pieces;
    uint8_t *block;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!find_bounds(lower, params))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!find_pieces(input->type, &params->shape, input->dims, filter->dims, lower->outputs[0].dims,
                     &pieces))
        return -ENOMEM;
    params->is_packed = filter->value && bias->value;
    if (!params->is_packed && is_float)
        return 0;
    block = nn_lower_weights(lower, pieces.multipliers +
                                        (params->is_packed ? pieces.bias + pieces.filter : 0));
    if (!block)
        return -ENOMEM;
    if (!is_float)
        nn_conv_multipliers(lower, (struct nn_multiplier *)(void *)block, filter->dims[3]);
    if (params->is_packed)
        pack_weights(block + pieces.multipliers, &pieces,
                     &(struct nn_gemm_weights){.type = filter->type,
                                               .zero_point = filter->zero_point,
                                               .weights = filter->value,
                                               .bias = bias->value,
                                               .n_cols = filter->dims[3],
                                               .k = (size_t)filter->dims[1] * filter->dims[2]},
                     lower->stop);
    return 0;
}

/* ---- running ---- */

struct depthwise_job {
    const struct nn_kernel_args *args;
    const struct depthwise_params *params;
    struct nn_conv_sizes in, out; /* in.c == out.c: channels are repeated by now */
    size_t filter_h, filter_w;
    const void *input, *filter, *bias;
    void *output;
    bool is_output_staged;
    const struct nn_multiplier *multipliers;
};

/* The taps that fall inside for one output cell, and where the first cell of the input is. */
struct window {
    size_t first_y, end_y, first_x, end_x;
    int64_t y, x;
    size_t n;
};

static struct window find_window(const struct depthwise_job *job, size_t row, size_t out_x)
{
    const struct nn_conv_shape *shape = &job->params->shape;
    struct window w = {.n = row / job->out.h,
                       .y = (int64_t)(row % job->out.h) * shape->stride_h - shape->pad_top,
                       .x = (int64_t)out_x * shape->stride_w - shape->pad_left};

    nn_conv_taps(w.y, shape->dilation_h, job->filter_h, job->in.h, &w.first_y, &w.end_y);
    nn_conv_taps(w.x, shape->dilation_w, job->filter_w, job->in.w, &w.first_x, &w.end_x);
    return w;
}

/* Of MANY_CHANNELS, or all, under the window, in nanoseconds. */
static inline size_t window_cost(const struct depthwise_job *job, const struct window *w)
{
    return 1 + (w->end_y - w->first_y) * (w->end_x - w->first_x) *
                   nn_min_size(job->out.c, MANY_CHANNELS) / 4;
}

/* A window in parts, if it has many taps: some rows of them, or some taps of a row.
 * Returns: part; or all, which has no parts. */
static const struct window *first_part(const struct window *all, struct window *part)
{
    size_t row = all->end_x - all->first_x;

    if ((all->end_y - all->first_y) * row <= MANY_TAPS)
        return all;
    *part = *all;
    part->end_y = nn_min_size(all->end_y, all->first_y + (row < MANY_TAPS ? MANY_TAPS / row : 1));
    part->end_x = nn_min_size(all->end_x, all->first_x + MANY_TAPS);
    return part;
}

/* Returns: false at the end, or to stop. */
static bool next_part(const struct window *all, struct window *part, struct nn_pace *pace)
{
    size_t n_rows = part->end_y - part->first_y;

    if (part->end_y == all->end_y && part->end_x == all->end_x)
        return false;
    if (part->end_x < all->end_x) {
        part->first_x = part->end_x;
        part->end_x = nn_min_size(all->end_x, part->first_x + MANY_TAPS);
    } else {
        part->first_x = all->first_x;
        part->end_x = nn_min_size(all->end_x, part->first_x + MANY_TAPS);
        part->first_y = part->end_y;
        part->end_y = nn_min_size(all->end_y, part->first_y + n_rows);
    }
    return !nn_pace_ends(pace, MANY_TAPS * LANES / 4);
}

/* Index of channel 0 of the cell under a tap. */
static size_t cell_index(const struct depthwise_job *job, const struct window *w, size_t ty,
                         size_t tx)
{
    size_t y = (size_t)(w->y + (int64_t)ty * job->params->shape.dilation_h);
    size_t x = (size_t)(w->x + (int64_t)tx * job->params->shape.dilation_w);

    return ((w->n * job->in.h + y) * job->in.w + x) * job->in.c;
}

/* width is LANES wherever it can be, so that compilers unroll. */
static inline void taps_f32(const struct depthwise_job *job, const struct window *w, size_t c,
                            size_t width, float *restrict sums)
{
    const float *input = job->input, *filter = job->filter;

    for (size_t ty = w->first_y; ty < w->end_y; ty++) {
        for (size_t tx = w->first_x; tx < w->end_x; tx++) {
            const float *x = input + cell_index(job, w, ty, tx) + c;
            const float *f = filter + (ty * job->filter_w + tx) * job->out.c + c;

            for (size_t i = 0; i < width; i++)
                sums[i] = nn_madd_one_f32(x[i], f[i], sums[i]);
        }
    }
}

static void lanes_f32(const struct depthwise_job *job, const struct window *w, size_t c,
                      size_t width, float *out, struct nn_pace *pace)
{
    struct window part;
    const struct window *at = first_part(w, &part);
    float sums[LANES];

    memcpy(sums, (const float *)job->bias + c, width * sizeof(*sums));
    do {
        if (width == LANES)
            taps_f32(job, at, c, LANES, sums);
        else
            taps_f32(job, at, c, width, sums);
    } while (at != w && next_part(w, &part, pace));
    for (size_t i = 0; i < width; i++)
        out[i] = nn_clamp_f32(sums[i], job->params->low_f32, job->params->high_f32);
}

static inline void taps_q8(const struct depthwise_job *job, const struct window *w, size_t c,
                           size_t width, uint32_t *restrict sums)
{
    const int16_t *input = job->input, *filter = job->filter;

    for (size_t ty = w->first_y; ty < w->end_y; ty++) {
        for (size_t tx = w->first_x; tx < w->end_x; tx++) {
            const int16_t *x = input + cell_index(job, w, ty, tx) + c;
            const int16_t *f = filter + (ty * job->filter_w + tx) * job->out.c + c;

            for (size_t i = 0; i < width; i++)
                sums[i] += (uint32_t)(x[i] * f[i]);
        }
    }
}

static void lanes_q8(const struct depthwise_job *job, const struct window *w, size_t c,
                     size_t width, uint8_t *out, struct nn_pace *pace)
{
    struct window part;
    const struct window *at = first_part(w, &part);
    const int32_t *bias = (const int32_t *)job->bias + c;
    int32_t zero = job->args->outputs[0].zero_point;
    uint32_t sums[LANES] = {0};

    do {
        if (width == LANES)
            taps_q8(job, at, c, LANES, sums);
        else
            taps_q8(job, at, c, width, sums);
    } while (at != w && next_part(w, &part, pace));
    for (size_t i = 0; i < width; i++) {
        int32_t sum = (int32_t)(sums[i] + (uint32_t)bias[i]);
        int32_t scaled = nn_multiplier_apply(sum, job->multipliers[c + i]);

        scaled = (int32_t)((uint32_t)scaled + (uint32_t)zero);
        out[i] = (uint8_t)nn_clamp_i32(scaled, job->params->low_q8, job->params->high_q8);
    }
}

/* Rows [begin, end) are written. */
static void run_tail(const struct depthwise_job *job, size_t begin, size_t end)
{
    size_t row = job->out.w * job->out.c;

    if (!job->is_output_staged)
        nn_epilogue_run(job->args, begin * row, end * row);
}

/* Channels [first, end) of one position. */
static void cell_f32(const struct depthwise_job *job, const struct window *w, size_t first,
                     size_t end, float *out, struct nn_pace *pace)
{
    for (size_t c = first; c < end; c += LANES)
        lanes_f32(job, w, c, end - c < LANES ? end - c : LANES, out + c, pace);
}

static void row_f32(const struct depthwise_job *job, size_t row, struct nn_pace *pace)
{
    for (size_t x = 0; x < job->out.w; x++) {
        struct window w = find_window(job, row, x);
        size_t cost = window_cost(job, &w);

        for (size_t c = 0; c < job->out.c; c += MANY_CHANNELS) {
            if (nn_pace_ends(pace, cost))
                return;
            cell_f32(job, &w, c, nn_min_size(job->out.c, c + MANY_CHANNELS),
                     (float *)job->output + (row * job->out.w + x) * job->out.c, pace);
        }
    }
}

static void rows_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_job *job = ctx;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        row_f32(job, row, &pace);
        run_tail(job, row, row + 1);
    }
}

static void rows_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct depthwise_job *job = ctx;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t row = begin; row < end; row++) {
        for (size_t x = 0; x < job->out.w; x++) {
            struct window w = find_window(job, row, x);
            uint8_t *out = (uint8_t *)job->output + (row * job->out.w + x) * job->out.c;

            size_t cost = window_cost(job, &w);

            for (size_t c = 0; c < job->out.c; c += LANES) {
                if (c % MANY_CHANNELS == 0 && nn_pace_ends(&pace, cost))
                    return;
                lanes_q8(job, &w, c, job->out.c - c < LANES ? job->out.c - c : LANES, out + c,
                         &pace);
            }
        }
        run_tail(job, row, row + 1);
    }
}

/* Every channel depth_multiplier times in a row. */
static void repeat_channels(void *to, const void *from, size_t n_elements, size_t times,
                            size_t element_bytes, struct nn_pace *pace)
{
    if (element_bytes == sizeof(float)) {
        for (size_t i = 0; i < n_elements && !nn_pace_ends(pace, times); i++)
            for (size_t t = 0; t < times; t++)
                ((float *)to)[i * times + t] = ((const float *)from)[i];
    } else {
        for (size_t i = 0; i < n_elements && !nn_pace_ends(pace, times); i++)
            for (size_t t = 0; t < times; t++)
                ((int16_t *)to)[i * times + t] = ((const int16_t *)from)[i];
    }
}

static const void *stage_input(const struct nn_kernel_args *args,
                               const struct depthwise_pieces *pieces, bool is_float)
{
    const struct nn_conv_shape *shape = &((const struct depthwise_params *)args->params)->shape;
    const void *staged = args->scratch;
    struct nn_pace pace = nn_pace(args->stop);

    if (is_float)
        staged = nn_conv_nhwc_f32(args, shape->is_nchw, (float *)(void *)args->scratch);
    else
        nn_conv_nhwc_q8(args, shape->is_nchw, (int16_t *)(void *)args->scratch);
    if (shape->depth_multiplier <= 1)
        return staged;
    repeat_channels(args->scratch + pieces->input, staged,
                    nn_tensor_count(&args->inputs[NN_CONV_INPUT]), (size_t)shape->depth_multiplier,
                    is_float ? sizeof(float) : sizeof(int16_t), &pace);
    return args->scratch + pieces->input;
}

static const uint8_t *stage_weights(const struct nn_kernel_args *args,
                                    const struct depthwise_pieces *pieces)
{
    const struct depthwise_params *params = args->params;
    const struct nn_tensor *filter = &args->inputs[NN_CONV_FILTER];
    uint8_t *block = args->scratch + pieces->input + pieces->repeated + pieces->output;

    if (params->is_packed)
        return args->weights + pieces->multipliers;
    pack_weights(block, pieces,
                 &(struct nn_gemm_weights){.type = filter->type,
                                           .zero_point = filter->zero_point,
                                           .weights = filter->data,
                                           .bias = args->inputs[NN_CONV_BIAS].data,
                                           .n_cols = filter->dims[3],
                                           .k = (size_t)filter->dims[1] * filter->dims[2]},
                 args->stop);
    return block;
}

static int run_depthwise(const struct nn_kernel_args *args)
{
    const struct depthwise_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    bool is_float = is_float_type(input->type);
    struct depthwise_pieces pieces;
    const uint8_t *block;

    if (!find_pieces(input->type, &params->shape, input->dims, filter, args->outputs[0].dims,
                     &pieces))
        return -ENOMEM;
    block = stage_weights(args, &pieces);
    struct depthwise_job job = {
        .args = args,
        .params = params,
        .in = nn_conv_sizes(input->dims, params->shape.is_nchw),
        .out = nn_conv_sizes(args->outputs[0].dims, params->shape.is_nchw),
        .filter_h = filter[1],
        .filter_w = filter[2],
        .input = stage_input(args, &pieces, is_float),
        .bias = block,
        .filter = block + pieces.bias,
        .output = pieces.output ? args->scratch + pieces.input + pieces.repeated
                                : args->outputs[0].data,
        .is_output_staged = pieces.output != 0,
        .multipliers = (const struct nn_multiplier *)(const void *)args->weights};

    job.in.c = job.out.c;
    nn_parallel_for(args, job.out.n * job.out.h,
                    1 + job.out.w * job.out.c * (2 + job.filter_h * job.filter_w / 4),
                    is_float ? rows_f32 : rows_q8, &job);
    if (pieces.output && is_float)
        nn_conv_from_nhwc_f32(args, params->shape.is_nchw, job.output);
    else if (pieces.output)
        nn_conv_from_nhwc_q8(args, job.output);
    if (pieces.output)
        nn_epilogue_run_all(args);
    return 0;
}

static int nn_depthwise_conv_2d_f32(const struct nn_kernel_args *args)
{
    return run_depthwise(args);
}

static int nn_depthwise_conv_2d_q8(const struct nn_kernel_args *args)
{
    return run_depthwise(args);
}

/* ---- the table ---- */

static bool check_depthwise(const struct nn_kernel_step *step)
{
    const struct depthwise_params *params = step->params;
    const struct nn_conv_shape *shape = &params->shape;
    struct depthwise_pieces pieces;

    return step->n_inputs >= 8 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 && shape->stride_h > 0 &&
           shape->stride_w > 0 && shape->dilation_h > 0 && shape->dilation_w > 0 &&
           shape->is_nchw <= 1 && shape->depth_multiplier > 0 &&
           (uint64_t)nn_conv_sizes(step->inputs[0].dims, shape->is_nchw).c *
                   (uint64_t)shape->depth_multiplier ==
               step->inputs[1].dims[3] &&
           nn_conv_sizes(step->outputs[0].dims, shape->is_nchw).c == step->inputs[1].dims[3] &&
           step->inputs[0].dims[0] == step->outputs[0].dims[0] &&
           find_pieces(step->inputs[0].type, shape, step->inputs[0].dims, step->inputs[1].dims,
                       step->outputs[0].dims, &pieces) &&
           pieces.multipliers + (params->is_packed ? pieces.bias + pieces.filter : 0) <=
               step->weights_bytes;
}

static bool find_depthwise_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct depthwise_params *params = step->params;
    struct depthwise_pieces pieces;

    if (!find_pieces(step->inputs[0].type, &params->shape, step->inputs[0].dims,
                     step->inputs[1].dims, step->outputs[0].dims, &pieces))
        return false;
    ret->bytes = step_scratch(params, &pieces);
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("depthwise_conv_2d_f32", DEPTHWISE_CONV_2D), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct depthwise_params), .runs_epilogue = 1, .lower = lower_depthwise,
     .run = nn_depthwise_conv_2d_f32, .check = check_depthwise,
     .find_scratch = find_depthwise_scratch},
    {NN_VARIANT_ROW("depthwise_conv_2d_q8", DEPTHWISE_CONV_2D), .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct depthwise_params), .runs_epilogue = 1, .lower = lower_depthwise,
     .run = nn_depthwise_conv_2d_q8, .check = check_depthwise,
     .find_scratch = find_depthwise_scratch},
};
NN_VARIANT_FAMILY(depthwise, kernels);
