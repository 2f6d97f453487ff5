/* SPDX-License-Identifier: Apache-2.0 */
/* view.h - what passes look up in a graph: the producer of a value, and how many nodes read it */
#ifndef NN_COMPILER_PASSES_VIEW_H
#define NN_COMPILER_PASSES_VIEW_H

#include "compiler/graph.h"
#include "model/operands.h"

/* As it was when the view was made: a pass that changes producers or readers
 * says so here, or asks only about what it has not changed. */
struct nn_view {
    struct nn_graph *graph;
    uint32_t n; /* values when the view was made; passes may add more behind them */
    uint32_t *n_uses;
    uint32_t *producers; /* node + 1; 0: none */
};

/* nn_view_init() - of the live nodes; its arrays are the graph's. Returns: 0, -ENOMEM. */
int nn_view_init(struct nn_view *view, struct nn_graph *graph);

/* nn_view_producer() - the node that computes the value, or NULL. */
struct nn_node *nn_view_producer(const struct nn_view *view, uint32_t value);

/* nn_view_only_producer() - the node that computes a temporary which nothing but
 * one node reads, or NULL. */
struct nn_node *nn_view_only_producer(const struct nn_view *view, uint32_t value);

/* nn_graph_i32() - the value of a constant INT32 scalar. Returns: whether it is one. */
bool nn_graph_i32(const struct nn_graph *graph, uint32_t index, int32_t *ret);

/* nn_graph_is_bool() - whether the node has an input i that is a BOOL scalar. */
bool nn_graph_is_bool(const struct nn_graph *graph, const struct nn_node *node, uint32_t i);

/* nn_graph_window_operands() - which inputs of a pool or convolution are what. */
struct nn_window_operands nn_graph_window_operands(const struct nn_graph *graph,
                                                   const struct nn_node *node);

/* nn_view_same_form() - whether the same bytes are the same numbers in both; not for int32. */
bool nn_view_same_form(const struct nn_value *a, const struct nn_value *b);

/* nn_view_is_elementwise() - whether element k of the result comes from element
 * k, or a broadcast one, of each input. Lowering asks the kernel again. */
bool nn_view_is_elementwise(uint32_t operation);

#endif
