/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize.h - a tensor's elements as float, from any type
 *
 * For operations whose reference computes in single precision and converts at
 * both ends: float16 is widened and narrowed, codes are dequantized and
 * quantized with half away from zero. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_DEQUANTIZE_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_DEQUANTIZE_H

#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/float16.h"

#include <math.h>
#include <string.h>

/* Elements between two looks of the functions for many. */
enum { NN_DEQUANTIZE_PIECE = 1 << 16 };

/* nn_dequantize_load() - elements [first, first + n). */
static inline void nn_dequantize_load(const struct nn_tensor *tensor, size_t first, size_t n,
                                      float *to)
{
    const float scale = tensor->scale;
    const int32_t zero_point = tensor->zero_point;

    switch (tensor->type) {
    case NNHAL_TENSOR_FLOAT32:
        memcpy(to, (const float *)tensor->data + first, n * sizeof(*to));
        break;
    case NNHAL_TENSOR_FLOAT16:
        for (size_t i = 0; i < n; i++)
            to[i] = nn_f16_to_f32(((const uint16_t *)tensor->data)[first + i]);
        break;
    case NNHAL_TENSOR_QUANT8_ASYMM:
        for (size_t i = 0; i < n; i++)
            to[i] = (float)(((const uint8_t *)tensor->data)[first + i] - zero_point) * scale;
        break;
    case NNHAL_TENSOR_QUANT8_ASYMM_SIGNED:
        for (size_t i = 0; i < n; i++)
            to[i] = (float)(((const int8_t *)tensor->data)[first + i] - zero_point) * scale;
        break;
    case NNHAL_TENSOR_QUANT16_ASYMM:
        for (size_t i = 0; i < n; i++)
            to[i] = (float)(((const uint16_t *)tensor->data)[first + i] - zero_point) * scale;
        break;
    case NNHAL_TENSOR_QUANT16_SYMM:
        for (size_t i = 0; i < n; i++)
            to[i] = (float)((const int16_t *)tensor->data)[first + i] * scale;
        break;
    default:
        memset(to, 0, n * sizeof(*to));
    }
}

/* nn_dequantize_load_long() - the same of many elements; what is left out if it is time to stop
 * stays as it was. */
static inline void nn_dequantize_load_long(const struct nn_tensor *tensor, size_t first, size_t n,
                                           float *to, struct nn_stop *stop)
{
    for (size_t done = 0; done < n && !nn_stop_look(stop); done += NN_DEQUANTIZE_PIECE)
        nn_dequantize_load(tensor, first + done,
                           n - done < NN_DEQUANTIZE_PIECE ? n - done : NN_DEQUANTIZE_PIECE,
                           to + done);
}

/* The code of a real number: x / scale + zero_point in float, clamped. NaN gives low. */
static inline int32_t nn_quantize_code(float x, float scale, int32_t zero_point, float low,
                                       float high)
{
    float code = roundf(x / scale + (float)zero_point);

    return (int32_t)(code > low ? (code < high ? code : high) : low);
}

/* nn_quantize_store() - sets elements [first, first + n). */
static inline void nn_quantize_store(const struct nn_tensor *tensor, size_t first, size_t n,
                                     const float *from)
{
    const float scale = tensor->scale;
    const int32_t zero_point = tensor->zero_point;

    switch (tensor->type) {
    case NNHAL_TENSOR_FLOAT32:
        memcpy((float *)tensor->data + first, from, n * sizeof(*from));
        break;
    case NNHAL_TENSOR_FLOAT16:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)tensor->data)[first + i] = nn_f32_to_f16(from[i]);
        break;
    case NNHAL_TENSOR_QUANT8_ASYMM:
        for (size_t i = 0; i < n; i++)
            ((uint8_t *)tensor->data)[first + i] = (uint8_t)nn_quantize_code(
                from[i], scale, zero_point, 0.0f, 255.0f);
        break;
    case NNHAL_TENSOR_QUANT8_ASYMM_SIGNED:
        for (size_t i = 0; i < n; i++)
            ((int8_t *)tensor->data)[first + i] = (int8_t)nn_quantize_code(
                from[i], scale, zero_point, -128.0f, 127.0f);
        break;
    case NNHAL_TENSOR_QUANT16_ASYMM:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)tensor->data)[first + i] = (uint16_t)nn_quantize_code(
                from[i], scale, zero_point, 0.0f, 65535.0f);
        break;
    default:
        break;
    }
}

/* nn_quantize_store_long() - the same of many elements, as nn_dequantize_load_long(). */
static inline void nn_quantize_store_long(const struct nn_tensor *tensor, size_t first, size_t n,
                                          const float *from, struct nn_stop *stop)
{
    for (size_t done = 0; done < n && !nn_stop_look(stop); done += NN_DEQUANTIZE_PIECE)
        nn_quantize_store(tensor, first + done,
                          n - done < NN_DEQUANTIZE_PIECE ? n - done : NN_DEQUANTIZE_PIECE,
                          from + done);
}

#endif
