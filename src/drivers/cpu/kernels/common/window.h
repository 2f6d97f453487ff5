/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - the geometry of pools and convolutions, for kernels
 *
 * lower() reads it with the model's own code (model/window.h), so that kernels
 * and shape inference agree; a step keeps it as a part of its parameters.
 * Parameters may come from a cache file: nn_window_fits() says whether they
 * belong to the tensors at hand, and a kernel with a window has it in check(). */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_WINDOW_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_WINDOW_H

#include "drivers/cpu/kernels/kernel.h"
#include "model/window.h"

/* nn_lower_window() - of a pool or convolution.
 * Returns: 0, NN_KERNEL_E_REFUSED. */
int nn_lower_window(struct nn_lower *lower, struct nn_window_2d *ret);

/* nn_lower_window_activation() - the fused activation of a pool or convolution. */
int32_t nn_lower_window_activation(const struct nn_lower *lower);

/* nn_window_fits() - whether a window describes these tensors: sizes equal, strides,
 * dilations, filter and groups above 0, output as computed. filter: NULL for pools. */
bool nn_window_fits(const struct nn_window_2d *window, uint32_t operation,
                    const struct nn_tensor *in, const struct nn_tensor *filter,
                    const struct nn_tensor *out);

/* nn_window_clip() - the taps [*ret_begin, *ret_end) of a window for output position at that
 * lie in the image, and the image's position of tap 0, which may be outside. */
static inline int64_t nn_window_clip(const struct nn_window *window, size_t at, int64_t *ret_begin,
                                     int64_t *ret_end)
{
    int64_t first = (int64_t)at * window->stride - window->head;
    int64_t dilation = window->dilation;
    int64_t input = window->input;
    int64_t begin = first < 0 ? (-first + dilation - 1) / dilation : 0;
    int64_t end = first < input ? (input - first + dilation - 1) / dilation : 0;

    *ret_begin = begin;
    *ret_end = end < (int64_t)window->filter ? end : (int64_t)window->filter;
    return first;
}

/* nn_nchw_to_nhwc() - copies an image of [n, depth, height * width] elements to
 * [n, height * width, depth], not all of it if stop has an outcome then. bytes: of an element, 1, 2
 * or 4. */
void nn_nchw_to_nhwc(void *to, const void *from, size_t n, size_t n_pixels, size_t depth,
                     size_t bytes, struct nn_stop *stop);

#endif
