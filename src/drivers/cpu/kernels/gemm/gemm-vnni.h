/* SPDX-License-Identifier: Apache-2.0 */
/* gemm-vnni.h - rows of unsigned bytes times packed weights, with vpdpbusd
 *
 * out[r][n] = clamp(requantize(bias[n] + sum over k of (row[r][k] - za) * (weight[n][k] - zw)))
 *
 * vpdpbusd multiplies unsigned bytes by signed ones. Weights that do not fit a signed byte once
 * their zero point is taken away are stored 128 lower and keep a zero point; what that adds to a
 * sum, zero point times the sum of the row, is taken away for each row. The rest of both zero
 * points is constant for a column and lies in its bias:
 *
 *     sum (a - za)(w - z) = sum a w - z sum a - za sum w + k za z
 *
 * Sums wrap at 32 bits as the reference's accumulators do. Weights lie in panels of 32 columns
 * (the last of 16, where that is enough): [k/4][columns][4]. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_VNNI_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_GEMM_VNNI_H

#include "drivers/cpu/kernels/common/requantize-avx512.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NN_GEMM_VNNI_COLUMNS = 32, /* of a panel */
    NN_GEMM_VNNI_MAX_ROWS = 96,
};

struct nn_gemm_vnni {
    struct nn_requantize requantize;
    const int8_t *panels;
    size_t n_columns;
    size_t k;            /* a multiple of 4 */
    int32_t weight_zero; /* of the packed weights */
};

/* What there is to pack. */
struct nn_gemm_vnni_source {
    const uint8_t *weights; /* [n_columns][k] */
    bool is_signed;         /* int8 weights */
    int32_t weight_zero, input_zero, output_zero;
    const int32_t *bias;                     /* [n_columns] */
    const struct nn_multiplier *multipliers; /* [n_columns] */
    size_t n_columns, k;
};

/* nn_gemm_vnni_bytes() - of the packed form. Returns: false if it does not fit a size. */
bool nn_gemm_vnni_bytes(size_t n_columns, size_t k, size_t *ret_bytes);

/* nn_gemm_vnni_pack() - fills a zeroed block.
 * Returns: false where a multiplier is too large for this form (nn_requantize_fits()). */
bool nn_gemm_vnni_pack(void *block, const struct nn_gemm_vnni_source *source);

/* nn_gemm_vnni_use() - a packed block, for results in [low, high]. */
struct nn_gemm_vnni nn_gemm_vnni_use(const void *block, size_t n_columns, size_t k, int32_t low,
                                     int32_t high);

/* nn_gemm_vnni_run() - n_rows rows, at most NN_GEMM_VNNI_MAX_ROWS, stride bytes apart, each of
 * gemm->k readable bytes; out[r] begins out_stride bytes behind out[r - 1]. */
void nn_gemm_vnni_run(const struct nn_gemm_vnni *gemm, const uint8_t *rows, size_t stride,
                      size_t n_rows, uint8_t *out, size_t out_stride);

#endif
