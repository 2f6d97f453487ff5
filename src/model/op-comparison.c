/* SPDX-License-Identifier: Apache-2.0 */
/* EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL */
#include "model/infer.h"

#include "base/cleanup.h"

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_EQUAL, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_NOT_EQUAL, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_GREATER, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_GREATER_EQUAL, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_LESS, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_LESS_EQUAL, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(comparison, functions);
