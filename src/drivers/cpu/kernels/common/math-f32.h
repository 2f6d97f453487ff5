/* SPDX-License-Identifier: Apache-2.0 */
/* math-f32.h - transcendental functions that vectorize
 *
 * Without branches, tables and calls, so that a loop around them becomes vector
 * code; the same bits on every machine, since nothing is contracted.
 * Bounds, measured over every 37th float against double arithmetic:
 * nn_exp_f32 1.3 ulp for normal results, nn_tanh_f32 1.5 ulp, nn_logistic_f32 2.5 ulp
 * (normal results). Infinities, NaNs and subnormal results are as in IEEE. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_MATH_F32_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_MATH_F32_H

#include "drivers/cpu/kernels/common/float16.h"

#include <stdint.h>

/* nn_exp_f32() - x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial, then
 * 2^n in two factors, so that results may be subnormal. */
static inline float nn_exp_f32(float x)
{
    const float magic = 0x1.8p23f; /* adding it leaves an integer in the low bits */
    float c = x < -104.0f ? -104.0f : x;
    float shifted, n, r, y;
    int32_t exponent, half;

    c = c > 89.0f ? 89.0f : c;
    shifted = c * 0x1.715476p+0f + magic;
    exponent = (int32_t)(nn_f32_bits(shifted) - nn_f32_bits(magic));
    n = shifted - magic;
    r = c - n * 0x1.63p-1f;       /* ln 2, its first bits: exact product */
    r = r - n * -0x1.bd0106p-13f; /* and the rest */
    y = 0x1.a0d2cep-13f;
    y = y * r + 0x1.6e879cp-10f;
    y = y * r + 0x1.1112d2p-7f;
    y = y * r + 0x1.555534p-5f;
    y = y * r + 0x1.555554p-3f;
    y = y * r + 0x1.000002p-1f;
    y = y * (r * r) + r + 1.0f;
    half = exponent >> 1;
    y *= nn_f32_from_bits((uint32_t)(half + 127) << 23);
    return y * nn_f32_from_bits((uint32_t)(exponent - half + 127) << 23);
}

/* nn_logistic_f32() - 1 / (1 + e^-x). */
static inline float nn_logistic_f32(float x)
{
    return 1.0f / (1.0f + nn_exp_f32(-x));
}

/* nn_tanh_f32() - a polynomial near 0, where 1 - 2 / (e^2|x| + 1) would cancel. */
static inline float nn_tanh_f32(float x)
{
    float a = x < 0.0f ? -x : x;
    float z = x * x;
    float near = -0x1.75e148p-8f;
    float far = 1.0f - 2.0f / (nn_exp_f32(a + a) + 1.0f);

    near = near * z + 0x1.52268p-6f;
    near = near * z + -0x1.b83c62p-5f;
    near = near * z + 0x1.110758p-3f;
    near = near * z + -0x1.55553cp-2f;
    near = near * z * x + x;
    far = x < 0.0f ? -far : far;
    return a < 0.625f ? near : far;
}

#endif
