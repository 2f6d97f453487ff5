/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes.h"

#include "base/error.h"
#include "compiler/passes/view.h"

/* Which input is the fused activation; 0: none that this pass knows. */
static uint32_t activation_input(const struct nn_graph *graph, const struct nn_node *node)
{
    switch (node->operation) {
    case NNHAL_OP_ADD:
    case NNHAL_OP_MUL:
    case NNHAL_OP_SUB:
    case NNHAL_OP_DIV:
        return NN_PAIR_ACTIVATION;
    case NNHAL_OP_FULLY_CONNECTED:
        return NN_DENSE_ACTIVATION;
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_DEPTHWISE_CONV_2D:
    case NNHAL_OP_AVERAGE_POOL_2D:
    case NNHAL_OP_MAX_POOL_2D:
        return nn_graph_window_operands(graph, node).activation;
    default:
        return 0;
    }
}

static int32_t activation_code(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_RELU:
        return NNHAL_FUSED_RELU;
    case NNHAL_OP_RELU1:
        return NNHAL_FUSED_RELU1;
    case NNHAL_OP_RELU6:
        return NNHAL_FUSED_RELU6;
    default:
        return NNHAL_FUSED_NONE;
    }
}

/* Only if the quantization is the same before and behind it: a fused activation is computed
 * in the output's. */
static int fuse_activation(const struct nn_view *view, struct nn_node *relu)
{
    struct nn_graph *graph = view->graph;
    int32_t code = activation_code(relu->operation), before;
    struct nn_node *producer;
    uint32_t at;
    int r;

    if (code == NNHAL_FUSED_NONE || relu->is_dead)
        return 0;
    producer = nn_view_only_producer(view, relu->inputs[0]);
    if (!producer || producer->is_dead)
        return 0;
    at = activation_input(graph, producer);
    if (!at || !nn_graph_i32(graph, producer->inputs[at], &before) || before != NNHAL_FUSED_NONE ||
        !nn_view_same_form(&graph->values[relu->inputs[0]], &graph->values[relu->outputs[0]]))
        return 0;
    r = nn_graph_add_i32(graph, code, &producer->inputs[at]);
    if (r)
        return nn_error_trace(r);
    view->producers[relu->outputs[0]] = view->producers[relu->inputs[0]];
    producer->outputs[0] = relu->outputs[0];
    relu->is_dead = true;
    return 0;
}

int nn_pass_activation(struct nn_graph *graph)
{
    struct nn_view view;
    int r = nn_view_init(&view, graph);

    for (uint32_t i = 0; !r && i < graph->n_nodes; i++)
        r = fuse_activation(&view, &graph->nodes[i]);
    return nn_error_trace(r);
}
