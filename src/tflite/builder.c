/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/builder.h"

#include <nnhal/ext.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tfl_fail(struct tfl_builder *b, int result, const char *format, ...)
{
    char reason[256];
    va_list args;

    if (b->result)
        return;
    b->result = result;
    if (!b->message_size)
        return;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    if (b->op)
        snprintf(b->message, b->message_size, "operation %u (%s): %s", b->op->number, b->op->name,
                 reason);
    else
        snprintf(b->message, b->message_size, "%s", reason);
}

void *tfl_keep(struct tfl_builder *b, size_t n_bytes)
{
    void **blocks = reallocarray(b->blocks, b->n_blocks + 1, sizeof(*blocks));
    void *block;

    if (!blocks)
        goto out_of_memory;
    b->blocks = blocks;
    block = calloc(1, n_bytes ? n_bytes : 1);
    if (!block)
        goto out_of_memory;
    b->blocks[b->n_blocks++] = block;
    return block;

out_of_memory:
    tfl_fail(b, -ENOMEM, "out of memory");
    return NULL;
}

void tfl_done(struct tfl_builder *b)
{
    for (size_t i = 0; i < b->n_blocks; i++)
        free(b->blocks[i]);
    free(b->blocks);
    free(b->operands);
    free(b->states);
    free(b->origins);
    ANeuralNetworksMemory_free(b->constants);
    ANeuralNetworksModel_free(b->model);
    b->blocks = NULL;
    b->n_blocks = 0;
    b->operands = NULL;
    b->states = NULL;
    b->origins = NULL;
    b->constants = NULL;
    b->model = NULL;
}

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

const struct tfl_tensor *tfl_in(const struct tfl_builder *b, uint32_t i)
{
    if (i >= b->op->n_inputs || b->op->inputs[i] < 0)
        return NULL;
    return &b->graph->tensors[b->op->inputs[i]];
}

const struct tfl_tensor *tfl_out(const struct tfl_builder *b, uint32_t i)
{
    if (i >= b->op->n_outputs || b->op->outputs[i] < 0)
        return NULL;
    return &b->graph->tensors[b->op->outputs[i]];
}

void tfl_set_output_shape(struct tfl_builder *b, uint32_t i, uint32_t n_dimensions,
                          const uint32_t *dimensions)
{
    struct tfl_tensor *tensor;

    if (!tfl_out(b, i))
        return;
    tensor = &b->graph->tensors[b->op->outputs[i]];
    tensor->n_dimensions = n_dimensions;
    memcpy(tensor->dimensions, dimensions, n_dimensions * sizeof(*dimensions));
}

bool tfl_is_float(const struct tfl_tensor *tensor)
{
    return tensor && (tensor->type == TFL_FLOAT32 || tensor->type == TFL_FLOAT16);
}

bool tfl_is_quantized(const struct tfl_tensor *tensor)
{
    return tensor &&
           (tensor->type == TFL_UINT8 || tensor->type == TFL_INT8 || tensor->type == TFL_INT16) &&
           tensor->n_scales;
}

/* Whether a tensor's weights have a scale for each channel. */
static bool is_per_channel(const struct tfl_tensor *tensor)
{
    return tensor->n_scales > 1 ||
           (tensor->n_scales == 1 && tensor->data && tensor->type == TFL_INT8 &&
            tensor->n_dimensions == 4 && tensor->zero_point == 0 &&
            tensor->dimensions[tensor->quantized_dimension] == 1);
}

/* The scale of a quantized tensor; a tensor without one counts in steps of 1. */
static float scale_of(const struct tfl_tensor *tensor)
{
    return tensor->scale > 0 ? tensor->scale : 1.0f;
}

struct tfl_form tfl_form_of(struct tfl_builder *b, const struct tfl_tensor *tensor)
{
    struct tfl_form form = {.n_dimensions = tensor->n_dimensions};

    memcpy(form.dimensions, tensor->dimensions, sizeof(form.dimensions));
    if (!form.n_dimensions) {
        form.n_dimensions = 1; /* NNAPI has no tensor of rank 0 */
        form.dimensions[0] = 1;
    }
    switch (tensor->type) {
    case TFL_FLOAT32:
        form.type = ANEURALNETWORKS_TENSOR_FLOAT32;
        break;
    case TFL_FLOAT16:
        form.type = tensor->data ? ANEURALNETWORKS_TENSOR_FLOAT32 : ANEURALNETWORKS_TENSOR_FLOAT16;
        break;
    case TFL_INT64:
    case TFL_INT32:
        form.type = ANEURALNETWORKS_TENSOR_INT32;
        form.scale = tensor->scale;
        if (tensor->type == TFL_INT64 && !tensor->data)
            tfl_fail(b, -ENOTSUP, "tensor %s has 64-bit integers, which NNAPI does not have",
                     tensor->name);
        break;
    case TFL_BOOL:
        form.type = ANEURALNETWORKS_TENSOR_BOOL8;
        break;
    case TFL_UINT8:
        form.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
        form.scale = scale_of(tensor);
        form.zero_point = tensor->zero_point;
        break;
    case TFL_INT8:
        if (is_per_channel(tensor)) {
            form.type = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
            break;
        }
        form.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
        form.scale = scale_of(tensor);
        form.zero_point = tensor->zero_point;
        break;
    case TFL_INT16:
        form.type = ANEURALNETWORKS_TENSOR_QUANT16_SYMM;
        form.scale = scale_of(tensor);
        break;
    default:
        tfl_fail(b, -ENOTSUP, "tensor %s has the type %d, which NNAPI does not have", tensor->name,
                 tensor->type);
        break;
    }
    if (tensor->is_sparse)
        tfl_fail(b, -ENOTSUP, "tensor %s is stored as a sparse tensor", tensor->name);
    return form;
}

/* float16 by bits to float32. */
static float f16_to_f32(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
    union {
        uint32_t bits;
        float value;
    } result;

    if (exponent == 31) {
        result.bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent) {
        result.bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        result.value = (float)fraction * 0x1p-24f;
        result.bits |= sign;
    }
    return result.value;
}

const float *tfl_read_f32(struct tfl_builder *b, const struct tfl_tensor *tensor, size_t *ret_n)
{
    size_t element = tensor->type == TFL_FLOAT32 ? 4 : tensor->type == TFL_FLOAT16 ? 2 : 1;
    size_t n = tensor->n_bytes / element;
    float *values = tensor->data ? tfl_keep(b, n * sizeof(*values)) : NULL;

    if (!values)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        uint16_t half;

        switch (tensor->type) {
        case TFL_FLOAT32:
            memcpy(&values[i], tensor->data + i * 4, 4);
            break;
        case TFL_FLOAT16:
            memcpy(&half, tensor->data + i * 2, 2);
            values[i] = f16_to_f32(half);
            break;
        case TFL_UINT8:
            values[i] = scale_of(tensor) * (float)(tensor->data[i] - tensor->zero_point);
            break;
        case TFL_INT8:
            values[i] = scale_of(tensor) * (float)((int8_t)tensor->data[i] - tensor->zero_point);
            break;
        default:
            return NULL;
        }
    }
    *ret_n = n;
    return values;
}

bool tfl_read_i32(const struct tfl_builder *b, uint32_t i, int32_t *values, uint32_t max,
                  uint32_t *ret_n)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);
    size_t element, n;

    if (!tensor || !tensor->data || (tensor->type != TFL_INT32 && tensor->type != TFL_INT64))
        return false;
    element = tensor->type == TFL_INT32 ? 4 : 8;
    n = tensor->n_bytes / element;
    if (n > max)
        return false;
    for (size_t k = 0; k < n; k++) {
        int64_t wide;

        if (element == 4) {
            memcpy(&values[k], tensor->data + k * 4, 4);
            continue;
        }
        memcpy(&wide, tensor->data + k * 8, 8);
        if (wide < INT32_MIN)
            wide = INT32_MIN;
        values[k] = (int32_t)(wide > INT32_MAX ? INT32_MAX : wide);
    }
    *ret_n = (uint32_t)n;
    return true;
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
    size_t n_bytes = form->type == ANEURALNETWORKS_TENSOR_FLOAT32 ? 4
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

uint32_t tfl_symmetric(struct tfl_builder *b, uint32_t i)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);
    struct tfl_form form;
    uint32_t index;

    if (!tensor || !tensor->data || tensor->type != TFL_INT8 || tensor->zero_point) {
        tfl_fail(b, -ENOTSUP, "input %u is not a constant of int8 and zero point 0", i);
        return TFL_NO_OPERAND;
    }
    form = tfl_form_of(b, tensor);
    form.type = ANEURALNETWORKS_TENSOR_QUANT8_SYMM;
    form.scale = scale_of(tensor);
    form.zero_point = 0;
    index = add_operand(b, &form);
    if (index != TFL_NO_OPERAND)
        set_value(b, index, tensor);
    return index;
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
