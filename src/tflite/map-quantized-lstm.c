/* SPDX-License-Identifier: Apache-2.0 */
/* map-quantized-lstm.c - LSTM cells whose data is 8-bit
 *
 * There are two kinds. The basic one (uint8) has one matrix for all gates and
 * becomes QUANTIZED_16BIT_LSTM; the full one (int8) becomes QUANTIZED_LSTM. Both of
 * NNAPI's operations are one step of time: a sequence is one for each step. */
#include "tflite/map.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the basic form ---- */

enum { BASIC_DATA, BASIC_OUTPUT, BASIC_WEIGHTS, BASIC_BIAS, BASIC_CELL, BASIC_INPUTS };

enum { N_GATES = 4 };

/* Which rows of the file's matrix are the gates input, forget, cell and output. */
static const uint32_t basic_rows[N_GATES] = {0, 2, 1, 3};

/* Columns [first, first + n) of a gate's rows, as an operand of its own. */
static uint32_t basic_weights(struct tfl_builder *b, uint32_t gate, uint32_t first, uint32_t n)
{
    const struct tfl_tensor *all = tfl_in(b, BASIC_WEIGHTS);
    uint32_t n_rows = all->dimensions[0] / N_GATES, width = all->dimensions[1];
    struct tfl_form form = tfl_form_of(b, all);
    uint8_t *part = tfl_keep(b, (size_t)n_rows * n);

    for (uint32_t r = 0; part && r < n_rows; r++)
        memcpy(part + (size_t)r * n,
               all->data + ((size_t)basic_rows[gate] * n_rows + r) * width + first, n);
    form.dimensions[0] = n_rows;
    form.dimensions[1] = n;
    return part ? tfl_constant(b, &form, part, (size_t)n_rows * n) : TFL_NO_OPERAND;
}

static uint32_t basic_bias(struct tfl_builder *b, uint32_t gate)
{
    const struct tfl_tensor *all = tfl_in(b, BASIC_BIAS);
    uint32_t n = all->dimensions[0] / N_GATES;
    const struct tfl_form form = {.type = ANEURALNETWORKS_TENSOR_INT32,
                                  .n_dimensions = 1,
                                  .dimensions = {n},
                                  .scale = tfl_in(b, BASIC_WEIGHTS)->scale / 128};

    return tfl_constant(b, &form, all->data + (size_t)basic_rows[gate] * n * sizeof(int32_t),
                        n * sizeof(int32_t));
}

/* Codes that stand for -1 to 1, the only ones that the operation takes. */
static bool is_unit(const struct tfl_tensor *tensor)
{
    return tensor && tensor->type == TFL_UINT8 && tensor->n_dimensions == 2 &&
           tensor->scale == 1.0f / 128 && tensor->zero_point == 128;
}

/* Whether weights and biases are constants of the sizes that belong to the data's. */
static bool has_basic_sizes(const struct tfl_builder *b)
{
    const struct tfl_tensor *weights = tfl_in(b, BASIC_WEIGHTS), *bias = tfl_in(b, BASIC_BIAS);
    uint64_t n_outputs = tfl_in(b, BASIC_OUTPUT)->dimensions[1];

    return weights && weights->data && !weights->is_sparse && weights->type == TFL_UINT8 &&
           weights->n_dimensions == 2 && bias && bias->data && !bias->is_sparse &&
           bias->type == TFL_INT32 && bias->n_dimensions == 1 &&
           weights->dimensions[0] == N_GATES * n_outputs &&
           bias->dimensions[0] == N_GATES * n_outputs &&
           weights->dimensions[1] == n_outputs + tfl_in(b, BASIC_DATA)->dimensions[1];
}

/* The operation pairs rows of [recurrent, input] weights with [input, output]
 * data, as the file has them in one row: the row is cut where it expects it. */
void tfl_map_basic_lstm(struct tfl_builder *b)
{
    const struct tfl_tensor *data = tfl_in(b, BASIC_DATA), *output = tfl_in(b, BASIC_OUTPUT);
    const struct tfl_tensor *cell = tfl_in(b, BASIC_CELL);
    uint32_t inputs[BASIC_INPUTS + 10], n = 0, n_outputs;

    tfl_need(b, b->op->n_inputs == BASIC_INPUTS, "%u inputs", b->op->n_inputs);
    tfl_need(b, is_unit(data) && is_unit(output),
             "a basic cell's data must be uint8 of scale 1/128 and zero point 128");
    tfl_need(b, cell && cell->type == TFL_INT16 && cell->scale == 1.0f / 2048,
             "a basic cell's state must be int16 of scale 1/2048");
    tfl_need(b, has_basic_sizes(b), "weights and biases that are no constants for all four gates");
    n_outputs = output->dimensions[1];
    inputs[n++] = tfl_input(b, BASIC_DATA);
    for (uint32_t gate = 0; gate < N_GATES; gate++)
        inputs[n++] = basic_weights(b, gate, n_outputs, data->dimensions[1]);
    for (uint32_t gate = 0; gate < N_GATES; gate++)
        inputs[n++] = basic_weights(b, gate, 0, n_outputs);
    for (uint32_t gate = 0; gate < N_GATES; gate++)
        inputs[n++] = basic_bias(b, gate);
    inputs[n++] = tfl_input(b, BASIC_CELL);
    inputs[n++] = tfl_input(b, BASIC_OUTPUT);
    tfl_add(b, ANEURALNETWORKS_QUANTIZED_16BIT_LSTM, inputs, n,
            (const uint32_t[]){tfl_output(b, 1), tfl_output(b, 0)}, 2);
}

/* ---- the full form ---- */

enum {
    DATA = 0,
    FIRST_PEEPHOLE = 9,
    FIRST_BIAS = 12,
    PROJECTION = 16,
    PROJECTION_BIAS = 17,
    STATE = 18,
    CELL = 19,
    FIRST_NORM = 20,
    CLIPS = 24,
    GATE_SCALES = 26,
    HIDDEN = 30,
    FULL_INPUTS = 32,
    N_INTERMEDIATES = 5,
    MAX_STEPS = 256,
};

static const struct tfl_tensor *intermediate_tensor(const struct tfl_builder *b, uint32_t i)
{
    if (i >= b->op->n_intermediates || b->op->intermediates[i] < 0)
        return NULL;
    return &b->graph->tensors[b->op->intermediates[i]];
}

/* Input i of one of these types, or left out. */
static uint32_t weights_operand(struct tfl_builder *b, uint32_t i)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);

    if (!tensor)
        return tfl_omitted(b, ANEURALNETWORKS_TENSOR_QUANT8_SYMM);
    if (tensor->type != TFL_INT8 || tensor->n_scales != 1 || tensor->zero_point != 0) {
        tfl_fail(b, -ENOTSUP, "input %u: weights must be int8 with one scale and zero point 0", i);
        return TFL_NO_OPERAND;
    }
    return tfl_symmetric(b, i);
}

static uint32_t typed_operand(struct tfl_builder *b, uint32_t i, int32_t file_type, int32_t type)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);

    if (tensor && tensor->type != file_type)
        tfl_fail(b, -ENOTSUP, "input %u has the type %d in a cell of int8", i, tensor->type);
    return tfl_input_or_omitted(b, i, type);
}

static bool has_norms(const struct tfl_builder *b)
{
    return tfl_in(b, FIRST_NORM + 1) != NULL;
}

/* The scale of a gate's sums: the file says it where they are normalized, else
 * it is what the activation functions take. */
static float gate_scale(struct tfl_builder *b, uint32_t gate)
{
    const struct tfl_tensor *tensor = intermediate_tensor(b, gate);

    if (!has_norms(b))
        return 0x1p-12f;
    if (!tensor)
        tfl_fail(b, -ENOTSUP, "the scale of gate %u is missing", gate);
    return tensor ? tensor->scale : 0;
}

/* What the cell puts out before a projection; without one, its output. The
 * operation subtracts its zero point, so that it gets the other sign. */
static void set_hidden(struct tfl_builder *b, uint32_t *inputs)
{
    const struct tfl_tensor *tensor = tfl_in(b, PROJECTION)
                                          ? intermediate_tensor(b, N_INTERMEDIATES - 1)
                                          : tfl_out(b, 0);

    if (!tensor || !(tensor->scale > 0)) {
        tfl_fail(b, -ENOTSUP, "the scale of the hidden values is missing");
        return;
    }
    tfl_need(b, tensor->zero_point >= INT8_MIN && tensor->zero_point <= INT8_MAX,
             "the zero point of the hidden values is %d, which int8 does not have",
             tensor->zero_point);
    inputs[0] = tfl_i32(b, -tensor->zero_point);
    inputs[1] = tfl_f32(b, tensor->scale);
}

/* All inputs but data and states, which change from step to step. */
static void full_inputs(struct tfl_builder *b, uint32_t inputs[FULL_INPUTS])
{
    for (uint32_t i = DATA + 1; i < FIRST_PEEPHOLE; i++)
        inputs[i] = weights_operand(b, i);
    for (uint32_t i = FIRST_PEEPHOLE; i < FIRST_BIAS; i++)
        inputs[i] = typed_operand(b, i, TFL_INT16, ANEURALNETWORKS_TENSOR_QUANT16_SYMM);
    for (uint32_t i = FIRST_BIAS; i < PROJECTION; i++)
        inputs[i] = typed_operand(b, i, TFL_INT32, ANEURALNETWORKS_TENSOR_INT32);
    inputs[PROJECTION] = weights_operand(b, PROJECTION);
    inputs[PROJECTION_BIAS] = typed_operand(b, PROJECTION_BIAS, TFL_INT32,
                                            ANEURALNETWORKS_TENSOR_INT32);
    for (uint32_t i = FIRST_NORM; i < CLIPS; i++)
        inputs[i] = typed_operand(b, i, TFL_INT16, ANEURALNETWORKS_TENSOR_QUANT16_SYMM);
    inputs[CLIPS] = tfl_f32(b, b->op->options.cell_clip);
    inputs[CLIPS + 1] = tfl_f32(b, b->op->options.proj_clip);
    for (uint32_t gate = 0; gate < N_GATES; gate++)
        inputs[GATE_SCALES + gate] = tfl_f32(b, gate_scale(b, gate));
    set_hidden(b, inputs + HIDDEN);
}

/* Whether the data is int8 and the states are there; the cell's scale a power of two. */
static bool is_full(struct tfl_builder *b, uint32_t rank)
{
    const struct tfl_tensor *data = tfl_in(b, DATA), *cell = tfl_in(b, CELL);
    const struct tfl_tensor *state = tfl_in(b, STATE), *out = tfl_out(b, 0);
    int exponent;

    if (!data || data->n_dimensions != rank || !out || out->type != TFL_INT8 ||
        out->n_dimensions != rank)
        tfl_fail(b, -ENOTSUP, "data and output must be int8 of rank %u", rank);
    else if (!state || state->type != TFL_INT8 || state->n_dimensions != 2 || !cell ||
             cell->type != TFL_INT16 || cell->n_dimensions != 2)
        tfl_fail(b, -ENOTSUP, "a cell of int8 needs a state of int8 and one of int16");
    else if (frexpf(cell->scale, &exponent) != 0.5f || exponent > -8 || exponent < -14)
        tfl_fail(b, -ENOTSUP, "the cell state's scale must be 2^-15 to 2^-9");
    return b->result == 0;
}

/* One step: data and states in, states and output out. */
static void full_step(struct tfl_builder *b, uint32_t inputs[FULL_INPUTS], uint32_t data,
                      uint32_t output)
{
    struct tfl_form state = tfl_form_of(b, tfl_in(b, STATE));
    struct tfl_form cell = tfl_form_of(b, tfl_in(b, CELL));
    uint32_t outputs[3] = {tfl_temporary(b, &state), tfl_temporary(b, &cell), output};

    inputs[DATA] = data;
    tfl_add(b, ANEURALNETWORKS_QUANTIZED_LSTM, inputs, FULL_INPUTS, outputs, 3);
    inputs[STATE] = outputs[0];
    inputs[CELL] = outputs[1];
    tfl_set_next_state(b, STATE, outputs[0]);
    tfl_set_next_state(b, CELL, outputs[1]);
}

void tfl_map_full_lstm(struct tfl_builder *b)
{
    uint32_t inputs[FULL_INPUTS];

    if (!is_full(b, 2))
        return;
    full_inputs(b, inputs);
    inputs[STATE] = tfl_input(b, STATE);
    inputs[CELL] = tfl_input(b, CELL);
    full_step(b, inputs, tfl_input(b, DATA), tfl_output(b, 0));
}

/* ---- sequences ---- */

/* A temporary of rank 2 or 3 as of one step of the tensor, [batch, size] or with a 1 for time. */
static uint32_t step_temporary(struct tfl_builder *b, const struct tfl_tensor *tensor,
                               uint32_t time, bool has_time)
{
    struct tfl_form form = tfl_form_of(b, tensor);

    form.dimensions[time] = 1;
    if (!has_time) {
        form.dimensions[0] = tensor->dimensions[1 - time];
        form.dimensions[1] = tensor->dimensions[2];
        form.n_dimensions = 2;
    }
    return tfl_temporary(b, &form);
}

static void add_reshape(struct tfl_builder *b, uint32_t from, uint32_t to, const int32_t *shape,
                        uint32_t rank)
{
    tfl_add1(b, ANEURALNETWORKS_RESHAPE, to, from, tfl_i32s(b, shape, rank));
}

/* One step of the sequence, from and to slices of [.., 1, ..]. */
static void sequence_step(struct tfl_builder *b, uint32_t inputs[FULL_INPUTS], uint32_t time,
                          uint32_t from, uint32_t to)
{
    const struct tfl_tensor *data = tfl_in(b, DATA), *out = tfl_out(b, 0);
    int32_t n_batches = (int32_t)data->dimensions[1 - time];
    const int32_t flat[] = {n_batches, (int32_t)data->dimensions[2]};
    const int32_t slice[] = {time ? n_batches : 1, time ? 1 : n_batches,
                             (int32_t)out->dimensions[2]};
    uint32_t step_in = step_temporary(b, data, time, false);
    uint32_t step_out = step_temporary(b, out, time, false);

    add_reshape(b, from, step_in, flat, 2);
    full_step(b, inputs, step_in, step_out);
    add_reshape(b, step_out, to, slice, 3);
}

void tfl_map_full_sequence_lstm(struct tfl_builder *b)
{
    const struct tfl_tensor *data = tfl_in(b, DATA);
    uint32_t time = b->op->options.time_major ? 0 : 1, n;
    uint32_t inputs[FULL_INPUTS], from[MAX_STEPS], to[MAX_STEPS + 1];

    if (!is_full(b, 3))
        return;
    n = data->dimensions[time];
    tfl_need(b, n > 0 && n <= MAX_STEPS, "%u steps of int8, each an operation; %u can be mapped", n,
             MAX_STEPS);
    full_inputs(b, inputs);
    inputs[STATE] = tfl_input(b, STATE);
    inputs[CELL] = tfl_input(b, CELL);
    for (uint32_t i = 0; i < n; i++) {
        from[i] = step_temporary(b, data, time, true);
        to[i] = step_temporary(b, tfl_out(b, 0), time, true);
    }
    tfl_add(
        b, ANEURALNETWORKS_SPLIT,
        (const uint32_t[]){tfl_input(b, DATA), tfl_i32(b, (int32_t)time), tfl_i32(b, (int32_t)n)},
        3, from, n);
    for (uint32_t i = 0; i < n; i++)
        sequence_step(b, inputs, time, from[i], to[i]);
    to[n] = tfl_i32(b, (int32_t)time);
    tfl_add(b, ANEURALNETWORKS_CONCATENATION, to, n + 1, (const uint32_t[]){tfl_output(b, 0)}, 1);
}
