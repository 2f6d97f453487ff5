/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.h - which operand of an LSTM operation is what
 *
 * LSTM, the two sequence LSTMs and QUANTIZED_LSTM are the same cell with the
 * same rules about what may be omitted, and differ in where the operands stand. nnhal.tflite's
 * UNIDIRECTIONAL_SEQUENCE_LSTM has the operands of QUANTIZED_LSTM; with activations of 16 bits its
 * cell has none of the options.
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
    uint32_t peephole;        /* 3: input, forget, output gate: [U]; may be NN_LSTM_NO_OPERAND */
    uint32_t bias;            /* 4: [U] */
    uint32_t projection;      /* [O, U]; may be NN_LSTM_NO_OPERAND */
    uint32_t projection_bias; /* [O]; may be NN_LSTM_NO_OPERAND */
    uint32_t output_state;    /* [B, O] */
    uint32_t cell_state;      /* [B, U] */
    uint32_t layer_norm;      /* 4: [U]; may be NN_LSTM_NO_OPERAND */
    uint32_t aux_weights;     /* 4: [U, A]; may be NN_LSTM_NO_OPERAND */
};

/* Scalars and further inputs of the operations. */
enum {
    NN_LSTM_ACTIVATION = 20, /* LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM; the two clips follow it */
    NN_UNIDIRECTIONAL_LSTM_TIME_MAJOR = 23,
    NN_BIDIRECTIONAL_LSTM_AUX = 39,
    NN_BIDIRECTIONAL_LSTM_ACTIVATION = 48, /* the two clips follow it */
    NN_BIDIRECTIONAL_LSTM_MERGE = 51,
    NN_BIDIRECTIONAL_LSTM_TIME_MAJOR = 52,
    NN_QUANTIZED_LSTM_CELL_CLIP = 24,
    NN_QUANTIZED_LSTM_PROJECTION_CLIP = 25,
    NN_QUANTIZED_LSTM_GATE_SCALE = 26, /* 4 */
    NN_QUANTIZED_LSTM_HIDDEN_ZERO_POINT = 30,
    NN_QUANTIZED_LSTM_HIDDEN_SCALE = 31,
    NN_QUANTIZED_LSTM_TIME_MAJOR = 32, /* nnhal.tflite's UNIDIRECTIONAL_SEQUENCE_LSTM */
};

/* nnhal.tflite's UNIDIRECTIONAL_SEQUENCE_LSTM of 16 bits. */
enum {
    NN_LSTM_SIXTEEN_CELL_CLIP = 15,
    NN_LSTM_SIXTEEN_TIME_MAJOR = 16,
};

/* QUANTIZED_16BIT_LSTM, whose cell has none of the options. */
enum {
    NN_LSTM16_X = 0,
    NN_LSTM16_WEIGHTS = 1,   /* 4 */
    NN_LSTM16_RECURRENT = 5, /* 4 */
    NN_LSTM16_BIAS = 9,      /* 4 */
    NN_LSTM16_CELL_STATE = 13,
    NN_LSTM16_OUTPUT_STATE = 14,
};

/* A cell's weights stand in the same order everywhere. */
#define NN_LSTM_CELL_FROM(first)                                                                   \
    .x = 0, .weights = (first), .recurrent = (first) + 4, .peephole = (first) + 8,                 \
    .bias = (first) + 11, .projection = (first) + 15, .projection_bias = (first) + 16

static const struct nn_lstm_map nn_lstm_map_basic = {NN_LSTM_CELL_FROM(1), .output_state = 18,
                                                     .cell_state = 19, .layer_norm = 23,
                                                     .aux_weights = NN_LSTM_NO_OPERAND};

static const struct nn_lstm_map nn_lstm_map_unidirectional = {
    NN_LSTM_CELL_FROM(1), .output_state = 18, .cell_state = 19, .layer_norm = 24,
    .aux_weights = NN_LSTM_NO_OPERAND};

static const struct nn_lstm_map nn_lstm_map_forward = {NN_LSTM_CELL_FROM(1), .output_state = 35,
                                                       .cell_state = 36, .layer_norm = 53,
                                                       .aux_weights = 40};

static const struct nn_lstm_map nn_lstm_map_backward = {NN_LSTM_CELL_FROM(18), .output_state = 37,
                                                        .cell_state = 38, .layer_norm = 57,
                                                        .aux_weights = 44};

static const struct nn_lstm_map nn_lstm_map_quantized = {NN_LSTM_CELL_FROM(1), .output_state = 18,
                                                         .cell_state = 19, .layer_norm = 20,
                                                         .aux_weights = NN_LSTM_NO_OPERAND};

static const struct nn_lstm_map nn_lstm_map_sixteen = {.x = 0,
                                                       .weights = 1,
                                                       .recurrent = 5,
                                                       .bias = 9,
                                                       .output_state = 13,
                                                       .cell_state = 14,
                                                       .peephole = NN_LSTM_NO_OPERAND,
                                                       .projection = NN_LSTM_NO_OPERAND,
                                                       .projection_bias = NN_LSTM_NO_OPERAND,
                                                       .layer_norm = NN_LSTM_NO_OPERAND,
                                                       .aux_weights = NN_LSTM_NO_OPERAND};

#endif
