/* SPDX-License-Identifier: Apache-2.0 */
/* ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT */
#include "model/infer.h"

#include "base/cleanup.h"

static int infer_unary(struct nn_infer *infer)
{
    int r = nn_infer_refuse_zero_sized(infer);

    if (!r)
        nn_infer_set_dims_like(infer, 0, 0);
    return r;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_ABS, NULL, infer_unary},   {NNHAL_OP_EXP, NULL, infer_unary},
    {NNHAL_OP_FLOOR, NULL, infer_unary}, {NNHAL_OP_LOG, NULL, infer_unary},
    {NNHAL_OP_NEG, NULL, infer_unary},   {NNHAL_OP_RSQRT, NULL, infer_unary},
    {NNHAL_OP_SIN, NULL, infer_unary},   {NNHAL_OP_SQRT, NULL, infer_unary},
};

NN_OP_FAMILY(unary, functions);
