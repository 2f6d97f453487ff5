/* SPDX-License-Identifier: Apache-2.0 */
/* vector-f32.h - a register of floats, as wide as the variant has it (variant.h) */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_F32_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_F32_H

#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#if NN_VARIANT_VECTOR_BYTES > 16
#include <immintrin.h>
#endif
#include <string.h>

enum { NN_LANES_F32 = NN_VARIANT_VECTOR_BYTES / 4 };

typedef float nn_vector_f32 __attribute__((__vector_size__(NN_VARIANT_VECTOR_BYTES)));

NN_INLINE nn_vector_f32 nn_load_f32(const float *from)
{
    nn_vector_f32 v;

    memcpy(&v, from, sizeof(v));
    return v;
}

/* nn_load_few_f32() - the first n lanes, fewer than all; the others are 0. */
NN_INLINE nn_vector_f32 nn_load_few_f32(const float *from, size_t n)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_f32)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), from);
#elif NN_VARIANT_VECTOR_BYTES == 32
    __m128 part = _mm_setzero_ps();
    const float *rest = from + (n & 4);

    if (n & 1)
        part = _mm_load_ss(rest + (n & 2));
    if (n & 2)
        part = _mm_loadl_pi(_mm_movelh_ps(part, part), (const __m64 *)(const void *)rest);
    return n & 4 ? (nn_vector_f32)_mm256_set_m128(part, _mm_loadu_ps(from))
                 : (nn_vector_f32)_mm256_set_m128(_mm_setzero_ps(), part);
#else
    nn_vector_f32 v = {0};

    memcpy(&v, from, n * sizeof(*from));
    return v;
#endif
}

/* nn_madd_f32() - a * b + c, rounded once where the variant can (NN_VARIANT_FMA), for each lane. */
NN_INLINE nn_vector_f32 nn_madd_f32(nn_vector_f32 a, nn_vector_f32 b, nn_vector_f32 c)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif NN_VARIANT_VECTOR_BYTES == 32
    return (nn_vector_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

/* nn_madd_one_f32() - the same of one lane. */
NN_INLINE float nn_madd_one_f32(float a, float b, float c)
{
    return NN_VARIANT_FMA ? __builtin_fmaf(a, b, c) : a * b + c;
}

/* nn_splat_f32() - x in all lanes. x - 0 is x, also for -0, and compilers see through it. */
NN_INLINE nn_vector_f32 nn_splat_f32(float x)
{
    return x - (nn_vector_f32){0};
}

/* nn_clamp_vector_f32() - v between low and high, as nn_clamp_f32() does it: max and min return
 * their second operand if one is a NaN. */
NN_INLINE nn_vector_f32 nn_clamp_vector_f32(nn_vector_f32 v, float low, float high)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_f32)_mm512_min_ps(_mm512_set1_ps(high),
                                        _mm512_max_ps(_mm512_set1_ps(low), (__m512)v));
#elif NN_VARIANT_VECTOR_BYTES == 32
    return (nn_vector_f32)_mm256_min_ps(_mm256_set1_ps(high),
                                        _mm256_max_ps(_mm256_set1_ps(low), (__m256)v));
#else
    for (size_t i = 0; i < NN_LANES_F32; i++)
        v[i] = nn_clamp_f32(v[i], low, high);
    return v;
#endif
}

typedef int32_t nn_mask_f32 __attribute__((__vector_size__(NN_VARIANT_VECTOR_BYTES)));

/* nn_raise_f32() - lane by lane what is larger; where one is a NaN, best. */
NN_INLINE nn_vector_f32 nn_raise_f32(nn_vector_f32 best, nn_vector_f32 some)
{
    nn_mask_f32 is_better = some > best;

    return (nn_vector_f32)((is_better & (nn_mask_f32)some) | (~is_better & (nn_mask_f32)best));
}

NN_INLINE void nn_store_f32(float *to, nn_vector_f32 v)
{
    memcpy(to, &v, sizeof(v));
}

/* nn_store_few_f32() - the first n lanes, fewer than all. */
NN_INLINE void nn_store_few_f32(float *to, nn_vector_f32 v, size_t n)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)v);
#elif NN_VARIANT_VECTOR_BYTES == 32
    __m128 part = _mm256_castps256_ps128((__m256)v);

    if (n & 4) {
        _mm_storeu_ps(to, part);
        part = _mm256_extractf128_ps((__m256)v, 1);
        to += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)to, part);
        part = _mm_movehl_ps(part, part);
        to += 2;
    }
    if (n & 1)
        _mm_store_ss(to, part);
#else
    memcpy(to, &v, n * sizeof(*to));
#endif
}

#endif
