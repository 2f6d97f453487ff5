/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/forming.h"

#include "base/error.h"

#include <string.h>

#define NONE NN_RT_FORMING_NONE

/* -- the graph ------------------------------------------------------------------- */

static void find_writers(struct nn_rt_forming *forming)
{
    for (uint32_t i = 0; i < forming->problem->graph->n_operands; i++)
        forming->writers[i] = NONE;
    for (uint32_t i = 0; i < forming->n_operations; i++)
        for (uint32_t j = 0; j < nn_rt_forming_operation(forming, i)->n_outputs; j++)
            forming->writers[nn_rt_forming_operation(forming, i)->outputs[j]] = i;
}

static void count_readers(struct nn_rt_forming *forming)
{
    for (uint32_t i = 0; i < forming->n_operations; i++)
        for (uint32_t j = 0; j < nn_rt_forming_operation(forming, i)->n_inputs; j++) {
            uint32_t writer = forming->writers[nn_rt_forming_operation(forming, i)->inputs[j]];

            if (writer == NONE)
                continue;
            forming->first_reader[writer + 1]++;
            forming->n_needed[i]++;
        }
    for (uint32_t i = 0; i < forming->n_operations; i++)
        forming->first_reader[i + 1] += forming->first_reader[i];
}

/* Uses next as the place of each writer's next reader. */
static void list_readers(struct nn_rt_forming *forming)
{
    memcpy(forming->next, forming->first_reader, forming->n_operations * sizeof(*forming->next));
    for (uint32_t i = 0; i < forming->n_operations; i++)
        for (uint32_t j = 0; j < nn_rt_forming_operation(forming, i)->n_inputs; j++) {
            uint32_t writer = forming->writers[nn_rt_forming_operation(forming, i)->inputs[j]];

            if (writer != NONE)
                forming->readers[forming->next[writer]++] = i;
        }
}

int nn_rt_forming_init(struct nn_rt_forming *forming, const struct nn_rt_partition_problem *problem,
                       uint64_t budget, struct nn_arena *arena)
{
    uint32_t n = problem->graph->n_operations, n_seats = 2 * problem->n_devices;
    size_t n_readings = 0;

    *forming = (struct nn_rt_forming){.problem = problem, .n_operations = n, .budget = budget};
    for (uint32_t i = 0; i < n; i++)
        n_readings += nn_rt_forming_operation(forming, i)->n_inputs;
    forming->writers = nn_arena_new_n(arena, uint32_t, problem->graph->n_operands);
    forming->last_moved = nn_arena_new_n(arena, uint32_t, problem->graph->n_operands);
    forming->first_reader = nn_arena_new_n(arena, uint32_t, (size_t)n + 1);
    forming->readers = nn_arena_new_n(arena, uint32_t, n_readings);
    forming->n_needed = nn_arena_new_n(arena, uint32_t, n);
    forming->n_missing = nn_arena_new_n(arena, uint32_t, n);
    forming->next = nn_arena_new_n(arena, uint32_t, n);
    forming->heads = nn_arena_new_n(arena, uint32_t, n_seats);
    forming->tails = nn_arena_new_n(arena, uint32_t, n_seats);
    if (!forming->writers || !forming->last_moved || !forming->first_reader || !forming->readers ||
        !forming->n_needed || !forming->n_missing || !forming->next || !forming->heads ||
        !forming->tails)
        return nn_error_origin(-ENOMEM);
    if (problem->keeps) {
        forming->stays = nn_arena_new_n(arena, bool, problem->graph->n_operands);
        if (!forming->stays)
            return nn_error_origin(-ENOMEM);
    }
    find_writers(forming);
    count_readers(forming);
    list_readers(forming);
    return 0;
}

/* -- from seats to partitions ---------------------------------------------------------- */

static void queue_push(struct nn_rt_forming *forming, uint32_t seat, uint32_t operation)
{
    forming->next[operation] = NONE;
    if (forming->heads[seat] == NONE)
        forming->heads[seat] = operation;
    else
        forming->next[forming->tails[seat]] = operation;
    forming->tails[seat] = operation;
}

/* Takes all that the seat can compute now, and what becomes ready by that. Returns: how many. */
static uint32_t queue_drain(struct nn_rt_forming *forming, const uint32_t *seats, uint32_t seat,
                            struct nn_rt_partitioning *ret)
{
    const uint32_t *first = forming->first_reader;
    uint32_t n = 0;

    while (forming->heads[seat] != NONE) {
        uint32_t operation = forming->heads[seat];

        forming->heads[seat] = forming->next[operation];
        ret->partitions[operation] = ret->n_partitions;
        n++;
        for (uint32_t i = first[operation]; i < first[operation + 1]; i++)
            if (--forming->n_missing[forming->readers[i]] == 0)
                queue_push(forming, seats[forming->readers[i]], forming->readers[i]);
    }
    ret->devices[ret->n_partitions++] = NN_RT_SEAT_DEVICE(forming->problem, seat);
    return n;
}

static void form_partitions(struct nn_rt_forming *forming, const uint32_t *seats,
                            struct nn_rt_partitioning *ret)
{
    uint32_t n_seats = 2 * forming->problem->n_devices, n_left = forming->n_operations, seat = 0;

    for (uint32_t i = 0; i < n_seats; i++)
        forming->heads[i] = NONE;
    memcpy(forming->n_missing, forming->n_needed,
           forming->n_operations * sizeof(*forming->n_missing));
    for (uint32_t i = 0; i < forming->n_operations; i++)
        if (!forming->n_needed[i])
            queue_push(forming, seats[i], i);
    ret->n_partitions = 0;
    for (; n_left; seat = (seat + 1) % n_seats)
        if (forming->heads[seat] != NONE)
            n_left -= queue_drain(forming, seats, seat, ret);
}

/* -- costs --------------------------------------------------------------------------- */

static uint64_t move_cost(const struct nn_rt_forming *forming, uint32_t device, uint32_t operand)
{
    const struct nn_rt_partition_problem *problem = forming->problem;

    return problem->move_ns[(size_t)device * problem->graph->n_operands + operand];
}

void nn_rt_forming_find_staying(struct nn_rt_forming *forming,
                                const struct nn_rt_partitioning *partitioning)
{
    const struct nnhal_subgraph *graph = forming->problem->graph;
    const bool *keeps = forming->problem->keeps;

    for (uint32_t i = 0; keeps && i < graph->n_operands; i++) {
        uint32_t writer = forming->writers[i];

        forming->stays[i] = writer != NONE &&
                            keeps[(size_t)partitioning->devices[partitioning->partitions[writer]] *
                                      graph->n_operands +
                                  i];
    }
    for (uint32_t i = 0; keeps && i < forming->n_operations; i++)
        for (uint32_t j = 0; j < graph->operations[i].n_inputs; j++) {
            uint32_t operand = graph->operations[i].inputs[j], writer = forming->writers[operand];

            if (writer != NONE && partitioning->devices[partitioning->partitions[writer]] !=
                                      partitioning->devices[partitioning->partitions[i]])
                forming->stays[operand] = false;
        }
}

static uint64_t moves_cost(struct nn_rt_forming *forming,
                           const struct nn_rt_partitioning *partitioning)
{
    const struct nnhal_subgraph *graph = forming->problem->graph;
    uint64_t cost = 0;

    for (uint32_t i = 0; i < graph->n_operands; i++)
        forming->last_moved[i] = NONE;
    nn_rt_forming_find_staying(forming, partitioning);
    for (uint32_t i = 0; i < forming->n_operations; i++)
        for (uint32_t j = 0; j < graph->operations[i].n_inputs; j++) {
            uint32_t operand = graph->operations[i].inputs[j];
            uint32_t writer = forming->writers[operand];

            if (writer == NONE || partitioning->partitions[writer] == partitioning->partitions[i] ||
                forming->last_moved[operand] == partitioning->partitions[i] ||
                (forming->stays && forming->stays[operand]))
                continue;
            forming->last_moved[operand] = partitioning->partitions[i];
            cost += move_cost(forming, partitioning->devices[partitioning->partitions[i]], operand);
        }
    return cost;
}

void nn_rt_forming_form(struct nn_rt_forming *forming, const uint32_t *seats,
                        struct nn_rt_partitioning *ret_partitioning)
{
    uint32_t n = forming->n_operations;

    form_partitions(forming, seats, ret_partitioning);
    ret_partitioning->cost_ns = moves_cost(forming, ret_partitioning);
    for (uint32_t i = 0; i < ret_partitioning->n_partitions; i++)
        ret_partitioning->cost_ns += forming->problem->launch_ns[ret_partitioning->devices[i]];
    for (uint32_t i = 0; i < n; i++)
        ret_partitioning->cost_ns += nn_rt_forming_cost(
            forming, NN_RT_SEAT_DEVICE(forming->problem, seats[i]), i);
    forming->budget -= forming->budget < n ? forming->budget : n;
}

/* -- trying -------------------------------------------------------------------------- */

static struct nn_rt_partitioning *partitioning_new(const struct nn_rt_forming *forming,
                                                   struct nn_arena *arena)
{
    struct nn_rt_partitioning *partitioning = nn_arena_new(arena, struct nn_rt_partitioning);

    if (!partitioning)
        return NULL;
    partitioning->devices = nn_arena_new_n(arena, uint32_t, forming->n_operations);
    partitioning->partitions = nn_arena_new_n(arena, uint32_t, forming->n_operations);
    return partitioning->devices && partitioning->partitions ? partitioning : NULL;
}

int nn_rt_trial_init(struct nn_rt_trial *trial, const struct nn_rt_forming *forming,
                     struct nn_arena *arena)
{
    *trial = (struct nn_rt_trial){
        .best = partitioning_new(forming, arena),
        .candidate = partitioning_new(forming, arena),
        .seats = nn_arena_new_n(arena, uint32_t, forming->n_operations),
        .tried = nn_arena_new_n(arena, uint32_t, forming->n_operations),
    };
    return trial->best && trial->candidate && trial->seats && trial->tried
               ? 0
               : nn_error_origin(-ENOMEM);
}

void nn_rt_trial_accept(struct nn_rt_trial *trial)
{
    *trial = (struct nn_rt_trial){
        .best = trial->candidate,
        .candidate = trial->best,
        .seats = trial->tried,
        .tried = trial->seats,
    };
}
