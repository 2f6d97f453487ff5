/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include "base/error.h"
#include "base/log.h"
#include "host/caching/cache.h"
#include "host/execution/fence-watcher.h"
#include "host/load.h"
#include "host/services.h"
#include "host/session.h"
#include "host/execution/stalling.h"
#include "model/types.h"
#include "shm/spin.h"

#include <string.h>

/* A driver may keep its configuration between main() and open(): nobody else
 * comes between the two. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;

/* What main() and open() have in common with a failure of either: the driver's
 * own sentence, if it gave one. */
static const char *reason(void)
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
    nn_services_clear();
    status = host->driver.open(&host->services, &host->device);
    if (status != NNHAL_NONE)
        return nn_why(why, -ENODEV, "driver %s cannot open its device (status %u): %s",
                      host->driver.name, status, reason());
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
    nn_spin_preload();
    pthread_mutex_init(&host->fence_watcher_lock, NULL);
    pthread_mutex_init(&host->tokens_lock, NULL);
    nn_weights_table_init(&host->weights);
    nn_reoptimizer_init(&host->stages);
    nn_model_store_init(&host->model_store);
    *ret_host = steal_ptr(&host);
    return 0;
}

int nn_host_open_module(const char *path, const char *configuration, struct nn_host_why *why,
                        struct nn_host **ret_host)
{
    nn_driver_main driver_main;
    int r;

    r = nn_load_module(path, why, &driver_main);
    if (r < 0)
        return nn_error_trace(r);
    return nn_error_trace(nn_host_open_builtin(driver_main, configuration, why, ret_host));
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
    nn_reoptimizer_done(&host->stages);
    nn_stalling_free(host);
    if (host->driver.close)
        host->driver.close(host->device);
    nn_cache_close(host);
    nn_model_store_done(&host->model_store);
    nn_weights_table_done(&host->weights);
    nn_quota_done(&host->quota);
    pthread_mutex_destroy(&host->fence_watcher_lock);
    free(host);
    return NULL;
}

void nn_host_share_weights(struct nn_host *host, enum nn_host_sharing sharing)
{
    host->sharing = sharing;
}

const struct nnhal_driver *nn_host_driver(const struct nn_host *host)
{
    return &host->driver;
}

uint64_t nn_host_copied_bytes(const struct nn_host *host)
{
    return __atomic_load_n(&host->copied_bytes, __ATOMIC_RELAXED);
}
