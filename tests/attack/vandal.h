/* SPDX-License-Identifier: Apache-2.0 */
/* vandal.h - rewrites the queues of a burst while both sides use them
 *
 * It has a mapping of its own of both queues, as each side of a burst has, and keeps to no rule
 * of nnhal/fmq.h. What it changes is decided by its kind and a seed; it also wakes who waits, or
 * moves the waiters away. */
#ifndef NN_TESTS_ATTACK_VANDAL_H
#define NN_TESTS_ATTACK_VANDAL_H

#include "hal/values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vandal_kind {
    VANDAL_WORDS,    /* the words of the event flags: generation, waiters */
    VANDAL_COUNTERS, /* write, claim, read: near to what they are, or anywhere */
    VANDAL_PACKETS,  /* elements, while they are read and written */
    VANDAL_REPLAYS,  /* elements that were there before, and a counter that says so */
    VANDAL_MOVES,    /* waiters are moved to another word, or woken for nothing */
    VANDAL_ALL,      /* any word of the file */
    VANDAL_KINDS,
};

struct vandal {
    enum vandal_kind kind;
    struct values values; /* random numbers */
    struct {
        uint8_t *bytes;
        size_t n_bytes;
    } queues[2]; /* of requests, of results */
    uint64_t n_changes;
};

/* vandal_name() - "words". */
const char *vandal_name(enum vandal_kind kind);

/* vandal_open() - on the files of both queues, which are borrowed. Returns: whether they could be
 * mapped. */
bool vandal_open(struct vandal *vandal, enum vandal_kind kind, uint64_t seed,
                 const int queue_fds[2]);

/* vandal_act() - one change. Does not block. */
void vandal_act(struct vandal *vandal);

void vandal_close(struct vandal *vandal);

#endif
