/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/event.h"

#include "base/error.h"
#include "base/fence.h"
#include "base/wait-limit.h"
#include "runtime/execution/computation.h"
#include "runtime/execution/deadline.h"
#include "runtime/execution/outcome.h"
#include "runtime/partition/fence-line.h"
#include "runtime/registry.h"

#include <fcntl.h>
#include <stddef.h>

enum { EVENT_E_LIMIT = 100 }; /* the limit of a wait has passed; ResultCodes are below */

/* Forward: events refer to events. */
static ANeuralNetworksEvent *event_unref(ANeuralNetworksEvent *event);

static ANeuralNetworksEvent *event_of(struct nn_rt_link *link)
{
    return NN_CONTAINER_OF(link, ANeuralNetworksEvent, link);
}

static void unref_links(struct nn_rt_links *links)
{
    for (uint32_t i = 0; i < links->n; i++)
        event_unref(event_of(links->links[i]));
    free(links->links);
    *links = (struct nn_rt_links){0};
}

static ANeuralNetworksEvent *event_unref(ANeuralNetworksEvent *event)
{
    if (!event || !nn_rt_object_unref(&event->object))
        return NULL;
    nn_rt_fence_line_free(event->line);
    closep(&event->link.fence_fd);
    nn_rt_session_unref(event->link.session);
    nn_rt_execution_unref(event->execution);
    unref_links(&event->link.before);
    pthread_cond_destroy(&event->changed);
    pthread_mutex_destroy(&event->lock);
    nn_rt_object_done(&event->object);
    free(event);
    return NULL;
}

NN_DEFINE_CLEANUP(ANeuralNetworksEvent, event_unref)

static int event_new(ANeuralNetworksEvent **ret_event)
{
    ANeuralNetworksEvent *event = calloc(1, sizeof(*event));

    if (!event)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&event->object);
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    event->link.fence_fd = -1;
    *ret_event = event;
    return 0;
}

/* -- fences --------------------------------------------------------------------- */

int nn_rt_event_from_fence(int fd, struct nn_why *why, ANeuralNetworksEvent **ret_event)
{
    _cleanup_(event_unrefp) ANeuralNetworksEvent *event = NULL;
    int r;

    r = event_new(&event);
    if (r)
        return r;
    event->link.fence_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (event->link.fence_fd < 0)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "file descriptor %d cannot be duplicated: %m",
                       fd);
    *ret_event = steal_ptr(&event);
    return 0;
}

int nn_rt_event_get_fence(const ANeuralNetworksEvent *event, struct nn_why *why, int *ret_fd)
{
    int fd;

    if (event->link.fence_fd < 0)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the event has no fence");
    fd = fcntl(event->link.fence_fd, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return nn_error_origin(-errno);
    *ret_fd = fd;
    return 0;
}

static int wait_for_fence(int fd, uint64_t limit_ns, struct nn_why *why)
{
    int r = nn_fence_wait(fd, limit_ns);

    if (r == 0 || r == NN_FENCE_E_ACTIVE)
        return r == 0 ? 0 : EVENT_E_LIMIT;
    return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "the fence tells of a failure");
}

/* -- computations ------------------------------------------------------------------ */

/* Forward: a computation waits for others. */
static int wait_for_dependency(ANeuralNetworksEvent *event, uint64_t limit_ns, struct nn_why *why);

static int wait_for_dependencies(ANeuralNetworksEvent *event, struct nn_why *why)
{
    for (uint32_t i = 0; i < event->link.before.n; i++) {
        int r = wait_for_dependency(event_of(event->link.before.links[i]), event->link.deadline_ns,
                                    why);

        if (r == EVENT_E_LIMIT)
            return nn_fail(why, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
                           "the deadline passed before dependency %u had ended", i);
        if (r)
            return nn_fail(why, ANEURALNETWORKS_OP_FAILED, "dependency %u ended with %s", i,
                           nn_result_name(r));
    }
    return 0;
}

static void tell_end(ANeuralNetworksEvent *event, int r)
{
    pthread_mutex_lock(&event->lock);
    event->is_done = true;
    event->result = nn_result_from_error(r);
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

/* The job holds no reference: nn_rt_event_free() waits until this has unlocked, so that no
 * computation outlives its event. The last references of what was before it may go here, which may
 * ask a process that is stopped by now: the end is told first. */
static void event_finish(ANeuralNetworksEvent *event, int r, const struct nn_why *why)
{
    struct nn_rt_links before = event->link.before;

    if (r && why->text[0])
        nn_rt_object_set_message(&event->execution->object, why->text);
    nn_rt_execution_end(event->execution, r);
    event->link.before = (struct nn_rt_links){0};
    tell_end(event, r);
    unref_links(&before);
}

static void event_compute(struct nn_job *job)
{
    ANeuralNetworksEvent *event = NN_CONTAINER_OF(job, ANeuralNetworksEvent, job);
    struct nn_why why = {0};
    uint64_t deadline_ns;
    int r;

    r = wait_for_dependencies(event, &why);
    if (!r) {
        deadline_ns = nn_deadline_after(event->duration_ns);
        if (event->link.deadline_ns < deadline_ns)
            deadline_ns = event->link.deadline_ns;
        r = nn_rt_execution_compute_begun(event->execution, deadline_ns, &why);
    }
    event_finish(event, r, &why);
}

static void event_cancel(struct nn_job *job)
{
    ANeuralNetworksEvent *event = NN_CONTAINER_OF(job, ANeuralNetworksEvent, job);
    struct nn_why why = {0};

    event_finish(event, nn_fail(&why, ANEURALNETWORKS_OP_FAILED, "cancelled"), &why);
}

static int ref_dependencies(ANeuralNetworksEvent *event,
                            const struct nn_rt_event_dependencies *dependencies)
{
    struct nn_rt_links *before = &event->link.before;

    if (!dependencies || !dependencies->n_events)
        return 0;
    before->links = calloc(dependencies->n_events, sizeof(struct nn_rt_link *));
    if (!before->links)
        return nn_error_origin(-ENOMEM);
    for (; before->n < dependencies->n_events; before->n++) {
        ANeuralNetworksEvent *dependency = (ANeuralNetworksEvent *)dependencies->events[before->n];

        nn_rt_object_ref(&dependency->object);
        before->links[before->n] = &dependency->link;
    }
    return 0;
}

/* If no thread can be started, the caller computes: the event has ended when it returns. */
static void event_submit(ANeuralNetworksEvent *event)
{
    struct nn_jobs *jobs = nn_rt_registry_get()->jobs;

    event->job = (struct nn_job){
        .priority = NN_JOBS_MEDIUM, .run = event_compute, .cancel = event_cancel};
    if (!jobs || nn_jobs_submit(jobs, &event->job))
        event_compute(&event->job);
}

/* The fences of all dependencies; false if one has none, or there are too many. */
static bool get_fences(const struct nn_rt_event_dependencies *dependencies,
                       int32_t ret_fences[NNHAL_MAX_FENCES])
{
    if (dependencies->n_events > NNHAL_MAX_FENCES)
        return false;
    for (uint32_t i = 0; i < dependencies->n_events; i++) {
        ret_fences[i] = dependencies->events[i]->link.fence_fd;
        if (ret_fences[i] < 0)
            return false;
    }
    return true;
}

/* On 0 the event has a callback or a line, and a fence. Returns: as nn_rt_fenced_launch(). */
static int event_launch_fenced(ANeuralNetworksEvent *event,
                               const struct nn_rt_event_dependencies *dependencies,
                               struct nn_why *why)
{
    int32_t fences[NNHAL_MAX_FENCES];
    const struct nn_rt_fenced_request request = {dependencies->n_events, fences,
                                                 event->link.deadline_ns, event->duration_ns};
    struct nn_rt_fenced fenced;
    int r;

    if (!get_fences(dependencies, fences))
        return NN_RT_FENCED_E_UNSUITED;
    if (nn_rt_compilation_is_split(event->execution->compilation))
        return nn_rt_fence_line_launch(event->execution, &request, &event->link, why, &event->line);
    r = nn_rt_fenced_launch(event->execution, &request, why, &fenced);
    if (!r) {
        event->link.session = nn_rt_session_ref(event->execution->binding.prepared->session);
        event->callback = fenced.callback;
        event->link.fence_fd = fenced.fence_fd;
    }
    return r;
}

/* By the device if it can, else by a job. */
static int event_launch(ANeuralNetworksEvent *event,
                        const struct nn_rt_event_dependencies *dependencies, struct nn_why *why)
{
    int r = NN_RT_FENCED_E_UNSUITED;

    if (dependencies)
        r = event_launch_fenced(event, dependencies, why);
    if (r == NN_RT_FENCED_E_UNSUITED) {
        event_submit(event);
        return 0;
    }
    if (r)
        nn_rt_execution_end(event->execution, r);
    return r;
}

int nn_rt_event_start(ANeuralNetworksExecution *execution,
                      const struct nn_rt_event_dependencies *dependencies, struct nn_why *why,
                      ANeuralNetworksEvent **ret_event)
{
    _cleanup_(event_unrefp) ANeuralNetworksEvent *event = NULL;
    int r;

    r = event_new(&event);
    if (!r)
        r = ref_dependencies(event, dependencies);
    if (!r)
        r = nn_rt_execution_begin(execution,
                                  dependencies ? ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS
                                               : ANNDIAG_EXECUTION_MODE_ASYNC,
                                  why);
    if (r)
        return r;
    event->execution = nn_rt_execution_ref(execution);
    /* The execution's timeout begins now; the duration begins when the dependencies have ended. */
    event->link.deadline_ns = nn_deadline_after(execution->timeout_ns);
    event->duration_ns = dependencies ? dependencies->duration_ns : 0;
    if (dependencies)
        r = nn_rt_execution_check_fenced(execution, event->duration_ns, why);
    if (r) {
        nn_rt_execution_end(execution, r);
        return r;
    }
    r = event_launch(event, dependencies, why);
    if (r)
        return r;
    *ret_event = steal_ptr(&event);
    return 0;
}

/* -- waiting --------------------------------------------------------------------------- */

static bool is_launched(const ANeuralNetworksEvent *event)
{
    return event->callback || event->line;
}

static bool is_fenced(const ANeuralNetworksEvent *event)
{
    return is_launched(event) && event->link.fence_fd >= 0;
}

static bool is_ended(ANeuralNetworksEvent *event)
{
    bool is_done;

    pthread_mutex_lock(&event->lock);
    is_done = event->is_done;
    pthread_mutex_unlock(&event->lock);
    return is_done;
}

/* Returns: whether the caller is the one who collects, for all. */
static bool begin_collecting(ANeuralNetworksEvent *event)
{
    bool is_first;

    pthread_mutex_lock(&event->lock);
    is_first = !event->is_collecting;
    event->is_collecting = true;
    pthread_mutex_unlock(&event->lock);
    return is_first;
}

/* Outside of the lock: it asks the process of the computation, which may be stopped by now. So may be
 * those of what was before it, whose last references may go here: the end is told first. */
static void collect_fenced(ANeuralNetworksEvent *event, enum nn_rt_fenced_end end)
{
    const struct nn_rt_fenced fenced = {event->callback, event->link.fence_fd};
    struct nn_rt_links before;
    struct nn_why why = {0};
    int r;

    if (!begin_collecting(event))
        return;
    r = event->line
            ? nn_rt_fence_line_collect(event->line, &why)
            : nn_rt_fenced_collect(event->execution, &fenced, end, event->link.deadline_ns, &why);
    if (r && why.text[0])
        nn_rt_object_set_message(&event->execution->object, why.text);
    /* What it depends on has failed, and counts for its own device: this one had nothing to compute. */
    if (r && nn_rt_links_look(&event->link.before) == NN_RT_FENCED_FAILED)
        event->execution->device = NULL;
    nn_rt_execution_end(event->execution, r);
    before = nn_rt_chain_detach(&event->link,
                                end != NN_RT_FENCED_WELL && end != NN_RT_FENCED_FAILED);
    tell_end(event, r);
    unref_links(&before);
}

/* What a thread of ours computes, or another one collects. Returns: the ResultCode; EVENT_E_LIMIT. */
static int await_end(ANeuralNetworksEvent *event, uint64_t limit_ns)
{
    const struct timespec limit = nn_wait_limit_timespec(limit_ns);
    int result = EVENT_E_LIMIT, r = 0;

    pthread_mutex_lock(&event->lock);
    while (!event->is_done && r == 0)
        r = pthread_cond_clockwait(&event->changed, &event->lock, CLOCK_MONOTONIC, &limit);
    if (event->is_done)
        result = event->result;
    pthread_mutex_unlock(&event->lock);
    return result;
}

/* limit_ns: until when; NNHAL_NO_TIME: until the end. Returns: as nn_rt_event_wait(); EVENT_E_LIMIT. */
static int wait_for_computation(ANeuralNetworksEvent *event, uint64_t limit_ns, struct nn_why *why)
{
    enum nn_rt_fenced_end end = NN_RT_FENCED_WELL;
    int result;

    /* The fence of one that was given up may stay active: once it has ended it is not asked. */
    if (is_launched(event) && !is_ended(event)) {
        if (is_fenced(event))
            end = nn_rt_chain_wait(&event->link, limit_ns);
        if (end == NN_RT_FENCED_LIMIT)
            return EVENT_E_LIMIT;
        collect_fenced(event, end);
    }
    result = await_end(event, limit_ns);
    if (result && result != EVENT_E_LIMIT)
        nn_rt_object_get_message(&event->execution->object, why->text, sizeof(why->text));
    return result;
}

static int event_wait(ANeuralNetworksEvent *event, uint64_t limit_ns, struct nn_why *why)
{
    if (!event->execution)
        return wait_for_fence(event->link.fence_fd, limit_ns, why);
    if (nn_rt_object_is_foreign(&event->object))
        return nn_fail_forked(why, "the computation");
    return wait_for_computation(event, limit_ns, why);
}

/* What depends on it needs no more than the fence tells; the process would answer by another
 * deadline, if any. Returns: as wait_for_computation(). */
static int wait_for_own_fence(ANeuralNetworksEvent *event, uint64_t limit_ns)
{
    static const int results[] = {
        [NN_RT_FENCED_WELL] = 0,
        [NN_RT_FENCED_FAILED] = ANEURALNETWORKS_OP_FAILED,
        [NN_RT_FENCED_DEAD] = ANEURALNETWORKS_DEAD_OBJECT,
        [NN_RT_FENCED_LATE] = ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
        [NN_RT_FENCED_LEFT] = ANEURALNETWORKS_OP_FAILED,
        [NN_RT_FENCED_LIMIT] = EVENT_E_LIMIT,
    };

    return results[nn_rt_chain_wait(&event->link, limit_ns)];
}

static int wait_for_dependency(ANeuralNetworksEvent *event, uint64_t limit_ns, struct nn_why *why)
{
    bool is_foreign = nn_rt_object_is_foreign(&event->object);

    if (event->execution && !is_foreign && is_fenced(event) && !is_ended(event))
        return wait_for_own_fence(event, limit_ns);
    return event_wait(event, limit_ns, why);
}

int nn_rt_event_wait(ANeuralNetworksEvent *event, struct nn_why *why)
{
    return event_wait(event, NNHAL_NO_TIME, why);
}

ANeuralNetworksEvent *nn_rt_event_free(ANeuralNetworksEvent *event)
{
    struct nn_why why = {0};

    if (!event)
        return NULL;
    if (event->execution)
        nn_rt_event_wait(event, &why);
    return event_unref(event);
}
