/* SPDX-License-Identifier: Apache-2.0 */
/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, plain C: booleans of
 * two broadcast operands.
 *
 * Quantized operands are compared by their real values, exact differences
 * times the scale in float32, never requantized. Everything but int32 fits a
 * float32 exactly, so there are two loops. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

/* n elements as floats: in place for float32, else in buffer. */
static const float *load_floats(const struct nn_tensor *tensor, size_t at, size_t n,
                                float buffer[NN_CHUNK])
{
    const uint8_t *bytes = (const uint8_t *)tensor->data;
    uint32_t flip = nn_quant_flip(tensor->type);

    if (tensor->type == NNHAL_TENSOR_FLOAT32)
        return (const float *)tensor->data + at;
    if (tensor->type == NNHAL_TENSOR_FLOAT16) {
        nn_f16_widen(buffer, (const uint16_t *)tensor->data + at, n);
    } else if (tensor->type == NNHAL_TENSOR_BOOL8) {
        for (size_t i = 0; i < n; i++)
            buffer[i] = bytes[at + i];
    } else {
        for (size_t i = 0; i < n; i++)
            buffer[i] = nn_quant_real(nn_quant_code(bytes[at + i], flip), tensor->zero_point,
                                      tensor->scale);
    }
    return buffer;
}

NN_INLINE uint8_t compare_f32(uint32_t op, float a, float b)
{
    switch (op) {
    case NNHAL_OP_EQUAL:
        return a == b;
    case NNHAL_OP_NOT_EQUAL:
        return a != b;
    case NNHAL_OP_GREATER:
        return a > b;
    case NNHAL_OP_GREATER_EQUAL:
        return a >= b;
    case NNHAL_OP_LESS:
        return a < b;
    default:
        return a <= b;
    }
}

NN_INLINE uint8_t compare_i32(uint32_t op, int32_t a, int32_t b)
{
    switch (op) {
    case NNHAL_OP_EQUAL:
        return a == b;
    case NNHAL_OP_NOT_EQUAL:
        return a != b;
    case NNHAL_OP_GREATER:
        return a > b;
    case NNHAL_OP_GREATER_EQUAL:
        return a >= b;
    case NNHAL_OP_LESS:
        return a < b;
    default:
        return a <= b;
    }
}

NN_INLINE void loop_real(uint32_t op, const float *a, size_t step_a, const float *b, size_t step_b,
                         uint8_t *out, size_t n)
{
    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = compare_f32(op, a[i * step_a], b[i * step_b]);
}

NN_INLINE void row_real(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct nn_tensor *in = args->inputs;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    float buffer_a[NN_CHUNK];
    float buffer_b[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, row->n - i);
        const float *a = load_floats(&in[0], row->in0 + i * row->step0, row->step0 ? n : 1,
                                     buffer_a);
        const float *b = load_floats(&in[1], row->in1 + i * row->step1, row->step1 ? n : 1,
                                     buffer_b);

        if (row->step0 && row->step1)
            loop_real(op, a, 1, b, 1, out + i, n);
        else if (row->step0)
            loop_real(op, a, 1, b, 0, out + i, n);
        else
            loop_real(op, a, 0, b, 1, out + i, n);
    }
}

NN_INLINE void loop_i32(uint32_t op, const int32_t *a, size_t step_a, const int32_t *b,
                        size_t step_b, uint8_t *out, size_t n)
{
    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = compare_i32(op, a[i * step_a], b[i * step_b]);
}

NN_INLINE void row_i32(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    const int32_t *a = (const int32_t *)args->inputs[0].data + row->in0;
    const int32_t *b = (const int32_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;

    if (row->step0 && row->step1)
        loop_i32(op, a, 1, b, 1, out, row->n);
    else if (row->step0)
        loop_i32(op, a, 1, b, 0, out, row->n);
    else
        loop_i32(op, a, 0, b, 1, out, row->n);
}

#define OPERATIONS(X)                                                                              \
    X(equal, EQUAL)                                                                                \
    X(not_equal, NOT_EQUAL)                                                                        \
    X(greater, GREATER)                                                                            \
    X(greater_equal, GREATER_EQUAL)                                                                \
    X(less, LESS)                                                                                  \
    X(less_equal, LESS_EQUAL)

#define DEFINE(op_name, op)                                                                        \
    static void NN_VARIANT_SYMBOL(op_name##_row_real)(const struct nn_kernel_args *args,           \
                                                      const struct nn_row *row)                    \
    {                                                                                              \
        row_real(NNHAL_OP_##op, args, row);                                                        \
    }                                                                                              \
    static void NN_VARIANT_SYMBOL(op_name##_row_i32)(const struct nn_kernel_args *args,            \
                                                     const struct nn_row *row)                     \
    {                                                                                              \
        row_i32(NNHAL_OP_##op, args, row);                                                         \
    }
OPERATIONS(DEFINE)

#define ROWS(op_name, op)                                                                          \
    {NN_VARIANT_ROW(#op_name "_i32", op), .in0 = NN_T_I32, .walk = nn_broadcast_run,               \
     .row = NN_VARIANT_SYMBOL(op_name##_row_i32), .element_cost = 16},                             \
        {NN_VARIANT_ROW(#op_name "_real", op),                                                     \
         .in0 = NN_T_F32 | NN_T_F16 | NN_T_U8 | NN_T_S8 | NN_T_B8, .walk = nn_broadcast_run,       \
         .row = NN_VARIANT_SYMBOL(op_name##_row_real), .element_cost = 32},

static const struct nn_kernel kernels[] = {OPERATIONS(ROWS)};

NN_VARIANT_FAMILY(comparison, kernels);
