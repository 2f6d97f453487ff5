/* SPDX-License-Identifier: Apache-2.0 */
/* op-control-flow.c - IF and WHILE
 *
 * Their operand types are judged here; that they agree with the subgraphs they
 * refer to is judged where the subgraphs are known (validate.c). Their output
 * shapes come out of running them, so there is no inference. */
#include "model/infer.h"

#include "base/cleanup.h"

/* validate_if() - the condition is one boolean, and said to be. */
static int validate_if(struct nn_op_context *context)
{
    const struct nnhal_operand *condition = nn_op_input(context, 0);

    if (condition->n_dimensions == 1 && condition->dimensions[0] == 1)
        return 0;
    return nn_refuse(context->why, "the condition must be a TENSOR_BOOL8 of dimensions [1]");
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_IF, validate_if, NULL, 0},
    {NNHAL_OP_WHILE, NULL, NULL, 0},
};

NN_OP_FAMILY(control_flow, functions);
