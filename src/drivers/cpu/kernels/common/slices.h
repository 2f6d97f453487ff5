/* SPDX-License-Identifier: Apache-2.0 */
/* slices.h - one-dimensional slices of a tensor along an axis
 *
 * A tensor is [outer, n, inner] around an axis of n elements; a slice is the n
 * elements of one outer and one inner index, inner elements apart. Functions of a slice
 * (softmax, normalizations) see it as contiguous float32 for any axis and
 * type: a slice that is not so is copied to a worker's scratch and back. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_SLICES_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_SLICES_H

#include "drivers/cpu/kernels/kernel.h"

struct nn_slices {
    size_t outer, n, inner;
};

/* nn_slices() - of a tensor's dimensions; axis below n_dims. */
struct nn_slices nn_slices(uint32_t n_dims, const uint32_t *dims, uint32_t axis);

/* nn_slices_axis() - the axis in input i (from either end), fallback if there is none.
 * Returns: false if it is outside the rank of input 0. */
bool nn_slices_axis(const struct nn_lower *lower, uint32_t i, int32_t fallback, uint32_t *ret);

/* nn_slices_first() - the first element of slice number i. */
static inline size_t nn_slices_first(const struct nn_slices *slices, size_t i)
{
    return i / slices->inner * slices->n * slices->inner + i % slices->inner;
}

/* What a loop over slices is given. */
struct nn_slices_job {
    const struct nn_kernel_args *args;
    struct nn_slices slices;
};

/* nn_slices_for() - nn_parallel_for() over the slices of input 0 along axis; ctx is a struct
 * nn_slices_job. Costs: of an element, and of a slice besides, in nanoseconds. */
void nn_slices_for(const struct nn_kernel_args *args, uint32_t axis, size_t element_cost,
                   size_t slice_cost, nn_range_fn fn);

/* nn_slices_find_scratch() - that of nn_slices_run_f32(), for a kernel's find_scratch(). */
bool nn_slices_find_scratch(const struct nn_kernel_step *step, uint32_t axis,
                            struct nn_kernel_scratch *ret);

/* fn: n elements from in to out, which do not overlap. */
typedef void (*nn_slice_fn)(const struct nn_kernel_args *args, const float *in, float *out,
                            size_t n);

/* nn_slices_run_f32() - calls fn for every slice of input 0 along axis, a float32
 * or float16 tensor. cost: of an element, in sixteenths of a nanosecond. */
void nn_slices_run_f32(const struct nn_kernel_args *args, uint32_t axis, size_t cost,
                       nn_slice_fn fn);

#endif
