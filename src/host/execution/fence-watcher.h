/* SPDX-License-Identifier: Apache-2.0 */
/* fence-watcher.h - waits for fences and deadlines, and runs what they hold back
 *
 *     launch --> WAITING --(all fences signalled)--> RUNNING --> ENDED
 *                   |                                   |  ^
 *                   +--(fence in error, deadline, cancelled)--> ENDED
 *     admit ------(a device waits by itself)------------+
 *
 * One thread per host waits for the fences of all its sessions, and watches
 * the deadlines; executions run on a pool of jobs, so that a fence which never
 * signals delays no other execution. When a deadline passes during an execution its own
 * fence goes into error at once; the driver is told (is_cancelled), and what it
 * still does is ignored. Of executions in the queue of a device (device-queue.h) the watcher
 * watches deadline and cancellation alone: its thread sleeps while they go well.
 *
 * A fenced execution in progress holds a reference to its object and a use of
 * its session: the watcher's thread has them while it waits, its job while it
 * runs, the device's queue while it is there. State, status and times are guarded by the
 * watcher's lock. */
#ifndef NN_HOST_EXECUTION_FENCE_WATCHER_H
#define NN_HOST_EXECUTION_FENCE_WATCHER_H

#include "host/execution/fenced-state.h"

/* nn_fence_watcher_get() - the host's watcher, made when first asked for; borrowed.
 * Returns: 0, -errno (no memory, descriptors or threads left). */
int nn_fence_watcher_get(struct nn_host *host, struct nn_fence_watcher **ret_fencer);

/* nn_fence_watcher_free() - nothing may be in progress. Accepts NULL; returns NULL. */
struct nn_fence_watcher *nn_fence_watcher_free(struct nn_fence_watcher *watcher);

/* nn_fence_watcher_launch() - begins; takes over a reference to fenced and a use of its
 * session. Does not block. */
void nn_fence_watcher_launch(struct nn_fence_watcher *watcher, struct nn_fenced *fenced);

/* nn_fence_watcher_admit() - of one that a device is about to get, whose cancel and due_ns are
 * set: watches its deadline; takes over as nn_fence_watcher_launch(). Does not block.
 * Returns: false if the session is being cancelled. Either way nn_fence_watcher_finish() follows. */
bool nn_fence_watcher_admit(struct nn_fence_watcher *watcher, struct nn_fenced *fenced);

/* nn_fence_watcher_finish() - the device has done with it: keeps status, text and times unless it
 * had ended before, tells its fence, and gives back what nn_fence_watcher_admit() took. */
void nn_fence_watcher_finish(struct nn_fenced *fenced, const struct nn_fenced_end *end);

/* nn_fence_watcher_cancel() - ends the session's executions that wait or that a device has, and
 * tells its running ones. The session must be marked as cancelled. Does not block. */
void nn_fence_watcher_cancel(struct nn_host_session *session);

/* nn_fence_watcher_lock(), nn_fence_watcher_unlock() - around looking at a fenced execution. */
void nn_fence_watcher_lock(struct nn_fence_watcher *watcher);
void nn_fence_watcher_unlock(struct nn_fence_watcher *watcher);

#endif
