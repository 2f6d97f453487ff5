/* SPDX-License-Identifier: Apache-2.0 */
/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL */
#include "model/infer.h"

#include "base/cleanup.h"

static int infer_comparison(struct nn_infer *infer)
{
    int r = nn_infer_refuse_zero_sized(infer);

    return r ? r : nn_infer_broadcast(infer, 0, 1);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_EQUAL, NULL, infer_comparison},   {NNHAL_OP_NOT_EQUAL, NULL, infer_comparison},
    {NNHAL_OP_GREATER, NULL, infer_comparison}, {NNHAL_OP_GREATER_EQUAL, NULL, infer_comparison},
    {NNHAL_OP_LESS, NULL, infer_comparison},    {NNHAL_OP_LESS_EQUAL, NULL, infer_comparison},
};

NN_OP_FAMILY(comparison, functions);
