/* SPDX-License-Identifier: Apache-2.0 */
/* cell16.h - the LSTM cell of 16-bit activations and 8-bit weights, of nnhal.tflite
 *
 * As EvalLstm of TensorFlow Lite Micro computes it, in operations of 16 bits: a gate is the sum of two
 * FULLY_CONNECTED, each a code of scale 2^-12, and its activation is by the table (smooth.h). Products
 * of gates and states are MUL. Sums and products saturate. */
#ifndef NN_CPU_QUANTIZED_LSTM_CELL16_H
#define NN_CPU_QUANTIZED_LSTM_CELL16_H

#include "drivers/cpu/kernels/common/fixed-point.h"
#include "drivers/cpu/kernels/quantized-lstm/qcell.h"
#include "drivers/cpu/kernels/sixteen/smooth.h"

struct nn_cell16_params {
    struct nn_multiplier input[NN_LSTM_GATE_N], recurrent[NN_LSTM_GATE_N];
    struct nn_multiplier kept, taken, hidden; /* of products of two codes */
    struct nn_smooth cell_state;              /* brings it to the steps of the table */
    int32_t cell_clip;                        /* beyond all codes: none */
    uint32_t is_time_major;
};

/* nn_cell16_lower() - the step's params, and the table, which are its weights.
 * Returns: 0, or -ENOMEM. */
int nn_cell16_lower(struct nn_lower *lower);

/* nn_cell16_open() - the view of an operation. */
struct nn_qcell nn_cell16_open(const struct nn_kernel_args *args);

#endif
