/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the owners that have something queued stand in a ring, and take turns.
 * Each has a list of jobs in order per priority; in its turn the first job of
 * its highest priority runs. An owner's entry lives while it has jobs queued or
 * running. */
#include "base/jobs.h"

#include "base/error.h"
#include "base/sys.h"
#include "base/thread.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define IDLE_NS UINT64_C(5000000000)

/* The jobs that one owner has queued at one priority. */
struct job_lane {
    struct nn_job *first, **last;
};

struct owner {
    struct owner *next;           /* of the pool's owners */
    struct owner *after, *before; /* in the ring; NULL: not in it */
    uint64_t id;
    size_t n_running;
    size_t n_queued;
    struct job_lane lanes[NN_JOBS_PRIORITY_N];
};

struct nn_jobs {
    char name[16];
    pid_t pid; /* of the process that the threads belong to */
    size_t max_threads, max_queued, owner_limit;

    pthread_mutex_t lock;
    pthread_cond_t work; /* CLOCK_MONOTONIC: a job was queued, or closing */
    pthread_cond_t gone; /* a thread ended */
    size_t n_threads, n_leaving, n_idle, n_queued;
    bool is_closing;
    bool has_ended; /* ended is a thread that has not been joined yet */
    pthread_t ended;
    struct owner *owners;
    struct owner *ring; /* whose turn it is */
};

/* -- owners and lanes; all under the lock --------------------------------- */

static struct owner *owner_find(struct nn_jobs *jobs, uint64_t id)
{
    for (struct owner *owner = jobs->owners; owner; owner = owner->next)
        if (owner->id == id)
            return owner;
    return NULL;
}

static struct owner *owner_get(struct nn_jobs *jobs, uint64_t id)
{
    struct owner *owner = owner_find(jobs, id);

    if (owner)
        return owner;
    owner = calloc(1, sizeof(*owner));
    if (!owner)
        return NULL;
    owner->id = id;
    for (size_t i = 0; i < NN_JOBS_PRIORITY_N; i++)
        owner->lanes[i].last = &owner->lanes[i].first;
    owner->next = jobs->owners;
    jobs->owners = owner;
    return owner;
}

static void owner_drop_unused(struct nn_jobs *jobs, struct owner *owner)
{
    struct owner **link = &jobs->owners;

    if (owner->n_running > 0 || owner->n_queued > 0)
        return;
    while (*link != owner)
        link = &(*link)->next;
    *link = owner->next;
    free(owner);
}

static void ring_insert(struct nn_jobs *jobs, struct owner *owner)
{
    if (!jobs->ring) {
        owner->after = owner->before = owner;
        jobs->ring = owner;
        return;
    }
    /* Last in turn: before the head. */
    owner->after = jobs->ring;
    owner->before = jobs->ring->before;
    owner->before->after = owner;
    owner->after->before = owner;
}

static void ring_remove(struct nn_jobs *jobs, struct owner *owner)
{
    if (owner->after == owner) {
        jobs->ring = NULL;
    } else {
        owner->before->after = owner->after;
        owner->after->before = owner->before;
        if (jobs->ring == owner)
            jobs->ring = owner->after;
    }
    owner->after = owner->before = NULL;
}

static void owner_queue_job(struct nn_jobs *jobs, struct owner *owner, struct nn_job *job)
{
    struct job_lane *lane = &owner->lanes[job->priority];

    job->next = NULL;
    *lane->last = job;
    lane->last = &job->next;
    if (owner->n_queued++ == 0)
        ring_insert(jobs, owner);
    jobs->n_queued++;
}

static struct nn_job *owner_unqueue_job(struct nn_jobs *jobs, struct owner *owner,
                                        struct job_lane *lane)
{
    struct nn_job *job = lane->first;

    lane->first = job->next;
    if (!lane->first)
        lane->last = &lane->first;
    if (--owner->n_queued == 0)
        ring_remove(jobs, owner);
    jobs->n_queued--;
    return job;
}

static bool owner_may_run(const struct nn_jobs *jobs, const struct owner *owner)
{
    return jobs->owner_limit == 0 || owner->n_running < jobs->owner_limit;
}

/* The next job in turn: of the owner whose turn it is among those below their
 * limit, the first of its highest priority. NULL: none may run now. */
static struct nn_job *job_choose(struct nn_jobs *jobs, struct owner **ret_owner)
{
    struct owner *owner = jobs->ring;
    size_t priority = NN_JOBS_PRIORITY_N - 1;

    if (!owner)
        return NULL;
    while (!owner_may_run(jobs, owner)) {
        owner = owner->after;
        if (owner == jobs->ring)
            return NULL;
    }
    /* Ends: an owner in the ring has at least one job queued. */
    while (!owner->lanes[priority].first)
        priority--;
    jobs->ring = owner->after; /* its next turn is the last */
    *ret_owner = owner;
    return owner_unqueue_job(jobs, owner, &owner->lanes[priority]);
}

/* -- threads --------------------------------------------------------------- */

/* Waits for work. Returns false when the thread is to end. */
static bool wait_for_work(struct nn_jobs *jobs)
{
    uint64_t until_ns = nn_sys_now_ns() + IDLE_NS;
    struct timespec until = {
        .tv_sec = (time_t)(until_ns / 1000000000U),
        .tv_nsec = (long)(until_ns % 1000000000U),
    };
    int r;

    if (jobs->is_closing)
        return false;
    jobs->n_idle++;
    r = pthread_cond_timedwait(&jobs->work, &jobs->lock, &until);
    jobs->n_idle--;
    /* Work that came together with the end of the wait is looked at first. */
    return r != ETIMEDOUT || (jobs->n_queued > 0 && !jobs->is_closing);
}

static void job_run(struct nn_jobs *jobs, struct owner *owner, struct nn_job *job)
{
    /* Counted under the lock, which also keeps the owner from being freed while it runs a
     * job. */
    owner->n_running++;
    pthread_mutex_unlock(&jobs->lock);
    job->run(job);
    pthread_mutex_lock(&jobs->lock);
    owner->n_running--;
    /* Jobs that waited for this owner's limit may run now; this thread looks
     * next, and an idle one need not be woken. */
    owner_drop_unused(jobs, owner);
}

/* The last steps of a thread, which holds the lock. Each one that ends joins
 * the one that ended before it, so that at most one is left to join. */
static void thread_leave(struct nn_jobs *jobs)
{
    bool joins = jobs->has_ended;
    pthread_t before = jobs->ended;

    jobs->has_ended = true;
    jobs->ended = pthread_self();
    jobs->n_threads--; /* no job waits for this thread any more */
    if (joins) {
        jobs->n_leaving++;
        pthread_mutex_unlock(&jobs->lock);
        pthread_join(before, NULL);
        pthread_mutex_lock(&jobs->lock);
        jobs->n_leaving--;
    }
    pthread_cond_broadcast(&jobs->gone);
    pthread_mutex_unlock(&jobs->lock);
}

static void *thread_main(void *argument)
{
    struct nn_jobs *jobs = argument;
    struct owner *owner = NULL;

    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        struct nn_job *job = jobs->is_closing ? NULL : job_choose(jobs, &owner);

        if (job)
            job_run(jobs, owner, job);
        else if (!wait_for_work(jobs))
            break;
    }
    thread_leave(jobs);
    return NULL;
}

/* Sees to it that a queued job finds a thread; under the lock. */
static int jobs_provide_thread(struct nn_jobs *jobs)
{
    pthread_t thread; /* known to itself, see leave() */
    int r;

    /* A thread counts as idle until it has woken, as a job counts as queued
     * until it is taken: so each idle one stands for one job. Jobs that wait
     * for their owner's limit count too, which may start a thread too many,
     * but never leaves a job without one. */
    pthread_cond_signal(&jobs->work);
    if (jobs->n_idle >= jobs->n_queued || jobs->n_threads == jobs->max_threads)
        return 0;
    r = nn_thread_start(jobs->name, thread_main, jobs, &thread);
    if (r == 0)
        jobs->n_threads++;
    /* Without a new thread the job waits for one of those that there are. */
    return jobs->n_threads > 0 ? 0 : nn_error_trace(r);
}

/* -- the pool -------------------------------------------------------------- */

int nn_jobs_new(const char *name, size_t n_threads, size_t max_queued, struct nn_jobs **ret_jobs)
{
    struct nn_jobs *jobs = calloc(1, sizeof(*jobs));
    pthread_condattr_t attributes;

    if (!jobs)
        return nn_error_origin(-ENOMEM);
    snprintf(jobs->name, sizeof(jobs->name), "%s", name);
    jobs->pid = getpid();
    jobs->max_threads = n_threads > 0 ? n_threads : 1;
    jobs->max_queued = max_queued;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->work, &attributes);
    pthread_cond_init(&jobs->gone, &attributes);
    pthread_condattr_destroy(&attributes);
    *ret_jobs = jobs;
    return 0;
}

void nn_jobs_limit_owner(struct nn_jobs *jobs, size_t n_threads)
{
    jobs->owner_limit = n_threads;
}

int nn_jobs_submit(struct nn_jobs *jobs, struct nn_job *job)
{
    struct owner *owner;
    int r = 0;

    assert((unsigned)job->priority < NN_JOBS_PRIORITY_N);
    /* After a fork the threads are the parent's, and one of them may have held the lock. */
    if (jobs->pid != getpid())
        return nn_error_origin(-ECHILD);
    pthread_mutex_lock(&jobs->lock);
    if (jobs->is_closing || jobs->n_queued >= jobs->max_queued) {
        r = NN_JOBS_E_FULL;
    } else if (!(owner = owner_get(jobs, job->owner))) {
        r = nn_error_origin(-EAGAIN);
    } else {
        owner_queue_job(jobs, owner, job);
        r = jobs_provide_thread(jobs);
        if (r < 0) {
            /* There is no thread, hence no other job: this is the only one. */
            owner_unqueue_job(jobs, owner, &owner->lanes[job->priority]);
            owner_drop_unused(jobs, owner);
        }
    }
    pthread_mutex_unlock(&jobs->lock);
    return r;
}

/* Moves the queued jobs of owner to the end of a list; under the lock. */
static void owner_collect_jobs(struct nn_jobs *jobs, struct owner *owner, struct nn_job ***list_end)
{
    for (size_t priority = 0; priority < NN_JOBS_PRIORITY_N; priority++) {
        while (owner->lanes[priority].first) {
            struct nn_job *job = owner_unqueue_job(jobs, owner, &owner->lanes[priority]);

            job->next = NULL;
            **list_end = job;
            *list_end = &job->next;
        }
    }
    owner_drop_unused(jobs, owner);
}

static void jobs_cancel_list(struct nn_job *list)
{
    while (list) {
        struct nn_job *next = list->next; /* cancel may free the job */

        list->cancel(list);
        list = next;
    }
}

void nn_jobs_cancel_owner(struct nn_jobs *jobs, uint64_t id)
{
    struct nn_job *list = NULL, **end = &list;
    struct owner *owner;

    if (jobs->pid != getpid())
        return;
    pthread_mutex_lock(&jobs->lock);
    owner = owner_find(jobs, id);
    if (owner)
        owner_collect_jobs(jobs, owner, &end);
    /* Without the lock: cancel is the owner's code and may submit or cancel jobs itself. */
    pthread_mutex_unlock(&jobs->lock);
    jobs_cancel_list(list);
}

struct nn_jobs *nn_jobs_free(struct nn_jobs *jobs)
{
    struct nn_job *list = NULL, **end = &list;

    if (!jobs)
        return NULL;
    if (jobs->pid != getpid()) {
        /* The parent's threads may have been anywhere when this process was
         * made: the lock and the lists are not to be touched. */
        free(jobs);
        return NULL;
    }
    pthread_mutex_lock(&jobs->lock);
    jobs->is_closing = true;
    for (struct owner *owner = jobs->owners, *next; owner; owner = next) {
        next = owner->next;
        owner_collect_jobs(jobs, owner, &end);
    }
    pthread_cond_broadcast(&jobs->work);
    pthread_mutex_unlock(&jobs->lock);
    jobs_cancel_list(list);

    pthread_mutex_lock(&jobs->lock);
    /* A thread that leaves is not counted in n_threads any more, but still takes the lock
     * once. */
    while (jobs->n_threads > 0 || jobs->n_leaving > 0)
        pthread_cond_wait(&jobs->gone, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    if (jobs->has_ended)
        pthread_join(jobs->ended, NULL);
    pthread_cond_destroy(&jobs->work);
    pthread_cond_destroy(&jobs->gone);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    return NULL;
}
