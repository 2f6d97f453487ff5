/* SPDX-License-Identifier: Apache-2.0 */
/* fixed-point.h - the integer arithmetic of quantized operations, exactly
 *
 * Quantized kernels equal TensorFlow Lite's reference bit for bit, and these
 * are its primitives: a real multiplier is an int32 mantissa in [2^30, 2^31)
 * and a power of two, and applying it rounds twice, first in the doubling high
 * multiplication, then in the shift. Both round half away from zero, but for
 * the doubling multiplication's -0.5, which truncation takes to 0.
 * Everything wraps or saturates as written; nothing is undefined. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_FIXED_POINT_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_FIXED_POINT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* A real multiplier: mantissa * 2^(shift - 31). */
struct nn_multiplier {
    int32_t mantissa;
    int32_t shift; /* > 0: left */
};

/* nn_srdhm() - saturating rounding doubling high multiplication: a * b / 2^31.
 * The reference adds 2^30, or 1 - 2^30 to a negative product, and truncates;
 * that is floor((p + 2^30) / 2^31) for either sign: for p = -q it is
 * -floor((q + 2^30 - 1) / 2^31) both ways. */
static inline int32_t nn_srdhm(int32_t a, int32_t b)
{
    int64_t product = (int64_t)a * b;

    if (a == INT32_MIN && b == INT32_MIN)
        return INT32_MAX;
    return (int32_t)((product + (INT64_C(1) << 30)) >> 31);
}

/* nn_rdp() - x / 2^exponent, rounded half away from zero; exponent in [0, 31]. */
static inline int32_t nn_rdp(int32_t x, int exponent)
{
    int32_t mask = (int32_t)((UINT32_C(1) << exponent) - 1);
    int32_t remainder = x & mask;
    int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);

    return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

/* nn_shl_wrap() - x << n, wrapping; n in [0, 31]. */
static inline int32_t nn_shl_wrap(int32_t x, int n)
{
    return (int32_t)((uint32_t)x << n);
}

/* nn_multiplier_make() - the fixed-point form of a real number >= 0. */
static inline struct nn_multiplier nn_multiplier_make(double real)
{
    struct nn_multiplier m = {0, 0};
    double q;
    int64_t mantissa;
    int shift;

    if (!(real > 0.0) || !isfinite(real))
        return m;
    q = frexp(real, &shift);
    mantissa = (int64_t)round(q * 2147483648.0);
    if (mantissa == INT64_C(1) << 31) {
        mantissa /= 2;
        shift++;
    }
    if (shift < -31)
        return m;
    if (shift > 30) /* 2^30 saturates every accumulator but 0 anyway */
        return (struct nn_multiplier){INT32_MAX, 30};
    m.mantissa = (int32_t)mantissa;
    m.shift = shift;
    return m;
}

/* nn_multiplier_of_scales() - of a sum of products of uint8 data: the product of the scales is
 * rounded to float, as TensorFlow Lite does. */
static inline struct nn_multiplier nn_multiplier_of_scales(float input_scale, float weight_scale,
                                                           float output_scale)
{
    float product = input_scale * weight_scale;

    return nn_multiplier_make((double)product / (double)output_scale);
}

/* nn_multiplier_is_valid() - whether it is one that nn_multiplier_make() can return. */
static inline bool nn_multiplier_is_valid(struct nn_multiplier m)
{
    return m.mantissa >= 0 && m.shift >= -31 && m.shift <= 30;
}

/* nn_multiplier_apply() - x * m, rounded twice as the reference does. A mantissa
 * is never negative, so that the product cannot saturate. Multipliers lie in
 * the packed weights, whose bytes are not trusted: any shift is defined. */
static inline int32_t nn_multiplier_apply(int32_t x, struct nn_multiplier m)
{
    int left = m.shift > 0 ? m.shift & 31 : 0;
    int right = m.shift > 0 ? 0 : (int)((0u - (uint32_t)m.shift) & 31);
    int64_t product = (int64_t)nn_shl_wrap(x, left) * m.mantissa;

    return nn_rdp((int32_t)((product + (INT64_C(1) << 30)) >> 31), right);
}

/* nn_multiplier_apply_once() - x * m, rounded once, half up: what the reference
 * of FULLY_CONNECTED does for int8. */
static inline int32_t nn_multiplier_apply_once(int32_t x, struct nn_multiplier m)
{
    int shift = 31 - m.shift; /* 1 to 62 */

    return (int32_t)(((int64_t)x * m.mantissa + (INT64_C(1) << (shift - 1))) >> shift);
}

static inline int32_t nn_clamp_i32(int32_t x, int32_t low, int32_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* nn_sat16() - clamps to an int16. */
static inline int16_t nn_sat16(int64_t x)
{
    return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

/* nn_mul16() - saturating rounding doubling high multiplication: a * b / 2^15. */
static inline int16_t nn_mul16(int16_t a, int16_t b)
{
    int32_t product = (int32_t)a * b;

    if (a == INT16_MIN && b == INT16_MIN)
        return INT16_MAX;
    return (int16_t)((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

/* nn_round_to_i32() - half away from zero, saturating; a NaN gives 0. */
static inline int32_t nn_round_to_i32(double x)
{
    if (x != x)
        return 0;
    x = round(x);
    if (x >= 2147483647.0)
        return INT32_MAX;
    if (x <= -2147483648.0)
        return INT32_MIN;
    return (int32_t)x;
}

#endif
