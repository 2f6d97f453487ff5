/* SPDX-License-Identifier: Apache-2.0 */
/* op-elementwise.c - ADD, MUL, SUB, DIV, MAXIMUM, MINIMUM, POW, PRELU
 *
 * Two inputs are broadcast against each other. */
#include "model/infer.h"

#include "base/cleanup.h"

/* validate_arithmetic() - ranks up to 4, but only if both are known: that is Android's rule. */
static int validate_arithmetic(struct nn_op_context *context)
{
    const struct nnhal_operand *a = nn_op_input(context, 0), *b = nn_op_input(context, 1);
    int r;

    if (a->n_dimensions == 0 || b->n_dimensions == 0)
        return 0;
    r = nn_op_check_rank(context, a, 1, 4, "input 0");
    if (r != 0)
        return r;
    return nn_op_check_rank(context, b, 1, 4, "input 1");
}

static int validate_mul(struct nn_op_context *context)
{
    const struct nnhal_operand *a = nn_op_input(context, 0), *b = nn_op_input(context, 1);
    const struct nnhal_operand *out = nn_op_output(context, 0);

    if (nn_type_is_quantised(a->type) && !(out->scale > a->scale * b->scale))
        return nn_refuse(context->why,
                         "the output's scale %g must be above the product of the inputs' %g",
                         (double)out->scale, (double)(a->scale * b->scale));
    return validate_arithmetic(context);
}

static int infer_arithmetic(struct nn_infer *infer)
{
    int32_t activation;
    int r;

    for (uint32_t i = 0; i < 2; i++) {
        r = nn_infer_rank(infer, i, 1, 4);
        if (r != 0)
            return r;
    }
    r = nn_infer_activation(infer, 2);
    if (r != 0)
        return r;
    if (infer->inputs[0].type == NNHAL_TENSOR_INT32 && nn_infer_i32(infer, 2, &activation) == 0 &&
        activation != NNHAL_FUSED_NONE)
        return nn_refuse(infer->why, "TENSOR_INT32 takes no fused activation, %d was given",
                         activation);
    return nn_infer_broadcast(infer, 0, 1);
}

static int infer_binary(struct nn_infer *infer)
{
    int r = nn_infer_refuse_zero_sized(infer);

    return r != 0 ? r : nn_infer_broadcast(infer, 0, 1);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_ADD, validate_arithmetic, infer_arithmetic},
    {NNHAL_OP_MUL, validate_mul, infer_arithmetic},
    {NNHAL_OP_SUB, validate_arithmetic, infer_arithmetic},
    {NNHAL_OP_DIV, validate_arithmetic, infer_arithmetic},
    {NNHAL_OP_MAXIMUM, NULL, infer_binary},
    {NNHAL_OP_MINIMUM, NULL, infer_binary},
    {NNHAL_OP_POW, NULL, infer_binary},
    {NNHAL_OP_PRELU, NULL, infer_binary},
};

NN_OP_FAMILY(elementwise, functions);
