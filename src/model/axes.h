/* SPDX-License-Identifier: Apache-2.0 */
/* axes.h - a set of axes given by an operand
 *
 * Reductions name the dimensions that they remove in a TENSOR_INT32 operand.
 * Here it becomes a set of bits, which inference and kernels share. */
#ifndef NN_MODEL_AXES_H
#define NN_MODEL_AXES_H

#include "model/geometry.h"
#include "model/infer.h"

/* nn_axes_read() - the axes of input 0 that input i (rank 1) lists: bit d stands
 * for dimension d. Axes count from either end and may come more than once.
 * Returns: 0; NN_REFUSED; NN_INFER_E_UNKNOWN. */
int nn_axes_read(const struct nn_infer *infer, uint32_t i, uint32_t *ret_axes);

#endif
