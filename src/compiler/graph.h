/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - a model as the driver keeps it: values and nodes
 *
 * A graph is made from one subgraph of a validated model and lives as long as
 * the prepared model; the model's own arrays are gone by then, so everything
 * is copied but the large constants, which stay where they lie, in the mapped
 * pools. What the copy owns lies in one arena. A graph is immutable once the
 * passes have run over it, and any number of threads read it.
 *
 * Constants of at most NN_GRAPH_PRIVATE_BYTES, and everything that came in
 * operand_values, are private. Larger ones are memory that the application may
 * change at any time: only kernels read them, and trust none of their bytes.
 *
 * Passes (passes.h) rewrite a graph: they add values and nodes, change the
 * inputs of nodes, and mark nodes dead. Indices of values stay what they are. */
#ifndef NN_COMPILER_GRAPH_H
#define NN_COMPILER_GRAPH_H

#include "base/arena.h"

#include <nnhal/driver.h>
#include <nnhal/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define NN_GRAPH_PRIVATE_BYTES 4096

enum nn_value_kind {
    NN_VALUE_TEMPORARY = 0,
    NN_VALUE_INPUT = 1,
    NN_VALUE_OUTPUT = 2,
    NN_VALUE_CONSTANT = 3,
    NN_VALUE_OMITTED = 4,
    NN_VALUE_SUBGRAPH = 5,
};

#define NN_POOL_NONE UINT32_MAX

struct nn_value {
    uint32_t type; /* enum nnhal_operand_type, or one of own-extension.h */
    enum nn_value_kind kind;
    uint32_t n_dims;               /* as declared: 0 is a scalar or a tensor of unknown rank */
    uint32_t dims[NNHAL_MAX_RANK]; /* 0: unknown */
    float scale;
    int32_t zero_point;
    struct nnhal_channel_quant channel_quant; /* n_scales 0: none */
    bool is_settled; /* shape and quantization are what they will be when it is computed */
    uint32_t index;  /* INPUT, OUTPUT: which; SUBGRAPH: which graph of the program */
    /* CONSTANT: data is never NULL but for size 0. pool and offset say where it
     * lies if it was not copied, NN_POOL_NONE if it was. */
    const void *data;
    uint64_t size;
    uint32_t pool;
    uint64_t offset;
};

struct nn_node {
    uint32_t operation; /* enum nnhal_operation_type, or one of own-extension.h or internal-op.h */
    uint32_t n_inputs;
    uint32_t n_outputs;
    uint32_t *inputs; /* indices of values */
    uint32_t *outputs;
    uint32_t origin; /* index of the operation in the subgraph that it came from */
    bool is_dead;    /* removed by a pass */
    bool
        is_lite; /* in the model it is nnhal.tflite's, which may take ranks that NNAPI's does not */
    /* It follows the node before, elementwise on its result, and may run with it, range by range. */
    bool is_fused;
    bool as_int8;  /* its data is uint8, and rounds as int8 does, whose codes are 128 lower */
    bool was_nchw; /* in the model its data is in [N,C,H,W] */
};

struct nn_graph {
    struct nn_arena arena;
    uint32_t n_values, n_values_allocated;
    uint32_t n_nodes;
    uint32_t n_inputs, n_outputs;
    struct nn_value *values;
    struct nn_node *nodes; /* in an order in which they can run */
    uint32_t *inputs;      /* values, by index of the input */
    uint32_t *outputs;
    uint32_t *last_use; /* by value: the last live node that reads it + 1; 0: none does */
    bool is_relaxed;
    const char *refusal; /* the sentence on its first NN_OWN_NONE; NULL: it has none */
};

/* nn_graph_init() - copies a subgraph of the model; subgraph NULL: the main one.
 * The pools must stay mapped while the graph lives. An extension's operation that cannot be
 * computed is a node NN_OWN_NONE.
 * Returns: 0, -ENOMEM. The graph is as after nn_graph_done() on failure. */
int nn_graph_init(struct nn_graph *graph, const struct nnhal_driver_model *model,
                  const struct nnhal_subgraph *subgraph, const struct nn_meter *meter);

/* nn_graph_done() - frees everything; an all-zero graph is fine. */
void nn_graph_done(struct nn_graph *graph);

/* nn_graph_add_value() - a copy of *value at the end; its arrays must live as long as the graph.
 * Returns: 0 with its index, -ENOMEM. */
int nn_graph_add_value(struct nn_graph *graph, const struct nn_value *value, uint32_t *ret_index);

/* nn_graph_add_constant() - a private constant: type, shape and quantization as like has them,
 * and a copy of the bytes. Returns: 0, -ENOMEM. */
int nn_graph_add_constant(struct nn_graph *graph, const struct nn_value *like, const void *bytes,
                          size_t n_bytes, uint32_t *ret_index);

/* nn_graph_add_i32() - a constant INT32 scalar. Returns: 0, -ENOMEM. */
int nn_graph_add_i32(struct nn_graph *graph, int32_t number, uint32_t *ret_index);

/* nn_graph_add_bool() - a constant BOOL scalar. Returns: 0, -ENOMEM. */
int nn_graph_add_bool(struct nn_graph *graph, bool truth, uint32_t *ret_index);

/* nn_graph_finish() - after the passes: finds last_use. Returns: 0, -ENOMEM. */
int nn_graph_finish(struct nn_graph *graph);

/* nn_graph_print() - one line per node, and the inputs and outputs before them:
 * the form that golden tests compare and NNHAL_TRACE=plan prints. */
void nn_graph_print(const struct nn_graph *graph, FILE *file);

/* nn_value_is_private() - whether the bytes of a constant can be trusted to stay. */
static inline bool nn_value_is_private(const struct nn_value *value)
{
    return value->kind == NN_VALUE_CONSTANT && value->pool == NN_POOL_NONE;
}

#endif
