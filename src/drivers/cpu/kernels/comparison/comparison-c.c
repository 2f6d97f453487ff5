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

/* What an operation makes of the three relations; of a NaN none holds. */
NN_INLINE uint8_t compare(uint32_t op, bool is_less, bool is_equal, bool is_greater)
{
    switch (op) {
    case NNHAL_OP_EQUAL:
        return is_equal;
    case NNHAL_OP_NOT_EQUAL:
        return !is_equal;
    case NNHAL_OP_GREATER:
        return is_greater;
    case NNHAL_OP_GREATER_EQUAL:
        return is_greater | is_equal;
    case NNHAL_OP_LESS:
        return is_less;
    default:
        return is_less | is_equal;
    }
}

#define DEFINE_LOOP(suffix, type)                                                                  \
    NN_INLINE void loop_##suffix(uint32_t op, const struct nn_pair *pair, size_t step_a,           \
                                 size_t step_b)                                                    \
    {                                                                                              \
        const type *a = pair->a, *b = pair->b;                                                     \
        uint8_t *out = pair->out;                                                                  \
        size_t n = pair->n;                                                                        \
                                                                                                   \
        NN_IVDEP                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            type x = a[i * step_a], y = b[i * step_b];                                             \
                                                                                                   \
            out[i] = compare(op, x<y, x == y, x> y);                                               \
        }                                                                                          \
    }
DEFINE_LOOP(real, float)
DEFINE_LOOP(i32, int32_t)

NN_INLINE void row_real(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct nn_tensor *in = args->inputs;
    struct nn_pair pair = {.step0 = row->step0, .step1 = row->step1};
    float buffer_a[NN_CHUNK];
    float buffer_b[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        pair.n = nn_min_size(NN_CHUNK, row->n - i);
        pair.a = load_floats(&in[0], row->in0 + i * row->step0, row->step0 ? pair.n : 1, buffer_a);
        pair.b = load_floats(&in[1], row->in1 + i * row->step1, row->step1 ? pair.n : 1, buffer_b);
        pair.out = (uint8_t *)args->outputs[0].data + row->out + i;
        NN_ROW_STEPS(loop_real, op, &pair);
    }
}

NN_INLINE void row_i32(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    struct nn_pair pair = {.a = (const int32_t *)args->inputs[0].data + row->in0,
                           .b = (const int32_t *)args->inputs[1].data + row->in1,
                           .out = (uint8_t *)args->outputs[0].data + row->out,
                           .n = row->n,
                           .step0 = row->step0,
                           .step1 = row->step1};

    NN_ROW_STEPS(loop_i32, op, &pair);
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
