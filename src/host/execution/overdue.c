/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/overdue.h"

#include "base/log.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/variable.h"
#include "base/wait-limit.h"

#include <nnhal/types.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_MS UINT64_C(3600000)

/* Waking so late means that the process did not run, its driver neither. */
#define LATE_NS UINT64_C(500000000)

enum { EXIT_OVERDUE = 3 };

static bool is_enabled;
static uint64_t patience_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static pthread_cond_t changed;
static struct nn_overdue_call *calls;
static bool has_thread;
static uint64_t wakes_ns = NN_WAIT_UNLIMITED; /* the deadline that the thread sleeps for */

static uint64_t read_patience(void)
{
    const char *text = nn_variable_get(NN_VARIABLE_OVERDUE_MS);
    unsigned long long ms;
    char *end;

    if (!text || *text < '0' || *text > '9')
        return NN_OVERDUE_MS;
    ms = strtoull(text, &end, 10);
    return *end == '\0' && ms <= MAX_MS ? ms : NN_OVERDUE_MS;
}

void nn_overdue_enable(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
    patience_ns = read_patience() * 1000000;
    is_enabled = true;
}

/* Waits until end_ns or a change; under the lock. Returns: until when the driver has time, because
 * the process was stopped meanwhile; 0 if it was not. */
static uint64_t overdue_sleep(uint64_t end_ns)
{
    struct timespec end = nn_wait_limit_timespec(end_ns);
    uint64_t now_ns;

    pthread_cond_timedwait(&changed, &lock, &end);
    now_ns = nn_sys_now_ns();
    return now_ns > end_ns && now_ns - end_ns > LATE_NS ? now_ns + patience_ns : 0;
}

/* When the first call becomes overdue; under the lock. */
static uint64_t overdue_find_first(const struct nn_overdue_call **ret_call)
{
    uint64_t first_ns = NN_WAIT_UNLIMITED;

    for (const struct nn_overdue_call *call = calls; call; call = call->next)
        if (call->deadline_ns < NN_WAIT_UNLIMITED - patience_ns &&
            call->deadline_ns + patience_ns < first_ns) {
            first_ns = call->deadline_ns + patience_ns;
            *ret_call = call;
        }
    return first_ns;
}

/* Not exit(): that would wait for the driver. */
static void end_process(const struct nn_overdue_call *call)
{
    nn_log("host", NN_LOG_ERROR,
           "the driver has not returned from %s() %llu ms after its deadline, or the end of its "
           "client: this process ends",
           call->what, (unsigned long long)(patience_ns / 1000000));
    _exit(EXIT_OVERDUE);
}

static void *overdue_watch(void *argument)
{
    uint64_t grace_ns = 0;

    (void)argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        const struct nn_overdue_call *call = NULL;
        uint64_t first_ns = overdue_find_first(&call), late_ns;

        if (first_ns < grace_ns)
            first_ns = grace_ns;
        if (call && nn_sys_now_ns() >= first_ns)
            end_process(call);
        wakes_ns = call ? call->deadline_ns : NN_WAIT_UNLIMITED;
        late_ns = overdue_sleep(first_ns);
        if (late_ns)
            grace_ns = late_ns;
    }
    return NULL;
}

/* Under the lock. Without a thread nothing is watched, and the next call tries again. */
static void provide_thread(void)
{
    pthread_t thread;

    if (has_thread || nn_thread_start("nnhal-overdue", overdue_watch, NULL, &thread) != 0)
        return;
    pthread_detach(thread);
    has_thread = true;
}

/* A call has a deadline now, or an earlier one; under the lock. */
static void note_deadline(uint64_t deadline_ns)
{
    provide_thread();
    if (deadline_ns >= wakes_ns)
        return;
    wakes_ns = deadline_ns;
    pthread_cond_signal(&changed);
}

/* No call has time beyond the end of its session; under the lock. */
static void call_cancel(struct nn_overdue_call *call)
{
    uint64_t now_ns = nn_sys_now_ns();

    if (call->deadline_ns > now_ns)
        call->deadline_ns = now_ns;
    note_deadline(call->deadline_ns);
}

void nn_overdue_begin(struct nn_overdue_call *call, const char *what, const uint32_t *is_cancelled,
                      uint64_t deadline_ns)
{
    *call = (struct nn_overdue_call){
        .what = what, .is_cancelled = is_cancelled, .deadline_ns = deadline_ns};
    if (!is_enabled)
        return;
    pthread_mutex_lock(&lock);
    call->next = calls;
    if (calls)
        calls->previous = call;
    calls = call;
    if (__atomic_load_n(is_cancelled, __ATOMIC_SEQ_CST))
        call_cancel(call);
    else if (deadline_ns != NNHAL_NO_TIME)
        note_deadline(deadline_ns);
    pthread_mutex_unlock(&lock);
}

void nn_overdue_cancel(const uint32_t *is_cancelled)
{
    if (!is_enabled)
        return;
    pthread_mutex_lock(&lock);
    for (struct nn_overdue_call *call = calls; call; call = call->next)
        if (call->is_cancelled == is_cancelled)
            call_cancel(call);
    pthread_mutex_unlock(&lock);
}

void nn_overdue_end(struct nn_overdue_call *call)
{
    if (!is_enabled)
        return;
    pthread_mutex_lock(&lock);
    if (call->next)
        call->next->previous = call->previous;
    if (call->previous)
        call->previous->next = call->next;
    else
        calls = call->next;
    pthread_mutex_unlock(&lock);
}
