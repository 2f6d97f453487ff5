/* SPDX-License-Identifier: Apache-2.0 */
/* wait-limit.h - until when the calling thread may wait for other processes
 *
 * A deadline belongs to a computation or a compilation, of which a single call
 * into a device is a small part: memories are imported, a driver's process is
 * started again. The thread that does all this on behalf of one deadline sets
 * it here, and each wait for another process asks for it.
 *
 * A limit is the thread's own and holds until it is set back; a thread begins
 * without one. Never blocks. */
#ifndef NN_BASE_WAIT_LIMIT_H
#define NN_BASE_WAIT_LIMIT_H

#include <stdint.h>
#include <time.h>

#define NN_WAIT_UNLIMITED UINT64_MAX

/* Who keeps to a deadline answers a little later: so long is that waited for. */
#define NN_WAIT_GRACE_NS UINT64_C(50000000)

/* nn_wait_limit_get() - CLOCK_MONOTONIC, or NN_WAIT_UNLIMITED. */
uint64_t nn_wait_limit_get(void);

/* nn_wait_limit_narrow() - the earlier of limit_ns and the one that holds.
 * Returns: the one that held, for nn_wait_limit_restore(). */
uint64_t nn_wait_limit_narrow(uint64_t limit_ns);
void nn_wait_limit_restore(uint64_t limit_ns);

/* nn_wait_end() - when a wait that begins now is over: the grace after the deadline, or after
 * now if that has passed, because an answer says so then. NN_WAIT_UNLIMITED stays so. */
uint64_t nn_wait_end(uint64_t deadline_ns);

/* nn_wait_limit_timespec() - for pthread_cond_clockwait() and the like: what cannot
 * be said, as NN_WAIT_UNLIMITED, is far in the future. */
struct timespec nn_wait_limit_timespec(uint64_t limit_ns);

#endif
