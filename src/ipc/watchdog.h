/* SPDX-License-Identifier: Apache-2.0 */
/* watchdog.h - whether a service that says nothing is still there
 *
 * While a client waits it asks the service once a second, on the events
 * socket, where the service's loop answers regardless of what its workers do. Three
 * questions without an answer mean that it is stopped, or stuck: 4 s after the
 * wait began it is given up. While no thread waits, nothing is asked.
 *
 *     wait .... 1 s ping .... 2 s ping .... 3 s ping .... 4 s given up
 *                    '---------- pong: from the beginning
 *
 * Pure data with the caller's times (CLOCK_MONOTONIC) and the caller's lock. */
#ifndef NN_IPC_WATCHDOG_H
#define NN_IPC_WATCHDOG_H

#include <stdint.h>

#define NN_WATCHDOG_PERIOD_NS UINT64_C(1000000000)
#define NN_WATCHDOG_MAX_PINGS 3

enum nn_watchdog_verdict {
    NN_WATCHDOG_WAIT,
    NN_WATCHDOG_PING,    /* send one now; it is counted */
    NN_WATCHDOG_GIVE_UP, /* three were not answered */
};

struct nn_watchdog {
    uint32_t n_unanswered;
    uint64_t next_ns; /* no ping before */
};

/* nn_watchdog_look() - for a thread that has waited for a period in vain. */
enum nn_watchdog_verdict nn_watchdog_look(struct nn_watchdog *watchdog, uint64_t now_ns);

/* nn_watchdog_note_answer() - a pong, or anything else, has come. */
void nn_watchdog_note_answer(struct nn_watchdog *watchdog);

#endif
