/* SPDX-License-Identifier: Apache-2.0 */
/* operands.h - which operand of an operation is what
 *
 * Inference, passes and kernels name an operation's inputs by these constants,
 * and find the scalars of windows, whose places differ from form to form, with
 * nn_window_operands(). LSTMs have maps of their own (lstm.h). Input 0 is the data where
 * nothing else is said, and a position that only one function reads stays in it. */
#ifndef NN_MODEL_OPERANDS_H
#define NN_MODEL_OPERANDS_H

#include <stdint.h>

/* CONV_2D, DEPTHWISE_CONV_2D, GROUPED_CONV_2D, TRANSPOSE_CONV_2D */
enum {
    NN_CONV_INPUT = 0,
    NN_CONV_FILTER = 1,
    NN_CONV_BIAS = 2,
};

/* FULLY_CONNECTED */
enum {
    NN_DENSE_INPUT = 0,
    NN_DENSE_WEIGHTS = 1,
    NN_DENSE_BIAS = 2,
    NN_DENSE_ACTIVATION = 3,
};

/* ADD, SUB, MUL, DIV: behind the two operands */
enum { NN_PAIR_ACTIVATION = 2 };

/* PAD, PAD_V2 (value), MIRROR_PAD (mode) */
enum {
    NN_PAD_INPUT = 0,
    NN_PAD_PADDINGS = 1,
    NN_PAD_VALUE = 2,
    NN_PAD_MODE = 2,
};

/* RNN, UNIDIRECTIONAL_SEQUENCE_RNN; of a cell's inputs W, R, b and h the first one. */
enum {
    NN_RNN_WEIGHTS = 1,
    NN_RNN_ACTIVATION = 5,
    NN_RNN_TIME_MAJOR = 6, /* an INT32 */
};

enum {
    NN_BIDIRECTIONAL_RNN_BACKWARD = 5, /* as NN_RNN_WEIGHTS, of the other direction */
    NN_BIDIRECTIONAL_RNN_AUX = 9,
    NN_BIDIRECTIONAL_RNN_FORWARD_AUX = 10,
    NN_BIDIRECTIONAL_RNN_BACKWARD_AUX = 11,
    NN_BIDIRECTIONAL_RNN_ACTIVATION = 12,
    NN_BIDIRECTIONAL_RNN_TIME_MAJOR = 13,
    NN_BIDIRECTIONAL_RNN_MERGE = 14,
};

enum {
    NN_SVDF_INPUT = 0,
    NN_SVDF_FEATURES = 1,
    NN_SVDF_TIME = 2,
    NN_SVDF_BIAS = 3,
    NN_SVDF_STATE = 4,
    NN_SVDF_RANK = 5,
    NN_SVDF_ACTIVATION = 6,
};

/* BATCH_MATMUL: whether the operands are transposed */
enum {
    NN_MATMUL_ADJOINT_X = 2,
    NN_MATMUL_ADJOINT_Y = 3,
};

/* RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR */
enum {
    NN_RESIZE_WIDTH = 1,
    NN_RESIZE_HEIGHT = 2,
    NN_RESIZE_LAYOUT = 3,
    NN_RESIZE_ALIGN_CORNERS = 4,
    NN_RESIZE_HALF_PIXELS = 5,
};

/* DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND; SPACE_TO_BATCH_ND has paddings before
 * its layout */
enum {
    NN_SPACE_BLOCK = 1,
    NN_SPACE_LAYOUT = 2,
    NN_SPACE_TO_BATCH_PADDINGS = 2,
    NN_SPACE_TO_BATCH_LAYOUT = 3,
};

/* STRIDED_SLICE */
enum {
    NN_STRIDED_BEGINS = 1,
    NN_STRIDED_ENDS = 2,
    NN_STRIDED_STRIDES = 3,
    NN_STRIDED_BEGIN_MASK = 4,
    NN_STRIDED_END_MASK = 5,
    NN_STRIDED_SHRINK_MASK = 6,
};

enum {
    NN_SPLIT_AXIS = 1,
    NN_GATHER_AXIS = 1,
    NN_GATHER_INDICES = 2,
    NN_SCATTER_UPDATES = 1,
    NN_SCATTER_SHAPE = 2,
    NN_RFFT_LENGTHS = 1,
    NN_SHUFFLE_GROUPS = 1,
    NN_SHUFFLE_AXIS = 2,
    NN_SOFTMAX_BETA = 1,
    NN_SOFTMAX_AXIS = 2,
};

/* ROI_ALIGN, ROI_POOLING */
enum {
    NN_ROI_BOXES = 1,
    NN_ROI_BATCHES = 2,
    NN_ROI_HEIGHT = 3,
    NN_ROI_WIDTH = 4,
    NN_ROI_HEIGHT_STRIDE = 5,
    NN_ROI_WIDTH_STRIDE = 6,
    NN_ROI_ALIGN_RATIO_H = 7,
    NN_ROI_ALIGN_RATIO_W = 8,
    NN_ROI_ALIGN_LAYOUT = 9,
    NN_ROI_POOLING_LAYOUT = 7,
};

/* Input numbers of pools and convolutions; 0 means that this form has no such
 * input. Paddings, strides, filter sizes and dilations are consecutive inputs,
 * widths first. */
struct nn_window_operands {
    uint32_t filter;       /* operand with the filter (convolutions) */
    uint32_t filter_size;  /* first of: width, height (pools) */
    uint32_t output_shape; /* TRANSPOSE_CONV_2D, implicit */
    uint32_t padding_code; /* implicit forms */
    uint32_t paddings;     /* explicit forms, first of: left, right, top, bottom */
    uint32_t strides;      /* first of: width, height */
    uint32_t groups;       /* GROUPED_CONV_2D: groups; DEPTHWISE_CONV_2D: depth multiplier */
    uint32_t activation;
    uint32_t layout;
    uint32_t dilations; /* first of: width, height */
};

/* nn_window_form_input() - the input whose type tells forms of equal count apart;
 * 0: their counts differ. It may be beyond the operation's inputs. */
uint32_t nn_window_form_input(uint32_t operation);

/* nn_window_operands() - of a pool or convolution with n inputs whose types and counts
 * match a signature. form_type: of input nn_window_form_input(), any if there is none. */
struct nn_window_operands nn_window_operands(uint32_t operation, uint32_t n, uint32_t form_type);

#endif
