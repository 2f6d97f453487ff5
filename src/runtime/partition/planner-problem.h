/* SPDX-License-Identifier: Apache-2.0 */
/* planner-problem.h - what a planner knows, and what it asks the partitioner
 *
 * Which device may have which operation follows from what devices have said, and from how far the plan
 * may reach. Control flow that the runtime runs itself counts as a device of its own, behind those of the
 * planner: a part has one of them. One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_PLANNER_PROBLEM_H
#define NN_RUNTIME_PARTITION_PLANNER_PROBLEM_H

#include "runtime/model/model.h"
#include "runtime/partition/plan.h"
#include "runtime/partition/shared-control.h"
#include "runtime/partition/weights.h"

struct nn_rt_planner {
    struct nn_rt_model *finished; /* borrowed */
    uint32_t preference;          /* enum nnhal_preference */
    bool is_explicit;             /* the application listed the devices */
    bool is_estimate;             /* nothing will be computed by its plans: they are not traced */
    struct nn_arena arena;
    uint32_t n_devices;
    struct nn_rt_plan_device *devices;
    struct nn_rt_performance *performances; /* per device, as they were when the planner began */
    struct nn_rt_weights weights;
    struct nn_rt_shared_controls controls; /* without a list: not looked for yet */
    bool is_ordered; /* by the user: the first device that takes all computes it */
    int first;       /* what the first device failed with, other than for a lack of support */
    struct nn_why first_why;
};

/* What a plan may give to whom. */
struct nn_rt_reach {
    uint32_t only;   /* the device that computes all of it; n_devices: there is none */
    bool is_crowded; /* into too many parts: the last resort computes any operation */
    bool is_guess;   /* devices that were not asked take everything */
    bool may_share;  /* branches may go to several devices that compute at the same time */
};

/* nn_rt_planner_pose() - in what decides, time or energy. What it points to is the planner's and the
 * arena's. Returns: 0, -ENOMEM. */
int nn_rt_planner_pose(const struct nn_rt_planner *planner, const struct nn_rt_reach *reach,
                       struct nn_arena *arena, struct nn_rt_partition_problem *ret_problem);

/* nn_rt_planner_pose_times() - the same problem in time. Returns: 0, -ENOMEM. */
int nn_rt_planner_pose_times(const struct nn_rt_planner *planner, const struct nn_rt_reach *reach,
                             struct nn_arena *arena, struct nn_rt_partition_problem *problem);

/* nn_rt_planner_is_taken() - whether one takes an operation that is no last resort. */
bool nn_rt_planner_is_taken(const struct nn_rt_planner *planner, uint32_t operation);

/* nn_rt_planner_is_left_to_others() - whether they do without the last resort for an operation, or share it. */
bool nn_rt_planner_is_left_to_others(const struct nn_rt_planner *planner, uint32_t operation);

#endif
