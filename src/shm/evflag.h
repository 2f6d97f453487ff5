/* SPDX-License-Identifier: Apache-2.0 */
/* evflag.h - waiting for what another process does to shared memory
 *
 * An event flag is two shared words, a generation and a count of waiters, and
 * two private ones, which say that a wait must end regardless of what the shared words
 * say. nnhal/fmq.h has their protocol and why no wake-up is lost. A flag lies
 * in a queue (shm/ring.h) or in a memfd of its own, shared by several queues.
 *
 * Any number of threads may wait; any thread may wake, poke and close. */
#ifndef NN_SHM_EVFLAG_H
#define NN_SHM_EVFLAG_H

#include "base/cleanup.h"

#include <nnhal/fmq.h>

#include <stdbool.h>
#include <stdint.h>

struct nn_region;

/* Shared with the peer, which may write anything to it at any time. */
struct nn_evflag_words {
    uint32_t generation;
    uint32_t n_waiters;
};

struct nn_evflag {
    struct nn_evflag_words *words;
    struct nn_region *region; /* of its own; NULL: the words are a queue's */
    uint32_t poke;            /* private: changes when waiters must look again */
    uint32_t is_closed;
    uint32_t is_polled; /* there is no futex_waitv */
};

/* nn_evflag_init() - on words that outlive it; needs no nn_evflag_free(). */
void nn_evflag_init(struct nn_evflag *flag, struct nn_evflag_words *words);

/* In a memfd of its own: new, or a peer's, verified (fd is borrowed).
 * Returns: 0, NNHAL_FMQ_E_INVALID (attach), -errno. */
int nn_evflag_new(struct nn_evflag **ret_flag);
int nn_evflag_attach(int fd, struct nn_evflag **ret_flag);
struct nn_evflag *nn_evflag_free(struct nn_evflag *flag);

/* nn_evflag_fd() - of a flag in a memfd of its own; borrowed. */
int nn_evflag_fd(const struct nn_evflag *flag);

/* nn_evflag_wake() - after a shared counter was stored: one load while there is no waiter. */
void nn_evflag_wake(struct nn_evflag *flag);

/* nn_evflag_wake_uncounted() - also where the count of waiters says that there is none: it may
 * have been spoilt. A system call. */
void nn_evflag_wake_uncounted(struct nn_evflag *flag);

/* nn_evflag_poke() - makes the waiters of this process ask is_ready again. */
void nn_evflag_poke(struct nn_evflag *flag);

/* nn_evflag_close() - ends the waits of this process, now and later. */
void nn_evflag_close(struct nn_evflag *flag);

/* nn_evflag_wait() - until is_ready(ctx) is not 0.
 * Returns: 0, NNHAL_FMQ_E_TIMED_OUT, NNHAL_FMQ_E_CLOSED, -errno. */
int nn_evflag_wait(struct nn_evflag *flag, int (*is_ready)(void *ctx), void *ctx,
                   uint64_t deadline_ns);

/* nn_region_new_sealed(), nn_region_map_sealed() - memfds that neither side can
 * change the size of: a new one of n_bytes; a peer's (fd is borrowed), which
 * must have exactly n_bytes and be open for reading and writing. A forked child
 * does not inherit the mapping.
 * Returns: 0, NNHAL_FMQ_E_INVALID, -errno. */
int nn_region_new_sealed(const char *name, size_t n_bytes, struct nn_region **ret_region);
int nn_region_map_sealed(int fd, size_t n_bytes, struct nn_region **ret_region);

NN_DEFINE_CLEANUP(struct nn_evflag, nn_evflag_free)

#endif
