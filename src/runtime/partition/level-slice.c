/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/level-slice.h"

#include "base/error.h"
#include "runtime/partition/model-values.h"
#include "runtime/partition/part-model.h"

#define EXTENSION_LEVEL 3
#define RELAXED_LEVEL   2

/* -- levels ---------------------------------------------------------------------------- */

static unsigned operand_level(const struct nn_rt_model *whole, uint32_t operand)
{
    const struct nnhal_operand *at = &whole->part.graph.operands[operand];

    if (at->lifetime == NNHAL_SUBGRAPH_VALUE)
        return whole->part.children[at->location.offset]->facts.level;
    return nn_type_is_extension(at->type) ? EXTENSION_LEVEL : nn_type_level(at->type);
}

static unsigned highest_level(const struct nn_rt_model *whole, uint32_t n, const uint32_t *operands,
                              unsigned level)
{
    for (uint32_t i = 0; i < n; i++) {
        unsigned needed = operand_level(whole, operands[i]);

        level = needed > level ? needed : level;
    }
    return level;
}

static unsigned operation_level(const struct nn_rt_model *whole, uint32_t i)
{
    const struct nnhal_subgraph *graph = &whole->part.graph;
    const struct nnhal_operation *operation = &graph->operations[i];
    struct nn_operation_facts facts = {0};
    struct nn_why why = {0};
    unsigned level;

    /* The model is valid: it is not refused. */
    nn_operation_validate(graph->operands, graph->n_operands, operation, &facts, &why);
    level = nn_type_is_extension(operation->type) ? EXTENSION_LEVEL : facts.level;
    level = highest_level(whole, operation->n_inputs, operation->inputs, level);
    return highest_level(whole, operation->n_outputs, operation->outputs, level);
}

static int find_operations(struct nn_rt_level_slice *slice, const struct nn_rt_model *whole,
                           unsigned level, struct nn_arena *arena)
{
    uint32_t n = whole->part.graph.n_operations;

    slice->operations = nn_arena_new_n(arena, uint32_t, n);
    if (!slice->operations)
        return nn_error_origin(-ENOMEM);
    if (whole->model.relax_computation_float32_to_float16 && level < RELAXED_LEVEL)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (operation_level(whole, i) <= level)
            slice->operations[slice->n_operations++] = i;
    if (slice->n_operations == n)
        slice->n_operations = 0;
    return 0;
}

/* -- what crosses its border ------------------------------------------------------------- */

#define MADE_INSIDE  1
#define READ_INSIDE  2
#define READ_OUTSIDE 4

static void mark_all(uint8_t *marks, uint32_t n, const uint32_t *operands, uint8_t mark)
{
    for (uint32_t i = 0; i < n; i++)
        marks[operands[i]] |= mark;
}

static uint8_t *mark_operands(const struct nn_rt_level_slice *slice,
                              const struct nnhal_subgraph *graph, struct nn_arena *arena)
{
    uint8_t *marks = nn_arena_new_n(arena, uint8_t, graph->n_operands);
    uint32_t n = 0;

    for (uint32_t i = 0; marks && i < graph->n_operations; i++) {
        const struct nnhal_operation *operation = &graph->operations[i];
        bool is_inside = n < slice->n_operations && slice->operations[n] == i;

        mark_all(marks, operation->n_inputs, operation->inputs,
                 is_inside ? READ_INSIDE : READ_OUTSIDE);
        if (!is_inside)
            continue;
        mark_all(marks, operation->n_outputs, operation->outputs, MADE_INSIDE);
        n++;
    }
    return marks;
}

static bool is_variable(const struct nnhal_operand *operand)
{
    return operand->lifetime == NNHAL_SUBGRAPH_INPUT ||
           operand->lifetime == NNHAL_SUBGRAPH_OUTPUT ||
           operand->lifetime == NNHAL_TEMPORARY_VARIABLE;
}

/* What nothing reads is an output, too: no model is without one. */
static bool is_output(const struct nnhal_operand *operand, uint8_t marks)
{
    return (marks & MADE_INSIDE) &&
           (operand->lifetime == NNHAL_SUBGRAPH_OUTPUT || marks != (MADE_INSIDE | READ_INSIDE));
}

static int list_borders(const struct nnhal_subgraph *graph, const uint8_t *marks,
                        struct nn_arena *arena, struct nn_rt_part_spec *spec)
{
    uint32_t *inputs = nn_arena_new_n(arena, uint32_t, graph->n_operands);
    uint32_t *outputs = nn_arena_new_n(arena, uint32_t, graph->n_operands);

    if (!inputs || !outputs)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_operands; i++) {
        if ((marks[i] & READ_INSIDE) && !(marks[i] & MADE_INSIDE) &&
            is_variable(&graph->operands[i]))
            inputs[spec->n_inputs++] = i;
        if (is_output(&graph->operands[i], marks[i]))
            outputs[spec->n_outputs++] = i;
    }
    spec->inputs = inputs;
    spec->outputs = outputs;
    return 0;
}

int nn_rt_level_slice_init(struct nn_rt_level_slice *slice, struct nn_rt_model *whole,
                           unsigned level, struct nn_arena *arena, struct nn_why *why)
{
    const struct nnhal_subgraph *graph = &whole->part.graph;
    struct nn_rt_part_spec spec = {0};
    struct nn_rt_value *values;
    uint8_t *marks;
    int r;

    *slice = (struct nn_rt_level_slice){0};
    r = find_operations(slice, whole, level, arena);
    if (r || !slice->n_operations)
        return r;
    spec.n_operations = slice->n_operations;
    spec.operations = slice->operations;
    marks = mark_operands(slice, graph, arena);
    r = marks ? list_borders(graph, marks, arena, &spec) : nn_error_origin(-ENOMEM);
    if (!r)
        r = nn_rt_model_values_new(whole, arena, &values);
    return r ? r : nn_rt_model_new_part(whole, &spec, values, why, &slice->model);
}

void nn_rt_level_slice_done(struct nn_rt_level_slice *slice)
{
    slice->model = nn_rt_model_unref(slice->model);
}
