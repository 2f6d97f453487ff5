/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, plain C, as rows times packed weights (gemm.h).
 *
 * A row is the window of one output position: fH * fW * Ci inputs, zero where
 * the window hangs over the edge. Windows of 1x1 filters are read where they
 * lie; others are gathered, a block of positions at a time, so that a panel of weights serves a
 * whole block while it is in the cache. A block is what threads share out.
 *
 * Scratch: the staged input, the staged output, and the weights if they are
 * not constant, in this order; each worker's is the gathered block. */
#include "base/arith.h"
#include "base/cleanup.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/conv/conv.h"
#include "drivers/cpu/kernels/gemm/gemm.h"
#include "drivers/cpu/kernels/common/variant.h"

#include <string.h>

enum {
    BLOCK_BYTES = 96 * 1024, /* of gathered rows: with a panel of weights, inside a small L2 */
    MAX_BLOCK = 64,
    SLACK = 64, /* bytes that whole vectors may read behind the last element */
};

struct conv_params {
    struct nn_conv_shape shape;
    float low_f32, high_f32;
    int32_t low_q8, high_q8;
    uint32_t is_packed;
    uint32_t block; /* rows */
};

/* The pieces of scratch, in bytes. */
struct conv_pieces {
    size_t input, output, weights;
    size_t k;
};

/* Whether each window is one cell of the input: none lies in the padding, at whichever end. */
static bool is_direct(const struct nn_conv_shape *shape, const uint32_t *in, const uint32_t *filter,
                      const uint32_t *out)
{
    struct nn_conv_sizes from = nn_conv_sizes(in, shape->is_nchw);
    struct nn_conv_sizes to = nn_conv_sizes(out, shape->is_nchw);

    return filter[1] == 1 && filter[2] == 1 && shape->pad_top == 0 && shape->pad_left == 0 &&
           (to.h == 0 || (to.h - 1) * (uint64_t)shape->stride_h < from.h) &&
           (to.w == 0 || (to.w - 1) * (uint64_t)shape->stride_w < from.w);
}

static bool is_constant(const struct nn_lower *lower)
{
    return lower->inputs[NN_CONV_FILTER].value && lower->inputs[NN_CONV_BIAS].value;
}

static bool count_of(const uint32_t *dims, size_t *ret)
{
    return nn_mul_size(dims[0], dims[1], ret) && nn_mul_size(*ret, dims[2], ret) &&
           nn_mul_size(*ret, dims[3], ret);
}

/* bytes of n elements, with slack, in whole cache lines; 0 for none. */
static bool piece_bytes(size_t n, size_t element, size_t *ret)
{
    return nn_mul_size(n, element, ret) && nn_add_size(*ret, SLACK, ret) &&
           nn_align_up(*ret, 64, ret);
}

static bool find_k(const uint32_t *filter, size_t *ret)
{
    return nn_mul_size(filter[1], filter[2], ret) && nn_mul_size(*ret, filter[3], ret);
}

static bool find_pieces_f32(uint32_t type, bool is_nchw, const uint32_t *in, const uint32_t *filter,
                            const uint32_t *out, struct conv_pieces *ret)
{
    size_t n_in, n_out;
    bool is_staged = nn_conv_needs_nhwc(type, is_nchw);

    *ret = (struct conv_pieces){0};
    return find_k(filter, &ret->k) && count_of(in, &n_in) && count_of(out, &n_out) &&
           (!is_staged || (piece_bytes(n_in, sizeof(float), &ret->input) &&
                           piece_bytes(n_out, sizeof(float), &ret->output))) &&
           nn_gemm_bytes_f32(filter[0], ret->k, &ret->weights);
}

static bool find_pieces_q8(bool is_nchw, const uint32_t *in, const uint32_t *filter,
                           const uint32_t *out, struct conv_pieces *ret)
{
    size_t n_in, n_out;

    *ret = (struct conv_pieces){0};
    return find_k(filter, &ret->k) && count_of(in, &n_in) && count_of(out, &n_out) &&
           piece_bytes(n_in, sizeof(int16_t), &ret->input) &&
           (!is_nchw || piece_bytes(n_out, 1, &ret->output)) &&
           nn_gemm_bytes_q8(filter[0], ret->k, &ret->weights);
}

/* How many rows a block has, of n_positions: as many as fit, in whole tiles. */
static uint32_t choose_block(size_t row_bytes, size_t tile, size_t n_positions)
{
    size_t n = BLOCK_BYTES / (row_bytes ? row_bytes : 1) / tile * tile;

    n = n < tile ? tile : n > MAX_BLOCK ? MAX_BLOCK : n;
    n = n > n_positions ? n_positions : n;
    return (uint32_t)(n ? n : 1);
}

/* ---- positions and windows ---- */

struct conv_job {
    const struct nn_kernel_args *args;
    const struct conv_params *params;
    struct nn_conv_sizes in, out;
    size_t filter_h, filter_w;
    bool is_direct;
    const void *input; /* staged: float or int16 */
    void *output;
    bool is_output_staged;
    struct nn_gemm_f32 f32;
    struct nn_gemm_q8 q8;
};

static void job_init(struct conv_job *job, const struct nn_kernel_args *args)
{
    const struct conv_params *params = args->params;
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;

    *job = (struct conv_job){
        .args = args,
        .params = params,
        .in = nn_conv_sizes(args->inputs[NN_CONV_INPUT].dims, params->shape.is_nchw),
        .out = nn_conv_sizes(args->outputs[0].dims, params->shape.is_nchw),
        .filter_h = filter[1],
        .filter_w = filter[2],
        .is_direct = is_direct(&params->shape, args->inputs[NN_CONV_INPUT].dims, filter,
                               args->outputs[0].dims)};
}

/* The first input cell of position's window, as coordinates. */
static void window_start(const struct conv_job *job, size_t position, size_t *n, int64_t *y,
                         int64_t *x)
{
    const struct nn_conv_shape *shape = &job->params->shape;

    *n = position / job->out.w / job->out.h;
    *y = (int64_t)(position / job->out.w % job->out.h) * shape->stride_h - shape->pad_top;
    *x = (int64_t)(position % job->out.w) * shape->stride_w - shape->pad_left;
}

/* Index of the input cell that a direct row begins at. */
static size_t direct_index(const struct conv_job *job, size_t position)
{
    size_t n;
    int64_t y, x;

    window_start(job, position, &n, &y, &x);
    return ((n * job->in.h + (size_t)y) * job->in.w + (size_t)x) * job->in.c;
}

/* One row of the filter: copies taps [first, end) and clears the others. */
static uint8_t *gather_taps(const struct conv_job *job, uint8_t *to, const uint8_t *cells,
                            int64_t x, size_t cell_bytes, struct nn_pace *pace)
{
    int64_t dilation = job->params->shape.dilation_w;
    size_t first, end;

    nn_conv_taps(x, dilation, job->filter_w, job->in.w, &first, &end);
    nn_pace_fill(pace, to, 0, first * cell_bytes);
    if (dilation == 1 && end > first) {
        nn_pace_copy(pace, to + first * cell_bytes,
                     cells + (size_t)(x + (int64_t)first) * cell_bytes, (end - first) * cell_bytes);
    } else {
        for (size_t t = first; t < end && !nn_pace_ends(pace, 5); t++)
            nn_pace_copy(pace, to + t * cell_bytes,
                         cells + (size_t)(x + (int64_t)t * dilation) * cell_bytes, cell_bytes);
    }
    nn_pace_fill(pace, to + end * cell_bytes, 0, (job->filter_w - end) * cell_bytes);
    return to + job->filter_w * cell_bytes;
}

/* The window of one position, as a row. */
static void gather_window(const struct conv_job *job, size_t position, void *row,
                          size_t element_bytes, struct nn_pace *pace)
{
    size_t cell_bytes = job->in.c * element_bytes, n, first, end;
    uint8_t *to = row;
    int64_t y, x;

    window_start(job, position, &n, &y, &x);
    nn_conv_taps(y, job->params->shape.dilation_h, job->filter_h, job->in.h, &first, &end);
    for (size_t t = 0; t < job->filter_h && !nn_pace_ends(pace, 10); t++) {
        if (t < first || t >= end) {
            nn_pace_fill(pace, to, 0, job->filter_w * cell_bytes);
            to += job->filter_w * cell_bytes;
        } else {
            size_t in_y = (size_t)(y + (int64_t)t * job->params->shape.dilation_h);
            const uint8_t *cells = (const uint8_t *)job->input +
                                   (n * job->in.h + in_y) * job->in.w * cell_bytes;

            to = gather_taps(job, to, cells, x, cell_bytes, pace);
        }
    }
}

/* ---- blocks ---- */

static void block_f32(const struct conv_job *job, size_t first, size_t n, unsigned worker)
{
    float *gathered = nn_worker_scratch(job->args, worker);
    const float *rows[MAX_BLOCK];
    float *outs[MAX_BLOCK];
    size_t n_cols = job->f32.n_cols, cost = 1 + job->f32.k * n * NN_GEMM_COLS_F32 / 16;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t i = 0; i < n; i++) {
        outs[i] = (float *)job->output + (first + i) * n_cols;
        if (job->is_direct) {
            rows[i] = (const float *)job->input + direct_index(job, first + i);
        } else {
            gather_window(job, first + i, gathered + i * job->f32.k, sizeof(float), &pace);
            rows[i] = gathered + i * job->f32.k;
        }
    }
    for (size_t c = 0; c < n_cols && !nn_pace_ends(&pace, cost); c += NN_GEMM_COLS_F32) {
        size_t end = n_cols - c < NN_GEMM_COLS_F32 ? n_cols : c + NN_GEMM_COLS_F32;

        for (size_t i = 0; i < n; i += NN_GEMM_ROWS_F32)
            nn_gemm_run_f32(&job->f32, n - i < NN_GEMM_ROWS_F32 ? n - i : NN_GEMM_ROWS_F32,
                            rows + i, outs + i, c, end);
    }
}

static void block_q8(const struct conv_job *job, size_t first, size_t n, unsigned worker)
{
    int16_t *gathered = nn_worker_scratch(job->args, worker);
    const int16_t *rows[MAX_BLOCK];
    uint8_t *outs[MAX_BLOCK];
    size_t n_cols = job->q8.n_cols, stride = nn_gemm_k_q8(job->q8.k);
    size_t cost = 1 + stride * n * NN_GEMM_COLS_Q8 / 16;
    struct nn_pace pace = nn_pace(job->args->stop);

    for (size_t i = 0; i < n; i++) {
        outs[i] = (uint8_t *)job->output + (first + i) * n_cols;
        if (job->is_direct) {
            rows[i] = (const int16_t *)job->input + direct_index(job, first + i);
        } else {
            gather_window(job, first + i, gathered + i * stride, sizeof(int16_t), &pace);
            rows[i] = gathered + i * stride;
        }
    }
    for (size_t c = 0; c < n_cols && !nn_pace_ends(&pace, cost); c += NN_GEMM_COLS_Q8) {
        size_t end = n_cols - c < NN_GEMM_COLS_Q8 ? n_cols : c + NN_GEMM_COLS_Q8;

        for (size_t i = 0; i < n; i += NN_GEMM_ROWS_Q8)
            nn_gemm_run_q8(&job->q8, n - i < NN_GEMM_ROWS_Q8 ? n - i : NN_GEMM_ROWS_Q8, rows + i,
                           outs + i, c, end);
    }
}

typedef void (*block_fn)(const struct conv_job *job, size_t first, size_t n, unsigned worker);

static void run_blocks(const struct conv_job *job, size_t begin, size_t end, unsigned worker,
                       block_fn block)
{
    size_t n_positions = job->out.n * job->out.h * job->out.w, size = job->params->block;

    for (size_t b = begin; b < end; b++) {
        size_t first = b * size, n = n_positions - first < size ? n_positions - first : size;

        block(job, first, n, worker);
        if (!job->is_output_staged)
            nn_epilogue_run(job->args, first * job->out.c, (first + n) * job->out.c);
    }
}

static void blocks_f32(void *ctx, size_t begin, size_t end, unsigned worker)
{
    run_blocks(ctx, begin, end, worker, block_f32);
}

static void blocks_q8(void *ctx, size_t begin, size_t end, unsigned worker)
{
    run_blocks(ctx, begin, end, worker, block_q8);
}

static void run_all(struct conv_job *job, size_t row_cost, nn_range_fn blocks)
{
    size_t n_positions = job->out.n * job->out.h * job->out.w, size = job->params->block;

    nn_parallel_for(job->args, (n_positions + size - 1) / size, size * row_cost + 1, blocks, job);
}

/* ---- float32 and float16 ---- */

static int lower_float(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_CONV_INPUT];
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    struct conv_params *params = lower->params;
    struct nn_gemm_weights weights;
    struct conv_pieces pieces;
    float *block;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!nn_activation_f32(params->shape.activation, &params->low_f32, &params->high_f32))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!find_pieces_f32(input->type, params->shape.is_nchw, input->dims, filter->dims,
                         lower->outputs[0].dims, &pieces))
        return -ENOMEM;
    params->block = choose_block(pieces.k * sizeof(float), NN_GEMM_ROWS_F32,
                                 nn_lower_count(&lower->outputs[0]) / filter->dims[0]);
    params->is_packed = is_constant(lower);
    if (!params->is_packed)
        return 0;
    block = nn_lower_weights(lower, pieces.weights);
    if (!block)
        return -ENOMEM;
    weights = nn_gemm_constant(filter, &lower->inputs[NN_CONV_BIAS], pieces.k);
    nn_gemm_pack(block, &weights, lower->stop);
    return 0;
}

static const float *weights_f32(const struct nn_kernel_args *args, const struct conv_pieces *pieces)
{
    const struct conv_params *params = args->params;
    const struct nn_gemm_weights weights = nn_gemm_tensors(&args->inputs[NN_CONV_FILTER],
                                                           &args->inputs[NN_CONV_BIAS], pieces->k);
    float *block = (float *)(void *)(args->scratch + pieces->input + pieces->output);

    if (params->is_packed)
        return (const float *)(const void *)args->weights;
    nn_gemm_pack(block, &weights, args->stop);
    return block;
}

static int nn_conv_2d_f32(const struct nn_kernel_args *args)
{
    const struct conv_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const struct nn_tensor *filter = &args->inputs[NN_CONV_FILTER];
    bool is_staged = nn_conv_needs_nhwc(input->type, params->shape.is_nchw);
    struct conv_pieces pieces;
    struct conv_job job;

    if (!find_pieces_f32(input->type, params->shape.is_nchw, input->dims, filter->dims,
                         args->outputs[0].dims, &pieces))
        return -ENOMEM;
    job_init(&job, args);
    job.f32 = (struct nn_gemm_f32){.n_cols = filter->dims[0],
                                   .k = pieces.k,
                                   .low = params->low_f32,
                                   .high = params->high_f32,
                                   .stop = args->stop};
    nn_gemm_use_f32(&job.f32, weights_f32(args, &pieces));
    job.input = nn_conv_nhwc_f32(args, params->shape.is_nchw, (float *)(void *)args->scratch);
    job.is_output_staged = is_staged;
    job.output = is_staged ? args->scratch + pieces.input : args->outputs[0].data;
    run_all(&job, 1 + pieces.k * filter->dims[0] / 8, blocks_f32);
    if (is_staged) {
        nn_conv_from_nhwc_f32(args, params->shape.is_nchw, job.output);
        nn_epilogue_run_all(args);
    }
    return 0;
}

/* ---- 8 bits ---- */

/* In the weights: the multipliers, then bias and filter if they are constant. */
static size_t multiplier_bytes(size_t n_channels)
{
    return (n_channels * sizeof(struct nn_multiplier) + 63) / 64 * 64;
}

static int lower_q8(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_CONV_INPUT];
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    bool is_signed = input->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
    struct conv_params *params = lower->params;
    size_t n_multipliers = multiplier_bytes(filter->dims[0]);
    struct nn_gemm_weights weights;
    struct conv_pieces pieces;
    uint8_t *block;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!nn_activation_q8(params->shape.activation, is_signed, output->scale, output->zero_point,
                          &params->low_q8, &params->high_q8))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!find_pieces_q8(params->shape.is_nchw, input->dims, filter->dims, output->dims, &pieces))
        return -ENOMEM;
    params->block = choose_block(nn_gemm_k_q8(pieces.k) * sizeof(int16_t), NN_GEMM_ROWS_Q8,
                                 nn_lower_count(output) / filter->dims[0]);
    params->is_packed = is_constant(lower);
    block = nn_lower_weights(lower, n_multipliers + (params->is_packed ? pieces.weights : 0));
    if (!block)
        return -ENOMEM;
    nn_conv_multipliers(lower, (struct nn_multiplier *)(void *)block, filter->dims[0]);
    weights = nn_gemm_constant(filter, &lower->inputs[NN_CONV_BIAS], pieces.k);
    if (params->is_packed)
        nn_gemm_pack(block + n_multipliers, &weights, lower->stop);
    return 0;
}

static const uint8_t *weights_q8(const struct nn_kernel_args *args,
                                 const struct conv_pieces *pieces)
{
    const struct conv_params *params = args->params;
    const struct nn_gemm_weights weights = nn_gemm_tensors(&args->inputs[NN_CONV_FILTER],
                                                           &args->inputs[NN_CONV_BIAS], pieces->k);
    uint8_t *block = args->scratch + pieces->input + pieces->output;

    if (params->is_packed)
        return args->weights + multiplier_bytes(weights.n_cols);
    nn_gemm_pack(block, &weights, args->stop);
    return block;
}

static int nn_conv_2d_q8(const struct nn_kernel_args *args)
{
    const struct conv_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const struct nn_tensor *filter = &args->inputs[NN_CONV_FILTER];
    struct conv_pieces pieces;
    struct conv_job job;

    if (!find_pieces_q8(params->shape.is_nchw, input->dims, filter->dims, args->outputs[0].dims,
                        &pieces))
        return -ENOMEM;
    job_init(&job, args);
    job.q8 = (struct nn_gemm_q8){
        .n_cols = filter->dims[0],
        .k = pieces.k,
        .multipliers = (const struct nn_multiplier *)(const void *)args->weights,
        .multiplier_step = 1,
        .out_zero_point = args->outputs[0].zero_point,
        .low = params->low_q8,
        .high = params->high_q8,
        .stop = args->stop};
    nn_gemm_use_q8(&job.q8, weights_q8(args, &pieces));
    nn_conv_nhwc_q8(args, params->shape.is_nchw, (int16_t *)(void *)args->scratch);
    job.input = args->scratch;
    job.is_output_staged = params->shape.is_nchw;
    job.output = job.is_output_staged ? args->scratch + pieces.input : args->outputs[0].data;
    run_all(&job, 1 + pieces.k * filter->dims[0] / 16, blocks_q8);
    if (job.is_output_staged) {
        nn_conv_from_nhwc_q8(args, job.output);
        nn_epilogue_run_all(args);
    }
    return 0;
}

/* ---- the table ---- */

/* Whether the layout that params tell is that of these tensors. */
static bool has_channels(const struct nn_kernel_step *step, const struct nn_conv_shape *shape)
{
    struct nn_conv_sizes in = nn_conv_sizes(step->inputs[0].dims, shape->is_nchw);
    struct nn_conv_sizes out = nn_conv_sizes(step->outputs[0].dims, shape->is_nchw);

    return in.n == out.n && in.c == step->inputs[1].dims[3] && out.c == step->inputs[1].dims[0];
}

/* Windows are clipped to the input, so that no stride or padding reads outside it.
 * Params decide the size of a block and where the weights are: these are checked. */
static bool check_conv(const struct nn_kernel_step *step)
{
    const struct conv_params *params = step->params;
    const struct nn_conv_shape *shape = &params->shape;
    bool is_float = step->n_inputs > 2 && (NN_T_F32 | NN_T_F16) >> step->inputs[0].type & 1;
    size_t k, needed;

    if (step->n_inputs < 7 || step->n_outputs != 1 || step->inputs[0].n_dims != 4 ||
        step->inputs[1].n_dims != 4 || step->outputs[0].n_dims != 4 || params->block == 0 ||
        params->block > MAX_BLOCK || shape->stride_h < 1 || shape->stride_w < 1 ||
        shape->dilation_h < 1 || shape->dilation_w < 1 || shape->is_nchw > 1 ||
        !has_channels(step, shape) || !find_k(step->inputs[1].dims, &k))
        return false;
    if (is_float)
        return !params->is_packed || (nn_gemm_bytes_f32(step->inputs[1].dims[0], k, &needed) &&
                                      needed <= step->weights_bytes);
    if (!params->is_packed)
        return multiplier_bytes(step->inputs[1].dims[0]) <= step->weights_bytes;
    return nn_gemm_bytes_q8(step->inputs[1].dims[0], k, &needed) &&
           nn_add_size(needed, multiplier_bytes(step->inputs[1].dims[0]), &needed) &&
           needed <= step->weights_bytes;
}

/* Of each worker it is a block of gathered rows. */
static bool find_conv_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct conv_params *params = step->params;
    const uint32_t *in = step->inputs[0].dims, *filter = step->inputs[NN_CONV_FILTER].dims;
    const uint32_t *out = step->outputs[0].dims;
    bool is_float = (NN_T_F32 | NN_T_F16) >> step->inputs[0].type & 1, fits;
    struct conv_pieces pieces;
    size_t row_bytes;

    fits = is_float ? find_pieces_f32(step->inputs[0].type, params->shape.is_nchw, in, filter, out,
                                      &pieces)
                    : find_pieces_q8(params->shape.is_nchw, in, filter, out, &pieces);
    if (!fits || !nn_add_size(pieces.input, pieces.output, &ret->bytes) ||
        (!params->is_packed && !nn_add_size(ret->bytes, pieces.weights, &ret->bytes)))
        return false;
    if (is_direct(&params->shape, in, filter, out))
        return true;
    row_bytes = is_float ? pieces.k * sizeof(float) : nn_gemm_k_q8(pieces.k) * sizeof(int16_t);
    return nn_mul_size(row_bytes, params->block, &ret->worker_bytes) &&
           nn_add_size(ret->worker_bytes, SLACK, &ret->worker_bytes);
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("conv_2d_f32", CONV_2D), .in0 = NN_T_F32 | NN_T_F16,
     .params_bytes = sizeof(struct conv_params), .runs_epilogue = 1, .lower = lower_float,
     .run = nn_conv_2d_f32, .check = check_conv, .find_scratch = find_conv_scratch},
    {NN_VARIANT_ROW("conv_2d_q8", CONV_2D), .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct conv_params), .runs_epilogue = 1, .lower = lower_q8,
     .run = nn_conv_2d_q8, .check = check_conv, .find_scratch = find_conv_scratch},
};
NN_VARIANT_FAMILY(conv, kernels);
