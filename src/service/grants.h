/* SPDX-License-Identifier: Apache-2.0 */
/* grants.h - what a driver declares in the file beside it
 *
 * libnnhal-driver-NAME.sandbox lies beside libnnhal-driver-NAME.so (x.sandbox beside x.so), links
 * followed. It is read before any code of the driver runs. One line, one grant; '#' begins a line
 * that is a comment:
 *
 *     read PATH            a file, or all in a folder; may be absent
 *     device PATH          a device node, or all in a folder: read, written, controlled
 *     call NAME            a system call beyond those of a service
 *     executable-memory    code that is made or loaded when the driver is open
 *
 * A path is absolute and has no "..", or is $VARIABLE: the variable's path, if it is set, or
 * $CONFIGURATION: what followed ':' in the driver's name, if that is an absolute path. */
#ifndef NN_SERVICE_GRANTS_H
#define NN_SERVICE_GRANTS_H

#include "host/host.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    NN_GRANTS_MAX_BYTES = 65536, /* of the file */
    NN_GRANTS_MAX = 128,         /* lines that grant something */
};

enum nn_grant_access {
    NN_GRANT_READ,   /* a file, or all below a folder; may be absent */
    NN_GRANT_DEVICE, /* a device node, or all below a folder: read, write, ioctl; must exist */
};

struct nn_grant_path {
    const char *path;
    enum nn_grant_access access;
};

struct nn_grants {
    size_t n_paths, n_calls;
    struct nn_grant_path paths[NN_GRANTS_MAX];
    const char *calls[NN_GRANTS_MAX];
    bool has_executable_memory;
    const char *configuration;
    char *text; /* that the paths and names lie in, unless in the environment */
};

/* nn_grants_read() - those of the driver at path; none where there is no file. configuration (may be
 * NULL) is not copied. On failure why has the file, the line and what is wrong.
 * Returns: 0, -EINVAL (a line is none of the above), -ENOMEM, -errno. */
int nn_grants_read(const char *path, const char *configuration, struct nn_grants *ret_grants,
                   struct nn_host_why *why);

void nn_grants_done(struct nn_grants *grants);

#endif
