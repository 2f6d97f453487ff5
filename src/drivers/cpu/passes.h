/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - what is done to a graph before it is lowered
 *
 * Each pass is a function over one graph that changes nothing that can be
 * observed: the outputs of the graph keep their bits (adding zeroes that PAD
 * wrote apart, where a float's sign of zero may differ). A pass needs no shapes:
 * what is unknown stays as it is. Their order is that of nn_passes_run().
 *
 * Whether two operations are one is decided by operands alone: kernels see
 * ordinary operations and know of no pass. */
#ifndef NN_CPU_PASSES_H
#define NN_CPU_PASSES_H

#include "drivers/cpu/graph.h"

/* nn_pass_activation() - RELU, RELU1 and RELU6 become the fused activation of
 * the operation before, if that has none and nothing else reads its result.
 * Returns: 0, -ENOMEM. */
int nn_pass_activation(struct nn_graph *graph);

/* nn_pass_pad() - PAD of rows and columns becomes the explicit padding of the
 * convolution behind it. Returns: 0, -ENOMEM. */
int nn_pass_pad(struct nn_graph *graph);

/* nn_pass_dead() - operations whose results nobody reads are dead; not IF and
 * WHILE, which may be stopped by their time. */
void nn_pass_dead(struct nn_graph *graph);

/* nn_passes_run() - all of them. Returns: 0, -ENOMEM. */
int nn_passes_run(struct nn_graph *graph);

/* nn_graph_count_uses() - how many times live nodes and the graph's outputs read
 * each value; n_uses has n_values elements. */
void nn_graph_count_uses(const struct nn_graph *graph, uint32_t *n_uses);

#endif
