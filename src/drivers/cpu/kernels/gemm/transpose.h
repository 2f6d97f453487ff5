/* SPDX-License-Identifier: Apache-2.0 */
/* transpose.h - eight words of eight columns, for packing weights
 *
 * Weights of a column follow each other in a model, and weights of neighboring columns in a panel:
 * packing transposes. A word is a float, or the weights that a kernel multiplies at once. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_TRANSPOSE_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_TRANSPOSE_H

#include "drivers/cpu/kernels/common/vector.h"

#include <immintrin.h>

enum { NN_TRANSPOSE_WORDS = 8 }; /* in a vector, and vectors */

/* nn_transpose_words() - word j of row i becomes word i of row j. */
NN_INLINE void nn_transpose_words(__m256i *rows)
{
    __m256i pairs[8], quads[8];

#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (size_t i = 0; i < 8; i += 4) {
        quads[i] = _mm256_unpacklo_epi64(pairs[i], pairs[i + 2]);
        quads[i + 1] = _mm256_unpackhi_epi64(pairs[i], pairs[i + 2]);
        quads[i + 2] = _mm256_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        quads[i + 3] = _mm256_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++) {
        rows[i] = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20);
        rows[i + 4] = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31);
    }
}

#endif
