/* SPDX-License-Identifier: Apache-2.0 */
/* possible.h - nodes of a graph that no execution can compute, with any inputs (model/possible.h) */
#ifndef NN_DRIVERS_CPU_LOWERING_POSSIBLE_H
#define NN_DRIVERS_CPU_LOWERING_POSSIBLE_H

#include "compiler/graph.h"

/* Why a node is impossible: a sentence, valid during the call. */
typedef void (*nn_impossible_fn)(void *ctx, uint32_t node, const char *text);

/* nn_graph_find_impossible() - calls on_impossible for each such node of the graph, by the shapes
 * that it declares, those that follow from them, and small constants. What is not known yet counts
 * as possible, and so does control flow. Returns: 0, -ENOMEM. */
int nn_graph_find_impossible(const struct nn_graph *graph, nn_impossible_fn on_impossible,
                             void *ctx);

#endif
