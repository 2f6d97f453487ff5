/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h - what a device was measured to cost
 *
 * A figure of work is the time that a device took for it, in millionths of what cost.h
 * counts for the same operation: nanoseconds of plain C on one thread. Two figures are times: of a
 * call that computes next to nothing, and of getting at a mebibyte of an input.
 *
 * Work is told apart by the kind of operation (products of images, products of
 * matrices, all else) and by the type of its first input. Data alone; the owner sees to
 * threads. */
#ifndef NN_RUNTIME_CALIBRATION_FIGURES_H
#define NN_RUNTIME_CALIBRATION_FIGURES_H

#include <nnhal/types.h>

enum nn_rt_figure {
    NN_RT_FIGURE_LAUNCH, /* nanoseconds of a call */
    NN_RT_FIGURE_MOVE,   /* nanoseconds of a mebibyte */
    NN_RT_FIGURE_CONV_FLOAT32,
    NN_RT_FIGURE_CONV_QUANT8,
    NN_RT_FIGURE_CONV_QUANT8_SIGNED,
    NN_RT_FIGURE_MATRIX_FLOAT32,
    NN_RT_FIGURE_MATRIX_QUANT8,
    NN_RT_FIGURE_MATRIX_QUANT8_SIGNED,
    NN_RT_FIGURE_OTHER_FLOAT32,
    NN_RT_FIGURE_OTHER_QUANT8,
    NN_RT_FIGURE_OTHER_QUANT8_SIGNED,
    NN_RT_FIGURE_IF,
    NN_RT_FIGURE_WHILE, /* of one turn */
    NN_RT_FIGURE_N
};

struct nn_rt_figures {
    uint64_t values[NN_RT_FIGURE_N]; /* 0: not measured, as of what the device does not take */
};

/* nn_rt_figure_name() - as files and people have it, "conv-float32". */
const char *nn_rt_figure_name(enum nn_rt_figure figure);

/* nn_rt_figure_of() - which figure an operation's work has. Returns: NN_RT_FIGURE_N: none, as of types
 * that are not measured. */
enum nn_rt_figure nn_rt_figure_of(uint32_t operation_type, uint32_t operand_type);

/* nn_rt_figure_operand_type() - the type that a figure of work is about; of IF and WHILE, of
 * what they decide about. */
uint32_t nn_rt_figure_operand_type(enum nn_rt_figure figure);

#endif
