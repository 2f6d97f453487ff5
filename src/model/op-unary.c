/* SPDX-License-Identifier: Apache-2.0 */
/* ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT; COS and ROUND of nnhal.tflite */
#include "model/infer.h"

#include "base/cleanup.h"

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_ABS, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_EXP, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_FLOOR, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_LOG, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_NEG, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_RSQRT, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_SIN, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_SQRT, NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(COS), NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(ROUND), NULL, nn_infer_same_dims, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(unary, functions);
