/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - the process beside a driver's process
 *
 * A driver runs in a process that holds no terminal and can open nothing. The
 * process that was started stays outside, as its parent, without any code of
 * drivers:
 *
 *     supervisor ---fork---> driver's process
 *         | <-- pipe: what it prints (relay.h)
 *         | <-> line: "ready"; "tokens", answered with their map
 *         | --> door: who came to the socket (door.h)
 *         | --> SIGTERM and SIGINT, and SIGKILL 6 s later; its end is SIGKILL for the other
 *
 * It ends as the driver's process ends: with its exit status, or by its signal. Where there is
 * one client only, it watches that one, too: a driver's process that is stopped cannot. It waits for
 * nothing else: not for the other process to read an answer or to take a client, nor for a reader of what
 * is printed. */
#ifndef NN_SERVICE_SUPERVISOR_H
#define NN_SERVICE_SUPERVISOR_H

#include "host/host.h"
#include "service/door.h"
#include "service/relay.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the driver's process asks for, each once; answered with a descriptor, or none. What else comes
 * ends the line. */
struct nn_supervisor_request {
    enum {
        NN_SUPERVISOR_READY = 1,
        NN_SUPERVISOR_TOKENS, /* the map that tokens names */
    } what;
    struct nn_host_tokens tokens;
};

struct nn_supervisor {
    /* Answers a request, in the supervisor. Returns: 0, with *ret_fd (-1: none), which is closed
     * when it was passed on, and for NN_SUPERVISOR_READY is a socket to accept from; -errno. */
    int (*answer)(void *ctx, const struct nn_supervisor_request *request, int *ret_fd);
    /* The driver's process has ended, and this one is about to, perhaps by the same signal: what it
     * made for others to find goes now. NULL: nothing. */
    void (*ended)(void *ctx);
    void *ctx;
    int socket_fd; /* stays open in the driver's process and is closed here; -1: none */
    int listen_fd; /* the other way round: accepted from when the driver is ready; -1: not yet */
    int client_fd; /* whose other end is the only client; -1: there are many */
    int report_fd; /* is sent a pidfd of the driver's process (ipc/child.h), then closed; -1 */

    /* Of the rest each process has its own; asked is 0. */
    int line_fd;
    int door_fd;                /* in the driver's process to receive from, where socket_fd is -1 */
    struct nn_arrival arrival;  /* was accepted and waits at the door */
    uint64_t no_door_before_ns; /* after a failure */
    int output_fd, pidfd, watch_fd, signal_fd;
    unsigned asked;      /* bits: what was */
    pid_t pid;           /* of the other process; its own there, as the supervisor sees it */
    bool has_namespaces; /* the driver's process is in its own (namespaces.h) */
    int namespaces_error;
    struct nn_relay relay;
};

/* nn_supervisor_split() - makes the driver's process, while there is one thread. There descriptor 0
 * is empty, 1 and 2 are the pipe, which does not block; it has no terminal, no other descriptor than these, the line, and
 * socket_fd or the door, and SIGTERM and SIGINT are blocked.
 * Returns: 1 in the driver's process, 0 in the supervisor, where both stay blocked for
 * nn_supervisor_watch(), -errno (there is no other process). */
int nn_supervisor_split(struct nn_supervisor *supervisor);

/* nn_supervisor_watch() - in the supervisor, until the other process has ended.
 * Returns: its exit status; does not return where it was ended by a signal. */
int nn_supervisor_watch(struct nn_supervisor *supervisor);

/* nn_supervisor_is_there() - in the driver's process: whether the other one has not ended. Asked
 * after PR_SET_PDEATHSIG was set again, which a change of the user clears. */
bool nn_supervisor_is_there(void);

/* nn_supervisor_ask() - in the driver's process. Blocks for the answer.
 * Returns: 0 with *ret_fd, which is -1 if none was sent; -errno, also the supervisor's. */
int nn_supervisor_ask(struct nn_supervisor *supervisor, const struct nn_supervisor_request *request,
                      int *ret_fd);

#endif
