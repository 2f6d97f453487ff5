/* SPDX-License-Identifier: Apache-2.0 */
/* map-quantized-lstm.c - LSTM cells whose data is 8-bit or 16-bit
 *
 * There are two kinds of 8 bits. The basic one (uint8) has one matrix for all gates and becomes
 * QUANTIZED_16BIT_LSTM. The full one (int8), one step or a sequence of them, becomes nnhal.tflite's
 * UNIDIRECTIONAL_SEQUENCE_LSTM: NNAPI's QUANTIZED_LSTM rounds, clips and counts otherwise than
 * TensorFlow Lite in some cells, and has no sequences. That operation also is the cell of 16 bits, which
 * TensorFlow Lite Micro has. */
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
    TIME_MAJOR = 32,
    FULL_INPUTS = 33,
    N_INTERMEDIATES = 5,
    FILE_TANH = 4, /* ActivationFunctionType */
};

/* NULL: the file does not say it. */
static const struct tfl_tensor *intermediate_tensor(const struct tfl_builder *b, uint32_t i)
{
    return b->op->intermediates[i] < 0 ? NULL : &b->graph->tensors[b->op->intermediates[i]];
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

/* The codes of what the cell puts out before a projection. TensorFlow Lite subtracts the zero point,
 * and reads these codes without a projection, too. */
static void set_hidden(struct tfl_builder *b, uint32_t *inputs)
{
    const struct tfl_tensor *tensor = intermediate_tensor(b, N_INTERMEDIATES - 1);

    tfl_need(b, tensor && tensor->scale > 0, "the scale of the hidden values is missing");
    tfl_need(b, tensor->zero_point >= INT8_MIN && tensor->zero_point <= INT8_MAX,
             "the zero point of the hidden values is %d, which int8 does not have",
             tensor->zero_point);
    inputs[0] = tfl_i32(b, tensor->zero_point);
    inputs[1] = tfl_f32(b, tensor->scale);
}

static void full_inputs(struct tfl_builder *b, uint32_t inputs[FULL_INPUTS])
{
    inputs[DATA] = tfl_input(b, DATA);
    for (uint32_t i = DATA + 1; i < FIRST_PEEPHOLE; i++)
        inputs[i] = weights_operand(b, i);
    for (uint32_t i = FIRST_PEEPHOLE; i < FIRST_BIAS; i++)
        inputs[i] = typed_operand(b, i, TFL_INT16, ANEURALNETWORKS_TENSOR_QUANT16_SYMM);
    for (uint32_t i = FIRST_BIAS; i < PROJECTION; i++)
        inputs[i] = typed_operand(b, i, TFL_INT32, ANEURALNETWORKS_TENSOR_INT32);
    inputs[PROJECTION] = weights_operand(b, PROJECTION);
    inputs[PROJECTION_BIAS] = typed_operand(b, PROJECTION_BIAS, TFL_INT32,
                                            ANEURALNETWORKS_TENSOR_INT32);
    inputs[STATE] = tfl_input(b, STATE);
    inputs[CELL] = tfl_input(b, CELL);
    for (uint32_t i = FIRST_NORM; i < CLIPS; i++)
        inputs[i] = typed_operand(b, i, TFL_INT16, ANEURALNETWORKS_TENSOR_QUANT16_SYMM);
    inputs[CLIPS] = tfl_f32(b, b->op->options.cell_clip);
    inputs[CLIPS + 1] = tfl_f32(b, b->op->options.proj_clip);
    for (uint32_t gate = 0; gate < N_GATES; gate++)
        inputs[GATE_SCALES + gate] = tfl_f32(b, gate_scale(b, gate));
    set_hidden(b, inputs + HIDDEN);
    inputs[TIME_MAJOR] = tfl_bool(b, b->op->options.time_major);
}

/* Whether the data is int8 and the states are there; the cell's scale a power of two. */
static bool is_full(struct tfl_builder *b, uint32_t rank)
{
    const struct tfl_tensor *data = tfl_in(b, DATA), *cell = tfl_in(b, CELL);
    const struct tfl_tensor *state = tfl_in(b, STATE), *out = tfl_out(b, 0);
    int exponent;

    if (!data || data->n_dimensions != rank || !out || out->type != TFL_INT8)
        tfl_fail(b, -ENOTSUP, "data and output must be int8, the data of rank %u", rank);
    else if (b->op->n_intermediates != N_INTERMEDIATES)
        tfl_fail(b, -ENOTSUP, "%u intermediate tensors, in place of %u", b->op->n_intermediates,
                 N_INTERMEDIATES);
    else if (!state || state->type != TFL_INT8 || state->n_dimensions != 2 || !cell ||
             cell->type != TFL_INT16 || cell->n_dimensions != 2)
        tfl_fail(b, -ENOTSUP, "a cell of int8 needs a state of int8 and one of int16");
    else if (frexpf(cell->scale, &exponent) != 0.5f || exponent > -8 || exponent < -14)
        tfl_fail(b, -ENOTSUP, "the cell state's scale must be 2^-15 to 2^-9");
    return b->result == 0;
}

void tfl_add_sequence_lstm(struct tfl_builder *b, int32_t type, const uint32_t *inputs, uint32_t n)
{
    uint32_t outputs[3];

    outputs[0] = tfl_output(b, 0);
    if (b->keeps_states) {
        outputs[1] = tfl_next_state(b, STATE);
        outputs[2] = tfl_next_state(b, CELL);
    }
    tfl_add(b, type, inputs, n, outputs, b->keeps_states ? 3 : 1);
}

static void add_cell(struct tfl_builder *b, const uint32_t *inputs, uint32_t n)
{
    tfl_add_sequence_lstm(b, tfl_extension_operation(b, NNHAL_TFLITE_UNIDIRECTIONAL_SEQUENCE_LSTM),
                          inputs, n);
}

static void map_full(struct tfl_builder *b, uint32_t rank)
{
    uint32_t inputs[FULL_INPUTS];

    if (!is_full(b, rank))
        return;
    full_inputs(b, inputs);
    add_cell(b, inputs, FULL_INPUTS);
}

void tfl_map_full_lstm(struct tfl_builder *b)
{
    map_full(b, 2);
}

void tfl_map_full_sequence_lstm(struct tfl_builder *b)
{
    map_full(b, 3);
}

/* ---- the form of 16 bits ---- */

enum { SIXTEEN_INPUTS = 17 };

static bool is_wide(const struct tfl_tensor *tensor, uint32_t rank)
{
    return tensor && tensor->type == TFL_INT16 && tensor->n_dimensions == rank;
}

/* Whether the file has the parts of a plain cell and no others. Intermediate tensors say nothing here. */
static bool is_plain(struct tfl_builder *b)
{
    if (!is_wide(tfl_in(b, DATA), 3) || !is_wide(tfl_in(b, STATE), 2) ||
        !is_wide(tfl_in(b, CELL), 2) || !is_wide(tfl_out(b, 0), 3))
        tfl_fail(b, -ENOTSUP, "data, states and output of a cell of 16 bits must be int16");
    else if (b->op->options.activation != FILE_TANH)
        tfl_fail(b, -ENOTSUP, "a cell of 16 bits has the activation %d, not TANH",
                 b->op->options.activation);
    for (uint32_t i = DATA + 1; i < CLIPS && b->result == 0; i++) {
        bool is_part = i < FIRST_PEEPHOLE || (i >= FIRST_BIAS && i < PROJECTION) || i == STATE ||
                       i == CELL;

        if (!tfl_in(b, i) != !is_part)
            tfl_fail(b, -ENOTSUP, "input %u must be %s in a cell of 16 bits", i,
                     is_part ? "given" : "left out");
    }
    return b->result == 0;
}

/* Biases have 64 bits, or 32. */
static uint32_t sixteen_bias(struct tfl_builder *b, uint32_t i)
{
    const struct tfl_tensor *tensor = tfl_in(b, i);

    if (!tensor->data || (tensor->type != TFL_INT64 && tensor->type != TFL_INT32))
        tfl_fail(b, -ENOTSUP, "input %u, a bias, must be a constant of int64 or int32", i);
    return tfl_wide(b, i);
}

void tfl_map_sixteen_sequence_lstm(struct tfl_builder *b)
{
    uint32_t inputs[SIXTEEN_INPUTS], n = 0;

    if (!is_plain(b))
        return;
    inputs[n++] = tfl_input(b, DATA);
    for (uint32_t i = DATA + 1; i < FIRST_PEEPHOLE; i++)
        inputs[n++] = weights_operand(b, i);
    for (uint32_t i = FIRST_BIAS; i < PROJECTION; i++)
        inputs[n++] = sixteen_bias(b, i);
    inputs[n++] = tfl_input(b, STATE);
    inputs[n++] = tfl_input(b, CELL);
    inputs[n++] = tfl_f32(b, b->op->options.cell_clip);
    inputs[n++] = tfl_bool(b, b->op->options.time_major);
    add_cell(b, inputs, n);
}
