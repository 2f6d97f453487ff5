/* SPDX-License-Identifier: Apache-2.0 */
/* session-bursts.h - the bursts that are open in a session
 *
 * The list is how a memory that is freed finds its slots, how the device's
 * request for lost memories finds its burst, and how the end of the session
 * ends every wait. A burst is referenced by the channel that executes through
 * it (execution/channel.h) and by each thread that walks the list and calls the
 * device meanwhile. The last reference ends the burst, so every holder of one
 * also holds the session.
 * Threads: any. In a forked child the lock may be held by a thread that was not
 * forked: nothing here may be called there. */
#ifndef NN_RUNTIME_SESSION_BURSTS_H
#define NN_RUNTIME_SESSION_BURSTS_H

#include "hal/burst.h"

#include <pthread.h>

struct nn_rt_session_burst {
    uint32_t n_refs; /* under the list's lock */
    struct nn_burst *burst;
    struct nn_rt_session_burst *next;
};

struct nn_rt_session_bursts {
    pthread_mutex_t lock; /* of what follows */
    struct nn_rt_session_burst *first;
};

void nn_rt_session_bursts_init(struct nn_rt_session_bursts *bursts);

/* nn_rt_session_bursts_done() - the list is empty. */
void nn_rt_session_bursts_done(struct nn_rt_session_bursts *bursts);

/* nn_rt_session_bursts_add() - with one reference. Consumes burst on success.
 * Returns: 0, -ENOMEM. */
int nn_rt_session_bursts_add(struct nn_rt_session_bursts *bursts, struct nn_burst *burst,
                             struct nn_rt_session_burst **ret_entry);

/* nn_rt_session_burst_unref() - the last one ends the burst, which calls the device if
 * is_alive says that the session can be called. Returns: NULL. */
struct nn_rt_session_burst *nn_rt_session_burst_unref(struct nn_rt_session_bursts *bursts,
                                                      struct nn_rt_session_burst *entry,
                                                      bool is_alive);

/* nn_rt_session_bursts_drop_memory() - frees the slots of a memory in every burst; blocks for
 * calls if is_alive. */
void nn_rt_session_bursts_drop_memory(struct nn_rt_session_bursts *bursts, uint64_t memory,
                                      bool is_alive);

/* For the session's listener: do not block. */
void nn_rt_session_bursts_stop_all(struct nn_rt_session_bursts *bursts);
void nn_rt_session_bursts_request_memories(struct nn_rt_session_bursts *bursts,
                                           const struct nn_hal_get_memories_event *event);

#endif
