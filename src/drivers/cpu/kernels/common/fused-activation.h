/* SPDX-License-Identifier: Apache-2.0 */
/* fused-activation.h - what a fused activation clamps to
 *
 * A fused activation is a pair of bounds, for float and for quantized results
 * alike, found once when the step is lowered. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_FUSED_ACTIVATION_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_FUSED_ACTIVATION_H

#include "drivers/cpu/kernels/common/fixed-point.h"

#include <float.h>
#include <stdbool.h>

#include <nnhal/types.h>

/* What a float result is clamped to. */
struct nn_bounds_f32 {
    float low, high;
};

/* nn_activation_f32() - the bounds of a float result.
 * Returns: false if code is no fused activation. */
static inline bool nn_activation_f32(int32_t code, float *ret_low, float *ret_high)
{
    static const float low[] = {-FLT_MAX, 0.0f, -1.0f, 0.0f};
    static const float high[] = {FLT_MAX, FLT_MAX, 1.0f, 6.0f};

    if (code < 0 || code > NNHAL_FUSED_RELU6)
        return false;
    *ret_low = low[code];
    *ret_high = high[code];
    return true;
}

/* nn_activation_codes() - narrows the bounds of a quantized result, its type's lowest and highest
 * code, by its scale and zero point. The division is done in float, as the reference does.
 * Returns: false if code is no fused activation. */
static inline bool nn_activation_codes(int32_t code, float scale, int32_t zero_point,
                                       int32_t *ret_low, int32_t *ret_high)
{
    int32_t low = *ret_low, high = *ret_high;
    float real_low, real_high;

    if (!nn_activation_f32(code, &real_low, &real_high))
        return false;
    if (code != NNHAL_FUSED_NONE) {
        int64_t bound = (int64_t)zero_point + nn_round_to_i32(real_low / scale);

        low = bound > low ? (int32_t)(bound > high ? high : bound) : low;
    }
    if (code == NNHAL_FUSED_RELU1 || code == NNHAL_FUSED_RELU6) {
        int64_t bound = (int64_t)zero_point + nn_round_to_i32(real_high / scale);

        high = bound < high ? (int32_t)(bound < low ? low : bound) : high;
    }
    *ret_low = low;
    *ret_high = high;
    return true;
}

/* nn_activation_q8() - the bounds of an 8-bit result.
 * Returns: false if code is no fused activation. */
static inline bool nn_activation_q8(int32_t code, bool is_signed, float scale, int32_t zero_point,
                                    int32_t *ret_low, int32_t *ret_high)
{
    *ret_low = is_signed ? -128 : 0;
    *ret_high = is_signed ? 127 : 255;
    return nn_activation_codes(code, scale, zero_point, ret_low, ret_high);
}

/* nn_clamp_f32() - the form that compilers turn into max and min; a NaN stays. */
static inline float nn_clamp_f32(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

#endif
