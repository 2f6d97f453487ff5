/* SPDX-License-Identifier: Apache-2.0 */
/* middle.h - a process between a client and a service, which changes what passes
 *
 * It listens where the client looks for a service, and has a connection of its own to the
 * real one for each of the client's. Both sides take it for the other. What it does is decided
 * by a seed, and may be changed while it runs. */
#ifndef NN_TESTS_ATTACK_MIDDLE_H
#define NN_TESTS_ATTACK_MIDDLE_H

#include <stdint.h>
#include <sys/types.h>

enum middle_mode {
    MIDDLE_HONEST,    /* passes everything on */
    MIDDLE_MALFORMED, /* replies that no service may send; executions then never happened */
    MIDDLE_LIES,      /* replies that are well-formed, and not true */
    MIDDLE_CUTS,      /* connections end in front of a reply */
    MIDDLE_SILENT,    /* neither replies nor pongs any more */
    MIDDLE_QUEUES,    /* scribbles on words and elements of both queues of each burst */
};

struct middle_shared;

struct middle {
    char folder[64], path[100];
    pid_t pid;
    struct middle_shared *shared;
};

/* middle_start() - between clients of middle->folder and the service at service_path. */
void middle_start(struct middle *middle, const char *service_path, const char *name);
void middle_stop(struct middle *middle);

/* middle_set() - from now on, for connections that are made then: one of so many replies. */
void middle_set(struct middle *middle, enum middle_mode mode, uint64_t seed, uint32_t one_in);

/* middle_count() - replies (or words of queues) that were changed so far. */
uint64_t middle_count(const struct middle *middle);

#endif
