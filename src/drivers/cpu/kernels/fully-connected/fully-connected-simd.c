/* SPDX-License-Identifier: Apache-2.0 */
/* FULLY_CONNECTED of 8 bits with vectors (gemm-simd.h), for constant weights;
 * fully-connected-c.c takes the rest.
 *
 * Signed codes become unsigned ones on their way: 128 is added to the rows, to both zero points and
 * to the bounds, and taken away from the results. */
#include "base/arith.h"
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/gemm/gemm-simd.h"
#include "model/operands.h"

#include <errno.h>
#include <stdlib.h>

enum {
    IS_WIDE = sizeof(nn_gemm_simd_data) != 1,
    GROUP = NN_SIMD_GROUP,
    FLIP = 0x80,
    ROWS_AT_ONCE = NN_GEMM_SIMD_TILES * NN_GEMM_SIMD_ROWS,
};

struct dense_simd_params {
    int32_t low, high; /* unsigned codes */
};

static bool is_signed_type(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
}

/* How far an unsigned code is from the code. */
static int32_t find_offset(uint32_t type)
{
    return is_signed_type(type) ? FLIP : 0;
}

static size_t row_stride(size_t k)
{
    return (k + GROUP - 1) / GROUP * GROUP;
}

/* Rows that are read where they are need no scratch. */
static bool rows_scratch(uint32_t type, size_t n_rows, size_t k, size_t *ret_bytes)
{
    *ret_bytes = 0;
    return (!IS_WIDE && !is_signed_type(type) && k % GROUP == 0) ||
           (nn_mul_size(row_stride(k), n_rows, ret_bytes) &&
            nn_mul_size(*ret_bytes, sizeof(nn_gemm_simd_data), ret_bytes));
}

/* ---- lowering ---- */

static int lower_weights(struct nn_lower *lower, size_t n_columns, size_t k)
{
    const struct nn_lower_operand *input = &lower->inputs[NN_DENSE_INPUT];
    const struct nn_lower_operand *weights = &lower->inputs[NN_DENSE_WEIGHTS];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct nn_multiplier *multipliers = calloc(n_columns, sizeof(*multipliers));
    const struct nn_multiplier multiplier = nn_multiplier_of_scales(input->scale, weights->scale,
                                                                    output->scale);
    struct nn_pace pace = nn_pace(lower->stop);
    struct nn_gemm_simd_source source = {.weights = weights->value,
                                         .n_step = k,
                                         .k_step = 1,
                                         .is_signed = is_signed_type(weights->type),
                                         .weight_zero = weights->zero_point,
                                         .input_zero = input->zero_point + find_offset(input->type),
                                         .output_zero = output->zero_point +
                                                        find_offset(output->type),
                                         .bias = lower->inputs[NN_DENSE_BIAS].value,
                                         .multipliers = multipliers,
                                         .n_columns = n_columns,
                                         .n_segments = 1,
                                         .n_elements = k,
                                         .rounds_once = is_signed_type(input->type),
                                         .stop = lower->stop};
    void *block = NULL;
    size_t n_bytes;
    int r = -ENOMEM;

    if (multipliers &&
        nn_gemm_simd_bytes(n_columns, 1, k,
                           nn_gemm_simd_weight_bytes(source.is_signed, source.weight_zero),
                           &n_bytes)) {
        for (size_t n = 0; n < n_columns && !nn_pace_ends(&pace, 2); n++)
            multipliers[n] = multiplier;
        block = nn_lower_weights(lower, n_bytes);
    }
    if (block)
        r = nn_gemm_simd_pack(block, &source) ? 0 : NN_KERNEL_E_PASS;
    free(multipliers);
    return r;
}

static int lower_dense(struct nn_lower *lower)
{
    const struct nn_lower_operand *weights = &lower->inputs[NN_DENSE_WEIGHTS];
    const struct nn_lower_operand *output = &lower->outputs[0];
    struct dense_simd_params *params = lower->params;

    if (!weights->value || !lower->inputs[NN_DENSE_BIAS].value || nn_lower_count(weights) == 0 ||
        nn_lower_count(output) == 0)
        return NN_KERNEL_E_PASS;
    if (!nn_activation_q8(nn_lower_i32(lower, NN_DENSE_ACTIVATION, 0), is_signed_type(output->type),
                          output->scale, output->zero_point, &params->low, &params->high))
        return nn_lower_refuse(lower, "input 3 is not a fused activation");
    params->low += find_offset(output->type);
    params->high += find_offset(output->type);
    return lower_weights(lower, weights->dims[0], weights->dims[1]);
}

static size_t weight_bytes(const struct nn_tensor *weights)
{
    return nn_gemm_simd_weight_bytes(is_signed_type(weights->type), weights->zero_point);
}

/* ---- running ---- */

struct dense_simd_job {
    const struct nn_kernel_args *args;
    struct nn_gemm_simd gemm;
    const nn_gemm_simd_data *rows;
    size_t stride, n_rows;
    uint8_t flip;
};

static void flip_results(uint8_t *out, uint8_t flip, size_t n, struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; flip && nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            out[i] ^= flip;
}

/* One item is one panel of columns, for all rows. */
static void dense_columns(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct dense_simd_job *job = ctx;
    size_t n_columns = job->gemm.n_columns, first = begin * NN_GEMM_SIMD_COLUMNS;
    size_t last = nn_min_size(end * NN_GEMM_SIMD_COLUMNS, n_columns);
    uint8_t *out = job->args->outputs[0].data;
    struct nn_pace pace = nn_pace(job->args->stop);

    (void)worker;
    for (size_t b = 0; b < job->n_rows; b += ROWS_AT_ONCE) {
        struct nn_gemm_simd_tile tiles[NN_GEMM_SIMD_TILES];
        size_t stop = nn_min_size(b + ROWS_AT_ONCE, job->n_rows), n_tiles = 0;

        /* 64 products a nanosecond; a call with many of them looks by itself, too. */
        if (nn_pace_ends(&pace, 1 + (stop - b) * job->stride * (last - first) / 64))
            return;
        for (size_t i = b; i < stop; i += NN_GEMM_SIMD_ROWS)
            tiles[n_tiles++] = (struct nn_gemm_simd_tile){job->rows + i * job->stride, job->stride,
                                                          nn_min_size(stop - i, NN_GEMM_SIMD_ROWS),
                                                          out + i * n_columns};
        nn_gemm_simd_run(&job->gemm, tiles, n_tiles, first, last, job->args->stop);
        for (size_t i = b; i < stop; i++)
            flip_results(out + i * n_columns + first, job->flip, last - first, &pace);
    }
}

/* A row as the products take it. What pads it has weights that count for nothing. */
static void stage_row(nn_gemm_simd_data *restrict to, const uint8_t *restrict from, uint8_t flip,
                      int32_t zero, size_t k, struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, k, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            to[i] = (nn_gemm_simd_data)((from[i] ^ flip) - zero);
    for (size_t i = k; i < row_stride(k); i++)
        to[i] = 0;
}

/* The input, in scratch if it is not read in place. */
static const nn_gemm_simd_data *stage_rows(const struct dense_simd_job *job, size_t k)
{
    const struct nn_tensor *input = &job->args->inputs[NN_DENSE_INPUT];
    nn_gemm_simd_data *rows = (void *)job->args->scratch;
    int32_t zero = IS_WIDE ? input->zero_point + job->flip : 0;
    struct nn_pace pace = nn_pace(job->args->stop);

    if (!IS_WIDE && !job->flip && k % GROUP == 0)
        return input->data;
    for (size_t i = 0; i < job->n_rows && !nn_pace_ends(&pace, 1); i++)
        stage_row(rows + i * job->stride, (const uint8_t *)input->data + i * k, job->flip, zero, k,
                  &pace);
    return rows;
}

static int nn_fully_connected_8(const struct nn_kernel_args *args)
{
    const struct dense_simd_params *params = args->params;
    size_t n_columns = args->inputs[NN_DENSE_WEIGHTS].dims[0];
    size_t k = args->inputs[NN_DENSE_WEIGHTS].dims[1];
    const struct nn_gemm_segments segments = {.n_rows = 1, .n_taps = 1, .n_elements = k};
    bool is_signed = is_signed_type(args->inputs[NN_DENSE_INPUT].type);
    struct dense_simd_job job = {.args = args,
                                 .stride = row_stride(k),
                                 .n_rows = args->outputs[0].dims[0],
                                 .flip = is_signed ? FLIP : 0};

    job.gemm = nn_gemm_simd_use(args->weights, n_columns, &segments,
                                weight_bytes(&args->inputs[NN_DENSE_WEIGHTS]), params->low,
                                params->high);
    job.gemm.requantize.rounds_once = is_signed;
    job.rows = stage_rows(&job, k);
    nn_parallel_for(args, (n_columns + NN_GEMM_SIMD_COLUMNS - 1) / NN_GEMM_SIMD_COLUMNS,
                    1 + job.n_rows * k * NN_GEMM_SIMD_COLUMNS / 64, dense_columns, &job);
    return 0;
}

/* ---- a step of a plan ---- */

static bool check_dense(const struct nn_kernel_step *step)
{
    const uint32_t *weights = step->inputs[NN_DENSE_WEIGHTS].dims;
    size_t needed;

    return nn_tensor_count(&step->inputs[NN_DENSE_WEIGHTS]) > 0 &&
           nn_gemm_simd_bytes(weights[0], 1, weights[1],
                              weight_bytes(&step->inputs[NN_DENSE_WEIGHTS]), &needed) &&
           needed <= step->weights_bytes;
}

static bool find_dense_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    return rows_scratch(step->inputs[NN_DENSE_INPUT].type, step->outputs[0].dims[0],
                        step->inputs[NN_DENSE_WEIGHTS].dims[1], &ret->bytes);
}

static const struct nn_kernel kernels[] = {
    {NN_VARIANT_ROW("fully_connected_8", FULLY_CONNECTED), .in0 = NN_T_U8 | NN_T_S8,
     .params_bytes = sizeof(struct dense_simd_params), .lower = lower_dense,
     .run = nn_fully_connected_8, .check = check_dense, .find_scratch = find_dense_scratch},
};
NN_VARIANT_FAMILY(fully_connected_simd, kernels);
