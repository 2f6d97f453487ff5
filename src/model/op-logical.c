/* SPDX-License-Identifier: Apache-2.0 */
/* LOGICAL_AND, LOGICAL_NOT, LOGICAL_OR */
#include "model/infer.h"

#include "base/cleanup.h"

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_LOGICAL_AND, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_LOGICAL_NOT, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_LOGICAL_OR, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(logical, functions);
