/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/conn.h"

#include "base/error.h"
#include "base/sys.h"
#include "base/thread.h"
#include "ipc/sock.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* A call in flight, on its caller's stack. */
struct conn_call {
    struct conn_call *next;
    uint64_t serial;
    struct nn_packet *reply;
    bool is_done;
    pthread_cond_t changed; /* done, dead, or it is this thread's turn to read */
};

struct nn_conn {
    pid_t pid; /* of the process that may use it */
    int fd, events_fd, pidfd, wake_fd;
    struct nn_hello hello;
    struct nn_conn_listener listener;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock;
    pthread_cond_t room;     /* a call ended */
    struct conn_call *calls; /* in flight */
    size_t n_calls;
    size_t n_users; /* threads in nn_conn_call(), also those that wait for room */
    uint64_t last_serial;
    bool is_reading; /* one of the callers is in recvmsg */
    bool is_dead;
    bool is_closing;
};

/* -- death ----------------------------------------------------------------------- */

/* Under the lock. Wakes all waiters; the reading thread is woken by the shutdown. */
static void conn_die(struct nn_conn *conn)
{
    if (conn->is_dead)
        return;
    __atomic_store_n(&conn->is_dead, true, __ATOMIC_RELEASE);
    shutdown(conn->fd, SHUT_RDWR);
    shutdown(conn->events_fd, SHUT_RDWR);
    for (struct conn_call *call = conn->calls; call; call = call->next)
        pthread_cond_signal(&call->changed);
    pthread_cond_broadcast(&conn->room);
}

static bool is_foreign(const struct nn_conn *conn)
{
    return conn->pid != getpid();
}

bool nn_conn_is_dead(const struct nn_conn *conn)
{
    return is_foreign(conn) || __atomic_load_n(&conn->is_dead, __ATOMIC_ACQUIRE);
}

void nn_conn_kill(struct nn_conn *conn)
{
    if (is_foreign(conn))
        return;
    pthread_mutex_lock(&conn->lock);
    conn_die(conn);
    pthread_mutex_unlock(&conn->lock);
}

/* -- calls -------------------------------------------------------------------------- */

/* Waits for room and enters the call; under the lock. */
static int call_enter(struct nn_conn *conn, struct conn_call *call)
{
    while (!conn->is_dead && conn->n_calls >= conn->hello.max_calls)
        pthread_cond_wait(&conn->room, &conn->lock);
    if (conn->is_dead)
        return NN_CONN_E_DEAD;
    call->serial = ++conn->last_serial;
    call->next = conn->calls;
    conn->calls = call;
    conn->n_calls++;
    return 0;
}

/* Takes the call out and lets another thread read, if none does; under the lock. */
static void call_leave(struct nn_conn *conn, struct conn_call *call)
{
    struct conn_call **link = &conn->calls;

    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    conn->n_calls--;
    pthread_cond_signal(&conn->room);
    for (struct conn_call *other = conn->calls; other && !conn->is_reading; other = other->next) {
        if (!other->is_done) {
            pthread_cond_signal(&other->changed);
            break;
        }
    }
}

/* Gives a received reply to its caller; under the lock.
 * Returns: 0, NN_PACKET_E_VIOLATION (no call waits for it). */
static int conn_deliver_reply(struct nn_conn *conn, struct nn_packet *packet)
{
    if (packet->header.type == NN_PACKET_REPLY) {
        for (struct conn_call *call = conn->calls; call; call = call->next) {
            if (call->serial != packet->header.serial || call->is_done)
                continue;
            *call->reply = *packet;
            call->is_done = true;
            pthread_cond_signal(&call->changed);
            return 0;
        }
    }
    nn_packet_done(packet);
    return NN_PACKET_E_VIOLATION;
}

/* Reads one packet as the only reader; gives the lock up meanwhile. */
static void conn_read_packet(struct nn_conn *conn)
{
    struct nn_packet packet;
    int r;

    conn->is_reading = true;
    pthread_mutex_unlock(&conn->lock);
    r = nn_packet_recv(conn->fd, (size_t)conn->hello.max_body_bytes, false, &packet);
    pthread_mutex_lock(&conn->lock);
    conn->is_reading = false;
    if (r == 0)
        r = conn_deliver_reply(conn, &packet);
    /* What cannot be received is lost, so that its call would never end. */
    if (r != 0)
        conn_die(conn);
}

/* Under the lock, except while reading or waiting. */
static int wait_for_reply(struct nn_conn *conn, struct conn_call *call)
{
    while (!call->is_done && !conn->is_dead) {
        if (conn->is_reading)
            pthread_cond_wait(&call->changed, &conn->lock);
        else
            conn_read_packet(conn);
    }
    return call->is_done ? 0 : NN_CONN_E_DEAD;
}

static int send_call(struct nn_conn *conn, const struct conn_call *call, uint32_t method,
                     const struct nn_packet_out *out)
{
    struct nn_packet_header header = {
        .serial = call->serial,
        .method = method,
        .type = NN_PACKET_CALL,
    };

    if (out->n_body_bytes > conn->hello.max_body_bytes)
        return NN_CONN_E_TOO_BIG;
    switch (nn_packet_send(conn->fd, header, out, false)) {
    case 0:
        return 0;
    case NN_PACKET_E_TOO_BIG:
        return NN_CONN_E_TOO_BIG;
    case -ENOMEM:
    case -ENOBUFS:
        return nn_error_trace(-ENOMEM);
    case -EMFILE:
    case -ENFILE:
    case -ETOOMANYREFS:
        return nn_error_trace(-EMFILE);
    case -EBADF:
        return nn_error_trace(-EBADF);
    default:
        return NN_CONN_E_DEAD; /* a socket that cannot send is of no use */
    }
}

int nn_conn_call(struct nn_conn *conn, uint32_t method, const struct nn_packet_out *out,
                 struct nn_packet *ret_reply)
{
    struct conn_call call = {.reply = ret_reply};
    int r;

    if (is_foreign(conn))
        return NN_CONN_E_DEAD;
    pthread_cond_init(&call.changed, NULL);
    pthread_mutex_lock(&conn->lock);
    conn->n_users++;
    r = call_enter(conn, &call);
    if (r == 0) {
        pthread_mutex_unlock(&conn->lock);
        r = send_call(conn, &call, method, out);
        pthread_mutex_lock(&conn->lock);
        if (r == 0)
            r = wait_for_reply(conn, &call);
        else if (r == NN_CONN_E_DEAD)
            conn_die(conn);
        call_leave(conn, &call);
    }
    conn->n_users--;
    if (conn->is_closing)
        pthread_cond_broadcast(&conn->room);
    pthread_mutex_unlock(&conn->lock);
    pthread_cond_destroy(&call.changed);
    return r;
}

/* -- events: the connection's own thread ------------------------------------------------ */

/* Returns: 0 (go on), NN_PACKET_E_CLOSED or NN_PACKET_E_VIOLATION. */
static int read_events(struct nn_conn *conn)
{
    struct nn_packet packet;
    int r;

    for (;;) {
        r = nn_packet_recv(conn->events_fd, (size_t)conn->hello.max_body_bytes, true, &packet);
        if (r == NN_PACKET_E_AGAIN)
            return 0;
        if (r != 0)
            return NN_PACKET_E_CLOSED;
        if (packet.header.type != NN_PACKET_EVENT)
            r = NN_PACKET_E_VIOLATION;
        else if (conn->listener.event)
            r = conn->listener.event(conn->listener.ctx, conn->hello.minor, &packet);
        nn_packet_done(&packet);
        if (r != 0)
            return NN_PACKET_E_VIOLATION;
    }
}

static bool is_closing(struct nn_conn *conn)
{
    bool closing;

    pthread_mutex_lock(&conn->lock);
    closing = conn->is_closing;
    pthread_mutex_unlock(&conn->lock);
    return closing;
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
    if (conn->listener.died && !is_closing(conn))
        conn->listener.died(conn->listener.ctx);
    return NULL;
}

/* -- beginning and end ------------------------------------------------------------------- */

/* Waits for the service's hello. */
static int await_hello(struct nn_conn *conn, uint64_t timeout_ns)
{
    uint64_t now = nn_sys_now_ns(), end = now + timeout_ns;
    struct pollfd fds[] = {
        {.fd = conn->fd, .events = POLLIN},
        {.fd = conn->pidfd, .events = POLLIN},
    };
    struct nn_packet packet;
    struct nn_hello theirs;
    int r = 0;

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
    r = nn_hello_send(conn->fd, &conn->hello, theirs);
    if (r != 0)
        return r > 0 ? NN_CONN_E_REFUSED : nn_error_trace(r);
    return await_hello(conn, timeout_ns);
}

static struct nn_conn *conn_free(struct nn_conn *conn)
{
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
    conn->events_fd = conn->wake_fd = -1;
    pthread_mutex_init(&conn->lock, NULL);
    pthread_cond_init(&conn->room, NULL);
    return conn;
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
    if (r != 0)
        return r;
    conn->wake_fd = eventfd(0, EFD_CLOEXEC);
    if (conn->wake_fd < 0)
        return nn_error_origin(-errno);
    r = nn_thread_start("nnhal-events", events_main, conn, &conn->thread);
    if (r < 0)
        return nn_error_trace(r);
    conn->has_thread = true;
    *ret_conn = steal_ptr(&conn);
    return 0;
}

struct nn_conn *nn_conn_close(struct nn_conn *conn)
{
    uint64_t one = 1;

    if (!conn)
        return NULL;
    if (is_foreign(conn))
        return conn_free(conn); /* the sockets live on in the parent */
    pthread_mutex_lock(&conn->lock);
    conn->is_closing = true;
    conn_die(conn);
    while (conn->n_users > 0)
        pthread_cond_wait(&conn->room, &conn->lock);
    pthread_mutex_unlock(&conn->lock);
    if (conn->has_thread) {
        while (write(conn->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
            ;
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
