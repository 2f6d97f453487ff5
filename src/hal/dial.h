/* SPDX-License-Identifier: Apache-2.0 */
/* dial.h - a session with a device in another process
 *
 * The two ways out of this process: over the socket of a service, and into a
 * private child. Either gives a struct nn_hal (the proxy over a connection,
 * hal/proxy.h and ipc/conn.h) that ends with nn_hal_close(); closing the
 * session of a private child ends the child.
 *
 * After fork every call in the child answers NNHAL_DEAD_OBJECT, and closing is
 * local. */
#ifndef NN_HAL_DIAL_H
#define NN_HAL_DIAL_H

#include "hal/hal.h"

enum {
    NN_DIAL_E_ABSENT = 1,    /* there is no listener, or no such program */
    NN_DIAL_E_UNTRUSTED = 2, /* the service is neither root's, ours, nor NNHAL_SERVICE_UID's */
    NN_DIAL_E_REFUSED = 3,   /* it ended or said nothing that we understand: its log tells why */
};

/* nn_dial_socket() - connects to the service that listens at path (see
 * nn_discovery_init_sockets). listener (may be NULL) is copied; its ctx must outlive
 * the session. Blocks for the service's hello, at most 4 s and until the thread's limit.
 * Returns: 0, ABSENT, UNTRUSTED, REFUSED, -errno. */
int nn_dial_socket(const char *path, const struct nn_hal_listener *listener,
                   struct nn_hal **ret_hal);

/* nn_dial_child() - starts a private child for the driver called name, as in
 * NAME or NAME:CONFIGURATION. Blocks for its hello, which it says when the
 * driver is open, at most 60 s and until the thread's limit.
 * Returns: as nn_dial_socket(). */
int nn_dial_child(const char *name, const struct nn_hal_listener *listener,
                  struct nn_hal **ret_hal);

/* nn_dial_fd() - the same over a connected socket. Consumes fd and pidfd (-1:
 * none), whose end is the session's. */
int nn_dial_fd(int fd, int pidfd, uint64_t timeout_ns, const struct nn_hal_listener *listener,
               struct nn_hal **ret_hal);

#endif
