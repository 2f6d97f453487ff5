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

/* nn_slices_scratch() - worker scratch bytes that nn_slices_run_f32() needs for a slice of n. */
bool nn_slices_scratch(size_t n, uint64_t *ret_bytes);

/* fn: n elements from in to out, which may be the same. */
typedef void (*nn_slice_fn)(const struct nn_kernel_args *args, const float *in, float *out,
                            size_t n);

/* nn_slices_run_f32() - calls fn for every slice of input 0 along axis, a float32
 * or float16 tensor. cost: of an element, in sixteenths of a nanosecond. */
void nn_slices_run_f32(const struct nn_kernel_args *args, uint32_t axis, size_t cost,
                       nn_slice_fn fn);

#endif
