/* SPDX-License-Identifier: Apache-2.0 */
/* internal-op.h - operations of the driver's own, which no model has and passes make
 *
 *   LOOKUP  out[i] = table[in[i]]: any function of one byte. Inputs: an 8-bit
 *           tensor, and a table of 256 bytes, TENSOR_QUANT8_ASYMM or _SIGNED as the output;
 *           in and table are indexed by bytes, signed or not. The output
 *           has the shape of the first input, and the quantization that it declares.
 *
 * The model layer knows nothing of them: what it says of ordinary operations
 * (names, shapes, whether operands are such as they take) is said here. */
#ifndef NN_COMPILER_INTERNAL_OP_H
#define NN_COMPILER_INTERNAL_OP_H

#include "model/infer.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    NN_INTERNAL_OP_LUT = 0x10000,
    NN_INTERNAL_OP_END = NN_INTERNAL_OP_LUT + 1,
};

static inline bool nn_is_internal_op(uint32_t operation)
{
    return operation >= NN_INTERNAL_OP_LUT && operation < NN_INTERNAL_OP_END;
}

/* nn_internal_op_name() - of own operations and those of the model alike. */
const char *nn_internal_op_name(uint32_t operation);

/* nn_internal_op_infer() - nn_infer() for an own operation; counts and types are
 * checked, too. infer->op is not looked at.
 * Returns: 0, NN_REFUSED. */
int nn_internal_op_infer(struct nn_infer *infer);

#endif
