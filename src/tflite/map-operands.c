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
    if (tensor->data) {
        size_t n = 0;
        const float *values = tfl_read_f32(b, tensor, &n);

        if (!values)
            tfl_fail(b, -ENOTSUP, "input %u cannot be read as float32", input);
        return values ? tfl_f32s(b, values, &form) : TFL_NO_OPERAND;
    }
    plain = tfl_input(b, input);
    result = tfl_temporary(b, &form);
    tfl_add1(b, ANEURALNETWORKS_DEQUANTIZE, result, plain);
    return result;
}
