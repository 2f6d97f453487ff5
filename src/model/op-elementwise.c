/* SPDX-License-Identifier: Apache-2.0 */
/* ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW, PRELU */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

/* Ranks are judged only when both are known. nnhal.tflite's operations take any. */
static int validate_arithmetic(struct nn_op_context *context)
{
    uint32_t rank_0 = nn_op_input(context, 0)->n_dimensions;
    uint32_t rank_1 = nn_op_input(context, 1)->n_dimensions;

    if (context->op->type < NN_TFLITE_OPS && rank_0 && rank_1 && (rank_0 > 4 || rank_1 > 4))
        return nn_refuse(context->why, "inputs 0 and 1 have rank %u and %u, at most 4 is allowed",
                         rank_0, rank_1);
    return 0;
}

/* nnhal.tflite's takes any scale. */
static int validate_mul(struct nn_op_context *context)
{
    const struct nnhal_operand *output = nn_op_output(context, 0);
    float product = nn_op_input(context, 0)->scale * nn_op_input(context, 1)->scale;
    bool is_quantized = output->type == NNHAL_TENSOR_QUANT8_ASYMM ||
                        output->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;

    if (is_quantized && context->op->type < NN_TFLITE_OPS && !(output->scale > product))
        return nn_refuse(context->why,
                         "the output's scale %g is not above the product %g of the inputs' scales",
                         (double)output->scale, (double)product);
    return validate_arithmetic(context);
}

static int infer_arithmetic(struct nn_infer *infer)
{
    int32_t activation;
    int r;

    if ((r = nn_infer_nnapi_rank(infer, 1, 1, 4)) ||
        (r = nn_infer_activation(infer, NN_PAIR_ACTIVATION)))
        return r;
    if (infer->inputs[0].type == NNHAL_TENSOR_INT32 &&
        nn_infer_i32(infer, NN_PAIR_ACTIVATION, &activation) == 0 && activation)
        return nn_refuse(infer->why, "TENSOR_INT32 takes no activation, input 2 is %d", activation);
    return nn_infer_pair(infer);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_ADD, validate_arithmetic, infer_arithmetic, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_SUB, validate_arithmetic, infer_arithmetic, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_MUL, validate_mul, infer_arithmetic, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_DIV, validate_arithmetic, infer_arithmetic, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_MAXIMUM, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_MINIMUM, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_POW, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_PRELU, NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(FLOOR_MOD), NULL, nn_infer_pair, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(elementwise, functions);
