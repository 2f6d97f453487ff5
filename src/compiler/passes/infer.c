/* SPDX-License-Identifier: Apache-2.0 */
/* infer.c - shapes and quantizations, as far as the model settles them */
#include "compiler/passes.h"

#include "base/error.h"
#include "compiler/internal-op.h"
#include "model/types.h"

#include <string.h>

/* The shape of an input may come with the request; that of a constant is the model's. */
static bool is_known(const struct nn_value *value)
{
    switch (value->kind) {
    case NN_VALUE_INPUT:
        return nn_type_is_scalar(value->type) ||
               nn_dims_known(value->type, value->n_dims, value->dims);
    case NN_VALUE_CONSTANT:
    case NN_VALUE_OMITTED:
        return true;
    default:
        return false;
    }
}

static void operand_fill(const struct nn_value *value, bool is_input,
                         struct nn_infer_operand *operand)
{
    *operand = (struct nn_infer_operand){
        .type = value->type,
        .n_dims = value->n_dims,
        .scale = value->scale,
        .zero_point = value->zero_point,
        .channel_quant = value->channel_quant.n_scales ? &value->channel_quant : NULL,
        .value = is_input && nn_value_is_private(value) ? value->data : NULL,
        .is_omitted = value->kind == NN_VALUE_OMITTED,
        .is_known = is_input,
        .is_fixed = value->kind == NN_VALUE_OUTPUT};
    memcpy(operand->dims, value->dims, sizeof(operand->dims));
}

/* A late dimension is an upper bound, which settles nothing. */
static void value_settle(struct nn_value *value, const struct nn_infer_operand *operand)
{
    if (operand->late_dims || value->kind == NN_VALUE_OMITTED)
        return;
    value->n_dims = operand->n_dims;
    memcpy(value->dims, operand->dims, sizeof(value->dims));
    value->scale = operand->scale;
    value->zero_point = operand->zero_point;
    value->is_settled = true;
}

static int infer_node(struct nn_graph *graph, const struct nn_node *node)
{
    struct nn_infer infer = {.op = nn_op_find(node->operation),
                             .is_lite = node->is_lite,
                             .n_inputs = node->n_inputs,
                             .n_outputs = node->n_outputs};
    struct nn_infer_operand *operands;

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!graph->values[node->inputs[i]].is_settled)
            return 0;
    operands = nn_arena_new_n(&graph->arena, struct nn_infer_operand,
                              (size_t)node->n_inputs + node->n_outputs);
    if (!operands)
        return nn_error_origin(-ENOMEM);
    infer.inputs = operands;
    infer.outputs = operands + node->n_inputs;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        operand_fill(&graph->values[node->inputs[i]], true, &operands[i]);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        operand_fill(&graph->values[node->outputs[i]], false, &infer.outputs[i]);
    if (infer.op ? nn_infer(&infer) : nn_internal_op_infer(&infer))
        return 0; /* lowering says what is wrong with it, or learns more */
    for (uint32_t i = 0; i < node->n_outputs; i++)
        value_settle(&graph->values[node->outputs[i]], &infer.outputs[i]);
    return 0;
}

int nn_pass_infer(struct nn_graph *graph)
{
    for (uint32_t i = 0; i < graph->n_values; i++)
        graph->values[i].is_settled = is_known(&graph->values[i]);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct nn_node *node = &graph->nodes[i];
        int r = 0;

        if (!node->is_dead && node->operation != NNHAL_OP_IF && node->operation != NNHAL_OP_WHILE)
            r = infer_node(graph, node);
        if (r)
            return nn_error_trace(r);
    }
    return 0;
}
