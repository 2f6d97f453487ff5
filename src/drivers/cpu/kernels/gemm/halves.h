/* SPDX-License-Identifier: Apache-2.0 */
/* halves.h - vectors of floats whose halves are of two rows
 *
 * Where columns fill no more than half of a last vector, two rows share it: row p has the low half, row q
 * the high one. n lanes of each half count, NN_HALF_F32 at most; the others are 0 or anything. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_HALVES_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_HALVES_H

#include "drivers/cpu/kernels/common/vector-f32.h"

#if NN_VARIANT_VECTOR_BYTES > 16         /* AVX2 at least */
enum { NN_HALF_F32 = NN_LANES_F32 / 2 }; /* lanes */

#if NN_VARIANT_VECTOR_BYTES == 64
typedef __m256 nn_half_f32;
#define nn_half_load    _mm256_loadu_ps
#define nn_half_store   _mm256_storeu_ps
#define nn_half_low(v)  _mm512_castps512_ps256((__m512)(v))
#define nn_half_high(v) _mm256_castpd_ps(_mm512_extractf64x4_pd((__m512d)(v), 1))
#else
typedef __m128 nn_half_f32;
#define nn_half_load    _mm_loadu_ps
#define nn_half_store   _mm_storeu_ps
#define nn_half_low(v)  _mm256_castps256_ps128((__m256)(v))
#define nn_half_high(v) _mm256_extractf128_ps((__m256)(v), 1)
#endif

NN_INLINE nn_vector_f32 nn_halves_join(nn_half_f32 low, nn_half_f32 high)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_f32)_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1);
#else
    return (nn_vector_f32)_mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1);
#endif
}

/* nn_halves_twice() - what is the low half of a vector there, in both. */
NN_INLINE nn_vector_f32 nn_halves_twice(const float *from)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_f32)_mm512_broadcast_f32x8(nn_half_load(from));
#else
    return nn_halves_join(nn_half_load(from), nn_half_load(from));
#endif
}

/* nn_halves_of() - the low half of p and the high one of q. */
NN_INLINE nn_vector_f32 nn_halves_of(nn_vector_f32 p, nn_vector_f32 q)
{
#if NN_VARIANT_VECTOR_BYTES == 64
    return (nn_vector_f32)_mm512_mask_blend_ps(0xff00, (__m512)p, (__m512)q);
#else
    return (nn_vector_f32)_mm256_blend_ps((__m256)p, (__m256)q, 0xf0);
#endif
}

/* Few lanes of a half are few of a vector: those behind them are not touched. */
NN_INLINE nn_vector_f32 nn_halves_load(const float *p, const float *q, size_t n)
{
    if (n == NN_HALF_F32)
        return nn_halves_join(nn_half_load(p), nn_half_load(q));
    return nn_halves_join(nn_half_low(nn_load_few_f32(p, n)), nn_half_low(nn_load_few_f32(q, n)));
}

/* q is NULL if only p has a row. */
NN_INLINE void nn_halves_store(float *p, float *q, nn_vector_f32 v, size_t n)
{
    nn_half_f32 high = nn_half_high(v);

    if (n == NN_HALF_F32) {
        nn_half_store(p, nn_half_low(v));
        if (q)
            nn_half_store(q, high);
        return;
    }
    nn_store_few_f32(p, v, n);
    if (q)
        nn_store_few_f32(q, nn_halves_join(high, high), n);
}

#endif

#endif
