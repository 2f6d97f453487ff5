/* SPDX-License-Identifier: Apache-2.0 */
/* control-flow.c - IF and WHILE against the subgraphs that they run */
#include "model/validate.h"

static const struct nnhal_operand *outer_input(const struct nnhal_operand *operands,
                                               const struct nnhal_operation *operation, uint32_t i)
{
    return &operands[operation->inputs[i]];
}

static const struct nnhal_operand *inner_input(const struct nnhal_subgraph *subgraph, uint32_t i)
{
    return &subgraph->operands[subgraph->input_indexes[i]];
}

static const struct nnhal_operand *inner_output(const struct nnhal_subgraph *subgraph, uint32_t i)
{
    return &subgraph->operands[subgraph->output_indexes[i]];
}

/* check_inputs() - the subgraph takes what the operation has from input `first` on. */
static int check_inputs(const struct nnhal_operand *operands,
                        const struct nnhal_operation *operation, uint32_t first,
                        const struct nnhal_subgraph *subgraph, const char *name, struct nn_why *why)
{
    uint32_t n = operation->n_inputs - first;

    if (subgraph->n_input_indexes != n)
        return nn_refuse(why, "the %s takes %u inputs, %u are given", name,
                         subgraph->n_input_indexes, n);
    for (uint32_t i = 0; i < n; i++)
        if (nn_operand_check_compatible(outer_input(operands, operation, first + i),
                                        inner_input(subgraph, i), why) != 0)
            return nn_why_prefix(why, "input %u does not fit input %u of the %s: ", first + i, i,
                                 name);
    return 0;
}

/* check_outputs() - the subgraph's first outputs are the operation's. */
static int check_outputs(const struct nnhal_operand *operands,
                         const struct nnhal_operation *operation,
                         const struct nnhal_subgraph *subgraph, const char *name,
                         struct nn_why *why)
{
    for (uint32_t i = 0; i < operation->n_outputs; i++)
        if (nn_operand_check_compatible(&operands[operation->outputs[i]], inner_output(subgraph, i),
                                        why) != 0)
            return nn_why_prefix(why, "output %u does not fit that of the %s: ", i, name);
    return 0;
}

static int check_branch(const struct nnhal_operand *operands,
                        const struct nnhal_operation *operation,
                        const struct nnhal_subgraph *branch, const char *name, struct nn_why *why)
{
    int r = check_inputs(operands, operation, 3, branch, name, why);

    if (r != 0)
        return r;
    if (branch->n_output_indexes != operation->n_outputs)
        return nn_refuse(why, "the %s has %u outputs, the operation %u", name,
                         branch->n_output_indexes, operation->n_outputs);
    return check_outputs(operands, operation, branch, name, why);
}

/* It sees the same state as the body. */
static int check_condition(const struct nnhal_operand *operands,
                           const struct nnhal_operation *operation,
                           const struct nnhal_subgraph *condition, struct nn_why *why)
{
    const struct nnhal_operand *out;
    int r = check_inputs(operands, operation, 2, condition, "condition", why);

    if (r != 0)
        return r;
    if (condition->n_output_indexes != 1)
        return nn_refuse(why, "the condition has %u outputs, it must have 1",
                         condition->n_output_indexes);
    out = inner_output(condition, 0);
    if (out->type != NNHAL_TENSOR_BOOL8 || out->n_dimensions != 1 || out->dimensions[0] != 1)
        return nn_refuse(why, "the condition's output must be a TENSOR_BOOL8 of dimensions [1]");
    return 0;
}

/* The first outputs leave the loop; all of them are the next round's inputs. */
static int check_body(const struct nnhal_operand *operands, const struct nnhal_operation *operation,
                      const struct nnhal_subgraph *body, struct nn_why *why)
{
    int r = check_inputs(operands, operation, 2, body, "body", why);

    if (r != 0)
        return r;
    if (body->n_output_indexes < operation->n_outputs ||
        body->n_output_indexes > body->n_input_indexes)
        return nn_refuse(why, "the body has %u outputs, it must have %u to %u",
                         body->n_output_indexes, operation->n_outputs, body->n_input_indexes);
    r = check_outputs(operands, operation, body, "body", why);
    if (r != 0)
        return r;
    for (uint32_t i = 0; i < body->n_output_indexes; i++)
        if (nn_operand_check_compatible(inner_output(body, i), inner_input(body, i), why) != 0)
            return nn_why_prefix(why, "output %u of the body does not fit its input: ", i);
    return 0;
}

int nn_control_flow_validate(const struct nnhal_operand *operands,
                             const struct nnhal_operation *operation,
                             const struct nnhal_subgraph *first,
                             const struct nnhal_subgraph *second, struct nn_why *why)
{
    int r;

    if (operation->type == NNHAL_OP_IF) {
        r = check_branch(operands, operation, first, "then branch", why);
        if (r == 0)
            r = check_branch(operands, operation, second, "else branch", why);
    } else {
        r = check_condition(operands, operation, first, why);
        if (r == 0)
            r = check_body(operands, operation, second, why);
    }
    return r == 0 ? 0 : nn_why_prefix(why, "%s: ", nn_op_name(operation->type));
}
