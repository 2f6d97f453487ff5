/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - a row of the kernel table and the operands of one step
 *
 * The half of kernels/kernel.h that lowering does for kernels, and what the core asks of a row
 * beside lower(). One thread at a time for each struct nn_lower. */
#ifndef NN_DRIVERS_CPU_LOWERING_ROW_H
#define NN_DRIVERS_CPU_LOWERING_ROW_H

#include "compiler/blob.h"
#include "drivers/cpu/kernels/kernel.h"
#include "model/why.h"

/* What nn_lower_weights() and nn_lower_refuse() write to. */
struct nn_lower_private {
    struct nn_blob *blob;
    struct nn_why *why;
    size_t weights, weights_bytes; /* the step's piece of blob; 0 bytes: none */
};

/* nn_row_find_scratch() - of a step whose params lower() has made. tensors: room for inputs and
 * outputs. Returns: false if it does not fit a size. */
bool nn_row_find_scratch(const struct nn_kernel *row, const struct nn_lower *lower,
                         struct nn_tensor *tensors, struct nn_kernel_scratch *ret);

/* nn_row_makes() - whether lower() makes these params of these operands, for rows without check().
 * The caller fills operation and operands of lower, with the values that are known. */
bool nn_row_makes(const struct nn_kernel *row, struct nn_lower *lower, const void *params);

#endif
