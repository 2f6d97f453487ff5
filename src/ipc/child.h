/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - a service of our own, in a private child process
 *
 * The private way: nnhal-host in a child process, over a socketpair. The child
 * must not disturb the application, which may wait for any child and handle
 * SIGCHLD: exec gives a child the exit signal SIGCHLD no matter how it was made
 * with, so that the host is started by a short-lived parent, itself made with
 * no exit signal and waited for here. The host is reparented. It runs its driver
 * in a process of its own (service/supervisor.h), whose death is seen by the socket
 * and its pidfd. Both end when the application dies, because they watch a pidfd of it. */
#ifndef NN_IPC_CHILD_H
#define NN_IPC_CHILD_H

#include <sys/types.h>

/* nn_child_spawn() - starts the host program at path (see nn_discovery_host_path) for
 * the driver called name: nnhal-host --fd 3 --report 4 -- NAME. The application's signal mask
 * and handlers, its descriptors and its standard input do not reach it;
 * standard output is its standard error. Blocks until the driver's process is there, whose
 * pidfd it is, at most 60 s and until the thread's limit.
 * Returns: 0, -ETIMEDOUT, -errno (also that of exec). */
int nn_child_spawn(const char *path, const char *name, int *ret_fd, int *ret_pidfd);

/* nn_child_report() - by the host, over its descriptor 4: the driver's process.
 * Returns: 0, -errno. */
int nn_child_report(int fd, int pidfd);

/* nn_child_kill() - SIGKILL; does not wait. */
void nn_child_kill(int pidfd);

/* nn_child_await() - waits until a child that was killed is gone, 1 s at most, and
 * reaps it if it became this process's own, as that of an init does. */
void nn_child_await(int pidfd);

#endif
