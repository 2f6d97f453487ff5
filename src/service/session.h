/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one client of a service
 *
 * A session is a connection (ipc/peer.h), the struct nn_hal that the host
 * opened for it, and the calls of it that are in progress. The service's loop
 * reads requests and hands each to the pool; a worker answers it through the
 * stub. A client that breaks a rule, or does not read, is dropped with one
 * line in the log. A client that dies is seen by its sockets or its pidfd,
 * whichever comes first.
 *
 *     greeting --hello--> open --end, death, violation--> ended
 *        '-------------30 s, anything but a hello---------^
 *
 * An ended session answers nothing. It is freed when its last call is over:
 * what the host holds for it goes on a thread of the closers' pool, because
 * that may wait for the driver.
 *
 * Threads: all functions are the loop's. */
#ifndef NN_SERVICE_SESSION_H
#define NN_SERVICE_SESSION_H

#include "base/jobs.h"
#include "host/host.h"
#include "service/door.h"
#include "service/quota.h"

#include <poll.h>

struct nn_service_session;

/* What all sessions of a service share; outlives them. */
struct nn_service_session_context {
    struct nn_host *host;
    struct nn_jobs *workers; /* run calls */
    struct nn_jobs *closers; /* free sessions */
    struct nn_service_quota *quota;
    struct nn_host_limits limits, uid_limits;
    int wake_fd;       /* an eventfd: the loop is to look at its sessions again */
    size_t n_sessions; /* that are not freed yet; atomic */
    /* Some session is not read from until a call is over, of whichever session:
     * the thread that finishes one clears this and wakes the loop. Atomic. */
    uint32_t is_paused;
};

enum {
    NN_SESSION_E_ENDED = 1, /* to be given to nn_service_session_end() */
    NN_SESSION_E_FULL = 2,  /* new only: the user or the service has too many */
};

enum { NN_SESSION_N_FDS = 3 };

/* nn_service_session_new() - of who arrived, which is consumed. id is never used twice.
 * Returns: 0, NN_SESSION_E_FULL, -errno. */
int nn_service_session_new(struct nn_service_session_context *context,
                           const struct nn_arrival *arrival, uint64_t id,
                           struct nn_service_session **ret_session);

/* nn_service_session_poll() - fills NN_SESSION_N_FDS entries with what to wait for. */
void nn_service_session_poll(struct nn_service_session *session, struct pollfd *fds);

/* nn_service_session_step() - does what the entries say, and looks at the clock.
 * Returns: 0, NN_SESSION_E_ENDED. */
int nn_service_session_step(struct nn_service_session *session, const struct pollfd *fds,
                            uint64_t now_ns);

/* nn_service_session_deadline() - when to look at it again, NNHAL_NO_TIME: any time. */
uint64_t nn_service_session_deadline(const struct nn_service_session *session);

/* nn_service_session_end() - ends the connection, cancels the calls that are queued and
 * tells those in progress; the session frees itself. Returns NULL. */
struct nn_service_session *nn_service_session_end(struct nn_service_session *session);

#endif
