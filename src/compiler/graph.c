/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/graph.h"

#include "base/arith.h"
#include "base/error.h"
#include "compiler/internal-op.h"
#include "compiler/own-extension.h"
#include "model/types.h"

#include <inttypes.h>
#include <string.h>

/* ---- growing ---- */

/* Room for one more element; arenas do not shrink, so that the old array stays
 * until the graph goes: at most as much again as the new one. */
static int graph_grow_values(struct nn_arena *arena, void **array, uint32_t n,
                             uint32_t *n_allocated, size_t element_bytes)
{
    uint32_t wanted;
    void *block;

    if (n < *n_allocated)
        return 0;
    if (__builtin_mul_overflow(*n_allocated ? *n_allocated : 8, 2u, &wanted))
        return nn_error_origin(-ENOMEM);
    block = nn_arena_alloc_array(arena, wanted, element_bytes);
    if (!block)
        return nn_error_origin(-ENOMEM);
    if (n)
        memcpy(block, *array, n * element_bytes);
    *array = block;
    *n_allocated = wanted;
    return 0;
}

int nn_graph_add_value(struct nn_graph *graph, const struct nn_value *value, uint32_t *ret_index)
{
    void *values = graph->values;
    int r = graph_grow_values(&graph->arena, &values, graph->n_values, &graph->n_values_allocated,
                              sizeof(*graph->values));

    if (r)
        return nn_error_trace(r);
    graph->values = values;
    *ret_index = graph->n_values++;
    graph->values[*ret_index] = *value;
    return 0;
}

int nn_graph_add_constant(struct nn_graph *graph, const struct nn_value *like, const void *bytes,
                          size_t n_bytes, uint32_t *ret_index)
{
    struct nn_value value = *like;

    value.kind = NN_VALUE_CONSTANT;
    value.pool = NN_POOL_NONE;
    value.size = n_bytes;
    value.data = nn_arena_dup(&graph->arena, bytes, n_bytes);
    if (!value.data)
        return nn_error_origin(-ENOMEM);
    return nn_graph_add_value(graph, &value, ret_index);
}

int nn_graph_add_i32(struct nn_graph *graph, int32_t number, uint32_t *ret_index)
{
    const struct nn_value like = {.type = NNHAL_INT32};

    return nn_graph_add_constant(graph, &like, &number, sizeof(number), ret_index);
}

int nn_graph_add_bool(struct nn_graph *graph, bool truth, uint32_t *ret_index)
{
    const struct nn_value like = {.type = NNHAL_BOOL};
    uint8_t byte = truth;

    return nn_graph_add_constant(graph, &like, &byte, 1, ret_index);
}

/* ---- from the model ---- */

static enum nn_value_kind kind_of(uint32_t lifetime)
{
    switch (lifetime) {
    case NNHAL_SUBGRAPH_INPUT:
        return NN_VALUE_INPUT;
    case NNHAL_SUBGRAPH_OUTPUT:
        return NN_VALUE_OUTPUT;
    case NNHAL_CONSTANT_COPY:
    case NNHAL_CONSTANT_REFERENCE:
        return NN_VALUE_CONSTANT;
    case NNHAL_NO_VALUE:
        return NN_VALUE_OMITTED;
    case NNHAL_SUBGRAPH_VALUE:
        return NN_VALUE_SUBGRAPH;
    default:
        return NN_VALUE_TEMPORARY;
    }
}

/* Small constants, those of operand_values, and misaligned ones are copied. */
static int take_constant(struct nn_graph *graph, struct nn_value *value,
                         const struct nnhal_driver_model *model,
                         const struct nnhal_operand *operand)
{
    const struct nnhal_data_location *at = &operand->location;
    uint32_t element = nn_type_bytes(value->type);
    const uint8_t *data;

    value->size = at->length;
    value->pool = NN_POOL_NONE;
    if (operand->lifetime == NNHAL_CONSTANT_COPY) {
        data = model->model->operand_values.data + at->offset;
    } else {
        data = model->pools[at->pool_index].data + at->offset;
        if (at->length > NN_GRAPH_PRIVATE_BYTES && (uintptr_t)data % (element ? element : 1) == 0) {
            value->data = data;
            value->pool = at->pool_index;
            value->offset = at->offset;
            return 0;
        }
    }
    value->data = nn_arena_dup(&graph->arena, data, at->length);
    return value->data ? 0 : nn_error_origin(-ENOMEM);
}

/* Scales per channel are copied: the model's arrays are gone when the graph is used. */
static int take_value(struct nn_graph *graph, struct nn_value *value,
                      const struct nnhal_driver_model *model, const struct nnhal_operand *operand)
{
    *value = (struct nn_value){.type = nn_own_type(model->model, operand->type),
                               .kind = kind_of(operand->lifetime),
                               .n_dims = operand->n_dimensions,
                               .scale = operand->scale,
                               .zero_point = operand->zero_point,
                               .pool = NN_POOL_NONE};
    if (operand->n_dimensions)
        memcpy(value->dims, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
    if (operand->extra_params == NNHAL_EXTRA_CHANNEL_QUANT) {
        value->channel_quant = operand->channel_quant;
        value->channel_quant.scales = nn_arena_dup(&graph->arena, operand->channel_quant.scales,
                                                   operand->channel_quant.n_scales * sizeof(float));
        if (!value->channel_quant.scales)
            return nn_error_origin(-ENOMEM);
    }
    if (value->kind == NN_VALUE_SUBGRAPH)
        value->index = (uint32_t)operand->location.offset + 1; /* graph 0 is the main one */
    if (value->kind == NN_VALUE_CONSTANT)
        return take_constant(graph, value, model, operand);
    return 0;
}

/* Passes change lists of inputs, so that each node has its own. */
static uint32_t *take_indices(struct nn_graph *graph, const uint32_t *indices, uint32_t n)
{
    return nn_arena_dup(&graph->arena, indices, n * sizeof(*indices));
}

/* An operation of the model, by the code that it has inside. Keeps the first sentence. */
static int take_operation(struct nn_graph *graph, const struct nnhal_model *model,
                          const struct nnhal_subgraph *subgraph,
                          const struct nnhal_operation *operation, uint32_t *ret_operation)
{
    struct nn_why why;
    int r = nn_own_operation(model, subgraph, operation, &why, ret_operation);

    if (r || *ret_operation != NN_OWN_NONE || graph->refusal)
        return nn_error_trace(r);
    graph->refusal = nn_arena_dup(&graph->arena, why.text, sizeof(why.text));
    return graph->refusal ? 0 : nn_error_origin(-ENOMEM);
}

static int take_node(struct nn_graph *graph, struct nn_node *node, uint32_t origin,
                     const struct nnhal_operation *operation)
{
    *node = (struct nn_node){.n_inputs = operation->n_inputs,
                             .n_outputs = operation->n_outputs,
                             .origin = origin,
                             .is_lite = nn_type_is_extension(operation->type)};
    node->inputs = take_indices(graph, operation->inputs, operation->n_inputs);
    node->outputs = take_indices(graph, operation->outputs, operation->n_outputs);
    return node->inputs && node->outputs ? 0 : nn_error_origin(-ENOMEM);
}

static int take_subgraph(struct nn_graph *graph, const struct nnhal_driver_model *model,
                         const struct nnhal_subgraph *subgraph)
{
    int r;

    graph->n_values = graph->n_values_allocated = subgraph->n_operands;
    graph->n_nodes = subgraph->n_operations;
    graph->n_inputs = subgraph->n_input_indexes;
    graph->n_outputs = subgraph->n_output_indexes;
    graph->is_relaxed = model->model->relax_computation_float32_to_float16 != 0;
    graph->values = nn_arena_new_n(&graph->arena, struct nn_value, graph->n_values);
    graph->nodes = nn_arena_new_n(&graph->arena, struct nn_node, graph->n_nodes);
    graph->inputs = take_indices(graph, subgraph->input_indexes, graph->n_inputs);
    graph->outputs = take_indices(graph, subgraph->output_indexes, graph->n_outputs);
    if (!graph->values || !graph->nodes || !graph->inputs || !graph->outputs)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_values; i++) {
        r = take_value(graph, &graph->values[i], model, &subgraph->operands[i]);
        if (r)
            return nn_error_trace(r);
    }
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        r = take_node(graph, &graph->nodes[i], i, &subgraph->operations[i]);
        if (!r)
            r = take_operation(graph, model->model, subgraph, &subgraph->operations[i],
                               &graph->nodes[i].operation);
        if (r)
            return nn_error_trace(r);
    }
    for (uint32_t i = 0; i < graph->n_inputs; i++)
        graph->values[graph->inputs[i]].index = i;
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        graph->values[graph->outputs[i]].index = i;
    return 0;
}

int nn_graph_init(struct nn_graph *graph, const struct nnhal_driver_model *model,
                  const struct nnhal_subgraph *subgraph, const struct nn_meter *meter)
{
    int r;

    *graph = (struct nn_graph){0};
    nn_arena_init(&graph->arena, 0);
    graph->arena.meter = meter;
    r = take_subgraph(graph, model, subgraph ? subgraph : &model->model->main);
    if (r)
        nn_graph_done(graph);
    return nn_error_trace(r);
}

void nn_graph_done(struct nn_graph *graph)
{
    nn_arena_done(&graph->arena);
    *graph = (struct nn_graph){0};
}

/* Node + 1, so that 0 is a value that is never read. */
int nn_graph_finish(struct nn_graph *graph)
{
    graph->last_use = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    if (!graph->last_use)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        const struct nn_node *node = &graph->nodes[i];

        for (uint32_t j = 0; !node->is_dead && j < node->n_inputs; j++)
            graph->last_use[node->inputs[j]] = i + 1;
    }
    return 0;
}

/* ---- printing ---- */

static const char *short_type(uint32_t type)
{
    static const char *const names[NN_TYPE_N] = {
        "f32", "i32", "u32",    "tf32",  "ti32", "tu8", "bool",  "ts16q", "tf16",
        "tb8", "f16", "ts8qpc", "tu16q", "ts8q", "ts8", "graph", "ti64"};

    return type < NN_TYPE_N ? names[type] : "?";
}

static void print_number(const struct nn_value *value, FILE *file)
{
    int32_t number = 0;
    float real = 0;

    if (value->type == NNHAL_INT32 && value->size == sizeof(number)) {
        memcpy(&number, value->data, sizeof(number));
        fprintf(file, "%" PRId32, number);
    } else if (value->type == NNHAL_FLOAT32 && value->size == sizeof(real)) {
        memcpy(&real, value->data, sizeof(real));
        fprintf(file, "%g", (double)real);
    } else if (value->type == NNHAL_BOOL && value->size == 1) {
        fputs(*(const uint8_t *)value->data ? "true" : "false", file);
    } else {
        fprintf(file, "%s constant", short_type(value->type));
    }
}

/* "%7 tu8[1,224,224,3]": inputs of graphs, and what nodes produce. */
static void print_value(const struct nn_graph *graph, uint32_t index, FILE *file)
{
    const struct nn_value *value = &graph->values[index];

    fprintf(file, "%%%" PRIu32 " %s", index, short_type(value->type));
    if (!nn_type_is_tensor(value->type))
        return;
    fputc('[', file);
    for (uint32_t i = 0; i < value->n_dims; i++) {
        if (i)
            fputc(',', file);
        if (value->dims[i])
            fprintf(file, "%" PRIu32, value->dims[i]);
        else
            fputc('?', file);
    }
    fputs(value->n_dims ? "]" : "*]", file);
    if (value->scale > 0)
        fprintf(file, "*%g%+" PRId32, (double)value->scale, -value->zero_point);
}

static void print_operand(const struct nn_graph *graph, uint32_t index, FILE *file)
{
    const struct nn_value *value = &graph->values[index];

    if (value->kind == NN_VALUE_OMITTED)
        fputc('-', file);
    else if (value->kind == NN_VALUE_SUBGRAPH)
        fprintf(file, "graph%" PRIu32, value->index);
    else if (value->kind != NN_VALUE_CONSTANT)
        fprintf(file, "%%%" PRIu32, index);
    else if (nn_type_is_tensor(value->type))
        print_value(graph, index, file);
    else
        print_number(value, file);
}

static void print_node(const struct nn_graph *graph, const struct nn_node *node, FILE *file)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        fputs(i ? ", " : node->is_fused ? "  + " : "  ", file);
        print_value(graph, node->outputs[i], file);
    }
    fprintf(file, " = %s%s(", node->as_int8 ? "int8 " : "", nn_internal_op_name(node->operation));
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (i)
            fputs(", ", file);
        print_operand(graph, node->inputs[i], file);
    }
    fputs(")\n", file);
}

void nn_graph_print(const struct nn_graph *graph, FILE *file)
{
    fputs("graph(", file);
    for (uint32_t i = 0; i < graph->n_inputs; i++) {
        if (i)
            fputs(", ", file);
        print_value(graph, graph->inputs[i], file);
    }
    fputs(")\n", file);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (!graph->nodes[i].is_dead)
            print_node(graph, &graph->nodes[i], file);
    fputs("  return", file);
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        fprintf(file, "%s %%%" PRIu32, i ? "," : "", graph->outputs[i]);
    fputc('\n', file);
}
