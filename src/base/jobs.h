/* SPDX-License-Identifier: Apache-2.0 */
/* jobs.h - a bounded pool of threads with priorities
 *
 * Work that must not run on the thread that asks for it: executions in a
 * service, asynchronous ones in the runtime, deferred compilations. Threads are
 * started when needed, at most n_threads, and end after being idle for a
 * while. Our threads block all signals. Users take turns, and among the jobs of
 * a user its owners (connections), regardless of their priorities, so that no user
 * starves another one by opening many connections: a priority says which of its
 * owner's jobs comes first.
 * After fork the child has no threads: nn_jobs_submit answers -ECHILD there.
 *
 * A job runs exactly once, or is cancelled before it begins (cancel is then
 * called instead, on the thread that ends the pool or cancels the owner). */
#ifndef NN_BASE_JOBS_H
#define NN_BASE_JOBS_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct nn_jobs;

enum nn_jobs_priority {
    NN_JOBS_LOW = 0,
    NN_JOBS_MEDIUM = 1,
    NN_JOBS_HIGH = 2,
    NN_JOBS_PRIORITY_N = 3,
};

enum {
    NN_JOBS_E_FULL = 1, /* the queue holds max_queued jobs already */
};

struct nn_job {
    struct nn_job *next; /* the pool's while queued */
    uint64_t user;       /* whose turn it is; any number */
    uint64_t owner;      /* the same within a user; belongs to one user alone */
    enum nn_jobs_priority priority;
    void (*run)(struct nn_job *job);    /* may free job */
    void (*cancel)(struct nn_job *job); /* may free job */
};

/* nn_jobs_new() - a pool without threads yet. name (at most 15 bytes) names them.
 * Returns: 0, -ENOMEM. */
int nn_jobs_new(const char *name, size_t n_threads, size_t max_queued, struct nn_jobs **ret_jobs);

/* nn_jobs_free() - cancels what is queued, waits for what runs, joins the threads. */
struct nn_jobs *nn_jobs_free(struct nn_jobs *jobs);

/* nn_jobs_limit() - at most n_of_user threads of the pool run jobs of one user at a time, and at
 * most n_of_owner jobs of one owner; the last thread that is left runs a job of a user that
 * runs none, and where none is left such a user gets a thread beyond n_threads, which ends when
 * it finds no such job any more. 0 (the default): no limit. Before the first submit. */
void nn_jobs_limit(struct nn_jobs *jobs, size_t n_of_user, size_t n_of_owner);

/* nn_jobs_limit_low() - at most n_of_user threads of the pool run jobs of low priority of one
 * user at a time, so that its other jobs find a thread. As nn_jobs_limit(). */
void nn_jobs_limit_low(struct nn_jobs *jobs, size_t n_of_user);

/* nn_jobs_submit() - queues a job; the caller keeps its storage until run or cancel.
 * Any thread. Does not block.
 * Returns: 0, NN_JOBS_E_FULL, -EAGAIN (no thread could be started), -ECHILD. */
int nn_jobs_submit(struct nn_jobs *jobs, struct nn_job *job);

/* nn_jobs_cancel_owner() - cancels the queued jobs of owner; running ones go on. */
void nn_jobs_cancel_owner(struct nn_jobs *jobs, uint64_t owner);

NN_DEFINE_CLEANUP(struct nn_jobs, nn_jobs_free)

#endif
