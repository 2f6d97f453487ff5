/* SPDX-License-Identifier: Apache-2.0 */
/* widen-f16.h - float tensors as float32, widened only where they are not
 *
 * Kernels whose arithmetic is float32 take float32 tensors in place, and
 * float16 ones from a copy in scratch: nn_f16_bytes() when lowering for each
 * operand that may need a copy, nn_f16_input() when running, in any order. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_WIDEN_F16_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_WIDEN_F16_H

#include "drivers/cpu/kernels/common/dequantize.h"

/* Scratch that is handed out from front to back. */
struct nn_f16_scratch {
    uint8_t *next;
};

/* nn_f16_bytes() - scratch that n floats need; pieces are aligned to 64. */
static inline uint64_t nn_f16_bytes(uint64_t n)
{
    return (n * sizeof(float) + 63) / 64 * 64;
}

/* nn_f16_lower() - the scratch for a copy of an operand: 0 for float32 and omitted ones. */
static inline uint64_t nn_f16_lower(const struct nn_lower_operand *operand)
{
    return operand->is_omitted || operand->type == NNHAL_TENSOR_FLOAT32
               ? 0
               : nn_f16_bytes(operand->size / 2);
}

/* nn_f16_take() - room for n floats. */
static inline float *nn_f16_take(struct nn_f16_scratch *wide, size_t n)
{
    float *taken = (float *)(void *)wide->next;

    wide->next += nn_f16_bytes(n);
    return taken;
}

/* nn_f16_input() - the elements as float32; NULL for an omitted operand. */
static inline const float *nn_f16_input(struct nn_f16_scratch *wide, const struct nn_tensor *tensor)
{
    size_t n = tensor->size / 2;
    float *copy;

    if (!tensor->data || tensor->type == NNHAL_TENSOR_FLOAT32)
        return tensor->data;
    copy = nn_f16_take(wide, n);
    nn_dequantize_load(tensor, 0, n, copy);
    return copy;
}

/* nn_f16_output() - where to write float32 results, for nn_f16_store(). */
static inline float *nn_f16_output(struct nn_f16_scratch *wide, const struct nn_tensor *tensor)
{
    return tensor->type == NNHAL_TENSOR_FLOAT32 ? tensor->data
                                                : nn_f16_take(wide, tensor->size / 2);
}

/* nn_f16_store() - narrows what was written to nn_f16_output(). */
static inline void nn_f16_store(const struct nn_tensor *tensor, const float *from)
{
    if (tensor->type != NNHAL_TENSOR_FLOAT32)
        nn_quantize_store(tensor, 0, tensor->size / 2, from);
}

#endif
