/* SPDX-License-Identifier: Apache-2.0 */
/* implicit-burst.h - a burst for applications that do not use bursts
 *
 * An application that calls compute() on one reusable execution again and again
 * means what a burst means. After 8 such calls within 1 s, if half of them took
 * 2 ms at most, the prepared model gets a channel, which compute() then uses. A
 * second thread that computes meanwhile does not wait for it: it makes an
 * ordinary call. The channel is ended after 1 s without use, by a thread that
 * runs while there are such channels, and when the calls become slow.
 * NNHAL_BURST=off: there are none.
 *
 * Only for devices in other processes: within one process a call is shorter
 * than a queue. Threads: any; a struct nn_rt_pace belongs to its execution. */
#ifndef NN_RUNTIME_EXECUTION_IMPLICIT_BURST_H
#define NN_RUNTIME_EXECUTION_IMPLICIT_BURST_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct nn_rt_channel;
struct nn_rt_channel_params;

#define NN_RT_IMPLICIT_BURST_CALLS     8
#define NN_RT_IMPLICIT_BURST_WITHIN_NS UINT64_C(1000000000)
#define NN_RT_IMPLICIT_BURST_SLOW_NS   UINT64_C(2000000)
#define NN_RT_IMPLICIT_BURST_IDLE_NS   UINT64_C(1000000000)

/* The last calls of an execution. */
struct nn_rt_pace {
    uint64_t n_calls;
    uint64_t began_ns[NN_RT_IMPLICIT_BURST_CALLS];
    uint64_t took_ns[NN_RT_IMPLICIT_BURST_CALLS];
};

/* Part of a prepared model. */
struct nn_rt_implicit_burst {
    pthread_mutex_t lock;
    struct nn_rt_channel *channel; /* NULL: there is none now */
    bool is_busy;                  /* opening, or a thread computes */
    bool is_refused;               /* the device has none for this model */
    uint64_t used_ns;              /* when the last call on it began */
    bool is_watched;               /* in the list of what may be idle, under the list's lock */
    struct nn_rt_implicit_burst *next;
};

void nn_rt_implicit_burst_init(struct nn_rt_implicit_burst *implicit);

/* nn_rt_implicit_burst_done() - ends the channel, which calls the device; no thread computes.
 * In a forked child it stays. */
void nn_rt_implicit_burst_done(struct nn_rt_implicit_burst *implicit, bool is_foreign);

/* nn_rt_implicit_burst_take() - the channel for one computation on a connection, whose pace has begun;
 * may open it, which blocks for a call. Returns: NULL if there is none, or another thread has it. */
struct nn_rt_channel *nn_rt_implicit_burst_take(struct nn_rt_implicit_burst *implicit,
                                                const struct nn_rt_pace *pace,
                                                const struct nn_rt_channel_params *params);

/* nn_rt_implicit_burst_give() - the computation for which it was taken has ended. */
void nn_rt_implicit_burst_give(struct nn_rt_implicit_burst *implicit,
                               const struct nn_rt_pace *pace);

/* nn_rt_pace_begin() - before each attempt that could use a channel; the last one counts.
 * nn_rt_pace_end() - once, after a call that has begun. */
void nn_rt_pace_begin(struct nn_rt_pace *pace);
void nn_rt_pace_end(struct nn_rt_pace *pace);

#endif
