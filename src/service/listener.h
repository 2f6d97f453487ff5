/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h - the socket of a service that was given none */
#ifndef NN_SERVICE_LISTENER_H
#define NN_SERVICE_LISTENER_H

/* nn_listener_open() - listens at PATH, or, where that is NULL, where clients look for a service of
 * DRIVER: its name or the path of its module.
 * RET_FD and RET_PATH are the caller's, who unlinks the path at the end. What fails is logged.
 * Returns 0, -ENOMEM or -EADDRNOTAVAIL. */
int nn_listener_open(const char *driver, const char *path, int *ret_fd, char **ret_path);

#endif
