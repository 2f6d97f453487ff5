/* SPDX-License-Identifier: Apache-2.0 */
/* ADD, SUB, MUL, MAXIMUM, MINIMUM and PRELU of 8-bit quantized tensors, plain C.
 *
 * An operand has 256 codes, so what depends on one operand only is a table,
 * made when the step is lowered and kept as its weights: the rescaled operands
 * of ADD and SUB, the requantized ones of MAXIMUM and MINIMUM, the positive
 * half of PRELU. Tables are indexed by the code's byte, signed or not. */
#include "drivers/cpu/kernels/common/fused-activation.h"
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/common/quant8.h"
#include "drivers/cpu/kernels/common/variant.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "model/operands.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct q8_params {
    int32_t low, high; /* codes */
    int32_t zero;      /* of the output */
    int32_t zeros[2];  /* of the inputs */
    uint32_t flip;     /* see nn_quant_code() */
    struct nn_multiplier multiplier;
    /* ADD and SUB: a unit of each input in SUM_BITS of fraction, 0 if it is too large. */
    int32_t factors[2];
};

enum {
    SUM_BITS = 20,
    SUM_BLOCK = 64, /* elements */
    /* Two factors that are rounded, of 255 units at most, are off by 255; what the reference rounds
     * on its way is below 7 in these units. */
    SUM_MARGIN = 512,
};

static void init_params(const struct nn_lower *lower)
{
    struct q8_params *params = lower->params;
    uint32_t type = lower->outputs[0].type;

    params->low = nn_quant_low(type);
    params->high = nn_quant_high(type);
    params->zero = lower->outputs[0].zero_point;
    params->zeros[0] = lower->inputs[0].zero_point;
    params->zeros[1] = lower->inputs[1].zero_point;
    params->flip = nn_quant_flip(type);
}

static int set_activation(struct nn_lower *lower)
{
    struct q8_params *params = lower->params;
    const struct nn_lower_operand *out = &lower->outputs[0];

    if (!nn_activation_q8(nn_lower_i32(lower, NN_PAIR_ACTIVATION, 0), params->flip != 0, out->scale,
                          out->zero_point, &params->low, &params->high))
        return nn_lower_refuse(lower, "input 2 is not a fused activation");
    return 0;
}

/* The reference's multipliers of ADD and MUL are below 1 or it gives up. */
static bool is_fraction(double real)
{
    return real > 0.0 && real < 1.0 && nn_multiplier_make(real).shift <= 0;
}

/* nn_multiplier_apply() for such a multiplier: nothing saturates, nothing is shifted
 * left, and the unsigned shift keeps the same 32 bits, so that it vectorizes. */
NN_INLINE int32_t scale_down(int32_t x, struct nn_multiplier multiplier)
{
    uint64_t product = (uint64_t)((int64_t)x * multiplier.mantissa) + (UINT64_C(1) << 30);

    return nn_rdp((int32_t)(uint32_t)(product >> 31), -multiplier.shift & 31);
}

/* ---- ADD, SUB ---- */

/* Each operand, 20 bits finer and brought to twice the coarser scale. */
static void fill_rescaled(int32_t table[256], const struct nn_lower_operand *operand, double real,
                          bool negates)
{
    struct nn_multiplier multiplier = nn_multiplier_make(real);

    if (negates)
        multiplier.mantissa = -multiplier.mantissa;
    for (uint32_t byte = 0; byte < 256; byte++) {
        int32_t value = nn_quant_code((uint8_t)byte, nn_quant_flip(operand->type));
        int32_t fine = (value - operand->zero_point) * (1 << 20);

        table[byte] = nn_rdp(nn_srdhm(fine, multiplier.mantissa), -multiplier.shift);
    }
}

/* The sum of 255 units of both inputs, and the output's zero point, must fit 32 bits. */
static void set_factors(struct q8_params *params, const struct nn_lower *lower, bool negates)
{
    double first = (double)lower->inputs[0].scale / (double)lower->outputs[0].scale;
    double second = (double)lower->inputs[1].scale / (double)lower->outputs[0].scale;

    if (first > 1.5 || second > 1.5)
        return;
    params->factors[0] = (int32_t)lround(ldexp(first, SUM_BITS));
    params->factors[1] = (int32_t)lround(ldexp(negates ? -second : second, SUM_BITS));
}

static int lower_sum(struct nn_lower *lower, bool negates)
{
    const struct nn_lower_operand *in = lower->inputs;
    struct q8_params *params = lower->params;
    float twice = 2.0f * (in[0].scale > in[1].scale ? in[0].scale : in[1].scale);
    double real = (double)twice / (double)(0x1p20f * lower->outputs[0].scale);
    int32_t *tables;

    init_params(lower);
    if (!is_fraction((double)in[0].scale / (double)twice) ||
        !is_fraction((double)in[1].scale / (double)twice) || !is_fraction(real))
        return nn_lower_refuse(lower, "the output's scale is too small for the inputs' scales");
    params->multiplier = nn_multiplier_make(real);
    tables = nn_lower_weights(lower, 2 * 256 * sizeof(int32_t));
    if (!tables)
        return -ENOMEM;
    fill_rescaled(tables, &in[0], (double)in[0].scale / (double)twice, false);
    fill_rescaled(tables + 256, &in[1], (double)in[1].scale / (double)twice, negates);
    set_factors(params, lower, negates);
    return set_activation(lower);
}

static int lower_add(struct nn_lower *lower)
{
    return lower_sum(lower, false);
}

static int lower_sub(struct nn_lower *lower)
{
    return lower_sum(lower, true);
}

/* Elements of the operands that are added: their first bytes. */
struct sum_range {
    const uint8_t *a, *b;
    size_t n;
};

/* As the reference computes. */
NN_INLINE void sum_exactly(const struct nn_kernel_args *args, const struct sum_range *range,
                           size_t step0, size_t step1, uint8_t *out)
{
    const struct q8_params *params = args->params;
    const int32_t *table_a = (const int32_t *)(const void *)args->weights;
    const int32_t *table_b = table_a + 256;
    struct nn_multiplier multiplier = params->multiplier;
    int32_t low = params->low, high = params->high, zero = params->zero;

    NN_IVDEP
    for (size_t i = 0; i < range->n; i++) {
        /* Tables may come from a cache and hold any number: sums wrap. */
        uint32_t sum = (uint32_t)table_a[range->a[i * step0]] +
                       (uint32_t)table_b[range->b[i * step1]];
        uint32_t code = (uint32_t)scale_down((int32_t)sum, multiplier) + (uint32_t)zero;

        out[i] = (uint8_t)nn_clamp_i32((int32_t)code, low, high);
    }
}

/* The same without tables: the sum in SUM_BITS of fraction, rounded half up. Sums wrap here, too.
 * Returns: false if one lies so near the border between two codes that it may be another. */
NN_INLINE bool sum_nearly(const struct nn_kernel_args *args, const struct sum_range *range,
                          size_t step0, size_t step1, uint8_t codes[SUM_BLOCK])
{
    const struct q8_params params = *(const struct q8_params *)args->params;
    const uint32_t mask = (1u << SUM_BITS) - 1;
    uint32_t base = ((uint32_t)params.zero << SUM_BITS) + (1u << (SUM_BITS - 1)), n_near = 0;

    for (size_t i = 0; i < range->n; i++) {
        int32_t x = nn_quant_code(range->a[i * step0], params.flip) - params.zeros[0];
        int32_t y = nn_quant_code(range->b[i * step1], params.flip) - params.zeros[1];
        uint32_t sum = base + (uint32_t)x * (uint32_t)params.factors[0] +
                       (uint32_t)y * (uint32_t)params.factors[1];

        n_near += ((sum + SUM_MARGIN) & mask) < 2 * SUM_MARGIN;
        codes[i] = (uint8_t)nn_clamp_i32((int32_t)sum >> SUM_BITS, params.low, params.high);
    }
    return n_near == 0;
}

/* A block goes to a place of its own first: the output may be one of the inputs. */
NN_INLINE void sum_block(const struct nn_kernel_args *args, const struct sum_range *range,
                         size_t step0, size_t step1, uint8_t *out)
{
    uint8_t codes[SUM_BLOCK];

    if (sum_nearly(args, range, step0, step1, codes))
        memcpy(out, codes, range->n);
    else
        sum_exactly(args, range, step0, step1, out);
}

NN_INLINE void sum_loop(const struct nn_kernel_args *args, const struct nn_row *row, size_t step0,
                        size_t step1)
{
    const struct q8_params *params = args->params;
    struct sum_range range = {(const uint8_t *)args->inputs[0].data + row->in0,
                              (const uint8_t *)args->inputs[1].data + row->in1, row->n};
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t at = 0;

    if (!params->factors[0] || !params->factors[1]) {
        sum_exactly(args, &range, step0, step1, out);
        return;
    }
    for (; row->n - at >= SUM_BLOCK; at += SUM_BLOCK) {
        const struct sum_range block = {range.a + at * step0, range.b + at * step1, SUM_BLOCK};

        sum_block(args, &block, step0, step1, out + at);
    }
    range = (struct sum_range){range.a + at * step0, range.b + at * step1, row->n - at};
    sum_block(args, &range, step0, step1, out + at);
}

static void sum_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(sum_loop, args, row);
}

/* ---- MUL ---- */

/* nnhal.tflite's MUL, whose output's scale NNAPI's may not have: the quotient is a float, as in
 * TensorFlow Lite, and may be above 1. */
static int lower_coarse_mul(struct nn_lower *lower)
{
    struct q8_params *params = lower->params;
    float product = lower->inputs[0].scale * lower->inputs[1].scale;

    init_params(lower);
    params->multiplier = nn_multiplier_make((double)(product / lower->outputs[0].scale));
    return set_activation(lower);
}

NN_INLINE void coarse_mul_loop(const struct nn_kernel_args *args, const struct nn_row *row,
                               size_t step0, size_t step1)
{
    const struct q8_params params = *(const struct q8_params *)args->params;
    const uint8_t *a = (const uint8_t *)args->inputs[0].data + row->in0;
    const uint8_t *b = (const uint8_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++) {
        int32_t x = nn_quant_code(a[i * step0], params.flip) - params.zeros[0];
        int32_t y = nn_quant_code(b[i * step1], params.flip) - params.zeros[1];
        int32_t code = nn_sat16(nn_multiplier_apply(x * y, params.multiplier));

        out[i] = (uint8_t)nn_clamp_i32(code + params.zero, params.low, params.high);
    }
}

static void coarse_mul_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(coarse_mul_loop, args, row);
}

static int lower_mul(struct nn_lower *lower)
{
    struct q8_params *params = lower->params;
    float product = lower->inputs[0].scale * lower->inputs[1].scale;
    double real = (double)product / (double)lower->outputs[0].scale;

    if (!is_fraction(real))
        return NN_KERNEL_E_PASS;
    init_params(lower);
    params->multiplier = nn_multiplier_make(real);
    return set_activation(lower);
}

NN_INLINE void mul_loop(const struct nn_kernel_args *args, const struct nn_row *row, size_t step0,
                        size_t step1)
{
    const struct q8_params params = *(const struct q8_params *)args->params;
    const uint8_t *a = (const uint8_t *)args->inputs[0].data + row->in0;
    const uint8_t *b = (const uint8_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++) {
        int32_t x = nn_quant_code(a[i * step0], params.flip) - params.zeros[0];
        int32_t y = nn_quant_code(b[i * step1], params.flip) - params.zeros[1];
        int32_t code = scale_down(x * y, params.multiplier);

        out[i] = (uint8_t)nn_clamp_i32(code + params.zero, params.low, params.high);
    }
}

static void mul_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(mul_loop, args, row);
}

/* ---- MAXIMUM, MINIMUM ---- */

/* Tables hold codes offset so that they compare as bytes: see flip. */
static int lower_extreme(struct nn_lower *lower)
{
    uint8_t *tables = nn_lower_weights(lower, 2 * 256);

    if (!tables)
        return -ENOMEM;
    init_params(lower);
    for (int i = 0; i < 2; i++)
        nn_quant_requant(lower->outputs[0].type, lower->inputs[i].scale,
                         lower->inputs[i].zero_point, lower->outputs[0].scale,
                         lower->outputs[0].zero_point, tables + i * 256);
    return 0;
}

NN_INLINE void extreme_loop(const struct nn_kernel_args *args, const struct nn_row *row,
                            size_t step0, size_t step1, bool is_max)
{
    const struct q8_params *params = args->params;
    const uint8_t *table_a = args->weights;
    const uint8_t *table_b = table_a + 256;
    const uint8_t *a = (const uint8_t *)args->inputs[0].data + row->in0;
    const uint8_t *b = (const uint8_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    uint8_t flip = (uint8_t)params->flip;
    size_t n = row->n;

    NN_IVDEP
    for (size_t i = 0; i < n; i++) {
        uint8_t x = table_a[a[i * step0]] ^ flip;
        uint8_t y = table_b[b[i * step1]] ^ flip;

        out[i] = (is_max == (x < y) ? y : x) ^ flip;
    }
}

NN_INLINE void maximum_loop(const struct nn_kernel_args *args, const struct nn_row *row,
                            size_t step0, size_t step1)
{
    extreme_loop(args, row, step0, step1, true);
}

NN_INLINE void minimum_loop(const struct nn_kernel_args *args, const struct nn_row *row,
                            size_t step0, size_t step1)
{
    extreme_loop(args, row, step0, step1, false);
}

static void maximum_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(maximum_loop, args, row);
}

static void minimum_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(minimum_loop, args, row);
}

/* ---- PRELU ---- */

static int lower_prelu(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0];
    const struct nn_lower_operand *alpha = &lower->inputs[1];
    const struct nn_lower_operand *out = &lower->outputs[0];
    struct nn_multiplier positive = nn_multiplier_make((double)(in->scale / out->scale));
    struct q8_params *params = lower->params;
    float product = in->scale * alpha->scale;
    uint8_t *table = nn_lower_weights(lower, 256);

    if (!table)
        return -ENOMEM;
    init_params(lower);
    params->multiplier = nn_multiplier_make((double)product / (double)out->scale);
    for (uint32_t byte = 0; byte < 256; byte++) {
        int32_t value = nn_quant_code((uint8_t)byte, params->flip) - in->zero_point;
        int64_t code = (int64_t)nn_multiplier_apply(value, positive) + out->zero_point;

        table[byte] = (uint8_t)(code < params->low    ? params->low
                                : code > params->high ? params->high
                                                      : (int32_t)code);
    }
    return 0;
}

NN_INLINE void prelu_loop(const struct nn_kernel_args *args, const struct nn_row *row, size_t step0,
                          size_t step1)
{
    const struct q8_params params = *(const struct q8_params *)args->params;
    const uint8_t *a = (const uint8_t *)args->inputs[0].data + row->in0;
    const uint8_t *b = (const uint8_t *)args->inputs[1].data + row->in1;
    uint8_t *out = (uint8_t *)args->outputs[0].data + row->out;
    size_t n = row->n;

    for (size_t i = 0; i < n; i++) {
        int32_t x = nn_quant_code(a[i * step0], params.flip) - params.zeros[0];
        int32_t y = nn_quant_code(b[i * step1], params.flip) - params.zeros[1];
        int64_t code = (int64_t)nn_multiplier_apply(x * y, params.multiplier) + params.zero;

        code = code < params.low ? params.low : code > params.high ? params.high : code;
        out[i] = x >= 0 ? args->weights[a[i * step0]] : (uint8_t)code;
    }
}

static void prelu_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    NN_ROW_STEPS(prelu_loop, args, row);
}

/* ---- the table ---- */

/* Numbers with which nothing overflows. */
static bool check_q8(const struct nn_kernel_step *step)
{
    const struct q8_params *params = step->params;
    const int32_t codes[] = {params->low, params->high, params->zero, params->zeros[0],
                             params->zeros[1]};

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i] < INT8_MIN || codes[i] > UINT8_MAX)
            return false;
    return params->flip == nn_quant_flip(step->outputs[0].type) &&
           nn_multiplier_is_valid(params->multiplier);
}

#define ROW(op_name, op, table_bytes, lower_function, row_function, cost)                          \
    {                                                                                              \
        NN_VARIANT_ROW(op_name, op),                                                               \
            .in0 = NN_T_U8 | NN_T_S8, .params_bytes = sizeof(struct q8_params), .in_place = 3,     \
            .weights_bytes = (table_bytes), .check = check_q8, .is_elementwise = 1,                \
            .lower = lower_function, .walk = nn_broadcast_run, .row = row_function,                \
            .element_cost = (cost)                                                                 \
    }

static const struct nn_kernel kernels[] = {
    ROW("add_q8", ADD, 2048, lower_add, sum_row, 32),
    ROW("sub_q8", SUB, 2048, lower_sub, sum_row, 32),
    ROW("mul_q8", MUL, 0, lower_mul, mul_row, 32),
    ROW("coarse_mul_q8", MUL, 0, lower_coarse_mul, coarse_mul_row, 64),
    ROW("maximum_q8", MAXIMUM, 512, lower_extreme, maximum_row, 24),
    ROW("minimum_q8", MINIMUM, 512, lower_extreme, minimum_row, 24),
    ROW("prelu_q8", PRELU, 256, lower_prelu, prelu_row, 48),
};

NN_VARIANT_FAMILY(elementwise_q8, kernels);
