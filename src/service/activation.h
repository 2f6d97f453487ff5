/* SPDX-License-Identifier: Apache-2.0 */
/* activation.h - sockets that systemd made, and telling it that we are ready
 *
 * The two environment protocols. Its library tells, where this is built with -Dsystemd=enabled. */
#ifndef NN_SERVICE_ACTIVATION_H
#define NN_SERVICE_ACTIVATION_H

#include <stdbool.h>

enum {
    NN_ACTIVATION_E_ABSENT = 1, /* this process was not started for a socket */
};

/* nn_activation_take() - the one socket that was passed to this process: made
 * close-on-exec, and gone from the environment. is_listening: to be accepted
 * from; otherwise it is one client's connection (Accept=yes).
 * Returns: 0, NN_ACTIVATION_E_ABSENT, -EINVAL (not exactly one, or not a socket
 * of packets). */
int nn_activation_take(int *ret_fd, bool *ret_is_listening);

/* nn_activation_notify() - tells the service manager, if it asked (NOTIFY_SOCKET):
 * "READY=1". Failures are passed over. */
void nn_activation_notify(const char *state);

#endif
