/* SPDX-License-Identifier: Apache-2.0 */
/* segments.h - where the elements of a window lie
 *
 * A row of a matrix product is a window of an image: n_rows times n_taps segments of n_elements
 * elements each, in this order, at the same distances for every window. A 1x1 filter has one. */
#ifndef NN_DRIVERS_CPU_KERNELS_GEMM_SEGMENTS_H
#define NN_DRIVERS_CPU_KERNELS_GEMM_SEGMENTS_H

#include <stddef.h>

struct nn_gemm_segments {
    size_t n_rows, n_taps, n_elements;
    size_t row_step, tap_step; /* elements */
};

#endif
