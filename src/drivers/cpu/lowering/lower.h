/* SPDX-License-Identifier: Apache-2.0 */
/* lower.h - from nodes and shapes to a plan
 *
 * nn_lower_segment() walks over the nodes from first_node on, infers shapes
 * (src/model), lets a kernel lower each node, and stops where it cannot know
 * more before something has run: at a node that needs the bytes of a value
 * that the segment itself computes, behind a step that gives its outputs
 * their shapes, and at IF and WHILE. What it stops with is a plan (plan.h).
 *
 * Three files share the work in progress, struct nn_segment (segment.h): lower.c walks,
 * layout.c decides what is a view, what is computed in place and where values
 * lie, emit.c writes the plan. */
#ifndef NN_DRIVERS_CPU_LOWERING_LOWER_H
#define NN_DRIVERS_CPU_LOWERING_LOWER_H

#include "compiler/blob.h"
#include "compiler/graph.h"
#include "drivers/cpu/executor/plan.h"

enum {
    NN_LOWER_E_UNKNOWN = 1, /* a shape or value that the frame does not hold yet decides */
    NN_LOWER_E_REFUSED = 2, /* the operation cannot be executed: why says it */
    NN_LOWER_E_STOPPED = 4, /* the caller's deadline has passed, or it was cancelled */
};

/* nn_lower_segment() - frame says the shapes of inputs and earlier results, and
 * their bytes where data is not NULL. isa: what kernels may use.
 * Returns: 0 with *ret_plan, NN_LOWER_E_UNKNOWN, NN_LOWER_E_REFUSED, NN_LOWER_E_STOPPED, -ENOMEM,
 * -EDQUOT. */
int nn_lower_segment(const struct nn_graph *graph, uint32_t first_node,
                     const struct nn_frame *frame, uint32_t isa,
                     const struct nn_plan_caller *caller, struct nn_plan *ret_plan);

/* nn_lower_supports() - whether the table has a row for the node's types.
 * Returns: 1, 0, -ENOMEM. */
int nn_lower_supports(const struct nn_graph *graph, const struct nn_node *node, uint32_t isa);

#endif
