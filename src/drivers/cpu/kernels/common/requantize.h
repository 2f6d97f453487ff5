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
 * again one by one. A z that does not fit 32 bits is converted to INT32_MIN: its fraction is 0. One
 * beyond 2^24 units may have a larger error, but is far outside of the codes to which words are
 * clamped at last.
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
    int16_t low, high; /* codes */
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

    r.low = (int16_t)low;
    r.high = (int16_t)high;
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

/* nn_requantize_pad() - of a column that is not there: its lane is never near a border. */
static inline void nn_requantize_pad(struct nn_requantize *r, size_t column)
{
    nn_requantize_set(r, column, 0, (struct nn_multiplier){0}, 0);
}

/* Lanes of units near a border, a bit for each. */
NN_INLINE uint32_t nn_requantize_near_lanes(nn_vector_i32 units)
{
    const nn_vector_i32 fractions = units & nn_splat_i32(0xfff0);

#if NN_VARIANT_VECTOR_BYTES == 64
    return _mm512_testn_epi32_mask((__m512i)fractions, (__m512i)fractions);
#else
    return (uint32_t)_mm256_movemask_ps(
        (__m256)_mm256_cmpeq_epi32((__m256i)fractions, _mm256_setzero_si256()));
#endif
}

/* nn_requantize_near_ties() - a vector of units, the lanes near a border between two codes again. */
static __attribute__((noinline, cold, pure)) nn_vector_i32
NN_VARIANT_SYMBOL(nn_requantize_near_ties)(const struct nn_requantize *r, nn_vector_i32 sums,
                                           nn_vector_i32 units, size_t column)
{
    for (uint32_t left = nn_requantize_near_lanes(units); left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        size_t at = column + i;
        struct nn_multiplier m = {r->mantissa[at], -r->shift[at]};
        /* The base is the zero point and a half, at most a quarter more, in units of 2^-16. */
        uint32_t zero = (uint32_t)((int32_t)r->base_above[at] >> 16);
        int32_t scaled = r->rounds_once ? nn_multiplier_apply_once(sums[i], m)
                                        : nn_multiplier_apply(sums[i], m);

        units[i] = nn_clamp_i32((int32_t)((uint32_t)scaled + zero), r->low, r->high) << 16;
    }
    return units;
}

/* nn_requantize_units() - sums as codes in units of 2^-16, those near a border maybe wrong. */
NN_INLINE nn_vector_i32 nn_requantize_units(const struct nn_requantize *r, nn_vector_i32 sums,
                                            size_t column)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    __m512 base = _mm512_mask_loadu_ps(_mm512_loadu_ps(r->base_above + column),
                                       _mm512_movepi32_mask((__m512i)sums), r->base_below + column);
    __m512 z = _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)sums),
                               _mm512_loadu_ps(r->scale + column), base);

    return (nn_vector_i32)_mm512_cvtps_epi32(z);
#else
    __m256 base = _mm256_blendv_ps(_mm256_loadu_ps(r->base_above + column),
                                   _mm256_loadu_ps(r->base_below + column), (__m256)sums);
    __m256 z = _mm256_fmadd_ps(_mm256_cvtepi32_ps((__m256i)sums),
                               _mm256_loadu_ps(r->scale + column), base);

    return (nn_vector_i32)_mm256_cvtps_epi32(z);
#endif
}

#if NN_VARIANT_VECTOR_BYTES == 64
/* Halves of the lanes of a and b, from half 0 or 1 on: for each 128 bits 4 of a, then 4 of b. */
NN_INLINE nn_vector_i32 nn_requantize_halves(nn_vector_i32 a, nn_vector_i32 b, const short half)
{
    const __m512i firsts = _mm512_set_epi16(62, 60, 58, 56, 30, 28, 26, 24, 54, 52, 50, 48, 22, 20,
                                            18, 16, 46, 44, 42, 40, 14, 12, 10, 8, 38, 36, 34, 32,
                                            6, 4, 2, 0);
    const __m512i order = half ? _mm512_add_epi16(firsts, _mm512_set1_epi16(half)) : firsts;

    return (nn_vector_i32)_mm512_permutex2var_epi16((__m512i)a, order, (__m512i)b);
}
#endif

/* nn_requantize_fractions() - the fractions of two vectors of units, in a vector of words of any
 * order. */
NN_INLINE nn_vector_i32 nn_requantize_fractions(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return nn_requantize_halves(a, b, 0);
#else
    return (nn_vector_i32)_mm256_blend_epi16((__m256i)a, _mm256_slli_epi32((__m256i)b, 16), 0xaa);
#endif
}

/* nn_requantize_is_near() - whether any of two vectors of fractions is near a border: below 16. */
NN_INLINE bool nn_requantize_is_near(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    __m512i least = _mm512_min_epu16((__m512i)a, (__m512i)b);

    return __builtin_expect(_mm512_testn_epi16_mask(least, _mm512_set1_epi16(-16)) != 0, 0);
#else
    __m256i least = _mm256_srli_epi16(_mm256_min_epu16((__m256i)a, (__m256i)b), 4);

    return __builtin_expect(
        _mm256_movemask_epi8(_mm256_cmpeq_epi16(least, _mm256_setzero_si256())) != 0, 0);
#endif
}

/* nn_requantize_words() - two vectors of units to words: for each 128 bits 4 of a, then 4 of b. */
NN_INLINE nn_vector_i32 nn_requantize_words(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return nn_requantize_halves(a, b, 1);
#else
    return (nn_vector_i32)_mm256_packs_epi32(_mm256_srai_epi32((__m256i)a, 16),
                                             _mm256_srai_epi32((__m256i)b, 16));
#endif
}

/* nn_requantize_bytes() - two results of nn_requantize_words(), clamped, in the order of their lanes:
 * those of a's two vectors, then those of b's. */
NN_INLINE nn_vector_i32 nn_requantize_bytes(const struct nn_requantize *r, nn_vector_i32 a,
                                            nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m512i bytes = _mm512_packus_epi16((__m512i)a, (__m512i)b);

    bytes = _mm512_max_epu8(bytes, _mm512_set1_epi8((int8_t)r->low));
    bytes = _mm512_min_epu8(bytes, _mm512_set1_epi8((int8_t)r->high));
    return (nn_vector_i32)_mm512_permutexvar_epi32(order, bytes);
#else
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    __m256i bytes = _mm256_packus_epi16((__m256i)a, (__m256i)b);

    bytes = _mm256_max_epu8(bytes, _mm256_set1_epi8((int8_t)r->low));
    bytes = _mm256_min_epu8(bytes, _mm256_set1_epi8((int8_t)r->high));
    return (nn_vector_i32)_mm256_permutevar8x32_epi32(bytes, order);
#endif
}

/* nn_requantize() - the codes of two vectors of sums, bias included, of columns from column_a and
 * column_b on. Returns: words, in the order of nn_requantize_words(). */
NN_INLINE nn_vector_i32 nn_requantize(const struct nn_requantize *r, nn_vector_i32 a,
                                      size_t column_a, nn_vector_i32 b, size_t column_b)
{
    nn_vector_i32 units_a = nn_requantize_units(r, a, column_a);
    nn_vector_i32 units_b = nn_requantize_units(r, b, column_b);
    nn_vector_i32 fractions = nn_requantize_fractions(units_a, units_b), words;

    if (nn_requantize_is_near(fractions, fractions)) {
        units_a = NN_VARIANT_SYMBOL(nn_requantize_near_ties)(r, a, units_a, column_a);
        units_b = NN_VARIANT_SYMBOL(nn_requantize_near_ties)(r, b, units_b, column_b);
    }
    words = nn_requantize_words(units_a, units_b);
#if NN_VARIANT_VECTOR_BYTES == 64
    words = (nn_vector_i32)_mm512_max_epi16((__m512i)words, _mm512_set1_epi16(r->low));
    return (nn_vector_i32)_mm512_min_epi16((__m512i)words, _mm512_set1_epi16(r->high));
#else
    words = (nn_vector_i32)_mm256_max_epi16((__m256i)words, _mm256_set1_epi16(r->low));
    return (nn_vector_i32)_mm256_min_epi16((__m256i)words, _mm256_set1_epi16(r->high));
#endif
}

/* nn_requantize_four() - the codes of two vectors at a and two at b, of columns from columns[] on.
 * Returns: bytes, in this order. */
NN_INLINE nn_vector_i32 nn_requantize_four(const struct nn_requantize *r, const nn_vector_i32 *a,
                                           const nn_vector_i32 *b, const size_t columns[4])
{
    nn_vector_i32 units[4] = {
        nn_requantize_units(r, a[0], columns[0]), nn_requantize_units(r, a[1], columns[1]),
        nn_requantize_units(r, b[0], columns[2]), nn_requantize_units(r, b[1], columns[3])};

    if (nn_requantize_is_near(nn_requantize_fractions(units[0], units[1]),
                              nn_requantize_fractions(units[2], units[3])))
        for (size_t i = 0; i < 4; i++)
            units[i] = NN_VARIANT_SYMBOL(nn_requantize_near_ties)(r, i < 2 ? a[i] : b[i - 2],
                                                                  units[i], columns[i]);
    return nn_requantize_bytes(r, nn_requantize_words(units[0], units[1]),
                               nn_requantize_words(units[2], units[3]));
}

#endif
