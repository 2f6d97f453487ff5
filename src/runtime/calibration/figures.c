/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/calibration/figures.h"

/* The figures of one kind of work are in this order of types. */
static const uint32_t types[] = {NNHAL_TENSOR_FLOAT32, NNHAL_TENSOR_QUANT8_ASYMM,
                                 NNHAL_TENSOR_QUANT8_ASYMM_SIGNED};

enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

const char *nn_rt_figure_name(enum nn_rt_figure figure)
{
    static const char *const names[] = {
        [NN_RT_FIGURE_LAUNCH] = "launch",
        [NN_RT_FIGURE_MOVE] = "move",
        [NN_RT_FIGURE_CONV_FLOAT32] = "conv-float32",
        [NN_RT_FIGURE_CONV_QUANT8] = "conv-quant8",
        [NN_RT_FIGURE_CONV_QUANT8_SIGNED] = "conv-quant8-signed",
        [NN_RT_FIGURE_MATRIX_FLOAT32] = "matrix-float32",
        [NN_RT_FIGURE_MATRIX_QUANT8] = "matrix-quant8",
        [NN_RT_FIGURE_MATRIX_QUANT8_SIGNED] = "matrix-quant8-signed",
        [NN_RT_FIGURE_OTHER_FLOAT32] = "other-float32",
        [NN_RT_FIGURE_OTHER_QUANT8] = "other-quant8",
        [NN_RT_FIGURE_OTHER_QUANT8_SIGNED] = "other-quant8-signed",
        [NN_RT_FIGURE_IF] = "if",
        [NN_RT_FIGURE_WHILE] = "while",
    };

    return names[figure];
}

static enum nn_rt_figure first_of_kind(uint32_t operation_type)
{
    switch (operation_type) {
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_DEPTHWISE_CONV_2D:
    case NNHAL_OP_GROUPED_CONV_2D:
    case NNHAL_OP_TRANSPOSE_CONV_2D:
        return NN_RT_FIGURE_CONV_FLOAT32;
    case NNHAL_OP_FULLY_CONNECTED:
    case NNHAL_OP_BATCH_MATMUL:
        return NN_RT_FIGURE_MATRIX_FLOAT32;
    default:
        return NN_RT_FIGURE_OTHER_FLOAT32;
    }
}

enum nn_rt_figure nn_rt_figure_of(uint32_t operation_type, uint32_t operand_type)
{
    if (operation_type == NNHAL_OP_IF)
        return NN_RT_FIGURE_IF;
    if (operation_type == NNHAL_OP_WHILE)
        return NN_RT_FIGURE_WHILE;
    for (uint32_t i = 0; i < N_TYPES; i++)
        if (types[i] == operand_type)
            return (enum nn_rt_figure)(first_of_kind(operation_type) + i);
    return NN_RT_FIGURE_N;
}

uint32_t nn_rt_figure_operand_type(enum nn_rt_figure figure)
{
    return figure >= NN_RT_FIGURE_CONV_FLOAT32 && figure < NN_RT_FIGURE_IF
               ? types[(figure - NN_RT_FIGURE_CONV_FLOAT32) % N_TYPES]
               : (uint32_t)NNHAL_TENSOR_FLOAT32;
}
