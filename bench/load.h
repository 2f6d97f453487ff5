/* SPDX-License-Identifier: Apache-2.0 */
/* load.h - what one user of a service asks for, to see what it costs another one
 *
 * A load is a number of processes of a user of its own, each with one connection and some threads,
 * which ask for work that has no end, or again and again, until they are killed. Failures of
 * their calls are not looked at: a service may refuse what is too much. */
#ifndef NN_BENCH_LOAD_H
#define NN_BENCH_LOAD_H

#include <stdint.h>
#include <sys/types.h>

enum load_kind {
    LOAD_LOOPS,  /* an execution without end */
    LOAD_BURSTS, /* the same, each in a burst of its own */
    LOAD_FOLDS,  /* preparations of constants that take tenths of a second */
    LOAD_MEMORY, /* outputs of 64 MiB, each in a memory of its own */
};

enum { LOAD_MAX_CONNECTIONS = 32 };

struct load {
    const char *name;
    enum load_kind kind;
    int n_connections, n_threads; /* threads of each connection */
    int32_t priority;             /* ANEURALNETWORKS_PRIORITY_... */
};

/* load_become() - this process is another user's from now on; only for root. */
void load_become(uid_t user);

/* load_start() - the processes of a load, as that user. load_stop() kills them and waits. */
void load_start(const struct load *load, uid_t user, pid_t *pids);
void load_stop(const struct load *load, const pid_t *pids);

#endif
