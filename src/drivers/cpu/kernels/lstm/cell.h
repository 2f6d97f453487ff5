/* SPDX-License-Identifier: Apache-2.0 */
/* cell.h - the float LSTM cell of all LSTM operations
 *
 * For each gate k of input, forget, cell and output:
 *
 *     z = Wx x + Waux aux + Wh h  [+ peephole * c]
 *     z = z + b                          without layer normalization
 *     z = w * (z - mean) / sqrt(variance + 1e-8) + b       with it
 *
 * then c' = sigmoid(f) * c + sigmoid(i) * g(j), clipped; output gate with the
 * new c; y = sigmoid(o) * g(c'); projected and clipped, y is output and h'.
 * A coupled cell has no input gate: it is 1 - sigmoid(f).
 * All arithmetic is float32; pointers of what is not there are NULL. */
#ifndef NN_CPU_LSTM_CELL_H
#define NN_CPU_LSTM_CELL_H

#include "base/stop.h"
#include "model/lstm.h"

#include <stddef.h>
#include <stdint.h>

struct nn_lstm_gate_weights {
    const float *input;      /* [cells, inputs] */
    const float *aux;        /* [cells, aux] */
    const float *recurrent;  /* [cells, outputs] */
    const float *peephole;   /* [cells] */
    const float *bias;       /* [cells] */
    const float *layer_norm; /* [cells] */
};

struct nn_lstm_cell {
    size_t n_inputs, n_aux, n_cells, n_outputs;
    struct nn_lstm_gate_weights gates[NN_LSTM_GATE_N]; /* input.input NULL: coupled */
    const float *projection;                           /* [outputs, cells] */
    const float *projection_bias;                      /* [outputs] */
    int32_t activation;
    float cell_clip, projection_clip; /* not above 0: none */
};

/* nn_lstm_scratch() - floats of scratch for a step. */
static inline size_t nn_lstm_scratch(size_t n_cells)
{
    return NN_LSTM_GATE_N * n_cells;
}

/* What a step reads and writes. */
struct nn_lstm_io {
    const float *x;   /* [inputs] */
    const float *aux; /* [aux] */
    const float *h;   /* [outputs] */
    float *c;         /* [cells], changed */
    float *out;       /* [outputs]; may be h */
};

/* nn_lstm_step() - one step of one batch; if the pace ends, results are undefined. */
void nn_lstm_step(const struct nn_lstm_cell *cell, const struct nn_lstm_io *io, float *scratch,
                  struct nn_pace *pace);

#endif
