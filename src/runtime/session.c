/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/session.h"

#include "base/error.h"
#include "hal/dial.h"
#include "host/host.h"
#include "runtime/object.h"

/* On the listener's thread, or on any that was answered DEAD_OBJECT. It calls nothing: bursts are
 * stopped so that threads which wait for a result in shared memory, where no connection tells them
 * of the end, return. */
static void session_died(void *ctx)
{
    struct nn_rt_session *session = ctx;

    __atomic_store_n(&session->is_dead, 1, __ATOMIC_RELEASE);
    nn_rt_session_bursts_stop_all(&session->bursts);
}

static void session_get_memories(void *ctx, const struct nn_hal_get_memories_event *event)
{
    struct nn_rt_session *session = ctx;

    nn_rt_session_bursts_request_memories(&session->bursts, event);
}

static uint64_t n_sessions;

static int session_new(struct nn_rt_session **ret_session)
{
    struct nn_rt_session *session = calloc(1, sizeof(*session));

    if (!session)
        return nn_error_origin(-ENOMEM);
    session->n_refs = 1;
    session->fork_generation = nn_fork_generation();
    session->number = __atomic_add_fetch(&n_sessions, 1, __ATOMIC_RELAXED);
    nn_rt_session_bursts_init(&session->bursts);
    *ret_session = session;
    return 0;
}

int nn_rt_session_embedded(struct nn_host *host, struct nn_rt_session **ret_session)
{
    _cleanup_(freep) struct nn_rt_session *session = NULL;
    struct nn_host_session_options options = {0};
    int r;

    r = session_new(&session);
    if (r)
        return r;
    session->has_queues = nn_host_has_executors(host);
    /* The host keeps quotas and stored models by user; here the only client is this process. */
    options.uid = (uint32_t)getuid();
    options.listener = (struct nn_hal_listener){.ctx = session, .died = session_died};
    r = nn_host_open_session(host, &options, &session->hal);
    if (r)
        return nn_error_fold(r);
    *ret_session = steal_ptr(&session);
    return 0;
}

/* absent says what a missing peer means for this kind of session. */
static int explain_dial(int r, const char *who, const char *absent, struct nn_why *why)
{
    const char *const texts[] = {
        [NN_DIAL_E_ABSENT] = absent,
        [NN_DIAL_E_UNTRUSTED] = "it runs as another user: see NNHAL_SERVICE_UID",
        [NN_DIAL_E_REFUSED] = "it ended, or does not speak our language: its log tells why",
    };

    if (r <= 0)
        return r;
    return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT, "%s: %s", who,
                   (size_t)r < NN_N_ELEMENTS(texts) ? texts[r] : "cannot be reached");
}

static int session_dial(int (*connect_hal)(const char *where,
                                           const struct nn_hal_listener *listener,
                                           struct nn_hal **ret_hal),
                        const char *where, const char *absent, struct nn_why *why,
                        struct nn_rt_session **ret_session)
{
    _cleanup_(freep) struct nn_rt_session *session = NULL;
    struct nn_hal_listener listener = {.get_memories = session_get_memories, .died = session_died};
    int r;

    r = session_new(&session);
    if (r)
        return r;
    session->is_wire = session->has_queues = true;
    listener.ctx = session;
    r = explain_dial(connect_hal(where, &listener, &session->hal), where, absent, why);
    if (r)
        return r;
    *ret_session = steal_ptr(&session);
    return 0;
}

int nn_rt_session_service(const char *path, struct nn_why *why, struct nn_rt_session **ret_session)
{
    return session_dial(nn_dial_socket, path, "nothing listens there", why, ret_session);
}

int nn_rt_session_private(const char *name, struct nn_why *why, struct nn_rt_session **ret_session)
{
    return session_dial(nn_dial_child, name, "there is no nnhal-host to run it: see NNHAL_HOST",
                        why, ret_session);
}

struct nn_rt_session *nn_rt_session_ref(struct nn_rt_session *session)
{
    nn_ref(&session->n_refs);
    return session;
}

struct nn_rt_session *nn_rt_session_unref(struct nn_rt_session *session)
{
    if (!session || !nn_unref(&session->n_refs))
        return NULL;
    /* A forked child closes its copies of sockets. An embedded session it must leave alone: the
     * host's threads were not forked, and its locks may be held for ever. */
    if (session->is_wire || !nn_rt_session_is_foreign(session))
        nn_hal_close(session->hal);
    nn_rt_session_bursts_done(&session->bursts);
    free(session);
    return NULL;
}

bool nn_rt_session_is_alive(const struct nn_rt_session *session)
{
    return !__atomic_load_n(&session->is_dead, __ATOMIC_ACQUIRE) &&
           !nn_rt_session_is_foreign(session);
}

/* The listener may learn of the end later than the caller that was answered DEAD_OBJECT. Without
 * this, that caller would be given the same dead session when it recovers. */
uint32_t nn_rt_session_check_status(struct nn_rt_session *session, uint32_t status)
{
    if (status == NNHAL_DEAD_OBJECT && nn_rt_session_is_alive(session))
        session_died(session);
    return status;
}

bool nn_rt_session_is_foreign(const struct nn_rt_session *session)
{
    return session->fork_generation != nn_fork_generation();
}
