/* SPDX-License-Identifier: Apache-2.0 */
/* rewrite.h - a graph's list of nodes, made anew by a pass that adds some */
#ifndef NN_COMPILER_PASSES_REWRITE_H
#define NN_COMPILER_PASSES_REWRITE_H

#include "compiler/graph.h"

/* The new list; the graph has the old one until nn_rewrite_finish(). */
struct nn_rewrite {
    struct nn_graph *graph;
    struct nn_node *nodes;
    uint32_t n, n_allocated;
};

/* nn_rewrite_init() - an empty list, in the graph's memory. Returns: 0, -ENOMEM. */
int nn_rewrite_init(struct nn_rewrite *rewrite, struct nn_graph *graph);

/* nn_rewrite_node() - a copy of the node at the end. Returns: 0, -ENOMEM. */
int nn_rewrite_node(struct nn_rewrite *rewrite, const struct nn_node *node);

/* nn_rewrite_operation() - a new node with one output; origin: the node that it
 * stands for in messages. Returns: 0, -ENOMEM. */
int nn_rewrite_operation(struct nn_rewrite *rewrite, uint32_t operation, uint32_t origin,
                         uint32_t n_inputs, const uint32_t *inputs, uint32_t output);

/* nn_rewrite_finish() - the graph has the new list. */
void nn_rewrite_finish(struct nn_rewrite *rewrite);

#endif
