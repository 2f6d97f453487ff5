/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - a segment of a graph on its way to a plan
 *
 * lower.c walks over the nodes and fills it, layout.c decides what is a view, what is
 * computed in place and where values lie, emit.c writes the plan. */
#ifndef NN_DRIVERS_CPU_LOWERING_SEGMENT_H
#define NN_DRIVERS_CPU_LOWERING_SEGMENT_H

#include "compiler/blob.h"
#include "compiler/graph.h"
#include "drivers/cpu/executor/plan.h"
#include "model/why.h"

#define NN_NOWHERE UINT32_MAX

/* What the segment knows of a value of the graph. */
struct nn_segment_value {
    bool is_defined; /* its shape is known */
    bool is_local;   /* computed by this segment */
    bool is_slot;    /* local, and read by others */
    bool is_late;
    bool is_omitted;
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    uint64_t size;
    const void *known;  /* private bytes, or NULL */
    uint32_t condition; /* + 1; 0: none */
    /* Layout: the value lies delta bytes behind the beginning of root's memory. */
    uint32_t root;
    uint64_t delta;
    uint32_t first_step, last_step; /* of a root: of all that lie in it */
    uint32_t slot;                  /* of a root: the value whose slot it is, or NN_NOWHERE */
    uint64_t offset;                /* of a root in the arena */
    uint32_t plan_value;            /* + 1; 0: none yet */
};

struct nn_segment_step {
    uint32_t node;
    uint32_t kernel;
    const struct nn_kernel *row;
    void *params;
    size_t weights, weights_bytes;
    struct nn_kernel_scratch scratch;
    bool is_dropped; /* a view: nothing to do */
    bool is_fused;   /* it runs inside the step before */
};

struct nn_segment_condition {
    uint32_t value;
    const void *bytes; /* private copy, NULL: only the shape */
};

struct nn_segment {
    const struct nn_graph *graph;
    const struct nn_frame *frame;
    struct nn_why *why;
    struct nn_stop *stop;
    struct nn_arena *arena;
    uint32_t isa;
    uint32_t first_node, end_node;
    enum nn_plan_end end;
    struct nn_segment_value *values; /* by index in the graph */
    struct nn_segment_step *steps;
    uint32_t n_steps;
    struct nn_segment_condition *conditions; /* at most one for each value */
    uint32_t n_conditions;
    struct nn_blob weights;
    uint64_t arena_bytes;
};

/* nn_segment_layout() - views, in place, slots and the arena. Returns: 0, -ENOMEM. */
int nn_segment_layout(struct nn_segment *segment);

/* nn_segment_root() - whose memory the value lies in, and how many bytes behind its beginning. */
uint32_t nn_segment_root(struct nn_segment *segment, uint32_t value, uint64_t *ret_delta);

/* nn_segment_emit() - the plan; takes the weights. Returns: 0, -ENOMEM. */
int nn_segment_emit(struct nn_segment *segment, struct nn_plan *ret_plan);

#endif
