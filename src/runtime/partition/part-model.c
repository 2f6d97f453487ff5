/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/part-model.h"

#include "base/error.h"
#include "model/copy.h"

#include <string.h>

#define UNUSED UINT32_MAX

/* The width of the widest element: where a small value may begin. */
#define VALUE_ALIGNMENT 4

/* A part while it is made. */
struct cut {
    const struct nn_rt_model *whole;
    const struct nn_rt_part_spec *spec;
    const struct nn_rt_value *values;
    struct nn_rt_model *part;
    uint32_t *places; /* per operand of the whole: its number in the part, or UNUSED */
    uint32_t *pools;  /* per pool of the whole, the same */
    uint32_t n_operands;
    struct nnhal_operand *operands;
    uint8_t *bytes; /* of small constants */
    uint64_t n_bytes;
};

static const struct nnhal_subgraph *graph_of(const struct cut *cut)
{
    return &cut->whole->part.graph;
}

static bool is_left_out(const struct cut *cut, uint32_t operand)
{
    return cut->spec->is_empty && cut->spec->is_empty[operand];
}

static void use_operand(struct cut *cut, uint32_t operand)
{
    if (cut->places[operand] != UNUSED)
        return;
    cut->places[operand] = cut->n_operands++;
    if (graph_of(cut)->operands[operand].lifetime == NNHAL_CONSTANT_COPY)
        cut->n_bytes += graph_of(cut)->operands[operand].location.length + VALUE_ALIGNMENT;
}

static int find_operands(struct cut *cut)
{
    const struct nnhal_subgraph *graph = graph_of(cut);
    struct nn_arena *arena = &cut->part->arena;

    cut->places = nn_arena_new_n(arena, uint32_t, graph->n_operands);
    cut->pools = nn_arena_new_n(arena, uint32_t, cut->whole->part.n_pools);
    if (!cut->places || !cut->pools)
        return nn_error_origin(-ENOMEM);
    memset(cut->places, 0xff, graph->n_operands * sizeof(*cut->places));
    memset(cut->pools, 0xff, cut->whole->part.n_pools * sizeof(*cut->pools));
    for (uint32_t i = 0; i < cut->spec->n_operations; i++) {
        const struct nnhal_operation *operation = &graph->operations[cut->spec->operations[i]];

        for (uint32_t j = 0; j < operation->n_inputs; j++)
            if (!is_left_out(cut, operation->inputs[j]))
                use_operand(cut, operation->inputs[j]);
        for (uint32_t j = 0; j < operation->n_outputs; j++)
            use_operand(cut, operation->outputs[j]);
    }
    return 0;
}

static int make_areas(struct cut *cut)
{
    struct nn_rt_model_part *part = &cut->part->part;
    struct nn_arena *arena = &cut->part->arena;

    cut->operands = nn_arena_new_n(arena, struct nnhal_operand, cut->n_operands);
    cut->bytes = nn_arena_alloc(arena, cut->n_bytes);
    part->pools = nn_arena_new_n(arena, ANeuralNetworksMemory *, cut->whole->part.n_pools);
    part->children = nn_arena_new_n(arena, struct nn_rt_model *, cut->whole->part.n_children);
    if (!cut->operands || !cut->bytes || !part->pools || !part->children)
        return nn_error_origin(-ENOMEM);
    part->values.data = cut->bytes;
    return 0;
}

/* -- operands ---------------------------------------------------------------------- */

static void copy_small_value(struct cut *cut, struct nnhal_operand *operand)
{
    struct nnhal_bytes *values = &cut->part->part.values;
    uint64_t offset = (values->size + VALUE_ALIGNMENT - 1) / VALUE_ALIGNMENT * VALUE_ALIGNMENT;

    if (operand->location.length)
        memcpy(cut->bytes + offset, cut->whole->part.values.data + operand->location.offset,
               operand->location.length);
    values->size = offset + operand->location.length;
    operand->location.offset = offset;
}

static void refer_to_pool(struct cut *cut, struct nnhal_operand *operand)
{
    struct nn_rt_model_part *part = &cut->part->part;
    uint32_t *place = &cut->pools[operand->location.pool_index];

    if (*place == UNUSED) {
        ANeuralNetworksMemory *pool = cut->whole->part.pools[operand->location.pool_index];

        part->pools[part->n_pools] = nn_rt_memory_ref(pool);
        *place = part->n_pools++;
    }
    operand->location.pool_index = *place;
}

static void refer_to_child(struct cut *cut, struct nnhal_operand *operand)
{
    struct nn_rt_model_part *part = &cut->part->part;
    struct nn_rt_model *child = cut->whole->part.children[operand->location.offset];
    uint32_t i = 0;

    while (i < part->n_children && part->children[i] != child)
        i++;
    if (i == part->n_children)
        part->children[part->n_children++] = nn_rt_model_ref(child);
    operand->location.offset = i;
}

static int copy_operand(struct cut *cut, uint32_t i)
{
    struct nnhal_operand *operand = &cut->operands[cut->places[i]];
    int r = nn_operand_copy(operand, &graph_of(cut)->operands[i], &cut->part->arena);

    if (r)
        return nn_error_trace(r);
    switch (operand->lifetime) {
    case NNHAL_CONSTANT_COPY:
        copy_small_value(cut, operand);
        break;
    case NNHAL_CONSTANT_REFERENCE:
        refer_to_pool(cut, operand);
        break;
    case NNHAL_SUBGRAPH_VALUE:
        refer_to_child(cut, operand);
        break;
    case NNHAL_NO_VALUE:
        break;
    default:
        operand->lifetime = NNHAL_TEMPORARY_VARIABLE;
    }
    return 0;
}

/* A dimension of 0 says that the model leaves it open, so that an empty tensor stays open. */
static bool can_declare(const struct nn_rt_value *value)
{
    for (uint32_t i = 0; i < value->n_dims; i++)
        if (!value->dims[i])
            return false;
    return value->state == NN_RT_VALUE_EXACT;
}

/* Inputs and outputs of the whole are the application's to describe; what lies between two parts is
 * described as well as it is known. */
static int set_lifetimes(struct cut *cut, uint32_t lifetime, uint32_t n, const uint32_t *list,
                         const uint32_t **ret)
{
    uint32_t *places = nn_arena_new_n(&cut->part->arena, uint32_t, n);

    for (uint32_t i = 0; places && i < n; i++) {
        struct nnhal_operand *operand = &cut->operands[cut->places[list[i]]];
        const struct nn_rt_value *value = &cut->values[list[i]];

        places[i] = cut->places[list[i]];
        operand->lifetime = lifetime;
        if (graph_of(cut)->operands[list[i]].lifetime != NNHAL_TEMPORARY_VARIABLE)
            continue;
        operand->scale = value->scale;
        operand->zero_point = value->zero_point;
        if (!can_declare(value))
            continue;
        operand->n_dimensions = value->n_dims;
        operand->dimensions = nn_arena_dup(&cut->part->arena, value->dims,
                                           value->n_dims * sizeof(uint32_t));
        if (!operand->dimensions)
            return nn_error_origin(-ENOMEM);
    }
    *ret = places;
    return places ? 0 : nn_error_origin(-ENOMEM);
}

static int copy_operands(struct cut *cut)
{
    struct nnhal_subgraph *graph = &cut->part->part.graph;
    int r = 0;

    for (uint32_t i = 0; !r && i < graph_of(cut)->n_operands; i++)
        if (cut->places[i] != UNUSED)
            r = copy_operand(cut, i);
    if (!r)
        r = set_lifetimes(cut, NNHAL_SUBGRAPH_OUTPUT, cut->spec->n_outputs, cut->spec->outputs,
                          &graph->output_indexes);
    if (!r)
        r = set_lifetimes(cut, NNHAL_SUBGRAPH_INPUT, cut->spec->n_inputs, cut->spec->inputs,
                          &graph->input_indexes);
    graph->n_operands = cut->n_operands;
    graph->operands = cut->operands;
    graph->n_input_indexes = cut->spec->n_inputs;
    graph->n_output_indexes = cut->spec->n_outputs;
    return r;
}

/* -- operations ------------------------------------------------------------------------- */

static const uint32_t *map_list(const struct cut *cut, uint32_t n, const uint32_t *list)
{
    uint32_t *mapped = nn_arena_new_n(&cut->part->arena, uint32_t, n);

    for (uint32_t i = 0; mapped && i < n; i++)
        mapped[i] = cut->places[list[i]];
    return mapped;
}

/* Without what is left out. */
static int map_inputs(const struct cut *cut, struct nnhal_operation *operation)
{
    uint32_t *inputs = nn_arena_new_n(&cut->part->arena, uint32_t, operation->n_inputs);
    uint32_t n = 0;

    for (uint32_t i = 0; inputs && i < operation->n_inputs; i++)
        if (!is_left_out(cut, operation->inputs[i]))
            inputs[n++] = cut->places[operation->inputs[i]];
    operation->n_inputs = n;
    operation->inputs = inputs;
    return inputs ? 0 : nn_error_origin(-ENOMEM);
}

static int copy_operations(struct cut *cut)
{
    const struct nn_rt_part_spec *spec = cut->spec;
    struct nn_arena *arena = &cut->part->arena;
    struct nnhal_operation *operations = nn_arena_new_n(arena, struct nnhal_operation,
                                                        spec->n_operations);

    cut->part->original = nn_arena_new_n(arena, uint32_t, spec->n_operations);
    if (!operations || !cut->part->original)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < spec->n_operations; i++) {
        operations[i] = graph_of(cut)->operations[spec->operations[i]];
        operations[i].outputs = map_list(cut, operations[i].n_outputs, operations[i].outputs);
        if (map_inputs(cut, &operations[i]) || !operations[i].outputs)
            return nn_error_origin(-ENOMEM);
        cut->part->original[i] = cut->whole->original[spec->operations[i]];
    }
    cut->part->part.graph.n_operations = spec->n_operations;
    cut->part->part.graph.operations = operations;
    return 0;
}

/* The names stay with the whole. */
static void copy_settings(struct cut *cut)
{
    const struct nnhal_model *from = &cut->whole->model;
    struct nnhal_model *to = &cut->part->model;

    to->relax_computation_float32_to_float16 = from->relax_computation_float32_to_float16;
    to->n_extension_prefixes = from->n_extension_prefixes;
    to->extension_prefixes = from->extension_prefixes;
}

int nn_rt_model_new_part(struct nn_rt_model *whole, const struct nn_rt_part_spec *spec,
                         const struct nn_rt_value *values, struct nn_why *why,
                         struct nn_rt_model **ret_part)
{
    _cleanup_(nn_rt_model_unrefp) struct nn_rt_model *part = NULL;
    struct cut cut = {.whole = whole, .spec = spec, .values = values};
    int r = nn_rt_model_new(&part);

    if (r)
        return r;
    cut.part = part;
    part->whole = nn_rt_model_ref(whole);
    r = find_operands(&cut);
    if (!r)
        r = make_areas(&cut);
    if (!r)
        r = copy_operands(&cut);
    if (!r)
        r = copy_operations(&cut);
    if (r)
        return r;
    copy_settings(&cut);
    r = nn_rt_model_link(part, why);
    if (r)
        return r;
    *ret_part = steal_ptr(&part);
    return 0;
}

/* -- branches ---------------------------------------------------------------------------- */

/* What the branch has in common with the child, which it keeps: all but references. */
static int share_part(struct nn_rt_model *branch, const struct nn_rt_model *child)
{
    struct nn_rt_model_part *part = &branch->part;
    uint32_t n_pools = child->part.n_pools, n_children = child->part.n_children;

    *part = child->part;
    part->n_pools = part->n_children = 0;
    part->pools = nn_arena_new_n(&branch->arena, ANeuralNetworksMemory *, n_pools);
    part->children = nn_arena_new_n(&branch->arena, struct nn_rt_model *, n_children);
    if (!part->pools || !part->children)
        return nn_error_origin(-ENOMEM);
    while (part->n_pools < n_pools) {
        part->pools[part->n_pools] = nn_rt_memory_ref(child->part.pools[part->n_pools]);
        part->n_pools++;
    }
    while (part->n_children < n_children) {
        part->children[part->n_children] = nn_rt_model_ref(child->part.children[part->n_children]);
        part->n_children++;
    }
    branch->original = child->original;
    return 0;
}

int nn_rt_model_get_branch(const struct nn_rt_model *whole, uint32_t number, struct nn_why *why,
                           struct nn_rt_model **ret_branch)
{
    _cleanup_(nn_rt_model_unrefp) struct nn_rt_model *branch = NULL;
    struct nn_rt_model *child = whole->part.children[number];
    uint32_t is_relaxed = whole->model.relax_computation_float32_to_float16;
    int r = 0;

    if (child->model.relax_computation_float32_to_float16 == is_relaxed) {
        *ret_branch = nn_rt_model_ref(child);
        return 0;
    }
    r = nn_rt_model_new(&branch);
    if (r)
        return r;
    branch->whole = nn_rt_model_ref(child);
    r = share_part(branch, child);
    if (r)
        return r;
    branch->model.relax_computation_float32_to_float16 = is_relaxed;
    r = nn_rt_model_link(branch, why);
    if (r)
        return r;
    *ret_branch = steal_ptr(&branch);
    return 0;
}
