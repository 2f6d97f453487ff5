/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "base/sys.h"
#include "base/wait-limit.h"
#include "ipc/child.h"
#include "ipc/conn-state.h"

#include <poll.h>
#include <stdlib.h>

/* For poll(): a period of the watchdog, or less if the wait ends sooner. */
static int conn_timeout_ms(uint64_t end_ns)
{
    uint64_t now_ns = nn_sys_now_ns(), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;

    return (int)((left_ns < NN_WATCHDOG_PERIOD_NS ? left_ns : NN_WATCHDOG_PERIOD_NS) / 1000000 + 1);
}

static bool is_over(uint64_t end_ns)
{
    return end_ns != NN_WAIT_UNLIMITED && nn_sys_now_ns() >= end_ns;
}

/* -- reading ------------------------------------------------------------------------ */

/* Returns: whether the reply was an orphan's; under the lock. */
static bool orphan_drop(struct nn_conn *conn, uint64_t serial)
{
    for (struct conn_orphan **link = &conn->orphans; *link; link = &(*link)->next) {
        struct conn_orphan *orphan = *link;

        if (orphan->serial != serial)
            continue;
        *link = orphan->next;
        free(orphan);
        conn->n_calls--;
        pthread_cond_signal(&conn->room);
        return true;
    }
    return false;
}

/* Gives a received reply to its caller; under the lock.
 * Returns: 0, NN_PACKET_E_VIOLATION (no call waits for it). */
static int conn_deliver_reply(struct nn_conn *conn, struct nn_packet *packet)
{
    int r = NN_PACKET_E_VIOLATION;

    if (packet->header.type == NN_PACKET_REPLY) {
        for (struct conn_call *call = conn->calls; call; call = call->next) {
            /* A second reply to a call that is done is refused: it would overwrite, and
             * leak, the first. */
            if (call->serial != packet->header.serial || call->is_done)
                continue;
            *call->reply = *packet;
            call->is_done = true;
            pthread_cond_signal(&call->changed);
            return 0;
        }
        if (orphan_drop(conn, packet->header.serial))
            r = 0;
    }
    nn_packet_done(packet);
    return r;
}

/* Without an end the socket's own timeout is the watchdog's period: one system call. */
static int conn_receive(const struct nn_conn *conn, uint64_t end_ns, struct nn_packet *ret_packet)
{
    struct pollfd fd = {.fd = conn->fd, .events = POLLIN};
    bool is_limited = end_ns != NN_WAIT_UNLIMITED;

    if (is_limited)
        poll(&fd, 1, conn_timeout_ms(end_ns));
    return nn_packet_recv(conn->fd, (size_t)conn->hello.max_body_bytes, is_limited, ret_packet);
}

/* Reads one packet as the only reader, if one comes in time; gives the lock up meanwhile. */
static void conn_read_packet(struct nn_conn *conn, uint64_t end_ns)
{
    struct nn_packet packet;
    int r;

    /* recvmsg takes as long as the service computes: under the lock no other thread could
     * send. */
    conn->is_reading = true;
    pthread_mutex_unlock(&conn->lock);
    r = conn_receive(conn, end_ns, &packet);
    pthread_mutex_lock(&conn->lock);
    conn->is_reading = false;
    if (r == NN_PACKET_E_AGAIN) {
        nn_conn_tick(conn);
        return;
    }
    if (r == 0) {
        nn_watchdog_note_answer(&conn->watchdog);
        r = conn_deliver_reply(conn, &packet);
    }
    /* What cannot be received is lost, so that its call would never end. */
    if (r != 0)
        nn_conn_die(conn);
}

/* Until the condition is signalled, or the wait is over; under the lock. */
static void conn_sleep(struct nn_conn *conn, pthread_cond_t *condition, uint64_t end_ns)
{
    const struct timespec end = nn_wait_limit_timespec(end_ns);

    pthread_cond_clockwait(condition, &conn->lock, CLOCK_MONOTONIC, &end);
}

/* Waits for what another reader may bring, or reads; under the lock. */
static void conn_wait(struct nn_conn *conn, pthread_cond_t *condition, uint64_t end_ns)
{
    if (conn->is_reading)
        conn_sleep(conn, condition, end_ns);
    else
        conn_read_packet(conn, end_ns);
}

/* -- calls -------------------------------------------------------------------------- */

/* Waits for room and enters the call; under the lock. Replies of calls that were left make room,
 * so they have to be read here too. */
static int call_enter(struct nn_conn *conn, struct conn_call *call)
{
    /* Beyond max_calls the service does not read from the socket: a thread that sent
     * nevertheless could block in sendmsg for as long as other calls take. */
    while (!conn->is_dead && conn->n_calls >= conn->hello.max_calls) {
        if (is_over(call->end_ns))
            return NN_CONN_E_LATE;
        conn_wait(conn, &conn->room, call->end_ns);
    }
    if (conn->is_dead)
        return NN_CONN_E_DEAD;
    call->serial = ++conn->last_serial;
    call->next = conn->calls;
    conn->calls = call;
    conn->n_calls++;
    return 0;
}

/* The call was sent and is left; short of memory the connection ends, because its reply would be
 * taken for a violation. Under the lock. */
static void call_orphan(struct nn_conn *conn, const struct conn_call *call)
{
    struct conn_orphan *orphan = calloc(1, sizeof(*orphan));

    if (!orphan) {
        nn_conn_die(conn);
        return;
    }
    *orphan = (struct conn_orphan){.next = conn->orphans, .serial = call->serial};
    conn->orphans = orphan;
    conn->n_calls++;
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
    /* If this thread was the one that read, all others sleep: without a new reader no reply
     * would ever be received. */
    for (struct conn_call *other = conn->calls; other && !conn->is_reading; other = other->next) {
        if (!other->is_done) {
            pthread_cond_signal(&other->changed);
            break;
        }
    }
}

/* Under the lock, except while reading or waiting. */
static int wait_for_reply(struct nn_conn *conn, struct conn_call *call)
{
    while (!call->is_done && !conn->is_dead) {
        if (is_over(call->end_ns)) {
            call_orphan(conn, call);
            return NN_CONN_E_LATE;
        }
        conn_wait(conn, &call->changed, call->end_ns);
    }
    return call->is_done ? 0 : NN_CONN_E_DEAD;
}

/* Returns: 0 (try again), NN_CONN_E_LATE, NN_CONN_E_DEAD. */
static int await_room_to_send(struct nn_conn *conn, const struct conn_call *call)
{
    struct pollfd fd = {.fd = conn->fd, .events = POLLOUT};

    if (poll(&fd, 1, conn_timeout_ms(call->end_ns)) == 0 && nn_conn_watch(conn) != 0)
        return NN_CONN_E_DEAD;
    return is_over(call->end_ns) ? NN_CONN_E_LATE : 0;
}

static int send_packet(struct nn_conn *conn, const struct conn_call *call, uint32_t method,
                       const struct nn_packet_out *out)
{
    const struct nn_packet_header header = {
        .serial = call->serial,
        .method = method,
        .type = NN_PACKET_CALL,
    };
    int r = 0;

    while ((r = nn_packet_send(conn->fd, header, out, true)) == NN_PACKET_E_AGAIN) {
        r = await_room_to_send(conn, call);
        if (r != 0)
            return r;
    }
    switch (r) {
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

/* Under the lock, except while sending, reading or waiting. */
static int call_exchange(struct nn_conn *conn, struct conn_call *call, uint32_t method,
                         const struct nn_packet_out *out)
{
    int r = call_enter(conn, call);

    if (r != 0)
        return r;
    pthread_mutex_unlock(&conn->lock);
    r = out->n_body_bytes > conn->hello.max_body_bytes ? NN_CONN_E_TOO_BIG
                                                       : send_packet(conn, call, method, out);
    pthread_mutex_lock(&conn->lock);
    if (r == 0)
        r = wait_for_reply(conn, call);
    else if (r == NN_CONN_E_DEAD)
        nn_conn_die(conn);
    call_leave(conn, call);
    return r;
}

int nn_conn_call(struct nn_conn *conn, uint32_t method, const struct nn_packet_out *out,
                 struct nn_packet *ret_reply)
{
    struct conn_call call = {.reply = ret_reply, .end_ns = nn_wait_end(nn_wait_limit_get())};
    int r;

    if (nn_conn_is_foreign(conn))
        return NN_CONN_E_DEAD;
    pthread_cond_init(&call.changed, NULL);
    pthread_mutex_lock(&conn->lock);
    conn->n_users++;
    r = call_exchange(conn, &call, method, out);
    if (conn->owns_process && (r == NN_CONN_E_DEAD || r == NN_CONN_E_LATE)) {
        nn_conn_die(conn);
        pthread_mutex_unlock(&conn->lock);
        if (!nn_conn_is_closing(conn))
            nn_child_await(conn->pidfd);
        pthread_mutex_lock(&conn->lock);
    }
    conn->n_users--;
    if (conn->is_closing)
        pthread_cond_broadcast(&conn->room);
    pthread_mutex_unlock(&conn->lock);
    pthread_cond_destroy(&call.changed);
    return r;
}
