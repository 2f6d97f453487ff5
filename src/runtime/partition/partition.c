/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/partition.h"

#include "base/error.h"
#include "runtime/partition/sharing.h"

#define NONE NN_RT_FORMING_NONE

/* Operations looked at while islands are merged: models of many partitions have more candidates than
 * a compilation should wait for. */
#define MERGE_BUDGET UINT64_C(100000000)

struct partition_work {
    const struct nn_rt_partition_problem *problem;
    struct nn_rt_forming forming;
    uint32_t n_operations;
    struct nn_rt_trial trial;
};

static int work_init(struct partition_work *work, const struct nn_rt_partition_problem *problem,
                     struct nn_arena *arena)
{
    int r;

    *work = (struct partition_work){.problem = problem,
                                    .n_operations = problem->graph->n_operations};
    r = nn_rt_forming_init(&work->forming, problem, MERGE_BUDGET, arena);
    return r ? r : nn_rt_trial_init(&work->trial, &work->forming, arena);
}

/* -- choosing --------------------------------------------------------------------------- */

static int assign_cheapest(struct partition_work *work, uint32_t *ret_operation)
{
    for (uint32_t i = 0; i < work->n_operations; i++) {
        uint32_t best = 0;

        for (uint32_t d = 1; d < work->problem->n_devices; d++)
            if (nn_rt_forming_cost(&work->forming, d, i) <
                nn_rt_forming_cost(&work->forming, best, i))
                best = d;
        if (nn_rt_forming_cost(&work->forming, best, i) == NN_RT_COST_NONE) {
            *ret_operation = i;
            return NN_RT_PARTITION_E_UNSUPPORTED;
        }
        work->trial.seats[i] = best;
    }
    return 0;
}

/* Gives one partition of the best to a device, in tried. Returns: false if it does not take it. */
static bool try_move(struct partition_work *work, uint32_t partition, uint32_t device)
{
    for (uint32_t i = 0; i < work->n_operations; i++) {
        bool is_moved = work->trial.best->partitions[i] == partition;

        if (is_moved && nn_rt_forming_cost(&work->forming, device, i) == NN_RT_COST_NONE)
            return false;
        work->trial.tried[i] = is_moved ? device : work->trial.seats[i];
    }
    nn_rt_forming_form(&work->forming, work->trial.tried, work->trial.candidate);
    return true;
}

/* One round over the partitions as they are; a move that is made ends the round of its partition.
 * Returns: whether one was made. */
static bool merge_round(struct partition_work *work)
{
    bool has_moved = false;

    for (uint32_t p = 0; p < work->trial.best->n_partitions; p++)
        for (uint32_t d = 0; d < work->problem->n_devices && p < work->trial.best->n_partitions;
             d++) {
            if (d == work->trial.best->devices[p] || !work->forming.budget ||
                !try_move(work, p, d) ||
                work->trial.candidate->cost_ns >= work->trial.best->cost_ns)
                continue;
            nn_rt_trial_accept(&work->trial);
            has_moved = true;
        }
    return has_moved;
}

/* The cheapest move that leaves fewer partitions. Returns: false if there is none. */
static bool merge_cheapest(struct partition_work *work)
{
    uint32_t partition = NONE, device = 0;
    uint64_t cost_ns = UINT64_MAX;

    for (uint32_t p = 0; p < work->trial.best->n_partitions; p++)
        for (uint32_t d = 0; d < work->problem->n_devices && work->forming.budget; d++) {
            if (d == work->trial.best->devices[p] || !try_move(work, p, d) ||
                work->trial.candidate->n_partitions >= work->trial.best->n_partitions ||
                work->trial.candidate->cost_ns >= cost_ns)
                continue;
            partition = p;
            device = d;
            cost_ns = work->trial.candidate->cost_ns;
        }
    if (partition == NONE || !try_move(work, partition, device))
        return false;
    nn_rt_trial_accept(&work->trial);
    return true;
}

static bool takes_all(const struct partition_work *work, uint32_t device)
{
    for (uint32_t i = 0; i < work->n_operations; i++)
        if (nn_rt_forming_cost(&work->forming, device, i) == NN_RT_COST_NONE)
            return false;
    return true;
}

/* One device for all, where that is not dearer, or where there are too many partitions. */
static void prefer_whole(struct partition_work *work)
{
    uint32_t cap = work->problem->max_partitions;

    for (uint32_t d = 0; d < work->problem->n_devices; d++) {
        bool is_over = cap && work->trial.best->n_partitions > cap;

        if (!takes_all(work, d))
            continue;
        for (uint32_t i = 0; i < work->n_operations; i++)
            work->trial.tried[i] = d;
        nn_rt_forming_form(&work->forming, work->trial.tried, work->trial.candidate);
        if (work->trial.candidate->cost_ns < work->trial.best->cost_ns || is_over ||
            (work->trial.candidate->cost_ns == work->trial.best->cost_ns &&
             work->trial.best->n_partitions > 1))
            nn_rt_trial_accept(&work->trial);
    }
}

int nn_rt_partition(const struct nn_rt_partition_problem *problem, struct nn_arena *arena,
                    struct nn_rt_partitioning *ret_partitioning, uint32_t *ret_operation)
{
    struct partition_work work;
    uint32_t n_before;
    int r = work_init(&work, problem, arena);

    if (!r)
        r = assign_cheapest(&work, ret_operation);
    if (r)
        return r;
    nn_rt_forming_form(&work.forming, work.trial.seats, work.trial.best);
    n_before = work.trial.best->n_partitions;
    if (problem->is_merging) {
        while (work.trial.best->n_partitions > 1 && merge_round(&work))
            ;
        while (problem->max_partitions && work.trial.best->n_partitions > problem->max_partitions &&
               merge_cheapest(&work))
            ;
        prefer_whole(&work);
    }
    if (problem->is_sharing)
        r = nn_rt_share(&work.forming, work.trial.seats, arena, work.trial.best);
    *ret_partitioning = *work.trial.best;
    ret_partitioning->n_before = n_before > work.trial.best->n_partitions
                                     ? n_before
                                     : work.trial.best->n_partitions;
    return r;
}
