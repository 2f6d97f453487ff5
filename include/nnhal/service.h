/* SPDX-License-Identifier: Apache-2.0 */
/* service.h - serving a driver to other processes
 *
 * nnhal_serve() turns the calling process into the service of one driver: it
 * closes the sandbox, loads the driver, listens, and serves until it is
 * terminated (SIGTERM, SIGINT). nnhal-host is this function as a program.
 * SIGBUS and SIGSYS are the service's: in the sandbox no thread blocks them, also by
 * system calls of its own; without the sandbox a thread that blocks SIGBUS ends the
 * service when a client shrinks a file that it reads. Link with -lnnhal. */
#ifndef NNHAL_SERVICE_H
#define NNHAL_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of struct nnhal_serve_options. */
#define NNHAL_SERVE_NO_SANDBOX 1 /* for debugging a driver */

/* Begins with its size; members beyond it count as 0. At most one of socket_path
 * and fd is set; without either, a socket that systemd passed (LISTEN_FDS) is
 * served, and without that, NAME.sock in the usual place: the first directory of
 * NNHAL_SOCKET_PATH, else /run/nnhal for root and $XDG_RUNTIME_DIR/nnhal for
 * others. */
struct nnhal_serve_options {
    size_t size;
    const char *driver;      /* NAME, NAME:CONFIGURATION, or the module's path with either */
    const char *socket_path; /* NULL: see above */
    int32_t fd;              /* a connected socket, whose client alone is served; 0: none */
    uint32_t flags;
    const char *user; /* that root becomes; NULL: "nnhal", or "nobody" if it does not exist */
    /* Is sent a pidfd of the driver's process, with four bytes, when there is one, and closed: for
     * who started this process and may have to kill the driver. 0: none. */
    int32_t report_fd;
};

/* nnhal_serve() - the driver runs in a child of the calling process, which stays outside the
 * sandbox: it passes on what the child prints, to standard error, and SIGTERM and SIGINT, followed
 * by SIGKILL after 6 s, and ends as the child ends, also by a signal. With NNHAL_SERVE_NO_SANDBOX
 * there is no child. Must be called while the process has one thread. What the driver needs beyond
 * libraries is declared in the file beside it (doc/driver/sandbox.md). Errors and the state of the
 * sandbox are printed on standard error, as NNHAL_LOG says; if it is not set, warnings and errors
 * are printed, and nothing with fd.
 * Returns the exit status for main(): 0 after a requested termination, 1 if it could
 * not serve, 2 if the options are invalid. */
int nnhal_serve(const struct nnhal_serve_options *options);

/* nnhal_find_host() - where nnhal-host lies: as NNHAL_HOST says, else beside this library, else
 * where it was installed. ret_path has room for n_bytes, the zero among them. Any thread.
 * Returns: 0, -ENOENT, -ENOMEM, -ENAMETOOLONG. */
int nnhal_find_host(char *ret_path, size_t n_bytes);

#ifdef __cplusplus
}
#endif

#endif
