/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/remnant.h"

#include "base/error.h"

#include <string.h>

/* A part while it is reduced. */
struct reduction {
    const struct nnhal_subgraph *graph;
    const struct nn_rt_plan_part *from;
    struct nn_arena *arena;
    bool *is_empty; /* per operand of the graph; false where the part has nothing to do with it */
    bool *is_read;  /* by an operation that is left, the same */
};

static void mark_empty(struct reduction *reduction, const struct nn_rt_value *known, uint32_t n,
                       const uint32_t *operands)
{
    for (uint32_t i = 0; i < n; i++)
        reduction->is_empty[operands[i]] = nn_rt_value_is_empty(&known[operands[i]]);
}

static int find_empty(struct reduction *reduction, const struct nn_rt_value *known)
{
    const struct nnhal_subgraph *graph = reduction->graph;

    reduction->is_empty = nn_arena_new_n(reduction->arena, bool, graph->n_operands);
    reduction->is_read = nn_arena_new_n(reduction->arena, bool, graph->n_operands);
    if (!reduction->is_empty || !reduction->is_read)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < reduction->from->n_operations; i++) {
        const struct nnhal_operation *operation =
            &graph->operations[reduction->from->operations[i]];

        mark_empty(reduction, known, operation->n_inputs, operation->inputs);
        mark_empty(reduction, known, operation->n_outputs, operation->outputs);
    }
    return 0;
}

static uint32_t count_empty(const struct reduction *reduction, uint32_t n, const uint32_t *operands)
{
    uint32_t n_empty = 0;

    for (uint32_t i = 0; i < n; i++)
        n_empty += reduction->is_empty[operands[i]];
    return n_empty;
}

static int reduce_operations(struct reduction *reduction, struct nn_rt_plan_part *part)
{
    part->operations = nn_arena_new_n(reduction->arena, uint32_t, part->n_operations);
    if (!part->operations)
        return nn_error_origin(-ENOMEM);
    part->n_operations = 0;
    for (uint32_t i = 0; i < reduction->from->n_operations; i++) {
        uint32_t number = reduction->from->operations[i];
        const struct nnhal_operation *operation = &reduction->graph->operations[number];

        if (count_empty(reduction, operation->n_outputs, operation->outputs) ==
            operation->n_outputs)
            continue;
        if (operation->type != NNHAL_OP_CONCATENATION &&
            count_empty(reduction, operation->n_inputs, operation->inputs) > 0)
            return NN_RT_REMNANT_E_NONE;
        part->operations[part->n_operations++] = number;
        for (uint32_t j = 0; j < operation->n_inputs; j++)
            reduction->is_read[operation->inputs[j]] = true;
    }
    return 0;
}

static int reduce_inputs(struct reduction *reduction, struct nn_rt_plan_part *part)
{
    part->input_operands = nn_arena_new_n(reduction->arena, uint32_t, part->n_inputs);
    part->sources = nn_arena_new_n(reduction->arena, struct nn_rt_plan_source, part->n_inputs);
    if (!part->input_operands || !part->sources)
        return nn_error_origin(-ENOMEM);
    part->n_inputs = 0;
    for (uint32_t i = 0; i < reduction->from->n_inputs; i++) {
        uint32_t operand = reduction->from->input_operands[i];

        if (reduction->is_empty[operand] || !reduction->is_read[operand])
            continue;
        part->input_operands[part->n_inputs] = operand;
        part->sources[part->n_inputs++] = reduction->from->sources[i];
    }
    return 0;
}

static int reduce_outputs(struct reduction *reduction, struct nn_rt_plan_part *part)
{
    part->output_operands = nn_arena_new_n(reduction->arena, uint32_t, part->n_outputs);
    part->targets = nn_arena_new_n(reduction->arena, struct nn_rt_plan_target, part->n_outputs);
    if (!part->output_operands || !part->targets)
        return nn_error_origin(-ENOMEM);
    part->n_outputs = 0;
    for (uint32_t i = 0; i < reduction->from->n_outputs; i++) {
        if (reduction->is_empty[reduction->from->output_operands[i]])
            continue;
        part->output_operands[part->n_outputs] = reduction->from->output_operands[i];
        part->targets[part->n_outputs++] = reduction->from->targets[i];
    }
    return 0;
}

int nn_rt_remnant_reduce(struct nn_rt_remnant *remnant, const struct nnhal_subgraph *graph,
                         const struct nn_rt_plan_part *from, const struct nn_rt_value *known)
{
    struct nn_arena arena;
    struct nn_rt_plan_part part = *from;
    struct reduction reduction = {.graph = graph, .from = from, .arena = &arena};
    int r;

    nn_arena_init(&arena, 0);
    r = find_empty(&reduction, known);
    if (!r && remnant->part.is_empty &&
        memcmp(remnant->part.is_empty, reduction.is_empty, graph->n_operands) == 0) {
        nn_arena_done(&arena);
        return 0;
    }
    if (!r)
        r = reduce_operations(&reduction, &part);
    if (!r)
        r = reduce_inputs(&reduction, &part);
    if (!r)
        r = reduce_outputs(&reduction, &part);
    if (r) {
        nn_arena_done(&arena);
        return r;
    }
    part.is_empty = reduction.is_empty;
    part.compilation = NULL;
    nn_rt_remnant_done(remnant);
    remnant->arena = arena;
    remnant->part = part;
    return 0;
}

void nn_rt_remnant_done(struct nn_rt_remnant *remnant)
{
    nn_rt_execution_unref(remnant->execution);
    nn_rt_compilation_unref(remnant->part.compilation);
    nn_arena_done(&remnant->arena);
    *remnant = (struct nn_rt_remnant){0};
}
