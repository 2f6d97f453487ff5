/* SPDX-License-Identifier: Apache-2.0 */
/* map-recurrent.c - cells with a state
 *
 * States are variable tensors in the graph. What a cell gives as its next state goes to
 * temporaries, which are read only where states are kept (builder.h). */
#include "tflite/map.h"

#include <errno.h>
#include <stddef.h>

enum {
    LSTM_STATE = 18,
    LSTM_CELL = 19,
    LSTM_INPUTS = 20, /* data, weights, biases, projection, two states */
    LSTM_NORMS = 4,   /* layer normalization, after the states in the graph */
    RNN_STATE = 4,
    BIDIRECTIONAL_INPUTS = 48,
};

/* Inputs first..first+n of a float32 cell; weights of 8 bits are made float32. Those of int8 have no
 * zero point in TensorFlow Lite; a file that names one is refused. */
static void float_inputs(struct tfl_builder *b, uint32_t *inputs, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct tfl_tensor *tensor = tfl_in(b, first + i);

        if (tensor && tensor->type == TFL_INT8 && tensor->zero_point)
            tfl_fail(b, -ENOTSUP, "input %u: int8 weights with a zero point", first + i);
        if (tensor && tensor->data && tfl_is_quantized(tensor)) {
            inputs[i] = tfl_float_of(b, first + i);
            continue;
        }
        if (tensor && tensor->type != TFL_FLOAT32)
            tfl_fail(b, -ENOTSUP, "input %u has the type %d, which no cell of float32 takes",
                     first + i, tensor->type);
        inputs[i] = tfl_input_or_omitted(b, first + i, ANEURALNETWORKS_TENSOR_FLOAT32);
    }
}

static uint32_t lstm_settings(struct tfl_builder *b, uint32_t *inputs)
{
    inputs[0] = tfl_i32(b, b->op->options.activation);
    inputs[1] = tfl_f32(b, b->op->options.cell_clip);
    inputs[2] = tfl_f32(b, b->op->options.proj_clip);
    return 3;
}

/* NNAPI's LSTM has a form without. */
static uint32_t lstm_norms(struct tfl_builder *b, uint32_t *inputs)
{
    if (b->op->n_inputs < LSTM_INPUTS + LSTM_NORMS)
        return 0;
    float_inputs(b, inputs, LSTM_INPUTS, LSTM_NORMS);
    return LSTM_NORMS;
}

static bool is_int8(const struct tfl_tensor *tensor)
{
    return tensor && tensor->type == TFL_INT8;
}

static void map_sequence_lstm(struct tfl_builder *b)
{
    uint32_t inputs[LSTM_INPUTS + 4 + LSTM_NORMS], n = LSTM_INPUTS;

    tfl_need(b, b->op->n_inputs >= LSTM_INPUTS, "%u inputs", b->op->n_inputs);
    if (is_int8(tfl_in(b, 0))) {
        tfl_map_full_sequence_lstm(b);
        return;
    }
    if (tfl_is_sixteen(tfl_in(b, 0))) {
        tfl_map_sixteen_sequence_lstm(b);
        return;
    }
    float_inputs(b, inputs, 0, LSTM_INPUTS);
    n += lstm_settings(b, inputs + n);
    inputs[n++] = tfl_bool(b, b->op->options.time_major);
    float_inputs(b, inputs + n, LSTM_INPUTS, LSTM_NORMS); /* omitted where the file has none */
    n += LSTM_NORMS;
    tfl_add_sequence_lstm(b, ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_LSTM, inputs, n);
}

static void map_lstm(struct tfl_builder *b)
{
    const struct tfl_tensor *cell = tfl_in(b, LSTM_CELL), *state = tfl_in(b, LSTM_STATE);
    uint32_t inputs[LSTM_INPUTS + 3 + LSTM_NORMS], outputs[4], n = LSTM_INPUTS;
    struct tfl_form scratch;

    if (b->op->options.kernel_type != 0) {
        tfl_map_basic_lstm(b);
        return;
    }
    tfl_need(b, b->op->n_inputs >= LSTM_INPUTS && cell && state && cell->n_dimensions == 2,
             "%u inputs", b->op->n_inputs);
    if (is_int8(tfl_in(b, 0))) {
        tfl_map_full_lstm(b);
        return;
    }
    float_inputs(b, inputs, 0, LSTM_INPUTS);
    n += lstm_settings(b, inputs + n);
    n += lstm_norms(b, inputs + n);
    scratch = tfl_form_of(b, cell);
    tfl_multiply(b, &scratch.dimensions[1], tfl_in(b, 1) ? 4 : 3);
    outputs[0] = tfl_temporary(b, &scratch);
    outputs[1] = tfl_next_state(b, LSTM_STATE);
    outputs[2] = tfl_next_state(b, LSTM_CELL);
    outputs[3] = tfl_output(b, 0);
    tfl_add(b, ANEURALNETWORKS_LSTM, inputs, n, outputs, 4);
}

static void map_bidirectional_lstm(struct tfl_builder *b)
{
    uint32_t inputs[BIDIRECTIONAL_INPUTS + 5 + 8], outputs[2], n = BIDIRECTIONAL_INPUTS;
    uint32_t n_outputs = b->op->options.merge_outputs ? 1 : 2;

    tfl_need(b, b->op->n_inputs == BIDIRECTIONAL_INPUTS, "%u inputs", b->op->n_inputs);
    float_inputs(b, inputs, 0, BIDIRECTIONAL_INPUTS);
    n += lstm_settings(b, inputs + n);
    inputs[n++] = tfl_bool(b, b->op->options.merge_outputs);
    inputs[n++] = tfl_bool(b, b->op->options.time_major);
    for (int i = 0; i < 8; i++)
        inputs[n++] = tfl_omitted(b, ANEURALNETWORKS_TENSOR_FLOAT32);
    for (uint32_t i = 0; i < n_outputs; i++)
        outputs[i] = tfl_output(b, i);
    tfl_add(b, ANEURALNETWORKS_BIDIRECTIONAL_SEQUENCE_LSTM, inputs, n, outputs, n_outputs);
}

/* data, weights, recurrent weights, bias, state */
static void map_rnn(struct tfl_builder *b)
{
    uint32_t inputs[6];

    tfl_need(b, b->op->n_inputs == 5, "%u inputs", b->op->n_inputs);
    float_inputs(b, inputs, 0, 5);
    inputs[5] = tfl_i32(b, b->op->options.activation);
    tfl_add(b, ANEURALNETWORKS_RNN, inputs, 6,
            (const uint32_t[]){tfl_next_state(b, RNN_STATE), tfl_output(b, 0)}, 2);
}

static void map_sequence_rnn(struct tfl_builder *b)
{
    uint32_t inputs[7], outputs[2];

    tfl_need(b, b->op->n_inputs == 5, "%u inputs", b->op->n_inputs);
    float_inputs(b, inputs, 0, 5);
    inputs[5] = tfl_i32(b, b->op->options.activation);
    inputs[6] = tfl_i32(b, b->op->options.time_major);
    outputs[0] = tfl_output(b, 0);
    if (b->keeps_states)
        outputs[1] = tfl_next_state(b, RNN_STATE);
    tfl_add(b, ANEURALNETWORKS_UNIDIRECTIONAL_SEQUENCE_RNN, inputs, 7, outputs,
            b->keeps_states ? 2 : 1);
}

/* data, weights of features, weights of time, bias, state */
static void map_svdf(struct tfl_builder *b)
{
    uint32_t inputs[7];

    tfl_need(b, b->op->n_inputs == 5, "%u inputs", b->op->n_inputs);
    float_inputs(b, inputs, 0, 5);
    inputs[5] = tfl_i32(b, b->op->options.rank);
    inputs[6] = tfl_i32(b, b->op->options.activation);
    tfl_add(b, ANEURALNETWORKS_SVDF, inputs, 7,
            (const uint32_t[]){tfl_next_state(b, RNN_STATE), tfl_output(b, 0)}, 2);
}

const struct tfl_mapping tfl_map_recurrent[] = {
    {TFL_UNIDIRECTIONAL_SEQUENCE_LSTM, map_sequence_lstm},
    {TFL_LSTM, map_lstm},
    {TFL_BIDIRECTIONAL_SEQUENCE_LSTM, map_bidirectional_lstm},
    {TFL_RNN, map_rnn},
    {TFL_UNIDIRECTIONAL_SEQUENCE_RNN, map_sequence_rnn},
    {TFL_SVDF, map_svdf},
    {0, NULL},
};
