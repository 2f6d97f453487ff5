/* SPDX-License-Identifier: Apache-2.0 */
/* LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR */
#include "model/infer.h"

#include "base/cleanup.h"

static int infer_binary(struct nn_infer *infer)
{
    int r = nn_infer_refuse_zero_sized(infer);

    return r ? r : nn_infer_broadcast(infer, 0, 1);
}

static int infer_not(struct nn_infer *infer)
{
    int r = nn_infer_refuse_zero_sized(infer);

    if (!r)
        nn_infer_set_dims_like(infer, 0, 0);
    return r;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_LOGICAL_AND, NULL, infer_binary},
    {NNHAL_OP_LOGICAL_NOT, NULL, infer_not},
    {NNHAL_OP_LOGICAL_OR, NULL, infer_binary},
};

NN_OP_FAMILY(logical, functions);
