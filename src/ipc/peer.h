/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - a client's connection as the service holds it
 *
 * The service's loop reads (nn_peer_recv, one thread); any thread sends
 * replies and events. Sends never block: what the socket does not take is
 * queued, in order, up to NN_PEER_MAX_QUEUED bytes and packets; a client that
 * lets more pile up is dropped. What the loop is to poll for is asked with
 * nn_peer_wants_write() after each step.
 *
 * What a client has not read is this process's memory: what is queued, and bodies
 * and descriptors that lie in the socket. It is charged to an account before it is
 * taken, and given back when it was read, as far as the kernel tells, or the peer ends.
 *
 * A peer ends once (nn_peer_end, from any thread): both sockets are shut down,
 * which wakes the loop; sends after that do nothing. */
#ifndef NN_IPC_PEER_H
#define NN_IPC_PEER_H

#include "base/cleanup.h"
#include "ipc/hello.h"
#include "ipc/packet.h"

#include <stdbool.h>
#include <stdint.h>

#define NN_PEER_MAX_QUEUED_PACKETS 256
#define NN_PEER_MAX_QUEUED_BYTES   (UINT32_C(4) << 20)

struct nn_peer;

/* Who pays for what was not read. Called under the peer's lock. */
struct nn_peer_account {
    int (*charge)(void *ctx, size_t n_bytes, size_t n_fds); /* 0, -EDQUOT: nothing was charged */
    void (*uncharge)(void *ctx, size_t n_bytes, size_t n_fds);
    void *ctx;
};

enum {
    NN_PEER_E_ENDED = 1, /* the connection is over; nothing was sent */
    NN_PEER_E_FULL = 2,  /* the client does not read, or its account is empty; it has been ended */
};

/* nn_peer_new() - over a connected socket. Consumes fd. wake_fd (an eventfd,
 * borrowed) is written when another thread changes what is to be polled for.
 * Returns: 0, -errno. */
int nn_peer_new(int fd, int wake_fd, struct nn_peer **ret_peer);
struct nn_peer *nn_peer_free(struct nn_peer *peer);

/* nn_peer_charge_to() - from now on; nothing was sent but the hello. The account is used until
 * nn_peer_end(), at which all is given back. */
void nn_peer_charge_to(struct nn_peer *peer, const struct nn_peer_account *account);

/* nn_peer_settle() - gives back what was read. The loop's thread, at each step. */
void nn_peer_settle(struct nn_peer *peer);

/* nn_peer_answer_hello() - after the client's hello: takes its events socket out of
 * packet, answers with ours. hello is lowered to what both can do.
 * Returns: 0, NN_PACKET_E_VIOLATION, NN_PEER_E_ENDED is folded into it, -errno. */
int nn_peer_answer_hello(struct nn_peer *peer, struct nn_packet *packet, struct nn_hello *hello);

/* nn_peer_fd(), nn_peer_events_fd() - what to poll; borrowed. events_fd is -1
 * before the hello. */
int nn_peer_fd(const struct nn_peer *peer);
int nn_peer_events_fd(const struct nn_peer *peer);

/* nn_peer_wants_write() - whether packets are queued on either socket. */
bool nn_peer_wants_write(struct nn_peer *peer, bool is_events);

/* nn_peer_recv() - the next packet of the calls socket, without blocking. A
 * sealed body is still to be read (nn_packet_read_body()), by another thread.
 * Returns: as nn_packet_recv_unread(). */
int nn_peer_recv(struct nn_peer *peer, size_t max_body_bytes, struct nn_packet *packet);

/* nn_peer_recv_ping() - the next packet of the events socket, on which a client sends pings
 * alone. Returns: as nn_packet_recv_unread(). */
int nn_peer_recv_ping(struct nn_peer *peer, struct nn_packet *packet);

/* nn_peer_send() - sends or queues a message; is_event chooses the socket. out
 * is borrowed: what is queued is copied, its fds duplicated.
 * Returns: 0, NN_PEER_E_ENDED, NN_PEER_E_FULL, -ENOMEM, -EMFILE, -errno. */
int nn_peer_send(struct nn_peer *peer, bool is_event, struct nn_packet_header header,
                 const struct nn_packet_out *out);

/* nn_peer_flush() - sends what is queued and now fits. The loop's thread.
 * Returns: 0, NN_PEER_E_ENDED, NN_PEER_E_FULL, -errno. */
int nn_peer_flush(struct nn_peer *peer);

void nn_peer_end(struct nn_peer *peer);
bool nn_peer_has_ended(struct nn_peer *peer);

NN_DEFINE_CLEANUP(struct nn_peer, nn_peer_free)

#endif
