/* SPDX-License-Identifier: Apache-2.0 */
/* immintrin.h - the compiler's header of this name, emulated: AVX2 and AVX-512 for any CPU
 *
 * Kernels that are compiled with this folder before the compiler's own run everywhere, so that
 * their results can be tested everywhere. SIMDe has nearly all of what they use; the rest, and a
 * multiplication and addition that is rounded once as the CPU's is, stand here. */
#ifndef NN_TESTS_CHECKKERNEL_EMULATED_IMMINTRIN_H
#define NN_TESTS_CHECKKERNEL_EMULATED_IMMINTRIN_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wunused-function"
#define SIMDE_NO_INLINE /* a tile of them inlined takes the compiler minutes */
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>
#pragma GCC diagnostic pop

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EMULATED static __attribute__((__noinline__, __unused__))

#ifndef __mmask16
#define __mmask16 simde__mmask16
#endif
#ifndef __mmask32
#define __mmask32 simde__mmask32
#endif
#ifndef __mmask64
#define __mmask64 simde__mmask64
#endif

#define _MM_PERM_BADC 0x4e
#define _MM_PERM_CDAB 0xb1

/* Element i of a vector of as many bytes as its register has. */
typedef float emulated_f32x8 __attribute__((__vector_size__(32)));
typedef float emulated_f32x16 __attribute__((__vector_size__(64)));
typedef int16_t emulated_i16x32 __attribute__((__vector_size__(64)));
typedef int32_t emulated_i32x16 __attribute__((__vector_size__(64)));

/* ---- rounded once ---- */

EMULATED __m256 emulated_mm256_fmadd_ps(__m256 a, __m256 b, __m256 c)
{
    emulated_f32x8 x = (emulated_f32x8)a, y = (emulated_f32x8)b, z = (emulated_f32x8)c;

    for (size_t i = 0; i < 8; i++)
        z[i] = fmaf(x[i], y[i], z[i]);
    return (__m256)z;
}
#undef _mm256_fmadd_ps
#define _mm256_fmadd_ps emulated_mm256_fmadd_ps

EMULATED __m512 emulated_mm512_fmadd_ps(__m512 a, __m512 b, __m512 c)
{
    emulated_f32x16 x = (emulated_f32x16)a, y = (emulated_f32x16)b, z = (emulated_f32x16)c;

    for (size_t i = 0; i < 16; i++)
        z[i] = fmaf(x[i], y[i], z[i]);
    return (__m512)z;
}
#undef _mm512_fmadd_ps
#define _mm512_fmadd_ps emulated_mm512_fmadd_ps

/* ---- some lanes: the bytes of the others are not touched ---- */

EMULATED void emulated_load_lanes(void *to, const void *from, uint64_t lanes, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (lanes >> i & 1)
            memcpy((uint8_t *)to + i * size, (const uint8_t *)from + i * size, size);
}

EMULATED __m128i emulated_mm_maskz_loadu_epi8(__mmask16 lanes, const void *from)
{
    __m128i v = _mm_setzero_si128();

    emulated_load_lanes(&v, from, lanes, 16, 1);
    return v;
}
#define _mm_maskz_loadu_epi8 emulated_mm_maskz_loadu_epi8

EMULATED __m512i emulated_mm512_maskz_loadu_epi8(__mmask64 lanes, const void *from)
{
    __m512i v = _mm512_setzero_si512();

    emulated_load_lanes(&v, from, lanes, 64, 1);
    return v;
}
#define _mm512_maskz_loadu_epi8 emulated_mm512_maskz_loadu_epi8

EMULATED __m512 emulated_mm512_mask_loadu_ps(__m512 v, __mmask16 lanes, const void *from)
{
    emulated_load_lanes(&v, from, lanes, 16, 4);
    return v;
}
#define _mm512_mask_loadu_ps emulated_mm512_mask_loadu_ps
#define _mm512_maskz_loadu_ps(lanes, from)                                                         \
    emulated_mm512_mask_loadu_ps(_mm512_setzero_ps(), (lanes), (from))

EMULATED void emulated_mm_mask_storeu_epi8(void *to, __mmask16 lanes, __m128i v)
{
    emulated_load_lanes(to, &v, lanes, 16, 1);
}
#define _mm_mask_storeu_epi8 emulated_mm_mask_storeu_epi8

EMULATED void emulated_mm256_mask_storeu_epi8(void *to, __mmask32 lanes, __m256i v)
{
    emulated_load_lanes(to, &v, lanes, 32, 1);
}
#define _mm256_mask_storeu_epi8 emulated_mm256_mask_storeu_epi8

EMULATED void emulated_mm512_mask_storeu_epi8(void *to, __mmask64 lanes, __m512i v)
{
    emulated_load_lanes(to, &v, lanes, 64, 1);
}
#define _mm512_mask_storeu_epi8 emulated_mm512_mask_storeu_epi8

EMULATED void emulated_mm512_mask_storeu_ps(void *to, __mmask16 lanes, __m512 v)
{
    emulated_load_lanes(to, &v, lanes, 16, 4);
}
#define _mm512_mask_storeu_ps emulated_mm512_mask_storeu_ps

/* ---- conversions ---- */

EMULATED __m512 emulated_mm512_cvtepi32_ps(__m512i a)
{
    return (__m512) __builtin_convertvector((emulated_i32x16)a, emulated_f32x16);
}
#define _mm512_cvtepi32_ps emulated_mm512_cvtepi32_ps

/* To the nearest, as the CPU's control word has it. */
EMULATED __m512i emulated_mm512_cvtps_epi32(__m512 a)
{
    emulated_f32x16 x = (emulated_f32x16)a;
    emulated_i32x16 y;

    for (size_t i = 0; i < 16; i++)
        y[i] = x[i] >= -0x1p31f && x[i] < 0x1p31f ? (int32_t)lrintf(x[i]) : INT32_MIN;
    return (__m512i)y;
}
#define _mm512_cvtps_epi32 emulated_mm512_cvtps_epi32

EMULATED __m512i emulated_mm512_cvtepu8_epi16(__m256i a)
{
    uint8_t from[32];
    uint16_t to[32];
    __m512i v;

    memcpy(from, &a, sizeof(from));
    for (size_t i = 0; i < 32; i++)
        to[i] = from[i];
    memcpy(&v, to, sizeof(v));
    return v;
}
#define _mm512_cvtepu8_epi16 emulated_mm512_cvtepu8_epi16

EMULATED __m128i emulated_mm512_cvtepi32_epi8(__m512i a)
{
    emulated_i32x16 x = (emulated_i32x16)a;
    uint8_t to[16];
    __m128i v;

    for (size_t i = 0; i < 16; i++)
        to[i] = (uint8_t)x[i];
    memcpy(&v, to, sizeof(v));
    return v;
}
#define _mm512_cvtepi32_epi8 emulated_mm512_cvtepi32_epi8

/* ---- the rest ---- */

/* SIMDe's name of it has two arguments too many. */
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 simde_mm512_madd_epi16

EMULATED __m512i emulated_mm512_srai_epi32(__m512i a, unsigned n)
{
    return (__m512i)((emulated_i32x16)a >> (int32_t)n);
}
#define _mm512_srai_epi32 emulated_mm512_srai_epi32

EMULATED __mmask16 emulated_mm512_testn_epi32_mask(__m512i a, __m512i b)
{
    emulated_i32x16 both = (emulated_i32x16)a & (emulated_i32x16)b;
    uint32_t lanes = 0;

    for (size_t i = 0; i < 16; i++)
        lanes |= (uint32_t)(both[i] == 0) << i;
    return (__mmask16)lanes;
}
#define _mm512_testn_epi32_mask emulated_mm512_testn_epi32_mask

EMULATED __mmask32 emulated_mm512_testn_epi16_mask(__m512i a, __m512i b)
{
    emulated_i16x32 both = (emulated_i16x32)a & (emulated_i16x32)b;
    uint32_t lanes = 0;

    for (size_t i = 0; i < 32; i++)
        lanes |= (uint32_t)(both[i] == 0) << i;
    return (__mmask32)lanes;
}
#define _mm512_testn_epi16_mask emulated_mm512_testn_epi16_mask

EMULATED __m512i emulated_mm512_shuffle_epi32(__m512i a, unsigned order)
{
    emulated_i32x16 x = (emulated_i32x16)a, y;

    for (size_t i = 0; i < 16; i++)
        y[i] = x[i / 4 * 4 + (order >> i % 4 * 2 & 3)];
    return (__m512i)y;
}
#define _mm512_shuffle_epi32 emulated_mm512_shuffle_epi32

#endif
