/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes/convert.h"

#include "base/error.h"

int nn_conversions_init(struct nn_conversions *twins, struct nn_graph *graph)
{
    *twins = (struct nn_conversions){.graph = graph, .n = graph->n_values};
    twins->of = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    if (!twins->of)
        return nn_error_origin(-ENOMEM);
    return nn_error_trace(nn_rewrite_init(&twins->rewrite, graph));
}

/* The same value in another form: a temporary, also where the original is an argument. */
static int add_twin(struct nn_conversions *twins, uint32_t of)
{
    struct nn_value value = twins->graph->values[of];
    uint32_t twin;
    int r;

    value.kind = NN_VALUE_TEMPORARY;
    value.data = NULL;
    value.size = 0;
    value.pool = NN_POOL_NONE;
    twins->turn(&value);
    r = nn_graph_add_value(twins->graph, &value, &twin);
    if (!r)
        twins->of[of] = twin + 1;
    return nn_error_trace(r);
}

static int value_convert(struct nn_conversions *twins, uint32_t origin, uint32_t from, uint32_t to,
                         bool back)
{
    uint32_t operation, inputs[2] = {from, 0};
    int r = twins->convert(twins, back, &operation, &inputs[1]);

    if (!r)
        r = nn_rewrite_operation(&twins->rewrite, operation, origin, 2, inputs, to);
    return nn_error_trace(r);
}

int nn_conversions_want(struct nn_conversions *twins, uint32_t origin, uint32_t value)
{
    int r;

    if (nn_conversions_find(twins, value))
        return 0;
    r = add_twin(twins, value);
    if (!r)
        r = value_convert(twins, origin, value, twins->of[value] - 1, false);
    return nn_error_trace(r);
}

/* The conversions back of the node's outputs, whose list is the model's. */
static int convert_back(struct nn_conversions *twins, uint32_t origin, const uint32_t *outputs,
                        uint32_t n)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < n; i++)
        if (nn_conversions_find(twins, outputs[i]))
            r = value_convert(twins, origin, twins->of[outputs[i]] - 1, outputs[i], true);
    return nn_error_trace(r);
}

/* Conversions back that nothing reads die in the pass behind (dead.c). */
int nn_conversions_move(struct nn_conversions *twins, struct nn_node *node, uint32_t n_data)
{
    struct nn_graph *graph = twins->graph;
    uint32_t *outputs = nn_arena_dup(&graph->arena, node->outputs,
                                     node->n_outputs * sizeof(*node->outputs));
    int r = outputs ? 0 : nn_error_origin(-ENOMEM);

    for (uint32_t i = 0; i < n_data; i++)
        if (nn_conversions_find(twins, node->inputs[i]))
            node->inputs[i] = nn_conversions_find(twins, node->inputs[i]) - 1;
    for (uint32_t i = 0; !r && i < node->n_outputs; i++) {
        if (!twins->has(&graph->values[node->outputs[i]]))
            continue;
        r = add_twin(twins, node->outputs[i]);
        node->outputs[i] = twins->of[outputs[i]] - 1;
    }
    if (!r)
        r = nn_rewrite_node(&twins->rewrite, node);
    if (!r)
        r = convert_back(twins, node->origin, outputs, node->n_outputs);
    return nn_error_trace(r);
}
