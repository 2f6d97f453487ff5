/* SPDX-License-Identifier: Apache-2.0 */
/* ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT, plain C. A float16 is widened,
 * computed as float32, rounded once; int32 wraps; an 8-bit RSQRT is a table. */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/lut.h"
#include "drivers/cpu/kernels/common/math-f32.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

#include <math.h>

/* op is a constant where this is inlined. */
NN_INLINE float apply_unary(uint32_t op, float x)
{
    switch (op) {
    case NNHAL_OP_ABS:
        return fabsf(x);
    case NNHAL_OP_EXP:
        return nn_exp_f32(x);
    case NNHAL_OP_FLOOR:
        return floorf(x);
    case NNHAL_OP_LOG:
        return logf(x);
    case NNHAL_OP_NEG:
        return -x;
    case NNHAL_OP_RSQRT:
        return 1.0f / sqrtf(x);
    case NNHAL_OP_SIN:
        return sinf(x);
    default:
        return sqrtf(x);
    }
}

NN_INLINE void loop(uint32_t op, const float *in, float *out, size_t n)
{
    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = apply_unary(op, in[i]);
}

NN_INLINE void row_f32(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    loop(op, (const float *)args->inputs[0].data + row->in0,
         (float *)args->outputs[0].data + row->out, row->n);
}

NN_INLINE void row_f16(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    const uint16_t *in = (const uint16_t *)args->inputs[0].data + row->in0;
    uint16_t *out = (uint16_t *)args->outputs[0].data + row->out;
    float wide[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, row->n - i);

        nn_f16_widen(wide, in + i, n);
        loop(op, wide, wide, n);
        nn_narrow(out + i, wide, n);
    }
}

NN_INLINE void row_i32(bool is_abs, const struct nn_kernel_args *args, const struct nn_row *row)
{
    const int32_t *in = (const int32_t *)args->inputs[0].data + row->in0;
    int32_t *out = (int32_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++) {
        int32_t negated = (int32_t)(0u - (uint32_t)in[i]);

        out[i] = is_abs && in[i] >= 0 ? in[i] : negated;
    }
}

static void abs_row_i32(const struct nn_kernel_args *args, const struct nn_row *row)
{
    row_i32(true, args, row);
}

static void neg_row_i32(const struct nn_kernel_args *args, const struct nn_row *row)
{
    row_i32(false, args, row);
}

/* What is not above 0 has no square root: the highest code. Else as TensorFlow
 * Lite: 1 / sqrt of the code in steps of 2^-20, times the scales' multiplier. */
static int32_t rsqrt_code(const void *ctx, int32_t code)
{
    enum { FRACTION_BITS = 20 };
    const struct nn_lower *lowering = ctx;
    const struct nn_lower_operand *in = &lowering->inputs[0];
    const struct nn_lower_operand *out = &lowering->outputs[0];
    struct nn_multiplier scale = nn_multiplier_make(1.0 / (double)(sqrtf(in->scale) * out->scale));
    int32_t value = code - in->zero_point, high = nn_quant_high(out->type), inverse;
    int64_t result;

    if (value <= 0)
        return high;
    inverse = (int32_t)round((1 << FRACTION_BITS) / sqrt((double)value));
    scale.shift -= FRACTION_BITS;
    if (scale.shift < -31)
        return nn_clamp_i32(out->zero_point, nn_quant_low(out->type), high);
    result = (int64_t)nn_multiplier_apply(inverse, scale) + out->zero_point;
    return result > high                      ? high
           : result < nn_quant_low(out->type) ? nn_quant_low(out->type)
                                              : (int32_t)result;
}

static int lower_rsqrt_q8(struct nn_lower *lowering)
{
    return nn_lut_lower(lowering, rsqrt_code, lowering);
}

/* name, operation, cost of an element in sixteenths of a nanosecond */
#define OPERATIONS(X)                                                                              \
    X(abs, ABS, 6)                                                                                 \
    X(exp, EXP, 40)                                                                                \
    X(floor, FLOOR, 16)                                                                            \
    X(log, LOG, 80)                                                                                \
    X(neg, NEG, 6)                                                                                 \
    X(rsqrt, RSQRT, 48)                                                                            \
    X(sin, SIN, 96)                                                                                \
    X(sqrt, SQRT, 24)

#define DEFINE(op_name, op, cost)                                                                  \
    static void NN_VARIANT_SYMBOL(op_name##_row_f32)(const struct nn_kernel_args *args,            \
                                                     const struct nn_row *row)                     \
    {                                                                                              \
        row_f32(NNHAL_OP_##op, args, row);                                                         \
    }                                                                                              \
    static void NN_VARIANT_SYMBOL(op_name##_row_f16)(const struct nn_kernel_args *args,            \
                                                     const struct nn_row *row)                     \
    {                                                                                              \
        row_f16(NNHAL_OP_##op, args, row);                                                         \
    }
OPERATIONS(DEFINE)

#define ROW(row_name, op, types, row_function, cost)                                               \
    NN_VARIANT_ROW(row_name, op), .in0 = (types), .in_place = 1, .is_elementwise = 1,              \
                                  .walk = nn_rows_run, .row = row_function, .element_cost = (cost)
#define ROWS(op_name, op, cost)                                                                    \
    {ROW(#op_name "_f32", op, NN_T_F32, NN_VARIANT_SYMBOL(op_name##_row_f32), cost)},              \
        {ROW(#op_name "_f16", op, NN_T_F16, NN_VARIANT_SYMBOL(op_name##_row_f16), (cost) + 48)},

static const struct nn_kernel kernels[] = {
    {ROW("abs_i32", ABS, NN_T_I32, abs_row_i32, 8)},
    {ROW("neg_i32", NEG, NN_T_I32, neg_row_i32, 8)},
    {ROW("rsqrt_q8", RSQRT, NN_T_U8 | NN_T_S8, nn_lut_row, NN_LUT_COST), .weights_bytes = 256,
     .lower = lower_rsqrt_q8},
    OPERATIONS(ROWS)};

NN_VARIANT_FAMILY(unary, kernels);
