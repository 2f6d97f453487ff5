/* SPDX-License-Identifier: Apache-2.0 */
/* roi.h - regions of interest, checked, in units of the feature map
 *
 * Boxes and batch indexes are copied from the application's memory and checked
 * once; kernels work on the copies. */
#ifndef NN_CPU_ROI_ROI_H
#define NN_CPU_ROI_ROI_H

#include "drivers/cpu/kernels/kernel.h"

/* One region, divided by the strides. */
struct nn_roi {
    float x1, y1, x2, y2;
    uint32_t batch;
};

/* An image tensor in either layout: elements from one neighbor to the next. */
struct nn_roi_image {
    size_t n_batches, height, width, n_channels;
    size_t batch, row, column, channel;
};

/* nn_roi_image_read() - of dims [N, H, W, C], or [N, C, H, W]. */
struct nn_roi_image nn_roi_image_read(const uint32_t *dims, bool is_nchw);

/* nn_roi_take() - copies and checks the regions of inputs 1 (boxes) and 2
 * (batch indexes): corners in order, inside the image.
 * Returns: 0, NN_KERNEL_E_REFUSED. */
int nn_roi_take(const struct nn_kernel_args *args, const struct nn_roi_image *image,
                float height_stride, float width_stride, struct nn_roi *rois);

#endif
