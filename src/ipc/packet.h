/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h - one packet is one message with its descriptors
 *
 * Connections are SOCK_SEQPACKET sockets. A packet is a header and, if it fits
 * in 64 KiB with it, the body; a larger body (a model) lies in a memfd sealed
 * against write, shrink and grow, which travels as the packet's first
 * descriptor (NN_PACKET_SEALED). Bodies are what the generated codec makes; to
 * this file they are bytes. Numbers have the machine's byte order: both sides
 * are on one machine.
 *
 * The header declares how many descriptors belong to the message. The kernel
 * keeps them exactly with their packet; a count that differs, a packet that
 * was cut (MSG_TRUNC, MSG_CTRUNC), a size that does not match, a sealed body
 * that is not sealed: NN_PACKET_E_VIOLATION, and the receiver drops the peer.
 * Descriptors of a packet that is refused are closed. A received body is always
 * a private copy. A packet of no bytes cannot be told from the end of the
 * connection and is taken for it. */
#ifndef NN_IPC_PACKET_H
#define NN_IPC_PACKET_H

#include "base/cleanup.h"

#include <nnhal/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NN_PACKET_MAX_BYTES      65536
#define NN_PACKET_MAX_BODY_BYTES NNHAL_MAX_MESSAGE_BYTES
#define NN_PACKET_MAX_FDS        NNHAL_MAX_FDS /* without the one that carries a body */

enum {
    NN_PACKET_E_AGAIN = 1,     /* not now: nothing there, or no room (non-blocking only) */
    NN_PACKET_E_CLOSED = 2,    /* the other side is gone */
    NN_PACKET_E_VIOLATION = 3, /* the peer broke a rule above: drop it */
    NN_PACKET_E_TOO_BIG = 4,   /* our own message is beyond the limits; nothing was sent */
};

enum nn_packet_type {
    NN_PACKET_HELLO = 1, /* each side's first, ipc/hello.h */
    NN_PACKET_CALL = 2,
    NN_PACKET_REPLY = 3, /* serial is the call's */
    NN_PACKET_EVENT = 4, /* on the events socket; no reply */
    NN_PACKET_PING = 5,  /* on the events socket, from the client, since minor 1 */
    NN_PACKET_PONG = 6,  /* the service's answer, there */
    _NN_PACKET_TYPE_N,
};

enum {
    NN_PACKET_SEALED = 1, /* the body lies in the first descriptor */
    _NN_PACKET_FLAGS = 1,
};

struct nn_packet_header {
    uint64_t serial; /* of a call, never 0, never twice; 0 otherwise */
    uint64_t n_body_bytes;
    uint32_t method; /* of a call or an event, the codec's number */
    uint32_t status; /* of a reply: enum nnhal_error_status */
    uint16_t type;   /* enum nn_packet_type */
    uint16_t flags;
    uint32_t n_fds; /* the message's, without a sealed body's */
};

/* A longer body is sealed in a memfd. */
#define NN_PACKET_MAX_INLINE_BYTES (NN_PACKET_MAX_BYTES - sizeof(struct nn_packet_header))

/* A received message. Owns its body and the fds that are not -1: a caller that
 * takes one leaves -1 (steal_fd). */
struct nn_packet {
    struct nn_packet_header header;
    uint8_t *body; /* aligned to 16; NULL if there is none, or it is not read yet */
    int fds[NN_PACKET_MAX_FDS];
    bool has_unread; /* the body is still in body_fd */
    int body_fd;
};

/* A message to send. Borrowed for the call. */
struct nn_packet_out {
    const void *body;
    size_t n_body_bytes;
    const int *fds;
    size_t n_fds;
};

/* nn_packet_done() - frees the body and closes the fds. Any number of times. */
void nn_packet_done(struct nn_packet *packet);

/* nn_packet_send() - sends one message. header's n_body_bytes, n_fds and flags
 * are set here. Blocks unless is_nonblocking. Any thread: packets do not mix.
 * Returns: 0, AGAIN, CLOSED, TOO_BIG, -ENOMEM, -EMFILE, other -errno. */
int nn_packet_send(int fd, struct nn_packet_header header, const struct nn_packet_out *out,
                   bool is_nonblocking);

/* nn_packet_recv_unread() - receives one message into packet, which needs no init
 * and owns something only if 0 is returned, and the fds that came with it if it is
 * VIOLATION: closing them may block on another process. A sealed body is left for
 * nn_packet_read_body(): it may be large, and a thread that receives for many does
 * not copy it. Blocks unless is_nonblocking. max_body_bytes bounds what a
 * sealed body may cost.
 * Returns: 0, AGAIN, CLOSED, VIOLATION, -ENOMEM, other -errno. */
int nn_packet_recv_unread(int fd, size_t max_body_bytes, bool is_nonblocking,
                          struct nn_packet *packet);

/* nn_packet_read_body() - copies the body that is still unread; without one it
 * does nothing. On failure the packet is still to be freed.
 * Returns: 0, VIOLATION (it is not sealed, or not of the size it should have), -ENOMEM. */
int nn_packet_read_body(struct nn_packet *packet);

/* nn_packet_recv() - both at once. */
int nn_packet_recv(int fd, size_t max_body_bytes, bool is_nonblocking, struct nn_packet *packet);

#endif
