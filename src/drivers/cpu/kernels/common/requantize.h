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
 * round by half a unit each. 4 units are added, so that a true value on the other side of a border
 * shows as a fraction of less than 8 units. Lanes with such a fraction, 1 of 8192, are computed
 * again one by one: many vectors are asked at once whether there are any, and what was stored for
 * such a lane is replaced. A z that does not fit 32 bits is converted to INT32_MIN: its fraction is
 * 0. One beyond 2^24 units may have a larger error, but is far outside of the codes to which results
 * are clamped.
 *
 * Where no code is below the zero point, as behind RELU, one base serves for either sign: with base
 * 1/2 + 2^-(shift + 1) < 1 a negative y gives at most the zero point, and so the lowest code.
 *
 * Sums may have any value; shifts must lie in [-31, 0]: nn_requantize_fits(). */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_REQUANTIZE_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_REQUANTIZE_H

#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/vector-f32.h"
#include "drivers/cpu/kernels/common/vector-i32.h"

#include <math.h>
#include <stddef.h>

/* A function that is called for codes near a border alone. */
#define NN_COLD __attribute__((__noinline__, __cold__))

enum {
    NN_REQUANTIZE_BYTES = 24, /* of constants, for each column */
};

/* Constants of n columns, in one block: six arrays, one behind the other. */
struct nn_requantize {
    bool rounds_once; /* as nn_multiplier_apply_once() does: floor(y + 1/2). The caller sets it */
    int32_t *bias, *mantissa, *shift; /* shift: to the right */
    float *scale, *base_above, *base_below;
    uint8_t low, high; /* codes */
    /* No code is below the zero point: base_above serves all sums. */
    bool has_low;
    bool is_clamped; /* to less than all codes */
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

/* nn_requantize_zero() - the zero point of a column's codes: its base is a half more, at most three
 * quarters, in units of 2^-16. */
static inline int32_t nn_requantize_zero(const struct nn_requantize *r, size_t column)
{
    return (int32_t)r->base_above[column] >> 16;
}

/* nn_requantize_use() - a filled block, and the codes to which results are clamped. */
static inline struct nn_requantize nn_requantize_use(const void *block, size_t n, int32_t low,
                                                     int32_t high)
{
    struct nn_requantize r = nn_requantize_at((void *)(uintptr_t)block, n);

    r.low = (uint8_t)low;
    r.high = (uint8_t)high;
    r.has_low = low >= nn_requantize_zero(&r, 0);
    r.is_clamped = low > 0 || high < UINT8_MAX;
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
    r->base_above[column] = (float)((middle + beside) * 65536.0 + 4.0);
    r->base_below[column] = (float)((middle - beside) * 65536.0 + 4.0);
}

/* nn_requantize_pad() - of a column that is not there: its lane is never near a border. */
static inline void nn_requantize_pad(struct nn_requantize *r, size_t column)
{
    nn_requantize_set(r, column, 0, (struct nn_multiplier){0}, 0);
}

/* nn_requantize_units() - sums as codes in units of 2^-16, those near a border maybe wrong. has_low is
 * r's, and constant where this is called. */
NN_INLINE nn_vector_i32 nn_requantize_units(const struct nn_requantize *r, nn_vector_i32 sums,
                                            size_t column, const bool has_low)
{
    nn_vector_f32 base = nn_load_f32(r->base_above + column);
    nn_vector_f32 y = __builtin_convertvector(sums, nn_vector_f32), z;

#if NN_VARIANT_VECTOR_BYTES == 64
    if (!has_low)
        base = (nn_vector_f32)_mm512_mask_loadu_ps(
            (__m512)base, _mm512_movepi32_mask((__m512i)sums), r->base_below + column);
    z = nn_madd_f32(y, nn_load_f32(r->scale + column), base);
    return (nn_vector_i32)_mm512_cvtps_epi32((__m512)z);
#else
    if (!has_low)
        base = (nn_vector_f32)_mm256_blendv_ps(
            (__m256)base, _mm256_loadu_ps(r->base_below + column), (__m256)sums);
    z = nn_madd_f32(y, nn_load_f32(r->scale + column), base);
    return (nn_vector_i32)_mm256_cvtps_epi32((__m256)z);
#endif
}

/* Lanes of units near a border, a bit for each. */
NN_INLINE uint32_t nn_requantize_near_lanes(nn_vector_i32 units)
{
    const nn_vector_i32 fractions = units & nn_splat_i32(0xfff8);

#if NN_VARIANT_VECTOR_BYTES == 64
    return _mm512_testn_epi32_mask((__m512i)fractions, (__m512i)fractions);
#else
    return (uint32_t)_mm256_movemask_ps(
        (__m256)_mm256_cmpeq_epi32((__m256i)fractions, _mm256_setzero_si256()));
#endif
}

/* nn_requantize_to_again() - r for nn_requantize_again(). */
NN_INLINE struct nn_requantize nn_requantize_to_again(const struct nn_requantize *r)
{
    struct nn_requantize again = *r;

    if (r->has_low)
        again.base_below = again.base_above;
    return again;
}

/* nn_requantize_again() - replaces the codes of those lanes of a vector of sums, bias included, that
 * are near a border. That of lane i lies at to[i / group * step + i % group]. */
NN_INLINE void nn_requantize_again(const struct nn_requantize *r, const nn_vector_i32 *sums,
                                   size_t column, uint8_t *to, size_t group, size_t step)
{
    nn_vector_i32 units = nn_requantize_units(r, *sums, column, false);

    for (uint32_t left = nn_requantize_near_lanes(units); left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        size_t at = column + i;
        struct nn_multiplier m = {r->mantissa[at], -r->shift[at]};
        int32_t sum = (*sums)[i];
        uint32_t scaled = (uint32_t)(r->rounds_once ? nn_multiplier_apply_once(sum, m)
                                                    : nn_multiplier_apply(sum, m));

        to[i / group * step + i % group] = (uint8_t)nn_clamp_i32(
            (int32_t)(scaled + (uint32_t)nn_requantize_zero(r, at)), r->low, r->high);
    }
}

/* nn_requantize_least() - of two vectors of units: where the least fractions are, in words of no
 * certain order. */
NN_INLINE nn_vector_i32 nn_requantize_least(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_i32)_mm512_min_epu16((__m512i)a, (__m512i)b);
#else
    return (nn_vector_i32)_mm256_blend_epi16((__m256i)a, _mm256_slli_epi32((__m256i)b, 16), 0xaa);
#endif
}

/* nn_requantize_lesser() - of two results of nn_requantize_least(). */
NN_INLINE nn_vector_i32 nn_requantize_lesser(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_i32)_mm512_min_epu16((__m512i)a, (__m512i)b);
#else
    return (nn_vector_i32)_mm256_min_epu16((__m256i)a, (__m256i)b);
#endif
}

/* nn_requantize_is_near() - whether any fraction is near a border: below 8. */
NN_INLINE bool nn_requantize_is_near(nn_vector_i32 least)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return __builtin_expect(_mm512_testn_epi32_mask((__m512i)least, _mm512_set1_epi32(0xfff8)) != 0,
                            0);
#else
    __m256i high = _mm256_srli_epi16((__m256i)least, 3);

    return __builtin_expect(
        _mm256_movemask_epi8(_mm256_cmpeq_epi16(high, _mm256_setzero_si256())) != 0, 0);
#endif
}

/* Writes sums to memory for what is seldom called: compilers would keep them in registers for it,
 * and have none left for what is always done. */
#define NN_REQUANTIZE_KEEP(sums) __asm__ volatile("" : : "m"(sums))

/* nn_requantize_words() - two vectors of units to words: for each 128 bits 4 of a, then 4 of b. */
NN_INLINE nn_vector_i32 nn_requantize_words(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    const __m512i halves = _mm512_set_epi16(63, 61, 59, 57, 31, 29, 27, 25, 55, 53, 51, 49, 23, 21,
                                            19, 17, 47, 45, 43, 41, 15, 13, 11, 9, 39, 37, 35, 33,
                                            7, 5, 3, 1);

    return (nn_vector_i32)_mm512_permutex2var_epi16((__m512i)a, halves, (__m512i)b);
#else
    return (nn_vector_i32)_mm256_packs_epi32(_mm256_srai_epi32((__m256i)a, 16),
                                             _mm256_srai_epi32((__m256i)b, 16));
#endif
}

/* nn_requantize_pack() - two results of nn_requantize_words() to bytes: for each 128 bits 8 of a, then
 * 8 of b, not clamped yet. */
NN_INLINE nn_vector_i32 nn_requantize_pack(nn_vector_i32 a, nn_vector_i32 b)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_i32)_mm512_packus_epi16((__m512i)a, (__m512i)b);
#else
    return (nn_vector_i32)_mm256_packus_epi16((__m256i)a, (__m256i)b);
#endif
}

/* nn_requantize_clamp() - n vectors of codes. */
NN_INLINE void nn_requantize_clamp(const struct nn_requantize *r, nn_vector_i32 *codes,
                                   const size_t n)
{
    if (!r->is_clamped)
        return;
#pragma GCC unroll 6
    for (size_t i = 0; i < n; i++) {
#if NN_VARIANT_VECTOR_BYTES == 64
        __m512i least = _mm512_max_epu8((__m512i)codes[i], _mm512_set1_epi8((int8_t)r->low));

        codes[i] = (nn_vector_i32)_mm512_min_epu8(least, _mm512_set1_epi8((int8_t)r->high));
#else
        __m256i least = _mm256_max_epu8((__m256i)codes[i], _mm256_set1_epi8((int8_t)r->low));

        codes[i] = (nn_vector_i32)_mm256_min_epu8(least, _mm256_set1_epi8((int8_t)r->high));
#endif
    }
}

/* nn_requantize_four() - four vectors of sums, bias included, of columns from columns[] on: their codes,
 * not clamped yet, in this order. Those near a border, which show in *ret_least, may be wrong. */
NN_INLINE nn_vector_i32 nn_requantize_four(const struct nn_requantize *r,
                                           const nn_vector_i32 sums[4], const size_t columns[4],
                                           nn_vector_i32 *ret_least, const bool has_low)
{
    nn_vector_i32 units[4], bytes;

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        units[i] = nn_requantize_units(r, sums[i], columns[i], has_low);
    *ret_least = nn_requantize_lesser(nn_requantize_least(units[0], units[1]),
                                      nn_requantize_least(units[2], units[3]));
    bytes = nn_requantize_pack(nn_requantize_words(units[0], units[1]),
                               nn_requantize_words(units[2], units[3]));
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_i32)_mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), (__m512i)bytes);
#else
    return (nn_vector_i32)_mm256_permutevar8x32_epi32((__m256i)bytes,
                                                      _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#endif
}

#endif
