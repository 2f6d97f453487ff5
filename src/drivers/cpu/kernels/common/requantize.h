/* SPDX-License-Identifier: Apache-2.0 */
/* requantize.h - sums of products to 8-bit codes, a vector at a time, exactly
 *
 * The result is that of nn_multiplier_apply() (fixed-point.h) plus the zero point, clamped, bit
 * for bit. With y = sum * mantissa / 2^(31 + shift), shift >= 1, its two roundings are one:
 *
 *     floor(|y| + 1/2 + 2^-(shift + 1)), with the sign of y
 *
 * but for exact ties of the first rounding, which lie on the border between two codes; with
 * shift 0, or rounds_once, there is one rounding, half up. So a code is the integer part of
 *
 *     z = y + zero point + 1/2 +- 2^-(shift + 1)
 *
 * and z is computed in float, in units of 2^-16: one multiplication and addition. Its error is
 * below 4 units: converting the sum and rounding the scale give at most 2^-24 of |y| each, which
 * is at most 2^24 units for any code in reach; base, fused multiply-add and the conversion back
 * round by half a unit each. 6 units are added, so that a true value on the other side of a border
 * shows as a fraction of less than 16 units. Lanes with such a fraction, 1 of 4096, are computed
 * again one by one. What is clamped is clamped first, to the middle of the outermost code.
 *
 * Sums may have any value; shifts must lie in [-31, 0]: nn_requantize_fits(). */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_REQUANTIZE_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_REQUANTIZE_H

#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/vector-i32.h"

#include <math.h>
#include <stddef.h>

enum {
    NN_REQUANTIZE_BYTES = 24, /* of constants, for each column */
};

/* Constants of n columns, in one block: six arrays, one behind the other. */
struct nn_requantize {
    bool rounds_once; /* as nn_multiplier_apply_once() does: floor(y + 1/2). The caller sets it */
    int32_t *bias, *mantissa, *shift; /* shift: to the right */
    float *scale, *base_above, *base_below;
    float low, high; /* codes, in the units of z */
};

static inline struct nn_requantize nn_requantize_at(void *block, size_t n)
{
    int32_t *words = block;

    return (struct nn_requantize){.bias = words,
                                  .mantissa = words + n,
                                  .shift = words + 2 * n,
                                  .scale = (float *)(void *)(words + 3 * n),
                                  .base_above = (float *)(void *)(words + 4 * n),
                                  .base_below = (float *)(void *)(words + 5 * n)};
}

/* nn_requantize_use() - a filled block, and the codes to which results are clamped. */
static inline struct nn_requantize nn_requantize_use(const void *block, size_t n, int32_t low,
                                                     int32_t high)
{
    struct nn_requantize r = nn_requantize_at((void *)(uintptr_t)block, n);

    r.low = (float)low * 65536.0f + 32768.0f;
    r.high = (float)high * 65536.0f + 32768.0f;
    return r;
}

/* nn_requantize_fits() - whether sums can be scaled by m here: by less than 1. */
static inline bool nn_requantize_fits(struct nn_multiplier m)
{
    return m.shift <= 0 && m.shift >= -31;
}

/* nn_requantize_set() - the constants of one column; rounds_once is set by then. */
static inline void nn_requantize_set(struct nn_requantize *r, size_t column, int32_t bias,
                                     struct nn_multiplier m, int32_t zero_point)
{
    double middle = (double)zero_point + 0.5;
    double beside = m.shift && !r->rounds_once ? ldexp(1.0, m.shift - 1) : 0.0;

    r->bias[column] = bias;
    r->mantissa[column] = m.mantissa;
    r->shift[column] = -m.shift;
    r->scale[column] = (float)ldexp((double)m.mantissa, m.shift - 31 + 16);
    r->base_above[column] = (float)((middle + beside) * 65536.0 + 6.0);
    r->base_below[column] = (float)((middle - beside) * 65536.0 + 6.0);
}

/* The lanes near a border between two codes again. */
static __attribute__((noinline, cold)) nn_vector_i32
NN_VARIANT_SYMBOL(nn_requantize_near_ties)(const struct nn_requantize *r, nn_vector_i32 sums,
                                           size_t column, nn_vector_i32 codes, uint32_t lanes)
{
    int32_t low = (int32_t)r->low >> 16, high = (int32_t)r->high >> 16;

    for (; lanes; lanes &= lanes - 1) {
        size_t i = (size_t)__builtin_ctz(lanes), at = column + i;
        struct nn_multiplier m = {r->mantissa[at], -r->shift[at]};
        /* The base is the zero point and a half, at most a quarter more, in units of 2^-16. */
        uint32_t zero = (uint32_t)((int32_t)r->base_above[at] >> 16);

        int32_t scaled = r->rounds_once ? nn_multiplier_apply_once(sums[i], m)
                                        : nn_multiplier_apply(sums[i], m);

        codes[i] = nn_clamp_i32((int32_t)((uint32_t)scaled + zero), low, high);
    }
    return codes;
}

/* nn_requantize() - the codes of a vector of sums, bias included, of columns from column on. */
NN_INLINE nn_vector_i32 nn_requantize(const struct nn_requantize *r, nn_vector_i32 sums,
                                      size_t column)
{
    nn_vector_i32 codes;
    uint32_t near;

#if NN_VARIANT_VECTOR_BYTES == 64
    __m512 base = _mm512_mask_loadu_ps(_mm512_loadu_ps(r->base_above + column),
                                       _mm512_movepi32_mask((__m512i)sums), r->base_below + column);
    __m512 z = _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)sums),
                               _mm512_loadu_ps(r->scale + column), base);
    __m512i units;

    z = _mm512_min_ps(_mm512_max_ps(z, _mm512_set1_ps(r->low)), _mm512_set1_ps(r->high));
    units = _mm512_cvtps_epi32(z);
    near = _mm512_testn_epi32_mask(units, _mm512_set1_epi32(0xfff0));
    codes = (nn_vector_i32)_mm512_srai_epi32(units, 16);
#else
    __m256 base = _mm256_blendv_ps(_mm256_loadu_ps(r->base_above + column),
                                   _mm256_loadu_ps(r->base_below + column), (__m256)sums);
    __m256 z = _mm256_fmadd_ps(_mm256_cvtepi32_ps((__m256i)sums),
                               _mm256_loadu_ps(r->scale + column), base);
    __m256i units, fraction;

    z = _mm256_min_ps(_mm256_max_ps(z, _mm256_set1_ps(r->low)), _mm256_set1_ps(r->high));
    units = _mm256_cvtps_epi32(z);
    fraction = _mm256_and_si256(units, _mm256_set1_epi32(0xfff0));
    near = (uint32_t)_mm256_movemask_ps(
        (__m256)_mm256_cmpeq_epi32(fraction, _mm256_setzero_si256()));
    codes = (nn_vector_i32)_mm256_srai_epi32(units, 16);
#endif
    return __builtin_expect(near != 0, 0)
               ? NN_VARIANT_SYMBOL(nn_requantize_near_ties)(r, sums, column, codes, near)
               : codes;
}

#endif
