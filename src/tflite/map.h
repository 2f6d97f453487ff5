/* SPDX-License-Identifier: Apache-2.0 */
/* map.h - from a TensorFlow Lite operation to NNAPI operations
 *
 * A mapping adds the operands and operations that compute what the operation
 * computes, or refuses it with tfl_fail(). Which operation becomes which is what
 * TensorFlow Lite's NNAPI delegate does at feature level 7 and up. */
#ifndef NN_TFLITE_MAP_H
#define NN_TFLITE_MAP_H

#include "tflite/builder.h"

#include <nnhal/tflite-extension.h>

/* NNAPI takes no higher rank in many operations. */
enum { TFL_NNAPI_MAX_RANK = 4 };

typedef void (*tfl_map_fn)(struct tfl_builder *b);

struct tfl_mapping {
    int32_t code; /* BuiltinOperator */
    tfl_map_fn map;
};

/* The tables of the families; each ends with a NULL map. */
extern const struct tfl_mapping tfl_map_elementwise[];
extern const struct tfl_mapping tfl_map_layers[];
extern const struct tfl_mapping tfl_map_shape[];
extern const struct tfl_mapping tfl_map_reduce[];
extern const struct tfl_mapping tfl_map_recurrent[];
extern const struct tfl_mapping tfl_map_extension[];

/* tfl_is_mapped() - whether there is a mapping for the operation, which may yet refuse it. */
bool tfl_is_mapped(const struct tfl_operator *op);

/* tfl_is_folded() - whether the operation makes a constant of a constant: a DEQUANTIZE of weights.
 * It adds no operation to the model, and its output can be no output of the model. */
bool tfl_is_folded(const struct tfl_graph *graph, const struct tfl_operator *op);

/* tfl_map() - maps the operation b->op. */
void tfl_map(struct tfl_builder *b);

/* tfl_map_detection() - the custom operation TFLite_Detection_PostProcess. */
void tfl_map_detection(struct tfl_builder *b);

/* tfl_map_basic_lstm() and the like - LSTM cells of codes: the basic form of uint8, the full form
 * of int8, one step or a sequence; a sequence of int16. */
void tfl_map_basic_lstm(struct tfl_builder *b);
void tfl_map_full_lstm(struct tfl_builder *b);
void tfl_map_full_sequence_lstm(struct tfl_builder *b);
void tfl_map_sixteen_sequence_lstm(struct tfl_builder *b);

/* tfl_add_sequence_lstm() - a sequence's operation of these inputs: its outputs are that of b->op and, where
 * they are kept, its states. */
void tfl_add_sequence_lstm(struct tfl_builder *b, int32_t type, const uint32_t *inputs, uint32_t n);

/* tfl_is_relabelled() - whether a tensor of the same type as from has another scale or zero point: what
 * moves codes from one to the other gives them another meaning. */
bool tfl_is_relabelled(const struct tfl_tensor *from, const struct tfl_tensor *to);

/* tfl_float_of() - a float32 form of a tensor's operand: dequantized where it is
 * quantized, constants when the model is built. */
uint32_t tfl_float_of(struct tfl_builder *b, uint32_t input);

/* tfl_next_state() - a temporary for what input i, a state, becomes by the operation. */
uint32_t tfl_next_state(struct tfl_builder *b, uint32_t i);

/* tfl_shape() - the dimensions of a form as a list of integers. */
uint32_t tfl_shape(struct tfl_builder *b, const struct tfl_form *form);

/* tfl_multiply() - joins another dimension with one; refuses what does not fit. */
void tfl_multiply(struct tfl_builder *b, uint32_t *dimension, uint32_t by);

/* tfl_operation_on() - NNAPI's operation, or nnhal.tflite's of the same name if the tensor, which it
 * reads or gives, has 16 bits, a rank above 4 that NNAPI's does not take, or a type that it lacks. */
int32_t tfl_operation_on(struct tfl_builder *b, const struct tfl_tensor *tensor, int32_t nnapi);

/* tfl_activation() - the fused activation as a FuseCode operand; refuses those that
 * NNAPI does not fuse. */
uint32_t tfl_activation(struct tfl_builder *b);

/* BuiltinOperator numbers of the format. */
enum tfl_code {
    TFL_ADD = 0,
    TFL_AVERAGE_POOL_2D = 1,
    TFL_CONCATENATION = 2,
    TFL_CONV_2D = 3,
    TFL_DEPTHWISE_CONV_2D = 4,
    TFL_DEPTH_TO_SPACE = 5,
    TFL_DEQUANTIZE = 6,
    TFL_EMBEDDING_LOOKUP = 7,
    TFL_FLOOR = 8,
    TFL_FULLY_CONNECTED = 9,
    TFL_HASHTABLE_LOOKUP = 10,
    TFL_L2_NORMALIZATION = 11,
    TFL_L2_POOL_2D = 12,
    TFL_LOCAL_RESPONSE_NORMALIZATION = 13,
    TFL_LOGISTIC = 14,
    TFL_LSH_PROJECTION = 15,
    TFL_LSTM = 16,
    TFL_MAX_POOL_2D = 17,
    TFL_MUL = 18,
    TFL_RELU = 19,
    TFL_RELU_N1_TO_1 = 20,
    TFL_RELU6 = 21,
    TFL_RESHAPE = 22,
    TFL_RESIZE_BILINEAR = 23,
    TFL_RNN = 24,
    TFL_SOFTMAX = 25,
    TFL_SPACE_TO_DEPTH = 26,
    TFL_SVDF = 27,
    TFL_TANH = 28,
    TFL_CUSTOM = 32,
    TFL_PAD = 34,
    TFL_UNIDIRECTIONAL_SEQUENCE_RNN = 35,
    TFL_GATHER = 36,
    TFL_BATCH_TO_SPACE_ND = 37,
    TFL_SPACE_TO_BATCH_ND = 38,
    TFL_TRANSPOSE = 39,
    TFL_MEAN = 40,
    TFL_SUB = 41,
    TFL_DIV = 42,
    TFL_SQUEEZE = 43,
    TFL_UNIDIRECTIONAL_SEQUENCE_LSTM = 44,
    TFL_STRIDED_SLICE = 45,
    TFL_EXP = 47,
    TFL_TOPK_V2 = 48,
    TFL_SPLIT = 49,
    TFL_LOG_SOFTMAX = 50,
    TFL_BIDIRECTIONAL_SEQUENCE_LSTM = 52,
    TFL_CAST = 53,
    TFL_PRELU = 54,
    TFL_MAXIMUM = 55,
    TFL_ARG_MAX = 56,
    TFL_MINIMUM = 57,
    TFL_LESS = 58,
    TFL_NEG = 59,
    TFL_PADV2 = 60,
    TFL_GREATER = 61,
    TFL_GREATER_EQUAL = 62,
    TFL_LESS_EQUAL = 63,
    TFL_SELECT = 64,
    TFL_SLICE = 65,
    TFL_SIN = 66,
    TFL_TRANSPOSE_CONV = 67,
    TFL_TILE = 69,
    TFL_EXPAND_DIMS = 70,
    TFL_EQUAL = 71,
    TFL_NOT_EQUAL = 72,
    TFL_LOG = 73,
    TFL_SUM = 74,
    TFL_SQRT = 75,
    TFL_RSQRT = 76,
    TFL_SHAPE = 77,
    TFL_POW = 78,
    TFL_ARG_MIN = 79,
    TFL_REDUCE_PROD = 81,
    TFL_REDUCE_MAX = 82,
    TFL_PACK = 83,
    TFL_LOGICAL_OR = 84,
    TFL_LOGICAL_AND = 86,
    TFL_LOGICAL_NOT = 87,
    TFL_UNPACK = 88,
    TFL_REDUCE_MIN = 89,
    TFL_REDUCE_ANY = 91,
    TFL_SQUARE = 92,
    TFL_FILL = 94,
    TFL_FLOOR_MOD = 95,
    TFL_RESIZE_NEAREST_NEIGHBOR = 97,
    TFL_LEAKY_RELU = 98,
    TFL_SQUARED_DIFFERENCE = 99,
    TFL_MIRROR_PAD = 100,
    TFL_ABS = 101,
    TFL_SPLIT_V = 102,
    TFL_REVERSE_V2 = 105,
    TFL_COS = 108,
    TFL_ELU = 111,
    TFL_QUANTIZE = 114,
    TFL_ROUND = 116,
    TFL_HARD_SWISH = 117,
    TFL_SCATTER_ND = 122,
    TFL_SELECT_V2 = 123,
    TFL_DENSIFY = 124,
    TFL_BATCH_MATMUL = 126,
    TFL_RFFT2D = 131,
    TFL_IMAG = 133,
    TFL_REAL = 134,
    TFL_COMPLEX_ABS = 135,
    TFL_REDUCE_ALL = 140,
};

#endif
