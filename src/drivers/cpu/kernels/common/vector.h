/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h - loops that the compiler turns into vector code
 *
 * Plain C kernels are written as short loops over contiguous elements, without
 * branches and calls, in functions that are always inlined with their options
 * as constants. NN_IVDEP before a loop promises that an element of the result
 * depends on no other element of any operand, so that the loop may run in
 * place: result and operand may be the same memory, but not overlap otherwise. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_H

#include "drivers/cpu/kernels/common/float16.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

#define NN_INLINE static inline __attribute__((__always_inline__))

#if defined(__clang__)
#define NN_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define NN_IVDEP _Pragma("GCC ivdep")
#endif

/* Float16 is widened in pieces that stay in the nearest cache. */
enum {
    NN_CHUNK = 256,
};

static inline void nn_f16_widen(float *to, const uint16_t *from, size_t n)
{
    size_t i = 0;

#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(
            to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
#endif
    for (; i < n; i++)
        to[i] = nn_f16_to_f32(from[i]);
}

static inline void nn_narrow(uint16_t *to, const float *from, size_t n)
{
    size_t i = 0;

#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        to[i] = nn_f32_to_f16(from[i]);
}

/* nn_min_size() - the smaller one. */
static inline size_t nn_min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
