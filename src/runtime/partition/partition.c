/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/partition.h"

#include "base/error.h"

#include <stdbool.h>
#include <string.h>

#define NONE UINT32_MAX

/* Operations looked at while islands are merged: models of many partitions have more candidates than
 * a compilation should wait for. */
#define MERGE_BUDGET UINT64_C(100000000)

/* -- the graph ------------------------------------------------------------------- */

/* The readers of an operation's results are a slice of readers:
 * [first_reader[i], first_reader[i + 1]), an entry per reading. */
struct partition_work {
    const struct nn_rt_partition_problem *problem;
    uint32_t n_operations;
    uint32_t *writers; /* per operand: the operation, or NONE */
    uint32_t *first_reader;
    uint32_t *readers;
    uint32_t *n_needed;      /* per operation: readings of other operations' results */
    uint32_t *n_missing;     /* those that are not there yet */
    uint32_t *next;          /* operations that are ready are a list per device */
    uint32_t *heads, *tails; /* per device */
    uint32_t *last_moved;    /* per operand: the partition that it was last moved to */
    bool *stays;             /* per operand: it is not moved; NULL: all are */
    uint32_t *assigned;      /* per operation: the device */
    uint32_t *tried;         /* the same for a candidate */
    struct nn_rt_partitioning *best, *candidate;
    uint64_t budget;
};

static const struct nnhal_operation *operation_at(const struct partition_work *work, uint32_t i)
{
    return &work->problem->graph->operations[i];
}

static uint64_t cost_on(const struct partition_work *work, uint32_t device, uint32_t operation)
{
    return work->problem->costs_ns[(size_t)device * work->n_operations + operation];
}

static uint64_t move_cost(const struct partition_work *work, uint32_t device, uint32_t operand)
{
    return work->problem->move_ns[(size_t)device * work->problem->graph->n_operands + operand];
}

static void find_writers(struct partition_work *work)
{
    for (uint32_t i = 0; i < work->problem->graph->n_operands; i++)
        work->writers[i] = NONE;
    for (uint32_t i = 0; i < work->n_operations; i++)
        for (uint32_t j = 0; j < operation_at(work, i)->n_outputs; j++)
            work->writers[operation_at(work, i)->outputs[j]] = i;
}

static void count_readers(struct partition_work *work)
{
    for (uint32_t i = 0; i < work->n_operations; i++)
        for (uint32_t j = 0; j < operation_at(work, i)->n_inputs; j++) {
            uint32_t writer = work->writers[operation_at(work, i)->inputs[j]];

            if (writer == NONE)
                continue;
            work->first_reader[writer + 1]++;
            work->n_needed[i]++;
        }
    for (uint32_t i = 0; i < work->n_operations; i++)
        work->first_reader[i + 1] += work->first_reader[i];
}

/* Uses next as the place of each writer's next reader. */
static void list_readers(struct partition_work *work)
{
    memcpy(work->next, work->first_reader, work->n_operations * sizeof(*work->next));
    for (uint32_t i = 0; i < work->n_operations; i++)
        for (uint32_t j = 0; j < operation_at(work, i)->n_inputs; j++) {
            uint32_t writer = work->writers[operation_at(work, i)->inputs[j]];

            if (writer != NONE)
                work->readers[work->next[writer]++] = i;
        }
}

static int new_partitioning(struct partition_work *work, struct nn_arena *arena,
                            struct nn_rt_partitioning **ret)
{
    struct nn_rt_partitioning *partitioning = nn_arena_new(arena, struct nn_rt_partitioning);

    if (!partitioning)
        return nn_error_origin(-ENOMEM);
    partitioning->devices = nn_arena_new_n(arena, uint32_t, work->n_operations);
    partitioning->partitions = nn_arena_new_n(arena, uint32_t, work->n_operations);
    *ret = partitioning;
    return partitioning->devices && partitioning->partitions ? 0 : nn_error_origin(-ENOMEM);
}

static int work_init(struct partition_work *work, const struct nn_rt_partition_problem *problem,
                     struct nn_arena *arena)
{
    uint32_t n = problem->graph->n_operations;
    size_t n_readings = 0;
    int r;

    *work = (struct partition_work){.problem = problem, .n_operations = n, .budget = MERGE_BUDGET};
    for (uint32_t i = 0; i < n; i++)
        n_readings += operation_at(work, i)->n_inputs;
    work->writers = nn_arena_new_n(arena, uint32_t, problem->graph->n_operands);
    work->last_moved = nn_arena_new_n(arena, uint32_t, problem->graph->n_operands);
    work->first_reader = nn_arena_new_n(arena, uint32_t, (size_t)n + 1);
    work->readers = nn_arena_new_n(arena, uint32_t, n_readings);
    work->n_needed = nn_arena_new_n(arena, uint32_t, n);
    work->n_missing = nn_arena_new_n(arena, uint32_t, n);
    work->next = nn_arena_new_n(arena, uint32_t, n);
    work->heads = nn_arena_new_n(arena, uint32_t, problem->n_devices);
    work->tails = nn_arena_new_n(arena, uint32_t, problem->n_devices);
    work->assigned = nn_arena_new_n(arena, uint32_t, n);
    work->tried = nn_arena_new_n(arena, uint32_t, n);
    if (!work->writers || !work->last_moved || !work->first_reader || !work->readers ||
        !work->n_needed || !work->n_missing || !work->next || !work->heads || !work->tails ||
        !work->assigned || !work->tried)
        return nn_error_origin(-ENOMEM);
    if (problem->keeps) {
        work->stays = nn_arena_new_n(arena, bool, problem->graph->n_operands);
        if (!work->stays)
            return nn_error_origin(-ENOMEM);
    }
    r = new_partitioning(work, arena, &work->best);
    if (!r)
        r = new_partitioning(work, arena, &work->candidate);
    if (r)
        return r;
    find_writers(work);
    count_readers(work);
    list_readers(work);
    return 0;
}

/* -- from devices to partitions ------------------------------------------------------ */

static void queue_push(struct partition_work *work, uint32_t device, uint32_t operation)
{
    work->next[operation] = NONE;
    if (work->heads[device] == NONE)
        work->heads[device] = operation;
    else
        work->next[work->tails[device]] = operation;
    work->tails[device] = operation;
}

/* Takes all that the device can compute now, and what becomes ready by that. Returns: how many. */
static uint32_t queue_drain(struct partition_work *work, const uint32_t *assigned, uint32_t device,
                            struct nn_rt_partitioning *ret)
{
    uint32_t n = 0;

    while (work->heads[device] != NONE) {
        uint32_t operation = work->heads[device];

        work->heads[device] = work->next[operation];
        ret->partitions[operation] = ret->n_partitions;
        n++;
        for (uint32_t i = work->first_reader[operation]; i < work->first_reader[operation + 1]; i++)
            if (--work->n_missing[work->readers[i]] == 0)
                queue_push(work, assigned[work->readers[i]], work->readers[i]);
    }
    ret->devices[ret->n_partitions++] = device;
    return n;
}

/* One device computes all that it can, then the next that has something to do: an order in which
 * each partition is as large as it can be when its turn comes. */
static void form_partitions(struct partition_work *work, const uint32_t *assigned,
                            struct nn_rt_partitioning *ret)
{
    uint32_t n_devices = work->problem->n_devices, n_left = work->n_operations, device = 0;

    for (uint32_t i = 0; i < n_devices; i++)
        work->heads[i] = NONE;
    memcpy(work->n_missing, work->n_needed, work->n_operations * sizeof(*work->n_missing));
    for (uint32_t i = 0; i < work->n_operations; i++)
        if (!work->n_needed[i])
            queue_push(work, assigned[i], i);
    ret->n_partitions = 0;
    for (; n_left; device = (device + 1) % n_devices)
        if (work->heads[device] != NONE)
            n_left -= queue_drain(work, assigned, device, ret);
}

/* -- costs --------------------------------------------------------------------------- */

/* What its device keeps, and no other reads. */
static void find_staying(struct partition_work *work, const struct nn_rt_partitioning *partitioning)
{
    const struct nnhal_subgraph *graph = work->problem->graph;

    for (uint32_t i = 0; i < graph->n_operands; i++) {
        uint32_t writer = work->writers[i];

        work->stays[i] =
            writer != NONE &&
            work->problem->keeps[(size_t)partitioning->devices[partitioning->partitions[writer]] *
                                     graph->n_operands +
                                 i];
    }
    for (uint32_t i = 0; i < work->n_operations; i++)
        for (uint32_t j = 0; j < graph->operations[i].n_inputs; j++) {
            uint32_t operand = graph->operations[i].inputs[j], writer = work->writers[operand];

            if (writer != NONE && partitioning->devices[partitioning->partitions[writer]] !=
                                      partitioning->devices[partitioning->partitions[i]])
                work->stays[operand] = false;
        }
}

static uint64_t moves_cost(struct partition_work *work,
                           const struct nn_rt_partitioning *partitioning)
{
    const struct nnhal_subgraph *graph = work->problem->graph;
    uint64_t cost = 0;

    for (uint32_t i = 0; i < graph->n_operands; i++)
        work->last_moved[i] = NONE;
    if (work->stays)
        find_staying(work, partitioning);
    for (uint32_t i = 0; i < work->n_operations; i++)
        for (uint32_t j = 0; j < graph->operations[i].n_inputs; j++) {
            uint32_t operand = graph->operations[i].inputs[j];
            uint32_t writer = work->writers[operand];

            if (writer == NONE || partitioning->partitions[writer] == partitioning->partitions[i] ||
                work->last_moved[operand] == partitioning->partitions[i] ||
                (work->stays && work->stays[operand]))
                continue;
            work->last_moved[operand] = partitioning->partitions[i];
            cost += move_cost(work, partitioning->devices[partitioning->partitions[i]], operand);
        }
    return cost;
}

static void form_and_judge(struct partition_work *work, const uint32_t *assigned,
                           struct nn_rt_partitioning *ret)
{
    form_partitions(work, assigned, ret);
    ret->cost_ns = moves_cost(work, ret);
    for (uint32_t i = 0; i < ret->n_partitions; i++)
        ret->cost_ns += work->problem->launch_ns[ret->devices[i]];
    for (uint32_t i = 0; i < work->n_operations; i++)
        ret->cost_ns += cost_on(work, assigned[i], i);
    work->budget -= work->budget < work->n_operations ? work->budget : work->n_operations;
}

/* -- choosing --------------------------------------------------------------------------- */

static int assign_cheapest(struct partition_work *work, uint32_t *ret_operation)
{
    for (uint32_t i = 0; i < work->n_operations; i++) {
        uint32_t best = 0;

        for (uint32_t d = 1; d < work->problem->n_devices; d++)
            if (cost_on(work, d, i) < cost_on(work, best, i))
                best = d;
        if (cost_on(work, best, i) == NN_RT_COST_NONE) {
            *ret_operation = i;
            return NN_RT_PARTITION_E_UNSUPPORTED;
        }
        work->assigned[i] = best;
    }
    return 0;
}

/* Gives one partition of the best to a device, in tried. Returns: false if it does not take it. */
static bool try_move(struct partition_work *work, uint32_t partition, uint32_t device)
{
    for (uint32_t i = 0; i < work->n_operations; i++) {
        bool is_moved = work->best->partitions[i] == partition;

        if (is_moved && cost_on(work, device, i) == NN_RT_COST_NONE)
            return false;
        work->tried[i] = is_moved ? device : work->assigned[i];
    }
    form_and_judge(work, work->tried, work->candidate);
    return true;
}

static void accept_candidate(struct partition_work *work)
{
    struct nn_rt_partitioning *best = work->best;
    uint32_t *assigned = work->assigned;

    work->best = work->candidate;
    work->candidate = best;
    work->assigned = work->tried;
    work->tried = assigned;
}

/* One round over the partitions as they are; a move that is made ends the round of its partition.
 * Returns: whether one was made. */
static bool merge_round(struct partition_work *work)
{
    bool has_moved = false;

    for (uint32_t p = 0; p < work->best->n_partitions; p++)
        for (uint32_t d = 0; d < work->problem->n_devices && p < work->best->n_partitions; d++) {
            if (d == work->best->devices[p] || !work->budget || !try_move(work, p, d) ||
                work->candidate->cost_ns >= work->best->cost_ns)
                continue;
            accept_candidate(work);
            has_moved = true;
        }
    return has_moved;
}

/* The cheapest move that leaves fewer partitions. Returns: false if there is none. */
static bool merge_cheapest(struct partition_work *work)
{
    uint32_t partition = NONE, device = 0;
    uint64_t cost_ns = UINT64_MAX;

    for (uint32_t p = 0; p < work->best->n_partitions; p++)
        for (uint32_t d = 0; d < work->problem->n_devices && work->budget; d++) {
            if (d == work->best->devices[p] || !try_move(work, p, d) ||
                work->candidate->n_partitions >= work->best->n_partitions ||
                work->candidate->cost_ns >= cost_ns)
                continue;
            partition = p;
            device = d;
            cost_ns = work->candidate->cost_ns;
        }
    if (partition == NONE || !try_move(work, partition, device))
        return false;
    accept_candidate(work);
    return true;
}

static bool takes_all(const struct partition_work *work, uint32_t device)
{
    for (uint32_t i = 0; i < work->n_operations; i++)
        if (cost_on(work, device, i) == NN_RT_COST_NONE)
            return false;
    return true;
}

/* One device for all, where that is not dearer, or where there are too many partitions. */
static void prefer_whole(struct partition_work *work)
{
    uint32_t cap = work->problem->max_partitions;

    for (uint32_t d = 0; d < work->problem->n_devices; d++) {
        bool is_over = cap && work->best->n_partitions > cap;

        if (!takes_all(work, d))
            continue;
        for (uint32_t i = 0; i < work->n_operations; i++)
            work->tried[i] = d;
        form_and_judge(work, work->tried, work->candidate);
        if (work->candidate->cost_ns < work->best->cost_ns || is_over ||
            (work->candidate->cost_ns == work->best->cost_ns && work->best->n_partitions > 1))
            accept_candidate(work);
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
    form_and_judge(&work, work.assigned, work.best);
    n_before = work.best->n_partitions;
    if (problem->is_merging) {
        while (work.best->n_partitions > 1 && merge_round(&work))
            ;
        while (problem->max_partitions && work.best->n_partitions > problem->max_partitions &&
               merge_cheapest(&work))
            ;
        prefer_whole(&work);
    }
    *ret_partitioning = *work.best;
    ret_partitioning->n_before = n_before;
    return 0;
}
