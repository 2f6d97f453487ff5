/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - the end of a computation in the background, or a fence of another process
 *
 *     job        a computation that a thread of ours makes (base/jobs.h), once its
 *                dependencies have ended
 *     fenced     a computation that its device starts and ends by fences (fenced.h)
 *     line       one in parts whose devices do so (partition/fence-line.h)
 *     fence      the application's file descriptor: POLLIN is success, POLLERR failure
 *
 * A computation's event is referenced by the application, whose reference goes
 * after the end of the computation, and by events that depend on it. Jobs start in the
 * order in which they were submitted, and depend on earlier ones and on fences
 * only, so that a bounded number of threads cannot deadlock. Threads: any. */
#ifndef NN_RUNTIME_EXECUTION_EVENT_H
#define NN_RUNTIME_EXECUTION_EVENT_H

#include "base/jobs.h"
#include "runtime/execution/chain.h"
#include "runtime/execution/execution.h"

struct nn_rt_fence_line;

struct ANeuralNetworksEvent {
    struct nn_rt_object object;
    struct nn_rt_link link;
    uint64_t callback;             /* 0: a job, a line, or a fence of the application's */
    struct nn_rt_fence_line *line; /* NULL: it is none */
    struct nn_job job;
    ANeuralNetworksExecution *execution;
    uint64_t duration_ns; /* from the end of the dependencies; 0: none */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    bool is_collecting; /* a thread asks, or has asked, for what a device has computed */
    bool is_done;
    int result;
};

/* What a computation waits for first. */
struct nn_rt_event_dependencies {
    uint32_t n_events;
    const ANeuralNetworksEvent *const *events;
    uint64_t duration_ns;
};

/* nn_rt_event_start() - computes in the background. dependencies may be NULL.
 * Returns: 0; as nn_rt_execution_begin() and nn_rt_execution_check_fenced(); -ENOMEM. */
int nn_rt_event_start(ANeuralNetworksExecution *execution,
                      const struct nn_rt_event_dependencies *dependencies, struct nn_why *why,
                      ANeuralNetworksEvent **ret_event);

/* nn_rt_event_from_fence() - duplicates fd. Returns: 0, BAD_DATA, -ENOMEM. */
int nn_rt_event_from_fence(int fd, struct nn_why *why, ANeuralNetworksEvent **ret_event);

/* nn_rt_event_get_fence() - a duplicate. Returns: 0, BAD_DATA, -EMFILE. */
int nn_rt_event_get_fence(const ANeuralNetworksEvent *event, struct nn_why *why, int *ret_fd);

/* nn_rt_event_wait() - Returns: the ResultCode of what it stands for; DEAD_OBJECT in
 * a forked child. */
int nn_rt_event_wait(ANeuralNetworksEvent *event, struct nn_why *why);

/* nn_rt_event_free() - the application's reference; waits for a computation first. */
ANeuralNetworksEvent *nn_rt_event_free(ANeuralNetworksEvent *event);

#endif
