/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/lstm/cell.h"

#include "drivers/cpu/kernels/rnn/matvec.h"

#include <math.h>

/* Sums in double: a mean of many floats that nearly cancel keeps its digits. */
static void normalize_gate(float *z, size_t n, const float *weights, const float *bias,
                           struct nn_pace *pace)
{
    double sum = 0.0, squares = 0.0, mean;
    float factor;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            sum += (double)z[i];
    mean = sum / (double)n;
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            squares += ((double)z[i] - mean) * ((double)z[i] - mean);
    factor = (float)(1.0 / sqrt(squares / (double)n + 1e-8));
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            z[i] = (z[i] - (float)mean) * factor * weights[i] + bias[i];
}

/* A gate before its activation. */
static void gate_sum(const struct nn_lstm_cell *cell, enum nn_lstm_gate k,
                     const struct nn_lstm_io *io, float *z, struct nn_pace *pace)
{
    const struct nn_lstm_gate_weights *gate = &cell->gates[k];
    size_t n = cell->n_cells;

    if (gate->layer_norm)
        nn_pace_fill(pace, z, 0, n * sizeof(*z));
    else
        nn_pace_copy(pace, z, gate->bias, n * sizeof(*z));
    nn_matvec_add(z, gate->input, io->x, n, cell->n_inputs, pace);
    if (gate->aux)
        nn_matvec_add(z, gate->aux, io->aux, n, cell->n_aux, pace);
    nn_matvec_add(z, gate->recurrent, io->h, n, cell->n_outputs, pace);
    for (struct nn_pace_part part = {0}; gate->peephole && nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            z[i] += gate->peephole[i] * io->c[i];
    if (gate->layer_norm)
        normalize_gate(z, n, gate->layer_norm, gate->bias, pace);
}

static void clip_values(float *values, size_t n, float bound, struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; bound > 0.0f && nn_pace_next_part(pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            values[i] = values[i] < -bound ? -bound : values[i] > bound ? bound : values[i];
}

static void project_output(const struct nn_lstm_cell *cell, const float *y, float *out,
                           struct nn_pace *pace)
{
    size_t n_bytes = cell->n_outputs * sizeof(*out);

    if (!cell->projection) {
        nn_pace_copy(pace, out, y, n_bytes);
        return;
    }
    if (cell->projection_bias)
        nn_pace_copy(pace, out, cell->projection_bias, n_bytes);
    else
        nn_pace_fill(pace, out, 0, n_bytes);
    nn_matvec_add(out, cell->projection, y, cell->n_outputs, cell->n_cells, pace);
    clip_values(out, cell->n_outputs, cell->projection_clip, pace);
}

/* The forget gate is first, because a coupled cell's input gate is made of it; j serves twice,
 * as the new value and as the activated cell. */
void nn_lstm_step(const struct nn_lstm_cell *cell, const struct nn_lstm_io *io, float *scratch,
                  struct nn_pace *pace)
{
    size_t n = cell->n_cells;
    float *i = scratch, *f = i + n, *j = f + n, *o = j + n, *c = io->c;

    gate_sum(cell, NN_LSTM_FORGET, io, f, pace);
    nn_rnn_activate(NN_RNN_SIGMOID, f, n, pace);
    if (cell->gates[NN_LSTM_INPUT].input) {
        gate_sum(cell, NN_LSTM_INPUT, io, i, pace);
        nn_rnn_activate(NN_RNN_SIGMOID, i, n, pace);
    } else {
        for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
            for (size_t u = part.begin; u < part.end; u++)
                i[u] = 1.0f - f[u];
    }
    gate_sum(cell, NN_LSTM_CELL, io, j, pace);
    nn_rnn_activate(cell->activation, j, n, pace);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            c[u] = f[u] * c[u] + i[u] * j[u];
    clip_values(c, n, cell->cell_clip, pace);

    gate_sum(cell, NN_LSTM_OUTPUT, io, o, pace);
    nn_rnn_activate(NN_RNN_SIGMOID, o, n, pace);
    nn_pace_copy(pace, j, c, n * sizeof(*j));
    nn_rnn_activate(cell->activation, j, n, pace);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 1, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            j[u] *= o[u];
    project_output(cell, j, io->out, pace);
}
