/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes/rewrite.h"

#include "base/error.h"

#include <string.h>

int nn_rewrite_init(struct nn_rewrite *rewrite, struct nn_graph *graph)
{
    *rewrite = (struct nn_rewrite){.graph = graph, .n_allocated = graph->n_nodes + 8};
    rewrite->nodes = nn_arena_new_n(&graph->arena, struct nn_node, rewrite->n_allocated);
    return rewrite->nodes ? 0 : nn_error_origin(-ENOMEM);
}

/* Doubling: old arrays stay in the arena, as much again at most. */
int nn_rewrite_node(struct nn_rewrite *rewrite, const struct nn_node *node)
{
    if (rewrite->n == rewrite->n_allocated) {
        uint32_t n = 2 * rewrite->n;
        struct nn_node *nodes = nn_arena_new_n(&rewrite->graph->arena, struct nn_node, n);

        if (!nodes)
            return nn_error_origin(-ENOMEM);
        memcpy(nodes, rewrite->nodes, rewrite->n * sizeof(*nodes));
        rewrite->nodes = nodes;
        rewrite->n_allocated = n;
    }
    rewrite->nodes[rewrite->n++] = *node;
    return 0;
}

int nn_rewrite_operation(struct nn_rewrite *rewrite, uint32_t operation, uint32_t origin,
                         uint32_t n_inputs, const uint32_t *inputs, uint32_t output)
{
    struct nn_arena *arena = &rewrite->graph->arena;
    struct nn_node node = {
        .operation = operation, .n_inputs = n_inputs, .n_outputs = 1, .origin = origin};

    node.inputs = nn_arena_dup(arena, inputs, n_inputs * sizeof(*inputs));
    node.outputs = nn_arena_dup(arena, &output, sizeof(output));
    if (!node.inputs || !node.outputs)
        return nn_error_origin(-ENOMEM);
    return nn_error_trace(nn_rewrite_node(rewrite, &node));
}

void nn_rewrite_finish(struct nn_rewrite *rewrite)
{
    rewrite->graph->nodes = rewrite->nodes;
    rewrite->graph->n_nodes = rewrite->n;
}
