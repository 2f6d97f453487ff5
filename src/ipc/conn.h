/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h - a client's connection to a service
 *
 * Two sockets: calls and events. The thread that calls sends its packet and
 * reads its own reply, so that a call costs no hand-over between threads. When
 * several calls are in flight, one of the waiting threads at a time reads;
 * replies of others it hands over by serial, and when its own came it passes
 * reading on. One thread of the connection waits for events, for the end of
 * the events socket, and on a pidfd of the service (a forked child of a dead
 * service may keep its sockets open).
 *
 * A connection dies once, for any reason: the service is gone, or broke a
 * rule of the wire. Then both sockets are shut down, every call in flight and
 * every later one ends with NN_CONN_E_DEAD, and listener->died is called once.
 * No lock is held while a thread waits for the service.
 *
 * Every wait ends: with a thread's limit (base/wait-limit.h) 50 ms after it, else
 * when the service leaves three pings unanswered (ipc/watchdog.h; a service that
 * speaks minor 0 is not asked). A call that is left goes on in the service, and its reply
 * is dropped when it comes.
 *
 * After fork the connection is dead in the child, and closing it there is
 * local: it frees and closes, it sends nothing and waits for nothing. */
#ifndef NN_IPC_CONN_H
#define NN_IPC_CONN_H

#include "base/cleanup.h"
#include "ipc/hello.h"
#include "ipc/packet.h"

#include <stdbool.h>
#include <stdint.h>

struct nn_conn;

enum {
    NN_CONN_E_DEAD = 1,    /* the peer is gone for good */
    NN_CONN_E_TOO_BIG = 2, /* the message is beyond the limits; the connection lives */
    NN_CONN_E_REFUSED = 3, /* open only: no hello of ours, or not in time */
    NN_CONN_E_LATE = 4,    /* the thread's limit has passed: the call was left */
};

/* Called on the connection's own thread; may not call into the connection.
 * Members may be NULL. An event's packet is borrowed; fds that are to stay are
 * taken with steal_fd(). died comes last. */
struct nn_conn_listener {
    void *ctx;
    /* minor is what both sides speak.
     * Returns: 0, or NN_PACKET_E_VIOLATION to end the connection. */
    int (*event)(void *ctx, uint16_t minor, struct nn_packet *packet);
    void (*died)(void *ctx);
};

/* nn_conn_open() - says hello over a connected socket and waits for the answer,
 * at most timeout_ns and the thread's limit. Consumes fd. pidfd (-1: found out from
 * the socket) is a process that was made for this connection and ends with it: when it is
 * late, silent, or breaks a rule, it is killed and has gone when the call returns;
 * consumed too. listener is copied.
 * Returns: 0, NN_CONN_E_REFUSED, -errno. */
int nn_conn_open(int fd, int pidfd, const struct nn_hello *hello, uint64_t timeout_ns,
                 const struct nn_conn_listener *listener, struct nn_conn **ret_conn);

/* nn_conn_close() - ends the connection. Calls in flight on other threads end
 * with DEAD and are waited for; when it returns, no callback runs or will. Not
 * from a callback. Does not call died. */
struct nn_conn *nn_conn_close(struct nn_conn *conn);

/* nn_conn_hello() - what both sides speak (the lower of each), and the service's
 * build id and pid. */
const struct nn_hello *nn_conn_hello(const struct nn_conn *conn);

bool nn_conn_is_dead(const struct nn_conn *conn);

/* nn_conn_is_silent() - whether it died because pings were not answered. */
bool nn_conn_is_silent(const struct nn_conn *conn);

/* nn_conn_watch() - for a thread that waits for the service elsewhere, in shared memory: to
 * be called once a period of the watchdog. Does not block.
 * Returns: 0 (wait on), NN_CONN_E_DEAD. */
int nn_conn_watch(struct nn_conn *conn);

/* nn_conn_leave_late() - such a wait was left because its limit passed: as for a call,
 * a process of the connection's own is killed. */
void nn_conn_leave_late(struct nn_conn *conn);

/* nn_conn_kill() - what a proxy does when a reply cannot be decoded: the
 * connection dies, as by a rule broken in packet.h. Any thread. */
void nn_conn_kill(struct nn_conn *conn);

/* nn_conn_call() - sends a call and waits for its reply. Any thread, many at a
 * time; beyond hello's max_calls they wait for each other. On 0 ret_reply owns
 * the reply (nn_packet_done()); header.status is what the service said.
 * Returns: 0, NN_CONN_E_DEAD, NN_CONN_E_LATE, NN_CONN_E_TOO_BIG, -ENOMEM, -EMFILE,
 * -EBADF (of the last four nothing was sent, and the connection lives). */
int nn_conn_call(struct nn_conn *conn, uint32_t method, const struct nn_packet_out *out,
                 struct nn_packet *ret_reply);

NN_DEFINE_CLEANUP(struct nn_conn, nn_conn_close)

#endif
