/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - messages of one size between a supervisor and a driver's process
 *
 * Each is a few bytes, the same on both sides, with descriptors or none, on a pair of sockets that
 * keeps messages apart (nn_sock_pair()). Who receives says how many descriptors may come: the kernel
 * drops the rest. */
#ifndef NN_SERVICE_LINE_H
#define NN_SERVICE_LINE_H

#include <stddef.h>

enum { NN_LINE_MAX_FDS = 2 };

/* nn_line_send() - flags are those of sendmsg(). The descriptors stay the caller's, up to
 * NN_LINE_MAX_FDS. Returns: 0, -EAGAIN (MSG_DONTWAIT: no room), -EPIPE (no other end), -errno. */
int nn_line_send(int line_fd, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds,
                 int flags);

/* nn_line_receive() - ret_fds has n_max entries, which become the caller's, -1 where none came.
 * Returns: 0, -EAGAIN (MSG_DONTWAIT: nothing there), -EPIPE (the end, or another size), -errno; there
 * are no descriptors then. */
int nn_line_receive(int line_fd, void *bytes, size_t n_bytes, int *ret_fds, size_t n_max,
                    int flags);

#endif
