/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes.h"

#include "base/error.h"

static bool is_wanted(const struct nn_node *node, const bool *is_read)
{
    if (node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE)
        return true;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (is_read[node->outputs[i]])
            return true;
    return false;
}

/* Backwards: what only dead nodes read is dead, too. */
int nn_pass_dead(struct nn_graph *graph)
{
    bool *is_read = nn_arena_new_n(&graph->arena, bool, graph->n_values);

    if (!is_read)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        is_read[graph->outputs[i]] = true;
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        struct nn_node *node = &graph->nodes[i];

        node->is_dead = node->is_dead || !is_wanted(node, is_read);
        for (uint32_t j = 0; !node->is_dead && j < node->n_inputs; j++)
            is_read[node->inputs[j]] = true;
    }
    return 0;
}
