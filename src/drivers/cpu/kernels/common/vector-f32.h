/* SPDX-License-Identifier: Apache-2.0 */
/* vector-f32.h - a register of floats, as wide as the variant has it (variant.h) */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_F32_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_VECTOR_F32_H

#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <string.h>

enum { NN_LANES_F32 = NN_VARIANT_VECTOR_BYTES / 4 };

typedef float nn_vector_f32 __attribute__((__vector_size__(NN_VARIANT_VECTOR_BYTES)));

NN_INLINE nn_vector_f32 nn_load_f32(const float *from)
{
    nn_vector_f32 v;

    memcpy(&v, from, sizeof(v));
    return v;
}

/* nn_store_clamped_f32() - v between low and high, as nn_clamp_f32() does it. */
NN_INLINE void nn_store_clamped_f32(float *to, nn_vector_f32 v, float low, float high)
{
    float lanes[NN_LANES_F32];

    memcpy(lanes, &v, sizeof(lanes));
    for (size_t i = 0; i < NN_LANES_F32; i++)
        lanes[i] = nn_clamp_f32(lanes[i], low, high);
    memcpy(to, lanes, sizeof(lanes));
}

#endif
