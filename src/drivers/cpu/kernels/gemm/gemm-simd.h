/* SPDX-License-Identifier: Apache-2.0 */
/* gemm-simd.h - windows of data times packed weights, with vectors of the variant
 *
 * out[r][n] = clamp(requantize(bias[n] + sum over k of (row[r][k] - za) * (weight[n][k] - zw)))
 *
 * A row's k elements lie in segments, all of one length, at the same distances for every row: the
 * rows of a filter in an image, or one segment for a 1x1 filter. Segments are padded to whole
 * groups: what is read beyond a segment has weights that count for nothing.
 *
 * Without VNNI data and weights have 16 bits and have lost their zero points; signed weights without
 * one are kept as bytes, half as much to read, and widened where they are used. With VNNI unsigned
 * bytes are multiplied by signed ones, four at a time. Weights that do not fit a signed byte once
 * their zero point is taken away are stored 128 lower and keep a zero point z; what that adds to a
 * sum, z times the sum of the row, is taken away for each row. It is the sum of a column of its own
 * where the only panel has one to spare. The rest of both zero points is constant for a column and
 * lies in its bias:
 *
 *     sum (a - za)(w - z) = sum a w - z sum a - za sum w + k za z
 *
 * Sums wrap at 32 bits as the reference's accumulators do. Weights lie in panels of two vectors of
 * columns (the last of one, where that is enough): [k / group][columns][group]. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_SIMD_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_SIMD_H

#include "base/stop.h"
#include "drivers/cpu/kernels/common/requantize.h"
#include "drivers/cpu/kernels/gemm/segments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An element of data, and how many rows a tile has at the most. */
#ifdef NN_VARIANT_VNNI
typedef uint8_t nn_gemm_simd_data;
#else
typedef int16_t nn_gemm_simd_data;
#endif
enum {
    NN_GEMM_SIMD_ROWS = NN_VARIANT_VECTOR_BYTES == 64 ? 12 : 6,
    NN_GEMM_SIMD_TILES = 32,                 /* in one call */
    NN_GEMM_SIMD_COLUMNS = 2 * NN_LANES_I32, /* of a panel */
};

#define nn_gemm_simd_bytes NN_VARIANT_SYMBOL(nn_gemm_simd_bytes)
#define nn_gemm_simd_pack  NN_VARIANT_SYMBOL(nn_gemm_simd_pack)
#define nn_gemm_simd_use   NN_VARIANT_SYMBOL(nn_gemm_simd_use)
#define nn_gemm_simd_run   NN_VARIANT_SYMBOL(nn_gemm_simd_run)

struct nn_gemm_simd {
    struct nn_requantize requantize;
    const uint8_t *panels;
    size_t n_columns, weight_bytes;
    struct nn_gemm_segments segments;
    int32_t weight_zero; /* of the packed weights */
};

/* What there is to pack. */
struct nn_gemm_simd_source {
    const uint8_t *weights; /* of column n, element k of its segments: [n * n_step + k * k_step] */
    size_t n_step, k_step;
    bool is_signed; /* int8 weights */
    int32_t weight_zero, input_zero, output_zero;
    const int32_t *bias;                     /* [n_columns] */
    const struct nn_multiplier *multipliers; /* [n_columns] */
    size_t n_columns, n_segments, n_elements;
    bool rounds_once;     /* nn_requantize_set() */
    struct nn_stop *stop; /* NULL: never */
};

/* nn_gemm_simd_weight_bytes() - of a packed weight. */
static inline size_t nn_gemm_simd_weight_bytes(bool is_signed, int32_t weight_zero)
{
    return is_signed && weight_zero == 0 ? 1 : sizeof(nn_simd_weight);
}

/* nn_gemm_simd_whole_columns() - those of whole vectors. */
static inline size_t nn_gemm_simd_whole_columns(size_t n_columns)
{
    return (n_columns + NN_LANES_I32 - 1) / NN_LANES_I32 * NN_LANES_I32;
}

/* nn_gemm_simd_has_spare() - whether the only panel has a column to spare. Its weights are the packed
 * zero point, if there is one: then it has what that adds to a row. */
static inline bool nn_gemm_simd_has_spare(size_t n_columns)
{
    return n_columns < NN_GEMM_SIMD_COLUMNS && n_columns % NN_LANES_I32 != 0;
}

/* nn_gemm_simd_bytes() - of the packed form. Returns: false if it does not fit a size. */
bool nn_gemm_simd_bytes(size_t n_columns, size_t n_segments, size_t n_elements, size_t weight_bytes,
                        size_t *ret_bytes);

/* nn_gemm_simd_pack() - fills a zeroed block, which is not whole if stop has an outcome then.
 * Returns: false where a multiplier is too large for this form (nn_requantize_fits()). */
bool nn_gemm_simd_pack(void *block, const struct nn_gemm_simd_source *source);

/* nn_gemm_simd_use() - a packed block, for results in [low, high]. */
struct nn_gemm_simd nn_gemm_simd_use(const void *block, size_t n_columns,
                                     const struct nn_gemm_segments *segments, size_t weight_bytes,
                                     int32_t low, int32_t high);

/* n_rows rows, at most NN_GEMM_SIMD_ROWS, stride elements apart; their results are n_columns bytes
 * each, one behind the other. */
struct nn_gemm_simd_tile {
    const nn_gemm_simd_data *rows;
    size_t stride, n_rows;
    uint8_t *out;
};

/* nn_gemm_simd_run() - columns [first, end) of n_tiles tiles, at most NN_GEMM_SIMD_TILES: a panel of
 * weights serves one tile after the other. first and end are multiples of NN_GEMM_SIMD_COLUMNS, or
 * end is the last column. Ends early if stop has an outcome. */
void nn_gemm_simd_run(const struct nn_gemm_simd *gemm, const struct nn_gemm_simd_tile *tiles,
                      size_t n_tiles, size_t first, size_t end, struct nn_stop *stop);

#endif
