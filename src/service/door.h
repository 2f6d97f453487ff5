/* SPDX-License-Identifier: Apache-2.0 */
/* door.h - who comes to a service
 *
 * A client arrives as a connected socket and what the kernel says of the process that holds its other
 * end. A driver's process that has namespaces of its own (namespaces.h) is told neither the user nor
 * the number of that process: both are of a namespace that it does not see, and all users would be
 * one. Its supervisor therefore accepts, asks the kernel and passes on what it learns:
 *
 *     supervisor: listening socket --> nn_door_accept() --> nn_door_pass() ~~> nn_door_receive()
 *
 * A service in a process of its own making, without a supervisor, accepts itself. What waits on the way
 * is bounded by the pair's buffer; the rest stays in the socket's backlog.
 *
 * Threads: none of its own; an arrival is its holder's. */
#ifndef NN_SERVICE_DOOR_H
#define NN_SERVICE_DOOR_H

#include "ipc/sock.h"

enum {
    NN_DOOR_E_ABSENT = 1, /* no client waits */
    NN_DOOR_E_FULL = 2,   /* pass: the other end has not taken those before */
};

struct nn_arrival {
    int fd;
    int pidfd; /* -1: the process cannot be watched */
    struct nn_sock_credentials client;
};

/* nn_arrival_init() - over a connected socket, which is consumed: asks the kernel.
 * Returns: 0, -errno. */
int nn_arrival_init(struct nn_arrival *arrival, int fd);

/* nn_arrival_done() - closes what is still there. */
void nn_arrival_done(struct nn_arrival *arrival);

/* nn_door_pair() - ret_fds[0] is to pass into, ret_fds[1] to receive from. Returns: 0, -errno. */
int nn_door_pair(int ret_fds[2]);

/* nn_door_accept() - from a listening socket. Does not block. Returns: 0, NN_DOOR_E_ABSENT, -errno. */
int nn_door_accept(int fd, struct nn_arrival *ret_arrival);

/* nn_door_pass() - the arrival stays the caller's. Does not block.
 * Returns: 0, NN_DOOR_E_FULL (try again), -EPIPE (no other end), -errno. */
int nn_door_pass(int fd, const struct nn_arrival *arrival);

/* nn_door_receive() - what was passed. Does not block.
 * Returns: 0, NN_DOOR_E_ABSENT, -EPIPE (no other end), -errno. */
int nn_door_receive(int fd, struct nn_arrival *ret_arrival);

#endif
