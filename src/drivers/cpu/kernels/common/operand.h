/* SPDX-License-Identifier: Apache-2.0 */
/* operand.h - small questions about operands that many kernels ask */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_OPERAND_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_OPERAND_H

#include "drivers/cpu/kernels/kernel.h"

#include <string.h>

#include "model/types.h"

/* nn_lower_i32_at() - element i of a TENSOR_INT32 whose value is known. */
static inline int32_t nn_lower_i32_at(const struct nn_lower *lower, uint32_t input, uint32_t i)
{
    int32_t value;

    memcpy(&value, (const char *)lower->inputs[input].value + i * sizeof(value), sizeof(value));
    return value;
}

/* nn_lower_axis() - scalar input as an axis of an operand of that rank,
 * counted from 0; inference has shown that it is in range. */
static inline uint32_t nn_lower_axis(const struct nn_lower *lower, uint32_t input, uint32_t rank)
{
    int32_t axis = nn_lower_i32(lower, input, 0);

    return (uint32_t)(axis < 0 ? axis + (int32_t)rank : axis);
}

/* nn_dims_count() - the number of elements of dimensions [first, last). */
static inline size_t nn_dims_count(const uint32_t *dims, uint32_t first, uint32_t last)
{
    size_t n = 1;

    for (uint32_t d = first; d < last; d++)
        n *= dims[d]; /* a tensor's elements fit 32 bits */
    return n;
}

/* nn_dims_strides() - elements from one index to the next, for each dimension. */
static inline void nn_dims_strides(uint32_t n_dims, const uint32_t *dims, int64_t *ret)
{
    int64_t stride = 1;

    for (uint32_t d = n_dims; d-- > 0;) {
        ret[d] = stride;
        stride *= dims[d];
    }
}

#endif
