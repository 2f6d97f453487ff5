/* SPDX-License-Identifier: Apache-2.0 */
/* map-elementwise.c - operations on each element: arithmetic, comparison, activations */
#include "tflite/map.h"

#include <errno.h>
#include <math.h>

static const struct {
    int32_t code, nnapi;
} same_form[] = {
    {TFL_FLOOR, ANEURALNETWORKS_FLOOR},
    {TFL_LOGISTIC, ANEURALNETWORKS_LOGISTIC},
    {TFL_RELU, ANEURALNETWORKS_RELU},
    {TFL_RELU_N1_TO_1, ANEURALNETWORKS_RELU1},
    {TFL_RELU6, ANEURALNETWORKS_RELU6},
    {TFL_TANH, ANEURALNETWORKS_TANH},
    {TFL_EXP, ANEURALNETWORKS_EXP},
    {TFL_MAXIMUM, ANEURALNETWORKS_MAXIMUM},
    {TFL_MINIMUM, ANEURALNETWORKS_MINIMUM},
    {TFL_LESS, ANEURALNETWORKS_LESS},
    {TFL_LESS_EQUAL, ANEURALNETWORKS_LESS_EQUAL},
    {TFL_GREATER, ANEURALNETWORKS_GREATER},
    {TFL_GREATER_EQUAL, ANEURALNETWORKS_GREATER_EQUAL},
    {TFL_EQUAL, ANEURALNETWORKS_EQUAL},
    {TFL_NOT_EQUAL, ANEURALNETWORKS_NOT_EQUAL},
    {TFL_NEG, ANEURALNETWORKS_NEG},
    {TFL_SIN, ANEURALNETWORKS_SIN},
    {TFL_LOG, ANEURALNETWORKS_LOG},
    {TFL_SQRT, ANEURALNETWORKS_SQRT},
    {TFL_RSQRT, ANEURALNETWORKS_RSQRT},
    {TFL_POW, ANEURALNETWORKS_POW},
    {TFL_ABS, ANEURALNETWORKS_ABS},
    {TFL_LOGICAL_OR, ANEURALNETWORKS_LOGICAL_OR},
    {TFL_LOGICAL_AND, ANEURALNETWORKS_LOGICAL_AND},
    {TFL_LOGICAL_NOT, ANEURALNETWORKS_LOGICAL_NOT},
    {TFL_HARD_SWISH, ANEURALNETWORKS_HARD_SWISH},
    {TFL_SELECT, ANEURALNETWORKS_SELECT},
    {TFL_SELECT_V2, ANEURALNETWORKS_SELECT},
    {TFL_CAST, ANEURALNETWORKS_CAST},
    {TFL_PRELU, ANEURALNETWORKS_PRELU},
};

/* Whether NNAPI limits the rank, and nnhal.tflite has nothing beyond it. */
static bool is_too_high(const struct tfl_builder *b)
{
    switch (b->op->code) {
    case TFL_FLOOR:
    case TFL_RELU:
    case TFL_RELU_N1_TO_1:
    case TFL_RELU6:
        return tfl_in(b, 0) && tfl_in(b, 0)->n_dimensions > TFL_NNAPI_MAX_RANK;
    default:
        return false;
    }
}

/* The form of a tensor's elements in one row. */
static struct tfl_form row_form_of(struct tfl_builder *b, const struct tfl_tensor *tensor)
{
    struct tfl_form form = tfl_form_of(b, tensor);

    for (uint32_t i = 1; i < form.n_dimensions; i++)
        tfl_multiply(b, &form.dimensions[0], form.dimensions[i]);
    form.n_dimensions = 1;
    return form;
}

/* A function of one operand, whose elements are computed in one row. */
static void map_in_row(struct tfl_builder *b, int32_t nnapi)
{
    int32_t reshape = tfl_extension_operation(b, NNHAL_TFLITE_RESHAPE);
    struct tfl_form from, to, whole;
    uint32_t row, result;

    tfl_need(b, tfl_out(b, 0), "no output");
    from = row_form_of(b, tfl_in(b, 0));
    to = row_form_of(b, tfl_out(b, 0));
    whole = tfl_form_of(b, tfl_out(b, 0));
    row = tfl_temporary(b, &from);
    result = tfl_temporary(b, &to);
    tfl_add1(b, reshape, row, tfl_input(b, 0), tfl_shape(b, &from));
    tfl_add1(b, nnapi, result, row);
    tfl_add1(b, reshape, tfl_output(b, 0), result, tfl_shape(b, &whole));
}

static int32_t same_operation(int32_t code)
{
    for (size_t i = 0; i < sizeof(same_form) / sizeof(same_form[0]); i++)
        if (same_form[i].code == code)
            return same_form[i].nnapi;
    return -1;
}

/* Operations whose inputs NNAPI takes as they are, one to three of them. */
static void map_same(struct tfl_builder *b)
{
    int32_t nnapi = same_operation(b->op->code);
    uint32_t inputs[3];

    tfl_need(b, b->op->n_inputs >= 1 && b->op->n_inputs <= 3, "%u inputs", b->op->n_inputs);
    if (is_too_high(b)) {
        map_in_row(b, nnapi);
        return;
    }
    for (uint32_t i = 0; i < b->op->n_inputs; i++)
        inputs[i] = tfl_input(b, i);
    tfl_add(b, tfl_operation_on(b, tfl_in(b, 0), nnapi), inputs, b->op->n_inputs,
            (const uint32_t[]){tfl_output(b, 0)}, 1);
}

static bool has_eight_bits(const struct tfl_tensor *tensor)
{
    return tfl_is_quantized(tensor) && !tfl_is_sixteen(tensor);
}

/* Input 1 with the scale and zero point of input 0, and its own codes. */
static uint32_t relabelled_input(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_in(b, 1);
    struct tfl_form form = tfl_form_of(b, y);
    uint32_t relabelled;

    form.scale = tfl_scale_of(x);
    form.zero_point = x->zero_point;
    if (y->data)
        return tfl_constant(b, &form, y->data, y->n_bytes);
    relabelled = tfl_temporary(b, &form);
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_BITCAST), relabelled, tfl_input(b, 1));
    return relabelled;
}

/* Of 8 bits TensorFlow Lite compares codes, not what they stand for. */
static void map_extreme(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_in(b, 1);
    int32_t type = b->op->code == TFL_MAXIMUM ? ANEURALNETWORKS_MAXIMUM : ANEURALNETWORKS_MINIMUM;

    if (has_eight_bits(x) && tfl_is_relabelled(y, x))
        tfl_add1(b, type, tfl_output(b, 0), tfl_input(b, 0), relabelled_input(b));
    else
        map_same(b);
}

/* NNAPI's result has the input's scale and zero point. */
static void map_relu(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_out(b, 0);
    int32_t code = b->op->code == TFL_RELU    ? ANEURALNETWORKS_FUSED_RELU
                   : b->op->code == TFL_RELU6 ? ANEURALNETWORKS_FUSED_RELU6
                                              : ANEURALNETWORKS_FUSED_RELU1;

    tfl_need(b, x && y, "no input or output");
    if (has_eight_bits(x) && tfl_is_relabelled(x, y))
        tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_RELU), tfl_output(b, 0),
                 tfl_input(b, 0), tfl_i32(b, code));
    else
        map_same(b);
}

/* Of 8 bits NNAPI has one scale and zero point; of 16 the device judges. */
static void map_curve(struct tfl_builder *b)
{
    const struct tfl_tensor *y = tfl_out(b, 0);
    bool is_tanh = b->op->code == TFL_TANH;
    float scale = is_tanh ? 1.0f / 128 : 1.0f / 256;
    int32_t zero_point = (is_tanh ? 128 : 0) - (y && y->type == TFL_INT8 ? 128 : 0);

    tfl_need(b, !has_eight_bits(y) || (y->scale == scale && y->zero_point == zero_point),
             "to the scale %g and zero point %d", (double)y->scale, y->zero_point);
    map_same(b);
}

/* A scale that TensorFlow Lite takes for a power of two, within a thousandth of its logarithm. */
static bool is_power_of_two(const struct tfl_tensor *tensor)
{
    int exponent;
    float mantissa = frexpf(tfl_scale_of(tensor), &exponent);

    return mantissa < 0.50035f || mantissa > 0.9993f;
}

/* Then the sum is computed by shifts, another operation. */
static bool is_shifted(const struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_in(b, 1), *sum = tfl_out(b, 0);

    return b->op->options.may_shift && tfl_is_sixteen(x) && y && sum && is_power_of_two(x) &&
           is_power_of_two(y) && is_power_of_two(sum);
}

/* TensorFlow Lite has no sums and products of such codes: it takes them for codes of the scale 0. */
static bool has_channels(const struct tfl_tensor *tensor)
{
    return tensor && tensor->n_scales > 1;
}

/* A product of 8 bits with a scale that NNAPI's MUL may not have. */
static bool is_fine_product(const struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_in(b, 1), *product = tfl_out(b, 0);

    return b->op->code == TFL_MUL && has_eight_bits(x) && has_eight_bits(y) &&
           has_eight_bits(product) && !(tfl_scale_of(product) > tfl_scale_of(x) * tfl_scale_of(y));
}

static void map_arithmetic(struct tfl_builder *b)
{
    static const struct {
        int32_t code, nnapi;
    } codes[] = {
        {TFL_ADD, ANEURALNETWORKS_ADD},
        {TFL_SUB, ANEURALNETWORKS_SUB},
        {TFL_MUL, ANEURALNETWORKS_MUL},
        {TFL_DIV, ANEURALNETWORKS_DIV},
    };
    uint32_t x = tfl_input(b, 0), y = tfl_input(b, 1);

    /* TensorFlow Lite rounds towards 0, and fails where the divisor is 0. */
    tfl_need(b, b->op->code != TFL_DIV || !tfl_in(b, 0) || tfl_in(b, 0)->type != TFL_INT32,
             "of integers, whose quotients NNAPI rounds down");
    tfl_need(b, !is_shifted(b), "16 bits with scales that are powers of two");
    tfl_need(b, !has_channels(tfl_in(b, 0)) && !has_channels(tfl_in(b, 1)),
             "of codes with a scale for each channel");
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].code == b->op->code)
            tfl_add1(b,
                     is_fine_product(b) ? tfl_extension_operation(b, NNHAL_TFLITE_MUL)
                                        : tfl_operation_on(b, tfl_out(b, 0), codes[i].nnapi),
                     tfl_output(b, 0), x, y, tfl_activation(b));
}

static void map_square(struct tfl_builder *b)
{
    uint32_t x = tfl_input(b, 0);

    tfl_add1(b, tfl_operation_on(b, tfl_in(b, 0), ANEURALNETWORKS_MUL), tfl_output(b, 0), x, x,
             tfl_i32(b, 0));
}

/* Squares x - y, which has form. */
static void square_difference(struct tfl_builder *b, uint32_t x, uint32_t y,
                              const struct tfl_form *form, uint32_t result)
{
    uint32_t difference = tfl_temporary(b, form), none = tfl_i32(b, ANEURALNETWORKS_FUSED_NONE);

    tfl_add1(b, tfl_operation_on(b, tfl_out(b, 0), ANEURALNETWORKS_SUB), difference, x, y, none);
    tfl_add1(b, tfl_operation_on(b, tfl_out(b, 0), ANEURALNETWORKS_MUL), result, difference,
             difference, none);
}

/* Of quantized tensors by real numbers: no codes are known that a difference has. */
static void map_squared_difference(struct tfl_builder *b)
{
    const struct tfl_tensor *y = tfl_out(b, 0);
    struct tfl_form form;
    uint32_t square;

    tfl_need(b, y, "no output");
    if (!tfl_is_quantized(y)) {
        form = tfl_form_of(b, y);
        square_difference(b, tfl_input(b, 0), tfl_input(b, 1), &form, tfl_output(b, 0));
        return;
    }
    form = tfl_float_form_of(b, y);
    square = tfl_temporary(b, &form);
    square_difference(b, tfl_float_of(b, 0), tfl_float_of(b, 1), &form, square);
    tfl_add1(b, ANEURALNETWORKS_QUANTIZE, tfl_output(b, 0), square);
}

static void map_elu(struct tfl_builder *b)
{
    tfl_add1(b, ANEURALNETWORKS_ELU, tfl_output(b, 0), tfl_input(b, 0), tfl_f32(b, 1.0f));
}

/* The slope as a tensor: for quantized types the value 1 in steps of the slope. */
static void map_leaky_relu(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0);
    struct tfl_form form;
    float slope = b->op->options.alpha;
    uint8_t one = 1;
    uint32_t alpha;

    tfl_need(b, x, "no input");
    if (tfl_is_sixteen(x)) {
        tfl_need(b, slope >= 0, "16 bits with a slope below 0");
        tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_LEAKY_RELU), tfl_output(b, 0),
                 tfl_input(b, 0), tfl_f32(b, slope));
        return;
    }
    form = tfl_form_of(b, x);
    form.n_dimensions = 1;
    form.dimensions[0] = 1;
    form.zero_point = 0;
    if (form.type == ANEURALNETWORKS_TENSOR_FLOAT32) {
        alpha = tfl_f32s(b, &slope, &form);
    } else {
        tfl_need(b, tfl_is_quantized(x) && slope > 0,
                 "only float32 and 8-bit types with a slope above 0");
        form.scale = slope;
        alpha = tfl_constant(b, &form, &one, 1);
    }
    tfl_add1(b, ANEURALNETWORKS_PRELU, tfl_output(b, 0), tfl_input(b, 0), alpha);
}

/* A constant is dequantized when the model is built. */
static void map_dequantize(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_out(b, 0);

    tfl_need(b, x && y, "no input or output");
    if (tfl_is_folded(b->graph, b->op)) {
        uint32_t value = tfl_float_of(b, 0);

        if (b->operands[b->op->outputs[0]] == TFL_NO_OPERAND)
            b->operands[b->op->outputs[0]] = value;
        return;
    }
    tfl_need(b, x->type != TFL_FLOAT16, "float16 values can be widened only if they are constant");
    tfl_add1(b, tfl_operation_on(b, x, ANEURALNETWORKS_DEQUANTIZE), tfl_output(b, 0),
             tfl_input(b, 0));
}

static void map_quantize(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_out(b, 0);

    tfl_need(b, x && y, "no input or output");
    if (y->type == TFL_INT16 || (tfl_is_sixteen(x) && y->type == TFL_INT8)) {
        tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_QUANTIZE), tfl_output(b, 0),
                 tfl_input(b, 0));
        return;
    }
    tfl_need(b, y->type == TFL_UINT8 || y->type == TFL_INT8, "only to 8 and 16 bits");
    tfl_add1(b, ANEURALNETWORKS_QUANTIZE, tfl_output(b, 0), tfl_float_of(b, 0));
}

const struct tfl_mapping tfl_map_elementwise[] = {
    {TFL_ADD, map_arithmetic},
    {TFL_SUB, map_arithmetic},
    {TFL_MUL, map_arithmetic},
    {TFL_DIV, map_arithmetic},
    {TFL_SQUARE, map_square},
    {TFL_SQUARED_DIFFERENCE, map_squared_difference},
    {TFL_ELU, map_elu},
    {TFL_LEAKY_RELU, map_leaky_relu},
    {TFL_DEQUANTIZE, map_dequantize},
    {TFL_QUANTIZE, map_quantize},
    {TFL_FLOOR, map_same},
    {TFL_LOGISTIC, map_curve},
    {TFL_RELU, map_relu},
    {TFL_RELU_N1_TO_1, map_relu},
    {TFL_RELU6, map_relu},
    {TFL_TANH, map_curve},
    {TFL_EXP, map_same},
    {TFL_MAXIMUM, map_extreme},
    {TFL_MINIMUM, map_extreme},
    {TFL_LESS, map_same},
    {TFL_LESS_EQUAL, map_same},
    {TFL_GREATER, map_same},
    {TFL_GREATER_EQUAL, map_same},
    {TFL_EQUAL, map_same},
    {TFL_NOT_EQUAL, map_same},
    {TFL_NEG, map_same},
    {TFL_SIN, map_same},
    {TFL_LOG, map_same},
    {TFL_SQRT, map_same},
    {TFL_RSQRT, map_same},
    {TFL_POW, map_same},
    {TFL_ABS, map_same},
    {TFL_LOGICAL_OR, map_same},
    {TFL_LOGICAL_AND, map_same},
    {TFL_LOGICAL_NOT, map_same},
    {TFL_HARD_SWISH, map_same},
    {TFL_SELECT, map_same},
    {TFL_SELECT_V2, map_same},
    {TFL_CAST, map_same},
    {TFL_PRELU, map_same},
    {0, NULL},
};
