/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D of 8 bits with vectors (gemm-simd.h).
 *
 * Windows are read where they lie in an image: a row of the filter is one run of elements, at the
 * same distance from the next row for every position. The image is the input itself where no
 * window leaves it and no vector reads beyond its end; else it is staged in scratch, with zero
 * points around it, and, without VNNI, in 16 bits. 1x1 filters of stride 1 have one run of
 * positions; there each block is widened by itself, while it is in the nearest cache.
 *
 * For constant filters and uint8 data in [N,H,W,C] alone: int8 models are uint8 inside
 * (lowering/u8.c), and conv-c.c takes the rest. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/conv/conv.h"
#include "drivers/cpu/kernels/gemm/gemm-simd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_BLOCK = 96, /* positions that share a panel of weights while it is in the cache */
    SLACK = 64,     /* bytes that vectors may read behind the last element */
    IS_WIDE = sizeof(nn_gemm_simd_data) != 1,
};

struct conv_simd_params {
    struct nn_conv_shape shape;
    int32_t low, high;
    uint32_t reserved;
};

/* ---- geometry ---- */

/* How windows lie in the image, in elements. */
struct conv_image {
    size_t n, h, w, c;   /* of the image */
    size_t top, left;    /* where the input begins in it */
    bool is_run;         /* all positions follow each other, at a distance of c */
    bool is_staged;      /* it is not the input itself */
    size_t staged_bytes; /* of scratch */
    size_t block_bytes;  /* of each worker's scratch: a block of a run, widened */
    struct nn_gemm_simd_segments segments;
};

/* What n positions reach: stride * (n - 1) + dilation * (taps - 1) + 1. */
static bool find_reach(uint32_t n, int32_t stride, uint32_t taps, int32_t dilation, size_t *ret)
{
    size_t windows, filter;

    return nn_mul_size(n - 1, (size_t)stride, &windows) &&
           nn_mul_size(taps - 1, (size_t)dilation, &filter) && nn_add_size(windows, filter, ret) &&
           nn_add_size(*ret, 1, ret);
}

static bool find_bytes(struct conv_image *image)
{
    return nn_mul_size(image->n, image->h, &image->staged_bytes) &&
           nn_mul_size(image->staged_bytes, image->w, &image->staged_bytes) &&
           nn_mul_size(image->staged_bytes, image->c, &image->staged_bytes) &&
           nn_mul_size(image->staged_bytes, sizeof(nn_gemm_simd_data), &image->staged_bytes) &&
           nn_add_size(image->staged_bytes, SLACK, &image->staged_bytes);
}

/* Shapes and parameters to an image, for filters and outputs that are not empty.
 * Returns: false if it does not fit a size. */
static bool find_image(const struct nn_conv_shape *shape, const uint32_t *in,
                       const uint32_t *filter, const uint32_t *out, struct conv_image *ret)
{
    bool is_dense = shape->dilation_w == 1;
    struct conv_image image = {
        .n = out[0], .c = in[3], .top = (size_t)shape->pad_top, .left = (size_t)shape->pad_left};
    size_t run;

    if (!find_reach(out[1], shape->stride_h, filter[1], shape->dilation_h, &image.h) ||
        !find_reach(out[2], shape->stride_w, filter[2], shape->dilation_w, &image.w) ||
        !nn_mul_size(filter[2], in[3], &run))
        return false;
    image.segments = (struct nn_gemm_simd_segments){.n_rows = filter[1],
                                                    .n_taps = is_dense ? 1 : filter[2],
                                                    .n_elements = is_dense ? run : in[3],
                                                    .tap_step = (size_t)shape->dilation_w * in[3]};
    image.is_staged = IS_WIDE || image.top || image.left || image.h > in[1] || image.w > in[2] ||
                      image.segments.n_elements % NN_SIMD_GROUP != 0;
    image.is_run = filter[1] == 1 && filter[2] == 1 && shape->stride_h == 1 &&
                   shape->stride_w == 1 && !image.top && !image.left && image.h == in[1] &&
                   image.w == in[2];
    if (!image.is_staged) {
        image.h = in[1];
        image.w = in[2];
    }
    image.segments.row_step = (size_t)shape->dilation_h * image.w * image.c;
    if (!find_bytes(&image))
        return false;
    if (!image.is_staged || (image.is_run && IS_WIDE))
        image.staged_bytes = 0;
    if (image.is_run && IS_WIDE &&
        !nn_mul_size(in[3], MAX_BLOCK * sizeof(nn_gemm_simd_data), &image.block_bytes))
        return false;
    image.block_bytes += image.block_bytes ? SLACK : 0;
    *ret = image;
    return true;
}

static bool is_usable(const struct nn_conv_shape *shape)
{
    return shape->is_nchw == 0 && shape->pad_top >= 0 && shape->pad_left >= 0 &&
           shape->stride_h >= 1 && shape->stride_w >= 1 && shape->dilation_h >= 1 &&
           shape->dilation_w >= 1;
}

/* ---- lowering ---- */

/* The weights, or a pass where this form does not hold them. */
static int lower_weights(struct nn_lower *lower, const struct nn_gemm_simd_segments *segments)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    size_t n_columns = filter->dims[0], n_bytes;
    struct nn_multiplier *multipliers = calloc(n_columns, sizeof(*multipliers));
    struct nn_gemm_simd_source source = {.weights = filter->value,
                                         .is_signed = filter->type != NNHAL_TENSOR_QUANT8_ASYMM,
                                         .weight_zero = filter->zero_point,
                                         .input_zero = lower->inputs[NN_CONV_INPUT].zero_point,
                                         .output_zero = lower->outputs[0].zero_point,
                                         .bias = lower->inputs[NN_CONV_BIAS].value,
                                         .multipliers = multipliers,
                                         .n_columns = n_columns,
                                         .n_segments = segments->n_rows * segments->n_taps,
                                         .n_elements = segments->n_elements};
    void *block = NULL;
    int r = -ENOMEM;

    if (multipliers &&
        nn_gemm_simd_bytes(n_columns, source.n_segments, source.n_elements, &n_bytes)) {
        nn_conv_multipliers(lower, multipliers, n_columns);
        block = nn_lower_weights(lower, n_bytes);
    }
    if (block)
        r = nn_gemm_simd_pack(block, &source) ? 0 : NN_KERNEL_E_PASS;
    free(multipliers);
    return r;
}

static int lower_conv(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_CONV_INPUT];
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct conv_simd_params *params = lower->params;
    struct conv_image image;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!is_usable(&params->shape) || !filter->value || !lower->inputs[NN_CONV_BIAS].value ||
        nn_lower_count(filter) == 0 || nn_lower_count(output) == 0)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!find_image(&params->shape, input->dims, filter->dims, output->dims, &image))
        return -ENOMEM;
    lower->scratch_bytes = image.staged_bytes;
    lower->worker_scratch_bytes = image.block_bytes;
    return lower_weights(lower, &image.segments);
}

/* ---- staging ---- */

struct conv_simd_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct nn_conv_sizes in, out;
    struct conv_image image;
    uint8_t zero; /* of the input */
    const uint8_t *input;
    nn_gemm_simd_data *staged;
    uint8_t *output;
    struct nn_gemm_simd gemm;
    size_t run, n_runs;         /* positions of a run, and how many there are */
    size_t parts, runs_a_block; /* a run is cut in parts, or a block has several runs */
};

static void fill_data(nn_gemm_simd_data *to, uint8_t zero, size_t n)
{
    memset(to, IS_WIDE ? 0 : zero, n * sizeof(*to));
}

static void copy_data(nn_gemm_simd_data *restrict to, const uint8_t *restrict from, uint8_t zero,
                      size_t n)
{
    if (!IS_WIDE) {
        memcpy(to, from, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = (nn_gemm_simd_data)(from[i] - zero);
}

/* Rows of the image, those of all batches numbered through. */
static void stage_rows(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct conv_simd_job *job = ctx;
    const struct conv_image *image = &job->image;
    size_t n_inside = nn_min_size(job->in.w, image->w > image->left ? image->w - image->left : 0);
    size_t left = nn_min_size(image->left, image->w) * image->c, inside = n_inside * image->c;

    for (size_t row = begin; row < end; row++) {
        nn_gemm_simd_data *to = job->staged + row * image->w * image->c;
        size_t y = row % image->h;

        if (y < image->top || y - image->top >= job->in.h) {
            fill_data(to, job->zero, image->w * image->c);
            continue;
        }
        fill_data(to, job->zero, left);
        copy_data(to + left,
                  job->input + (row / image->h * job->in.h + y - image->top) * job->in.w * image->c,
                  job->zero, inside);
        fill_data(to + left + inside, job->zero, image->w * image->c - left - inside);
    }
}

/* ---- running ---- */

/* Cuts n positions of a run, which begin at rows, into tiles of equal height: 49 of them are 10, 10,
 * 10, 10 and 9, not four times 12 and one. */
static size_t cut_tiles(const struct conv_simd_job *job, const nn_gemm_simd_data *rows, size_t n,
                        uint8_t *out, struct nn_gemm_simd_tile *tiles)
{
    size_t n_tiles = (n + NN_GEMM_SIMD_ROWS - 1) / NN_GEMM_SIMD_ROWS;
    size_t stride = (size_t)job->shape->stride_w * job->image.c;

    for (size_t i = 0; i < n_tiles; i++) {
        size_t height = (n + n_tiles - 1 - i) / n_tiles;

        tiles[i] = (struct nn_gemm_simd_tile){rows, stride, height, out};
        rows += height * stride;
        out += height * job->out.c;
    }
    return n_tiles;
}

/* Positions [first, first + n) of one run. Returns: how many tiles they are. */
static size_t find_tiles(const struct conv_simd_job *job, size_t run, size_t first, size_t n,
                         unsigned worker, struct nn_gemm_simd_tile *tiles)
{
    const struct conv_image *image = &job->image;
    const nn_gemm_simd_data *data = job->staged;
    uint8_t *out = job->output + (run * job->run + first) * job->out.c;
    size_t row = run / job->out.h * image->h + run % job->out.h * (size_t)job->shape->stride_h;

    if (image->is_run && IS_WIDE) {
        nn_gemm_simd_data *block = nn_worker_scratch(job->args, worker);

        copy_data(block, job->input + first * image->c, job->zero, n * image->c);
        return cut_tiles(job, block, n, out, tiles);
    }
    if (image->is_run)
        return cut_tiles(job, data + first * image->c, n, out, tiles);
    return cut_tiles(
        job, data + row * image->w * image->c + first * (size_t)job->shape->stride_w * image->c, n,
        out, tiles);
}

static void conv_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct conv_simd_job *job = ctx;

    for (size_t b = begin; b < end; b++) {
        struct nn_gemm_simd_tile tiles[NN_GEMM_SIMD_TILES];
        size_t run = b / job->parts * job->runs_a_block, n_tiles = 0;
        size_t stop = nn_min_size(run + job->runs_a_block, job->n_runs);
        size_t first = job->run * (b % job->parts) / job->parts;
        size_t end_of_part = job->run * (b % job->parts + 1) / job->parts;
        size_t from = (run * job->run + first) * job->out.c;

        for (; run < stop; run++)
            n_tiles += find_tiles(job, run, first, end_of_part - first, worker, tiles + n_tiles);
        nn_gemm_simd_run(&job->gemm, tiles, n_tiles);
        nn_epilogue_run(job->args, from, ((stop - 1) * job->run + end_of_part) * job->out.c);
    }
}

/* Blocks of at most MAX_BLOCK positions, and several of them where there are enough to share. */
static size_t find_blocks(struct conv_simd_job *job)
{
    size_t n = job->out.n * job->out.h * job->out.w, size = n / 4;

    size = size < NN_GEMM_SIMD_ROWS ? NN_GEMM_SIMD_ROWS : nn_min_size(size, MAX_BLOCK);
    job->run = job->image.is_run ? n : job->out.w;
    job->n_runs = n / job->run;
    job->parts = (job->run + size - 1) / size;
    job->runs_a_block = 1;
    if (job->parts == 1)
        job->runs_a_block = nn_min_size(
            size / job->run,
            NN_GEMM_SIMD_TILES / ((job->run + NN_GEMM_SIMD_ROWS - 1) / NN_GEMM_SIMD_ROWS));
    return (job->n_runs + job->runs_a_block - 1) / job->runs_a_block * job->parts;
}

static int nn_conv_2d_u8(const struct nn_kernel_args *args)
{
    const struct conv_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct conv_simd_job job = {.args = args,
                                .shape = &params->shape,
                                .in = nn_conv_sizes(input->dims, false),
                                .out = nn_conv_sizes(args->outputs[0].dims, false),
                                .zero = (uint8_t)input->zero_point,
                                .input = input->data,
                                .staged = input->data,
                                .output = args->outputs[0].data};
    const struct nn_gemm_simd_segments *segments = &job.image.segments;
    size_t n_blocks, k;

    if (!find_image(&params->shape, input->dims, filter, args->outputs[0].dims, &job.image))
        return -ENOMEM;
    if (job.image.staged_bytes) {
        job.staged = (void *)args->scratch;
        nn_parallel_for(args, job.image.n * job.image.h, 1 + job.image.w * job.image.c / 16,
                        stage_rows, &job);
    }
    job.gemm = nn_gemm_simd_use(args->weights, filter[0], segments, params->low, params->high);
    n_blocks = find_blocks(&job);
    k = segments->n_rows * segments->n_taps * segments->n_elements;
    /* About 100 products a nanosecond, and 2 sums scaled. */
    nn_parallel_for(args, n_blocks,
                    1 + job.n_runs * job.run / n_blocks * (k / 100 + 1) * filter[0] / 2,
                    conv_blocks, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_conv(const struct nn_kernel_step *step)
{
    const struct conv_simd_params *params = step->params;
    struct conv_image image;
    size_t needed;

    return step->n_inputs >= 7 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 &&
           is_usable(&params->shape) && step->inputs[0].dims[3] == step->inputs[1].dims[3] &&
           step->outputs[0].dims[3] == step->inputs[1].dims[0] &&
           step->inputs[0].dims[0] == step->outputs[0].dims[0] &&
           nn_tensor_count(&step->inputs[1]) > 0 && nn_tensor_count(&step->outputs[0]) > 0 &&
           find_image(&params->shape, step->inputs[0].dims, step->inputs[1].dims,
                      step->outputs[0].dims, &image) &&
           nn_gemm_simd_bytes(step->inputs[1].dims[0],
                              image.segments.n_rows * image.segments.n_taps,
                              image.segments.n_elements, &needed) &&
           needed <= step->weights_bytes;
}

static bool find_conv_scratch(const struct nn_kernel_step *step, size_t *ret_scratch_bytes,
                              size_t *ret_worker_scratch_bytes)
{
    const struct conv_simd_params *params = step->params;
    struct conv_image image;

    if (!find_image(&params->shape, step->inputs[0].dims, step->inputs[1].dims,
                    step->outputs[0].dims, &image))
        return false;
    *ret_scratch_bytes = image.staged_bytes;
    *ret_worker_scratch_bytes = image.block_bytes;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("conv_2d_u8", CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct conv_simd_params), .runs_epilogue = 1, .lower = lower_conv,
     .run = nn_conv_2d_u8, .check = check_conv, .find_scratch = find_conv_scratch},
};
NN_VARIANT_FAMILY(conv_simd, kernels);
