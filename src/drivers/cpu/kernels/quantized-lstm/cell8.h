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

#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/quantized-lstm/qcell.h"

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

/* nn_cell8_lower() - params of the operation; is_lite: TensorFlow Lite's, not NNAPI's. */
void nn_cell8_lower(const struct nn_lower *lower, bool is_lite, struct nn_cell8_params *params);

/* nn_cell8_open() - the view of an operation. */
struct nn_qcell nn_cell8_open(const struct nn_kernel_args *args);

#endif
