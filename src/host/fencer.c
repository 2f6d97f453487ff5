/* SPDX-License-Identifier: Apache-2.0 */
#include "host/fencer.h"

#include "base/error.h"
#include "base/fence.h"
#include "base/sys.h"
#include "base/thread.h"
#include "host/slow.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum {
    MAX_EVENTS = 64,
    MAX_QUEUED = 65536,
};

#define NS_PER_MS UINT64_C(1000000)

struct nn_fencer {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll_fd;
    int wake_fd;
    bool is_stopping;
    struct nn_jobs *jobs;
    struct nn_fenced *first; /* in progress */
};

void nn_fencer_lock(struct nn_fencer *fencer)
{
    pthread_mutex_lock(&fencer->lock);
}

void nn_fencer_unlock(struct nn_fencer *fencer)
{
    pthread_mutex_unlock(&fencer->lock);
}

static void wake(const struct nn_fencer *fencer)
{
    uint64_t one = 1;

    /* Fails only if the counter is full: then the thread is being woken. */
    (void)!write(fencer->wake_fd, &one, sizeof(one));
}

/* -- the list of what is in progress; under the lock --------------------------- */

static void link_fenced(struct nn_fencer *fencer, struct nn_fenced *fenced)
{
    fenced->previous = NULL;
    fenced->next = fencer->first;
    if (fenced->next)
        fenced->next->previous = fenced;
    fencer->first = fenced;
}

static void unlink_fenced(struct nn_fencer *fencer, struct nn_fenced *fenced)
{
    if (fenced->previous)
        fenced->previous->next = fenced->next;
    else
        fencer->first = fenced->next;
    if (fenced->next)
        fenced->next->previous = fenced->previous;
    fenced->next = fenced->previous = NULL;
}

/* -- ending; under the lock ------------------------------------------------------ */

static void end_wait(const struct nn_fencer *fencer, struct nn_fenced_wait *wait)
{
    if (wait->fd < 0)
        return;
    epoll_ctl(fencer->epoll_fd, EPOLL_CTL_DEL, wait->fd, NULL);
    close(steal_fd(&wait->fd));
}

/* Once ended it stays as it is. The fence tells of it later, in fire(). */
static void end(struct nn_fencer *fencer, struct nn_fenced *fenced, uint32_t status,
                const char *text)
{
    if (fenced->state == NN_FENCED_ENDED)
        return;
    fenced->state = NN_FENCED_ENDED;
    fenced->status = status;
    snprintf(fenced->text, sizeof(fenced->text), "%s", text ? text : "");
    for (uint32_t i = 0; i < fenced->n_waits; i++)
        end_wait(fencer, &fenced->waits[i]);
    unlink_fenced(fencer, fenced);
    nn_quota_release(&fenced->fences_charge);
}

/* Tells whoever waits for the execution's own fence. */
static void fire(int signaller, uint32_t status)
{
    if (signaller < 0)
        return;
    if (status == NNHAL_NONE)
        nn_fence_signal(signaller);
    else
        close(signaller);
}

/* Gives back what an ended execution holds, and fires if nobody has. In this
 * order, so that whoever sees the fence can count on the rest: the status is
 * there, and what was charged is free again. Not under the lock: it may release
 * objects of the driver, and end the session. */
static void release(struct nn_fenced *fenced)
{
    struct nn_session *session = fenced->session;
    int signaller = steal_fd(&fenced->signaller);
    uint32_t status = fenced->status;

    nn_object_unref(&fenced->object);
    fire(signaller, status);
    nn_session_leave(session);
}

/* -- running ----------------------------------------------------------------------- */

static void job_run(struct nn_job *job)
{
    struct nn_fenced *fenced = NN_CONTAINER_OF(job, struct nn_fenced, job);
    struct nn_fencer *fencer = fenced->fencer;
    const struct nn_binding_run how = {.deadline_ns = fenced->due_ns,
                                       .loop_timeout_ns = fenced->loop_timeout_ns,
                                       .measure = fenced->measure,
                                       .is_cancelled = &fenced->is_cancelled};
    struct nn_binding_result result;
    struct nn_arena arena;
    struct nn_call call = {.session = fenced->session, .arena = &arena};
    uint64_t now_ns;
    uint32_t status;

    nn_arena_init(&arena, 0);
    status = nn_binding_run(&call, &fenced->execution->binding, &how, &result);
    now_ns = nn_sys_now_ns();
    if (status == NNHAL_MISSED_DEADLINE_PERSISTENT && now_ns >= fenced->due_ns)
        status = NNHAL_MISSED_DEADLINE_TRANSIENT; /* it waited for a thread */
    nn_fencer_lock(fencer);
    if (fenced->measure && status == NNHAL_NONE && fenced->state != NN_FENCED_ENDED) {
        fenced->timing_launched = (struct nnhal_timing){result.timing.time_on_device_ns,
                                                        now_ns - fenced->launched_ns};
        fenced->timing_fenced = (struct nnhal_timing){result.timing.time_on_device_ns,
                                                      now_ns - fenced->signalled_ns};
    }
    end(fencer, fenced, status, call.message);
    nn_fencer_unlock(fencer);
    nn_arena_done(&arena);
    release(fenced);
}

static void job_cancel(struct nn_job *job)
{
    struct nn_fenced *fenced = NN_CONTAINER_OF(job, struct nn_fenced, job);

    nn_fencer_lock(fenced->fencer);
    end(fenced->fencer, fenced, NNHAL_GENERAL_FAILURE, "the execution was cancelled");
    nn_fencer_unlock(fenced->fencer);
    release(fenced);
}

static uint64_t add_time(uint64_t ns, uint64_t duration_ns)
{
    return duration_ns > NNHAL_NO_TIME - ns ? NNHAL_NO_TIME : ns + duration_ns;
}

/* All fences have signalled: hands fenced over to its job. Under the lock.
 * Returns: false if it ended instead, and is still the caller's. */
static bool start(struct nn_fencer *fencer, struct nn_fenced *fenced)
{
    uint64_t due_ns;

    fenced->signalled_ns = nn_sys_now_ns();
    due_ns = add_time(fenced->signalled_ns, fenced->timeout_after_fence_ns);
    if (due_ns < fenced->due_ns)
        fenced->due_ns = due_ns;
    fenced->state = NN_FENCED_RUNNING;
    fenced->job = (struct nn_job){
        .owner = fenced->session->number,
        .priority = (enum nn_jobs_priority)fenced->execution->binding.prepared->priority,
        .run = job_run,
        .cancel = job_cancel,
    };
    if ((nn_binding_may_stall(&fenced->execution->binding)
             ? nn_host_submit_slow(fenced->session->host, fenced->session->uid, &fenced->job)
             : nn_jobs_submit(fencer->jobs, &fenced->job)) == 0)
        return true;
    end(fencer, fenced, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
        "too many executions are queued: wait for some to end");
    return false;
}

/* -- waiting; under the lock --------------------------------------------------------- */

/* One fence of fenced has changed. Returns: false if fenced ended and is still
 * the caller's. */
static bool judge_wait(struct nn_fencer *fencer, struct nn_fenced *fenced,
                       struct nn_fenced_wait *wait)
{
    int r = nn_fence_check(wait->fd);

    if (r == NN_FENCE_E_ACTIVE)
        return true;
    if (r != 0) {
        end(fencer, fenced, NNHAL_GENERAL_FAILURE,
            "a fence that the execution waits for is in error: what it depends on failed");
        return false;
    }
    end_wait(fencer, wait);
    fenced->n_pending--;
    return fenced->n_pending > 0 || start(fencer, fenced);
}

/* Looks at deadline and cancellation. Returns: false if fenced ended and is
 * still the caller's; a running one stays its job's. */
static bool judge_time(struct nn_fencer *fencer, struct nn_fenced *fenced, uint64_t now_ns)
{
    bool is_waiting = fenced->state == NN_FENCED_WAITING;

    if (is_waiting && __atomic_load_n(&fenced->is_cancelled, __ATOMIC_RELAXED)) {
        end(fencer, fenced, NNHAL_GENERAL_FAILURE, "the session was closed");
    } else if (now_ns >= fenced->due_ns) {
        __atomic_store_n(&fenced->is_cancelled, 1, __ATOMIC_RELAXED);
        end(fencer, fenced, NNHAL_MISSED_DEADLINE_TRANSIENT,
            is_waiting ? "the deadline passed while the execution waited for its fences"
                       : "the deadline passed during the execution");
        if (!is_waiting)
            fire(steal_fd(&fenced->signaller), fenced->status); /* its job goes on */
    }
    return !is_waiting || fenced->state != NN_FENCED_ENDED;
}

static uint64_t earliest_due(const struct nn_fencer *fencer)
{
    uint64_t due_ns = NNHAL_NO_TIME;

    for (const struct nn_fenced *fenced = fencer->first; fenced; fenced = fenced->next)
        if (fenced->due_ns < due_ns)
            due_ns = fenced->due_ns;
    return due_ns;
}

static int timeout_ms(uint64_t due_ns)
{
    uint64_t now_ns, left_ms;

    if (due_ns == NNHAL_NO_TIME)
        return -1;
    now_ns = nn_sys_now_ns();
    if (now_ns >= due_ns)
        return 0;
    left_ms = (due_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

/* Those that ended go to the graveyard, through next: an event of the same batch
 * may still point to them. */
static void judge_events(struct nn_fencer *fencer, const struct epoll_event *events, int n_events,
                         struct nn_fenced **graveyard)
{
    uint64_t count;

    for (int i = 0; i < n_events; i++) {
        struct nn_fenced_wait *wait = events[i].data.ptr;

        if (!wait) {
            (void)!read(fencer->wake_fd, &count, sizeof(count));
        } else if (wait->fd >= 0 && !judge_wait(fencer, wait->fenced, wait)) {
            wait->fenced->next = *graveyard;
            *graveyard = wait->fenced;
        }
    }
}

static void judge_times(struct nn_fencer *fencer, struct nn_fenced **graveyard)
{
    uint64_t now_ns = nn_sys_now_ns();
    struct nn_fenced *fenced = fencer->first;

    while (fenced) {
        struct nn_fenced *next = fenced->next;

        if (!judge_time(fencer, fenced, now_ns)) {
            fenced->next = *graveyard;
            *graveyard = fenced;
        }
        fenced = next;
    }
}

static void *fencer_thread(void *ctx)
{
    struct nn_fencer *fencer = ctx;
    struct epoll_event events[MAX_EVENTS];

    nn_fencer_lock(fencer);
    while (!fencer->is_stopping) {
        int timeout = timeout_ms(earliest_due(fencer)), n_events;
        struct nn_fenced *graveyard = NULL;

        nn_fencer_unlock(fencer);
        n_events = epoll_wait(fencer->epoll_fd, events, MAX_EVENTS, timeout);
        nn_fencer_lock(fencer);
        judge_events(fencer, events, n_events, &graveyard);
        judge_times(fencer, &graveyard);
        nn_fencer_unlock(fencer);
        while (graveyard) {
            struct nn_fenced *fenced = graveyard;

            graveyard = fenced->next;
            release(fenced);
        }
        nn_fencer_lock(fencer);
    }
    nn_fencer_unlock(fencer);
    return NULL;
}

/* -- launching ------------------------------------------------------------------------- */

/* Begins to wait for what has not signalled yet. Returns: as judge_wait(). */
static bool begin_wait(struct nn_fencer *fencer, struct nn_fenced *fenced,
                       struct nn_fenced_wait *wait)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = wait};

    if (epoll_ctl(fencer->epoll_fd, EPOLL_CTL_ADD, wait->fd, &event) == 0)
        return true;
    end(fencer, fenced, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
        "the driver's process cannot wait for more fences");
    return false;
}

/* Under the lock. Returns: false if fenced ended and is still the caller's. */
static bool begin(struct nn_fencer *fencer, struct nn_fenced *fenced)
{
    link_fenced(fencer, fenced);
    fenced->due_ns = fenced->deadline_ns;
    if (__atomic_load_n(&fenced->session->is_cancelled, __ATOMIC_SEQ_CST)) {
        end(fencer, fenced, NNHAL_GENERAL_FAILURE, "the session was closed");
        return false;
    }
    fenced->n_pending = fenced->n_waits;
    for (uint32_t i = 0; i < fenced->n_waits; i++)
        if (!begin_wait(fencer, fenced, &fenced->waits[i]))
            return false;
    return fenced->n_pending > 0 || start(fencer, fenced);
}

void nn_fencer_launch(struct nn_fencer *fencer, struct nn_fenced *fenced)
{
    bool is_begun, has_deadline;

    /* Once it has begun and the lock is free it may be gone at any time. */
    nn_fencer_lock(fencer);
    has_deadline = fenced->deadline_ns != NNHAL_NO_TIME ||
                   fenced->timeout_after_fence_ns != NNHAL_NO_TIME;
    is_begun = begin(fencer, fenced);
    nn_fencer_unlock(fencer);
    if (!is_begun)
        release(fenced);
    else if (has_deadline)
        wake(fencer);
}

void nn_fencer_cancel(struct nn_session *session)
{
    struct nn_fencer *fencer;

    pthread_mutex_lock(&session->host->fencer_lock);
    fencer = session->host->fencer;
    pthread_mutex_unlock(&session->host->fencer_lock);
    if (!fencer)
        return;
    nn_fencer_lock(fencer);
    for (struct nn_fenced *fenced = fencer->first; fenced; fenced = fenced->next)
        if (fenced->session == session)
            __atomic_store_n(&fenced->is_cancelled, 1, __ATOMIC_RELAXED);
    nn_fencer_unlock(fencer);
    wake(fencer);
}

/* -- making and ending ------------------------------------------------------------------- */

static int fencer_init(struct nn_fencer *fencer, uint32_t n_cpus)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int r;

    r = nn_jobs_new("nnhal-fenced", n_cpus + 1, MAX_QUEUED, &fencer->jobs);
    if (r < 0)
        return nn_error_trace(r);
    nn_jobs_limit_owner(fencer->jobs, n_cpus); /* one session leaves a thread to the others */
    fencer->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    fencer->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fencer->epoll_fd < 0 || fencer->wake_fd < 0 ||
        epoll_ctl(fencer->epoll_fd, EPOLL_CTL_ADD, fencer->wake_fd, &event) < 0)
        return nn_error_origin(-errno);
    return nn_error_trace(nn_thread_start("nnhal-fencer", fencer_thread, fencer, &fencer->thread));
}

static void fencer_done(struct nn_fencer *fencer)
{
    nn_jobs_free(fencer->jobs);
    closep(&fencer->epoll_fd);
    closep(&fencer->wake_fd);
    pthread_mutex_destroy(&fencer->lock);
    free(fencer);
}

static int fencer_new(uint32_t n_cpus, struct nn_fencer **ret_fencer)
{
    struct nn_fencer *fencer = calloc(1, sizeof(*fencer));
    int r;

    if (!fencer)
        return nn_error_origin(-ENOMEM);
    fencer->epoll_fd = fencer->wake_fd = -1;
    pthread_mutex_init(&fencer->lock, NULL);
    r = fencer_init(fencer, n_cpus);
    if (r < 0) {
        fencer_done(fencer);
        return nn_error_trace(r);
    }
    *ret_fencer = fencer;
    return 0;
}

int nn_fencer_get(struct nn_host *host, struct nn_fencer **ret_fencer)
{
    int r = 0;

    pthread_mutex_lock(&host->fencer_lock);
    if (!host->fencer)
        r = fencer_new(host->services.n_cpus, &host->fencer);
    *ret_fencer = host->fencer;
    pthread_mutex_unlock(&host->fencer_lock);
    return nn_error_trace(r);
}

struct nn_fencer *nn_fencer_free(struct nn_fencer *fencer)
{
    if (!fencer)
        return NULL;
    nn_fencer_lock(fencer);
    fencer->is_stopping = true;
    nn_fencer_unlock(fencer);
    wake(fencer);
    pthread_join(fencer->thread, NULL);
    fencer_done(fencer);
    return NULL;
}
