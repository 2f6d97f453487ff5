/* SPDX-License-Identifier: Apache-2.0 */
/* shared-control.h - each IF or WHILE of a model that no device takes, but whose branches devices take
 * among them
 *
 * The runtime runs it itself (control-flow.h). Whether it can, and what that costs, a plan of each branch
 * tells; it is thrown away: who compiles the model plans the branches again. To the partitioner
 * each of them is a device of its own, so that no part has two. One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_SHARED_CONTROL_H
#define NN_RUNTIME_PARTITION_SHARED_CONTROL_H

#include "runtime/partition/plan.h"

struct nn_rt_shared_control {
    uint32_t operation;
    ANeuralNetworksDevice *device; /* that has most of the work */
    uint64_t cost_ns;              /* that decides */
    uint64_t time_ns;
};

struct nn_rt_shared_controls {
    uint32_t n;
    struct nn_rt_shared_control *list;
};

/* How a branch is planned, by who has the devices. */
struct nn_rt_shared_control_calls {
    void *ctx;
    /* child: of the model. The plan is the caller's.
     * Returns: 0; why there is no plan; -ENOMEM. */
    int (*plan)(void *ctx, uint32_t child, struct nn_rt_plan **ret_plan);
};

/* nn_rt_shared_control_is() - whether it has branches. */
bool nn_rt_shared_control_is(const struct nnhal_operation *operation);

/* nn_rt_shared_controls_init() - none yet, with room for n_operations. Returns: 0, -ENOMEM. */
int nn_rt_shared_controls_init(struct nn_rt_shared_controls *controls, uint32_t n_operations,
                               struct nn_arena *arena);

/* nn_rt_shared_controls_add() - an IF or WHILE of a model's own graph, if its branches have plans. Blocks
 * for devices. Returns: 0, also where they have none; -ENOMEM. */
int nn_rt_shared_controls_add(struct nn_rt_shared_controls *controls,
                              const struct nnhal_subgraph *graph, uint32_t operation,
                              const struct nn_rt_shared_control_calls *calls);

/* nn_rt_shared_controls_find() - NULL: it is none. Borrowed until the next change. */
const struct nn_rt_shared_control *
nn_rt_shared_controls_find(const struct nn_rt_shared_controls *controls, uint32_t operation);

/* nn_rt_shared_controls_remove() - its branches could not be prepared. */
void nn_rt_shared_controls_remove(struct nn_rt_shared_controls *controls, uint32_t operation);

#endif
