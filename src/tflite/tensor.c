/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - what a tensor of the graph is to a mapping: its form, and the values of constants */
#include "tflite/builder.h"

#include <nnhal/tflite-extension.h>

#include <errno.h>
#include <string.h>

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

bool tfl_is_sixteen(const struct tfl_tensor *tensor)
{
    return tfl_is_quantized(tensor) && tensor->type == TFL_INT16;
}

float tfl_scale_of(const struct tfl_tensor *tensor)
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
        form.type = tensor->data ? ANEURALNETWORKS_TENSOR_INT32
                                 : tfl_extension_type(b, NNHAL_TFLITE_TENSOR_INT64);
        form.scale = tensor->data ? tensor->scale : 0;
        break;
    case TFL_INT32:
        form.type = ANEURALNETWORKS_TENSOR_INT32;
        form.scale = tensor->scale;
        break;
    case TFL_COMPLEX64: /* pairs of floats, in the last dimension */
        form.type = ANEURALNETWORKS_TENSOR_FLOAT32;
        if (tensor->data || __builtin_mul_overflow(form.dimensions[form.n_dimensions - 1], 2,
                                                   &form.dimensions[form.n_dimensions - 1]))
            tfl_fail(b, -ENOTSUP, "tensor %s has complex constants, or too many complex numbers",
                     tensor->name);
        break;
    case TFL_BOOL:
        form.type = ANEURALNETWORKS_TENSOR_BOOL8;
        break;
    case TFL_UINT8:
        form.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM;
        form.scale = tfl_scale_of(tensor);
        form.zero_point = tensor->zero_point;
        break;
    case TFL_INT8:
        if (tensor->n_scales > 1) {
            form.type = ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL;
            break;
        }
        form.type = ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED;
        form.scale = tfl_scale_of(tensor);
        form.zero_point = tensor->zero_point;
        break;
    case TFL_INT16:
        form.type = ANEURALNETWORKS_TENSOR_QUANT16_SYMM;
        form.scale = tfl_scale_of(tensor);
        if (tensor->zero_point)
            tfl_fail(b, -ENOTSUP, "tensor %s has 16 bits and the zero point %d", tensor->name,
                     tensor->zero_point);
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

/* The scale of element i. As there is one, no dimension is 0, and the product divides the elements that
 * were counted when the tensor was read. */
static float scale_at(const struct tfl_tensor *tensor, size_t i)
{
    size_t n_inside = 1; /* elements of a part that has one scale, in a row */

    if (tensor->n_scales <= 1)
        return tfl_scale_of(tensor);
    for (uint32_t d = tensor->quantized_dimension + 1; d < tensor->n_dimensions; d++)
        n_inside *= tensor->dimensions[d];
    return tensor->scales[i / n_inside % tensor->n_scales];
}

const float *tfl_read_f32(struct tfl_builder *b, const struct tfl_tensor *tensor, size_t *ret_n)
{
    size_t element = tensor->type == TFL_FLOAT32                                ? 4
                     : tensor->type == TFL_FLOAT16 || tensor->type == TFL_INT16 ? 2
                                                                                : 1;
    size_t n = tensor->n_bytes / element;
    bool is_read = tensor->data && !tensor->is_sparse &&
                   (tensor->n_scales <= 1 || tensor->zero_point == 0);
    float *values = is_read ? tfl_keep(b, n * sizeof(*values)) : NULL;

    if (!values)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        int16_t code;

        switch (tensor->type) {
        case TFL_FLOAT32:
            memcpy(&values[i], tensor->data + i * 4, 4);
            break;
        case TFL_FLOAT16:
            memcpy(&half, tensor->data + i * 2, 2);
            values[i] = f16_to_f32(half);
            break;
        case TFL_INT16:
            memcpy(&code, tensor->data + i * 2, 2);
            values[i] = scale_at(tensor, i) * (float)code;
            break;
        case TFL_UINT8:
            values[i] = scale_at(tensor, i) * (float)(tensor->data[i] - tensor->zero_point);
            break;
        case TFL_INT8:
            values[i] = scale_at(tensor, i) * (float)((int8_t)tensor->data[i] - tensor->zero_point);
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
