/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, and DEPTHWISE_CONV_2D of one channel, of 8 bits with vectors (gemm-simd.h, image.h).
 *
 * Without VNNI the image is staged in 16 bits; 1x1 filters of stride 1 have one run of positions,
 * and there each block is widened by itself, while it is in the nearest cache.
 *
 * For constant filters and uint8 data in [N,H,W,C] alone: int8 models are uint8 inside
 * (lowering/u8.c), and conv-c.c takes the rest. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/conv/image.h"
#include "drivers/cpu/kernels/gemm/gemm-simd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { IS_WIDE = sizeof(nn_gemm_simd_data) != 1 };

struct conv_simd_params {
    struct nn_conv_shape shape;
    int32_t low, high;
    uint32_t reserved;
};

/* ---- geometry ---- */

static const struct nn_conv_element element = {sizeof(nn_gemm_simd_data), NN_SIMD_GROUP, IS_WIDE};

/* Scratch: the image; without VNNI each worker's block of a run, widened. */
static bool image_scratch(const struct nn_conv_image *image, struct nn_kernel_scratch *ret)
{
    if (!image->is_run || !IS_WIDE) {
        ret->bytes = image->bytes;
        return true;
    }
    return nn_mul_size(image->c, NN_CONV_BLOCK * sizeof(nn_gemm_simd_data), &ret->worker_bytes) &&
           nn_add_size(ret->worker_bytes, NN_CONV_SLACK, &ret->worker_bytes);
}

/* ---- lowering ---- */

/* The weights, or a pass where this form does not hold them. */
static int lower_weights(struct nn_lower *lower, const struct nn_conv_shape *shape,
                         const struct nn_gemm_segments *segments)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    size_t n_columns = nn_conv_columns(shape, filter->dims), n_bytes;
    size_t k = (size_t)filter->dims[1] * filter->dims[2] * lower->inputs[NN_CONV_INPUT].dims[3];
    struct nn_multiplier *multipliers = calloc(n_columns, sizeof(*multipliers));
    struct nn_gemm_simd_source source = {.weights = filter->value,
                                         .n_step = shape->depth_multiplier ? 1 : k,
                                         .k_step = shape->depth_multiplier ? n_columns : 1,
                                         .is_signed = filter->type != NNHAL_TENSOR_QUANT8_ASYMM,
                                         .weight_zero = filter->zero_point,
                                         .input_zero = lower->inputs[NN_CONV_INPUT].zero_point,
                                         .output_zero = lower->outputs[0].zero_point,
                                         .bias = lower->inputs[NN_CONV_BIAS].value,
                                         .multipliers = multipliers,
                                         .n_columns = n_columns,
                                         .n_segments = segments->n_rows * segments->n_taps,
                                         .n_elements = segments->n_elements,
                                         .stop = lower->stop};
    void *block = NULL;
    int r = -ENOMEM;

    if (multipliers &&
        nn_gemm_simd_bytes(n_columns, source.n_segments, source.n_elements,
                           nn_gemm_simd_weight_bytes(source.is_signed, source.weight_zero),
                           &n_bytes)) {
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
    struct nn_conv_image image;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!nn_conv_has_image(&params->shape) || !nn_conv_is_dense(&params->shape, input->dims) ||
        !filter->value || !lower->inputs[NN_CONV_BIAS].value || nn_lower_count(filter) == 0 ||
        nn_lower_count(output) == 0)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!nn_conv_find_image(&params->shape, input->dims, filter->dims, output->dims, element,
                            &image))
        return -ENOMEM;
    return lower_weights(lower, &params->shape, &image.segments);
}

static size_t weight_bytes(const struct nn_tensor *filter)
{
    return nn_gemm_simd_weight_bytes(filter->type != NNHAL_TENSOR_QUANT8_ASYMM, filter->zero_point);
}

/* ---- running ---- */

struct conv_simd_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct nn_conv_image image;
    struct nn_conv_blocks blocks;
    struct nn_conv_shares shares;
    size_t n_columns;
    uint8_t zero; /* of the input */
    const uint8_t *input;
    const nn_gemm_simd_data *data; /* the image, unless blocks of a run are widened */
    uint8_t *output;
    struct nn_gemm_simd gemm;
};

static void widen_data(void *to, const void *from, uint8_t zero, size_t n)
{
    nn_gemm_simd_data *restrict out = to;
    const uint8_t *restrict in = from;

    for (size_t i = 0; i < n; i++)
        out[i] = (nn_gemm_simd_data)(in[i] - zero);
}

/* The image of a block, from element *ret_first on. */
static const nn_gemm_simd_data *block_data(const struct conv_simd_job *job,
                                           const struct nn_conv_block *block, unsigned worker,
                                           size_t *ret_first)
{
    *ret_first = 0;
    if (IS_WIDE && job->image.is_run) {
        nn_gemm_simd_data *wide = nn_worker_scratch(job->args, worker);
        size_t n = (block->end - block->first) * job->image.c;

        *ret_first = block->first * job->image.c;
        widen_data(wide, job->input + *ret_first, job->zero, n);
        memset(wide + n, 0, NN_CONV_SLACK);
        return wide;
    }
    return job->data;
}

/* The tiles of a block. Returns: how many. */
static size_t block_tiles(const struct conv_simd_job *job, const struct nn_conv_block *block,
                          unsigned worker, struct nn_gemm_simd_tile *tiles)
{
    size_t first;
    const nn_gemm_simd_data *data = block_data(job, block, worker, &first);

    for (size_t i = 0; i < block->n_tiles; i++)
        tiles[i] = (struct nn_gemm_simd_tile){
            data + block->tiles[i].element - first, job->blocks.stride, block->tiles[i].n_rows,
            job->output + block->tiles[i].position * job->n_columns};
    return block->n_tiles;
}

/* An item is a share of a block. */
static void conv_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct conv_simd_job *job = ctx;
    struct nn_gemm_simd_tile tiles[NN_CONV_TILES];
    struct nn_conv_block block;
    size_t n_tiles = 0;

    for (size_t item = begin; item < end; item++) {
        size_t share = item % job->shares.n;
        size_t from = nn_conv_share_begin(&job->shares, share);
        size_t to = nn_conv_share_begin(&job->shares, share + 1);

        if (share == 0 || item == begin) {
            nn_conv_block(&job->blocks, &job->image, job->shape, item / job->shares.n, &block);
            n_tiles = block_tiles(job, &block, worker, tiles);
        }
        nn_gemm_simd_run(&job->gemm, tiles, n_tiles, from, to, job->args->stop);
        nn_epilogue_run(job->args, block.first * job->n_columns + from,
                        (block.end - 1) * job->n_columns + to);
    }
}

/* The input to scratch, where it is not read in place. */
static void stage_image(struct conv_simd_job *job, const struct nn_conv_sizes *in)
{
    const struct nn_conv_image *image = &job->image;
    struct nn_conv_stage stage = {.image = image,
                                  .in = *in,
                                  .input = job->input,
                                  .staged = job->args->scratch,
                                  .input_bytes = 1,
                                  .bytes = sizeof(nn_gemm_simd_data),
                                  .fill = IS_WIDE ? 0 : job->zero,
                                  .zero = job->zero,
                                  .copy = IS_WIDE ? widen_data : NULL};

    job->data = (const void *)job->input;
    if (!image->is_staged || (IS_WIDE && image->is_run))
        return;
    nn_parallel_for(job->args, image->n * image->h, 1 + image->w * image->c / 4, nn_conv_stage_rows,
                    &stage);
    job->data = (const void *)job->args->scratch;
}

static int nn_conv_2d_u8(const struct nn_kernel_args *args)
{
    const struct conv_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct nn_conv_sizes in = nn_conv_sizes(input->dims, false);
    struct nn_conv_sizes out = nn_conv_sizes(args->outputs[0].dims, false);
    struct conv_simd_job job = {.args = args,
                                .shape = &params->shape,
                                .n_columns = nn_conv_columns(&params->shape, filter),
                                .zero = (uint8_t)input->zero_point,
                                .input = input->data,
                                .output = args->outputs[0].data};
    const struct nn_gemm_segments *segments = &job.image.segments;
    size_t k;

    if (!nn_conv_find_image(&params->shape, input->dims, filter, args->outputs[0].dims, element,
                            &job.image))
        return -ENOMEM;
    stage_image(&job, &in);
    job.gemm = nn_gemm_simd_use(args->weights, job.n_columns, segments,
                                weight_bytes(&args->inputs[NN_CONV_FILTER]), params->low,
                                params->high);
    job.blocks = nn_conv_cut(
        &job.image, &params->shape, &out, NN_GEMM_SIMD_ROWS,
        nn_conv_by_columns(job.n_columns, NN_GEMM_SIMD_COLUMNS, args->n_epilogue));
    job.shares = nn_conv_share(&job.blocks, job.n_columns, NN_GEMM_SIMD_COLUMNS, args->n_epilogue);
    k = segments->n_rows * segments->n_taps * segments->n_elements;
    /* Two instructions a nanosecond; to scale a sum takes as long as 32 products. */
    nn_parallel_for(args, job.blocks.n * job.shares.n,
                    1 + out.n * out.h * out.w * job.n_columns * (k + 32) /
                            (job.blocks.n * job.shares.n * 2 * NN_LANES_I32 * NN_SIMD_GROUP),
                    conv_blocks, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_conv(const struct nn_kernel_step *step)
{
    const struct conv_simd_params *params = step->params;
    struct nn_conv_image image;
    size_t needed;

    return nn_conv_has_dims(step, &params->shape) && nn_conv_has_image(&params->shape) &&
           nn_conv_find_image(&params->shape, step->inputs[0].dims, step->inputs[1].dims,
                              step->outputs[0].dims, element, &image) &&
           nn_gemm_simd_bytes(nn_conv_columns(&params->shape, step->inputs[1].dims),
                              image.segments.n_rows * image.segments.n_taps,
                              image.segments.n_elements,
                              weight_bytes(&step->inputs[NN_CONV_FILTER]), &needed) &&
           needed <= step->weights_bytes;
}

static bool find_conv_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct conv_simd_params *params = step->params;
    struct nn_conv_image image;

    return nn_conv_find_image(&params->shape, step->inputs[0].dims, step->inputs[1].dims,
                              step->outputs[0].dims, element, &image) &&
           image_scratch(&image, ret);
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("conv_2d_u8", CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct conv_simd_params), .runs_epilogue = 1, .lower = lower_conv,
     .run = nn_conv_2d_u8, .check = check_conv, .find_scratch = find_conv_scratch},
    {NN_VARIANT_ROW("depthwise_conv_2d_1_u8", DEPTHWISE_CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct conv_simd_params), .runs_epilogue = 1, .lower = lower_conv,
     .run = nn_conv_2d_u8, .check = check_conv, .find_scratch = find_conv_scratch},
};
NN_VARIANT_FAMILY(conv_simd, kernels);
