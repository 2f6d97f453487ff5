/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/internal-op.h"

enum { TABLE_BYTES = 256 };

const char *nn_internal_op_name(uint32_t operation)
{
    return operation == NN_INTERNAL_OP_LUT ? "LOOKUP" : nn_op_name(operation);
}

static bool is_q8(uint32_t type)
{
    return type == NNHAL_TENSOR_QUANT8_ASYMM || type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
}

int nn_internal_op_infer(struct nn_infer *infer)
{
    const struct nn_infer_operand *in = infer->inputs;
    struct nn_infer_operand *out = infer->outputs;

    if (infer->n_inputs != 2 || infer->n_outputs != 1 || !is_q8(in[0].type) || in[0].is_omitted ||
        in[1].type != out[0].type || in[1].is_omitted || in[1].n_dims != 1 ||
        in[1].dims[0] != TABLE_BYTES || !is_q8(out[0].type))
        return nn_refuse(infer->why, "LOOKUP takes 8-bit data and a table of 256 bytes");
    if (!nn_dims_merge(in[0].n_dims, in[0].dims, out[0].n_dims, out[0].dims, &out[0].n_dims,
                       out[0].dims))
        return nn_refuse(infer->why, "LOOKUP's output has another shape than its input");
    return 0;
}
