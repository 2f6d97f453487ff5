/* SPDX-License-Identifier: Apache-2.0 */
#include "service/listener.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "ipc/discovery.h"
#include "ipc/sock.h"

#include <string.h>

static const char *why_not_listen(int r)
{
    switch (r) {
    case NN_SOCK_E_BUSY:
        return "another service listens there";
    case NN_SOCK_E_UNTRUSTED:
        return "its folder must belong to this user or root, and be writable by no other user";
    case NN_SOCK_E_BAD_PATH:
        return "the path is too long for a socket, or has no folder";
    default:
        return strerror(-r);
    }
}

/* NAME, also of .../libnnhal-driver-NAME.so. */
static char *short_name(const char *driver)
{
    static const char prefix[] = "libnnhal-driver-", suffix[] = ".so";
    const char *slash = strrchr(driver, '/'), *name = slash ? slash + 1 : driver;
    size_t n;

    if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
        name += sizeof(prefix) - 1;
    n = strlen(name);
    if (slash && n > sizeof(suffix) - 1 && strcmp(name + n - (sizeof(suffix) - 1), suffix) == 0)
        n -= sizeof(suffix) - 1;
    return strndup(name, n);
}

/* Where clients look. */
static int find_place(const char *driver, char **ret_path)
{
    _cleanup_(freep) char *name = short_name(driver);
    int r;

    if (!name)
        return nn_error_origin(-ENOMEM);
    r = nn_discovery_socket_path(name, ret_path);
    if (r < 0)
        nn_log("service", NN_LOG_ERROR,
               "there is no place for the socket: set NNHAL_SOCKET_PATH (%s)", strerror(-r));
    return r < 0 ? nn_error_origin(-EADDRNOTAVAIL) : 0;
}

int nn_listener_open(const char *driver, const char *path, int *ret_fd, char **ret_path)
{
    _cleanup_(freep) char *place = path ? strdup(path) : NULL;
    int r = path ? 0 : find_place(driver, &place);

    if (r == 0 && !place)
        r = nn_error_origin(-ENOMEM);
    if (r < 0)
        return nn_error_trace(r);
    /* A service of root serves all users, and quotas keep them apart; that of a user is for
     * this user alone. */
    r = nn_sock_listen(place, geteuid() == 0 ? 0666 : 0600, ret_fd);
    if (r != 0) {
        nn_log("service", NN_LOG_ERROR, "cannot listen at %s: %s", place, why_not_listen(r));
        return nn_error_origin(-EADDRNOTAVAIL);
    }
    nn_log("service", NN_LOG_INFO, "%s listens at %s", driver, place);
    *ret_path = steal_ptr(&place);
    return 0;
}
