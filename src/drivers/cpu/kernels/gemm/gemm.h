/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - rows times packed weights: what convolutions and matrices share
 *
 * out[r][n] = clamp(bias[n] + sum over k of row[r][k] * weight[n][k])
 *
 * Rows are pointers, so that a 1x1 convolution reads its input in place and
 * other convolutions gather a window first. Weights are packed once into
 * panels that the inner loop reads from front to back:
 *
 *   float   panels of NN_GEMM_COLS_F32 columns, two vectors wide, k-major:
 *           [n/8][k][8] in plain C, and the last of the columns that are left.
 *           Each sum runs over k in order, one at a time, so tiles, threads and
 *           the width of vectors do not change a bit.
 *   8 bits  rows and weights widened to int16 with their zero points taken
 *           away, [n][k] with each row padded: products of pairs are then one
 *           instruction on every machine. Sums are exact.
 *
 * What is computed beyond the last column is not written out. */
#ifndef NN_CPU_KERNELS_GEMM_H
#define NN_CPU_KERNELS_GEMM_H

#include "base/stop.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/gemm/segments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Sums of a tile, weights and a row's element fill the registers: 32 or 16 of them. */
    NN_GEMM_ROWS_F32 = NN_VARIANT_VECTOR_BYTES == 64 ? 8 : 6,
    NN_GEMM_COLS_F32 = 2 * NN_VARIANT_VECTOR_BYTES / 4,
    NN_GEMM_ROWS_Q8 = 2,
    NN_GEMM_COLS_Q8 = 4,
    NN_GEMM_PAD_Q8 = NN_VARIANT_VECTOR_BYTES / 2, /* rows are whole vectors of int16 */
};

#define nn_gemm_bytes_f32 NN_VARIANT_SYMBOL(nn_gemm_bytes_f32)
#define nn_gemm_pack      NN_VARIANT_SYMBOL(nn_gemm_pack)
#define nn_gemm_use_f32   NN_VARIANT_SYMBOL(nn_gemm_use_f32)
#define nn_gemm_run_f32   NN_VARIANT_SYMBOL(nn_gemm_run_f32)
#define nn_gemm_bytes_q8  NN_VARIANT_SYMBOL(nn_gemm_bytes_q8)
#define nn_gemm_use_q8    NN_VARIANT_SYMBOL(nn_gemm_use_q8)
#define nn_gemm_widen_q8  NN_VARIANT_SYMBOL(nn_gemm_widen_q8)
#define nn_gemm_run_q8    NN_VARIANT_SYMBOL(nn_gemm_run_q8)

struct nn_gemm_f32 {
    const float *panels;
    const float *bias; /* n_cols, padded to a whole panel */
    size_t n_cols;
    size_t k;
    float low, high;
    struct nn_stop *stop; /* ends sums of more than NN_GEMM_LONG products early */
};

/* nn_gemm_columns() - n_cols rounded up to whole panels of width columns. */
static inline size_t nn_gemm_columns(size_t n_cols, size_t width)
{
    return (n_cols + width - 1) / width * width;
}

/* nn_gemm_bytes_f32() - of bias and panels, which lie one behind the other. */
bool nn_gemm_bytes_f32(size_t n_cols, size_t k, size_t *ret_bytes);

/* Weights [n_cols][k] and bias [n_cols] as an operation has them. */
struct nn_gemm_weights {
    uint32_t type; /* of the weights */
    int32_t zero_point;
    const void *weights, *bias;
    size_t n_cols, k;
};

/* nn_gemm_pack() - into the block that the f32 or q8 functions use, by their type. The block is
 * not whole if stop has an outcome then. */
void nn_gemm_pack(void *block, const struct nn_gemm_weights *from, struct nn_stop *stop);

/* nn_gemm_constant() - of operands that are known when lowering; weights are [n_cols, ...]. */
static inline struct nn_gemm_weights nn_gemm_constant(const struct nn_lower_operand *weights,
                                                      const struct nn_lower_operand *bias, size_t k)
{
    return (struct nn_gemm_weights){weights->type, weights->zero_point, weights->value,
                                    bias->value,   weights->dims[0],    k};
}

/* nn_gemm_tensors() - of tensors. */
static inline struct nn_gemm_weights nn_gemm_tensors(const struct nn_tensor *weights,
                                                     const struct nn_tensor *bias, size_t k)
{
    return (struct nn_gemm_weights){weights->type, weights->zero_point, weights->data,
                                    bias->data,    weights->dims[0],    k};
}

/* nn_gemm_use_f32() - points gemm's bias and panels at such a block. */
void nn_gemm_use_f32(struct nn_gemm_f32 *gemm, const float *block);

/* nn_gemm_run_f32() - columns [first_col, end_col) of n_rows rows, at most
 * NN_GEMM_ROWS_F32 of them; first_col is a multiple of NN_GEMM_COLS_F32.
 * out[r] is where column 0 of row r goes. */
void nn_gemm_run_f32(const struct nn_gemm_f32 *gemm, size_t n_rows, const float *const *rows,
                     float *const *out, size_t first_col, size_t end_col);

struct nn_gemm_q8 {
    const int16_t *weights;
    const int32_t *bias;
    const struct nn_multiplier *multipliers;
    size_t multiplier_step; /* 1: one for each column, 0: one for all */
    size_t n_cols;
    size_t k;
    int32_t out_zero_point;
    int32_t low, high;
    bool rounds_once;     /* nn_multiplier_apply_once() */
    struct nn_stop *stop; /* as in struct nn_gemm_f32 */
};

/* nn_gemm_k_q8() - elements between packed rows, of weights and of gathered rows. */
static inline size_t nn_gemm_k_q8(size_t k)
{
    return (k + NN_GEMM_PAD_Q8 - 1) / NN_GEMM_PAD_Q8 * NN_GEMM_PAD_Q8;
}

/* nn_gemm_bytes_q8() - of bias and weights, which lie one behind the other. */
bool nn_gemm_bytes_q8(size_t n_cols, size_t k, size_t *ret_bytes);

/* nn_gemm_use_q8() - points gemm's bias and weights at such a block. */
void nn_gemm_use_q8(struct nn_gemm_q8 *gemm, const uint8_t *block);

/* nn_gemm_widen_q8() - n bytes to int16, minus the zero point, until the pace ends. */
void nn_gemm_widen_q8(int16_t *out, const void *in, bool is_signed, int32_t zero_point, size_t n,
                      struct nn_pace *pace);

/* nn_gemm_run_q8() - as nn_gemm_run_f32(); rows come from nn_gemm_widen_q8(),
 * with room and zeroes up to nn_gemm_k_q8(k). first_col: multiple of NN_GEMM_COLS_Q8. */
void nn_gemm_run_q8(const struct nn_gemm_q8 *gemm, size_t n_rows, const int16_t *const *rows,
                    uint8_t *const *out, size_t first_col, size_t end_col);

#endif
