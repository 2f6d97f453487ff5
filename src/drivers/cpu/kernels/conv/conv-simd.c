/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D, and DEPTHWISE_CONV_2D of one channel, of 8 bits with vectors (gemm-simd.h, image.h).
 *
 * Without VNNI the rows that a block reads are staged in 16 bits; 1x1 filters of stride 1 have one run
 * of positions, and there the positions of each block are widened, while they are in the nearest cache.
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

enum {
    IS_WIDE = sizeof(nn_gemm_simd_data) != 1,
    PRODUCTS_A_NS = 4 * NN_LANES_I32 * NN_SIMD_GROUP,
};

struct conv_simd_params {
    struct nn_conv_shape shape;
    int32_t low, high;
    uint32_t reserved;
};

/* ---- geometry ---- */

static const struct nn_conv_element element = {sizeof(nn_gemm_simd_data), NN_SIMD_GROUP, IS_WIDE};

/* Whether the positions of a block are widened by themselves. */
static bool widens_positions(const struct nn_conv_image *image)
{
    return IS_WIDE && image->is_run;
}

/* Scratch of a worker: the positions of a block, or the rows that it reads. */
static bool image_scratch(const struct nn_conv_image *image, const struct nn_conv_shape *shape,
                          const uint32_t *out, struct nn_kernel_scratch *ret)
{
    if (!image->is_staged)
        return true;
    if (!widens_positions(image))
        return nn_conv_window_bytes(image, shape, out[1],
                                    nn_conv_runs_a_block(out[2], NN_GEMM_SIMD_ROWS),
                                    sizeof(nn_gemm_simd_data), &ret->worker_bytes);
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
    struct nn_conv_stage stage;
    struct nn_conv_cut cut;
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

/* The data of a block, and the element of its first row that this is. */
static const nn_gemm_simd_data *block_data(const struct conv_simd_job *job,
                                           const struct nn_conv_block *block,
                                           struct nn_conv_window *window, size_t *ret_first)
{
    const struct nn_conv_image *image = &job->image;
    nn_gemm_simd_data *wide = (void *)window->rows;
    size_t n = (block->end - block->first) * image->c;

    *ret_first = 0;
    if (!image->is_staged)
        return (const void *)(job->stage.input + block->first_row * image->w * image->c);
    if (!widens_positions(image)) {
        nn_conv_window_move(window, &job->stage, block->first_row, block->end_row);
        return wide;
    }
    *ret_first = block->first * image->c;
    widen_data(wide, job->stage.input + *ret_first, job->stage.zero, n);
    memset(wide + n, 0, NN_CONV_SLACK);
    return wide;
}

static void block_tiles(const struct conv_simd_job *job, const struct nn_conv_block *block,
                        struct nn_conv_window *window, struct nn_gemm_simd_tile *tiles)
{
    size_t first;
    const nn_gemm_simd_data *data = block_data(job, block, window, &first);

    for (size_t i = 0; i < block->n_tiles; i++)
        tiles[i] = (struct nn_gemm_simd_tile){
            data + block->tiles[i].element - first, job->cut.stride, block->tiles[i].n_rows,
            job->output + block->tiles[i].position * job->cut.n_columns};
}

static void conv_items(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct conv_simd_job *job = ctx;
    struct nn_conv_window window = {.rows = nn_worker_scratch(job->args, worker)};
    struct nn_gemm_simd_tile tiles[NN_CONV_TILES];
    size_t n_columns = job->cut.n_columns;
    struct nn_conv_block block;

    block.n_units = 0;
    while (begin < end) {
        begin = nn_conv_next(&job->cut, &job->image, job->shape, begin, end, &block);
        if (block.is_new)
            block_tiles(job, &block, &window, tiles);
        nn_gemm_simd_run(&job->gemm, tiles, block.n_tiles, block.first_column, block.end_column);
        nn_epilogue_run(job->args, block.first * n_columns + block.first_column,
                        (block.end - 1) * n_columns + block.end_column);
    }
}

static int nn_conv_2d_u8(const struct nn_kernel_args *args)
{
    const struct conv_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct nn_conv_sizes out = nn_conv_sizes(args->outputs[0].dims, false);
    struct nn_conv_columns columns = {.n = nn_conv_columns(&params->shape, filter),
                                      .panel = NN_GEMM_SIMD_COLUMNS,
                                      .tile = NN_GEMM_SIMD_ROWS,
                                      .has_epilogue = args->n_epilogue};
    struct conv_simd_job job = {.args = args,
                                .shape = &params->shape,
                                .stage = {.in = nn_conv_sizes(input->dims, false),
                                          .input = input->data,
                                          .input_bytes = 1,
                                          .bytes = sizeof(nn_gemm_simd_data),
                                          .fill = IS_WIDE ? 0 : (uint8_t)input->zero_point,
                                          .zero = (uint8_t)input->zero_point,
                                          .copy = IS_WIDE ? widen_data : NULL},
                                .output = args->outputs[0].data};
    const struct nn_gemm_segments *segments = &job.image.segments;
    size_t n_products;

    if (!nn_conv_find_image(&params->shape, input->dims, filter, args->outputs[0].dims, element,
                            &job.image))
        return -ENOMEM;
    job.stage.image = &job.image;
    job.gemm = nn_gemm_simd_use(args->weights, columns.n, segments,
                                weight_bytes(&args->inputs[NN_CONV_FILTER]), params->low,
                                params->high);
    n_products = segments->n_rows * segments->n_taps * segments->n_elements;
    columns.weight_bytes = n_products * columns.n * job.gemm.weight_bytes;
    job.cut = nn_conv_cut(&job.image, &params->shape, &out, &columns);
    /* To scale a sum takes as long as 32 products. */
    nn_parallel_for(args, job.cut.n_items,
                    1 + out.n * out.h * out.w * columns.n * (n_products + 32) /
                            (job.cut.n_items * PRODUCTS_A_NS),
                    conv_items, &job);
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
           image_scratch(&image, &params->shape, step->outputs[0].dims, ret);
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
