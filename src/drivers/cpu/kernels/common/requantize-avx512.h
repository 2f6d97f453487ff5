/* SPDX-License-Identifier: Apache-2.0 */
/* requantize-avx512.h - sums of products to 8-bit codes, 16 at a time, exactly
 *
 * The result is that of nn_multiplier_apply() (fixed-point.h) plus the zero point, clamped, bit
 * for bit. With y = sum * mantissa / 2^(31 + shift), shift >= 1, its two roundings are one:
 *
 *     floor(|y| + 1/2 + 2^-(shift + 1)), with the sign of y
 *
 * but for exact ties of the first rounding, which lie on the border between two codes; with
 * shift 0 there is one rounding, half up. So a code is the integer part of
 *
 *     z = y + zero point + 1/2 +- 2^-(shift + 1)
 *
 * and z is computed in float, in units of 2^-16: one multiplication and addition. Its error is
 * below 4 units: converting the sum and rounding the scale give at most 2^-24 of |y| each, which
 * is at most 2^24 units for any code in reach; base, fused multiply-add and the conversion back
 * round by half a unit each. 6 units are added, so that a true value on the other side of a border
 * shows as a fraction of less than 16 units. Lanes with such a fraction, 1 of 4096, are computed
 * again in integers. What is clamped is clamped first, to the middle of the outermost code.
 *
 * Sums may have any value; shifts must lie in [-31, 0]: nn_requantize_fits(). */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_REQUANTIZE_AVX512_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_REQUANTIZE_AVX512_H

#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <immintrin.h>
#include <math.h>
#include <stddef.h>

enum {
    NN_REQUANTIZE_LANES = 16,
    NN_REQUANTIZE_BYTES = 24, /* of constants, for each column */
};

/* Constants of n columns, in one block: six arrays, one behind the other. */
struct nn_requantize {
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

/* nn_requantize_set() - the constants of one column. */
static inline void nn_requantize_set(struct nn_requantize *r, size_t column, int32_t bias,
                                     struct nn_multiplier m, int32_t zero_point)
{
    double middle = (double)zero_point + 0.5, beside = m.shift ? ldexp(1.0, m.shift - 1) : 0.0;

    r->bias[column] = bias;
    r->mantissa[column] = m.mantissa;
    r->shift[column] = -m.shift;
    r->scale[column] = (float)ldexp((double)m.mantissa, m.shift - 31 + 16);
    r->base_above[column] = (float)((middle + beside) * 65536.0 + 6.0);
    r->base_below[column] = (float)((middle - beside) * 65536.0 + 6.0);
}

/* nn_requantize_exactly() - y, rounded twice as the reference does. */
static inline __m512i nn_requantize_exactly(__m512i sums, __m512i mantissa, __m512i shift)
{
    const __m512i half = _mm512_set1_epi64(INT64_C(1) << 30);
    __m512i even = _mm512_add_epi64(_mm512_mul_epi32(sums, mantissa), half);
    __m512i odd = _mm512_add_epi64(
        _mm512_mul_epi32(_mm512_srli_epi64(sums, 32), _mm512_srli_epi64(mantissa, 32)), half);
    __m512i high = _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 31), 0xaaaa,
                                         _mm512_slli_epi64(odd, 1));
    __mmask16 shifts = _mm512_test_epi32_mask(shift, shift);
    __m512i one = _mm512_set1_epi32(1);
    /* Half away from zero: a negative number needs one less to reach the next code. The bit
     * behind the last one that stays rounds; adding a half before the shift could overflow. */
    __m512i down = _mm512_mask_add_epi32(high, shifts, high, _mm512_srai_epi32(high, 31));
    __m512i behind = _mm512_srav_epi32(down, _mm512_sub_epi32(shift, one));

    return _mm512_add_epi32(_mm512_srav_epi32(down, shift),
                            _mm512_maskz_and_epi32(shifts, behind, one));
}

/* The lanes near a border between two codes again. */
static __attribute__((noinline, cold)) __m512i
nn_requantize_near_ties(const struct nn_requantize *r, __m512i sums, size_t column, __m512i codes,
                        __mmask16 lanes)
{
    __m512i exact = nn_requantize_exactly(sums, _mm512_loadu_si512(r->mantissa + column),
                                          _mm512_loadu_si512(r->shift + column));
    __m512 base = _mm512_loadu_ps(r->base_above + column);
    /* Base is the zero point and a half, at most a quarter more, in 2^-16. */
    __m512i zero = _mm512_srai_epi32(_mm512_cvttps_epi32(base), 16);

    exact = _mm512_add_epi32(exact, zero);
    exact = _mm512_max_epi32(exact, _mm512_set1_epi32((int32_t)r->low >> 16));
    exact = _mm512_min_epi32(exact, _mm512_set1_epi32((int32_t)r->high >> 16));
    return _mm512_mask_mov_epi32(codes, lanes, exact);
}

/* nn_requantize() - the codes of 16 sums, bias included, of columns [column, column + 16). */
NN_INLINE __m512i nn_requantize(const struct nn_requantize *r, __m512i sums, size_t column)
{
    __m512 base = _mm512_mask_loadu_ps(_mm512_loadu_ps(r->base_above + column),
                                       _mm512_movepi32_mask(sums), r->base_below + column);
    __m512 z = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(r->scale + column), base);
    __m512i units, codes;
    __mmask16 near;

    z = _mm512_min_ps(_mm512_max_ps(z, _mm512_set1_ps(r->low)), _mm512_set1_ps(r->high));
    units = _mm512_cvtps_epi32(z);
    codes = _mm512_srai_epi32(units, 16);
    near = _mm512_testn_epi32_mask(units, _mm512_set1_epi32(0xfff0));
    return __builtin_expect(near != 0, 0) ? nn_requantize_near_ties(r, sums, column, codes, near)
                                          : codes;
}

#endif
