/* SPDX-License-Identifier: Apache-2.0 */
/* delegate-graph.h - nodes of an interpreter as a graph
 *
 * A view describes some nodes of a subgraph and all tensors of it by the structs of graph.h, as
 * they are when it is read. Lists of tensors are copied; constants, scales, names and custom options
 * stay the interpreter's, which keeps them as long as the model. Shapes change when the application
 * resizes an input: tfl_view_update() reads them again. */
#ifndef NN_TFLITE_DELEGATE_GRAPH_H
#define NN_TFLITE_DELEGATE_GRAPH_H

#include "tflite/abi.h"
#include "tflite/graph.h"

struct tfl_view {
    struct tfl_graph graph;
    int32_t *lists;  /* that the graph's operators and the graph itself point to */
    size_t n_lists;  /* numbers in it */
    int32_t *makers; /* by tensor: the operator that puts it out; -1: none. NULL in a part */
    bool borrows_tensors;
};

/* tfl_view_read() - describes n nodes, in this order; the graph has no inputs and outputs yet. While
 * a delegate's Prepare() runs.
 * Returns: 0, -EINVAL (the host's answers contradict each other), -ENOMEM. */
int tfl_view_read(struct lite_context *context, const int *nodes, uint32_t n,
                  struct tfl_view *ret_view);

/* tfl_view_part() - some of the operators of a view as a graph of their own, with its inputs and
 * outputs: operators, n indexes in ascending order, and those before them that make a constant of a
 * constant (tfl_is_folded) that they read. outputs are the tensors that go out, folded ones left out;
 * NULL: all that no operator of the part reads. The part borrows the tensors of whole.
 * Returns: 0, -ENOMEM. */
int tfl_view_part(const struct tfl_view *whole, const uint32_t *operators, uint32_t n,
                  const struct lite_ints *outputs, struct tfl_view *ret_part);

/* tfl_view_own() - gives a part tensors of its own.
 * Returns: 0, -ENOMEM. */
int tfl_view_own(struct tfl_view *part);

/* tfl_view_update() - reads the tensors again. Any time.
 * Returns: 0, -EINVAL (there are fewer than before), -ENOMEM; *ret_is_same tells whether the tensors
 * of the view's operators have the shapes that they had. */
int tfl_view_update(struct lite_context *context, struct tfl_view *view, bool *ret_is_same);

void tfl_view_done(struct tfl_view *view);

/* tfl_params_read() - the options of an operator, whose code is set, from a node's builtin_data. */
void tfl_params_read(struct tfl_operator *op, const void *params, int version);

#endif
