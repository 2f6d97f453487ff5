/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - what is done to a graph before it is lowered
 *
 * Each pass is a function over one graph that changes nothing that can be
 * observed: the outputs of the graph keep their bits (adding zeroes that PAD
 * wrote apart, where a float's sign of zero may differ). A pass needs no shapes:
 * what is unknown stays as it is. Their order is that of the table in passes.c.
 *
 * Plans are right without any of them. The quick ones cost next to nothing and
 * spare what each execution, or each plan, would otherwise do again; the others make
 * executions faster, and a compilation that must be quick may leave them for later.
 *
 * Whether two operations are one is decided by operands alone: kernels see
 * ordinary operations and know of no pass. */
#ifndef NN_CPU_PASSES_H
#define NN_CPU_PASSES_H

#include "drivers/cpu/graph.h"
#include "drivers/cpu/program.h"

/* nn_pass_activation() - RELU, RELU1 and RELU6 become the fused activation of
 * the operation before, if that has none and nothing else reads its result.
 * Returns: 0, -ENOMEM. */
int nn_pass_activation(struct nn_graph *graph);

/* nn_pass_pad() - PAD of rows and columns becomes the explicit padding of the
 * convolution behind it. Returns: 0, -ENOMEM. */
int nn_pass_pad(struct nn_graph *graph);

/* nn_pass_infer() - temporaries and outputs get the shapes and quantizations that inference
 * gives them, and are settled, as far as the model alone decides. Returns: 0, -ENOMEM. */
int nn_pass_infer(struct nn_graph *graph);

/* nn_pass_nchw() - operations in [N,C,H,W] are computed in [N,H,W,C], between
 * transpositions that stand at the edges of what can be; those of the model
 * that undo each other vanish. Returns: 0, -ENOMEM. */
int nn_pass_nchw(struct nn_graph *graph);

/* nn_pass_bytes() - a chain of elementwise operations from one 8-bit tensor to
 * another, DEQUANTIZE and QUANTIZE between them, becomes one LOOKUP (own-op.h), whose table
 * is computed by the chain itself when constants are folded; or nothing, where
 * bytes stay what they are. Settled values only. Returns: 0, -ENOMEM. */
int nn_pass_bytes(struct nn_graph *graph);

/* nn_pass_unsigned() - int8 data of convolutions, and of what follows them, is kept as
 * uint8, each code and the zero point 128 higher. Returns: 0, -ENOMEM. */
int nn_pass_unsigned(struct nn_graph *graph);

/* nn_pass_join() - an elementwise operation that alone reads the result of a convolution, or of
 * another elementwise one, stands right behind it and is marked as joined: a
 * residual ADD, a chain. Whether they run as one is decided when shapes are known (tail.h).
 * Returns: 0, -ENOMEM. */
int nn_pass_join(struct nn_graph *graph);

/* nn_pass_dead() - operations whose results nobody reads are dead; not IF and
 * WHILE, which may be stopped by their time. Returns: 0, -ENOMEM. */
int nn_pass_dead(struct nn_graph *graph);

/* nn_passes_run() - the passes of that set over one graph of the program, which has no plans yet,
 * nn_graph_finish() included. NNHAL_TRACE=passes prints the graph before them
 * and after each pass that changes it.
 * Returns: 0, -ENOMEM. */
int nn_passes_run(struct nn_program *program, uint32_t graph, enum nn_passes passes);

#endif
