/* SPDX-License-Identifier: Apache-2.0 */
/* hello.h - the first packet of each side
 *
 * The client says hello with one descriptor: its end of the events socket's
 * pair, so that one connect() makes both sockets of a connection. The service
 * answers with its own. Another magic or major ends the connection. The lower
 * of the two minors is spoken by both; a body may be longer than ours (a later
 * minor), never shorter. The lower of each limit holds. */
#ifndef NN_IPC_HELLO_H
#define NN_IPC_HELLO_H

#include "ipc/packet.h"

#include <stdint.h>

#define NN_HELLO_MAGIC 0x4c414e4e /* "NNAL" */
#define NN_HELLO_MAJOR 1
#define NN_HELLO_MINOR 4

#define NN_HELLO_MINOR_PING 1 /* since which pings are answered */

#define NN_HELLO_BUILD_ID_BYTES 64
#define NN_HELLO_MAX_CALLS      64

struct nn_hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    int64_t feature_level; /* of the device; of a client, the newest it knows */
    uint64_t max_body_bytes;
    uint32_t max_calls;                     /* in flight */
    int32_t pid;                            /* of a service: the process that the driver runs in */
    char build_id[NN_HELLO_BUILD_ID_BYTES]; /* text, NUL-terminated */
};

/* nn_hello_init() - this build's hello. */
void nn_hello_init(struct nn_hello *hello, int64_t feature_level);

/* nn_hello_send() - one packet, without blocking; events_fd is a client's, -1 of
 * a service. Returns: as nn_packet_send(). */
int nn_hello_send(int fd, const struct nn_hello *hello, int events_fd);

/* nn_hello_check() - takes a received packet for the other side's hello; n_fds
 * is how many descriptors it must carry.
 * Returns: 0, NN_PACKET_E_VIOLATION. */
int nn_hello_check(const struct nn_packet *packet, uint32_t n_fds, struct nn_hello *ret_hello);

/* nn_hello_negotiate() - what both can do: the lower minor and limits. */
void nn_hello_negotiate(struct nn_hello *mine, const struct nn_hello *theirs);

#endif
