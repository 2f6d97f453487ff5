/* SPDX-License-Identifier: Apache-2.0 */
/* operand.c - operands and operations, as they are added to the model */
#include "tflite/builder.h"

#include <nnhal/ext.h>
#include <nnhal/tflite-extension.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The library refused something: what it was and why it may be. */
static void builder_check(struct tfl_builder *b, int code, const char *what)
{
    if (code == ANEURALNETWORKS_OUT_OF_MEMORY)
        tfl_fail(b, -ENOMEM, "out of memory");
    else if (code != ANEURALNETWORKS_NO_ERROR) {
        char reason[160] = "";

        nnhal_model_get_error(b->model, reason, sizeof(reason));
        tfl_fail(b, -ENOTSUP, "the runtime refuses %s: %s", what, reason);
    }
}

static uint32_t add_operand(struct tfl_builder *b, const struct tfl_form *form)
{
    const ANeuralNetworksOperandType type = {
        .type = form->type,
        .dimensionCount = form->n_dimensions,
        .dimensions = form->n_dimensions ? form->dimensions : NULL,
        .scale = form->scale,
        .zeroPoint = form->zero_point,
    };

    if (b->result)
        return TFL_NO_OPERAND;
    builder_check(b, ANeuralNetworksModel_addOperand(b->model, &type), "an operand");
    return b->result ? TFL_NO_OPERAND : b->n_operands++;
}

/* Gives operand index the constant's value: from the file where the bytes there
 * are the operand's, else a converted copy. */
static void set_value(struct tfl_builder *b, uint32_t index, const struct tfl_tensor *tensor)
{
    const void *value = tensor->data;
    size_t n_bytes = tensor->n_bytes;

    if (tensor->type == TFL_FLOAT16) {
        size_t n = 0;

        value = tfl_read_f32(b, tensor, &n);
        n_bytes = n * sizeof(float);
    } else if (tensor->type == TFL_INT64) {
        int32_t *narrow = tfl_keep(b, n_bytes / 2);
        uint32_t n = (uint32_t)(n_bytes / 8);

        for (uint32_t i = 0; narrow && i < n; i++) {
            int64_t wide;

            memcpy(&wide, tensor->data + 8 * (size_t)i, 8);
            if (wide < INT32_MIN || wide > INT32_MAX)
                tfl_fail(b, -ENOTSUP, "tensor %s has a value of more than 32 bits", tensor->name);
            narrow[i] = (int32_t)wide;
        }
        value = narrow;
        n_bytes /= 2;
    } else if (n_bytes > ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES &&
               tensor->file_offset != TFL_NO_OFFSET) {
        builder_check(b,
                      ANeuralNetworksModel_setOperandValueFromMemory(
                          b->model, (int32_t)index, b->constants, tensor->file_offset, n_bytes),
                      "a constant of the file");
        return;
    }
    if (value)
        builder_check(
            b, ANeuralNetworksModel_setOperandValue(b->model, (int32_t)index, value, n_bytes),
            "a constant");
}

static void set_channels(struct tfl_builder *b, uint32_t index, const struct tfl_tensor *tensor)
{
    const ANeuralNetworksSymmPerChannelQuantParams channels = {
        .channelDim = tensor->quantized_dimension,
        .scaleCount = tensor->n_scales,
        .scales = tensor->scales,
    };

    builder_check(b,
                  ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(b->model, (int32_t)index,
                                                                           &channels),
                  "the scales of a constant");
}

/* A state starts as zero: the real zero of its type. */
static void set_zero(struct tfl_builder *b, uint32_t index, const struct tfl_form *form)
{
    size_t n_bytes = form->type > UINT16_MAX                        ? sizeof(int64_t)
                     : form->type == ANEURALNETWORKS_TENSOR_FLOAT32 ? 4
                     : form->type == ANEURALNETWORKS_TENSOR_QUANT16_SYMM ||
                             form->type == ANEURALNETWORKS_TENSOR_FLOAT16
                         ? 2
                         : 1;
    void *zeros;

    for (uint32_t i = 0; i < form->n_dimensions; i++)
        if (__builtin_mul_overflow(n_bytes, (size_t)form->dimensions[i], &n_bytes))
            n_bytes = SIZE_MAX;
    if (n_bytes > TFL_MAX_STATE_BYTES - b->n_state_bytes) {
        tfl_fail(b, -ENOTSUP, "states of more than %d MiB", TFL_MAX_STATE_BYTES >> 20);
        return;
    }
    b->n_state_bytes += n_bytes;
    zeros = tfl_keep(b, n_bytes);
    if (!zeros)
        return;
    if (form->zero_point)
        memset(zeros, form->zero_point & 255, n_bytes);
    builder_check(b, ANeuralNetworksModel_setOperandValue(b->model, (int32_t)index, zeros, n_bytes),
                  "a state");
}

static void add_state(struct tfl_builder *b, int32_t number, uint32_t index)
{
    struct tfl_state *states = reallocarray(b->states, b->n_states + 1, sizeof(*states));

    if (!states) {
        tfl_fail(b, -ENOMEM, "out of memory");
        return;
    }
    states[b->n_states] = (struct tfl_state){number, index, TFL_NO_OPERAND};
    b->states = states;
    b->n_states++;
}

void tfl_set_next_state(struct tfl_builder *b, uint32_t i, uint32_t operand)
{
    for (uint32_t k = 0; tfl_in(b, i) && k < b->n_states; k++)
        if (b->states[k].tensor == b->op->inputs[i])
            b->states[k].to = operand;
}

uint32_t tfl_operand(struct tfl_builder *b, int32_t number)
{
    const struct tfl_tensor *tensor = &b->graph->tensors[number];
    struct tfl_form form;
    uint32_t index;

    if (b->result)
        return TFL_NO_OPERAND;
    if (b->operands[number] != TFL_NO_OPERAND)
        return b->operands[number];
    form = tfl_form_of(b, tensor);
    index = add_operand(b, &form);
    if (index == TFL_NO_OPERAND)
        return index;
    if (form.type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL)
        set_channels(b, index, tensor);
    if (tensor->data)
        set_value(b, index, tensor);
    else if (tensor->is_variable && b->keeps_states)
        add_state(b, number, index);
    else if (tensor->is_variable)
        set_zero(b, index, &form);
    b->operands[number] = index;
    return index;
}

uint32_t tfl_input(struct tfl_builder *b, uint32_t i)
{
    if (!tfl_in(b, i)) {
        tfl_fail(b, -ENOTSUP, "input %u is missing", i);
        return TFL_NO_OPERAND;
    }
    return tfl_operand(b, b->op->inputs[i]);
}

uint32_t tfl_input_or_omitted(struct tfl_builder *b, uint32_t i, int32_t type)
{
    return tfl_in(b, i) ? tfl_operand(b, b->op->inputs[i]) : tfl_omitted(b, type);
}

uint32_t tfl_output(struct tfl_builder *b, uint32_t i)
{
    if (!tfl_out(b, i)) {
        tfl_fail(b, -ENOTSUP, "output %u is missing", i);
        return TFL_NO_OPERAND;
    }
    return tfl_operand(b, b->op->outputs[i]);
}

/* Input i, a constant of int8 and zero point 0, with one scale or, of this type, one for each channel. */
static uint32_t signed_constant(struct tfl_builder *b, uint32_t i, int32_t type)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);
    bool has_channels = type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
    struct tfl_form form;
    uint32_t index;

    if (!tensor || !tensor->data || tensor->type != TFL_INT8 || tensor->zero_point) {
        tfl_fail(b, -ENOTSUP, "input %u is not a constant of int8 and zero point 0", i);
        return TFL_NO_OPERAND;
    }
    form = tfl_form_of(b, tensor);
    form.type = type;
    form.scale = has_channels ? 0 : tfl_scale_of(tensor);
    form.zero_point = 0;
    index = add_operand(b, &form);
    if (index == TFL_NO_OPERAND)
        return index;
    if (has_channels)
        set_channels(b, index, tensor);
    set_value(b, index, tensor);
    return index;
}

uint32_t tfl_symmetric(struct tfl_builder *b, uint32_t i)
{
    return signed_constant(b, i, ANEURALNETWORKS_TENSOR_QUANT8_SYMM);
}

uint32_t tfl_per_channel(struct tfl_builder *b, uint32_t i)
{
    return signed_constant(b, i, ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL);
}

uint32_t tfl_wide(struct tfl_builder *b, uint32_t i)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);
    struct tfl_form form;

    if (!tensor || !tensor->data || tensor->type != TFL_INT64)
        return tfl_input(b, i);
    form = tfl_form_of(b, tensor);
    form.type = tfl_extension_type(b, NNHAL_TFLITE_TENSOR_INT64);
    form.scale = 0;
    return tfl_constant(b, &form, tensor->data, tensor->n_bytes);
}

uint32_t tfl_constant(struct tfl_builder *b, const struct tfl_form *form, const void *value,
                      size_t n_bytes)
{
    uint32_t index = add_operand(b, form);
    void *copy;

    if (index == TFL_NO_OPERAND)
        return index;
    copy = tfl_keep(b, n_bytes);
    if (!copy)
        return TFL_NO_OPERAND;
    memcpy(copy, value, n_bytes);
    builder_check(b, ANeuralNetworksModel_setOperandValue(b->model, (int32_t)index, copy, n_bytes),
                  "a constant");
    return b->result ? TFL_NO_OPERAND : index;
}

uint32_t tfl_i32(struct tfl_builder *b, int32_t value)
{
    return tfl_constant(b, &(struct tfl_form){.type = ANEURALNETWORKS_INT32}, &value,
                        sizeof(value));
}

uint32_t tfl_f32(struct tfl_builder *b, float value)
{
    return tfl_constant(b, &(struct tfl_form){.type = ANEURALNETWORKS_FLOAT32}, &value,
                        sizeof(value));
}

uint32_t tfl_bool(struct tfl_builder *b, bool value)
{
    uint8_t byte = value;

    return tfl_constant(b, &(struct tfl_form){.type = ANEURALNETWORKS_BOOL}, &byte, sizeof(byte));
}

uint32_t tfl_i32s(struct tfl_builder *b, const int32_t *values, uint32_t n)
{
    const struct tfl_form form = {
        .type = ANEURALNETWORKS_TENSOR_INT32, .n_dimensions = 1, .dimensions = {n}};

    return tfl_constant(b, &form, values, n * sizeof(*values));
}

uint32_t tfl_f32s(struct tfl_builder *b, const float *values, const struct tfl_form *form)
{
    size_t n = 1;

    for (uint32_t i = 0; i < form->n_dimensions; i++)
        n *= form->dimensions[i];
    return tfl_constant(b, form, values, n * sizeof(*values));
}

uint32_t tfl_temporary(struct tfl_builder *b, const struct tfl_form *form)
{
    return add_operand(b, form);
}

uint32_t tfl_omitted(struct tfl_builder *b, int32_t type)
{
    struct tfl_form form = {.type = type};
    uint32_t index;

    if (type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ||
        type == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED ||
        type == ANEURALNETWORKS_TENSOR_QUANT8_SYMM || type == ANEURALNETWORKS_TENSOR_QUANT16_SYMM)
        form.scale = 1;
    index = add_operand(b, &form);
    if (index != TFL_NO_OPERAND)
        builder_check(b, ANeuralNetworksModel_setOperandValue(b->model, (int32_t)index, NULL, 0),
                      "an omitted operand");
    return index;
}

void tfl_add(struct tfl_builder *b, int32_t type, const uint32_t *inputs, uint32_t n_inputs,
             const uint32_t *outputs, uint32_t n_outputs)
{
    uint32_t *origins;

    if (b->result)
        return;
    origins = reallocarray(b->origins, b->n_operations + 1, sizeof(*origins));
    if (!origins) {
        tfl_fail(b, -ENOMEM, "out of memory");
        return;
    }
    b->origins = origins;
    origins[b->n_operations++] = (uint32_t)(b->op - b->graph->operators);
    builder_check(
        b, ANeuralNetworksModel_addOperation(b->model, type, n_inputs, inputs, n_outputs, outputs),
        "an operation of this form");
}
