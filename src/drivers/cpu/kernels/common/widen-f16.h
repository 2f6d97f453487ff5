/* SPDX-License-Identifier: Apache-2.0 */
/* widen-f16.h - float tensors as float32, widened only where they are not
 *
 * Kernels whose arithmetic is float32 take float32 tensors in place, and
 * float16 ones from a copy in scratch: find_scratch() counts nn_f16_copy_bytes() for
 * each that may need one, run() takes nn_f16_input(), in any order. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_WIDEN_F16_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_WIDEN_F16_H

#include "drivers/cpu/kernels/common/dequantize.h"

/* Scratch that is handed out from front to back. */
struct nn_f16_scratch {
    uint8_t *next;
    struct nn_stop *stop; /* copies may take long */
};

/* nn_f16_bytes() - scratch that n floats need; pieces are aligned to 64. */
static inline uint64_t nn_f16_bytes(uint64_t n)
{
    return (n * sizeof(float) + 63) / 64 * 64;
}

/* nn_f16_copy_bytes() - the scratch for a copy of a tensor: 0 for float32 and omitted ones. */
static inline uint64_t nn_f16_copy_bytes(const struct nn_tensor *tensor)
{
    return tensor->size == 0 || tensor->type == NNHAL_TENSOR_FLOAT32
               ? 0
               : nn_f16_bytes(tensor->size / 2);
}

/* nn_f16_copies_bytes() - scratch for copies of all tensors of the step. */
static inline uint64_t nn_f16_copies_bytes(const struct nn_kernel_step *step)
{
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < step->n_inputs; i++)
        if (step->inputs[i].n_dims) /* no scalar */
            n_bytes += nn_f16_copy_bytes(&step->inputs[i]);
    for (uint32_t i = 0; i < step->n_outputs; i++)
        n_bytes += nn_f16_copy_bytes(&step->outputs[i]);
    return n_bytes;
}

/* nn_f16_find_scratch() - a kernel's find_scratch() that says as much. */
static inline bool nn_f16_find_scratch(const struct nn_kernel_step *step,
                                       struct nn_kernel_scratch *ret)
{
    ret->bytes = nn_f16_copies_bytes(step);
    return true;
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
    nn_dequantize_load_long(tensor, 0, n, copy, wide->stop);
    return copy;
}

/* nn_f16_output() - where to write float32 results, for nn_f16_store(). */
static inline float *nn_f16_output(struct nn_f16_scratch *wide, const struct nn_tensor *tensor)
{
    return tensor->type == NNHAL_TENSOR_FLOAT32 ? tensor->data
                                                : nn_f16_take(wide, tensor->size / 2);
}

/* nn_f16_store() - narrows what was written to nn_f16_output(). */
static inline void nn_f16_store(const struct nn_tensor *tensor, const float *from,
                                struct nn_stop *stop)
{
    if (tensor->type != NNHAL_TENSOR_FLOAT32)
        nn_quantize_store_long(tensor, 0, tensor->size / 2, from, stop);
}

/* nn_f16_outputs() - nn_f16_output() for all outputs; further elements stay as they are. */
static inline void nn_f16_outputs(struct nn_f16_scratch *wide, const struct nn_kernel_args *args,
                                  float **ret)
{
    for (uint32_t i = 0; i < args->n_outputs; i++)
        ret[i] = nn_f16_output(wide, &args->outputs[i]);
}

/* nn_f16_store_all() - nn_f16_store() for all outputs. */
static inline void nn_f16_store_all(const struct nn_kernel_args *args, float *const *from)
{
    for (uint32_t i = 0; i < args->n_outputs; i++)
        nn_f16_store(&args->outputs[i], from[i], args->stop);
}

#endif
