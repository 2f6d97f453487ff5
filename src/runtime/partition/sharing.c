/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/sharing.h"

#include "base/error.h"
#include "runtime/partition/wave-time.h"

#include <string.h>

#define NONE NN_RT_FORMING_NONE

/* Operations looked at, joins tried, and branches of a join: what is beyond stays where it is. */
#define BUDGET       UINT64_C(10000000)
#define MAX_TRIES    64
#define MAX_BRANCHES 16

#define MAX_SLOWER 2  /* a branch on another device */
#define GAIN_OF    10 /* one of so many parts at least is saved */

struct branch {
    uint32_t mark;        /* of its operations, in marks */
    uint32_t first, last; /* they are among these */
    uint32_t home;        /* the device of the last one */
    uint64_t time_ns;     /* where it is now */
    bool is_bound;        /* it has to stay there */
};

struct sharing {
    struct nn_rt_forming *forming;
    const struct nn_rt_partition_problem *problem;
    uint32_t n; /* operations */
    uint32_t n_tries;
    uint32_t last_mark;
    uint32_t *marks;    /* per operation: the last branch that had it */
    bool *makes_output; /* per operation */
    struct nn_rt_trial trial;
    uint64_t *loads_ns;             /* per device: branches of the join that it is given */
    struct nn_rt_timed_part *timed; /* per partition */
    uint64_t end_ns;                /* of best */
    uint32_t n_branches;
    struct branch branches[MAX_BRANCHES]; /* of the join */
};

/* -- the end of a partitioning ------------------------------------------------------- */

/* What a partition reads of others is there one wave before it at least. */
static void time_partition(struct sharing *sharing, const struct nn_rt_partitioning *partitioning,
                           uint32_t p)
{
    const struct nn_rt_partition_problem *problem = sharing->problem;
    struct nn_rt_forming *forming = sharing->forming;
    uint32_t device = partitioning->devices[p];
    struct nn_rt_timed_part *part = &sharing->timed[p];

    *part = (struct nn_rt_timed_part){.place = problem->places[device],
                                      .launch_ns = problem->launch_ns[device]};
    for (uint32_t i = 0; i < sharing->n; i++) {
        const struct nnhal_operation *operation = nn_rt_forming_operation(forming, i);

        if (partitioning->partitions[i] != p)
            continue;
        part->compute_ns += nn_rt_forming_cost(forming, device, i);
        for (uint32_t j = 0; j < operation->n_inputs; j++) {
            uint32_t operand = operation->inputs[j], writer = forming->writers[operand];

            if (writer == NONE || partitioning->partitions[writer] == p)
                continue;
            if (part->wave <= sharing->timed[partitioning->partitions[writer]].wave)
                part->wave = sharing->timed[partitioning->partitions[writer]].wave + 1;
            if (forming->last_moved[operand] == p || (forming->stays && forming->stays[operand]))
                continue;
            forming->last_moved[operand] = p;
            part->move_ns +=
                problem->move_ns[(size_t)device * problem->graph->n_operands + operand];
        }
    }
}

/* By insertion: they are few, and nearly sorted. */
static void sort_by_wave(struct nn_rt_timed_part *parts, uint32_t n_parts)
{
    for (uint32_t i = 1; i < n_parts; i++) {
        struct nn_rt_timed_part part = parts[i];
        uint32_t j = i;

        for (; j > 0 && parts[j - 1].wave > part.wave; j--)
            parts[j] = parts[j - 1];
        parts[j] = part;
    }
}

static uint64_t find_end(struct sharing *sharing, const struct nn_rt_partitioning *partitioning)
{
    memset(sharing->forming->last_moved, 0xff,
           sharing->problem->graph->n_operands * sizeof(*sharing->forming->last_moved));
    nn_rt_forming_find_staying(sharing->forming, partitioning);
    for (uint32_t p = 0; p < partitioning->n_partitions; p++)
        time_partition(sharing, partitioning, p);
    sort_by_wave(sharing->timed, partitioning->n_partitions);
    return nn_rt_waves_time(partitioning->n_partitions, sharing->timed);
}

/* -- branches --------------------------------------------------------------------------- */

static uint64_t time_now(const struct sharing *sharing, uint32_t operation)
{
    return nn_rt_forming_cost(sharing->forming,
                              NN_RT_SEAT_DEVICE(sharing->problem, sharing->trial.seats[operation]),
                              operation);
}

/* Whether nothing but the branch reads what an operation makes. */
static bool leads_to(const struct sharing *sharing, uint32_t operation, uint32_t mark)
{
    const struct nn_rt_forming *forming = sharing->forming;

    if (sharing->makes_output[operation])
        return false;
    for (uint32_t i = forming->first_reader[operation]; i < forming->first_reader[operation + 1];
         i++)
        if (sharing->marks[forming->readers[i]] != mark)
            return false;
    return true;
}

/* The same of a branch's last operation, and the join alone. join: NONE: the end. */
static bool ends_at(const struct sharing *sharing, uint32_t operation, uint32_t join)
{
    const struct nn_rt_forming *forming = sharing->forming;

    if (sharing->makes_output[operation] != (join == NONE))
        return false;
    for (uint32_t i = forming->first_reader[operation]; i < forming->first_reader[operation + 1];
         i++)
        if (forming->readers[i] != join)
            return false;
    return true;
}

/* Operations are in an order in which they can be computed: who needs one is behind it. */
static void take_branch(struct sharing *sharing, uint32_t last)
{
    struct nn_rt_forming *forming = sharing->forming;
    struct branch branch = {
        .mark = ++sharing->last_mark,
        .first = last,
        .last = last,
        .home = NN_RT_SEAT_DEVICE(sharing->problem, sharing->trial.seats[last]),
    };

    for (uint32_t i = last + 1, lowest = last; i-- > lowest && forming->budget; forming->budget--) {
        const struct nnhal_operation *operation = nn_rt_forming_operation(forming, i);

        if (i != last && !leads_to(sharing, i, branch.mark))
            continue;
        sharing->marks[i] = branch.mark;
        branch.first = i;
        branch.time_ns += time_now(sharing, i);
        for (uint32_t j = 0; j < operation->n_inputs; j++)
            if (forming->writers[operation->inputs[j]] < lowest)
                lowest = forming->writers[operation->inputs[j]];
    }
    if (branch.time_ns > NN_RT_WAKE_NS)
        sharing->branches[sharing->n_branches++] = branch;
}

static void find_branches(struct sharing *sharing, uint32_t join)
{
    const struct nnhal_subgraph *graph = sharing->problem->graph;
    const uint32_t *operands = join == NONE ? graph->output_indexes
                                            : graph->operations[join].inputs;
    uint32_t n = join == NONE ? graph->n_output_indexes : graph->operations[join].n_inputs;
    uint32_t before = sharing->last_mark;

    sharing->n_branches = 0;
    for (uint32_t i = 0; i < n && sharing->n_branches < MAX_BRANCHES; i++) {
        uint32_t writer = sharing->forming->writers[operands[i]];

        if (writer != NONE && sharing->marks[writer] <= before && ends_at(sharing, writer, join))
            take_branch(sharing, writer);
    }
}

/* -- which device gets which ---------------------------------------------------------------- */

/* Returns: NN_RT_COST_NONE: the device does not take all of it, or is far slower. */
static uint64_t time_branch(const struct sharing *sharing, const struct branch *branch,
                            uint32_t device)
{
    uint64_t sum_ns = 0;

    for (uint32_t i = branch->first; i <= branch->last; i++) {
        uint64_t cost_ns = nn_rt_forming_cost(sharing->forming, device, i);

        if (sharing->marks[i] != branch->mark)
            continue;
        if (cost_ns == NN_RT_COST_NONE)
            return NN_RT_COST_NONE;
        sum_ns += cost_ns;
    }
    return sum_ns / MAX_SLOWER > branch->time_ns ? NN_RT_COST_NONE : sum_ns;
}

static void bind_branches(struct sharing *sharing)
{
    for (uint32_t i = 0; i < sharing->n_branches; i++) {
        struct branch *branch = &sharing->branches[i];

        branch->is_bound = true;
        for (uint32_t d = 0; d < sharing->problem->n_devices; d++)
            if (d != branch->home && time_branch(sharing, branch, d) != NN_RT_COST_NONE)
                branch->is_bound = false;
    }
}

static bool is_before(const struct branch *a, const struct branch *b)
{
    return a->is_bound != b->is_bound ? a->is_bound : a->time_ns > b->time_ns;
}

/* First those that have no choice, then the longest. */
static void sort_branches(struct sharing *sharing)
{
    for (uint32_t i = 1; i < sharing->n_branches; i++) {
        struct branch branch = sharing->branches[i];
        uint32_t j = i;

        for (; j > 0 && is_before(&branch, &sharing->branches[j - 1]); j--)
            sharing->branches[j] = sharing->branches[j - 1];
        sharing->branches[j] = branch;
    }
}

/* What is to be done already where a device computes. */
static uint64_t find_load(const struct sharing *sharing, uint32_t device)
{
    uint64_t load_ns = 0;

    for (uint32_t d = 0; d < sharing->problem->n_devices; d++)
        if (sharing->problem->places[d] == sharing->problem->places[device])
            load_ns += sharing->loads_ns[d];
    return load_ns;
}

/* Where it ends first; at home in case of doubt. */
static uint32_t choose_device(const struct sharing *sharing, const struct branch *branch,
                              uint64_t *ret_time_ns)
{
    uint32_t best = branch->home;
    uint64_t best_end_ns = find_load(sharing, best) + branch->time_ns;

    *ret_time_ns = branch->time_ns;
    for (uint32_t d = 0; d < sharing->problem->n_devices; d++) {
        uint64_t time_ns = d == branch->home ? NN_RT_COST_NONE : time_branch(sharing, branch, d);

        if (time_ns == NN_RT_COST_NONE || find_load(sharing, d) + time_ns >= best_end_ns)
            continue;
        best = d;
        best_end_ns = find_load(sharing, d) + time_ns;
        *ret_time_ns = time_ns;
    }
    return best;
}

/* At home each operation stays where it is. */
static void seat_branch(struct sharing *sharing, const struct branch *branch, uint32_t device)
{
    for (uint32_t i = branch->first; i <= branch->last; i++) {
        uint32_t own = device == branch->home
                           ? NN_RT_SEAT_DEVICE(sharing->problem, sharing->trial.seats[i])
                           : device;

        if (sharing->marks[i] == branch->mark)
            sharing->trial.tried[i] = NN_RT_SEAT_ASIDE(sharing->problem, own);
    }
}

/* -- sharing ------------------------------------------------------------------------------ */

/* Gives the branches of a join to devices, in tried. Returns: whether one leaves its home. */
static bool seat_branches(struct sharing *sharing)
{
    bool has_moved = false;

    memcpy(sharing->trial.tried, sharing->trial.seats, sharing->n * sizeof(*sharing->trial.tried));
    memset(sharing->loads_ns, 0, sharing->problem->n_devices * sizeof(*sharing->loads_ns));
    for (uint32_t i = 0; i < sharing->n_branches; i++) {
        const struct branch *branch = &sharing->branches[i];
        uint64_t time_ns;
        uint32_t device = choose_device(sharing, branch, &time_ns);

        sharing->loads_ns[device] += time_ns;
        seat_branch(sharing, branch, device);
        has_moved |= device != branch->home;
    }
    return has_moved;
}

static bool is_too_many(const struct sharing *sharing,
                        const struct nn_rt_partitioning *partitioning)
{
    return sharing->problem->max_partitions &&
           partitioning->n_partitions > sharing->problem->max_partitions;
}

static void share_join(struct sharing *sharing, uint32_t join)
{
    uint64_t gain_ns = NN_RT_WAKE_NS, sum_ns = 0, end_ns;

    find_branches(sharing, join);
    if (sharing->n_branches < 2)
        return;
    bind_branches(sharing);
    sort_branches(sharing);
    if (!seat_branches(sharing))
        return;
    sharing->n_tries++;
    nn_rt_forming_form(sharing->forming, sharing->trial.tried, sharing->trial.candidate);
    if (is_too_many(sharing, sharing->trial.candidate))
        return;
    for (uint32_t i = 0; i < sharing->n_branches; i++)
        sum_ns += sharing->branches[i].time_ns;
    if (gain_ns < sum_ns / GAIN_OF)
        gain_ns = sum_ns / GAIN_OF;
    end_ns = find_end(sharing, sharing->trial.candidate);
    if (end_ns + gain_ns >= sharing->end_ns)
        return;
    nn_rt_trial_accept(&sharing->trial);
    sharing->end_ns = end_ns;
}

static void share_joins(struct sharing *sharing)
{
    share_join(sharing, NONE);
    for (uint32_t i = sharing->n; i-- > 0;)
        if (sharing->n_tries < MAX_TRIES && sharing->forming->budget)
            share_join(sharing, i);
}

static int sharing_init(struct sharing *sharing, struct nn_rt_forming *forming,
                        const uint32_t *seats, struct nn_arena *arena)
{
    const struct nn_rt_partition_problem *problem = forming->problem;
    uint32_t n = forming->n_operations;
    int r;

    *sharing = (struct sharing){
        .forming = forming,
        .problem = problem,
        .n = n,
        .marks = nn_arena_new_n(arena, uint32_t, n),
        .makes_output = nn_arena_new_n(arena, bool, n),
        .loads_ns = nn_arena_new_n(arena, uint64_t, problem->n_devices),
        .timed = nn_arena_new_n(arena, struct nn_rt_timed_part, n),
    };
    if (!sharing->marks || !sharing->makes_output || !sharing->loads_ns || !sharing->timed)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < problem->graph->n_output_indexes; i++) {
        uint32_t writer = forming->writers[problem->graph->output_indexes[i]];

        if (writer != NONE)
            sharing->makes_output[writer] = true;
    }
    r = nn_rt_trial_init(&sharing->trial, forming, arena);
    if (!r)
        memcpy(sharing->trial.seats, seats, n * sizeof(*seats));
    return r;
}

static bool has_two_places(const struct nn_rt_partition_problem *problem)
{
    for (uint32_t d = 1; problem->places && d < problem->n_devices; d++)
        if (problem->places[d] != problem->places[0])
            return true;
    return false;
}

int nn_rt_share(struct nn_rt_forming *forming, const uint32_t *seats, struct nn_arena *arena,
                struct nn_rt_partitioning *best)
{
    struct sharing sharing;
    uint64_t before_ns;
    int r;

    if (!has_two_places(forming->problem))
        return 0;
    r = sharing_init(&sharing, forming, seats, arena);
    if (r || is_too_many(&sharing, best))
        return r;
    forming->budget = BUDGET;
    nn_rt_forming_form(forming, seats, sharing.trial.best);
    sharing.end_ns = before_ns = find_end(&sharing, sharing.trial.best);
    share_joins(&sharing);
    if (sharing.end_ns + before_ns / GAIN_OF >= before_ns)
        return 0;
    sharing.trial.best->cost_ns = sharing.end_ns;
    *best = *sharing.trial.best;
    return 0;
}
