/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - what convolutions share: their arguments, and staged tensors
 *
 * Kernels compute on one layout, [N,H,W,C], and two widths: float, and int16
 * with the zero point taken away. Inputs that are neither are staged: copied
 * once into scratch, widened and transposed on the way; outputs in [N,C,H,W] or
 * float16 are computed in scratch and copied out. */
#ifndef NN_CPU_KERNELS_CONV_H
#define NN_CPU_KERNELS_CONV_H

#include "drivers/cpu/kernels/kernel.h"

#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "model/operands.h"

#define nn_conv_nhwc_f32      NN_VARIANT_SYMBOL(nn_conv_nhwc_f32)
#define nn_conv_nhwc_q8       NN_VARIANT_SYMBOL(nn_conv_nhwc_q8)
#define nn_conv_from_nhwc_f32 NN_VARIANT_SYMBOL(nn_conv_from_nhwc_f32)
#define nn_conv_from_nhwc_q8  NN_VARIANT_SYMBOL(nn_conv_from_nhwc_q8)

/* Scalars of CONV_2D and DEPTHWISE_CONV_2D, of the implicit and the explicit form. */
struct nn_conv_shape {
    int32_t pad_top, pad_left;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t activation;
    int32_t depth_multiplier; /* 0 for CONV_2D */
    uint32_t is_nchw;
};

/* A data tensor's sizes, in either layout. */
struct nn_conv_sizes {
    size_t n, h, w, c;
};

/* nn_conv_read() - shape of the step from its inputs. Returns: 0, NN_KERNEL_E_REFUSED. */
int nn_conv_read(struct nn_lower *lower, struct nn_conv_shape *ret);

/* nn_conv_sizes() - from the dimensions of a tensor of rank 4. */
static inline struct nn_conv_sizes nn_conv_sizes(const uint32_t *dims, bool is_nchw)
{
    if (is_nchw)
        return (struct nn_conv_sizes){dims[0], dims[2], dims[3], dims[1]};
    return (struct nn_conv_sizes){dims[0], dims[1], dims[2], dims[3]};
}

/* nn_conv_taps() - taps [*first, *end) of a filter of n_taps fall inside [0, size)
 * when its window begins at start. */
static inline void nn_conv_taps(int64_t start, int64_t dilation, size_t n_taps, size_t size,
                                size_t *first, size_t *end)
{
    int64_t low = start < 0 ? (-start + dilation - 1) / dilation : 0;
    int64_t high = start < (int64_t)size ? ((int64_t)size - start + dilation - 1) / dilation : 0;

    *first = (size_t)(low < (int64_t)n_taps ? low : (int64_t)n_taps);
    *end = (size_t)(high < (int64_t)n_taps ? high : (int64_t)n_taps);
    if (*end < *first)
        *end = *first;
}

/* nn_conv_inside() - the positions [*first, *end) of an output row of out_w whose taps, filter_w in a
 * row of in_w, are all inside, from left to right. */
void nn_conv_inside(const struct nn_conv_shape *shape, size_t filter_w, size_t in_w, size_t out_w,
                    size_t *first, size_t *end);

/* nn_conv_multipliers() - the output multipliers of all channels: one per scale
 * of a per-channel filter, else the same for all. As in TensorFlow Lite, the
 * product of the scales is made in float for uint8, else in double. They are not all there if stop has
 * an outcome then. */
void nn_conv_multipliers(const struct nn_lower *lower, struct nn_multiplier *multipliers,
                         size_t n_channels);

/* nn_conv_nhwc_f32() - the input as float [N,H,W,C]: itself, or a copy in scratch
 * (count floats), which is needed unless the type is float32 and the layout is NHWC. */
const float *nn_conv_nhwc_f32(const struct nn_kernel_args *args, bool is_nchw, float *scratch);

/* nn_conv_nhwc_q8() - the input as int16 [N,H,W,C] minus its zero point, in scratch. */
void nn_conv_nhwc_q8(const struct nn_kernel_args *args, bool is_nchw, int16_t *scratch);

/* nn_conv_from_nhwc_f32(), _q8() - the staged output [N,H,W,C] to where it belongs. */
void nn_conv_from_nhwc_f32(const struct nn_kernel_args *args, bool is_nchw, const float *scratch);
void nn_conv_from_nhwc_q8(const struct nn_kernel_args *args, const uint8_t *scratch);

/* nn_conv_row_is_long() - whether a row of DEPTHWISE_CONV_2D's output in [N,H,W,C] takes some
 * milliseconds: kernels that look between rows leave it to depthwise-c.c. */
static inline bool nn_conv_row_is_long(const struct nn_lower *lower)
{
    const uint32_t *filter = lower->inputs[NN_CONV_FILTER].dims, *out = lower->outputs[0].dims;
    uint64_t n_taps = (uint64_t)filter[1] * filter[2], n_elements = (uint64_t)out[2] * out[3];

    return n_taps > UINT64_C(1) << 26 || n_elements * n_taps > UINT64_C(1) << 26;
}

/* nn_conv_needs_nhwc() - whether float data of this type and layout is staged. */
static inline bool nn_conv_needs_nhwc(uint32_t type, bool is_nchw)
{
    return is_nchw || type == NNHAL_TENSOR_FLOAT16;
}

#endif
