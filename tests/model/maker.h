/* SPDX-License-Identifier: Apache-2.0 */
/* maker.h - small models for tests, made by hand and freely spoilt
 *
 * A maker holds a model whose every array is writable, so that a test can make
 * a valid model and then break exactly one rule of it. */
#ifndef NN_TESTS_MODEL_MAKER_H
#define NN_TESTS_MODEL_MAKER_H

#include "model/validate.h"

#include <string.h>

#define MAKER_OPERANDS   48
#define MAKER_OPERATIONS 16
#define MAKER_LIST       32
#define MAKER_SUBGRAPHS  5

struct maker_graph {
    uint32_t n_operands;
    uint32_t n_operations;
    uint32_t n_inputs;
    uint32_t n_outputs;
    struct nnhal_operand operands[MAKER_OPERANDS];
    uint32_t dimensions[MAKER_OPERANDS][NNHAL_MAX_RANK + 1];
    struct nnhal_operation operations[MAKER_OPERATIONS];
    uint32_t lists[MAKER_OPERATIONS][2][MAKER_LIST];
    uint32_t inputs[MAKER_LIST];
    uint32_t outputs[MAKER_LIST];
};

/* graphs[0] is main, graphs[1 + i] is referenced subgraph i. */
struct maker {
    uint32_t n_graphs;
    uint32_t n_pools;
    uint32_t n_prefixes;
    uint8_t values[8192];
    uint64_t n_values;
    uint64_t pools[2];
    uint64_t pool_sizes[2];
    float scales[8];
    struct nnhal_extension_prefix prefixes[3];
    struct maker_graph graphs[MAKER_SUBGRAPHS];
    struct nnhal_subgraph referenced[MAKER_SUBGRAPHS];
    struct nnhal_model model;
};

static inline void maker_init(struct maker *maker, uint32_t n_graphs)
{
    memset(maker, 0, sizeof(*maker));
    maker->n_graphs = n_graphs;
}

/* maker_operand() - adds an operand; n dimensions follow. Returns: its index. */
static inline uint32_t maker_operand(struct maker_graph *graph, uint32_t type, uint32_t lifetime,
                                     uint32_t n_dimensions, const uint32_t *dimensions)
{
    uint32_t i = graph->n_operands++;
    struct nnhal_operand *operand = &graph->operands[i];

    operand->type = type;
    operand->lifetime = lifetime;
    operand->n_dimensions = n_dimensions;
    for (uint32_t d = 0; d < n_dimensions; d++)
        graph->dimensions[i][d] = dimensions[d];
    operand->scale = nn_type_is_quantized(type) ? 0.5f : 0.0f;
    if (lifetime == NNHAL_SUBGRAPH_INPUT)
        graph->inputs[graph->n_inputs++] = i;
    if (lifetime == NNHAL_SUBGRAPH_OUTPUT)
        graph->outputs[graph->n_outputs++] = i;
    return i;
}

#define DIMS(...)                                                                                  \
    sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[])                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* maker_constant() - an operand with a copied value. */
static inline uint32_t maker_constant(struct maker *maker, struct maker_graph *graph, uint32_t type,
                                      const void *value, uint64_t n_bytes, uint32_t n_dimensions,
                                      const uint32_t *dimensions)
{
    uint32_t i = maker_operand(graph, type, NNHAL_CONSTANT_COPY, n_dimensions, dimensions);

    graph->operands[i].location.offset = maker->n_values;
    graph->operands[i].location.length = n_bytes;
    memcpy(maker->values + maker->n_values, value, n_bytes);
    maker->n_values += (n_bytes + 3) / 4 * 4;
    return i;
}

static inline uint32_t maker_i32(struct maker *maker, struct maker_graph *graph, int32_t value)
{
    return maker_constant(maker, graph, NNHAL_INT32, &value, sizeof(value), 0, NULL);
}

/* maker_reference() - an operand that refers to a subgraph. */
static inline uint32_t maker_reference(struct maker_graph *graph, uint32_t subgraph)
{
    uint32_t i = maker_operand(graph, NNHAL_SUBGRAPH, NNHAL_SUBGRAPH_VALUE, 0, NULL);

    graph->operands[i].location.offset = subgraph;
    return i;
}

static inline struct nnhal_operation *maker_operation(struct maker_graph *graph, uint32_t type,
                                                      uint32_t n_inputs, const uint32_t *inputs,
                                                      uint32_t n_outputs, const uint32_t *outputs)
{
    uint32_t i = graph->n_operations++;
    struct nnhal_operation *operation = &graph->operations[i];

    operation->type = type;
    operation->n_inputs = n_inputs;
    operation->n_outputs = n_outputs;
    memcpy(graph->lists[i][0], inputs, n_inputs * sizeof(*inputs));
    memcpy(graph->lists[i][1], outputs, n_outputs * sizeof(*outputs));
    return operation;
}

static inline void maker_bind_graph(struct maker_graph *graph, struct nnhal_subgraph *subgraph)
{
    for (uint32_t i = 0; i < MAKER_OPERANDS; i++)
        graph->operands[i].dimensions = graph->dimensions[i];
    for (uint32_t i = 0; i < MAKER_OPERATIONS; i++) {
        graph->operations[i].inputs = graph->lists[i][0];
        graph->operations[i].outputs = graph->lists[i][1];
    }
    *subgraph = (struct nnhal_subgraph){
        .n_operands = graph->n_operands,
        .n_operations = graph->n_operations,
        .n_input_indexes = graph->n_inputs,
        .n_output_indexes = graph->n_outputs,
        .operands = graph->operands,
        .operations = graph->operations,
        .input_indexes = graph->inputs,
        .output_indexes = graph->outputs,
    };
}

/* maker_bind() - the model as it stands now; valid while the maker stays where it is. */
static inline const struct nnhal_model *maker_bind(struct maker *maker)
{
    struct nnhal_model *model = &maker->model;

    maker_bind_graph(&maker->graphs[0], &model->main);
    for (uint32_t i = 1; i < maker->n_graphs; i++)
        maker_bind_graph(&maker->graphs[i], &maker->referenced[i - 1]);
    model->n_referenced = maker->n_graphs - 1;
    model->referenced = maker->referenced;
    model->n_pools = maker->n_pools;
    model->pools = maker->pools;
    model->operand_values.size = maker->n_values;
    model->operand_values.data = maker->values;
    model->n_extension_prefixes = maker->n_prefixes;
    model->extension_prefixes = maker->prefixes;
    return model;
}

/* maker_make_full() - a valid model with every lifetime, IF, WHILE, an
 * extension, an omitted operand and per-channel scales. Operands of main:
 *  0 x input [2,2]      1 y constant in pool 0    2 activation   3 t = ADD(0,1,2)
 *  4 condition input    5 then  6 else            7 u = IF(4,5,6,3)
 *  8 cond  9 body       10 n input                11 v output = WHILE(8,9,7,10)
 * 12 q input [3]       13 output = RELU(12)
 * 14 permutation, omitted                         15 output = TRANSPOSE(3,14)
 * 16 per-channel       17 output = DEQUANTIZE(16)
 * 18 extension input   19 extension output
 * Referenced: 0 then, 1 else, 2 condition, 3 body. */
void maker_make_full(struct maker *maker);

#endif
