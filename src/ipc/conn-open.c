/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/conn-state.h"

#include "base/error.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/wait-limit.h"
#include "ipc/child.h"
#include "ipc/sock.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* -- events: the connection's own thread ------------------------------------------------ */

static void note_pong(struct nn_conn *conn)
{
    pthread_mutex_lock(&conn->lock);
    nn_watchdog_note_answer(&conn->watchdog);
    pthread_mutex_unlock(&conn->lock);
}

/* Returns: 0 (go on), NN_PACKET_E_CLOSED or NN_PACKET_E_VIOLATION. */
static int read_events(struct nn_conn *conn)
{
    struct nn_packet packet;
    int r;

    for (;;) {
        r = nn_packet_recv(conn->events_fd, (size_t)conn->hello.max_body_bytes, true, &packet);
        if (r == NN_PACKET_E_AGAIN)
            return 0;
        /* Any failure, also a lack of memory: the event is lost, and no later packet
         * repeats it. */
        if (r != 0)
            return NN_PACKET_E_CLOSED;
        if (packet.header.type == NN_PACKET_PONG)
            note_pong(conn);
        else if (packet.header.type != NN_PACKET_EVENT)
            r = NN_PACKET_E_VIOLATION;
        else if (conn->listener.event)
            r = conn->listener.event(conn->listener.ctx, conn->hello.minor, &packet);
        nn_packet_done(&packet);
        if (r != 0)
            return NN_PACKET_E_VIOLATION;
    }
}

static void *events_main(void *argument)
{
    struct nn_conn *conn = argument;
    struct pollfd fds[] = {
        {.fd = conn->events_fd, .events = POLLIN},
        {.fd = conn->fd}, /* for its end alone: replies are the callers' */
        {.fd = conn->pidfd, .events = POLLIN},
        {.fd = conn->wake_fd, .events = POLLIN},
    };

    for (;;) {
        if (poll(fds, NN_N_ELEMENTS(fds), -1) < 0 && errno != EINTR)
            break;
        if (fds[3].revents)
            return NULL;
        if ((fds[0].revents && read_events(conn) != 0) || fds[1].revents || fds[2].revents)
            break;
    }
    nn_conn_kill(conn);
    if (conn->listener.died && !nn_conn_is_closing(conn))
        conn->listener.died(conn->listener.ctx);
    return NULL;
}

/* -- beginning and end ------------------------------------------------------------------- */

/* Waits for the service's hello. */
static int await_hello(struct nn_conn *conn, uint64_t timeout_ns)
{
    uint64_t now = nn_sys_now_ns(), limit = nn_wait_limit_get(), end = now + timeout_ns;
    struct pollfd fds[] = {
        {.fd = conn->fd, .events = POLLIN},
        {.fd = conn->pidfd, .events = POLLIN},
    };
    struct nn_packet packet;
    struct nn_hello theirs;
    int r = 0;

    if (limit < end)
        end = limit;
    while (!fds[0].revents) {
        if (now >= end || fds[1].revents)
            return NN_CONN_E_REFUSED;
        r = poll(fds, NN_N_ELEMENTS(fds), (int)((end - now) / 1000000 + 1));
        if (r < 0 && errno != EINTR)
            return nn_error_origin(-errno);
        now = nn_sys_now_ns();
    }
    r = nn_packet_recv(conn->fd, NN_PACKET_MAX_BYTES, true, &packet);
    if (r != 0)
        return r > 0 ? NN_CONN_E_REFUSED : nn_error_trace(r);
    r = nn_hello_check(&packet, 0, &theirs);
    nn_packet_done(&packet);
    if (r != 0)
        return NN_CONN_E_REFUSED;
    nn_hello_negotiate(&conn->hello, &theirs);
    conn->hello.pid = theirs.pid;
    memcpy(conn->hello.build_id, theirs.build_id, sizeof(theirs.build_id));
    return 0;
}

static int conn_say_hello(struct nn_conn *conn, uint64_t timeout_ns)
{
    _cleanup_(closep) int theirs = -1;
    int pair[2], r;

    r = nn_sock_pair(pair);
    if (r < 0)
        return nn_error_trace(r);
    conn->events_fd = pair[0];
    theirs = pair[1];
    /* Our copy of the end that is sent is closed when this returns: the service has the
     * only one, so that its death is the end of events_fd. */
    r = nn_hello_send(conn->fd, &conn->hello, theirs);
    if (r != 0)
        return r > 0 ? NN_CONN_E_REFUSED : nn_error_trace(r);
    return await_hello(conn, timeout_ns);
}

/* Reads without an end of their own come back for the watchdog. */
static int set_timeout(const struct nn_conn *conn)
{
    const struct timeval period = {.tv_sec = NN_WATCHDOG_PERIOD_NS / 1000000000};

    if (setsockopt(conn->fd, SOL_SOCKET, SO_RCVTIMEO, &period, sizeof(period)) < 0)
        return nn_error_origin(-errno);
    return 0;
}

static struct nn_conn *conn_free(struct nn_conn *conn)
{
    while (conn->orphans) {
        struct conn_orphan *orphan = conn->orphans;

        conn->orphans = orphan->next;
        free(orphan);
    }
    closep(&conn->fd);
    closep(&conn->events_fd);
    closep(&conn->pidfd);
    closep(&conn->wake_fd);
    free(conn);
    return NULL;
}

static struct nn_conn *conn_alloc(int fd, int pidfd)
{
    struct nn_conn *conn = calloc(1, sizeof(*conn));

    if (!conn) {
        closep(&fd);
        closep(&pidfd);
        return NULL;
    }
    conn->pid = getpid();
    conn->fd = fd;
    conn->pidfd = pidfd;
    conn->owns_process = pidfd >= 0;
    conn->events_fd = conn->wake_fd = -1;
    pthread_mutex_init(&conn->lock, NULL);
    pthread_cond_init(&conn->room, NULL);
    return conn;
}

/* Both have said hello. */
static int conn_start(struct nn_conn *conn)
{
    int r = set_timeout(conn);

    if (r < 0)
        return nn_error_trace(r);
    conn->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (conn->wake_fd < 0)
        return nn_error_origin(-errno);
    r = nn_thread_start("nnhal-events", events_main, conn, &conn->thread);
    conn->has_thread = r >= 0;
    return nn_error_trace(r);
}

int nn_conn_open(int fd, int pidfd, const struct nn_hello *hello, uint64_t timeout_ns,
                 const struct nn_conn_listener *listener, struct nn_conn **ret_conn)
{
    _cleanup_(nn_conn_closep) struct nn_conn *conn = conn_alloc(fd, pidfd);
    int r;

    if (!conn)
        return nn_error_origin(-ENOMEM);
    conn->hello = *hello;
    if (listener)
        conn->listener = *listener;
    if (conn->pidfd < 0) {
        /* One that cannot be watched is seen by its sockets alone. */
        r = nn_sock_pidfd(conn->fd, &conn->pidfd);
        if (r < 0)
            return nn_error_trace(r);
    }
    r = conn_say_hello(conn, timeout_ns);
    if (r == 0)
        r = conn_start(conn);
    if (r != 0) {
        if (conn->owns_process)
            nn_child_kill(conn->pidfd);
        return r;
    }
    *ret_conn = steal_ptr(&conn);
    return 0;
}

struct nn_conn *nn_conn_close(struct nn_conn *conn)
{
    if (!conn)
        return NULL;
    if (nn_conn_is_foreign(conn))
        /* The thread does not exist in the child, and another thread of the parent may have
         * held the lock at the fork: neither is waited for. */
        return conn_free(conn); /* the sockets live on in the parent */
    pthread_mutex_lock(&conn->lock);
    conn->is_closing = true;
    nn_conn_die(conn);
    while (conn->n_users > 0)
        pthread_cond_wait(&conn->room, &conn->lock);
    pthread_mutex_unlock(&conn->lock);
    if (conn->has_thread) {
        nn_sys_wake(conn->wake_fd);
        pthread_join(conn->thread, NULL);
    }
    pthread_cond_destroy(&conn->room);
    pthread_mutex_destroy(&conn->lock);
    return conn_free(conn);
}

const struct nn_hello *nn_conn_hello(const struct nn_conn *conn)
{
    return &conn->hello;
}
