/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: the users that have something queued stand in a ring, and take turns; so do the
 * owners of each user, in a ring of its own. An owner has a list of jobs in order per
 * priority; in its turn the first job of its highest priority runs. Entries live while they
 * have jobs queued or running. */
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

/* A place in a ring; NULL: not in it. */
struct turn {
    struct turn *after, *before;
};

struct user {
    struct user *next; /* of the pool's users */
    struct turn turn;  /* among the users */
    uint64_t id;
    size_t n_owners;
    size_t n_queued, n_running, n_running_low;
    struct turn *ring; /* of its owners: whose turn it is */
};

struct owner {
    struct owner *next; /* of the pool's owners */
    struct turn turn;   /* among its user's owners */
    struct user *user;
    uint64_t id;
    size_t n_running;
    size_t n_queued;
    struct job_lane lanes[NN_JOBS_PRIORITY_N];
};

/* A thread that waits for work; on its stack. Each has a condition of its own: where many wait
 * for one, glibc may keep the thread that signals until others have run (in a service its loop),
 * and lose a signal. */
struct idle {
    struct idle *next;
    pthread_cond_t woken;
    bool is_woken;
};

struct nn_jobs {
    char name[16];
    pid_t pid; /* of the process that the threads belong to */
    size_t max_threads, max_queued, user_limit, owner_limit, low_limit;

    pthread_mutex_t lock;
    pthread_cond_t gone; /* a thread ended */
    size_t n_threads, n_leaving, n_idle, n_queued, n_running;
    struct idle *idle; /* those that nothing has woken, the last one first */
    bool is_closing;
    bool has_ended; /* ended is a thread that has not been joined yet */
    pthread_t ended;
    struct user *users;
    struct owner *owners;
    struct turn *ring; /* of the users: whose turn it is */
};

/* -- owners and lanes; all under the lock --------------------------------- */

static void ring_insert(struct turn **ring, struct turn *turn)
{
    if (!*ring) {
        turn->after = turn->before = turn;
        *ring = turn;
        return;
    }
    /* Last in turn: before the head. */
    turn->after = *ring;
    turn->before = (*ring)->before;
    turn->before->after = turn;
    turn->after->before = turn;
}

static void ring_remove(struct turn **ring, struct turn *turn)
{
    if (turn->after == turn) {
        *ring = NULL;
    } else {
        turn->before->after = turn->after;
        turn->after->before = turn->before;
        if (*ring == turn)
            *ring = turn->after;
    }
    turn->after = turn->before = NULL;
}

static struct user *user_get(struct nn_jobs *jobs, uint64_t id)
{
    struct user *user = jobs->users;

    while (user && user->id != id)
        user = user->next;
    if (user)
        return user;
    user = calloc(1, sizeof(*user));
    if (!user)
        return NULL;
    user->id = id;
    user->next = jobs->users;
    jobs->users = user;
    return user;
}

static void user_drop_unused(struct nn_jobs *jobs, struct user *user)
{
    struct user **link = &jobs->users;

    if (user->n_owners > 0)
        return;
    while (*link != user)
        link = &(*link)->next;
    *link = user->next;
    free(user);
}

static struct owner *owner_find(struct nn_jobs *jobs, uint64_t id)
{
    for (struct owner *owner = jobs->owners; owner; owner = owner->next)
        if (owner->id == id)
            return owner;
    return NULL;
}

static struct owner *owner_get(struct nn_jobs *jobs, uint64_t user, uint64_t id)
{
    struct owner *owner = owner_find(jobs, id);

    if (owner)
        return owner;
    owner = calloc(1, sizeof(*owner));
    if (!owner)
        return NULL;
    owner->user = user_get(jobs, user);
    if (!owner->user) {
        free(owner);
        return NULL;
    }
    owner->user->n_owners++;
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
    owner->user->n_owners--;
    user_drop_unused(jobs, owner->user);
    free(owner);
}

static void owner_queue_job(struct nn_jobs *jobs, struct owner *owner, struct nn_job *job)
{
    struct job_lane *lane = &owner->lanes[job->priority];

    job->next = NULL;
    *lane->last = job;
    lane->last = &job->next;
    if (owner->n_queued++ == 0) {
        if (!owner->user->ring)
            ring_insert(&jobs->ring, &owner->user->turn);
        ring_insert(&owner->user->ring, &owner->turn);
    }
    owner->user->n_queued++;
    jobs->n_queued++;
}

static struct nn_job *owner_unqueue_job(struct nn_jobs *jobs, struct owner *owner,
                                        struct job_lane *lane)
{
    struct nn_job *job = lane->first;

    lane->first = job->next;
    if (!lane->first)
        lane->last = &lane->first;
    if (--owner->n_queued == 0) {
        ring_remove(&owner->user->ring, &owner->turn);
        if (!owner->user->ring)
            ring_remove(&jobs->ring, &owner->user->turn);
    }
    owner->user->n_queued--;
    jobs->n_queued--;
    return job;
}

/* A user that runs nothing finds a thread even if each of many users has fewer than its limit:
 * the last one is left for it. */
static bool user_may_run(const struct nn_jobs *jobs, const struct user *user)
{
    return jobs->user_limit == 0 || user->n_running == 0 ||
           (user->n_running < jobs->user_limit && jobs->n_running + 1 < jobs->max_threads);
}

/* Whether the owner has a job that may run now, as far as priorities go. */
static bool owner_has_job(const struct nn_jobs *jobs, const struct owner *owner)
{
    if (jobs->low_limit == 0 || owner->user->n_running_low < jobs->low_limit)
        return true;
    return owner->lanes[NN_JOBS_MEDIUM].first || owner->lanes[NN_JOBS_HIGH].first;
}

/* The owner of a user whose turn it is among those below their limit; NULL: none may run now. */
static struct owner *user_choose_owner(const struct nn_jobs *jobs, const struct user *user)
{
    const struct turn *turn = user->ring;

    if (!user_may_run(jobs, user))
        return NULL;
    do {
        struct owner *owner = NN_CONTAINER_OF(turn, struct owner, turn);

        if ((jobs->owner_limit == 0 || owner->n_running < jobs->owner_limit) &&
            owner_has_job(jobs, owner))
            return owner;
        turn = turn->after;
    } while (turn != user->ring);
    return NULL;
}

/* The next job in turn: of the user whose turn it is, and of its owner whose turn it is, the first
 * of the highest priority. NULL: none may run now. */
static struct nn_job *job_choose(struct nn_jobs *jobs, struct owner **ret_owner)
{
    struct turn *turn = jobs->ring;
    size_t priority = NN_JOBS_PRIORITY_N - 1;
    struct owner *owner = NULL;

    while (turn && !owner) {
        owner = user_choose_owner(jobs, NN_CONTAINER_OF(turn, struct user, turn));
        turn = turn->after;
        if (!owner && turn == jobs->ring)
            return NULL;
    }
    if (!owner)
        return NULL;
    /* Ends: an owner in a ring has at least one job queued. */
    while (!owner->lanes[priority].first)
        priority--;
    jobs->ring = turn; /* the next turn of this user is the last */
    owner->user->ring = owner->turn.after;
    *ret_owner = owner;
    return owner_unqueue_job(jobs, owner, &owner->lanes[priority]);
}

/* -- threads --------------------------------------------------------------- */

static void idle_init(struct idle *idle)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&idle->woken, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Wakes the one that was idle for the shortest time, so that those that are not needed any more
 * end; under the lock. */
static void jobs_wake_one(struct nn_jobs *jobs)
{
    struct idle *idle = jobs->idle;

    if (!idle)
        return;
    jobs->idle = idle->next;
    idle->is_woken = true;
    pthread_cond_signal(&idle->woken);
}

static void idle_remove(struct nn_jobs *jobs, struct idle *idle)
{
    struct idle **link = &jobs->idle;

    while (*link != idle)
        link = &(*link)->next;
    *link = idle->next;
}

/* Threads beyond max_threads are there for users that run nothing, and do not wait for more. */
static bool jobs_have_too_many(const struct nn_jobs *jobs)
{
    return jobs->n_threads > jobs->max_threads;
}

/* Waits for work. Returns false when the thread is to end. */
static bool wait_for_work(struct nn_jobs *jobs, struct idle *idle)
{
    uint64_t until_ns = nn_sys_now_ns() + IDLE_NS;
    struct timespec until = {
        .tv_sec = (time_t)(until_ns / 1000000000U),
        .tv_nsec = (long)(until_ns % 1000000000U),
    };
    int r = 0;

    if (jobs->is_closing || jobs_have_too_many(jobs))
        return false;
    idle->is_woken = false;
    idle->next = jobs->idle;
    jobs->idle = idle;
    jobs->n_idle++;
    while (!idle->is_woken && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&idle->woken, &jobs->lock, &until);
    jobs->n_idle--;
    if (!idle->is_woken)
        idle_remove(jobs, idle);
    /* Work that came together with the end of the wait is looked at first. */
    return idle->is_woken || (jobs->n_queued > 0 && !jobs->is_closing);
}

static void job_run(struct nn_jobs *jobs, struct owner *owner, struct nn_job *job)
{
    size_t n_low = job->priority == NN_JOBS_LOW;

    /* Counted under the lock, which also keeps the owner from being freed while it runs a
     * job. */
    jobs->n_running++;
    owner->user->n_running++;
    owner->user->n_running_low += n_low;
    owner->n_running++;
    pthread_mutex_unlock(&jobs->lock);
    job->run(job);
    pthread_mutex_lock(&jobs->lock);
    owner->n_running--;
    owner->user->n_running--;
    owner->user->n_running_low -= n_low;
    jobs->n_running--;
    /* Jobs that waited for a limit may run now; this thread looks next, and an idle one
     * need not be woken. */
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
    struct idle idle;

    idle_init(&idle);
    pthread_mutex_lock(&jobs->lock);
    for (;;) {
        struct nn_job *job = jobs->is_closing ? NULL : job_choose(jobs, &owner);

        if (job)
            job_run(jobs, owner, job);
        else if (!wait_for_work(jobs, &idle))
            break;
    }
    pthread_cond_destroy(&idle.woken);
    thread_leave(jobs);
    return NULL;
}

/* Whether one more thread may be started for the job that user has just queued. */
static bool jobs_may_start(const struct nn_jobs *jobs, const struct user *user)
{
    if (jobs->n_threads < jobs->max_threads)
        return true;
    return jobs->user_limit > 0 && user->n_running == 0 && user->n_queued == 1;
}

/* Sees to it that a job that user has queued finds a thread; under the lock. */
static int jobs_provide_thread(struct nn_jobs *jobs, const struct user *user)
{
    pthread_t thread; /* known to itself, see leave() */
    int r;

    /* A thread counts as idle until it has woken, as a job counts as queued
     * until it is taken: so each idle one stands for one job. Jobs that wait
     * for their user's limit count too, which may start a thread too many,
     * but never leaves a job without one. */
    jobs_wake_one(jobs);
    if (jobs->n_idle >= jobs->n_queued || !jobs_may_start(jobs, user))
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

    if (!jobs)
        return nn_error_origin(-ENOMEM);
    snprintf(jobs->name, sizeof(jobs->name), "%s", name);
    jobs->pid = getpid();
    jobs->max_threads = n_threads > 0 ? n_threads : 1;
    jobs->max_queued = max_queued;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->gone, NULL);
    *ret_jobs = jobs;
    return 0;
}

void nn_jobs_limit(struct nn_jobs *jobs, size_t n_of_user, size_t n_of_owner)
{
    jobs->user_limit = n_of_user;
    jobs->owner_limit = n_of_owner;
}

void nn_jobs_limit_low(struct nn_jobs *jobs, size_t n_of_user)
{
    jobs->low_limit = n_of_user;
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
    } else if (!(owner = owner_get(jobs, job->user, job->owner))) {
        r = nn_error_origin(-EAGAIN);
    } else {
        owner_queue_job(jobs, owner, job);
        r = jobs_provide_thread(jobs, owner->user);
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
    while (jobs->idle)
        jobs_wake_one(jobs);
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
    pthread_cond_destroy(&jobs->gone);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    return NULL;
}
