/* SPDX-License-Identifier: Apache-2.0 */
/* discovery.h - where services, drivers and the host program are found
 *
 * | what | override | else |
 * |---|---|---|
 * | sockets of services, NAME.sock | NNHAL_SOCKET_PATH | /run/nnhal, $XDG_RUNTIME_DIR/nnhal |
 * | drivers, libnnhal-driver-NAME.so | NNHAL_DRIVER_PATH | nnhal-drivers/ and nnhal/drivers/ beside this library, $libdir/nnhal/drivers |
 * | nnhal-host | NNHAL_HOST | beside this library, $libexecdir |
 *
 * The paths are lists of absolute directories separated by ':'; an empty one
 * means none. All are read through secure_getenv: a program with raised
 * privileges sees the built-in places only. Earlier directories win. */
#ifndef NN_IPC_DISCOVERY_H
#define NN_IPC_DISCOVERY_H

#include <stddef.h>

struct nn_discovery_entry {
    char *name; /* of the service or driver */
    char *path;
};

struct nn_discovery {
    size_t n_entries;
    struct nn_discovery_entry *entries; /* each name once, sorted within a directory */
};

/* Directories that do not exist are skipped. Returns: 0, -ENOMEM. */
int nn_discovery_init_sockets(struct nn_discovery *ret_places);
int nn_discovery_init_drivers(struct nn_discovery *ret_places);
void nn_discovery_done(struct nn_discovery *places);

/* nn_discovery_find() - the path of name, NULL if it is not there; borrowed. */
const char *nn_discovery_find(const struct nn_discovery *places, const char *name);

/* nn_discovery_socket_path() - where a service called name is to listen: the first
 * directory of NNHAL_SOCKET_PATH, else /run/nnhal for root and
 * $XDG_RUNTIME_DIR/nnhal for others. Creates the last directory of it.
 * *ret_path is the caller's. Returns: 0, -ENOENT (nowhere), -errno. */
int nn_discovery_socket_path(const char *name, char **ret_path);

/* nn_discovery_host_path() - the nnhal-host program. *ret_path is the caller's.
 * Returns: 0, -ENOENT, -ENOMEM. */
int nn_discovery_host_path(char **ret_path);

#endif
