/* SPDX-License-Identifier: Apache-2.0 */
/* window.h - where a window slides: the arguments of pools and convolutions
 *
 * Eight operations slide a window over an image, each with an implicit form
 * (a padding code), an explicit one (four paddings), and optional tails for
 * layout and dilation. operands.h knows at which input of which form an argument
 * stands; inference and kernels both read the values here, so that they cannot
 * disagree.
 *
 * For AVERAGE_POOL_2D, L2_POOL_2D, MAX_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D,
 * GROUPED_CONV_2D and TRANSPOSE_CONV_2D. No memory, no state. */
#ifndef NN_MODEL_WINDOW_H
#define NN_MODEL_WINDOW_H

#include "model/geometry.h"
#include "model/infer.h"
#include "model/operands.h"

/* Everything about the image, the window and the result. */
struct nn_window_2d {
    bool is_nchw;
    uint32_t batch;
    uint32_t in_depth;
    uint32_t out_depth;
    struct nn_window width; /* input, filter, stride, dilation, padding */
    struct nn_window height;
    uint32_t out_width;
    uint32_t out_height;
    int32_t groups; /* or the depth multiplier; 1 where the operation has none */
};

/* nn_infer_window_operands() - which inputs of the operation are what (operands.h). */
struct nn_window_operands nn_infer_window_operands(const struct nn_infer *infer);

/* nn_window_2d_read() - reads and judges shapes, sizes, strides, paddings and
 * dilations of the operation (all E rules of a window; bias, depths and groups
 * too). The batch may be 0, unless the operation is GROUPED_CONV_2D.
 * Returns: 0; NN_REFUSED; NN_INFER_E_UNKNOWN. */
int nn_window_2d_read(const struct nn_infer *infer, struct nn_window_2d *ret);

/* nn_window_2d_set_output() - gives output 0 the shape of the result, in its layout. */
void nn_window_2d_set_output(struct nn_infer *infer, const struct nn_window_2d *window);

#endif
