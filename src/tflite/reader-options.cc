/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/reader-options.h"

namespace fb = nnhal::tflite;

namespace
{

template <typename Options> void read_window(const Options *from, struct tfl_options *to)
{
    to->padding = from->padding();
    to->stride_w = from->stride_w();
    to->stride_h = from->stride_h();
    to->activation = from->fused_activation_function();
}

template <typename Options> void read_lstm(const Options *from, struct tfl_options *to)
{
    to->activation = from->fused_activation_function();
    to->cell_clip = from->cell_clip();
    to->proj_clip = from->proj_clip();
}

void read_strided_slice(const fb::StridedSliceOptions *from, struct tfl_options *to)
{
    to->begin_mask = from->begin_mask();
    to->end_mask = from->end_mask();
    to->ellipsis_mask = from->ellipsis_mask();
    to->new_axis_mask = from->new_axis_mask();
    to->shrink_axis_mask = from->shrink_axis_mask();
    to->has_offset = from->offset();
}

void read_convolution(const fb::Operator *op, struct tfl_options *to)
{
    if (auto conv = op->builtin_options_as_Conv2DOptions()) {
        read_window(conv, to);
        to->dilation_w = conv->dilation_w_factor();
        to->dilation_h = conv->dilation_h_factor();
    } else if (auto depthwise = op->builtin_options_as_DepthwiseConv2DOptions()) {
        read_window(depthwise, to);
        to->dilation_w = depthwise->dilation_w_factor();
        to->dilation_h = depthwise->dilation_h_factor();
    } else if (auto transposed = op->builtin_options_as_TransposeConvOptions()) {
        read_window(transposed, to);
    } else if (auto pool = op->builtin_options_as_Pool2DOptions()) {
        read_window(pool, to);
        to->filter_w = pool->filter_width();
        to->filter_h = pool->filter_height();
    } else if (auto dense = op->builtin_options_as_FullyConnectedOptions()) {
        to->activation = dense->fused_activation_function();
        to->keep_dims = dense->keep_num_dims();
        to->is_shuffled = dense->weights_format() != 0;
    } else if (auto matmul = op->builtin_options_as_BatchMatMulOptions()) {
        to->adj_x = matmul->adj_x();
        to->adj_y = matmul->adj_y();
    }
}

void read_recurrent(const fb::Operator *op, struct tfl_options *to)
{
    if (auto svdf = op->builtin_options_as_SVDFOptions()) {
        to->rank = svdf->rank();
        to->activation = svdf->fused_activation_function();
    } else if (auto rnn = op->builtin_options_as_RNNOptions()) {
        to->activation = rnn->fused_activation_function();
    } else if (auto sequence = op->builtin_options_as_SequenceRNNOptions()) {
        to->activation = sequence->fused_activation_function();
        to->time_major = sequence->time_major();
    } else if (auto both = op->builtin_options_as_BidirectionalSequenceRNNOptions()) {
        to->activation = both->fused_activation_function();
        to->time_major = both->time_major();
        to->merge_outputs = both->merge_outputs();
    } else if (auto lstm = op->builtin_options_as_LSTMOptions()) {
        read_lstm(lstm, to);
        to->kernel_type = lstm->kernel_type();
    } else if (auto unidirectional = op->builtin_options_as_UnidirectionalSequenceLSTMOptions()) {
        read_lstm(unidirectional, to);
        to->time_major = unidirectional->time_major();
    } else if (auto bidirectional = op->builtin_options_as_BidirectionalSequenceLSTMOptions()) {
        read_lstm(bidirectional, to);
        to->time_major = bidirectional->time_major();
        to->merge_outputs = bidirectional->merge_outputs();
    }
}

void read_elementwise(const fb::Operator *op, struct tfl_options *to)
{
    if (auto add = op->builtin_options_as_AddOptions()) {
        to->activation = add->fused_activation_function();
        to->may_shift = add->pot_scale_int16();
    } else if (auto sub = op->builtin_options_as_SubOptions()) {
        to->activation = sub->fused_activation_function();
        to->may_shift = sub->pot_scale_int16();
    } else if (auto mul = op->builtin_options_as_MulOptions())
        to->activation = mul->fused_activation_function();
    else if (auto div = op->builtin_options_as_DivOptions())
        to->activation = div->fused_activation_function();
    else if (auto l2 = op->builtin_options_as_L2NormOptions())
        to->activation = l2->fused_activation_function();
    else if (auto softmax = op->builtin_options_as_SoftmaxOptions())
        to->beta = softmax->beta();
    else if (auto leaky = op->builtin_options_as_LeakyReluOptions())
        to->alpha = leaky->alpha();
    else if (auto lrn = op->builtin_options_as_LocalResponseNormalizationOptions()) {
        to->radius = lrn->radius();
        to->bias = lrn->bias();
        to->alpha = lrn->alpha();
        to->beta = lrn->beta();
    } else if (auto lsh = op->builtin_options_as_LSHProjectionOptions())
        to->mode = lsh->type();
    else if (auto reducer = op->builtin_options_as_ReducerOptions())
        to->keep_dims = reducer->keep_dims();
}

void read_shape_options(const fb::Operator *op, struct tfl_options *to)
{
    if (auto concatenation = op->builtin_options_as_ConcatenationOptions()) {
        to->axis = concatenation->axis();
        to->activation = concatenation->fused_activation_function();
    } else if (auto bilinear = op->builtin_options_as_ResizeBilinearOptions()) {
        to->align_corners = bilinear->align_corners();
        to->half_pixel_centers = bilinear->half_pixel_centers();
    } else if (auto nearest = op->builtin_options_as_ResizeNearestNeighborOptions()) {
        to->align_corners = nearest->align_corners();
        to->half_pixel_centers = nearest->half_pixel_centers();
    } else if (auto to_depth = op->builtin_options_as_SpaceToDepthOptions())
        to->block_size = to_depth->block_size();
    else if (auto to_space = op->builtin_options_as_DepthToSpaceOptions())
        to->block_size = to_space->block_size();
    else if (auto gather = op->builtin_options_as_GatherOptions()) {
        to->axis = gather->axis();
        to->batch_dims = gather->batch_dims();
    } else if (auto pack = op->builtin_options_as_PackOptions())
        to->axis = pack->axis();
    else if (auto unpack = op->builtin_options_as_UnpackOptions())
        to->axis = unpack->axis();
    else if (auto slice = op->builtin_options_as_StridedSliceOptions())
        read_strided_slice(slice, to);
    else if (auto mirror = op->builtin_options_as_MirrorPadOptions())
        to->mode = mirror->mode();
}

} // namespace

void tfl_options_read(const fb::Operator *from, struct tfl_options *to)
{
    to->dilation_w = to->dilation_h = 1;
    read_convolution(from, to);
    read_recurrent(from, to);
    read_elementwise(from, to);
    read_shape_options(from, to);
    if (auto composite = from->builtin_options_2_as_StableHLOCompositeOptions())
        to->decomposition = composite->decomposition_subgraph_index();
}
