/* SPDX-License-Identifier: Apache-2.0 */
/* QUANTIZED_16BIT_LSTM, plain C: the older quantized cell, with fixed scales.
 *
 * The reference keeps its weights as rows of [recurrent | input] and multiplies
 * them with activations in the order [input | recurrent]: so the first columns
 * of a row meet the input although they are the recurrent ones. NNAPI defines the
 * operation by that code, so this kernel does the same. One item of work is one batch. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/quantized-lstm/fixed16.h"

#include "model/lstm.h"

#include <string.h>

struct lstm16_params {
    struct nn_multiplier accumulator; /* to Q3.12 */
};

static int lower_lstm16(struct nn_lower *lower)
{
    struct lstm16_params *params = lower->params;

    params->accumulator = nn_multiplier_make(
        (double)(4096.0f * lower->inputs[NN_LSTM16_BIAS].scale));
    return 0;
}

/* The activations of a row: input and state. */
static bool find_lstm16_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    size_t n = (size_t)step->inputs[NN_LSTM16_X].dims[1] +
               step->inputs[NN_LSTM16_OUTPUT_STATE].dims[1];

    ret->worker_bytes = n * sizeof(int16_t);
    return true;
}

struct lstm16 {
    const struct nn_kernel_args *args;
    size_t n_inputs, n_outputs;
    int32_t weights_zero_point;
};

/* What a row of weights, recurrent ones first, makes of the activations; sums wrap. */
static uint32_t row_sum(const struct lstm16 *lstm, uint32_t gate, size_t cell, const int16_t *x)
{
    size_t n_inputs = lstm->n_inputs, n_outputs = lstm->n_outputs;
    const struct nn_tensor *inputs = lstm->args->inputs;
    const uint8_t *recurrent = (const uint8_t *)inputs[NN_LSTM16_RECURRENT + gate].data +
                               cell * n_outputs;
    const uint8_t *input = (const uint8_t *)inputs[NN_LSTM16_WEIGHTS + gate].data + cell * n_inputs;
    int32_t zero_point = lstm->weights_zero_point;
    uint32_t sum = 0;

    for (size_t i = 0; i < n_outputs; i++)
        sum += (uint32_t)((recurrent[i] - zero_point) * x[i]);
    for (size_t i = 0; i < n_inputs; i++)
        sum += (uint32_t)((input[i] - zero_point) * x[n_outputs + i]);
    return sum;
}

/* A gate before its activation, Q3.12. */
static int16_t gate_sum(const struct lstm16 *lstm, uint32_t gate, size_t cell, const int16_t *x)
{
    const struct lstm16_params *params = lstm->args->params;
    const int32_t *bias = lstm->args->inputs[NN_LSTM16_BIAS + gate].data;
    uint32_t sum = row_sum(lstm, gate, cell, x) + (uint32_t)bias[cell];

    return nn_sat16(nn_multiplier_apply((int32_t)sum, params->accumulator));
}

static void run_cell(const struct lstm16 *lstm, size_t cell, const int16_t *x, int16_t old,
                     int16_t *ret_cell, uint8_t *ret_out)
{
    int16_t i = nn_logistic16(gate_sum(lstm, NN_LSTM_INPUT, cell, x));
    int16_t f = nn_logistic16(gate_sum(lstm, NN_LSTM_FORGET, cell, x));
    int16_t m = nn_tanh16(gate_sum(lstm, NN_LSTM_CELL, cell, x), 3);
    int16_t o = nn_logistic16(gate_sum(lstm, NN_LSTM_OUTPUT, cell, x));
    int32_t taken = (int32_t)nn_rdp64(nn_mul16(i, m), 4);
    int16_t c = nn_sat16(taken + nn_mul16(f, old));
    int16_t y = nn_mul16(o, nn_tanh16(nn_shl16(c, 1), 3));

    *ret_cell = c;
    *ret_out = (uint8_t)(128 + nn_clamp_i32((int32_t)nn_rdp64(y, 8), -128, 127));
}

static void run_batches(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct lstm16 *lstm = ctx;
    const struct nn_tensor *inputs = lstm->args->inputs;
    size_t n_inputs = lstm->n_inputs, n = lstm->n_outputs;
    int16_t *x = nn_worker_scratch(lstm->args, worker);
    struct nn_pace pace = nn_pace(lstm->args->stop);

    for (size_t b = begin; b < end; b++) {
        const uint8_t *input = (const uint8_t *)inputs[NN_LSTM16_X].data + b * n_inputs;
        const uint8_t *state = (const uint8_t *)inputs[NN_LSTM16_OUTPUT_STATE].data + b * n;
        const int16_t *old = (const int16_t *)inputs[NN_LSTM16_CELL_STATE].data + b * n;
        int16_t *c = (int16_t *)lstm->args->outputs[0].data + b * n;
        uint8_t *out = (uint8_t *)lstm->args->outputs[1].data + b * n;

        for (size_t i = 0; i < n_inputs; i++)
            x[i] = (int16_t)(input[i] - 128);
        for (size_t i = 0; i < n; i++)
            x[n_inputs + i] = (int16_t)(state[i] - 128);
        for (size_t cell = 0; cell < n && !nn_pace_ends(&pace, 100 + (n_inputs + n) * 4); cell++)
            run_cell(lstm, cell, x, old[cell], &c[cell], &out[cell]);
    }
}

static int nn_quantized_16bit_lstm__c(const struct nn_kernel_args *args)
{
    struct lstm16 lstm = {
        .args = args,
        .n_inputs = args->inputs[NN_LSTM16_X].dims[1],
        .n_outputs = args->inputs[NN_LSTM16_OUTPUT_STATE].dims[1],
        .weights_zero_point = args->inputs[NN_LSTM16_WEIGHTS].zero_point,
    };

    nn_parallel_for(args, args->inputs[NN_LSTM16_X].dims[0],
                    1 + lstm.n_outputs * (lstm.n_inputs + lstm.n_outputs) * 2, run_batches, &lstm);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("quantized_16bit_lstm__c", QUANTIZED_16BIT_LSTM),
     .params_bytes = sizeof(struct lstm16_params), .lower = lower_lstm16,
     .find_scratch = find_lstm16_scratch, .run = nn_quantized_16bit_lstm__c},
};
NN_KERNEL_FAMILY(quantized_16bit_lstm, kernels);
