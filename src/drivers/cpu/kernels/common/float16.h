/* SPDX-License-Identifier: Apache-2.0 */
/* float16.h - IEEE binary16, as 16 bits of integer
 *
 * The compilers that build this do not all have a half type on every machine,
 * and the instructions for it belong to the files that are built for them.
 * Kernels widen to float, compute, and narrow: round to nearest, ties to even,
 * overflow to infinity; a NaN stays one. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_FLOAT16_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_FLOAT16_H

#include <stdint.h>
#include <string.h>

static inline uint32_t nn_f32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float nn_f32_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* nn_f16_to_f32() - exact. A product by 2^112 moves the exponent and makes
 * subnormals normal in one step. */
static inline float nn_f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    uint32_t bits = nn_f32_bits(nn_f32_from_bits(magnitude) * 0x1p112f);

    if (magnitude >= (UINT32_C(0x7c00) << 13))
        bits = magnitude | UINT32_C(0x7f800000);
    return nn_f32_from_bits(bits | sign);
}

/* nn_f32_to_f16() - nearest, ties to even. */
static inline uint16_t nn_f32_to_f16(float value)
{
    uint32_t bits = nn_f32_bits(value);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & UINT32_C(0x7fffffff);

    if (magnitude > UINT32_C(0x7f800000))
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= UINT32_C(0x477ff000)) /* rounds to 65536 or above */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < UINT32_C(0x38800000)) {
        /* Subnormal: adding 0.5 leaves the result's bits at the bottom, rounded
         * by the addition itself. */
        float shifted = nn_f32_from_bits(magnitude) + 0.5f;

        return (uint16_t)(sign | (nn_f32_bits(shifted) - UINT32_C(0x3f000000)));
    }
    magnitude += UINT32_C(0xfff) + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((magnitude - UINT32_C(0x38000000)) >> 13));
}

#endif
