/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/conv/conv.h"

#include "drivers/cpu/kernels/common/window.h"

int nn_conv_read(struct nn_lower *lower, struct nn_conv_shape *ret)
{
    struct nn_window_2d window;
    int r = nn_lower_window(lower, &window);

    if (r)
        return r;
    *ret = (struct nn_conv_shape){
        .pad_top = window.height.head,
        .pad_left = window.width.head,
        .stride_h = window.height.stride,
        .stride_w = window.width.stride,
        .dilation_h = window.height.dilation,
        .dilation_w = window.width.dilation,
        .activation = nn_lower_window_activation(lower),
        .depth_multiplier = lower->operation == NNHAL_OP_DEPTHWISE_CONV_2D ? window.groups : 0,
        .is_nchw = window.is_nchw};
    return 0;
}

void nn_conv_multipliers(const struct nn_lower *lower, struct nn_multiplier *multipliers,
                         size_t n_channels)
{
    const struct nn_lower_operand *filter = &lower->inputs[NN_CONV_FILTER];
    float in = lower->inputs[NN_CONV_INPUT].scale, out = lower->outputs[0].scale;
    bool is_double = lower->as_int8 ||
                     lower->inputs[NN_CONV_INPUT].type != NNHAL_TENSOR_QUANT8_ASYMM;
    struct nn_pace pace = nn_pace(lower->stop);

    for (size_t c = 0; c < n_channels && !nn_pace_ends(&pace, 40); c++) {
        float scale = c < filter->n_channel_scales ? filter->channel_scales[c] : filter->scale;

        multipliers[c] = is_double ? nn_multiplier_make((double)in * (double)scale / (double)out)
                                   : nn_multiplier_of_scales(in, scale, out);
    }
}

void nn_conv_inside(const struct nn_conv_shape *shape, size_t filter_w, size_t in_w, size_t out_w,
                    size_t *first, size_t *end)
{
    int64_t reach = (int64_t)(filter_w - 1) * shape->dilation_w - shape->pad_left;
    int64_t begin = ((int64_t)shape->pad_left + shape->stride_w - 1) / shape->stride_w;
    int64_t last = (int64_t)in_w - 1 - reach;
    int64_t stop = last < 0 ? 0 : last / shape->stride_w + 1;
    int64_t width = (int64_t)out_w;

    begin = begin < 0 ? 0 : begin > width ? width : begin;
    stop = stop > width ? width : stop;
    *first = (size_t)begin;
    *end = (size_t)(stop < begin ? begin : stop);
}
