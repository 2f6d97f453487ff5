/* SPDX-License-Identifier: Apache-2.0 */
/* gemm-f32-simd.h - windows of floats times packed weights, with vectors of the variant
 *
 * out[r][n] = clamp(bias[n] + sum over k of row[r][k] * weight[n][k])
 *
 * A row's elements lie in segments (segments.h); rows are equally far apart. Each sum is one chain of
 * fused multiplications and additions over k in order, so neither tiles nor threads change a bit.
 *
 * Weights lie in panels of two vectors of columns (the last of one, or with AVX2 of three, so that
 * none is left alone): [k][columns]. The bias stands before them. Columns beyond the last are computed and not
 * written, but where they are half of a panel's second vector or more: two rows share it then (halves.h). */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_F32_SIMD_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_F32_SIMD_H

#include "base/stop.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/gemm/segments.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    /* Sums, two vectors of weights and one of data stay in the 32 or 16 registers. */
    NN_GEMM_F32_SIMD_ROWS = NN_VARIANT_VECTOR_BYTES == 64 ? 12 : 6,
    NN_GEMM_F32_SIMD_COLUMNS = 2 * NN_VARIANT_VECTOR_BYTES / sizeof(float), /* of a panel */
};

#define nn_gemm_f32_simd_bytes NN_VARIANT_SYMBOL(nn_gemm_f32_simd_bytes)
#define nn_gemm_f32_simd_pack  NN_VARIANT_SYMBOL(nn_gemm_f32_simd_pack)
#define nn_gemm_f32_simd_use   NN_VARIANT_SYMBOL(nn_gemm_f32_simd_use)
#define nn_gemm_f32_simd_run   NN_VARIANT_SYMBOL(nn_gemm_f32_simd_run)

struct nn_gemm_f32_simd {
    const float *bias, *panels;
    size_t n_columns;
    struct nn_gemm_segments segments;
    float low, high;
    /* If other is not NULL each result is added to the element of other that lies there as the result
     * does in sum.out, and clamped again. */
    struct nn_sum_f32 sum;
};

/* nn_gemm_f32_simd_bytes() - of the packed form. Returns: false if it does not fit a size. */
bool nn_gemm_f32_simd_bytes(size_t n_columns, size_t k, size_t *ret_bytes);

/* What there is to pack. */
struct nn_gemm_f32_source {
    const float *weights; /* of column n, element k: [n * n_step + k * k_step] */
    size_t n_step, k_step;
    const float *bias; /* [n_columns] */
    size_t n_columns, n_k;
};

/* nn_gemm_f32_simd_pack() - into a zeroed block, which is not whole if stop has an outcome then. */
void nn_gemm_f32_simd_pack(float *block, const struct nn_gemm_f32_source *source,
                           struct nn_stop *stop);

/* nn_gemm_f32_simd_use() - a packed block. The caller sets segments, low, high and, if there is one, the
 * sum. */
struct nn_gemm_f32_simd nn_gemm_f32_simd_use(const float *block, size_t n_columns);

/* n_rows rows, at most NN_GEMM_F32_SIMD_ROWS, stride elements apart; their results are n_columns
 * each, one behind the other. */
struct nn_gemm_f32_tile {
    const float *rows;
    size_t stride, n_rows;
    float *out;
};

/* nn_gemm_f32_simd_run() - columns [first, end) of n_tiles tiles: a panel of weights serves one tile
 * after the other. first and end are multiples of NN_GEMM_F32_SIMD_COLUMNS with more columns than that
 * behind them, or end is the last column. Ends early if stop has an outcome. */
void nn_gemm_f32_simd_run(const struct nn_gemm_f32_simd *gemm, const struct nn_gemm_f32_tile *tiles,
                          size_t n_tiles, size_t first, size_t end, struct nn_stop *stop);

#endif
