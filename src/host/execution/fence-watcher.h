/* SPDX-License-Identifier: Apache-2.0 */
/* fence-watcher.h - waits for fences and deadlines, and runs what they hold back
 *
 *     launch --> WAITING --(all fences signalled)--> RUNNING --> ENDED
 *                   |                                   |
 *                   +--(fence in error, deadline, cancelled)--> ENDED
 *
 * One thread per host waits for the fences of all its sessions, and watches
 * the deadlines; executions run on a pool of jobs, so that a fence which never
 * signals delays no other execution. When a deadline passes during an execution its own
 * fence goes into error at once; the driver is told (is_cancelled), and what it
 * still does is ignored.
 *
 * A fenced execution in progress holds a reference to its object and a use of
 * its session: the watcher's thread has them while it waits, its job while it
 * runs. State, status and times are guarded by the watcher's lock. */
#ifndef NN_HOST_EXECUTION_FENCE_WATCHER_H
#define NN_HOST_EXECUTION_FENCE_WATCHER_H

#include "base/jobs.h"
#include "host/execution/execution.h"

struct nn_fenced;

enum nn_fenced_state {
    NN_FENCED_WAITING,
    NN_FENCED_RUNNING,
    NN_FENCED_ENDED,
};

/* A fence that is waited for; fd is ours, -1 when it has signalled. */
struct nn_fenced_wait {
    struct nn_fenced *fenced;
    int fd;
};

struct nn_fenced {
    struct nn_object object; /* first */
    struct nn_job job;
    struct nn_host_session *session;
    struct nn_fence_watcher *watcher;
    struct nn_execution *execution;
    uint64_t deadline_ns;
    uint64_t timeout_after_fence_ns;
    uint64_t loop_timeout_ns;
    uint64_t launched_ns;
    bool measure;
    struct nn_quota_charge charge;
    struct nn_quota_charge fences_charge;

    uint32_t is_cancelled; /* atomic, read by the driver */

    /* Guarded by the watcher's lock. */
    struct nn_fenced *next, *previous; /* of those in progress */
    enum nn_fenced_state state;
    uint32_t status; /* GENERAL_FAILURE until it ended */
    int signaller;   /* -1 when it was told */
    uint64_t due_ns;
    uint64_t signalled_ns; /* when the last fence had signalled */
    struct nnhal_timing timing_launched;
    struct nnhal_timing timing_fenced;
    char text[256]; /* why it failed */
    uint32_t n_waits;
    uint32_t n_pending;
    struct nn_fenced_wait waits[];
};

/* nn_fence_watcher_get() - the host's watcher, made when first asked for; borrowed.
 * Returns: 0, -errno (no memory, descriptors or threads left). */
int nn_fence_watcher_get(struct nn_host *host, struct nn_fence_watcher **ret_fencer);

/* nn_fence_watcher_free() - nothing may be in progress. Accepts NULL; returns NULL. */
struct nn_fence_watcher *nn_fence_watcher_free(struct nn_fence_watcher *watcher);

/* nn_fence_watcher_launch() - begins; takes over a reference to fenced and a use of its
 * session. Does not block. */
void nn_fence_watcher_launch(struct nn_fence_watcher *watcher, struct nn_fenced *fenced);

/* nn_fence_watcher_cancel() - ends the session's waiting executions and tells its
 * running ones. The session must be marked as cancelled. Does not block. */
void nn_fence_watcher_cancel(struct nn_host_session *session);

/* nn_fence_watcher_lock(), nn_fence_watcher_unlock() - around looking at a fenced execution. */
void nn_fence_watcher_lock(struct nn_fence_watcher *watcher);
void nn_fence_watcher_unlock(struct nn_fence_watcher *watcher);

#endif
