/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/codec.h"
#include "hal/dial.h"

#include "base/error.h"
#include "base/log.h"
#include "hal/proxy.h"
#include "ipc/child.h"
#include "ipc/conn.h"
#include "ipc/discovery.h"
#include "ipc/sock.h"

#include <string.h>

#define SOCKET_TIMEOUT_NS UINT64_C(4000000000) /* as long as a watchdog waits */
#define CHILD_TIMEOUT_NS  UINT64_C(60000000000)

/* A channel over a connection. */
struct wire {
    struct nn_hal_channel channel;
    struct nn_conn *conn;
    struct nn_hal_listener listener;
    bool was_named; /* why it was left is in the log; atomic */
};

static struct wire *wire_of(struct nn_hal_channel *channel)
{
    return NN_CONTAINER_OF(channel, struct wire, channel);
}

/* Moves what the packet owns to reply, which is empty. */
static void packet_to_reply(struct nn_packet *packet, struct nn_codec_buffer *reply)
{
    reply->bytes = steal_ptr(&packet->body);
    reply->n_bytes = reply->capacity = (size_t)packet->header.n_body_bytes;
    reply->n_fds = packet->header.n_fds;
    memcpy(reply->fds, packet->fds, sizeof(int) * packet->header.n_fds);
    packet->header.n_fds = 0;
}

/* Logged by the thread that waited longest. */
static int explain_death(struct wire *wire)
{
    if (!nn_conn_is_silent(wire->conn))
        return -ECONNRESET;
    if (!__atomic_exchange_n(&wire->was_named, true, __ATOMIC_RELAXED))
        nn_log("hal", NN_LOG_WARNING, "left the service in process %d: it does not answer",
               nn_conn_hello(wire->conn)->pid);
    return -EHOSTDOWN;
}

static int wire_watch(struct nn_hal_channel *channel)
{
    struct wire *wire = wire_of(channel);

    return nn_conn_watch(wire->conn) ? nn_error_origin(explain_death(wire)) : 0;
}

static void wire_leave_late(struct nn_hal_channel *channel)
{
    nn_conn_leave_late(wire_of(channel)->conn);
}

static int wire_call(struct nn_hal_channel *channel, const struct nn_codec_message *request,
                     uint32_t *ret_status, struct nn_codec_buffer *reply)
{
    struct nn_packet_out out = {
        .body = request->bytes,
        .n_body_bytes = request->n_bytes,
        .fds = request->fds,
        .n_fds = request->n_fds,
    };
    struct nn_packet packet;
    int r = nn_conn_call(wire_of(channel)->conn, request->number, &out, &packet);

    switch (r) {
    case 0:
        *ret_status = packet.header.status;
        packet_to_reply(&packet, reply);
        nn_packet_done(&packet);
        return 0;
    case NN_CONN_E_TOO_BIG:
        return nn_error_origin(-EMSGSIZE);
    case NN_CONN_E_LATE:
        return nn_error_origin(-ETIMEDOUT);
    case NN_CONN_E_DEAD:
        return nn_error_origin(explain_death(wire_of(channel)));
    default:
        return nn_error_trace(r);
    }
}

static void wire_fail(struct nn_hal_channel *channel, const char *why)
{
    struct wire *wire = wire_of(channel);

    /* One line for a service that is left: calls in flight on other threads may find the
     * same. */
    if (!nn_conn_is_dead(wire->conn))
        nn_log("hal", NN_LOG_WARNING, "left the service in process %d: %s",
               nn_conn_hello(wire->conn)->pid, why);
    nn_conn_kill(wire->conn);
}

static void wire_close(struct nn_hal_channel *channel)
{
    struct wire *wire = wire_of(channel);

    nn_conn_close(wire->conn);
    free(wire);
}

static const struct nn_hal_channel_ops wire_ops = {
    .call = wire_call,
    .fail = wire_fail,
    .watch = wire_watch,
    .leave_late = wire_leave_late,
    .close = wire_close,
};

/* -- events, on the connection's thread ----------------------------------------------- */

static int on_event(void *ctx, uint16_t minor, struct nn_packet *packet)
{
    struct wire *wire = ctx;
    const struct nn_codec_message message = {
        .number = packet->header.method,
        .bytes = packet->body,
        .n_bytes = (size_t)packet->header.n_body_bytes,
        .fds = packet->fds,
        .n_fds = packet->header.n_fds,
    };
    int r = nn_hal_proxy_event(&wire->listener, minor, &message);

    if (r == 0)
        return 0;
    nn_log("hal", NN_LOG_WARNING, "left a service: an event is not of its form");
    return NN_PACKET_E_VIOLATION;
}

static void on_died(void *ctx)
{
    struct wire *wire = ctx;

    if (wire->listener.died)
        wire->listener.died(wire->listener.ctx);
}

/* -- the three ways --------------------------------------------------------------------- */

int nn_dial_fd(int fd, int pidfd, uint64_t timeout_ns, const struct nn_hal_listener *listener,
               struct nn_hal **ret_hal)
{
    struct wire *wire = calloc(1, sizeof(*wire));
    struct nn_conn_listener events = {.ctx = wire, .event = on_event, .died = on_died};
    struct nn_hello hello;
    int r;

    if (!wire) {
        closep(&fd);
        closep(&pidfd);
        return nn_error_origin(-ENOMEM);
    }
    if (listener)
        wire->listener = *listener;
    nn_hello_init(&hello, NNHAL_FEATURE_LEVEL_8);
    r = nn_conn_open(fd, pidfd, &hello, timeout_ns, &events, &wire->conn);
    if (r != 0) {
        free(wire);
        return r == NN_CONN_E_REFUSED ? NN_DIAL_E_REFUSED : nn_error_trace(nn_error_fold(r));
    }
    /* Events may arrive before this: they need the listener alone, which was set above. */
    wire->channel = (struct nn_hal_channel){
        .ops = &wire_ops,
        .minor = nn_conn_hello(wire->conn)->minor,
    };
    return nn_error_trace(nn_hal_proxy_new(&wire->channel, ret_hal));
}

int nn_dial_socket(const char *path, const struct nn_hal_listener *listener,
                   struct nn_hal **ret_hal)
{
    int fd = -1, r = nn_sock_connect(path, &fd);

    switch (r) {
    case 0:
        return nn_dial_fd(fd, -1, SOCKET_TIMEOUT_NS, listener, ret_hal);
    case NN_SOCK_E_ABSENT:
    case NN_SOCK_E_BAD_PATH:
        return NN_DIAL_E_ABSENT;
    case NN_SOCK_E_UNTRUSTED:
        return NN_DIAL_E_UNTRUSTED;
    default:
        return nn_error_trace(nn_error_fold(r));
    }
}

int nn_dial_child(const char *name, const struct nn_hal_listener *listener, struct nn_hal **ret_hal)
{
    _cleanup_(freep) char *program = NULL;
    int fd = -1, pidfd = -1, r = nn_discovery_host_path(&program);

    if (r == 0)
        r = nn_child_spawn(program, name, &fd, &pidfd);
    if (r == -ENOENT)
        return NN_DIAL_E_ABSENT;
    if (r < 0)
        return nn_error_trace(r);
    return nn_dial_fd(fd, pidfd, CHILD_TIMEOUT_NS, listener, ret_hal);
}
