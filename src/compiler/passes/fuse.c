/* SPDX-License-Identifier: Apache-2.0 */
/* fuse.c - chains of elementwise operations, and what they are chained to
 *
 * A chain is emitted where its last operation stood: by then everything that its
 * operations read has been computed, and what they pass on has no other reader. */
#include "compiler/passes.h"

#include "base/error.h"
#include "compiler/passes/view.h"

#include <string.h>

static bool may_head(uint32_t operation)
{
    return nn_view_is_elementwise(operation) || operation == NNHAL_OP_CONV_2D ||
           operation == NNHAL_OP_DEPTHWISE_CONV_2D;
}

/* Whether all that is not data is constant: an unknown activation would cut the plan here. */
static bool is_settled(const struct nn_graph *graph, const struct nn_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct nn_value *value = &graph->values[node->inputs[i]];
        bool is_scalar = value->type == NNHAL_INT32 || value->type == NNHAL_FLOAT32 ||
                         value->type == NNHAL_FLOAT16 || value->type == NNHAL_BOOL;

        if (is_scalar && value->kind != NN_VALUE_CONSTANT)
            return false;
    }
    return true;
}

/* Which node this one should follow, + 1: the last of those that may stand
 * before it, so that a residual ADD goes to the convolution, not to the shortcut. */
static uint32_t find_before(const struct nn_view *view, const struct nn_node *node)
{
    uint32_t before = 0;

    if (node->is_dead || !nn_view_is_elementwise(node->operation) || node->n_outputs != 1 ||
        !is_settled(view->graph, node))
        return 0;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct nn_node *producer = nn_view_only_producer(view, node->inputs[i]);

        if (!producer || producer->n_outputs != 1 || !may_head(producer->operation) ||
            !is_settled(view->graph, producer))
            continue;
        if (view->producers[node->inputs[i]] > before)
            before = view->producers[node->inputs[i]];
    }
    return before;
}

/* The chain that ends with the node last, in order. */
static void emit_chain(const struct nn_graph *graph, const uint32_t *before, uint32_t last,
                       struct nn_node *nodes, uint32_t *n)
{
    uint32_t length = 1, at = last;

    while (before[at]) {
        at = before[at] - 1;
        length++;
    }
    *n += length;
    for (uint32_t i = 1; i <= length; i++) {
        nodes[*n - i] = graph->nodes[last];
        nodes[*n - i].is_fused = before[last] != 0;
        last = before[last] ? before[last] - 1 : 0;
    }
}

int nn_pass_fuse(struct nn_graph *graph)
{
    struct nn_node *nodes = nn_arena_new_n(&graph->arena, struct nn_node, graph->n_nodes);
    uint32_t *before = nn_arena_new_n(&graph->arena, uint32_t, graph->n_nodes);
    bool *is_followed = nn_arena_new_n(&graph->arena, bool, graph->n_nodes);
    struct nn_view view;
    uint32_t n = 0;
    int r = nn_view_init(&view, graph);

    if (r || !nodes || !before || !is_followed)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        before[i] = find_before(&view, &graph->nodes[i]);
        if (before[i])
            is_followed[before[i] - 1] = true;
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (!is_followed[i])
            emit_chain(graph, before, i, nodes, &n);
    memcpy(graph->nodes, nodes, n * sizeof(*nodes));
    return 0;
}
