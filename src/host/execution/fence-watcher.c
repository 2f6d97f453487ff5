/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/fence-watcher.h"

#include "base/error.h"
#include "base/fence.h"
#include "base/sys.h"
#include "base/thread.h"
#include "host/execution/stalling.h"

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

struct nn_fence_watcher {
    pthread_mutex_t lock;
    pthread_t thread;
    int epoll_fd;
    int wake_fd;
    bool is_stopping;
    struct nn_jobs *jobs;
    struct nn_fenced *first; /* in progress */
};

void nn_fence_watcher_lock(struct nn_fence_watcher *watcher)
{
    pthread_mutex_lock(&watcher->lock);
}

void nn_fence_watcher_unlock(struct nn_fence_watcher *watcher)
{
    pthread_mutex_unlock(&watcher->lock);
}

/* -- the list of what is in progress; under the lock --------------------------- */

static void link_fenced(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    fenced->previous = NULL;
    fenced->next = watcher->first;
    if (fenced->next)
        fenced->next->previous = fenced;
    watcher->first = fenced;
}

static void unlink_fenced(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    if (fenced->previous)
        fenced->previous->next = fenced->next;
    else
        watcher->first = fenced->next;
    if (fenced->next)
        fenced->next->previous = fenced->previous;
    fenced->next = fenced->previous = NULL;
}

/* -- ending; under the lock ------------------------------------------------------ */

static void end_wait(const struct nn_fence_watcher *watcher, struct nn_fenced_wait *wait)
{
    if (wait->fd < 0)
        return;
    if (!wait->fenced->cancel) /* what a device waits for is not in the epoll */
        epoll_ctl(watcher->epoll_fd, EPOLL_CTL_DEL, wait->fd, NULL);
    close(steal_fd(&wait->fd));
}

/* No longer in progress: its fences are waited for no more. */
static void fenced_leave(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    for (uint32_t i = 0; i < fenced->n_waits; i++)
        end_wait(watcher, &fenced->waits[i]);
    unlink_fenced(watcher, fenced);
    nn_quota_release(&fenced->fences_charge);
}

/* Once ended it stays as it is. The fence tells of it later, in fence_fire(). What a device has
 * stays in progress until the device is done: it may be waiting for the fences. */
static void fenced_end(struct nn_fence_watcher *watcher, struct nn_fenced *fenced, uint32_t status,
                       const char *text)
{
    if (fenced->state == NN_FENCED_ENDED)
        return;
    fenced->state = NN_FENCED_ENDED;
    fenced->status = status;
    snprintf(fenced->text, sizeof(fenced->text), "%s", text ? text : "");
    if (!fenced->cancel)
        fenced_leave(watcher, fenced);
}

/* Signals the execution's own fence. */
static void fence_fire(int signaller, uint32_t status)
{
    if (signaller < 0)
        return;
    if (status == NNHAL_NONE)
        nn_fence_signal(signaller);
    else
        close(signaller);
}

/* Gives back what an ended execution holds, and fires if that has not happened. In this
 * order, so that a waiter that sees the fence can rely on the rest: the status is
 * there, and what was charged is free again. Not under the lock: it may release
 * objects of the driver, and end the session. */
static void fenced_release(struct nn_fenced *fenced)
{
    struct nn_host_session *session = fenced->session;
    int signaller = steal_fd(&fenced->signaller);
    uint32_t status = fenced->status;

    nn_object_unref(&fenced->object);
    fence_fire(signaller, status);
    nn_host_session_leave(session);
}

/* -- running ----------------------------------------------------------------------- */

static void job_run(struct nn_job *job)
{
    struct nn_fenced *fenced = NN_CONTAINER_OF(job, struct nn_fenced, job);
    struct nn_fence_watcher *watcher = fenced->watcher;
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
    nn_call_work(&call, fenced->execution->binding.prepared->priority, how.deadline_ns,
                 how.is_cancelled);
    status = nn_binding_run(&call, &fenced->execution->binding, &how, &result);
    nn_call_rest(&call);
    now_ns = nn_sys_now_ns();
    if (status == NNHAL_MISSED_DEADLINE_PERSISTENT && now_ns >= fenced->due_ns)
        status = NNHAL_MISSED_DEADLINE_TRANSIENT; /* it waited for a thread */
    nn_fence_watcher_lock(watcher);
    if (fenced->measure && status == NNHAL_NONE && fenced->state != NN_FENCED_ENDED) {
        fenced->timing_launched = (struct nnhal_timing){result.timing.time_on_device_ns,
                                                        now_ns - fenced->launched_ns};
        fenced->timing_fenced = (struct nnhal_timing){result.timing.time_on_device_ns,
                                                      now_ns - fenced->signalled_ns};
    }
    fenced_end(watcher, fenced, status, call.message);
    nn_fence_watcher_unlock(watcher);
    nn_arena_done(&arena);
    fenced_release(fenced);
}

static void job_cancel(struct nn_job *job)
{
    struct nn_fenced *fenced = NN_CONTAINER_OF(job, struct nn_fenced, job);

    nn_fence_watcher_lock(fenced->watcher);
    fenced_end(fenced->watcher, fenced, NNHAL_GENERAL_FAILURE, "the execution was cancelled");
    nn_fence_watcher_unlock(fenced->watcher);
    fenced_release(fenced);
}

static uint64_t add_time(uint64_t ns, uint64_t duration_ns)
{
    return duration_ns > NNHAL_NO_TIME - ns ? NNHAL_NO_TIME : ns + duration_ns;
}

/* All fences have signalled: hands fenced over to its job. Under the lock.
 * Returns: false if it ended instead, and is still the caller's. */
static bool watcher_start(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    uint64_t due_ns;

    fenced->signalled_ns = nn_sys_now_ns();
    due_ns = add_time(fenced->signalled_ns, fenced->timeout_after_fence_ns);
    if (due_ns < fenced->due_ns)
        fenced->due_ns = due_ns;
    fenced->state = NN_FENCED_RUNNING;
    fenced->job = (struct nn_job){
        .user = fenced->session->uid,
        .owner = fenced->session->number,
        .priority = (enum nn_jobs_priority)fenced->execution->binding.prepared->priority,
        .run = job_run,
        .cancel = job_cancel,
    };
    if ((nn_binding_may_stall(&fenced->execution->binding)
             ? nn_host_submit_stalling(fenced->session->host, fenced->session->uid, &fenced->job)
             : nn_jobs_submit(watcher->jobs, &fenced->job)) == 0)
        return true;
    fenced_end(watcher, fenced, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
               "too many executions are queued: wait for some to end");
    return false;
}

/* -- waiting; under the lock --------------------------------------------------------- */

/* One fence of fenced has changed. Returns: false if fenced ended and is still
 * the caller's. */
static bool check_wait(struct nn_fence_watcher *watcher, struct nn_fenced *fenced,
                       struct nn_fenced_wait *wait)
{
    int r = nn_fence_check(wait->fd);

    if (r == NN_FENCE_E_ACTIVE)
        return true;
    if (r != 0) {
        fenced_end(watcher, fenced, NNHAL_GENERAL_FAILURE,
                   "a fence that the execution waits for is in error: what it depends on failed");
        return false;
    }
    end_wait(watcher, wait);
    fenced->n_pending--;
    return fenced->n_pending > 0 || watcher_start(watcher, fenced);
}

/* Looks at deadline and cancellation. Returns: false if fenced ended and is
 * still the caller's; a running one stays its job's. */
static bool check_time(struct nn_fence_watcher *watcher, struct nn_fenced *fenced, uint64_t now_ns)
{
    bool is_waiting = fenced->state == NN_FENCED_WAITING;

    if (fenced->state == NN_FENCED_ENDED)
        return true; /* a device still has it */
    if ((is_waiting || fenced->cancel) &&
        __atomic_load_n(&fenced->is_cancelled, __ATOMIC_RELAXED)) {
        fenced_end(watcher, fenced, NNHAL_GENERAL_FAILURE, "the session was closed");
    } else if (now_ns >= fenced->due_ns) {
        __atomic_store_n(&fenced->is_cancelled, 1, __ATOMIC_RELAXED);
        fenced_end(watcher, fenced, NNHAL_MISSED_DEADLINE_TRANSIENT,
                   is_waiting ? "the deadline passed while the execution waited for its fences"
                              : "the deadline passed during the execution");
    }
    if (!is_waiting && fenced->state == NN_FENCED_ENDED)
        fence_fire(steal_fd(&fenced->signaller), fenced->status); /* its run goes on */
    return !is_waiting || fenced->state != NN_FENCED_ENDED;
}

static uint64_t earliest_due(const struct nn_fence_watcher *watcher)
{
    uint64_t due_ns = NNHAL_NO_TIME;

    for (const struct nn_fenced *fenced = watcher->first; fenced; fenced = fenced->next)
        if (fenced->state != NN_FENCED_ENDED && fenced->due_ns < due_ns)
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
static void check_events(struct nn_fence_watcher *watcher, const struct epoll_event *events,
                         int n_events, struct nn_fenced **graveyard)
{
    for (int i = 0; i < n_events; i++) {
        struct nn_fenced_wait *wait = events[i].data.ptr;

        if (!wait) {
            nn_sys_wake_drain(watcher->wake_fd);
        } else if (wait->fd >= 0 && !check_wait(watcher, wait->fenced, wait)) {
            wait->fenced->next = *graveyard;
            *graveyard = wait->fenced;
        }
    }
}

static void check_times(struct nn_fence_watcher *watcher, struct nn_fenced **graveyard)
{
    uint64_t now_ns = nn_sys_now_ns();
    struct nn_fenced *fenced = watcher->first;

    while (fenced) {
        struct nn_fenced *next = fenced->next;

        if (!check_time(watcher, fenced, now_ns)) {
            fenced->next = *graveyard;
            *graveyard = fenced;
        }
        fenced = next;
    }
}

/* -- telling drivers ------------------------------------------------------------------- */

/* Under the lock: one that a device has and was cancelled, with a reference and a use. */
static struct nn_fenced *find_untold(const struct nn_fence_watcher *watcher)
{
    struct nn_fenced *fenced = watcher->first;

    while (fenced && (!fenced->cancel || fenced->is_told ||
                      !__atomic_load_n(&fenced->is_cancelled, __ATOMIC_RELAXED)))
        fenced = fenced->next;
    if (!fenced)
        return NULL;
    fenced->is_told = true;
    nn_fenced_hold(fenced);
    return fenced;
}

/* Without the lock: drivers answer by ending executions. */
static void tell_drivers(struct nn_fence_watcher *watcher)
{
    for (;;) {
        struct nn_host_session *session;
        struct nn_fenced *fenced;

        nn_fence_watcher_lock(watcher);
        fenced = find_untold(watcher);
        nn_fence_watcher_unlock(watcher);
        if (!fenced)
            return;
        session = fenced->session;
        fenced->cancel(fenced);
        nn_fenced_unref(fenced);
        nn_host_session_leave(session);
    }
}

static void *watcher_thread(void *ctx)
{
    struct nn_fence_watcher *watcher = ctx;
    struct epoll_event events[MAX_EVENTS];

    nn_fence_watcher_lock(watcher);
    while (!watcher->is_stopping) {
        int timeout = timeout_ms(earliest_due(watcher)), n_events;
        struct nn_fenced *graveyard = NULL;

        nn_fence_watcher_unlock(watcher);
        n_events = epoll_wait(watcher->epoll_fd, events, MAX_EVENTS, timeout);
        nn_fence_watcher_lock(watcher);
        check_events(watcher, events, n_events, &graveyard);
        check_times(watcher, &graveyard);
        nn_fence_watcher_unlock(watcher);
        while (graveyard) {
            struct nn_fenced *fenced = graveyard;

            graveyard = fenced->next;
            fenced_release(fenced);
        }
        tell_drivers(watcher);
        nn_fence_watcher_lock(watcher);
    }
    nn_fence_watcher_unlock(watcher);
    return NULL;
}

/* -- launching ------------------------------------------------------------------------- */

/* Begins to wait for what has not signalled yet. Returns: as check_wait(). */
static bool begin_wait(struct nn_fence_watcher *watcher, struct nn_fenced *fenced,
                       struct nn_fenced_wait *wait)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = wait};

    if (epoll_ctl(watcher->epoll_fd, EPOLL_CTL_ADD, wait->fd, &event) == 0)
        return true;
    fenced_end(watcher, fenced, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
               "the driver's process cannot wait for more fences");
    return false;
}

/* Under the lock. Returns: false if fenced ended and is still the caller's. */
static bool fenced_begin(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    link_fenced(watcher, fenced);
    fenced->due_ns = fenced->deadline_ns;
    if (__atomic_load_n(&fenced->session->is_cancelled, __ATOMIC_SEQ_CST)) {
        fenced_end(watcher, fenced, NNHAL_GENERAL_FAILURE, "the session was closed");
        return false;
    }
    fenced->n_pending = fenced->n_waits;
    for (uint32_t i = 0; i < fenced->n_waits; i++)
        if (!begin_wait(watcher, fenced, &fenced->waits[i]))
            return false;
    return fenced->n_pending > 0 || watcher_start(watcher, fenced);
}

void nn_fence_watcher_launch(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    bool is_begun, has_deadline;

    /* Once it has begun and the lock is free it may be gone at any time. */
    nn_fence_watcher_lock(watcher);
    has_deadline = fenced->deadline_ns != NNHAL_NO_TIME ||
                   fenced->timeout_after_fence_ns != NNHAL_NO_TIME;
    is_begun = fenced_begin(watcher, fenced);
    nn_fence_watcher_unlock(watcher);
    if (!is_begun)
        fenced_release(fenced);
    else if (has_deadline)
        nn_sys_wake(watcher->wake_fd);
}

/* -- what a device has ----------------------------------------------------------------- */

bool nn_fence_watcher_admit(struct nn_fence_watcher *watcher, struct nn_fenced *fenced)
{
    bool is_cancelled, has_deadline;

    nn_fence_watcher_lock(watcher);
    link_fenced(watcher, fenced);
    fenced->state = NN_FENCED_RUNNING;
    is_cancelled = __atomic_load_n(&fenced->session->is_cancelled, __ATOMIC_SEQ_CST);
    has_deadline = fenced->due_ns != NNHAL_NO_TIME;
    nn_fence_watcher_unlock(watcher);
    if (has_deadline)
        nn_sys_wake(watcher->wake_fd);
    return !is_cancelled;
}

void nn_fence_watcher_finish(struct nn_fenced *fenced, const struct nn_fenced_end *end)
{
    struct nn_fence_watcher *watcher = fenced->watcher;
    uint64_t now_ns = nn_sys_now_ns();

    nn_fence_watcher_lock(watcher);
    if (fenced->measure && end->status == NNHAL_NONE && fenced->state != NN_FENCED_ENDED) {
        fenced->timing_fenced = end->timing;
        fenced->timing_launched = (struct nnhal_timing){end->timing.time_on_device_ns,
                                                        now_ns - fenced->launched_ns};
    }
    fenced_end(watcher, fenced, end->status, end->text);
    fenced_leave(watcher, fenced);
    nn_fence_watcher_unlock(watcher);
    fenced_release(fenced);
}

void nn_fence_watcher_cancel(struct nn_host_session *session)
{
    struct nn_fence_watcher *watcher;

    pthread_mutex_lock(&session->host->fence_watcher_lock);
    watcher = session->host->watcher;
    pthread_mutex_unlock(&session->host->fence_watcher_lock);
    if (!watcher)
        return;
    nn_fence_watcher_lock(watcher);
    for (struct nn_fenced *fenced = watcher->first; fenced; fenced = fenced->next)
        if (fenced->session == session)
            __atomic_store_n(&fenced->is_cancelled, 1, __ATOMIC_RELAXED);
    nn_fence_watcher_unlock(watcher);
    nn_sys_wake(watcher->wake_fd);
}

/* -- making and ending ------------------------------------------------------------------- */

static int watcher_init(struct nn_fence_watcher *watcher, uint32_t n_cpus)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    int r;

    r = nn_jobs_new("nnhal-fenced", n_cpus + 2, MAX_QUEUED, &watcher->jobs);
    if (r < 0)
        return nn_error_trace(r);
    /* One session leaves a thread to its user's others, one user a thread to the others. */
    nn_jobs_limit(watcher->jobs, n_cpus + 1, n_cpus);
    watcher->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watcher->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->epoll_fd < 0 || watcher->wake_fd < 0 ||
        epoll_ctl(watcher->epoll_fd, EPOLL_CTL_ADD, watcher->wake_fd, &event) < 0)
        return nn_error_origin(-errno);
    return nn_error_trace(
        nn_thread_start("nnhal-watcher", watcher_thread, watcher, &watcher->thread));
}

static void watcher_done(struct nn_fence_watcher *watcher)
{
    nn_jobs_free(watcher->jobs);
    closep(&watcher->epoll_fd);
    closep(&watcher->wake_fd);
    pthread_mutex_destroy(&watcher->lock);
    free(watcher);
}

static int watcher_new(uint32_t n_cpus, struct nn_fence_watcher **ret_watcher)
{
    struct nn_fence_watcher *watcher = calloc(1, sizeof(*watcher));
    int r;

    if (!watcher)
        return nn_error_origin(-ENOMEM);
    watcher->epoll_fd = watcher->wake_fd = -1;
    pthread_mutex_init(&watcher->lock, NULL);
    r = watcher_init(watcher, n_cpus);
    if (r < 0) {
        watcher_done(watcher);
        return nn_error_trace(r);
    }
    *ret_watcher = watcher;
    return 0;
}

int nn_fence_watcher_get(struct nn_host *host, struct nn_fence_watcher **ret_watcher)
{
    int r = 0;

    pthread_mutex_lock(&host->fence_watcher_lock);
    if (!host->watcher)
        r = watcher_new(host->services.n_cpus, &host->watcher);
    *ret_watcher = host->watcher;
    pthread_mutex_unlock(&host->fence_watcher_lock);
    return nn_error_trace(r);
}

struct nn_fence_watcher *nn_fence_watcher_free(struct nn_fence_watcher *watcher)
{
    if (!watcher)
        return NULL;
    nn_fence_watcher_lock(watcher);
    watcher->is_stopping = true;
    nn_fence_watcher_unlock(watcher);
    nn_sys_wake(watcher->wake_fd);
    pthread_join(watcher->thread, NULL);
    watcher_done(watcher);
    return NULL;
}
