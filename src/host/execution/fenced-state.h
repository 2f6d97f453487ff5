/* SPDX-License-Identifier: Apache-2.0 */
/* fenced-state.h - an execution that begins when fences have signalled, and ends with one of its own
 *
 * fenced.c judges what is asked for. Then one of two has it: the watcher (fence-watcher.h), which
 * waits for the fences and executes on a thread of the host, or the queue of a device whose driver
 * does both (device-queue.h). The object lives until its id is freed and it has ended. */
#ifndef NN_HOST_EXECUTION_FENCED_STATE_H
#define NN_HOST_EXECUTION_FENCED_STATE_H

#include "base/jobs.h"
#include "host/execution/execution.h"

struct nn_device_run;
struct nn_fenced;
struct nn_fence_watcher;

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
    struct nn_device_run *device_run; /* NULL: a job of ours runs it */
    /* Of one that a device has: tells the driver that is_cancelled is set. NULL: none is told. */
    void (*cancel)(struct nn_fenced *fenced);

    uint32_t is_cancelled; /* atomic, read by the driver */

    /* Guarded by the watcher's lock. */
    struct nn_fenced *next, *previous; /* of those in progress */
    enum nn_fenced_state state;
    bool is_told;    /* cancel() was called */
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

/* How one ended: on the device, or before it got there. */
struct nn_fenced_end {
    uint32_t status;
    const char *text; /* NULL: none */
    /* time_in_driver counts from the end of the fences. */
    struct nnhal_timing timing;
};

/* nn_fenced_unref() - accepts NULL; returns NULL. */
static inline struct nn_fenced *nn_fenced_unref(struct nn_fenced *fenced)
{
    if (fenced)
        nn_object_unref(&fenced->object);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_fenced, nn_fenced_unref)

/* nn_fenced_hold() - of one that is in progress: a reference, and a use of its session beside the
 * caller's. */
static inline void nn_fenced_hold(struct nn_fenced *fenced)
{
    __atomic_add_fetch(&fenced->session->n_uses, 1, __ATOMIC_SEQ_CST);
    nn_object_ref(&fenced->object);
}

#endif
