/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, and DEPTHWISE_CONV_2D of one channel, of floats with vectors (gemm-f32-simd.h, image.h), for
 * constant filters and data in [N,H,W,C]; conv-c.c and depthwise-c.c take the rest. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/conv/image.h"
#include "drivers/cpu/kernels/gemm/gemm-f32-simd.h"

#include <errno.h>

struct conv_f32_simd_params {
    struct nn_conv_shape shape;
    float low, high;
    uint32_t reserved;
};

static const struct nn_conv_element element = {sizeof(float), 1, false};

/* Products that make one result. */
static size_t count_products(const uint32_t *in, const uint32_t *filter)
{
    return (size_t)filter[1] * filter[2] * in[3];
}

/* ---- lowering ---- */

static int lower_conv(struct nn_lower *lower)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_CONV_INPUT];
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *bias = &lower->inputs[NN_CONV_BIAS];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct conv_f32_simd_params *params = lower->params;
    struct nn_gemm_f32_source source;
    struct nn_conv_image image;
    size_t n_bytes;
    float *block;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (!nn_conv_has_image(&params->shape) || !filter->value || !bias->value ||
        !nn_conv_is_dense(&params->shape, input->dims) || nn_lower_count(filter) == 0 ||
        nn_lower_count(output) == 0)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_f32(params->shape.activation, &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    source = (struct nn_gemm_f32_source){.weights = filter->value,
                                         .bias = bias->value,
                                         .n_columns = nn_conv_columns(&params->shape, filter->dims),
                                         .n_k = count_products(input->dims, filter->dims)};
    source.n_step = params->shape.depth_multiplier ? 1 : source.n_k;
    source.k_step = params->shape.depth_multiplier ? source.n_columns : 1;
    if (!nn_conv_find_image(&params->shape, input->dims, filter->dims, output->dims, element,
                            &image) ||
        !nn_gemm_f32_simd_bytes(source.n_columns, source.n_k, &n_bytes))
        return -ENOMEM;
    block = nn_lower_weights(lower, n_bytes);
    if (!block)
        return -ENOMEM;
    nn_gemm_f32_simd_pack(block, &source, lower->stop);
    return 0;
}

/* ---- running ---- */

struct conv_f32_simd_job {
    const struct nn_kernel_args *args;
    const struct nn_conv_shape *shape;
    struct nn_conv_image image;
    struct nn_conv_blocks blocks;
    struct nn_conv_shares shares;
    const float *data; /* the image */
    float *output;
    struct nn_gemm_f32_simd gemm;
};

static size_t block_tiles(const struct conv_f32_simd_job *job, const struct nn_conv_block *block,
                          struct nn_gemm_f32_tile *tiles)
{
    for (size_t i = 0; i < block->n_tiles; i++)
        tiles[i] = (struct nn_gemm_f32_tile){
            job->data + block->tiles[i].element, job->blocks.stride, block->tiles[i].n_rows,
            job->output + block->tiles[i].position * job->gemm.n_columns};
    return block->n_tiles;
}

/* An item is a share of a block. */
static void conv_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct conv_f32_simd_job *job = ctx;
    struct nn_gemm_f32_tile tiles[NN_CONV_TILES];
    size_t n_columns = job->gemm.n_columns, n_tiles = 0;
    struct nn_conv_block block;

    for (size_t item = begin; item < end; item++) {
        size_t share = item % job->shares.n;
        size_t from = nn_conv_share_begin(&job->shares, share);
        size_t to = nn_conv_share_begin(&job->shares, share + 1);

        if (share == 0 || item == begin) {
            nn_conv_block(&job->blocks, &job->image, job->shape, item / job->shares.n, &block);
            n_tiles = block_tiles(job, &block, tiles);
        }
        nn_gemm_f32_simd_run(&job->gemm, tiles, n_tiles, from, to, job->args->stop);
        nn_epilogue_run(job->args, block.first * n_columns + from,
                        (block.end - 1) * n_columns + to);
    }
}

static int nn_conv_2d_f32(const struct nn_kernel_args *args)
{
    const struct conv_f32_simd_params *params = args->params;
    const uint32_t *in = args->inputs[NN_CONV_INPUT].dims;
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    size_t n_columns = nn_conv_columns(&params->shape, filter);
    struct nn_conv_sizes out = nn_conv_sizes(args->outputs[0].dims, false);
    struct nn_kernel_args rest = *args; /* of the epilogue, what is not computed here */
    struct conv_f32_simd_job job = {
        .args = &rest, .shape = &params->shape, .output = args->outputs[0].data};
    struct nn_sum_f32 sum = {0};

    if (!nn_conv_find_image(&params->shape, in, filter, args->outputs[0].dims, element, &job.image))
        return -ENOMEM;
    job.data = nn_conv_image_f32(args, &job.image);
    job.gemm = nn_gemm_f32_simd_use((const float *)(const void *)args->weights, n_columns);
    job.gemm.segments = job.image.segments;
    job.gemm.low = params->low;
    job.gemm.high = params->high;
    if (nn_epilogue_take_sum_f32(&rest, &sum))
        job.output = sum.out;
    job.gemm.sum = sum;
    job.blocks = nn_conv_cut(
        &job.image, &params->shape, &out, NN_GEMM_F32_SIMD_ROWS,
        nn_conv_by_columns(n_columns, NN_GEMM_F32_SIMD_COLUMNS, rest.n_epilogue));
    job.shares = nn_conv_share(&job.blocks, n_columns, NN_GEMM_F32_SIMD_COLUMNS, rest.n_epilogue);
    /* At least 8 products a nanosecond. */
    nn_parallel_for(args, job.blocks.n * job.shares.n,
                    1 + out.n * out.h * out.w * (1 + count_products(in, filter) * n_columns / 8) /
                            (job.blocks.n * job.shares.n),
                    conv_blocks, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_conv(const struct nn_kernel_step *step)
{
    const struct conv_f32_simd_params *params = step->params;
    const uint32_t *filter = step->inputs[NN_CONV_FILTER].dims;
    struct nn_conv_image image;
    size_t needed;

    return nn_conv_has_dims(step, &params->shape) && nn_conv_has_image(&params->shape) &&
           nn_conv_find_image(&params->shape, step->inputs[0].dims, filter, step->outputs[0].dims,
                              element, &image) &&
           nn_gemm_f32_simd_bytes(nn_conv_columns(&params->shape, filter),
                                  count_products(step->inputs[0].dims, filter), &needed) &&
           needed <= step->weights_bytes;
}

static bool find_conv_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct conv_f32_simd_params *params = step->params;
    struct nn_conv_image image;

    if (!nn_conv_find_image(&params->shape, step->inputs[0].dims, step->inputs[NN_CONV_FILTER].dims,
                            step->outputs[0].dims, element, &image))
        return false;
    ret->bytes = image.bytes;
    return true;
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_FMA_ROW("conv_2d_f32", CONV_2D), .in0 = NN_T_F32,
     .params_bytes = sizeof(struct conv_f32_simd_params), .runs_epilogue = 1, .lower = lower_conv,
     .run = nn_conv_2d_f32, .check = check_conv, .find_scratch = find_conv_scratch},
    {NN_VARIANT_FMA_ROW("depthwise_conv_2d_1_f32", DEPTHWISE_CONV_2D), .in0 = NN_T_F32,
     .params_bytes = sizeof(struct conv_f32_simd_params), .runs_epilogue = 1, .lower = lower_conv,
     .run = nn_conv_2d_f32, .check = check_conv, .find_scratch = find_conv_scratch},
};
NN_VARIANT_FAMILY(conv_f32_simd, kernels);
