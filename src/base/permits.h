/* SPDX-License-Identifier: Apache-2.0 */
/* permits.h - how many threads of each user may compute at a time
 *
 * Threads that compute for the users of a service (workers, bursts, threads that help them)
 * count themselves: one enters before it computes, leaves when it is done or is about to
 * wait for others, and gives way now and then in between. Who has to wait is decided here:
 *
 * - While another user computes, waits, or did within NN_PERMITS_RECENT_NS, a user has at most
 *   half of the CPUs, at least one. A user that is alone has all of
 *   them, and no more: with more threads than CPUs another user that comes would find a queue.
 * - Among the threads of a user that wait for this limit, higher priorities come first, then
 *   work that begins, then work that gave way, which takes turns of NN_PERMITS_TURN_NS.
 * - Work of low priority takes nothing from the other priorities of any user: it does not
 *   limit them, and gives way while they need all CPUs.
 * - A wait ends after NN_PERMITS_WAIT_NS, at the deadline or when the work was cancelled,
 *   also beyond the limits: threads that do not give way cost the others of their user time,
 *   and lead to no deadlock.
 *
 * Threads that have not looked while another one waited that long are taken for stuck (a file
 * whose server does not answer): they count for nothing until one of their work looks again, so
 * that they cost one such wait and not one for each call.
 *
 * A user that computes nothing never waits, unless with low priority. Threads of one user are
 * alike: any may leave or give way for another one that entered. Where all users are one there
 * is no struct nn_permits, and a permit of none costs a comparison.
 *
 * Threads: any. nn_permit_enter(), _begin() and _give_way() wait; no lock may be held that
 * another thread of the same user takes. */
#ifndef NN_BASE_PERMITS_H
#define NN_BASE_PERMITS_H

#include "base/jobs.h"

#define NN_PERMITS_RECENT_NS UINT64_C(100000000)
#define NN_PERMITS_TURN_NS   UINT64_C(5000000)
#define NN_PERMITS_WAIT_NS   UINT64_C(1000000000)

struct nn_permits;
struct nn_permits_user;

/* The permit of one piece of work, shared by the threads that compute it. */
struct nn_permit {
    struct nn_permits *permits;   /* NULL: nothing is counted */
    struct nn_permits_user *user; /* NULL: memory was short, this work is not counted */
    enum nn_jobs_priority priority;
    uint64_t since_ns;            /* when a thread of it got its turn last */
    uint64_t look_ns;             /* when a thread of it was heard of last */
    size_t n_running;             /* threads of it that have entered */
    uint64_t deadline_ns;         /* CLOCK_MONOTONIC; UINT64_MAX: none */
    const uint32_t *is_cancelled; /* atomic; NULL: never */
};

/* nn_permits_new() - for n_cpus CPUs. clock: CLOCK_MONOTONIC for tests, NULL: the real one.
 * Returns: 0, -ENOMEM. */
int nn_permits_new(size_t n_cpus, uint64_t (*clock)(void), struct nn_permits **ret_permits);

/* nn_permits_free() - when all permits have ended. */
struct nn_permits *nn_permits_free(struct nn_permits *permits);

/* nn_permits_wake() - something was cancelled: those that wait look again. Does not block. */
void nn_permits_wake(struct nn_permits *permits);

/* nn_permits_n_running(), nn_permits_n_waiting() - threads of a user. Tests only. */
size_t nn_permits_n_running(struct nn_permits *permits, uint64_t user);
size_t nn_permits_n_waiting(struct nn_permits *permits, uint64_t user);

/* nn_permit_begin() - work of a user that begins on this thread, which enters. permits may be
 * NULL. deadline_ns and is_cancelled of permit are set by the caller before. */
void nn_permit_begin(struct nn_permit *permit, struct nn_permits *permits, uint64_t user,
                     enum nn_jobs_priority priority);

/* nn_permit_open() - work of a user that begins on no thread yet: as nn_permit_begin(), but no
 * thread enters, and none waits. */
void nn_permit_open(struct nn_permit *permit, struct nn_permits *permits, uint64_t user,
                    enum nn_jobs_priority priority);

/* nn_permit_end() - no thread is to enter any more. The thread that began is the last to leave; those
 * that did not leave are counted no more. */
void nn_permit_end(struct nn_permit *permit);

/* nn_permit_set_priority() - while one thread has entered. */
void nn_permit_set_priority(struct nn_permit *permit, enum nn_jobs_priority priority);

/* nn_permit_leave() - this thread computes no longer, nothing if none does; nn_permit_enter() - it
 * does (again). A thread that helps enters and leaves between the permit's begin and end. Drivers
 * call both (struct nnhal_turn), and may do so once too often. */
void nn_permit_leave(struct nn_permit *permit);
void nn_permit_enter(struct nn_permit *permit);

/* nn_permit_give_way() - leaves and enters again if another thread is to go first. */
void nn_permit_give_way(struct nn_permit *permit);

/* nn_permit_is_wanted() - the word that is not 0 while giving way may change anything: atomic,
 * for a relaxed load between pieces of work. NULL: it never does. */
const uint32_t *nn_permit_is_wanted(const struct nn_permit *permit);

/* nn_permit_n_helpers() - how many threads could enter at once to help. Seldom locks. */
uint32_t nn_permit_n_helpers(struct nn_permit *permit);

NN_DEFINE_CLEANUP(struct nn_permits, nn_permits_free)

#endif
