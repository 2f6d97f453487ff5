/* SPDX-License-Identifier: Apache-2.0 */
/* map-operands.c - operands that several mappings make */
#include "tflite/map.h"

#include <errno.h>

uint32_t tfl_activation(struct tfl_builder *b)
{
    int32_t activation = b->op->options.activation;

    if (activation < 0 || activation > ANEURALNETWORKS_FUSED_RELU6)
        tfl_fail(b, -ENOTSUP, "the fused activation %d is not one of NNAPI's", activation);
    return tfl_i32(b, activation);
}

int32_t tfl_operation_on(struct tfl_builder *b, const struct tfl_tensor *tensor, int32_t nnapi)
{
    enum { SIXTEEN = 1, RANK = 2, INTEGERS = 4 };
    static const struct {
        int32_t nnapi;
        uint16_t number, further;
    } same[] = {
        {ANEURALNETWORKS_DEQUANTIZE, NNHAL_TFLITE_DEQUANTIZE, SIXTEEN | RANK},
        {ANEURALNETWORKS_RESHAPE, NNHAL_TFLITE_RESHAPE, SIXTEEN | RANK | INTEGERS},
        {ANEURALNETWORKS_FULLY_CONNECTED, NNHAL_TFLITE_FULLY_CONNECTED, SIXTEEN},
        {ANEURALNETWORKS_ADD, NNHAL_TFLITE_ADD, SIXTEEN | RANK},
        {ANEURALNETWORKS_CONV_2D, NNHAL_TFLITE_CONV_2D, SIXTEEN},
        {ANEURALNETWORKS_DEPTHWISE_CONV_2D, NNHAL_TFLITE_DEPTHWISE_CONV_2D, SIXTEEN},
        {ANEURALNETWORKS_TRANSPOSE_CONV_2D, NNHAL_TFLITE_TRANSPOSE_CONV_2D, SIXTEEN},
        {ANEURALNETWORKS_SUB, NNHAL_TFLITE_SUB, SIXTEEN | RANK},
        {ANEURALNETWORKS_MUL, NNHAL_TFLITE_MUL, SIXTEEN | RANK},
        {ANEURALNETWORKS_DIV, NNHAL_TFLITE_DIV, RANK},
        {ANEURALNETWORKS_LOGISTIC, NNHAL_TFLITE_LOGISTIC, SIXTEEN | RANK},
        {ANEURALNETWORKS_TANH, NNHAL_TFLITE_TANH, SIXTEEN | RANK},
        {ANEURALNETWORKS_SOFTMAX, NNHAL_TFLITE_SOFTMAX, SIXTEEN},
        {ANEURALNETWORKS_PAD, NNHAL_TFLITE_PAD, SIXTEEN},
        {ANEURALNETWORKS_CONCATENATION, NNHAL_TFLITE_CONCATENATION, SIXTEEN},
        {ANEURALNETWORKS_SPLIT, NNHAL_TFLITE_SPLIT, SIXTEEN},
        {ANEURALNETWORKS_STRIDED_SLICE, NNHAL_TFLITE_STRIDED_SLICE, SIXTEEN},
        {ANEURALNETWORKS_TRANSPOSE, NNHAL_TFLITE_TRANSPOSE, SIXTEEN | RANK | INTEGERS},
    };
    uint16_t has = 0;

    if (tfl_is_sixteen(tensor))
        has |= SIXTEEN;
    if (tensor && tensor->n_dimensions > TFL_NNAPI_MAX_RANK)
        has |= RANK;
    if (tensor && (tensor->type == TFL_BOOL || tensor->type == TFL_INT64))
        has |= INTEGERS;
    if (tensor && tensor->type == TFL_INT32 && nnapi == ANEURALNETWORKS_TRANSPOSE)
        has |= INTEGERS;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        if (same[i].nnapi == nnapi && same[i].further & has)
            return tfl_extension_operation(b, same[i].number);
    return nnapi;
}

void tfl_multiply(struct tfl_builder *b, uint32_t *dimension, uint32_t by)
{
    if (__builtin_mul_overflow(*dimension, by, dimension))
        tfl_fail(b, -ENOTSUP, "too many elements for one dimension");
}

uint32_t tfl_shape(struct tfl_builder *b, const struct tfl_form *form)
{
    int32_t dimensions[TFL_MAX_RANK];

    for (uint32_t i = 0; i < form->n_dimensions; i++)
        dimensions[i] = (int32_t)form->dimensions[i];
    return tfl_i32s(b, dimensions, form->n_dimensions);
}

struct tfl_form tfl_float_form_of(struct tfl_builder *b, const struct tfl_tensor *tensor)
{
    struct tfl_form form = tfl_form_of(b, tensor);

    form.type = ANEURALNETWORKS_TENSOR_FLOAT32;
    form.scale = 0;
    form.zero_point = 0;
    return form;
}

uint32_t tfl_float_of(struct tfl_builder *b, uint32_t input)
{
    const struct tfl_tensor *tensor = tfl_in(b, input);
    struct tfl_form form;
    uint32_t plain, result;

    if (!tensor || tfl_is_float(tensor))
        return tfl_input(b, input);
    form = tfl_float_form_of(b, tensor);
    if (b->result)
        return TFL_NO_OPERAND;
    if (tensor->data) {
        size_t n = 0;
        const float *values = tfl_read_f32(b, tensor, &n);

        if (!values)
            tfl_fail(b, -ENOTSUP, "input %u cannot be read as float32", input);
        return values ? tfl_f32s(b, values, &form) : TFL_NO_OPERAND;
    }
    plain = tfl_input(b, input);
    result = tfl_temporary(b, &form);
    tfl_add1(b, tfl_operation_on(b, tensor, ANEURALNETWORKS_DEQUANTIZE), result, plain);
    return result;
}

uint32_t tfl_next_state(struct tfl_builder *b, uint32_t i)
{
    struct tfl_form form;
    uint32_t next;

    if (!tfl_in(b, i)) {
        tfl_fail(b, -ENOTSUP, "a state is missing");
        return TFL_NO_OPERAND;
    }
    form = tfl_form_of(b, tfl_in(b, i));
    next = tfl_temporary(b, &form);
    tfl_set_next_state(b, i, next);
    return next;
}
