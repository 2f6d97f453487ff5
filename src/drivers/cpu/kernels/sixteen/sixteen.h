/* SPDX-License-Identifier: Apache-2.0 */
/* sixteen.h - activations of 16 bits, of nnhal.tflite: their codes and how sums become codes
 *
 * The zero point is 0. A sum of products of 16 and 8 bits becomes a code by its multiplier in one of
 * three ways, by the bias that TensorFlow Lite has: with one of 64 bits by
 * MultiplyByQuantizedMultiplier(int64_t), whose multiplier has 15 bits; with one of 32 bits the sum
 * wraps, and is rounded once where the reference multiplies matrices, twice in TransposeConv. */
#ifndef NN_CPU_KERNELS_SIXTEEN_H
#define NN_CPU_KERNELS_SIXTEEN_H

#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/kernel.h"

#define NN_T_Z16 NN_T(TENSOR_QUANT16_SYMM)

enum nn_rounding {
    NN_ROUNDING_REDUCED,
    NN_ROUNDING_ONCE,
    NN_ROUNDING_TWICE,
};

/* nn_sixteen_bounds() - the codes between which a fused activation clamps.
 * Returns: false if code is no fused activation. */
static inline bool nn_sixteen_bounds(int32_t code, float scale, int32_t *ret_low, int32_t *ret_high)
{
    *ret_low = INT16_MIN;
    *ret_high = INT16_MAX;
    return nn_activation_codes(code, scale, 0, ret_low, ret_high);
}

/* Rounded half up. What does not fit wraps: multipliers may come from a cache file. */
static inline int32_t nn_sixteen_shift(uint64_t product, uint32_t shift)
{
    uint64_t half = (UINT64_C(1) << (shift & 63)) >> 1;

    return (int32_t)((int64_t)(product + half) >> (shift & 63));
}

/* nn_sixteen_scale() - sum * m. */
static inline int32_t nn_sixteen_scale(int64_t sum, struct nn_multiplier m,
                                       enum nn_rounding rounding)
{
    int64_t reduced = m.mantissa < 0x7fff0000 ? (m.mantissa + 0x8000) >> 16 : 0x7fff;
    int32_t narrow = (int32_t)sum;

    if (rounding == NN_ROUNDING_REDUCED)
        return nn_sixteen_shift((uint64_t)sum * (uint64_t)reduced, 15u - (uint32_t)m.shift);
    if (rounding == NN_ROUNDING_ONCE)
        return nn_sixteen_shift((uint64_t)((int64_t)narrow * m.mantissa), 31u - (uint32_t)m.shift);
    return nn_multiplier_apply(narrow, m);
}

/* So many products, of 23 bits with their sign, fit a sum of 32 bits. */
enum { NN_SIXTEEN_PIECE = 256 };

/* nn_sixteen_dot() - the sum of n products. */
static inline int64_t nn_sixteen_dot(const int16_t *a, const int8_t *b, size_t n)
{
    int64_t sum = 0;

    for (size_t at = 0, end; at < n; at = end) {
        int32_t piece = 0;

        end = nn_min_size(n, at + NN_SIXTEEN_PIECE);
        for (size_t i = at; i < end; i++)
            piece += a[i] * b[i];
        sum += piece;
    }
    return sum;
}

/* nn_sixteen_dot_long() - the same of many, until the pace ends. */
static inline int64_t nn_sixteen_dot_long(const int16_t *a, const int8_t *b, size_t n,
                                          struct nn_pace *pace)
{
    int64_t sum = 0;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        sum += nn_sixteen_dot(a + part.begin, b + part.begin, part.end - part.begin);
    return sum;
}

/* nn_sixteen_bias() - element i of a bias of 32 or 64 bits. */
static inline int64_t nn_sixteen_bias(const struct nn_tensor *bias, size_t i)
{
    return bias->type == NNHAL_TENSOR_INT32 ? ((const int32_t *)bias->data)[i]
                                            : ((const int64_t *)bias->data)[i];
}

#endif
