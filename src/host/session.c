/* SPDX-License-Identifier: Apache-2.0 */
#include "host/session.h"

#include "base/error.h"
#include "host/burst/burst.h"
#include "host/execution/fence-watcher.h"
#include "host/methods.h"

#include <string.h>

/* -- uses ------------------------------------------------------------------ */

bool nn_host_session_enter(struct nn_host_session *session)
{
    /* Sequentially consistent, as is the store in nn_host_session_cancel():
     * whoever enters after it sees the flag, and whoever does not see it is
     * counted before the session's end looks. */
    __atomic_add_fetch(&session->n_uses, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&session->is_cancelled, __ATOMIC_SEQ_CST))
        return true;
    nn_host_session_leave(session);
    return false;
}

bool nn_host_session_begin(struct nn_hal *hal, struct nn_arena *arena, struct nn_call *call)
{
    *call = (struct nn_call){.session = (struct nn_host_session *)hal, .arena = arena};
    return nn_host_session_enter(call->session);
}

void nn_host_session_leave(struct nn_host_session *session)
{
    if (__atomic_sub_fetch(&session->n_uses, 1, __ATOMIC_ACQ_REL) == 0)
        sem_post(&session->idle);
}

/* -- ending ------------------------------------------------------------------ */

void nn_host_session_cancel(struct nn_hal *hal)
{
    struct nn_host_session *session = (struct nn_host_session *)hal;

    __atomic_store_n(&session->is_cancelled, 1, __ATOMIC_SEQ_CST);
    nn_fence_watcher_cancel(session);
    nn_reoptimizer_cancel(session);
    nn_bursts_cancel(session);
}

void nn_host_session_close(struct nn_hal *hal)
{
    struct nn_host_session *session = (struct nn_host_session *)hal;

    nn_host_session_cancel(hal);
    nn_host_session_leave(session);
    while (sem_wait(&session->idle) < 0)
        continue;
    nn_objects_done(&session->objects);
    nn_buffers_done(&session->buffers);
    nn_quota_account_close(&session->account);
    sem_destroy(&session->idle);
    nn_host_unref(session->host);
    free(session);
}

/* -- opening --------------------------------------------------------------- */

static void copy_limits(uint64_t *slots, const struct nn_host_limits *limits)
{
    const struct nn_host_limits standard = NN_HOST_DEFAULT_LIMITS;

#define LIMIT(member) (limits->member ? limits->member : standard.member)
    slots[NN_QUOTA_MEMORIES] = LIMIT(n_memories);
    slots[NN_QUOTA_MEMORY_BYTES] = LIMIT(memory_bytes);
    slots[NN_QUOTA_PREPARED_MODELS] = LIMIT(n_prepared_models);
    slots[NN_QUOTA_MODEL_BYTES] = LIMIT(model_bytes);
    slots[NN_QUOTA_EXECUTIONS] = LIMIT(n_executions);
    slots[NN_QUOTA_FENCED] = LIMIT(n_fenced);
    slots[NN_QUOTA_FENCES] = LIMIT(n_fences);
    slots[NN_QUOTA_BUFFERS] = LIMIT(n_buffers);
    slots[NN_QUOTA_BUFFER_BYTES] = LIMIT(buffer_bytes);
    slots[NN_QUOTA_BURSTS] = LIMIT(n_bursts);
    slots[NN_QUOTA_BURST_BYTES] = LIMIT(burst_bytes);
#undef LIMIT
}

int nn_host_open_session(struct nn_host *host, const struct nn_host_session_options *options,
                         struct nn_hal **ret_hal)
{
    const struct nn_host_session_options embedded = {.uid = getuid()};
    _cleanup_(freep) struct nn_host_session *session = calloc(1, sizeof(*session));
    int r;

    if (!session)
        return nn_error_origin(-ENOMEM);
    if (!options)
        options = &embedded;
    r = nn_quota_account_open(&host->quota, options->uid, &session->account);
    if (r < 0)
        return nn_error_trace(r);
    copy_limits(session->account.limits, &options->limits);
    copy_limits(session->account.uid_limits, &options->uid_limits);
    session->hal.ops = &nn_host_session_ops;
    session->host = nn_host_ref(host);
    session->number = __atomic_add_fetch(&host->last_session, 1, __ATOMIC_RELAXED);
    session->uid = options->uid;
    session->is_service = options->is_service;
    session->listener = options->listener;
    nn_objects_init(&session->objects);
    nn_buffers_init(&session->buffers);
    sem_init(&session->idle, 0, 0);
    __atomic_store_n(&session->n_uses, 1, __ATOMIC_SEQ_CST);
    *ret_hal = &steal_ptr(&session)->hal;
    return 0;
}
