/* SPDX-License-Identifier: Apache-2.0 */
/* CONV_2D of 8 bits with vectors (gemm-simd.h).
 *
 * Rows are the windows of output positions. A 1x1 filter of stride 1 reads the input where it
 * lies; other windows are gathered, a block of positions at a time, with the input's zero point
 * where they hang over the edge. A block is what threads share out.
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
    BLOCK_BYTES = 96 * 1024, /* of gathered rows: with a panel of weights, inside a small L2 */
    MIN_BLOCK = 12,          /* rows of a tile */
    LINE = 64,
};

struct conv_simd_params {
    struct nn_conv_shape shape;
    int32_t low, high;
    uint32_t block; /* rows */
    uint32_t reserved;
};

/* ---- lowering ---- */

static bool reads_in_place(const struct nn_conv_shape *shape, const uint32_t *filter)
{
    return filter[1] == 1 && filter[2] == 1 && filter[3] % NN_SIMD_GROUP == 0 &&
           shape->pad_top == 0 && shape->pad_left == 0 && shape->stride_h == 1 &&
           shape->stride_w == 1;
}

static bool find_row(const uint32_t *filter, size_t *ret_k, size_t *ret_stride)
{
    return nn_mul_size(filter[1], filter[2], ret_k) && nn_mul_size(*ret_k, filter[3], ret_k) &&
           nn_align_up(*ret_k, LINE, ret_stride);
}

/* The scratch of a worker: gathered rows, then what the product needs. */
static bool find_gather_bytes(const struct conv_simd_params *params, const uint32_t *filter,
                              size_t *ret_gathered, size_t *ret_all)
{
    size_t k, stride;

    *ret_gathered = 0;
    return find_row(filter, &k, &stride) && nn_gemm_simd_scratch(k, ret_all) &&
           (reads_in_place(&params->shape, filter) ||
            (nn_mul_size(stride, params->block, ret_gathered) &&
             nn_add_size(*ret_all, *ret_gathered, ret_all)));
}

/* The weights, or a pass where this form does not hold them. */
static int lower_weights(struct nn_lower *lower, size_t k)
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
                                         .k = k};
    void *block = NULL;
    int r = -ENOMEM;

    if (multipliers && nn_gemm_simd_bytes(n_columns, k, &n_bytes)) {
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
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct conv_simd_params *params = lower->params;
    size_t k, stride, n, gathered;
    int r = nn_conv_read(lower, &params->shape);

    if (r)
        return r;
    if (params->shape.is_nchw || !filter->value || !lower->inputs[NN_CONV_BIAS].value)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(params->shape.activation, false, output->scale, output->zero_point,
                          &params->low, &params->high))
        return nn_lower_refuse(lower, "not a fused activation");
    if (!find_row(filter->dims, &k, &stride))
        return -ENOMEM;
    n = BLOCK_BYTES / stride / MIN_BLOCK * MIN_BLOCK;
    params->block = (uint32_t)(n < MIN_BLOCK               ? MIN_BLOCK
                               : n > NN_GEMM_SIMD_MAX_ROWS ? NN_GEMM_SIMD_MAX_ROWS
                                                           : n);
    if (!find_gather_bytes(params, filter->dims, &gathered, &lower->worker_scratch_bytes))
        return -ENOMEM;
    return lower_weights(lower, k);
}

/* ---- windows ---- */

struct conv_simd_job {
    const struct nn_kernel_args *args;
    const struct conv_simd_params *params;
    struct nn_conv_sizes in, out;
    size_t filter_h, filter_w, stride, gathered_bytes;
    bool in_place;
    uint8_t fill; /* the input's zero point */
    const uint8_t *input;
    uint8_t *output;
    struct nn_gemm_simd gemm;
};

/* Copies short runs without a call: a cell of a first layer has 3 bytes. */
static uint8_t *copy_run(uint8_t *to, const uint8_t *from, size_t n)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    uint8_t *end = to + n;

    for (; n >= LINE; n -= LINE, to += LINE, from += LINE)
        _mm512_storeu_si512(to, _mm512_loadu_si512(from));
    if (n) {
        __mmask64 mask = (UINT64_C(1) << n) - 1;

        _mm512_mask_storeu_epi8(to, mask, _mm512_maskz_loadu_epi8(mask, from));
    }
    return end;
#else
    for (; n >= 16; n -= 16, to += 16, from += 16)
        memcpy(to, from, 16);
    if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
        return to + n;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
    return to + n;
#endif
}

static uint8_t *fill_run(uint8_t *to, uint8_t byte, size_t n)
{
    memset(to, byte, n);
    return to + n;
}

/* One row of the filter, of the input's row that begins at cells. */
static uint8_t *gather_taps(const struct conv_simd_job *job, uint8_t *to, const uint8_t *cells,
                            int64_t x)
{
    int64_t dilation = job->params->shape.dilation_w;
    size_t first, end, cell = job->in.c;

    nn_conv_taps(x, dilation, job->filter_w, job->in.w, &first, &end);
    if (first)
        to = fill_run(to, job->fill, first * cell);
    if (dilation == 1 && end > first)
        to = copy_run(to, cells + (size_t)(x + (int64_t)first) * cell, (end - first) * cell);
    else
        for (size_t t = first; t < end; t++)
            to = copy_run(to, cells + (size_t)(x + (int64_t)t * dilation) * cell, cell);
    if (end < job->filter_w)
        to = fill_run(to, job->fill, (job->filter_w - end) * cell);
    return to;
}

static void gather_window(const struct conv_simd_job *job, size_t position, uint8_t *to)
{
    const struct nn_conv_shape *shape = &job->params->shape;
    size_t row = position / job->out.w, n = row / job->out.h, first, end;
    int64_t y = (int64_t)(row % job->out.h) * shape->stride_h - shape->pad_top;
    int64_t x = (int64_t)(position % job->out.w) * shape->stride_w - shape->pad_left;
    size_t filter_row = job->filter_w * job->in.c;

    nn_conv_taps(y, shape->dilation_h, job->filter_h, job->in.h, &first, &end);
    to = fill_run(to, job->fill, first * filter_row);
    for (size_t t = first; t < end; t++) {
        size_t in_y = (size_t)(y + (int64_t)t * shape->dilation_h);

        to = gather_taps(job, to, job->input + (n * job->in.h + in_y) * job->in.w * job->in.c, x);
    }
    to = fill_run(to, job->fill, (job->filter_h - end) * filter_row);
    /* Weights beyond k are 0: these bytes need a value, but not a certain one. */
    memset(to, 0, job->gemm.k - job->filter_h * filter_row);
}

/* ---- running ---- */

static void conv_blocks(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct conv_simd_job *job = ctx;
    size_t n_positions = job->out.n * job->out.h * job->out.w, size = job->params->block;
    uint8_t *gathered = nn_worker_scratch(job->args, worker);

    for (size_t b = begin; b < end; b++) {
        size_t first = b * size, n = n_positions - first < size ? n_positions - first : size;
        const uint8_t *rows = job->input + first * job->in.c;

        if (!job->in_place) {
            for (size_t i = 0; i < n; i++)
                gather_window(job, first + i, gathered + i * job->stride);
            rows = gathered;
        }
        nn_gemm_simd_run(&job->gemm,
                         &(struct nn_gemm_simd_block){.rows = rows,
                                                      .stride = job->stride,
                                                      .n_rows = n,
                                                      .out = job->output + first * job->out.c,
                                                      .out_stride = job->out.c,
                                                      .scratch = gathered + job->gathered_bytes});
        nn_epilogue_run(job->args, first * job->out.c, (first + n) * job->out.c);
    }
}

static int nn_conv_2d_u8(const struct nn_kernel_args *args)
{
    const struct conv_simd_params *params = args->params;
    const struct nn_tensor *input = &args->inputs[NN_CONV_INPUT];
    const uint32_t *filter = args->inputs[NN_CONV_FILTER].dims;
    struct conv_simd_job job = {.args = args,
                                .params = params,
                                .in = nn_conv_sizes(input->dims, false),
                                .out = nn_conv_sizes(args->outputs[0].dims, false),
                                .filter_h = filter[1],
                                .filter_w = filter[2],
                                .in_place = reads_in_place(&params->shape, filter),
                                .fill = (uint8_t)input->zero_point,
                                .input = input->data,
                                .output = args->outputs[0].data};
    size_t k, all, n_positions = job.out.n * job.out.h * job.out.w;

    if (!find_row(filter, &k, &job.stride) ||
        !find_gather_bytes(params, filter, &job.gathered_bytes, &all))
        return -ENOMEM;
    if (job.in_place)
        job.stride = k;
    job.gemm = nn_gemm_simd_use(args->weights, filter[0], k, params->low, params->high);
    /* About 100 products a nanosecond, and 2 sums scaled. */
    nn_parallel_for(args, (n_positions + params->block - 1) / params->block,
                    1 + params->block * (k * filter[0] / 100 + filter[0] / 2), conv_blocks, &job);
    return 0;
}

/* ---- the table ---- */

static bool check_conv(const struct nn_kernel_step *step)
{
    const struct conv_simd_params *params = step->params;
    const struct nn_conv_shape *shape = &params->shape;
    size_t k, stride, needed;

    return step->n_inputs >= 7 && step->n_outputs == 1 && step->inputs[0].n_dims == 4 &&
           step->inputs[1].n_dims == 4 && step->outputs[0].n_dims == 4 && params->block >= 1 &&
           params->block <= NN_GEMM_SIMD_MAX_ROWS && shape->stride_h >= 1 && shape->stride_w >= 1 &&
           shape->dilation_h >= 1 && shape->dilation_w >= 1 && shape->is_nchw == 0 &&
           step->inputs[0].dims[3] == step->inputs[1].dims[3] &&
           step->outputs[0].dims[3] == step->inputs[1].dims[0] &&
           step->inputs[0].dims[0] == step->outputs[0].dims[0] &&
           (!reads_in_place(shape, step->inputs[1].dims) ||
            (step->inputs[0].dims[2] == step->outputs[0].dims[2] &&
             step->inputs[0].dims[1] == step->outputs[0].dims[1])) &&
           find_row(step->inputs[1].dims, &k, &stride) &&
           nn_gemm_simd_bytes(step->inputs[1].dims[0], k, &needed) && needed <= step->weights_bytes;
}

static bool find_conv_scratch(const struct nn_kernel_step *step, size_t *ret_scratch_bytes,
                              size_t *ret_worker_scratch_bytes)
{
    size_t gathered;

    *ret_scratch_bytes = 0;
    return find_gather_bytes(step->params, step->inputs[NN_CONV_FILTER].dims, &gathered,
                             ret_worker_scratch_bytes);
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("conv_2d_u8", CONV_2D), .in0 = NN_T_U8,
     .params_bytes = sizeof(struct conv_simd_params), .runs_epilogue = 1, .lower = lower_conv,
     .run = nn_conv_2d_u8, .check = check_conv, .find_scratch = find_conv_scratch},
};
NN_VARIANT_FAMILY(conv_simd, kernels);
