/* SPDX-License-Identifier: Apache-2.0 */
/* RELU, RELU1, RELU6, TANH, LOGISTIC, ELU, HARD_SWISH of float32 and float16, plain C. */
#include "drivers/cpu/kernels/common/fused-activation.h"

#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/math-f32.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"

/* What a function needs beside x: bounds, or alpha. */
struct elu_params {
    float low, high;
    float alpha;
};

/* The fused activation that an operation is. */
static int32_t fused_code(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_RELU:
        return NNHAL_FUSED_RELU;
    case NNHAL_OP_RELU1:
        return NNHAL_FUSED_RELU1;
    default:
        return NNHAL_FUSED_RELU6;
    }
}

static int lower_clamp(struct nn_lower *lower)
{
    struct elu_params *params = lower->params;

    nn_activation_f32(fused_code(lower->operation), &params->low, &params->high);
    return 0;
}

static int lower_elu(struct nn_lower *lower)
{
    struct elu_params *params = lower->params;

    params->alpha = nn_lower_f32(lower, 1, 1.0f);
    return 0;
}

/* Literal: for alpha below 0 both terms count at once. */
static inline float elu_f32(float x, float alpha)
{
    float below = alpha * (nn_exp_f32(x) - 1.0f);

    return (x > 0.0f ? x : 0.0f) + (below < 0.0f ? below : 0.0f);
}

NN_INLINE float apply(uint32_t op, float x, const struct elu_params *params)
{
    switch (op) {
    case NNHAL_OP_TANH:
        return nn_tanh_f32(x);
    case NNHAL_OP_LOGISTIC:
        return nn_logistic_f32(x);
    case NNHAL_OP_ELU:
        return elu_f32(x, params->alpha);
    case NNHAL_OP_HARD_SWISH:
        return x * nn_clamp_f32(x + 3.0f, 0.0f, 6.0f) / 6.0f;
    default:
        return nn_clamp_f32(x, params->low, params->high);
    }
}

NN_INLINE void loop(uint32_t op, const float *in, float *out, size_t n,
                    const struct elu_params *from_params)
{
    const struct elu_params params = *from_params;

    NN_IVDEP
    for (size_t i = 0; i < n; i++)
        out[i] = apply(op, in[i], &params);
}

NN_INLINE void row_f32(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    loop(op, (const float *)args->inputs[0].data + row->in0,
         (float *)args->outputs[0].data + row->out, row->n, args->params);
}

NN_INLINE void row_f16(uint32_t op, const struct nn_kernel_args *args, const struct nn_row *row)
{
    const uint16_t *in = (const uint16_t *)args->inputs[0].data + row->in0;
    uint16_t *out = (uint16_t *)args->outputs[0].data + row->out;
    float wide[NN_CHUNK];

    for (size_t i = 0; i < row->n; i += NN_CHUNK) {
        size_t n = nn_min_size(NN_CHUNK, row->n - i);

        nn_f16_widen(wide, in + i, n);
        loop(op, wide, wide, n, args->params);
        nn_narrow(out + i, wide, n);
    }
}

/* name, operation, lowering, cost of an element in sixteenths of a nanosecond */
#define OPERATIONS(X)                                                                              \
    X(relu, RELU, lower_clamp, 6)                                                                  \
    X(relu1, RELU1, lower_clamp, 6)                                                                \
    X(relu6, RELU6, lower_clamp, 6)                                                                \
    X(tanh, TANH, NULL, 64)                                                                        \
    X(logistic, LOGISTIC, NULL, 56)                                                                \
    X(elu, ELU, lower_elu, 48)                                                                     \
    X(hard_swish, HARD_SWISH, NULL, 16)

#define DEFINE(op_name, op, lower_function, cost)                                                  \
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

#define ROW(op_name, op, suffix, types, lower_function, cost)                                      \
    {NN_VARIANT_ROW(#op_name #suffix, op),                                                         \
     .in0 = (types),                                                                               \
     .params_bytes = sizeof(struct elu_params),                                                    \
     .in_place = 1,                                                                                \
     .is_elementwise = 1,                                                                          \
     .lower = lower_function,                                                                      \
     .walk = nn_rows_run,                                                                          \
     .row = NN_VARIANT_SYMBOL(op_name##_row##suffix),                                              \
     .element_cost = (cost)},
#define ROWS(op_name, op, lower_function, cost)                                                    \
    ROW(op_name, op, _f32, NN_T_F32, lower_function, cost)                                         \
    ROW(op_name, op, _f16, NN_T_F16, lower_function, (cost) + 48)

static const struct nn_kernel kernels[] = {OPERATIONS(ROWS)};

NN_VARIANT_FAMILY(activation, kernels);
