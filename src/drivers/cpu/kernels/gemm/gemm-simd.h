/* SPDX-License-Identifier: Apache-2.0 */
/* gemm-simd.h - rows of unsigned bytes times packed weights, with vectors of the variant
 *
 * out[r][n] = clamp(requantize(bias[n] + sum over k of (row[r][k] - za) * (weight[n][k] - zw)))
 *
 * Without VNNI both are widened to 16 bits and lose their zero points, weights when they are
 * packed and rows block by block; two products and their sum are one instruction.
 *
 * With VNNI unsigned bytes are multiplied by signed ones, four at a time. Weights that do not fit a
 * signed byte once their zero point is taken away are stored 128 lower and keep a zero point z; what
 * that adds to a sum, z times the sum of the row, is taken away for each row. The rest of both zero
 * points is constant for a column and lies in its bias:
 *
 *     sum (a - za)(w - z) = sum a w - z sum a - za sum w + k za z
 *
 * Sums wrap at 32 bits as the reference's accumulators do. Weights lie in panels of two vectors of
 * columns (the last of one, where that is enough): [k / group][columns][group]. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_SIMD_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_SIMD_H

#include "drivers/cpu/kernels/common/requantize.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NN_GEMM_SIMD_MAX_ROWS = 96, /* of a block */
};

#define nn_gemm_simd_bytes   NN_VARIANT_SYMBOL(nn_gemm_simd_bytes)
#define nn_gemm_simd_scratch NN_VARIANT_SYMBOL(nn_gemm_simd_scratch)
#define nn_gemm_simd_pack    NN_VARIANT_SYMBOL(nn_gemm_simd_pack)
#define nn_gemm_simd_use     NN_VARIANT_SYMBOL(nn_gemm_simd_use)
#define nn_gemm_simd_run     NN_VARIANT_SYMBOL(nn_gemm_simd_run)

struct nn_gemm_simd {
    struct nn_requantize requantize;
    const nn_simd_weight *panels;
    size_t n_columns;
    size_t k;            /* whole groups */
    int32_t weight_zero; /* of the packed weights */
    int32_t input_zero;
};

/* What there is to pack. */
struct nn_gemm_simd_source {
    const uint8_t *weights; /* [n_columns][k] */
    bool is_signed;         /* int8 weights */
    int32_t weight_zero, input_zero, output_zero;
    const int32_t *bias;                     /* [n_columns] */
    const struct nn_multiplier *multipliers; /* [n_columns] */
    size_t n_columns, k;
};

/* nn_gemm_simd_bytes() - of the packed form. Returns: false if it does not fit a size. */
bool nn_gemm_simd_bytes(size_t n_columns, size_t k, size_t *ret_bytes);

/* nn_gemm_simd_pack() - fills a zeroed block.
 * Returns: false where a multiplier is too large for this form (nn_requantize_fits()). */
bool nn_gemm_simd_pack(void *block, const struct nn_gemm_simd_source *source);

/* nn_gemm_simd_use() - a packed block, for results in [low, high]. */
struct nn_gemm_simd nn_gemm_simd_use(const void *block, size_t n_columns, size_t k, int32_t low,
                                     int32_t high);

/* nn_gemm_simd_scratch() - bytes that a block needs for rows of k. Returns: false if it does not
 * fit a size. */
bool nn_gemm_simd_scratch(size_t k, size_t *ret_bytes);

/* At most NN_GEMM_SIMD_MAX_ROWS rows, stride bytes apart, each of gemm->k readable bytes; row r of
 * the result begins out_stride bytes behind that of row r - 1. */
struct nn_gemm_simd_block {
    const uint8_t *rows;
    size_t stride, n_rows;
    uint8_t *out;
    size_t out_stride;
    void *scratch; /* aligned to a vector */
};

void nn_gemm_simd_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_block *block);

#endif
