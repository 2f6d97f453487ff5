/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/fold.h"

#include "base/error.h"
#include "drivers/cpu/executor/evaluate.h"

#include <string.h>

/* Random numbers are drawn at each execution; control flow has its own frames. */
static bool may_fold(const struct nn_graph *graph, const struct nn_node *node)
{
    if (node->is_dead || node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE ||
        node->operation == NNHAL_OP_RANDOM_MULTINOMIAL)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (graph->values[node->inputs[i]].kind != NN_VALUE_CONSTANT &&
            graph->values[node->inputs[i]].kind != NN_VALUE_OMITTED)
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (graph->values[node->outputs[i]].kind != NN_VALUE_TEMPORARY)
            return false;
    return true;
}

/* The node's results become constants. */
static int keep_outputs(struct nn_graph *graph, struct nn_node *node, const struct nn_frame *frame,
                        uint64_t *n_bytes)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct nn_slot *slot = &frame->slots[node->outputs[i]];
        struct nn_value *value = &graph->values[node->outputs[i]];
        void *data = nn_arena_dup(&graph->arena, slot->data, slot->size);

        if (!data)
            return nn_error_origin(-ENOMEM);
        value->kind = NN_VALUE_CONSTANT;
        value->data = data;
        value->size = slot->size;
        value->pool = NN_POOL_NONE;
        value->n_dims = slot->n_dims;
        memcpy(value->dims, slot->dims, sizeof(value->dims));
        value->scale = slot->scale;
        value->zero_point = slot->zero_point;
        *n_bytes += slot->size;
    }
    node->is_dead = true;
    return 0;
}

/* What a kernel made, not what the plan promised: a dynamic one may make less. */
static bool results_fit(const struct nn_node *node, const struct nn_frame *frame, uint64_t n_bytes)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct nn_slot *slot = &frame->slots[node->outputs[i]];

        if (!slot->is_known || (slot->size && !slot->data))
            return false;
        n_bytes += slot->size;
    }
    return n_bytes <= NN_FOLD_MAX_BYTES;
}

/* A node that is refused stays: it may never be reached, and if it is, execution says why. */
static int fold_node(struct nn_program *program, uint32_t index, struct nn_node *node,
                     struct nn_frame *frame, uint64_t *n_bytes)
{
    static const uint32_t is_cancelled;
    struct nn_evaluation alone;
    uint64_t n_new = 0;
    int r;

    nn_evaluation_init(&alone, program, index, node, program->team);
    r = nn_evaluation_size(&alone, frame, &n_new);
    if (r == 0 && n_new <= NN_FOLD_MAX_BYTES - *n_bytes)
        r = nn_evaluation_run(&alone, frame, &is_cancelled);
    nn_evaluation_done(&alone);
    if (r == 0 && results_fit(node, frame, *n_bytes))
        r = keep_outputs(&program->graphs[index].graph, node, frame, n_bytes);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        nn_slot_reset(&frame->slots[node->outputs[i]]);
    return r < 0 ? nn_error_trace(r) : 0;
}

/* The visits are bounded, because each evaluation looks at all values of the graph. */
int nn_fold_constants(struct nn_program *program, uint32_t index)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    struct nn_frame frame = {0};
    uint64_t n_bytes = 0;
    uint32_t n_folded = 0, n_most = NN_FOLD_MAX_VISITS / (graph->n_values + 1);
    int r = 0;

    for (uint32_t i = 0;
         !r && i < graph->n_nodes && n_folded < n_most && n_folded < NN_FOLD_MAX_NODES; i++) {
        if (!may_fold(graph, &graph->nodes[i]))
            continue;
        n_folded++;
        if (!frame.slots)
            r = nn_frame_init(&frame, graph->n_values);
        if (!r)
            r = fold_node(program, index, &graph->nodes[i], &frame, &n_bytes);
    }
    nn_frame_done(&frame);
    return nn_error_trace(r);
}
