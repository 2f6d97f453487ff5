/* SPDX-License-Identifier: Apache-2.0 */
/* passes.h - what is done to a graph before it is lowered
 *
 * Each pass is a function over one graph that changes nothing that can be
 * observed: the outputs of the graph keep their bits (adding zeroes that PAD
 * wrote apart, where a float's sign of zero may differ). A pass needs no shapes:
 * what is unknown stays as it is. A driver says which it runs, in which order, by a table.
 *
 * Plans are right without any of them. The quick ones cost next to nothing and
 * spare what each execution, or each plan, would otherwise do again; the others make
 * executions faster, and a compilation that must be quick may leave them for later.
 *
 * Whether two operations are one is decided by operands alone: kernels see
 * ordinary operations and know of no pass. */
#ifndef NN_COMPILER_PASSES_H
#define NN_COMPILER_PASSES_H

#include "base/stop.h"
#include "compiler/graph.h"

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

/* nn_pass_lut() - a chain of elementwise operations from one 8-bit tensor to
 * another, DEQUANTIZE and QUANTIZE between them, becomes one LOOKUP (internal-op.h), whose table
 * is computed by the chain itself when constants are folded; or nothing, where
 * bytes stay what they are. Settled values only. Returns: 0, -ENOMEM. */
int nn_pass_lut(struct nn_graph *graph);

/* nn_pass_fuse() - an elementwise operation that alone reads the result of a convolution, or of
 * another elementwise one, stands right behind it and is marked as joined: a
 * residual ADD, a chain. Whether they run as one is decided when shapes are known (epilogue.h).
 * Returns: 0, -ENOMEM. */
int nn_pass_fuse(struct nn_graph *graph);

/* nn_pass_dead() - operations whose results are not read are dead; not IF and
 * WHILE, which may be stopped by their time. Returns: 0, -ENOMEM. */
int nn_pass_dead(struct nn_graph *graph);

enum nn_pass_set {
    NN_PASSES_QUICK = 0, /* constants folded, dead operations gone */
    NN_PASSES_ALL = 1,
};

enum {
    NN_PASSES_E_STOPPED = 4, /* the caller's deadline has passed, or it was cancelled */
};

/* A row of a driver's table: a pass over the graph alone, or one of the driver's own that needs ctx. */
struct nn_pass {
    const char *name;
    enum nn_pass_set set; /* the smallest that has it */
    int (*run)(struct nn_graph *graph);
    int (*run_with)(void *ctx, struct nn_graph *graph);
};

struct nn_pass_list {
    const struct nn_pass *passes;
    size_t n_passes;
    struct nn_stop *stop; /* the caller's: looked at before each pass, all of which are linear */
};

/* nn_passes_run() - those of the list that the set has, over one graph, nn_graph_finish()
 * included. NNHAL_TRACE=passes prints the graph before them and after each pass that changes it.
 * Returns: 0, NN_PASSES_E_STOPPED, -ENOMEM. */
int nn_passes_run(struct nn_graph *graph, const struct nn_pass_list *list, enum nn_pass_set set,
                  void *ctx);

#endif
