/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes/view.h"

#include "base/error.h"
#include "compiler/internal-op.h"

#include <string.h>

/* How many times live nodes and the graph's outputs read each value. */
static void count_uses(const struct nn_graph *graph, uint32_t *n_uses)
{
    memset(n_uses, 0, graph->n_values * sizeof(*n_uses));
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t j = 0; !graph->nodes[i].is_dead && j < graph->nodes[i].n_inputs; j++)
            n_uses[graph->nodes[i].inputs[j]]++;
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        n_uses[graph->outputs[i]]++;
}

/* The node that computes each value, + 1; 0: none. */
static void find_producers(const struct nn_graph *graph, uint32_t *producers)
{
    memset(producers, 0, graph->n_values * sizeof(*producers));
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t j = 0; !graph->nodes[i].is_dead && j < graph->nodes[i].n_outputs; j++)
            producers[graph->nodes[i].outputs[j]] = i + 1;
}

int nn_view_init(struct nn_view *view, struct nn_graph *graph)
{
    *view = (struct nn_view){.graph = graph, .n = graph->n_values};
    view->n_uses = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    view->producers = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    if (!view->n_uses || !view->producers)
        return nn_error_origin(-ENOMEM);
    count_uses(graph, view->n_uses);
    find_producers(graph, view->producers);
    return 0;
}

struct nn_node *nn_view_producer(const struct nn_view *view, uint32_t value)
{
    if (value >= view->n || !view->producers[value])
        return NULL;
    return &view->graph->nodes[view->producers[value] - 1];
}

struct nn_node *nn_view_only_producer(const struct nn_view *view, uint32_t value)
{
    if (value >= view->n || view->graph->values[value].kind != NN_VALUE_TEMPORARY ||
        view->n_uses[value] != 1 || !view->producers[value])
        return NULL;
    return &view->graph->nodes[view->producers[value] - 1];
}

bool nn_graph_i32(const struct nn_graph *graph, uint32_t index, int32_t *ret)
{
    const struct nn_value *value = &graph->values[index];

    if (value->type != NNHAL_INT32 || !nn_value_is_private(value) || value->size != sizeof(*ret))
        return false;
    memcpy(ret, value->data, sizeof(*ret));
    return true;
}

bool nn_graph_is_bool(const struct nn_graph *graph, const struct nn_node *node, uint32_t i)
{
    return i < node->n_inputs && graph->values[node->inputs[i]].type == NNHAL_BOOL;
}

struct nn_window_operands nn_graph_window_operands(const struct nn_graph *graph,
                                                   const struct nn_node *node)
{
    uint32_t form = nn_window_form_input(node->operation);
    uint32_t form_type = form < node->n_inputs ? graph->values[node->inputs[form]].type : 0;

    return nn_window_operands(node->operation, node->n_inputs, form_type);
}

bool nn_view_same_form(const struct nn_value *a, const struct nn_value *b)
{
    return a->type == b->type && a->type != NNHAL_TENSOR_INT32 && a->scale == b->scale &&
           a->zero_point == b->zero_point;
}

bool nn_view_is_elementwise(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_ABS:
    case NNHAL_OP_ADD:
    case NNHAL_OP_DEQUANTIZE:
    case NNHAL_OP_DIV:
    case NNHAL_OP_ELU:
    case NNHAL_OP_EXP:
    case NNHAL_OP_FLOOR:
    case NNHAL_OP_HARD_SWISH:
    case NNHAL_OP_LOG:
    case NNHAL_OP_LOGISTIC:
    case NNHAL_OP_MAXIMUM:
    case NNHAL_OP_MINIMUM:
    case NNHAL_OP_MUL:
    case NNHAL_OP_NEG:
    case NNHAL_OP_POW:
    case NNHAL_OP_PRELU:
    case NNHAL_OP_QUANTIZE:
    case NNHAL_OP_RELU:
    case NNHAL_OP_RELU1:
    case NNHAL_OP_RELU6:
    case NNHAL_OP_RSQRT:
    case NNHAL_OP_SIN:
    case NNHAL_OP_SQRT:
    case NNHAL_OP_SUB:
    case NNHAL_OP_TANH:
    case NN_INTERNAL_OP_LUT:
        return true;
    default:
        return false;
    }
}
