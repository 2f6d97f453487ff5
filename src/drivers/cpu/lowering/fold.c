/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/fold.h"

#include "base/error.h"
#include "base/sys.h"
#include "drivers/cpu/executor/evaluate.h"
#include "drivers/cpu/lowering/work.h"

#include <errno.h>
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
                        struct nn_fold_budget *budget)
{
    struct nn_pace pace = nn_pace(budget->stop);

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct nn_slot *slot = &frame->slots[node->outputs[i]];
        struct nn_value *value = &graph->values[node->outputs[i]];
        void *data = nn_arena_alloc(&graph->arena, slot->size);

        if (!data)
            return nn_error_origin(-ENOMEM);
        nn_pace_copy(&pace, data, slot->data, slot->size);
        value->kind = NN_VALUE_CONSTANT;
        value->data = data;
        value->size = slot->size;
        value->pool = NN_POOL_NONE;
        value->n_dims = slot->n_dims;
        memcpy(value->dims, slot->dims, sizeof(value->dims));
        value->scale = slot->scale;
        value->zero_point = slot->zero_point;
        budget->n_bytes -= slot->size;
    }
    node->is_dead = true;
    return 0;
}

/* What a kernel made, not what the plan promised: a dynamic one may make less. */
static bool results_fit(const struct nn_node *node, const struct nn_frame *frame,
                        const struct nn_fold_budget *budget)
{
    uint64_t n_bytes = 0;

    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct nn_slot *slot = &frame->slots[node->outputs[i]];

        if (!slot->is_known || (slot->size && !slot->data))
            return false;
        n_bytes += slot->size;
    }
    return n_bytes <= budget->n_bytes;
}

/* Whether results and work are within the budget, and done before the deadline; spends the work. */
static bool budget_allows(struct nn_fold_budget *budget, uint64_t n_bytes, uint64_t n_work)
{
    uint64_t deadline_ns = budget->stop->deadline_ns, now_ns = 0;

    if (deadline_ns != NNHAL_NO_TIME)
        now_ns = nn_sys_now_ns();
    if (n_bytes > budget->n_bytes || n_work > budget->n_work || now_ns >= deadline_ns ||
        n_work > deadline_ns - now_ns)
        return false;
    budget->n_work -= n_work;
    return true;
}

/* Computes the node's results, and has their copies charged already, so that what the user's memory
 * does not hold is found out before the work is done. */
static int fold_compute(struct nn_evaluation *alone, struct nn_frame *frame, uint64_t n_new)
{
    const struct nn_meter *meter = alone->small.meter;
    int r = nn_meter_charge(meter, n_new);

    if (r < 0)
        return nn_error_trace(r);
    r = nn_evaluation_run(alone, frame);
    nn_meter_uncharge(meter, n_new);
    return r;
}

/* A node that is refused stays: it may never be reached, and if it is, execution says why. So does
 * one whose results its user has no memory for: executions may need less. */
static int fold_node(struct nn_program *program, uint32_t index, struct nn_node *node,
                     struct nn_frame *frame, struct nn_fold_budget *budget)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    struct nn_evaluation alone;
    uint64_t n_new = 0;
    int r;

    nn_evaluation_init(&alone, program, index, node, budget->stop);
    r = nn_evaluation_size(&alone, frame, &n_new);
    if (r == 0 && budget_allows(budget, n_new, nn_work_estimate(graph, node, n_new)))
        r = fold_compute(&alone, frame, n_new);
    nn_evaluation_done(&alone);
    if (r == 0 && results_fit(node, frame, budget))
        r = keep_outputs(graph, node, frame, budget);
    for (uint32_t i = 0; i < node->n_outputs; i++)
        nn_slot_done(&frame->slots[node->outputs[i]]);
    if (nn_stop_outcome(budget->stop))
        return NN_FOLD_E_STOPPED;
    return r < 0 && r != -EDQUOT ? nn_error_trace(r) : 0;
}

/* Whether one more operation may be looked at; spends what that costs. */
static bool budget_takes_node(struct nn_fold_budget *budget, const struct nn_graph *graph)
{
    if (!budget->n_nodes || budget->n_visits < graph->n_values)
        return false;
    budget->n_nodes--;
    budget->n_visits -= graph->n_values;
    return true;
}

int nn_fold_constants(struct nn_program *program, uint32_t index, struct nn_fold_budget *budget)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    struct nn_frame frame = {0};
    int r = 0;

    for (uint32_t i = 0; !r && i < graph->n_nodes; i++) {
        if (!may_fold(graph, &graph->nodes[i]))
            continue;
        if (!budget_takes_node(budget, graph))
            break;
        if (!frame.slots)
            r = nn_frame_init(&frame, graph->n_values, program->meter);
        if (!r)
            r = fold_node(program, index, &graph->nodes[i], &frame, budget);
    }
    nn_frame_done(&frame);
    return r < 0 ? nn_error_trace(r) : r;
}
