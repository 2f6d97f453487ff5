/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.h - which operand of an LSTM operation is what
 *
 * LSTM, the two sequence LSTMs and QUANTIZED_LSTM are the same cell with the
 * same rules about what may be omitted, and differ in where the operands stand.
 * A map says that for one cell of one operation; inference checks cells through
 * maps, and kernels take their operands through them.
 *
 * Sizes: I inputs, U cells (rows of the weights), O outputs (columns of the
 * recurrent weights), A auxiliary inputs. */
#ifndef NN_MODEL_LSTM_H
#define NN_MODEL_LSTM_H

#include <nnhal/types.h>

#include <stdbool.h>
#include <stdint.h>

/* The gates, in the order in which operands stand. */
enum nn_lstm_gate {
    NN_LSTM_INPUT = 0,
    NN_LSTM_FORGET = 1,
    NN_LSTM_CELL = 2,
    NN_LSTM_OUTPUT = 3,
    NN_LSTM_GATE_N = 4,
};

#define NN_LSTM_NO_OPERAND UINT32_MAX

/* Numbers of an operation's inputs; of a group of four, the input gate's, and
 * the others follow it. */
struct nn_lstm_map {
    uint32_t x;
    uint32_t weights;         /* 4: [U, I] */
    uint32_t recurrent;       /* 4: [U, O] */
    uint32_t peephole;        /* 3: input, forget, output gate: [U] */
    uint32_t bias;            /* 4: [U] */
    uint32_t projection;      /* [O, U] */
    uint32_t projection_bias; /* [O] */
    uint32_t output_state;    /* [B, O] */
    uint32_t cell_state;      /* [B, U] */
    uint32_t layer_norm;      /* 4: [U]; may be NN_LSTM_NO_OPERAND */
    uint32_t aux_weights;     /* 4: [U, A]; may be NN_LSTM_NO_OPERAND */
};

#define NN_BIDIRECTIONAL_LSTM_AUX 39

static const struct nn_lstm_map nn_lstm_map_basic = {.x = 0,
                                                     .weights = 1,
                                                     .recurrent = 5,
                                                     .peephole = 9,
                                                     .bias = 12,
                                                     .projection = 16,
                                                     .projection_bias = 17,
                                                     .output_state = 18,
                                                     .cell_state = 19,
                                                     .layer_norm = 23,
                                                     .aux_weights = NN_LSTM_NO_OPERAND};

static const struct nn_lstm_map nn_lstm_map_unidirectional = {.x = 0,
                                                              .weights = 1,
                                                              .recurrent = 5,
                                                              .peephole = 9,
                                                              .bias = 12,
                                                              .projection = 16,
                                                              .projection_bias = 17,
                                                              .output_state = 18,
                                                              .cell_state = 19,
                                                              .layer_norm = 24,
                                                              .aux_weights = NN_LSTM_NO_OPERAND};

static const struct nn_lstm_map nn_lstm_map_forward = {.x = 0,
                                                       .weights = 1,
                                                       .recurrent = 5,
                                                       .peephole = 9,
                                                       .bias = 12,
                                                       .projection = 16,
                                                       .projection_bias = 17,
                                                       .output_state = 35,
                                                       .cell_state = 36,
                                                       .layer_norm = 53,
                                                       .aux_weights = 40};

static const struct nn_lstm_map nn_lstm_map_backward = {.x = 0,
                                                        .weights = 18,
                                                        .recurrent = 22,
                                                        .peephole = 26,
                                                        .bias = 29,
                                                        .projection = 33,
                                                        .projection_bias = 34,
                                                        .output_state = 37,
                                                        .cell_state = 38,
                                                        .layer_norm = 57,
                                                        .aux_weights = 44};

static const struct nn_lstm_map nn_lstm_map_quantized = {.x = 0,
                                                         .weights = 1,
                                                         .recurrent = 5,
                                                         .peephole = 9,
                                                         .bias = 12,
                                                         .projection = 16,
                                                         .projection_bias = 17,
                                                         .output_state = 18,
                                                         .cell_state = 19,
                                                         .layer_norm = 20,
                                                         .aux_weights = NN_LSTM_NO_OPERAND};

#endif
