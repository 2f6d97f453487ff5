/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/execution/implicit-burst.h"

#include "base/sys.h"
#include "base/thread.h"
#include "base/variable.h"
#include "runtime/execution/channel.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* -- when a burst is worth it ---------------------------------------------------- */

static bool is_on;

static void read_environment(void)
{
    is_on = !nn_variable_is(NN_VARIABLE_BURST, "off");
}

static bool is_enabled(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_environment);
    return is_on;
}

void nn_rt_pace_begin(struct nn_rt_pace *pace)
{
    pace->began_ns[pace->n_calls % NN_RT_IMPLICIT_BURST_CALLS] = nn_sys_now_ns();
}

void nn_rt_pace_end(struct nn_rt_pace *pace)
{
    uint32_t place = pace->n_calls++ % NN_RT_IMPLICIT_BURST_CALLS;

    pace->took_ns[place] = nn_sys_now_ns() - pace->began_ns[place];
}

/* Slow calls gain nothing: a message costs microseconds, and a burst that spins costs a CPU. */
static bool is_slow(const struct nn_rt_pace *pace)
{
    uint32_t n_slow = 0;

    for (uint32_t i = 0; i < NN_RT_IMPLICIT_BURST_CALLS; i++)
        n_slow += pace->took_ns[i] > NN_RT_IMPLICIT_BURST_SLOW_NS;
    return n_slow > NN_RT_IMPLICIT_BURST_CALLS / 2;
}

/* A call has begun, and overwritten the beginning of the one before the last 7. */
static bool is_fast_sequence(const struct nn_rt_pace *pace)
{
    uint64_t now = pace->began_ns[pace->n_calls % NN_RT_IMPLICIT_BURST_CALLS];
    uint64_t first = pace->began_ns[(pace->n_calls + 1) % NN_RT_IMPLICIT_BURST_CALLS];

    return pace->n_calls >= NN_RT_IMPLICIT_BURST_CALLS &&
           now - first <= NN_RT_IMPLICIT_BURST_WITHIN_NS && !is_slow(pace);
}

/* -- idle ones are ended ------------------------------------------------------------ */

/* All of this process. The thread runs while the list is not empty. */
static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct nn_rt_implicit_burst *watched;
static bool is_watching;

/* Whether it leaves the list: it has been idle for long enough, then *ret_channel is its channel,
 * or it has none any more. Else *due_ns is lowered to when it will have been. */
static bool expire_idle(struct nn_rt_implicit_burst *implicit, uint64_t now_ns, uint64_t *due_ns,
                        struct nn_rt_channel **ret_channel)
{
    uint64_t end_ns;
    bool is_over;

    pthread_mutex_lock(&implicit->lock);
    end_ns = (implicit->is_busy ? now_ns : implicit->used_ns) + NN_RT_IMPLICIT_BURST_IDLE_NS;
    is_over = !implicit->is_busy && (!implicit->channel || end_ns <= now_ns);
    if (is_over) {
        *ret_channel = implicit->channel;
        implicit->channel = NULL;
    }
    pthread_mutex_unlock(&implicit->lock);
    if (!is_over && end_ns < *due_ns)
        *due_ns = end_ns;
    return is_over;
}

/* Takes idle ones from the list up to the first that had a channel, which is returned: ending it
 * calls the device, so only one is taken each time the lock is held. */
static struct nn_rt_channel *expire_first(uint64_t *due_ns)
{
    struct nn_rt_implicit_burst **link = &watched;
    struct nn_rt_channel *channel = NULL;
    uint64_t now_ns = nn_sys_now_ns();

    *due_ns = now_ns + NN_RT_IMPLICIT_BURST_IDLE_NS;
    while (*link && !channel) {
        struct nn_rt_implicit_burst *implicit = *link;

        if (expire_idle(implicit, now_ns, due_ns, &channel)) {
            *link = implicit->next;
            implicit->is_watched = false;
        } else {
            link = &implicit->next;
        }
    }
    return channel;
}

static void sleep_until(uint64_t due_ns)
{
    const struct timespec due = {(time_t)(due_ns / 1000000000), (long)(due_ns % 1000000000)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static void *idle_thread(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&watch_lock);
    while (watched) {
        uint64_t due_ns;
        struct nn_rt_channel *channel = expire_first(&due_ns);

        pthread_mutex_unlock(&watch_lock);
        if (channel)
            nn_rt_channel_free(channel);
        else
            sleep_until(due_ns);
        pthread_mutex_lock(&watch_lock);
    }
    is_watching = false;
    pthread_mutex_unlock(&watch_lock);
    return NULL;
}

/* If no thread can be started, the channel stays until the prepared model is freed. */
static void idle_watch(struct nn_rt_implicit_burst *implicit)
{
    pthread_t thread;

    pthread_mutex_lock(&watch_lock);
    if (!implicit->is_watched) {
        implicit->next = watched;
        watched = implicit;
        implicit->is_watched = true;
    }
    if (!is_watching && nn_thread_start("nnhal-idle", idle_thread, NULL, &thread) == 0) {
        pthread_detach(thread);
        is_watching = true;
    }
    pthread_mutex_unlock(&watch_lock);
}

static void idle_unwatch(struct nn_rt_implicit_burst *implicit)
{
    pthread_mutex_lock(&watch_lock);
    for (struct nn_rt_implicit_burst **link = &watched; *link; link = &(*link)->next)
        if (*link == implicit) {
            *link = implicit->next;
            break;
        }
    implicit->is_watched = false;
    pthread_mutex_unlock(&watch_lock);
}

/* -- taking and giving ------------------------------------------------------------- */

void nn_rt_implicit_burst_init(struct nn_rt_implicit_burst *implicit)
{
    *implicit = (struct nn_rt_implicit_burst){.channel = NULL};
    pthread_mutex_init(&implicit->lock, NULL);
}

void nn_rt_implicit_burst_done(struct nn_rt_implicit_burst *implicit, bool is_foreign)
{
    if (is_foreign)
        return;
    idle_unwatch(implicit);
    implicit->channel = nn_rt_channel_free(implicit->channel);
    pthread_mutex_destroy(&implicit->lock);
}

/* is_busy keeps other threads away while no lock is held. */
static struct nn_rt_channel *open_channel(struct nn_rt_implicit_burst *implicit,
                                          const struct nn_rt_channel_params *params)
{
    struct nn_rt_channel *channel = nn_rt_channel_open(params);

    pthread_mutex_lock(&implicit->lock);
    implicit->channel = channel;
    implicit->is_refused = !channel;
    implicit->is_busy = channel != NULL;
    pthread_mutex_unlock(&implicit->lock);
    if (channel)
        idle_watch(implicit);
    return channel;
}

struct nn_rt_channel *nn_rt_implicit_burst_take(struct nn_rt_implicit_burst *implicit,
                                                const struct nn_rt_pace *pace,
                                                const struct nn_rt_channel_params *params)
{
    struct nn_rt_channel *channel = NULL;
    bool is_wanted = false;

    if (!is_enabled())
        return NULL;
    pthread_mutex_lock(&implicit->lock);
    if (!implicit->is_busy) {
        channel = implicit->channel;
        is_wanted = !channel && !implicit->is_refused && is_fast_sequence(pace);
        implicit->is_busy = channel || is_wanted;
    }
    pthread_mutex_unlock(&implicit->lock);
    return is_wanted ? open_channel(implicit, params) : channel;
}

void nn_rt_implicit_burst_give(struct nn_rt_implicit_burst *implicit, const struct nn_rt_pace *pace)
{
    struct nn_rt_channel *slow = NULL;

    pthread_mutex_lock(&implicit->lock);
    implicit->is_busy = false;
    implicit->used_ns = pace->began_ns[pace->n_calls % NN_RT_IMPLICIT_BURST_CALLS];
    if (pace->n_calls >= NN_RT_IMPLICIT_BURST_CALLS && is_slow(pace)) {
        slow = implicit->channel;
        implicit->channel = NULL;
    }
    pthread_mutex_unlock(&implicit->lock);
    nn_rt_channel_free(slow);
}
