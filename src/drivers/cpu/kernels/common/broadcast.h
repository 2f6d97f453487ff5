/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.h - two operands stretched to one shape, row by row
 *
 * Broadcasting is strides: a dimension that an operand repeats has stride 0.
 * Neighboring dimensions that both operands walk alike are joined, so that
 * most pairs become one row (equal shapes), or rows of a matrix (a bias). A row
 * function then sees contiguous elements or a single repeated one. */
#ifndef NN_DRIVERS_CPU_KERNELS_COMMON_BROADCAST_H
#define NN_DRIVERS_CPU_KERNELS_COMMON_BROADCAST_H

#include "drivers/cpu/kernels/kernel.h"

/* Consecutive elements of the result: element i comes from elements
 * in0 + i * step0 and in1 + i * step1. Steps are 0 or 1, also when n is 1. */
struct nn_row {
    size_t out;
    size_t in0, in1;
    size_t step0, step1;
    size_t n;
};

/* A row's operands where they lie, perhaps converted; steps as in a row. */
struct nn_pair {
    const void *a, *b;
    void *out;
    size_t n;
    size_t step0, step1;
    const void *params;
};

/* NN_ROW_STEPS() - calls loop(args, row, step0, step1), an inlined function, with the
 * row's steps as constants, so that it vectorizes. (A row whose steps are both 0 has one
 * element; any steps do for it.) */
#define NN_ROW_STEPS(loop, args, row)                                                              \
    do {                                                                                           \
        if ((row)->step0 && (row)->step1)                                                          \
            loop(args, row, 1, 1);                                                                 \
        else if ((row)->step0)                                                                     \
            loop(args, row, 1, 0);                                                                 \
        else                                                                                       \
            loop(args, row, 0, 1);                                                                 \
    } while (0)

/* nn_broadcast_run() - calls fn for rows that cover output 0, or the part of
 * it that args asks for; its inputs are 0 and 1.
 * The shapes agree (inference has seen to it). cost: of one element, in
 * sixteenths of a nanosecond, roughly. Rows run on several threads at once. */
void nn_broadcast_run(const struct nn_kernel_args *args, size_t cost, nn_row_fn fn);

/* nn_rows_run() - the same for one input of the output's shape: rows with in0 = out. */
void nn_rows_run(const struct nn_kernel_args *args, size_t cost, nn_row_fn fn);

#endif
