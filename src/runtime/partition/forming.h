/* SPDX-License-Identifier: Apache-2.0 */
/* forming.h - partitions from the seats of operations, and what they cost
 *
 * Each operation has a seat: its device, or NN_RT_SEAT_ASIDE(its device). Operations of one seat that can
 * be computed in one go are one partition. Of one device those of the two seats never are: what is
 * aside waits for nothing that its device has to do by the way.
 * Pure functions. The tables are the caller's arena's. One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_FORMING_H
#define NN_RUNTIME_PARTITION_FORMING_H

#include "base/arena.h"

#include <nnhal/types.h>

#include <stdbool.h>

/* What an operation costs on a device that does not support it. */
#define NN_RT_COST_NONE UINT64_MAX

struct nn_rt_partition_problem {
    const struct nnhal_subgraph *graph; /* valid: operations in order */
    uint32_t n_devices;
    uint32_t max_partitions;   /* beyond it they are merged, where a device takes them; 0: no cap */
    const uint64_t *costs_ns;  /* [device * n_operations + operation], or NN_RT_COST_NONE */
    const uint64_t *launch_ns; /* per device, of one call */
    const uint64_t *move_ns;   /* [device * n_operands + operand], for each partition of the
                                * device that reads what another partition makes */
    const bool *keeps;      /* the same: the device has memory of its own in which the value stays
                             * if no other device makes or reads it; NULL: none does */
    const uint32_t *places; /* per device (wave-time.h); NULL: all are on the cores */
    bool is_merging;        /* false: each operation stays with its cheapest device */
    bool is_sharing;        /* branches go to several places; costs are times */
};

struct nn_rt_partitioning {
    uint32_t n_partitions;
    uint32_t *devices;    /* per partition */
    uint32_t *partitions; /* per operation */
    uint64_t cost_ns;     /* the sum; where branches are shared the time to the end */
    uint32_t n_before;    /* partitions before any were merged; no fewer than there are */
};

#define NN_RT_FORMING_NONE UINT32_MAX

#define NN_RT_SEAT_ASIDE(problem, device) ((problem)->n_devices + (device))
#define NN_RT_SEAT_DEVICE(problem, seat)                                                           \
    ((seat) < (problem)->n_devices ? (seat) : (seat) - (problem)->n_devices)

/* The readers of an operation's results are a slice of readers:
 * [first_reader[i], first_reader[i + 1]), an entry per reading. */
struct nn_rt_forming {
    const struct nn_rt_partition_problem *problem;
    uint32_t n_operations;
    uint32_t *writers; /* per operand: the operation, or NONE */
    uint32_t *first_reader;
    uint32_t *readers;
    uint32_t *n_needed;      /* per operation: readings of other operations' results */
    uint32_t *n_missing;     /* those that are not there yet */
    uint32_t *next;          /* operations that are ready are a list per seat */
    uint32_t *heads, *tails; /* per seat */
    uint32_t *last_moved;    /* per operand: the partition that it was last moved to */
    bool *stays;             /* per operand: it is not moved; NULL: all are */
    uint64_t budget;         /* operations that may be looked at: the callers' */
};

/* nn_rt_forming_init() - the problem is borrowed. Returns: 0, -ENOMEM. */
int nn_rt_forming_init(struct nn_rt_forming *forming, const struct nn_rt_partition_problem *problem,
                       uint64_t budget, struct nn_arena *arena);

/* nn_rt_forming_operation() - of the problem's graph. */
static inline const struct nnhal_operation *
nn_rt_forming_operation(const struct nn_rt_forming *forming, uint32_t i)
{
    return &forming->problem->graph->operations[i];
}

/* nn_rt_forming_cost() - of an operation on a device, or NN_RT_COST_NONE. */
static inline uint64_t nn_rt_forming_cost(const struct nn_rt_forming *forming, uint32_t device,
                                          uint32_t operation)
{
    return forming->problem->costs_ns[(size_t)device * forming->n_operations + operation];
}

/* nn_rt_forming_find_staying() - what its device keeps and no other reads, in stays, if devices keep anything. */
void nn_rt_forming_find_staying(struct nn_rt_forming *forming,
                                const struct nn_rt_partitioning *partitioning);

/* nn_rt_forming_form() - all of a partitioning but n_before, with the sum of all as its cost. One seat computes all
 * that it can, then the next that has something to do: an order in which each partition is as large
 * as it can be when its turn comes. seats: per operation, each of a device that takes it. */
void nn_rt_forming_form(struct nn_rt_forming *forming, const uint32_t *seats,
                        struct nn_rt_partitioning *ret_partitioning);

/* A partitioning with its seats, and another one that may take its place. */
struct nn_rt_trial {
    struct nn_rt_partitioning *best, *candidate;
    uint32_t *seats, *tried; /* per operation, of the best and of the candidate */
};

/* nn_rt_trial_init() - with arrays for all operations. Returns: 0, -ENOMEM. */
int nn_rt_trial_init(struct nn_rt_trial *trial, const struct nn_rt_forming *forming,
                     struct nn_arena *arena);

/* nn_rt_trial_accept() - the candidate is the best from now on. */
void nn_rt_trial_accept(struct nn_rt_trial *trial);

#endif
