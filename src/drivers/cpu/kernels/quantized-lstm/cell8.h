/* SPDX-License-Identifier: Apache-2.0 */
/* cell8.h - the LSTM cell of 8-bit weights and activations, 16-bit cell states and gates
 *
 * QUANTIZED_LSTM and nnhal.tflite's UNIDIRECTIONAL_SEQUENCE_LSTM are steps of it, with the same
 * operands (nn_lstm_map_quantized). The sums of a gate are int32, and every later step of it an
 * int16, saturated. The biases belong to the layer normalization where there is one, and are added
 * to the first sum where there is none. Two things differ: what a variance below 1 counts as in a
 * normalization, and which scale the clip of a projection is in. */
#ifndef NN_CPU_QUANTIZED_LSTM_CELL8_H
#define NN_CPU_QUANTIZED_LSTM_CELL8_H

#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/common/fixed-point.h"

#include "model/lstm.h"

struct nn_cell8_gate {
    struct nn_multiplier input, recurrent, peephole, layer_norm;
    int32_t lowest_variance;
};

struct nn_cell8_params {
    struct nn_cell8_gate gates[NN_LSTM_GATE_N];
    struct nn_multiplier hidden, projection;
    int32_t cell_shift; /* the cell state's scale is 2^cell_shift */
    int32_t cell_clip;  /* 0: none */
    int32_t projection_clip;
    int32_t hidden_zero_point;
    uint32_t is_time_major; /* of a sequence */
};

/* A worker's view of the operation. */
struct nn_cell8 {
    const struct nn_kernel_args *args;
    const struct nn_cell8_params *params;
    size_t n_inputs, n_cells, n_outputs;
    struct nn_pace *pace; /* the worker's; a step that it ends leaves results undefined */
};

/* What a step of one batch reads and writes. */
struct nn_cell8_io {
    const int8_t *x;    /* [inputs] */
    const int8_t *h;    /* [outputs] */
    const int16_t *old; /* [cells] */
    int16_t *c;         /* [cells]; may be old */
    int8_t *out;        /* [outputs] */
};

/* nn_cell8_lower() - params of the operation; is_lite: TensorFlow Lite's, not NNAPI's. */
void nn_cell8_lower(const struct nn_lower *lower, bool is_lite, struct nn_cell8_params *params);

/* nn_cell8_open() - the view of an operation. */
struct nn_cell8 nn_cell8_open(const struct nn_kernel_args *args);

/* nn_cell8_scratch() - int16s of scratch for a step. */
static inline size_t nn_cell8_scratch(size_t n_cells)
{
    return n_cells * (NN_LSTM_GATE_N + 1);
}

/* nn_cell8_cost() - of a step, as nn_parallel_for() counts. */
static inline size_t nn_cell8_cost(const struct nn_cell8 *cell)
{
    return cell->n_cells * (cell->n_inputs + cell->n_outputs + 100);
}

/* nn_cell8_step() - one step of one batch. */
void nn_cell8_step(const struct nn_cell8 *cell, const struct nn_cell8_io *io, int16_t *scratch);

#endif
