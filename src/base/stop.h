/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - when work for a caller is to end before it is done
 *
 * Who works for a caller has one struct nn_stop: the caller's deadline, and the word that says
 * that the result is not wanted any more. It is looked at between pieces of work, by any
 * number of threads at a time, and the first look that finds a reason to stop is remembered:
 * from then on every look says the same, so that all parts of the work agree that it is not
 * whole. A look is a load and a clock, some 30 ns.
 *
 * Where users share CPUs the same looks are where a thread gives way to others, and may wait
 * for its next turn: they are made without locks.
 *
 * Loops whose rounds cost less than a look have a struct nn_pace each, which adds up what the
 * rounds cost, roughly and in nanoseconds, and looks when NN_PACE_NS are spent: a subtraction
 * for each round. */
#ifndef NN_BASE_STOP_H
#define NN_BASE_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    NN_STOP_E_DEADLINE = 1,
    NN_STOP_E_CANCELLED = 3,
};

/* What a pace spends between two looks. */
#define NN_PACE_NS ((size_t)250000)

struct nnhal_turn;

struct nn_stop {
    uint64_t deadline_ns;          /* CLOCK_MONOTONIC; UINT64_MAX: none */
    const uint32_t *is_cancelled;  /* atomic; NULL: never cancelled */
    uint32_t outcome;              /* atomic: what the first look that found a reason said */
    const struct nnhal_turn *turn; /* NULL: no other user shares the CPUs */
};

/* nn_stop_look() - whether to stop now. NULL: never. Any thread. May wait for a turn.
 * Returns: 0, NN_STOP_E_DEADLINE, NN_STOP_E_CANCELLED. */
int nn_stop_look(struct nn_stop *stop);

/* nn_stop_outcome() - what a look has found before, without looking: not 0 if any work may have
 * been left out. Returns: as nn_stop_look(). */
static inline int nn_stop_outcome(const struct nn_stop *stop)
{
    return (int)__atomic_load_n(&stop->outcome, __ATOMIC_RELAXED);
}

/* Of one loop on one thread. */
struct nn_pace {
    struct nn_stop *stop;
    size_t left_ns;
};

/* nn_pace() - a loop that begins; the first look comes when something has been spent. */
static inline struct nn_pace nn_pace(struct nn_stop *stop)
{
    return (struct nn_pace){.stop = stop, .left_ns = NN_PACE_NS};
}

/* nn_pace_ends() - before a round that costs so much: whether to leave the loop. */
static inline bool nn_pace_ends(struct nn_pace *pace, size_t cost_ns)
{
    if (__builtin_expect(cost_ns < pace->left_ns, 1)) {
        pace->left_ns -= cost_ns;
        return false;
    }
    if (nn_stop_look(pace->stop)) {
        pace->left_ns = 0; /* the next round ends at once, too */
        return true;
    }
    pace->left_ns = NN_PACE_NS;
    return false;
}

/* nn_pace_touch_ns() - what a round costs more for memory that lies step_bytes behind the last
 * round's. Each may be the first to touch a page, which takes a virtual machine 20 to 40 us: with
 * this 500 such rounds are 20 ms at most, and where all pages are there a look is 30 ns of them. */
static inline size_t nn_pace_touch_ns(ptrdiff_t step_bytes)
{
    return step_bytes >= 4096 || step_bytes <= -4096 ? 500 : 0;
}

/* Rounds of a long loop between two looks; zero before the first. */
struct nn_pace_part {
    size_t begin, end;
};

/* nn_pace_next_part() - the part behind part of a loop of n rounds that cost so much each, at least 1.
 * Returns: false at the end, or to leave the loop. */
static inline bool nn_pace_next_part(struct nn_pace *pace, size_t n, size_t cost_ns,
                                     struct nn_pace_part *part)
{
    const size_t n_fit = NN_PACE_NS / cost_ns + 1, n_most = n_fit < 4096 ? n_fit : 4096;

    part->begin = part->end;
    part->end += n - part->begin < n_most ? n - part->begin : n_most;
    return part->begin < part->end && !nn_pace_ends(pace, cost_ns * (part->end - part->begin));
}

/* What takes no longer to copy than a look: nothing is spent on it. */
#define NN_PACE_FREE_BYTES ((size_t)1024)

void nn_pace_copy_long(struct nn_pace *pace, void *to, const void *from, size_t n_bytes);

/* nn_pace_copy() - memcpy() of any length, with looks: what is behind one that stops is left as it
 * was. A loop of short ones needs looks of its own. */
static inline void nn_pace_copy(struct nn_pace *pace, void *to, const void *from, size_t n_bytes)
{
    if (n_bytes <= NN_PACE_FREE_BYTES)
        memcpy(to, from, n_bytes);
    else
        nn_pace_copy_long(pace, to, from, n_bytes);
}

/* nn_pace_fill() - memset() of any length, with looks. */
void nn_pace_fill(struct nn_pace *pace, void *to, unsigned char byte, size_t n_bytes);

/* When set, called by each look on its thread. Tests only. */
extern void (*nn_stop_observer)(void);

#endif
