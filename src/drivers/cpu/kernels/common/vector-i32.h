/* SPDX-License-Identifier: Apache-2.0 */
/* vector-i32.h - registers of integers, as wide as the variant has them (variant.h)
 *
 * For sources that are written for AVX2 and AVX-512, with VNNI and without (<family>-simd.c). */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_I32_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_I32_H

#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <immintrin.h>
#include <string.h>

enum { NN_LANES_I32 = NN_VARIANT_VECTOR_BYTES / 4 };

typedef int32_t nn_vector_i32 __attribute__((__vector_size__(NN_VARIANT_VECTOR_BYTES)));

NN_INLINE nn_vector_i32 nn_load_i32(const void *from)
{
    nn_vector_i32 v;

    memcpy(&v, from, sizeof(v));
    return v;
}

/* nn_splat_i32() - x in all lanes. */
NN_INLINE nn_vector_i32 nn_splat_i32(int32_t x)
{
    return x - (nn_vector_i32){0};
}

/* nn_multiply_add_16() - sums plus the products of each lane's pair of 16 bits. */
NN_INLINE nn_vector_i32 nn_multiply_add_16(nn_vector_i32 sums, nn_vector_i32 data,
                                           nn_vector_i32 weights)
{
#if defined(NN_VARIANT_VNNI)
    return (nn_vector_i32)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)data, (__m512i)weights);
#elif NN_VARIANT_VECTOR_BYTES == 64
    return sums + (nn_vector_i32)_mm512_madd_epi16((__m512i)data, (__m512i)weights);
#else
    return sums + (nn_vector_i32)_mm256_madd_epi16((__m256i)data, (__m256i)weights);
#endif
}

/* Weights that nn_multiply_add() takes, and how many of them meet in a lane: with VNNI 4 signed
 * bytes and 4 unsigned bytes of data, else 2 and 2 numbers of 16 bits. */
#ifdef NN_VARIANT_VNNI
typedef int8_t nn_simd_weight;
enum { NN_SIMD_GROUP = 4 };
#else
typedef int16_t nn_simd_weight;
enum { NN_SIMD_GROUP = 2 };
#endif

/* nn_multiply_add() - sums plus the products of each lane's group. */
NN_INLINE nn_vector_i32 nn_multiply_add(nn_vector_i32 sums, nn_vector_i32 data,
                                        nn_vector_i32 weights)
{
#ifdef NN_VARIANT_VNNI
    return (nn_vector_i32)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)data, (__m512i)weights);
#else
    return nn_multiply_add_16(sums, data, weights);
#endif
}

#endif
