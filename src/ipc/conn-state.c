/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/conn-state.h"

#include "base/sys.h"
#include "ipc/child.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- death ----------------------------------------------------------------------- */

void nn_conn_die(struct nn_conn *conn)
{
    if (conn->is_dead)
        return;
    __atomic_store_n(&conn->is_dead, true, __ATOMIC_RELEASE);
    /* Not closed: another thread may be in recvmsg with this number, which a new file could
     * get. */
    shutdown(conn->fd, SHUT_RDWR);
    shutdown(conn->events_fd, SHUT_RDWR);
    if (conn->owns_process && !conn->is_closing)
        nn_child_kill(conn->pidfd);
    for (struct conn_call *call = conn->calls; call; call = call->next)
        pthread_cond_signal(&call->changed);
    pthread_cond_broadcast(&conn->room);
}

bool nn_conn_is_foreign(const struct nn_conn *conn)
{
    return conn->pid != getpid();
}

bool nn_conn_is_dead(const struct nn_conn *conn)
{
    return nn_conn_is_foreign(conn) || __atomic_load_n(&conn->is_dead, __ATOMIC_ACQUIRE);
}

void nn_conn_kill(struct nn_conn *conn)
{
    if (nn_conn_is_foreign(conn))
        return;
    pthread_mutex_lock(&conn->lock);
    nn_conn_die(conn);
    pthread_mutex_unlock(&conn->lock);
}

bool nn_conn_is_silent(const struct nn_conn *conn)
{
    return __atomic_load_n(&conn->is_silent, __ATOMIC_RELAXED);
}

bool nn_conn_is_closing(struct nn_conn *conn)
{
    bool closing;

    pthread_mutex_lock(&conn->lock);
    closing = conn->is_closing;
    pthread_mutex_unlock(&conn->lock);
    return closing;
}

/* -- the watchdog ------------------------------------------------------------------- */

static bool fd_is_readable(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, 0) > 0;
}

/* One that finds no room is as good as one that is not read. */
static void send_ping(const struct nn_conn *conn)
{
    const struct nn_packet_header header = {.type = NN_PACKET_PING};
    const struct nn_packet_out nothing = {.n_fds = 0};

    nn_packet_send(conn->events_fd, header, &nothing, true);
}

void nn_conn_tick(struct nn_conn *conn)
{
    if (conn->is_dead || conn->hello.minor < NN_HELLO_MINOR_PING)
        return;
    switch (nn_watchdog_look(&conn->watchdog, nn_sys_now_ns())) {
    case NN_WATCHDOG_PING:
        send_ping(conn);
        break;
    case NN_WATCHDOG_GIVE_UP:
        /* What has come and is not read yet, as after this process was stopped, is an answer. */
        if (fd_is_readable(conn->events_fd) || fd_is_readable(conn->fd)) {
            nn_watchdog_note_answer(&conn->watchdog);
            break;
        }
        __atomic_store_n(&conn->is_silent, true, __ATOMIC_RELAXED);
        nn_conn_die(conn);
        break;
    default:
        break;
    }
}

int nn_conn_watch(struct nn_conn *conn)
{
    if (nn_conn_is_foreign(conn))
        return NN_CONN_E_DEAD;
    pthread_mutex_lock(&conn->lock);
    nn_conn_tick(conn);
    pthread_mutex_unlock(&conn->lock);
    return nn_conn_is_dead(conn) ? NN_CONN_E_DEAD : 0;
}

void nn_conn_leave_late(struct nn_conn *conn)
{
    if (nn_conn_is_foreign(conn) || !conn->owns_process)
        return;
    nn_conn_kill(conn);
    nn_child_await(conn->pidfd);
}
