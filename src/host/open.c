/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - hosts and their sessions, from opening to closing */
#include "host/host.h"

#include "base/error.h"
#include "base/log.h"
#include "host/burst/burst.h"
#include "host/caching/cache.h"
#include "host/caching/reoptimize.h"
#include "host/execution/device-queue.h"
#include "host/execution/fence-watcher.h"
#include "host/execution/overdue.h"
#include "host/execution/stalling.h"
#include "host/load.h"
#include "host/methods.h"
#include "host/services.h"
#include "host/session.h"
#include "model/types.h"
#include "shm/spin.h"

#include <string.h>

/* A driver may keep its configuration between main() and open(): no other thread
 * comes between the two. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

/* What main() and open() have in common with a failure of either: the driver's
 * own sentence, if it gave one. */
static const char *driver_reason(void)
{
    const char *text = nn_services_explanation();

    return text ? text : "it does not say why";
}

static int open_device(struct nn_host *host, nn_driver_main driver_main, const char *configuration,
                       struct nn_host_why *why)
{
    uint32_t status;
    int r;

    r = nn_load_table(driver_main, configuration, why, &host->driver);
    if (r < 0)
        return nn_error_trace(r);
    host->level = nn_level_from_feature(host->driver.feature_level);
    nn_services_init(&host->services);
    nn_device_queue_init(host);
    nn_services_clear();
    status = host->driver.open(&host->services, &host->device);
    if (status != NNHAL_NONE)
        return nn_why(why, -ENODEV, "driver %s cannot open its device (status %u): %s",
                      host->driver.name, status, driver_reason());
    nn_log("host", NN_LOG_INFO, "driver %s %s is open", host->driver.name, host->driver.version);
    return 0;
}

int nn_host_open_builtin(const struct nnhal_driver *(*driver_main)(const char *configuration),
                         const char *configuration, struct nn_host_why *why,
                         struct nn_host **ret_host)
{
    _cleanup_(freep) struct nn_host *host = calloc(1, sizeof(*host));
    int r;

    if (!host)
        return nn_why(why, -ENOMEM, "memory is short");
    pthread_mutex_lock(&open_lock);
    r = open_device(host, driver_main, configuration, why);
    pthread_mutex_unlock(&open_lock);
    if (r < 0)
        return nn_error_trace(r);
    host->n_refs = 1;
    nn_quota_init(&host->quota);
    nn_journal_init(&host->journal);
    nn_host_limit_memory(host, false, nn_host_whole_memory(false));
    nn_spin_preload();
    pthread_mutex_init(&host->fence_watcher_lock, NULL);
    pthread_mutex_init(&host->tokens_lock, NULL);
    nn_weights_table_init(&host->weights, &host->quota);
    nn_reoptimizer_init(&host->reoptimizer);
    *ret_host = steal_ptr(&host);
    return 0;
}

int nn_host_open_module(const char *path, const char *configuration, struct nn_host_why *why,
                        struct nn_host **ret_host)
{
    _cleanup_(freep) char *module = NULL;
    nn_driver_main driver_main;
    int r;

    r = nn_load_module(path, why, &driver_main);
    if (r < 0)
        return nn_error_trace(r);
    /* A root that has what was granted alone may lack links, and then the path has none. */
    module = realpath(path, NULL);
    if (!module)
        module = strdup(path);
    if (!module)
        return nn_why(why, -ENOMEM, "memory is short");
    r = nn_host_open_builtin(driver_main, configuration, why, ret_host);
    if (r == 0)
        (*ret_host)->module = steal_ptr(&module);
    return nn_error_trace(r);
}

struct nn_host *nn_host_ref(struct nn_host *host)
{
    __atomic_add_fetch(&host->n_refs, 1, __ATOMIC_RELAXED);
    return host;
}

struct nn_host *nn_host_unref(struct nn_host *host)
{
    if (!host || __atomic_sub_fetch(&host->n_refs, 1, __ATOMIC_ACQ_REL) > 0)
        return NULL;
    nn_fence_watcher_free(host->watcher);
    nn_reoptimizer_done(&host->reoptimizer);
    nn_stalling_free(host);
    nn_permits_free(host->permits);
    if (host->driver.close)
        host->driver.close(host->device);
    nn_cache_close(host);
    nn_weights_table_done(&host->weights);
    nn_journal_done(&host->journal);
    nn_quota_done(&host->quota);
    free(host->module);
    pthread_mutex_destroy(&host->fence_watcher_lock);
    nn_device_queue_done(host);
    free(host);
    return NULL;
}

void nn_host_share_weights(struct nn_host *host, enum nn_host_sharing sharing)
{
    host->sharing = sharing;
}

void nn_host_take_impossible(struct nn_host *host)
{
    host->takes_impossible = true;
}

int nn_host_share_cpus(struct nn_host *host)
{
    if (host->permits)
        return 0;
    return nn_error_trace(nn_permits_new(host->services.n_cpus, NULL, &host->permits));
}

const struct nnhal_driver *nn_host_driver(const struct nn_host *host)
{
    return &host->driver;
}

uint64_t nn_host_copied_bytes(const struct nn_host *host)
{
    return __atomic_load_n(&host->copied_bytes, __ATOMIC_RELAXED);
}

/* -- sessions: ending ------------------------------------------------------------------ */

void nn_host_session_cancel(struct nn_hal *hal)
{
    struct nn_host_session *session = (struct nn_host_session *)hal;

    __atomic_store_n(&session->is_cancelled, 1, __ATOMIC_SEQ_CST);
    nn_fence_watcher_cancel(session);
    nn_reoptimizer_cancel(session);
    nn_bursts_cancel(session);
    nn_overdue_cancel(&session->is_cancelled);
    if (session->host->permits)
        nn_permits_wake(session->host->permits);
}

void nn_host_session_renew_bursts(struct nn_hal *hal)
{
    nn_bursts_renew((struct nn_host_session *)hal);
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

/* -- sessions: opening --------------------------------------------------------------- */

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
    slots[NN_QUOTA_BYTES] = UINT64_MAX;
#undef LIMIT
}

struct nn_journal *nn_host_journal(struct nn_host *host)
{
    return &host->journal;
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
    session->meter = nn_quota_meter(&session->account);
    copy_limits(session->account.limits, &options->limits);
    copy_limits(session->account.uid_limits, &options->uid_limits);
    session->hal.ops = &nn_host_session_ops;
    session->host = nn_host_ref(host);
    session->number = __atomic_add_fetch(&host->last_session, 1, __ATOMIC_RELAXED);
    session->uid = options->uid;
    session->pid = options->pid;
    session->is_service = options->is_service;
    session->listener = options->listener;
    nn_objects_init(&session->objects);
    nn_buffers_init(&session->buffers);
    sem_init(&session->idle, 0, 0);
    __atomic_store_n(&session->n_uses, 1, __ATOMIC_SEQ_CST);
    *ret_hal = &steal_ptr(&session)->hal;
    return 0;
}
