/* SPDX-License-Identifier: Apache-2.0 */
/* ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW, PRELU of float32, float16 and int32,
 * plain C: out[i] = act(a[i] op b[i]), broadcast. The 8-bit forms are in
 * elementwise-q8-c.c.
 *
 * Integers wrap; a division of integers rounds down, by 0 it gives 0, and
 * INT32_MIN / -1 wraps. A float16 is widened, computed as float32, rounded once. */
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"

#include <math.h>

static int lower_arithmetic(struct nn_lower *lower)
{
    struct nn_bounds_f32 *bounds = lower->params;

    if (!nn_activation_f32(nn_lower_i32(lower, NN_PAIR_ACTIVATION, 0), &bounds->low, &bounds->high))
        return nn_lower_refuse(lower, "input 2 is not a fused activation");
    return 0;
}

static int lower_unbounded(struct nn_lower *lower)
{
    struct nn_bounds_f32 *bounds = lower->params;

    bounds->low = -INFINITY;
    bounds->high = INFINITY;
    return 0;
}

static int lower_i32(struct nn_lower *lower)
{
    if (nn_lower_i32(lower, NN_PAIR_ACTIVATION, 0))
        return nn_lower_refuse(lower, "TENSOR_INT32 takes no activation");
    return 0;
}

/* ---- float32 ---- */

NN_INLINE float apply_f32(uint32_t op, float a, float b)
{
    switch (op) {
    case NNHAL_OP_ADD:
        return a + b;
    case NNHAL_OP_SUB:
        return a - b;
    case NNHAL_OP_MUL:
        return a * b;
    case NNHAL_OP_DIV:
        return a / b;
    case NNHAL_OP_MAXIMUM:
        return a < b ? b : a;
    case NNHAL_OP_MINIMUM:
        return b < a ? b : a;
    case NNHAL_OP_PRELU:
        return a >= 0.0f ? a : a * b;
    default:
        return powf(a, b);
    }
}

NN_INLINE void loop_f32(uint32_t op, const struct nn_pair *pair, size_t step_a, size_t step_b)
{
    const struct nn_bounds_f32 bounds = *(const struct nn_bounds_f32 *)pair->params;
    const float *a = pair->a, *b = pair->b;
    float *out = pair->out;
    size_t n = pair->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = nn_clamp_f32(apply_f32(op, a[i * step_a], b[i * step_b]), bounds.low, bounds.high);
}

NN_INLINE void tensor_row_f32(uint32_t op, const struct nn_kernel_args *args,
                              const struct nn_row *row)
{
    struct nn_pair pair = {.a = (const float *)args->inputs[0].data + row->in0,
                           .b = (const float *)args->inputs[1].data + row->in1,
                           .out = (float *)args->outputs[0].data + row->out,
                           .n = row->n,
                           .step0 = row->step0,
                           .step1 = row->step1,
                           .params = args->params};

    NN_ROW_STEPS(loop_f32, op, &pair);
}

NN_INLINE void tensor_row_f16(uint32_t op, const struct nn_kernel_args *args,
                              const struct nn_row *row)
{
    const uint16_t *a = (const uint16_t *)args->inputs[0].data + row->in0;
    const uint16_t *b = (const uint16_t *)args->inputs[1].data + row->in1;
    uint16_t *out = (uint16_t *)args->outputs[0].data + row->out;
    float wide_a[NN_CHUNK];
    float wide_b[NN_CHUNK];
    float wide_out[NN_CHUNK]; /* a repeated operand must outlive the loop */
    struct nn_pair pair = {.a = wide_a,
                           .b = wide_b,
                           .out = wide_out,
                           .step0 = row->step0,
                           .step1 = row->step1,
                           .params = args->params};

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        pair.n = nn_min_size(NN_CHUNK, row->n - i);
        nn_f16_widen(wide_a, a + i * row->step0, row->step0 ? pair.n : 1);
        nn_f16_widen(wide_b, b + i * row->step1, row->step1 ? pair.n : 1);
        NN_ROW_STEPS(loop_f32, op, &pair);
        nn_narrow(out + i, wide_out, pair.n);
    }
}

/* ---- int32 ---- */

/* C++'s and C's quotient is truncated; this one is rounded down. */
static inline int32_t divide_floor(int32_t a, int32_t b)
{
    int32_t quotient;

    if (b == 0)
        return 0;
    if (b == -1)
        return (int32_t)(0u - (uint32_t)a);
    quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

NN_INLINE int32_t apply_i32(uint32_t op, int32_t a, int32_t b)
{
    switch (op) {
    case NNHAL_OP_ADD:
        return (int32_t)((uint32_t)a + (uint32_t)b);
    case NNHAL_OP_SUB:
        return (int32_t)((uint32_t)a - (uint32_t)b);
    case NNHAL_OP_MUL:
        return (int32_t)((uint32_t)a * (uint32_t)b);
    case NNHAL_OP_MAXIMUM:
        return a < b ? b : a;
    case NNHAL_OP_MINIMUM:
        return b < a ? b : a;
    default:
        return divide_floor(a, b);
    }
}

NN_INLINE void loop_i32(uint32_t op, const struct nn_pair *pair, size_t step_a, size_t step_b)
{
    const int32_t *a = pair->a, *b = pair->b;
    int32_t *out = pair->out;
    size_t n = pair->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = apply_i32(op, a[i * step_a], b[i * step_b]);
}

NN_INLINE void tensor_row_i32(uint32_t op, const struct nn_kernel_args *args,
                              const struct nn_row *row)
{
    struct nn_pair pair = {.a = (const int32_t *)args->inputs[0].data + row->in0,
                           .b = (const int32_t *)args->inputs[1].data + row->in1,
                           .out = (int32_t *)args->outputs[0].data + row->out,
                           .n = row->n,
                           .step0 = row->step0,
                           .step1 = row->step1};

    NN_ROW_STEPS(loop_i32, op, &pair);
}

/* ---- the table ---- */

/* name, operation, lowering, cost of a float element in sixteenths of a nanosecond */
#define FLOAT_OPERATIONS(X)                                                                        \
    X(add, ADD, lower_arithmetic, 8)                                                               \
    X(sub, SUB, lower_arithmetic, 8)                                                               \
    X(mul, MUL, lower_arithmetic, 8)                                                               \
    X(div, DIV, lower_arithmetic, 16)                                                              \
    X(maximum, MAXIMUM, lower_unbounded, 8)                                                        \
    X(minimum, MINIMUM, lower_unbounded, 8)                                                        \
    X(prelu, PRELU, lower_unbounded, 8)                                                            \
    X(pow, POW, lower_unbounded, 320)

#define INT_OPERATIONS(X)                                                                          \
    X(add, ADD, lower_i32)                                                                         \
    X(sub, SUB, lower_i32)                                                                         \
    X(mul, MUL, lower_i32)                                                                         \
    X(div, DIV, lower_i32)                                                                         \
    X(maximum, MAXIMUM, NULL)                                                                      \
    X(minimum, MINIMUM, NULL)

#define DEFINE_ROW(name, operation, suffix)                                                        \
    static void NN_VARIANT_SYMBOL(name##_row_##suffix)(const struct nn_kernel_args *args,          \
                                                       const struct nn_row *row)                   \
    {                                                                                              \
        tensor_row_##suffix(NNHAL_OP_##operation, args, row);                                      \
    }
#define DEFINE_FLOAT(name, operation, lower_function, cost)                                        \
    DEFINE_ROW(name, operation, f32)                                                               \
    DEFINE_ROW(name, operation, f16)
FLOAT_OPERATIONS(DEFINE_FLOAT)
#define DEFINE_INT(name, operation, lower_function) DEFINE_ROW(name, operation, i32)
INT_OPERATIONS(DEFINE_INT)

#define ROW(row_name, op, types, row_function, cost)                                               \
    NN_VARIANT_ROW(row_name, op), .in0 = (types), .in_place = 3, .is_elementwise = 1,              \
                                  .walk = nn_broadcast_run,                                        \
                                  .row = NN_VARIANT_SYMBOL(row_function), .element_cost = (cost)
#define FLOAT_ROWS(name, op, lower_function, cost)                                                 \
    {ROW(#name "_f32", op, NN_T_F32, name##_row_f32, cost),                                        \
     .params_bytes = sizeof(struct nn_bounds_f32), .lower = lower_function},                       \
        {ROW(#name "_f16", op, NN_T_F16, name##_row_f16, (cost) + 64),                             \
         .params_bytes = sizeof(struct nn_bounds_f32), .lower = lower_function},
#define INT_ROW(name, op, lower_function)                                                          \
    {ROW(#name "_i32", op, NN_T_I32, name##_row_i32, 16), .lower = lower_function},

static const struct nn_kernel kernels[] = {FLOAT_OPERATIONS(FLOAT_ROWS) INT_OPERATIONS(INT_ROW)};

NN_VARIANT_FAMILY(elementwise, kernels);
