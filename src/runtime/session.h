/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one connection of this process with one device
 *
 * A session is a struct nn_hal, embedded or over a wire, that the objects made
 * in it share: a memory's id, a prepared model and an execution each hold a
 * reference, and so does the device while the session is the one for new
 * work. A session dies once: its service is gone, or this process is a forked
 * child. Then nothing in it can be used, and frees are local. */
#ifndef NN_RUNTIME_SESSION_H
#define NN_RUNTIME_SESSION_H

#include "base/cleanup.h"
#include "hal/hal.h"
#include "runtime/result.h"
#include "runtime/session-bursts.h"

#include <stdbool.h>
#include <stdint.h>

struct nn_host;

struct nn_rt_session {
    uint32_t n_refs;
    uint32_t fork_generation;
    uint64_t number;  /* of those of this process: no two have the same */
    uint32_t is_dead; /* set by the thread that notices first */
    bool is_wire;     /* the driver runs in another process */
    bool has_queues;  /* bursts need them: it does, or makes executors of its own */
    struct nn_hal *hal;
    struct nn_rt_session_bursts bursts;
};

/* nn_rt_session_embedded() - a session of a host in this process.
 * Returns: 0, -ENOMEM. */
int nn_rt_session_embedded(struct nn_host *host, struct nn_rt_session **ret_session);

/* nn_rt_session_service() - with the service that listens at path.
 * Returns: 0; DEAD_OBJECT with the reason; -errno. */
int nn_rt_session_service(const char *path, struct nn_why *why, struct nn_rt_session **ret_session);

/* nn_rt_session_private() - with a new private child for the driver called name.
 * Returns: as nn_rt_session_service(). */
int nn_rt_session_private(const char *name, struct nn_why *why, struct nn_rt_session **ret_session);

/* nn_rt_session_ref(), nn_rt_session_unref() - any thread; the last unref closes. */
struct nn_rt_session *nn_rt_session_ref(struct nn_rt_session *session);
struct nn_rt_session *nn_rt_session_unref(struct nn_rt_session *session);

/* nn_rt_session_is_alive() - whether calls have a chance. */
bool nn_rt_session_is_alive(const struct nn_rt_session *session);

/* nn_rt_session_check_status() - looks at what a call was answered: DEAD_OBJECT ends the
 * session at once, before its listener may have heard. Returns: status. */
uint32_t nn_rt_session_check_status(struct nn_rt_session *session, uint32_t status);

/* nn_rt_session_is_foreign() - whether it was opened before a fork, by the parent:
 * nothing of it may be called. */
bool nn_rt_session_is_foreign(const struct nn_rt_session *session);

NN_DEFINE_CLEANUP(struct nn_rt_session, nn_rt_session_unref)

#endif
