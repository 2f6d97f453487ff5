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

#define DEFAULT_MS UINT64_C(10000)
#define MAX_MS     UINT64_C(3600000)

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
        return DEFAULT_MS;
    ms = strtoull(text, &end, 10);
    return *end == '\0' && ms <= MAX_MS ? ms : DEFAULT_MS;
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
           "the driver has not returned from %s() %llu ms after its deadline: this process ends",
           call->what, (unsigned long long)(patience_ns / 1000000));
    _exit(EXIT_OVERDUE);
}

static void *overdue_watch(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        const struct nn_overdue_call *call = NULL;
        uint64_t first_ns = overdue_find_first(&call);
        struct timespec end = nn_wait_limit_timespec(first_ns);

        if (call && nn_sys_now_ns() >= first_ns)
            end_process(call);
        wakes_ns = call ? call->deadline_ns : NN_WAIT_UNLIMITED;
        pthread_cond_timedwait(&changed, &lock, &end);
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

void nn_overdue_begin(struct nn_overdue_call *call, const char *what, uint64_t deadline_ns)
{
    *call = (struct nn_overdue_call){.what = what, .deadline_ns = deadline_ns};
    if (!is_enabled || deadline_ns == NNHAL_NO_TIME)
        return;
    pthread_mutex_lock(&lock);
    provide_thread();
    call->next = calls;
    if (calls)
        calls->previous = call;
    calls = call;
    if (deadline_ns < wakes_ns) {
        wakes_ns = deadline_ns;
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&lock);
}

void nn_overdue_end(struct nn_overdue_call *call)
{
    if (!is_enabled || call->deadline_ns == NNHAL_NO_TIME)
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
