/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/possible.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "model/possible.h"
#include "model/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct nn_infer_operand declared_operand(const struct nn_value *value)
{
    struct nn_infer_operand operand = {
        .type = value->type,
        .n_dims = value->n_dims,
        .scale = value->scale,
        .zero_point = value->zero_point,
        .channel_quant = value->channel_quant.n_scales ? &value->channel_quant : NULL,
        .value = nn_value_is_private(value) ? value->data : NULL,
        .is_omitted = value->kind == NN_VALUE_OMITTED,
        .is_known = nn_dims_known(value->type, value->n_dims, value->dims),
        .is_fixed = value->kind == NN_VALUE_OUTPUT};

    memcpy(operand.dims, value->dims, sizeof(operand.dims));
    return operand;
}

static bool is_impossible(struct nn_possible *possible, const struct nn_node *node,
                          struct nn_why *why)
{
    const struct nn_possible_operation operation = {.op = nn_op_find(node->operation),
                                                    .is_lite = node->is_lite,
                                                    .n_inputs = node->n_inputs,
                                                    .inputs = node->inputs,
                                                    .n_outputs = node->n_outputs,
                                                    .outputs = node->outputs};

    if (!operation.op || node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE)
        return false;
    return nn_possible_judge(possible, &operation, why) == NN_REFUSED;
}

static size_t count_most_operands(const struct nn_graph *graph)
{
    size_t most = 1;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (most < (size_t)graph->nodes[i].n_inputs + graph->nodes[i].n_outputs)
            most = (size_t)graph->nodes[i].n_inputs + graph->nodes[i].n_outputs;
    return most;
}

int nn_graph_find_impossible(const struct nn_graph *graph, nn_impossible_fn on_impossible,
                             void *ctx)
{
    _cleanup_(freep) struct nn_infer_operand *operands = calloc((size_t)graph->n_values + 1,
                                                                sizeof(*operands));
    _cleanup_(freep) struct nn_infer_operand *node = calloc(count_most_operands(graph),
                                                            sizeof(*node));
    struct nn_possible possible = {operands, node};

    if (!operands || !node)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_values; i++)
        operands[i] = declared_operand(&graph->values[i]);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct nn_why why;

        nn_why_clear(&why);
        if (is_impossible(&possible, &graph->nodes[i], &why))
            on_impossible(ctx, i, why.text);
    }
    return 0;
}
