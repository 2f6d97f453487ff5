/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/variable.h"
#include "host/host.h"
#include "runtime/object.h"

#include <android/NeuralNetworks.h>

#include <string.h>
#include <time.h>

#define WAIT_STEP_NS (20 * 1000 * 1000)
#define WAIT_STEPS   500

/* A driver that crashes on the same model each time is not restarted for ever. */
#define MAX_RECOVERIES 3

static int open_session(const ANeuralNetworksDevice *device, struct nn_why *why,
                        struct nn_rt_session **ret_session)
{
    switch (device->way) {
    case NNHAL_WAY_EMBEDDED:
        return nn_rt_session_embedded(device->host, ret_session);
    case NNHAL_WAY_PRIVATE:
        return nn_rt_session_private(device->endpoint, why, ret_session);
    default:
        return nn_rt_session_service(device->path, why, ret_session);
    }
}

static uint32_t query_info(struct nn_rt_session *session,
                           struct nn_hal_get_device_info_reply *reply, struct nn_arena *arena)
{
    struct nn_hal_get_device_info_args args = {0};

    return nn_hal_get_device_info(session->hal, &args, reply, arena);
}

static int device_fill(ANeuralNetworksDevice *device, struct nn_why *why)
{
    struct nn_hal_get_device_info_reply info = {0};
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    r = nn_fail_status(why, query_info(device->session, &info, &arena), device->path, info.message);
    if (!r) {
        device->name = info.name ? strdup(info.name) : NULL;
        device->version = info.version ? strdup(info.version) : NULL;
        device->type = (int32_t)info.type;
        /* A newer driver is used as far as this runtime knows the HAL. */
        device->feature_level = info.feature_level < NNHAL_FEATURE_LEVEL_8 ? info.feature_level
                                                                           : NNHAL_FEATURE_LEVEL_8;
        device->n_model_cache = info.n_model_cache_files;
        device->n_data_cache = info.n_data_cache_files;
        device->pid = info.pid;
        r = device->name && device->version ? 0 : nn_error_origin(-ENOMEM);
    }
    nn_arena_done(&arena);
    /* The device is left out of the list: no application sees a ResultCode. */
    return r > 0 ? nn_error_origin(-EPROTO) : r;
}

int nn_rt_device_open(enum nnhal_way way, const char *endpoint, const char *path,
                      struct nn_host *host, struct nn_why *why, ANeuralNetworksDevice **ret_device)
{
    _cleanup_(nn_host_unrefp) struct nn_host *owned = host;
    _cleanup_(nn_rt_device_freep) ANeuralNetworksDevice *device = NULL;
    int r;

    device = calloc(1, sizeof(*device));
    if (!device)
        return nn_error_origin(-ENOMEM);
    pthread_mutex_init(&device->lock, NULL);
    device->fork_generation = nn_fork_generation();
    device->way = way;
    device->host = steal_ptr(&owned);
    device->endpoint = strdup(endpoint ? endpoint : "");
    device->path = strdup(path ? path : "");
    if (!device->endpoint || !device->path)
        return nn_error_origin(-ENOMEM);
    r = open_session(device, why, &device->session);
    if (r)
        return nn_error_fold(r);
    r = device_fill(device, why);
    if (r)
        return nn_error_trace(r);
    *ret_device = steal_ptr(&device);
    return 0;
}

ANeuralNetworksDevice *nn_rt_device_free(ANeuralNetworksDevice *device)
{
    if (!device)
        return NULL;
    nn_rt_session_unref(device->session);
    nn_host_unref(device->host);
    pthread_mutex_destroy(&device->lock);
    free(device->name);
    free(device->version);
    free(device->endpoint);
    free(device->path);
    free(device);
    return NULL;
}

bool nn_rt_device_is_foreign(const ANeuralNetworksDevice *device)
{
    return device->fork_generation != nn_fork_generation();
}

/* Compilations rely on name, version and level: another driver behind the same path is refused. */
static bool is_same(const ANeuralNetworksDevice *device, struct nn_rt_session *session,
                    int32_t *ret_pid)
{
    struct nn_hal_get_device_info_reply info = {0};
    struct nn_arena arena;
    bool result;

    nn_arena_init(&arena, 0);
    result = query_info(session, &info, &arena) == NNHAL_NONE && info.name && info.version &&
             !strcmp(info.name, device->name) && !strcmp(info.version, device->version) &&
             info.feature_level >= device->feature_level;
    *ret_pid = info.pid;
    nn_arena_done(&arena);
    return result;
}

static int device_reopen(ANeuralNetworksDevice *device, struct nn_why *why)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    int32_t pid;
    int r;

    r = open_session(device, why, &session);
    if (r)
        return r;
    if (!is_same(device, session, &pid))
        return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       "%s: came back as another device; start the application again",
                       device->name);
    /* Objects of the dead session keep their own references to it. */
    nn_rt_session_unref(device->session);
    device->session = steal_ptr(&session);
    device->pid = pid;
    return 0;
}

int nn_rt_device_get_session(ANeuralNetworksDevice *device, struct nn_why *why,
                             struct nn_rt_session **ret_session)
{
    int r = 0;

    if (nn_rt_device_is_foreign(device))
        return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       "%s: opened before fork(); only the parent can use it", device->name);
    pthread_mutex_lock(&device->lock);
    if (!nn_rt_session_is_alive(device->session))
        r = device_reopen(device, why);
    if (!r)
        *ret_session = nn_rt_session_ref(device->session);
    pthread_mutex_unlock(&device->lock);
    return r;
}

static bool is_recovery_off(void)
{
    return nn_variable_is(NN_VARIABLE_RECOVERY, "off");
}

int nn_rt_device_may_recover(ANeuralNetworksDevice *device, struct nn_why *why)
{
    /* An embedded driver dies with this process: there is nothing to start again. */
    if (device->way == NNHAL_WAY_EMBEDDED || nn_rt_device_is_foreign(device) || is_recovery_off())
        return ANEURALNETWORKS_DEAD_OBJECT;
    if (__atomic_add_fetch(&device->n_recoveries, 1, __ATOMIC_RELAXED) > MAX_RECOVERIES)
        return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       "%s: its process died %d times in a row; it is not started again for this",
                       device->name, MAX_RECOVERIES + 1);
    nn_log("runtime", NN_LOG_WARNING, "%s: its process died; starting it again", device->name);
    return 0;
}

void nn_rt_device_reset_recoveries(ANeuralNetworksDevice *device)
{
    if (__atomic_load_n(&device->n_recoveries, __ATOMIC_RELAXED))
        __atomic_store_n(&device->n_recoveries, 0, __ATOMIC_RELAXED);
}

int nn_rt_device_wait(ANeuralNetworksDevice *device, struct nn_why *why)
{
    const struct timespec step = {.tv_nsec = WAIT_STEP_NS};
    int r = 0;

    for (int i = 0; i < WAIT_STEPS; i++) {
        _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;

        r = nn_rt_device_get_session(device, why, &session);
        if (!r || nn_rt_device_is_foreign(device))
            return r;
        nanosleep(&step, NULL);
    }
    return r;
}

void nn_rt_device_get_where(ANeuralNetworksDevice *device, struct nnhal_where *ret_where)
{
    static const char *const names[] = {"embedded", "private", "service"};

    *ret_where = (struct nnhal_where){
        .size = sizeof(*ret_where),
        .way = device->way,
        .way_name = names[device->way],
        .path = device->path,
    };
    if (nn_rt_device_is_foreign(device))
        return;
    pthread_mutex_lock(&device->lock);
    ret_where->pid = nn_rt_session_is_alive(device->session) ? device->pid : 0;
    pthread_mutex_unlock(&device->lock);
}
