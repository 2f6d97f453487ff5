/* SPDX-License-Identifier: Apache-2.0 */
/* map-layers.c - convolutions, pools, dense layers, softmax, normalization, detection */
#include "tflite/map.h"
#include "tflite/reader.h"

#include <errno.h>
#include <string.h>

/* The file counts from 0 what NNAPI counts from 1: SAME, VALID. */
static uint32_t padding_operand(struct tfl_builder *b)
{
    return tfl_i32(b, b->op->options.padding == 0 ? ANEURALNETWORKS_PADDING_SAME
                                                  : ANEURALNETWORKS_PADDING_VALID);
}

/* A bias of zeros for a layer whose file has none. Beside 16 bits it has 64, but for TRANSPOSE_CONV and
 * FULLY_CONNECTED, which TensorFlow Lite computes in 32 bits then. */
static uint32_t zero_bias(struct tfl_builder *b, const struct tfl_tensor *x, uint32_t n)
{
    const struct tfl_tensor *w = tfl_in(b, 1);
    struct tfl_form form = {.type = ANEURALNETWORKS_TENSOR_FLOAT32, .n_dimensions = 1};
    bool is_wide = tfl_is_sixteen(x) && b->op->code != TFL_TRANSPOSE_CONV &&
                   b->op->code != TFL_FULLY_CONNECTED;
    size_t n_bytes = (size_t)n * (is_wide ? sizeof(int64_t) : sizeof(int32_t));
    void *zeros = tfl_keep(b, n_bytes);

    form.dimensions[0] = n;
    if (is_wide) {
        form.type = tfl_extension_type(b, NNHAL_TFLITE_TENSOR_INT64);
    } else if (tfl_is_quantized(x)) {
        form.type = ANEURALNETWORKS_TENSOR_INT32;
        form.scale = x->scale * w->scale;
    }
    return zeros ? tfl_constant(b, &form, zeros, n_bytes) : TFL_NO_OPERAND;
}

/* The bias is input i of a layer on x. */
static uint32_t bias_operand(struct tfl_builder *b, uint32_t i, const struct tfl_tensor *x,
                             uint32_t n)
{
    if (!tfl_in(b, i))
        return zero_bias(b, x, n);
    return tfl_is_sixteen(x) ? tfl_wide(b, i) : tfl_input(b, i);
}

/* Filters of one channel, whose scale is said to be that channel's. */
static bool has_one_channel(const struct tfl_builder *b, const struct tfl_tensor *w)
{
    uint32_t channels = b->op->code == TFL_DEPTHWISE_CONV_2D ? 3 : 0;

    return w && w->data && w->type == TFL_INT8 && w->n_scales == 1 && w->n_dimensions == 4 &&
           w->quantized_dimension == channels && w->dimensions[channels] == 1;
}

/* TensorFlow Lite takes such weights as if their zero point was 0, but for FULLY_CONNECTED of 8 bits. */
static bool ignores_zero_point(const struct tfl_builder *b, const struct tfl_tensor *x)
{
    const struct tfl_tensor *w = tfl_in(b, 1);

    return w && w->type == TFL_INT8 && w->zero_point &&
           (b->op->code != TFL_FULLY_CONNECTED || tfl_is_float(x));
}

/* Filters of a layer on x: of float models some are stored as int8 or float16; beside 16 bits those
 * with one scale have no zero point. */
static uint32_t weights_operand(struct tfl_builder *b, const struct tfl_tensor *x)
{
    bool is_hybrid = tfl_is_float(x) && tfl_is_quantized(tfl_in(b, 1));

    if (is_hybrid && tfl_in(b, 1)->n_scales != 1)
        tfl_fail(b, -ENOTSUP, "float32 data with 8-bit weights that have a scale per channel");
    if (ignores_zero_point(b, x))
        tfl_fail(b, -ENOTSUP, "int8 weights with a zero point");
    if (tfl_is_sixteen(x) && tfl_in(b, 1)->n_scales == 1)
        return tfl_symmetric(b, 1);
    if (!is_hybrid && has_one_channel(b, tfl_in(b, 1)))
        return tfl_per_channel(b, 1);
    return is_hybrid ? tfl_float_of(b, 1) : tfl_input(b, 1);
}

static void map_conv(struct tfl_builder *b)
{
    const struct tfl_options *o = &b->op->options;
    const struct tfl_tensor *x = tfl_in(b, 0), *w = tfl_in(b, 1);
    bool is_dilated = o->dilation_w != 1 || o->dilation_h != 1;
    uint32_t inputs[10], n = 0, depth;

    tfl_need(b, x && w && x->n_dimensions == 4 && w->n_dimensions == 4, "rank is not 4");
    depth = w->dimensions[3];
    inputs[n++] = tfl_input(b, 0);
    inputs[n++] = weights_operand(b, x);
    inputs[n++] = bias_operand(b, 2, x, w->dimensions[0]);
    inputs[n++] = padding_operand(b);
    inputs[n++] = tfl_i32(b, o->stride_w);
    inputs[n++] = tfl_i32(b, o->stride_h);
    if (depth && x->dimensions[3] != depth) {
        tfl_need(b, !is_dilated && x->dimensions[3] % depth == 0, "groups with dilation");
        inputs[n++] = tfl_i32(b, (int32_t)(x->dimensions[3] / depth));
        inputs[n++] = tfl_activation(b);
        inputs[n++] = tfl_bool(b, false);
        tfl_add(b, ANEURALNETWORKS_GROUPED_CONV_2D, inputs, n, (const uint32_t[]){tfl_output(b, 0)},
                1);
        return;
    }
    inputs[n++] = tfl_activation(b);
    if (is_dilated) {
        inputs[n++] = tfl_bool(b, false);
        inputs[n++] = tfl_i32(b, o->dilation_w);
        inputs[n++] = tfl_i32(b, o->dilation_h);
    }
    tfl_add(b, tfl_operation_on(b, x, ANEURALNETWORKS_CONV_2D), inputs, n,
            (const uint32_t[]){tfl_output(b, 0)}, 1);
}

static void map_depthwise(struct tfl_builder *b)
{
    const struct tfl_options *o = &b->op->options;
    const struct tfl_tensor *x = tfl_in(b, 0), *w = tfl_in(b, 1);
    uint32_t inputs[11], n = 0;

    tfl_need(b, x && w && x->n_dimensions == 4 && w->n_dimensions == 4 && x->dimensions[3],
             "rank is not 4");
    inputs[n++] = tfl_input(b, 0);
    inputs[n++] = weights_operand(b, x);
    inputs[n++] = bias_operand(b, 2, x, w->dimensions[3]);
    inputs[n++] = padding_operand(b);
    inputs[n++] = tfl_i32(b, o->stride_w);
    inputs[n++] = tfl_i32(b, o->stride_h);
    inputs[n++] = tfl_i32(b, (int32_t)(w->dimensions[3] / x->dimensions[3]));
    inputs[n++] = tfl_activation(b);
    if (o->dilation_w != 1 || o->dilation_h != 1) {
        inputs[n++] = tfl_bool(b, false);
        inputs[n++] = tfl_i32(b, o->dilation_w);
        inputs[n++] = tfl_i32(b, o->dilation_h);
    }
    tfl_add(b, tfl_operation_on(b, x, ANEURALNETWORKS_DEPTHWISE_CONV_2D), inputs, n,
            (const uint32_t[]){tfl_output(b, 0)}, 1);
}

/* Inputs: output shape, filter, data, bias. */
static void map_transpose_conv(struct tfl_builder *b)
{
    const struct tfl_options *o = &b->op->options;
    const struct tfl_tensor *w = tfl_in(b, 1), *x = tfl_in(b, 2);

    tfl_need(b, w && x && w->n_dimensions == 4, "rank is not 4");
    tfl_add1(b, tfl_operation_on(b, x, ANEURALNETWORKS_TRANSPOSE_CONV_2D), tfl_output(b, 0),
             tfl_input(b, 2), weights_operand(b, x), bias_operand(b, 3, x, w->dimensions[0]),
             tfl_input(b, 0), padding_operand(b), tfl_i32(b, o->stride_w), tfl_i32(b, o->stride_h),
             tfl_activation(b), tfl_bool(b, false));
}

static int32_t pool_type(int32_t code)
{
    return code == TFL_AVERAGE_POOL_2D ? ANEURALNETWORKS_AVERAGE_POOL_2D
           : code == TFL_MAX_POOL_2D   ? ANEURALNETWORKS_MAX_POOL_2D
                                       : ANEURALNETWORKS_L2_POOL_2D;
}

static void add_pool(struct tfl_builder *b, uint32_t result, uint32_t activation)
{
    const struct tfl_options *o = &b->op->options;

    tfl_add1(b, pool_type(b->op->code), result, tfl_input(b, 0), padding_operand(b),
             tfl_i32(b, o->stride_w), tfl_i32(b, o->stride_h), tfl_i32(b, o->filter_w),
             tfl_i32(b, o->filter_h), activation);
}

/* Codes are pooled as they are, and clamped by what the output's scale makes of them. */
static void map_pool(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_out(b, 0);
    uint32_t activation = tfl_activation(b), pooled, relabelled;
    struct tfl_form form;

    if (!b->op->options.activation || !tfl_is_relabelled(x, y)) {
        add_pool(b, tfl_output(b, 0), activation);
        return;
    }
    form = tfl_form_of(b, y);
    relabelled = tfl_temporary(b, &form);
    form.scale = tfl_scale_of(x);
    form.zero_point = x->zero_point;
    pooled = tfl_temporary(b, &form);
    add_pool(b, pooled, tfl_i32(b, ANEURALNETWORKS_FUSED_NONE));
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_BITCAST), relabelled, pooled);
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_RELU), tfl_output(b, 0), relabelled,
             activation);
}

/* NNAPI's result has two dimensions; a file may keep all of the input's. */
static void map_fully_connected(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *w = tfl_in(b, 1), *y = tfl_out(b, 0);
    int32_t type = tfl_operation_on(b, x, ANEURALNETWORKS_FULLY_CONNECTED);
    uint32_t inputs[4], flat, shape, n_rows = 1;
    struct tfl_form form;

    tfl_need(b, w && y && w->n_dimensions == 2, "the weights' rank is not 2");
    tfl_need(b, !b->op->options.is_shuffled, "shuffled weights");
    tfl_need(b, w->n_scales <= 1, "weights with a scale per channel");
    inputs[0] = tfl_input(b, 0);
    inputs[1] = weights_operand(b, x);
    inputs[2] = bias_operand(b, 2, x, w->dimensions[0]);
    inputs[3] = tfl_activation(b);
    if (y->n_dimensions == 2) {
        tfl_add(b, type, inputs, 4, (const uint32_t[]){tfl_output(b, 0)}, 1);
        return;
    }
    form = tfl_form_of(b, y);
    shape = tfl_shape(b, &form);
    for (uint32_t i = 0; i + 1 < form.n_dimensions; i++)
        tfl_multiply(b, &n_rows, form.dimensions[i]);
    form.n_dimensions = 2;
    form.dimensions[0] = n_rows;
    form.dimensions[1] = w->dimensions[0];
    flat = tfl_temporary(b, &form);
    tfl_add(b, type, inputs, 4, &flat, 1);
    tfl_add1(b, tfl_operation_on(b, y, ANEURALNETWORKS_RESHAPE), tfl_output(b, 0), flat, shape);
}

static void map_batch_matmul(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_BATCH_MATMUL, tfl_output(b, 0), tfl_input(b, 0), tfl_input(b, 1),
             tfl_bool(b, b->op->options.adj_x), tfl_bool(b, b->op->options.adj_y));
}

static void map_softmax(struct tfl_builder *b)
{
    tfl_add1(b, tfl_operation_on(b, tfl_in(b, 0), ANEURALNETWORKS_SOFTMAX), tfl_output(b, 0),
             tfl_input(b, 0), tfl_f32(b, b->op->options.beta));
}

static void map_log_softmax(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_LOG_SOFTMAX, tfl_output(b, 0), tfl_input(b, 0), tfl_f32(b, 1.0f),
             tfl_i32(b, -1));
}

static void map_l2_normalization(struct tfl_builder *b)
{
    const struct tfl_tensor *y = tfl_out(b, 0);

    tfl_need(b, b->op->options.activation == 0, "a fused activation");
    tfl_need(b,
             !tfl_is_quantized(y) ||
                 (y->scale == 1.0f / 128 && y->zero_point == (y->type == TFL_INT8 ? 0 : 128)),
             "to the scale %g and zero point %d", (double)y->scale, y->zero_point);
    tfl_add1(b, ANEURALNETWORKS_L2_NORMALIZATION, tfl_output(b, 0), tfl_input(b, 0));
}

static void map_local_response(struct tfl_builder *b)
{
    const struct tfl_options *o = &b->op->options;

    tfl_add1(b, ANEURALNETWORKS_LOCAL_RESPONSE_NORMALIZATION, tfl_output(b, 0), tfl_input(b, 0),
             tfl_i32(b, o->radius), tfl_f32(b, o->bias), tfl_f32(b, o->alpha), tfl_f32(b, o->beta));
}

/* Boxes, classes, scores and number of detections, all float32 in the file;
 * NNAPI gives scores, boxes, classes and number, the latter two as int32. */
void tfl_map_detection(struct tfl_builder *b)
{
    const struct tfl_tensor *scores = tfl_in(b, 1);
    struct tfl_detection o;
    struct tfl_form form;
    uint32_t outputs[4], inputs[14], n = 0, n_found;

    tfl_need(b, b->op->n_inputs == 3 && b->op->n_outputs == 4 && scores, "not 3 inputs, 4 outputs");
    tfl_need(b, tfl_detection_parse(b->op->custom_options, b->op->n_custom_options, &o),
             "its options are damaged");
    inputs[n++] = tfl_float_of(b, 1);
    inputs[n++] = tfl_float_of(b, 0);
    inputs[n++] = tfl_float_of(b, 2);
    inputs[n++] = tfl_f32(b, o.y_scale);
    inputs[n++] = tfl_f32(b, o.x_scale);
    inputs[n++] = tfl_f32(b, o.h_scale);
    inputs[n++] = tfl_f32(b, o.w_scale);
    inputs[n++] = tfl_bool(b, o.use_regular_nms);
    inputs[n++] = tfl_i32(b, o.max_detections);
    inputs[n++] = tfl_i32(b, o.max_classes_per_detection);
    inputs[n++] = tfl_i32(b, o.detections_per_class);
    inputs[n++] = tfl_f32(b, o.score_threshold);
    inputs[n++] = tfl_f32(b, o.iou_threshold);
    inputs[n++] = tfl_bool(b, false);
    tfl_need(b,
             o.max_detections > 0 && o.max_classes_per_detection > 0 &&
                 (int64_t)o.max_detections * o.max_classes_per_detection <= 1 << 20,
             "%d detections of %d classes", o.max_detections, o.max_classes_per_detection);
    n_found = (uint32_t)o.max_detections;
    if (!o.use_regular_nms)
        n_found *= (uint32_t)o.max_classes_per_detection;
    tfl_set_output_shape(b, 0, 3, (const uint32_t[]){1, n_found, 4});
    tfl_set_output_shape(b, 1, 2, (const uint32_t[]){1, n_found});
    tfl_set_output_shape(b, 2, 2, (const uint32_t[]){1, n_found});
    tfl_set_output_shape(b, 3, 1, (const uint32_t[]){1});
    form = (struct tfl_form){
        .type = ANEURALNETWORKS_TENSOR_INT32, .n_dimensions = 2, .dimensions = {1, n_found}};
    outputs[0] = tfl_output(b, 2);
    outputs[1] = tfl_output(b, 0);
    outputs[2] = tfl_temporary(b, &form);
    form.n_dimensions = 1;
    outputs[3] = tfl_temporary(b, &form);
    tfl_add(b, ANEURALNETWORKS_DETECTION_POSTPROCESSING, inputs, n, outputs, 4);
    tfl_add1(b, ANEURALNETWORKS_CAST, tfl_output(b, 1), outputs[2]);
    tfl_add1(b, ANEURALNETWORKS_CAST, tfl_output(b, 3), outputs[3]);
}

const struct tfl_mapping tfl_map_layers[] = {
    {TFL_CONV_2D, map_conv},
    {TFL_DEPTHWISE_CONV_2D, map_depthwise},
    {TFL_TRANSPOSE_CONV, map_transpose_conv},
    {TFL_AVERAGE_POOL_2D, map_pool},
    {TFL_MAX_POOL_2D, map_pool},
    {TFL_L2_POOL_2D, map_pool},
    {TFL_FULLY_CONNECTED, map_fully_connected},
    {TFL_BATCH_MATMUL, map_batch_matmul},
    {TFL_SOFTMAX, map_softmax},
    {TFL_LOG_SOFTMAX, map_log_softmax},
    {TFL_L2_NORMALIZATION, map_l2_normalization},
    {TFL_LOCAL_RESPONSE_NORMALIZATION, map_local_response},
    {0, NULL},
};
