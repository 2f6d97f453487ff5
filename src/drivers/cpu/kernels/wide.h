/* SPDX-License-Identifier: Apache-2.0 */
/* wide.h - float tensors as float32, widened only where they are not
 *
 * Kernels whose arithmetic is float32 take float32 tensors in place, and
 * float16 ones from a copy in scratch: nn_wide_bytes() when lowering for each
 * operand that may need a copy, nn_wide_input() when running, in any order. */
#ifndef NN_CPU_KERNELS_WIDE_H
#define NN_CPU_KERNELS_WIDE_H

#include "drivers/cpu/kernels/real.h"

/* Scratch that is handed out from front to back. */
struct nn_wide {
    uint8_t *next;
};

/* nn_wide_bytes() - scratch that n floats need; pieces are aligned to 64. */
static inline uint64_t nn_wide_bytes(uint64_t n)
{
    return (n * sizeof(float) + 63) / 64 * 64;
}

/* nn_wide_lower() - the scratch for a copy of an operand: 0 for float32 and omitted ones. */
static inline uint64_t nn_wide_lower(const struct nn_lower_operand *operand)
{
    return operand->is_omitted || operand->type == NNHAL_TENSOR_FLOAT32
               ? 0
               : nn_wide_bytes(operand->size / 2);
}

/* nn_wide_take() - room for n floats. */
static inline float *nn_wide_take(struct nn_wide *wide, size_t n)
{
    float *taken = (float *)(void *)wide->next;

    wide->next += nn_wide_bytes(n);
    return taken;
}

/* nn_wide_input() - the elements as float32; NULL for an omitted operand. */
static inline const float *nn_wide_input(struct nn_wide *wide, const struct nn_tensor *tensor)
{
    size_t n = tensor->size / 2;
    float *copy;

    if (!tensor->data || tensor->type == NNHAL_TENSOR_FLOAT32)
        return tensor->data;
    copy = nn_wide_take(wide, n);
    nn_real_load(tensor, 0, n, copy);
    return copy;
}

/* nn_wide_output() - where to write float32 results, for nn_wide_store(). */
static inline float *nn_wide_output(struct nn_wide *wide, const struct nn_tensor *tensor)
{
    return tensor->type == NNHAL_TENSOR_FLOAT32 ? tensor->data
                                                : nn_wide_take(wide, tensor->size / 2);
}

/* nn_wide_store() - narrows what was written to nn_wide_output(). */
static inline void nn_wide_store(const struct nn_tensor *tensor, const float *from)
{
    if (tensor->type != NNHAL_TENSOR_FLOAT32)
        nn_real_store(tensor, 0, tensor->size / 2, from);
}

#endif
