/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/lstm/cell.h"

#include "drivers/cpu/kernels/rnn/matvec.h"

#include <math.h>
#include <string.h>

/* Sums in double: a mean of many floats that nearly cancel keeps its digits. */
static void normalize_gate(float *z, size_t n, const float *weights, const float *bias)
{
    double sum = 0.0, squares = 0.0, mean;
    float factor;

    for (size_t i = 0; i < n; i++)
        sum += (double)z[i];
    mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += ((double)z[i] - mean) * ((double)z[i] - mean);
    factor = (float)(1.0 / sqrt(squares / (double)n + 1e-8));
    for (size_t i = 0; i < n; i++)
        z[i] = (z[i] - (float)mean) * factor * weights[i] + bias[i];
}

/* A gate before its activation. */
static void gate_sum(const struct nn_lstm_cell *cell, enum nn_lstm_gate k,
                     const struct nn_lstm_io *io, float *z)
{
    const struct nn_lstm_gate_weights *gate = &cell->gates[k];
    size_t n = cell->n_cells;

    if (gate->layer_norm)
        memset(z, 0, n * sizeof(*z));
    else
        memcpy(z, gate->bias, n * sizeof(*z));
    nn_matvec_add(z, gate->input, io->x, n, cell->n_inputs);
    if (gate->aux)
        nn_matvec_add(z, gate->aux, io->aux, n, cell->n_aux);
    nn_matvec_add(z, gate->recurrent, io->h, n, cell->n_outputs);
    for (size_t i = 0; gate->peephole && i < n; i++)
        z[i] += gate->peephole[i] * io->c[i];
    if (gate->layer_norm)
        normalize_gate(z, n, gate->layer_norm, gate->bias);
}

static void clip_values(float *values, size_t n, float bound)
{
    for (size_t i = 0; bound > 0.0f && i < n; i++)
        values[i] = values[i] < -bound ? -bound : values[i] > bound ? bound : values[i];
}

static void project_output(const struct nn_lstm_cell *cell, const float *y, float *out)
{
    if (!cell->projection) {
        memcpy(out, y, cell->n_outputs * sizeof(*out));
        return;
    }
    if (cell->projection_bias)
        memcpy(out, cell->projection_bias, cell->n_outputs * sizeof(*out));
    else
        memset(out, 0, cell->n_outputs * sizeof(*out));
    nn_matvec_add(out, cell->projection, y, cell->n_outputs, cell->n_cells);
    clip_values(out, cell->n_outputs, cell->projection_clip);
}

/* The forget gate is first, because a coupled cell's input gate is made of it; j serves twice,
 * as the new value and as the activated cell. */
void nn_lstm_step(const struct nn_lstm_cell *cell, const struct nn_lstm_io *io, float *scratch)
{
    size_t n = cell->n_cells;
    float *i = scratch, *f = i + n, *j = f + n, *o = j + n, *c = io->c;

    gate_sum(cell, NN_LSTM_FORGET, io, f);
    nn_rnn_activate(NN_RNN_SIGMOID, f, n);
    if (cell->gates[NN_LSTM_INPUT].input) {
        gate_sum(cell, NN_LSTM_INPUT, io, i);
        nn_rnn_activate(NN_RNN_SIGMOID, i, n);
    } else {
        for (size_t u = 0; u < n; u++)
            i[u] = 1.0f - f[u];
    }
    gate_sum(cell, NN_LSTM_CELL, io, j);
    nn_rnn_activate(cell->activation, j, n);
    for (size_t u = 0; u < n; u++)
        c[u] = f[u] * c[u] + i[u] * j[u];
    clip_values(c, n, cell->cell_clip);

    gate_sum(cell, NN_LSTM_OUTPUT, io, o);
    nn_rnn_activate(NN_RNN_SIGMOID, o, n);
    memcpy(j, c, n * sizeof(*j));
    nn_rnn_activate(cell->activation, j, n);
    for (size_t u = 0; u < n; u++)
        j[u] *= o[u];
    project_output(cell, j, io->out);
}
