/* SPDX-License-Identifier: Apache-2.0 */
/* conn-state.h - what the parts of a connection share
 *
 *     conn-open.c    its beginning and end, and the thread for events
 *     conn-calls.c   calls: sending, reading, leaving
 *     conn-state.c   its death, and the watchdog
 *
 * For these files alone; conn.h is the connection for all others. */
#ifndef NN_IPC_CONN_STATE_H
#define NN_IPC_CONN_STATE_H

#include "ipc/conn.h"
#include "ipc/watchdog.h"

#include <pthread.h>

/* A call in flight, on its caller's stack. */
struct conn_call {
    struct conn_call *next;
    uint64_t serial;
    uint64_t end_ns; /* of its waits */
    struct nn_packet *reply;
    bool is_done;
    pthread_cond_t changed; /* done, dead, or it is this thread's turn to read */
};

/* A call that was left: it still counts as in flight, until its reply has come. */
struct conn_orphan {
    struct conn_orphan *next;
    uint64_t serial;
};

struct nn_conn {
    pid_t pid; /* of the process that may use it */
    int fd, events_fd, pidfd, wake_fd;
    struct nn_hello hello;
    struct nn_conn_listener listener;
    pthread_t thread;
    bool has_thread;
    bool owns_process; /* pidfd's was made for this connection */

    pthread_mutex_t lock;
    pthread_cond_t room;     /* a call ended */
    struct conn_call *calls; /* in flight */
    struct conn_orphan *orphans;
    size_t n_calls; /* of both */
    size_t n_users; /* threads in nn_conn_call(), also those that wait for room */
    uint64_t last_serial;
    bool is_reading; /* one of the callers is in recvmsg */
    bool is_dead;
    bool is_silent;
    bool is_closing;
    struct nn_watchdog watchdog;
};

/* nn_conn_is_foreign() - whether this process is a forked child. */
bool nn_conn_is_foreign(const struct nn_conn *conn);

/* nn_conn_is_closing() - takes the lock. */
bool nn_conn_is_closing(struct nn_conn *conn);

/* nn_conn_die() - under the lock. Wakes all waiters; the reading thread is woken by the
 * shutdown. A process of the connection's own is killed, unless the connection is closed. */
void nn_conn_die(struct nn_conn *conn);

/* nn_conn_tick() - under the lock, by a thread that has waited for a period in vain: the
 * watchdog looks. */
void nn_conn_tick(struct nn_conn *conn);

#endif
