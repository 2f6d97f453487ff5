/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-params.c - options of operators from the params that an interpreter has
 *
 * Where they count otherwise than the file, they are brought to the file's numbers (graph.h). A
 * member is read only for operations of the version that brought it. */
#include "tflite/delegate-graph.h"
#include "tflite/map.h"

/* The params count paddings and modes from 1, with 0 for unknown. */
static int32_t from_one(int32_t value)
{
    return value - 1;
}

static void read_window(struct tfl_options *to, int32_t padding, int32_t stride_w, int32_t stride_h,
                        int32_t activation)
{
    to->padding = from_one(padding);
    to->stride_w = stride_w;
    to->stride_h = stride_h;
    to->activation = activation;
}

/* Converters write version 1 for dilated convolutions of floats, too. */
static void read_conv(struct tfl_options *to, const struct lite_conv *from)
{
    read_window(to, from->padding, from->stride_w, from->stride_h, from->activation);
    to->dilation_w = from->dilation_w ? from->dilation_w : 1;
    to->dilation_h = from->dilation_h ? from->dilation_h : 1;
}

static void read_depthwise(struct tfl_options *to, const struct lite_depthwise *from, int version)
{
    read_window(to, from->padding, from->stride_w, from->stride_h, from->activation);
    if (version >= 2) {
        to->dilation_w = from->dilation_w;
        to->dilation_h = from->dilation_h;
    }
}

static void read_transpose_conv(struct tfl_options *to, const struct lite_transpose_conv *from,
                                int version)
{
    read_window(to, from->padding, from->stride_w, from->stride_h,
                version >= 4 ? from->activation : 0);
}

static void read_pool(struct tfl_options *to, const struct lite_pool *from)
{
    read_window(to, from->padding, from->stride_w, from->stride_h, from->activation);
    to->filter_w = from->filter_w;
    to->filter_h = from->filter_h;
}

static void read_fully_connected(struct tfl_options *to, const struct lite_fully_connected *from,
                                 int version)
{
    to->activation = from->activation;
    to->is_shuffled = version >= 2 && from->weights_format != 0;
}

static void read_batch_matmul(struct tfl_options *to, const struct lite_batch_matmul *from)
{
    to->adj_x = from->adj_x;
    to->adj_y = from->adj_y;
}

static void read_svdf(struct tfl_options *to, const struct lite_svdf *from)
{
    to->rank = from->rank;
    to->activation = from->activation;
}

static void read_sequence_rnn(struct tfl_options *to, const struct lite_sequence_rnn *from)
{
    to->time_major = from->time_major;
    to->activation = from->activation;
}

static void read_lstm(struct tfl_options *to, const struct lite_lstm *from, int version)
{
    to->activation = from->activation;
    to->cell_clip = from->cell_clip;
    to->proj_clip = from->proj_clip;
    to->kernel_type = version >= 2 ? from->kernel_type : 0;
}

static void read_sequence_lstm(struct tfl_options *to, const struct lite_sequence_lstm *from)
{
    to->activation = from->activation;
    to->cell_clip = from->cell_clip;
    to->proj_clip = from->proj_clip;
    to->time_major = from->time_major;
}

static void read_bidirectional(struct tfl_options *to, const struct lite_bidirectional_lstm *from,
                               int version)
{
    to->activation = from->activation;
    to->cell_clip = from->cell_clip;
    to->proj_clip = from->proj_clip;
    to->merge_outputs = from->merge_outputs;
    to->time_major = version < 2 || from->time_major;
}

static void read_local_response(struct tfl_options *to, const struct lite_local_response *from)
{
    to->radius = from->radius;
    to->bias = from->bias;
    to->alpha = from->alpha;
    to->beta = from->beta;
}

static void read_concatenation(struct tfl_options *to, const struct lite_concatenation *from)
{
    to->axis = from->axis;
    to->activation = from->activation;
}

static void read_resize(struct tfl_options *to, const struct lite_resize *from)
{
    to->align_corners = from->align_corners;
    to->half_pixel_centers = from->half_pixel_centers;
}

static void read_gather(struct tfl_options *to, const struct lite_gather *from)
{
    to->axis = from->axis;
    to->batch_dims = from->batch_dims;
}

static void read_strided_slice(struct tfl_options *to, const struct lite_strided_slice *from,
                               int version)
{
    to->begin_mask = from->begin_mask;
    to->end_mask = from->end_mask;
    to->ellipsis_mask = from->ellipsis_mask;
    to->new_axis_mask = from->new_axis_mask;
    to->shrink_axis_mask = from->shrink_axis_mask;
    to->has_offset = version >= 8 && from->offset;
}

/* brought: the version that says whether it shifts; older ones may. */
static void read_sum(struct tfl_options *to, const struct lite_sum *from, int version, int brought)
{
    to->activation = from->activation;
    to->may_shift = version < brought || from->pot_scale_int16;
}

/* Params of one number. Operations that have none, or none that a mapping reads, are not here. */
static void read_number(struct tfl_options *to, int32_t code, const union lite_number *from)
{
    switch (code) {
    case TFL_MUL:
    case TFL_DIV:
    case TFL_L2_NORMALIZATION:
    case TFL_RNN:
        to->activation = from->integer;
        break;
    case TFL_SOFTMAX:
        to->beta = from->real;
        break;
    case TFL_LEAKY_RELU:
        to->alpha = from->real;
        break;
    case TFL_SPACE_TO_DEPTH:
    case TFL_DEPTH_TO_SPACE:
        to->block_size = from->integer;
        break;
    case TFL_LSH_PROJECTION:
        to->mode = from->integer;
        break;
    case TFL_MIRROR_PAD:
        to->mode = from_one(from->integer);
        break;
    case TFL_MEAN:
    case TFL_SUM:
    case TFL_REDUCE_PROD:
    case TFL_REDUCE_MAX:
    case TFL_REDUCE_MIN:
    case TFL_REDUCE_ANY:
    case TFL_REDUCE_ALL:
        to->keep_dims = from->flag;
        break;
    default:
        break;
    }
}

void tfl_params_read(struct tfl_operator *op, const void *params, int version)
{
    struct tfl_options *to = &op->options;

    to->dilation_w = to->dilation_h = 1;
    if (!params)
        return;
    switch (op->code) {
    case TFL_CONV_2D:
        read_conv(to, params);
        break;
    case TFL_DEPTHWISE_CONV_2D:
        read_depthwise(to, params, version);
        break;
    case TFL_TRANSPOSE_CONV:
        read_transpose_conv(to, params, version);
        break;
    case TFL_AVERAGE_POOL_2D:
    case TFL_MAX_POOL_2D:
    case TFL_L2_POOL_2D:
        read_pool(to, params);
        break;
    case TFL_FULLY_CONNECTED:
        read_fully_connected(to, params, version);
        break;
    case TFL_BATCH_MATMUL:
        read_batch_matmul(to, params);
        break;
    case TFL_SVDF:
        read_svdf(to, params);
        break;
    case TFL_UNIDIRECTIONAL_SEQUENCE_RNN:
        read_sequence_rnn(to, params);
        break;
    case TFL_LSTM:
        read_lstm(to, params, version);
        break;
    case TFL_UNIDIRECTIONAL_SEQUENCE_LSTM:
        read_sequence_lstm(to, params);
        break;
    case TFL_BIDIRECTIONAL_SEQUENCE_LSTM:
        read_bidirectional(to, params, version);
        break;
    case TFL_LOCAL_RESPONSE_NORMALIZATION:
        read_local_response(to, params);
        break;
    case TFL_CONCATENATION:
        read_concatenation(to, params);
        break;
    case TFL_RESIZE_BILINEAR:
    case TFL_RESIZE_NEAREST_NEIGHBOR:
        read_resize(to, params);
        break;
    case TFL_GATHER:
        read_gather(to, params);
        break;
    case TFL_PACK:
    case TFL_UNPACK:
        to->axis = ((const struct lite_pack *)params)->axis;
        break;
    case TFL_ADD:
        read_sum(to, params, version, 3);
        break;
    case TFL_SUB:
        read_sum(to, params, version, 5);
        break;
    case TFL_STRIDED_SLICE:
        read_strided_slice(to, params, version);
        break;
    default:
        read_number(to, op->code, params);
        break;
    }
}
