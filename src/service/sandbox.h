/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - what a driver's process may still do
 *
 * Closed once, after the driver is open and the socket listens, before the
 * first client is served. Then the process reaches the descriptors that it has
 * and is handed, its state directory, and the device nodes that the driver
 * declared (struct nnhal_sandbox); nothing else:
 *
 *     privileges   no_new_privs, no capability; root becomes the user given
 *     Landlock     no file but those; no TCP; no signal or abstract socket to
 *                  others (as far as the kernel's version goes)
 *     seccomp      a list of allowed calls and those that the driver declared;
 *                  others fail with EPERM. No socket, no exec, no ptrace, no
 *                  new process. Without Landlock no file can be opened at all
 *                  Limits, CPUs, priority and signals: only of the calling
 *                  thread (0) and the process, also where a driver declares
 *                  those calls
 *     limits       no core dump
 *
 * The kernel may lack Landlock or seccomp: what it had is reported, and the
 * service goes on with the rest.
 *
 * Landlock binds the calling thread and those that it starts from then on:
 * threads that the driver started in open() are held by seccomp alone. */
#ifndef NN_SERVICE_SANDBOX_H
#define NN_SERVICE_SANDBOX_H

#include <nnhal/driver.h>

#include <stdbool.h>

struct nn_sandbox_options {
    const struct nnhal_sandbox *driver; /* NULL: declares nothing */
    const char *user; /* the user that root becomes; NULL: stays root, without privileges */
};

struct nn_sandbox_report {
    bool has_seccomp;
    int landlock_version; /* 0: none */
    bool has_dropped_root;
};

/* nn_sandbox_close() - cannot be undone. On failure the process is to end: some
 * of it may be closed already.
 * Returns: 0, -ENOENT (no such user, or a declared device node is missing),
 * -EINVAL (a declared call that this machine does not know), -errno. */
int nn_sandbox_close(const struct nn_sandbox_options *options,
                     struct nn_sandbox_report *ret_report);

#endif
