/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - applications that compute by one path each, and are watched
 *
 * A worker is a program of its own (worker.c), so that its sessions, its private child and
 * what its runtime remembers of deaths are its own. It shares a board with the test that
 * started it: the worker counts its calls there and how late they ended, the test says when
 * the driver's process was killed and when it was back. A code other than NO_ERROR and
 * DEAD_OBJECT, or a wrong result, aborts the worker. */
#ifndef NN_TESTS_E2E_WORKER_H
#define NN_TESTS_E2E_WORKER_H

#include <stdint.h>
#include <sys/types.h>

enum worker_path {
    WORKER_POINTERS,
    WORKER_MEMORY,
    WORKER_EVENT,
    WORKER_FENCED,
    WORKER_BURST,
    WORKER_COMPILE, /* compiles anew for each computation */
    WORKER_CACHED,  /* the same, from a cache */
    WORKER_DOMAIN,  /* a state that stays in the device */
    N_WORKER_PATHS
};

/* All of it is atomic. */
struct worker {
    uint32_t is_over;     /* the test's: the worker leaves */
    uint64_t killed_ns;   /* the test's: the last death of its driver's process */
    uint64_t returned_ns; /* the test's: and the return, earlier than that while it is gone */
    uint32_t n_successes;
    uint32_t n_failures;
    int32_t driver;      /* the process, as the worker last saw it; 0: none */
    uint64_t late_ns;    /* the longest that a success took after beginning and return */
    uint64_t longest_ns; /* the longest call of all */
};

struct worker_board {
    struct worker workers[N_WORKER_PATHS];
};

#endif
