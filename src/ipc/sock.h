/* SPDX-License-Identifier: Apache-2.0 */
/* sock.h - sockets and the peer's credentials
 *
 * All are AF_UNIX, SOCK_SEQPACKET, close-on-exec. */
#ifndef NN_IPC_SOCK_H
#define NN_IPC_SOCK_H

#include <stdint.h>
#include <sys/types.h>

enum {
    NN_SOCK_E_ABSENT = 1,    /* there is no listener */
    NN_SOCK_E_UNTRUSTED = 2, /* the socket, its folder or the other side is not ours or root's */
    NN_SOCK_E_BUSY = 3,      /* listen: another process listens there */
    NN_SOCK_E_BAD_PATH = 4,  /* longer than an address may be, or empty */
};

struct nn_sock_credentials {
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* nn_sock_pair() - two connected sockets. */
int nn_sock_pair(int ret_fds[2]);

/* nn_sock_listen() - binds path, which is created with mode, and listens. A
 * socket that a dead service left there is replaced. The folder must belong to
 * this user or root and be writable by its owner only.
 * Returns: 0, BUSY, UNTRUSTED, BAD_PATH, -errno. */
int nn_sock_listen(const char *path, mode_t mode, int *ret_fd);

/* nn_sock_accept() - the next connection, without blocking.
 * Returns: 0, NN_SOCK_E_ABSENT (none waits), -errno. */
int nn_sock_accept(int fd, int *ret_fd);

/* nn_sock_connect() - connects, and checks that the service runs as root, as
 * this user, or as the uid in NNHAL_SERVICE_UID.
 * Returns: 0, ABSENT, UNTRUSTED, BAD_PATH, -errno. */
int nn_sock_connect(const char *path, int *ret_fd);

/* nn_sock_credentials() - credentials of the peer, as the kernel recorded them. */
int nn_sock_credentials(int fd, struct nn_sock_credentials *ret_credentials);

/* nn_sock_pidfd() - a pidfd of the process at the other end; of a pair, of the
 * one that made it. Returns: 0, NN_SOCK_E_ABSENT (it is gone), -errno. */
int nn_sock_pidfd(int fd, int *ret_pidfd);

#endif
