/* SPDX-License-Identifier: Apache-2.0 */
/* quant8.h - 8-bit codes, signed and unsigned alike
 *
 * A code's byte b of type TENSOR_QUANT8_ASYMM stands for b, of
 * TENSOR_QUANT8_ASYMM_SIGNED for b - 256 from 128 on. Flipping the top bit turns
 * the order of signed codes into that of unsigned ones, 128 higher; kernels
 * carry the flip (0 or 0x80) as a number, so that one loop serves both. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_QUANT8_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_QUANT8_H

#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/fixed-point.h"

static inline bool nn_is_q8(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM || type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
}

static inline uint32_t nn_quant_flip(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED ? 0x80 : 0;
}

static inline int32_t nn_quant_low(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED ? -128 : 0;
}

static inline int32_t nn_quant_high(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED ? 127 : 255;
}

/* nn_quant_code() - the code of a byte. */
static inline int32_t nn_quant_code(uint8_t byte, uint32_t flip)
{
    return (int32_t)(byte ^ flip) - (int32_t)flip;
}

/* nn_quant_real() - as the reference dequantizes: an exact difference times the scale. */
static inline float nn_quant_real(int32_t code, int32_t zero_point, float scale)
{
    return (float)(code - zero_point) * scale;
}

/* nn_quant_requant() - every byte's code brought to another quantization of the same
 * type: clamped, then rounded half away from zero, in double. */
static inline void nn_quant_requant(uint32_t type, float from_scale, int32_t from_zero,
                                    float to_scale, int32_t to_zero, uint8_t table[256])
{
    double low = nn_quant_low(type), high = nn_quant_high(type);

    for (uint32_t byte = 0; byte < 256; byte++) {
        int32_t code = nn_quant_code((uint8_t)byte, nn_quant_flip(type));
        double real = (double)nn_quant_real(code, from_zero, from_scale);
        double exact = real / (double)to_scale + to_zero;

        exact = exact < low ? low : exact > high ? high : exact;
        table[byte] = (uint8_t)(int32_t)round(exact);
    }
}

#endif
