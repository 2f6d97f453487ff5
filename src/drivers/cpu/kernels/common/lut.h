/* SPDX-License-Identifier: Apache-2.0 */
/* lut.h - functions of one 8-bit code: 256 results, looked up
 *
 * Such a kernel's lower() fills a table of 256 bytes, indexed by the code's
 * byte (signed or not), as its weights; nn_lut_row() is its row.
 *
 * With vectors the table is 16 registers of 16 bytes, each in all lanes of 128 bits. The lower half of a
 * code picks a byte of each, the bits of the upper half choose among those: some 30 instructions
 * for 32 or 64 codes. For sources that are compiled for wider vectors (variant.h). */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_LUT_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_LUT_H

#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/kernel.h"

#if NN_VARIANT_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

/* For nn_rows_run(). */
#if NN_VARIANT_VECTOR_BYTES > 16
enum { NN_LUT_COST = 2 };
#else
enum { NN_LUT_COST = 8 };
#endif

/* nn_lut_lower() - the table of a function from code to code, which gets ctx.
 * Returns: 0, -ENOMEM. */
int nn_lut_lower(struct nn_lower *lower, int32_t (*function)(const void *ctx, int32_t code),
                 const void *ctx);

enum { NN_LUT_PIECES = 16 };

/* A table, read once for many calls of nn_lut_codes(). */
struct nn_lut {
    const uint8_t *table;
#if NN_VARIANT_VECTOR_BYTES == 64
    __m512i pieces[NN_LUT_PIECES];
#elif NN_VARIANT_VECTOR_BYTES == 32
    __m256i pieces[NN_LUT_PIECES];
#endif
};

NN_INLINE struct nn_lut nn_lut(const uint8_t table[256])
{
    struct nn_lut lut = {.table = table};

#if NN_VARIANT_VECTOR_BYTES > 16
#pragma GCC unroll 16
    for (size_t i = 0; i < NN_LUT_PIECES; i++) {
        __m128i piece = _mm_loadu_si128((const void *)(table + 16 * i));

#if NN_VARIANT_VECTOR_BYTES == 64
        lut.pieces[i] = _mm512_broadcast_i32x4(piece);
#else
        lut.pieces[i] = _mm256_broadcastsi128_si256(piece);
#endif
    }
#endif
    return lut;
}

#if NN_VARIANT_VECTOR_BYTES == 64
NN_INLINE __m512i nn_lut_vector(const struct nn_lut *lut, __m512i codes)
{
    const __m512i low = _mm512_and_si512(codes, _mm512_set1_epi8(0x0f));
    const __mmask64 bits[4] = {_mm512_test_epi8_mask(codes, _mm512_set1_epi8(0x10)),
                               _mm512_test_epi8_mask(codes, _mm512_set1_epi8(0x20)),
                               _mm512_test_epi8_mask(codes, _mm512_set1_epi8(0x40)),
                               _mm512_movepi8_mask(codes)};
    __m512i found[NN_LUT_PIECES / 2];

#pragma GCC unroll 8
    for (size_t i = 0; i < NN_LUT_PIECES / 2; i++)
        found[i] = _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(lut->pieces[2 * i], low), bits[0],
                                            lut->pieces[2 * i + 1], low);
#pragma GCC unroll 3
    for (size_t bit = 1; bit < 4; bit++)
#pragma GCC unroll 4
        for (size_t i = 0; i < (size_t)NN_LUT_PIECES / 2 >> bit; i++)
            found[i] = _mm512_mask_mov_epi8(found[2 * i], bits[bit], found[2 * i + 1]);
    return found[0];
}
#elif NN_VARIANT_VECTOR_BYTES == 32
/* Bytes are chosen by their highest bits: no shift brings another byte's bit there. */
NN_INLINE __m256i nn_lut_vector(const struct nn_lut *lut, __m256i codes)
{
    const __m256i low = _mm256_and_si256(codes, _mm256_set1_epi8(0x0f));
    const __m256i bits[4] = {_mm256_slli_epi16(codes, 3), _mm256_slli_epi16(codes, 2),
                             _mm256_slli_epi16(codes, 1), codes};
    __m256i found[NN_LUT_PIECES / 2];

#pragma GCC unroll 8
    for (size_t i = 0; i < NN_LUT_PIECES / 2; i++)
        found[i] = _mm256_blendv_epi8(_mm256_shuffle_epi8(lut->pieces[2 * i], low),
                                      _mm256_shuffle_epi8(lut->pieces[2 * i + 1], low), bits[0]);
#pragma GCC unroll 3
    for (size_t bit = 1; bit < 4; bit++)
#pragma GCC unroll 4
        for (size_t i = 0; i < (size_t)NN_LUT_PIECES / 2 >> bit; i++)
            found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], bits[bit]);
    return found[0];
}
#endif

/* nn_lut_codes() - the table's bytes for n codes; out may be in. */
NN_INLINE void nn_lut_codes(const struct nn_lut *lut, const uint8_t *in, uint8_t *out, size_t n)
{
    size_t i = 0;

#if NN_VARIANT_VECTOR_BYTES == 64
    for (; n - i >= 64; i += 64)
        _mm512_storeu_si512(out + i, nn_lut_vector(lut, _mm512_loadu_si512(in + i)));
    if (i < n) {
        const __mmask64 left = ~UINT64_C(0) >> (64 - (n - i));

        _mm512_mask_storeu_epi8(out + i, left,
                                nn_lut_vector(lut, _mm512_maskz_loadu_epi8(left, in + i)));
    }
#else
#if NN_VARIANT_VECTOR_BYTES == 32
    for (; n - i >= 32; i += 32)
        _mm256_storeu_si256((void *)(out + i),
                            nn_lut_vector(lut, _mm256_loadu_si256((const void *)(in + i))));
#endif
    for (; i < n; i++)
        out[i] = lut->table[in[i]];
#endif
}

/* nn_lut_codes_row() - nn_lut_codes() of a row of input 0, to output 0. */
NN_INLINE void nn_lut_codes_row(const uint8_t table[256], const struct nn_kernel_args *args,
                                const struct nn_row *row)
{
    const struct nn_lut lut = nn_lut(table);

    nn_lut_codes(&lut, (const uint8_t *)args->inputs[0].data + row->in0,
                 (uint8_t *)args->outputs[0].data + row->out, row->n);
}

/* nn_lut_row() - the same with the step's weights for a table. */
static inline void nn_lut_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    nn_lut_codes_row(args->weights, args, row);
}

#endif
