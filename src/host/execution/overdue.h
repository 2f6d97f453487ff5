/* SPDX-License-Identifier: Apache-2.0 */
/* overdue.h - the end of a process whose driver does not come back
 *
 * A driver that goes on 10 s after the deadline of its call (NNHAL_OVERDUE_MS), or after the end
 * of the session that made it, does not look at either any more: its thread, and what its clients wait for, are
 * lost. Then the process ends, and those who have calls in it make them again elsewhere.
 * Only a process that is there for its driver alone does so (nn_overdue_enable()): a
 * service, a private child. In an application nothing is watched.
 *
 * A process that was stopped (SIGSTOP, a frozen control group) gives its driver the same time again:
 * the thread that watches notes that it woke late.
 *
 * The thread that watches is started by the first call with a deadline, or that its session left. */
#ifndef NN_HOST_EXECUTION_OVERDUE_H
#define NN_HOST_EXECUTION_OVERDUE_H

#include <stdint.h>

/* Without NNHAL_OVERDUE_MS. */
#define NN_OVERDUE_MS UINT64_C(10000)

/* A call of the driver, on the stack of the thread that makes it, or work that it has taken. */
struct nn_overdue_call {
    struct nn_overdue_call *next, *previous;
    uint64_t deadline_ns;
    const char *what;
    const uint32_t *is_cancelled; /* of the session */
};

/* nn_overdue_enable() - this process may be ended. Before the first call. */
void nn_overdue_enable(void);

/* nn_overdue_begin(), nn_overdue_end() - around a call of the driver, for the session that has
 * is_cancelled. Any thread; do not block. Where no process may be ended they do nothing. */
void nn_overdue_begin(struct nn_overdue_call *call, const char *what, const uint32_t *is_cancelled,
                      uint64_t deadline_ns);
void nn_overdue_end(struct nn_overdue_call *call);

/* nn_overdue_cancel() - the session has ended, which its word says by now: its calls have no more
 * time, nor have those that begin later. Does not block. */
void nn_overdue_cancel(const uint32_t *is_cancelled);

#endif
