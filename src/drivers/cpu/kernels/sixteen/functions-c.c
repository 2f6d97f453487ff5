/* SPDX-License-Identifier: Apache-2.0 */
/* LOGISTIC, TANH and SOFTMAX of 16-bit activations, plain C, by tables between whose entries is
 * interpolated.
 *
 * As TensorFlow Lite's reference_integer_ops::Logistic and Tanh (smooth.h), and SoftmaxInt16, which has
 * one table of e^x in [-10, 0] and one of 1 / (1 + x) in [0, 1]: an entry is moved by half of what the
 * function's middle between it and the next one is away from theirs. Inputs with 12 or 11 bits of
 * fraction are what gemmlowp's functions take (fixed16.h). */
#include "drivers/cpu/kernels/common/broadcast.h"
#include "drivers/cpu/kernels/common/operand.h"
#include "drivers/cpu/kernels/common/vector.h"
#include "drivers/cpu/kernels/quantized-lstm/fixed16.h"
#include "drivers/cpu/kernels/sixteen/sixteen.h"
#include "drivers/cpu/kernels/sixteen/smooth.h"
#include "model/operands.h"

#include <errno.h>
#include <math.h>

/* ---- LOGISTIC, TANH ---- */

/* TensorFlow Lite takes a scale for a power of two within a thousandth of its logarithm. */
static bool is_power(float scale, int exponent)
{
    return fabs(log2((double)scale) - exponent) < 1e-3;
}

/* With a multiplier of 0 by gemmlowp's function: TANH's codes are shifted to the left before. */
static int lower_smooth(struct nn_lower *lower, bool is_tanh)
{
    struct nn_smooth *params = lower->params;
    float scale = lower->inputs[0].scale;
    double multiplier = (double)scale * 4096.0 * 3.0;
    uint16_t *table = nn_lower_weights(lower, NN_SMOOTH_N * sizeof(*table));

    if (!table)
        return -ENOMEM;
    nn_smooth_fill(table);
    if (is_power(scale, -12))
        return 0;
    if (is_tanh && is_power(scale, -11)) {
        params->shift = 1;
        return 0;
    }
    for (; multiplier <= 32767.0 / 2.0 && params->shift <= 30; params->shift++)
        multiplier *= 2.0;
    params->multiplier = (int32_t)multiplier;
    return 0;
}

static int lower_logistic(struct nn_lower *lower)
{
    return lower_smooth(lower, false);
}

static int lower_tanh(struct nn_lower *lower)
{
    return lower_smooth(lower, true);
}

static void logistic_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct nn_smooth *params = args->params;
    const uint16_t *table = (const uint16_t *)(const void *)args->weights;
    const int16_t *in = (const int16_t *)args->inputs[0].data + row->in0;
    int16_t *out = (int16_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = params->multiplier ? nn_smooth_logistic(table, nn_smooth_rescale(in[i], *params))
                                    : nn_logistic16(in[i]);
}

static void tanh_row(const struct nn_kernel_args *args, const struct nn_row *row)
{
    const struct nn_smooth *params = args->params;
    const uint16_t *table = (const uint16_t *)(const void *)args->weights;
    const int16_t *in = (const int16_t *)args->inputs[0].data + row->in0;
    int16_t *out = (int16_t *)args->outputs[0].data + row->out;

    for (size_t i = 0; i < row->n; i++)
        out[i] = params->multiplier ? nn_smooth_tanh(table, nn_smooth_rescale(in[i], *params))
                                    : nn_tanh16(nn_shl16(in[i], params->shift & 1), 3);
}

/* ---- SOFTMAX ---- */

enum {
    LEAST_SUM = 1 << 14, /* of exponentials, of which one is near 2^15 */
    N_SOFTMAX = 513,     /* entries of a table, the last one for the slope before it */
};

struct softmax_tables {
    int16_t exponential[N_SOFTMAX], reciprocal[N_SOFTMAX];
};

static double reciprocal_of_one_more(double x)
{
    return 1.0 / (1.0 + x);
}

static void fill_table(int16_t table[N_SOFTMAX], double (*function)(double x), double from,
                       double to)
{
    double step = (to - from) / (N_SOFTMAX - 1);

    for (int i = 0; i < N_SOFTMAX; i++) {
        double here = round(function(from + i * step) * 32768.0);
        double next = function(from + (i + 1) * step) * 32768.0;
        double middle = round(function(from + i * step + step / 2.0) * 32768.0);
        double error = i + 1 < N_SOFTMAX ? round((round((next + here) / 2.0) - middle) / 2.0) : 0.0;

        table[i] = nn_sat16((int64_t)(here - error));
    }
}

/* Differences of codes become [-65535, 0], which stands for [-10, 0]. */
static int lower_softmax(struct nn_lower *lower)
{
    const struct nn_lower_operand *in = &lower->inputs[0];
    float product = in->scale * nn_lower_f32(lower, NN_SOFTMAX_BETA, 1.0f);
    struct nn_multiplier *multiplier = lower->params;
    struct softmax_tables *tables = nn_lower_weights(lower, sizeof(*tables));

    if (!tables)
        return -ENOMEM;
    *multiplier = nn_multiplier_make((double)product / (10.0 / 65535.0));
    fill_table(tables->exponential, exp, -10.0, 0.0);
    fill_table(tables->reciprocal, reciprocal_of_one_more, 0.0, 1.0);
    return 0;
}

static inline int16_t look_up(const int16_t *table, int16_t code)
{
    int32_t i = 256 + (code >> 7), slope = table[i + 1] - table[i];

    return (int16_t)(table[i] + ((slope * (code & 127) + 64) >> 7));
}

/* The output holds the exponentials first. Tables from a cache file may hold any number. */
static void softmax_slice(const struct softmax_tables *tables, struct nn_multiplier multiplier,
                          const int16_t *in, int16_t *out, size_t n)
{
    int32_t highest = INT16_MIN, sum, shift, scale;
    int64_t total = 0;

    for (size_t i = 0; i < n; i++)
        highest = in[i] > highest ? in[i] : highest;
    for (size_t i = 0; i < n; i++) {
        int64_t scaled = nn_multiplier_apply(in[i] - highest, multiplier);

        out[i] = look_up(tables->exponential, nn_sat16(scaled + INT16_MAX));
        total += out[i];
    }
    sum = (int32_t)(total < LEAST_SUM ? LEAST_SUM : total > INT32_MAX ? INT32_MAX : total);
    shift = __builtin_clz((uint32_t)sum);
    scale = look_up(
        tables->reciprocal,
        nn_sat16((((int64_t)sum << (shift - 1)) + (1 << 13)) / (1 << 14) - 3 * (1 << 15)));
    for (size_t i = 0; i < n; i++)
        out[i] = (int16_t)nn_clamp_i32((out[i] * scale + (1 << (30 - shift))) >> (31 - shift), 0,
                                       INT16_MAX);
}

static void softmax_slices(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct nn_kernel_args *args = ctx;
    const struct nn_tensor *in = &args->inputs[0];
    const struct nn_multiplier *multiplier = args->params;
    size_t n = in->dims[in->n_dims - 1];
    struct nn_pace pace = nn_pace(args->stop);

    for (size_t i = begin; i < end && !nn_pace_ends(&pace, 20 + 8 * n); i++)
        softmax_slice((const struct softmax_tables *)(const void *)args->weights, *multiplier,
                      (const int16_t *)in->data + i * n, (int16_t *)args->outputs[0].data + i * n,
                      n);
}

static int nn_softmax_z16__c(const struct nn_kernel_args *args)
{
    const struct nn_tensor *in = &args->inputs[0];

    nn_parallel_for(args, nn_dims_count(in->dims, 0, in->n_dims - 1),
                    20 + 8 * (size_t)in->dims[in->n_dims - 1], softmax_slices,
                    (void *)(uintptr_t)args);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("logistic_z16__c", LOGISTIC), .in0 = NN_T_Z16, .params_bytes = sizeof(struct nn_smooth),
     .weights_bytes = NN_SMOOTH_N * sizeof(uint16_t), .in_place = 1, .is_elementwise = 1,
     .lower = lower_logistic, .walk = nn_rows_run, .row = logistic_row, .element_cost = 64},
    {NN_ROW("tanh_z16__c", TANH), .in0 = NN_T_Z16, .params_bytes = sizeof(struct nn_smooth),
     .weights_bytes = NN_SMOOTH_N * sizeof(uint16_t), .in_place = 1, .is_elementwise = 1,
     .lower = lower_tanh, .walk = nn_rows_run, .row = tanh_row, .element_cost = 64},
    {NN_ROW("softmax_z16__c", SOFTMAX), .in0 = NN_T_Z16,
     .params_bytes = sizeof(struct nn_multiplier), .weights_bytes = sizeof(struct softmax_tables),
     .lower = lower_softmax, .run = nn_softmax_z16__c},
};

NN_KERNEL_FAMILY(sixteen_functions, kernels);
