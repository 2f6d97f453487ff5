/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - what a driver's process may still do
 *
 * Closed in two steps. The first comes before any code of the driver runs,
 * while the process has one thread: what binds a thread and its children alone
 * binds every thread that the driver will ever have. From then on the process
 * reaches the descriptors that it has and is handed, the folders of libraries,
 * the driver's folder and what the driver declared in the file beside it
 * (grants.h); nothing else:
 *
 *     root         no other path exists (root.h), in namespaces of its own
 *     privileges   no_new_privs, no capability; root becomes the user given
 *     Landlock     no file but those; no TCP; no signal or abstract socket to
 *                  others (as far as the kernel's version goes)
 *     seccomp      see seccomp-filter.h
 *     limits       no core dump
 *
 * The second step comes when the driver is open: no more code is loaded or
 * made, unless that was declared, and where there is neither Landlock nor an own
 * root no file can be opened any more. It holds against clients that took the
 * driver over. A driver that was hostile when it was opened may have installed filters
 * that answer in place of the second step; where that is seen, the process ends.
 *
 * The kernel may lack any of these: what it had is reported, and the service
 * goes on with the rest, after a warning for each that is missing. */
#ifndef NN_SERVICE_SANDBOX_H
#define NN_SERVICE_SANDBOX_H

#include "host/host.h"
#include "service/grants.h"

#include <stdbool.h>

struct nn_sandbox_options {
    const struct nn_grants *grants;
    size_t n_readable;
    const char *const *readable; /* more paths: of the driver, of libraries; may be absent */
    const char *user;     /* the user that root becomes; NULL: stays root, without privileges */
    bool has_namespaces;  /* the process is in mount and PID namespaces of its own */
    int namespaces_error; /* why not, as -errno */
};

struct nn_sandbox_report {
    bool has_own_root;
    struct nn_host_why why_no_root;
    bool has_seccomp;
    int landlock_version; /* 0: none */
    bool has_dropped_root;
};

/* nn_sandbox_close() - the first step; cannot be undone. On failure the process is to end: some
 * of it may be closed already.
 * Returns: 0, -ENOENT (no such user, or a declared device node is missing),
 * -EINVAL (a declared call that this machine does not know), -errno. */
int nn_sandbox_close(const struct nn_sandbox_options *options,
                     struct nn_sandbox_report *ret_report);

/* nn_sandbox_tighten() - the second, with what the first reported. The process may have more
 * threads by now. On failure it is to end. Returns: 0, -errno. */
int nn_sandbox_tighten(const struct nn_sandbox_options *options,
                       const struct nn_sandbox_report *report);

#endif
