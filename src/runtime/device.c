/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/device.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/variable.h"
#include "base/wait-limit.h"
#include "host/host.h"
#include "host/load.h"
#include "runtime/object.h"

#include <android/NeuralNetworks.h>

#include <string.h>

#define WAIT_NS UINT64_C(10000000000) /* of ANeuralNetworksDevice_wait() */

/* Between two attempts to reach a process that is gone. */
#define STEP_NS UINT64_C(10000000)

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

static int device_set_performance(ANeuralNetworksDevice *device,
                                  const struct nnhal_capabilities *capabilities)
{
    struct nn_rt_performance *performance = &device->performance;
    size_t n = capabilities->n_operand_performance;
    struct nnhal_operand_performance *rows = calloc(n + 1, sizeof(*rows));

    if (!rows)
        return nn_error_origin(-ENOMEM);
    if (n)
        memcpy(rows, capabilities->operand_performance, n * sizeof(*rows));
    performance->type = (uint32_t)device->type;
    performance->is_remote = device->way != NNHAL_WAY_EMBEDDED;
    performance->capabilities = *capabilities;
    performance->capabilities.operand_performance = rows;
    return 0;
}

/* A service is another program, which has to keep to the rules for drivers by itself: what is shown
 * on terminals and in files of settings is judged here, before anyone sees it. */
static int device_set_identity(ANeuralNetworksDevice *device,
                               const struct nn_hal_get_device_info_reply *info, struct nn_why *why)
{
    if (!info->name || !nn_driver_name_is_well_formed(info->name))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "its name is not of [a-z0-9_.-], or begins with a dot");
    if (!info->version || !nn_driver_version_is_well_formed(info->version))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "its version is not of printable ASCII");
    device->name = strdup(info->name);
    device->version = strdup(info->version);
    return device->name && device->version ? 0 : nn_error_origin(-ENOMEM);
}

static int device_fill(ANeuralNetworksDevice *device, struct nn_why *why)
{
    struct nn_hal_get_device_info_reply info = {0};
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    r = nn_fail_status(why, query_info(device->session, &info, &arena), device->path, info.message);
    if (!r)
        r = device_set_identity(device, &info, why);
    if (!r) {
        device->type = (int32_t)info.type;
        /* A newer driver is used as far as this runtime knows the HAL. */
        device->feature_level = info.feature_level < NNHAL_FEATURE_LEVEL_8 ? info.feature_level
                                                                           : NNHAL_FEATURE_LEVEL_8;
        device->n_model_cache = info.n_model_cache_files;
        device->n_data_cache = info.n_data_cache_files;
        device->pid = info.pid;
        device->has_buffers = info.has_buffers && info.feature_level >= NNHAL_FEATURE_LEVEL_4;
        r = device_set_performance(device, &info.capabilities);
        if (!r)
            r = nn_rt_device_facts_init(&device->facts, info.n_extensions, info.extensions);
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
    pthread_cond_init(&device->changed, NULL);
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
    nn_rt_device_facts_done(&device->facts);
    pthread_cond_destroy(&device->changed);
    pthread_mutex_destroy(&device->lock);
    free((void *)device->performance.capabilities.operand_performance);
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

/* -- coming back --------------------------------------------------------------------- */

static bool is_recovery_off(void)
{
    return nn_variable_is(NN_VARIABLE_RECOVERY, "off");
}

/* Who waits for a device's process, and until when. */
struct device_wait {
    ANeuralNetworksDevice *device;
    struct nn_why *why;
    uint64_t patience_ns; /* 0: as the device's recovery says */
    bool is_impatient;    /* one attempt */
    bool has_begun;       /* an attempt of its own, on another thread */
    uint64_t limit_ns;    /* the thread's */
    uint64_t end_ns;      /* of the wait for others, that limit at most; 0: not known yet */
};

/* Under the lock. An application that wants no recovery decides itself when to try again. */
static void device_note_death(ANeuralNetworksDevice *device)
{
    struct nn_rt_recovery *recovery = &device->recovery;

    nn_rt_recovery_note_death(recovery, nn_sys_now_ns());
    if (is_recovery_off())
        return;
    __atomic_store_n(&device->is_quarantined, nn_rt_recovery_is_quarantined(recovery),
                     __ATOMIC_RELAXED);
    if (nn_rt_recovery_is_quarantined(recovery))
        nn_log("runtime", NN_LOG_WARNING,
               "%s: its process died again, %d times within a minute or since it was last tried; "
               "the next attempt is in %llu ms",
               device->name, NN_RT_RECOVERY_DEATHS,
               (unsigned long long)(recovery->pause_ns / 1000000));
    else
        nn_log("runtime", NN_LOG_WARNING, "%s: its process died; starting it again", device->name);
}

/* Under the lock; objects of the dead session keep their own references to it. */
static void device_drop_dead(ANeuralNetworksDevice *device)
{
    if (!device->session || nn_rt_session_is_alive(device->session))
        return;
    device->session = nn_rt_session_unref(device->session);
    device_note_death(device);
}

#define DIED_AT_ONCE "%s: its process died as soon as it was started"

static int session_reopen(const ANeuralNetworksDevice *device, struct nn_why *why,
                          struct nn_rt_session **ret_session, int32_t *ret_pid)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    int r = open_session(device, why, &session);

    if (r)
        return r;
    if (!is_same(device, session, ret_pid))
        return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       nn_rt_session_is_alive(session)
                           ? "%s: came back as another device; start the application again"
                           : DIED_AT_ONCE,
                       device->name);
    *ret_session = steal_ptr(&session);
    return 0;
}

/* The one attempt of all threads; gives the lock up meanwhile. */
static int device_reopen(ANeuralNetworksDevice *device, struct nn_why *why)
{
    struct nn_rt_session *session = NULL;
    int32_t pid = 0;
    int r;

    device->is_opening = true;
    pthread_mutex_unlock(&device->lock);
    r = session_reopen(device, why, &session, &pid);
    pthread_mutex_lock(&device->lock);
    device->is_opening = false;
    if (!r) {
        device->session = session;
        device->pid = pid;
        nn_rt_recovery_note_return(&device->recovery);
        device_drop_dead(device);
        if (!device->session)
            r = nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT, DIED_AT_ONCE, device->name);
    } else if (r > 0 && device->way == NNHAL_WAY_PRIVATE) {
        device_note_death(device); /* it was started, and ended */
    }
    pthread_cond_broadcast(&device->changed);
    return r;
}

/* -- attempts of their own thread ------------------------------------------------------ */

static void *opening_main(void *ctx)
{
    ANeuralNetworksDevice *device = ctx;
    struct nn_why why = {0};

    pthread_mutex_lock(&device->lock);
    device->opening_result = device_reopen(device, &why);
    device->opening_why = why;
    pthread_mutex_unlock(&device->lock);
    return NULL;
}

/* A deadline may be shorter than the start of a process, which is of use to the next call all the
 * same: a thread without a deadline starts it. Returns: whether it does. */
static bool device_begin(struct device_wait *wait)
{
    ANeuralNetworksDevice *device = wait->device;
    pthread_t thread;

    if (device->way != NNHAL_WAY_PRIVATE || wait->limit_ns == NN_WAIT_UNLIMITED ||
        nn_thread_start("nn-open", opening_main, device, &thread) < 0)
        return false;
    pthread_detach(thread);
    device->is_opening = wait->has_begun = true;
    return true;
}

/* Returns: what an attempt came to, that of this call or the one that it has begun. */
static int device_attempt(struct device_wait *wait)
{
    if (!wait->has_begun)
        return device_reopen(wait->device, wait->why);
    wait->has_begun = false;
    if (wait->device->opening_result)
        *wait->why = wait->device->opening_why;
    return wait->device->opening_result;
}

/* -- waiting --------------------------------------------------------------------------- */

static void device_sleep(struct device_wait *wait, uint64_t until_ns)
{
    const struct timespec until = nn_wait_limit_timespec(until_ns);

    pthread_cond_clockwait(&wait->device->changed, &wait->device->lock, CLOCK_MONOTONIC, &until);
}

static int fail_quarantined(const struct device_wait *wait, uint64_t due_ns, uint64_t now_ns)
{
    return nn_fail(wait->why, ANEURALNETWORKS_DEAD_OBJECT,
                   "%s: its process died %d times within a minute; it is started again in %llu s, "
                   "for the call that comes then",
                   wait->device->name, NN_RT_RECOVERY_DEATHS,
                   (unsigned long long)((due_ns - now_ns) / 1000000000 + 1));
}

static int fail_late(const struct device_wait *wait, uint64_t end_ns)
{
    if (end_ns == wait->limit_ns)
        return nn_fail(wait->why, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
                       "%s: its process died, and is still being started at the deadline",
                       wait->device->name);
    return nn_fail(wait->why, ANEURALNETWORKS_DEAD_OBJECT,
                   "%s: its process died, and has not been started again in time",
                   wait->device->name);
}

/* While another thread makes the attempt: until the end of patience; one that was made for this call,
 * until the deadline. */
static int await_opening(struct device_wait *wait, uint64_t now_ns)
{
    uint64_t end_ns = wait->has_begun ? wait->limit_ns : wait->end_ns;

    if (now_ns >= end_ns)
        return fail_late(wait, end_ns);
    device_sleep(wait, end_ns);
    return 0;
}

static void set_end(struct device_wait *wait, uint64_t now_ns)
{
    wait->end_ns = wait->patience_ns
                       ? now_ns + wait->patience_ns
                       : nn_rt_recovery_end_of_patience(&wait->device->recovery, now_ns);
    if (wait->limit_ns < wait->end_ns)
        wait->end_ns = wait->limit_ns;
}

/* Waits for what has to be waited for before the next attempt.
 * Returns: 0 (look again), DEAD_OBJECT or MISSED_DEADLINE_TRANSIENT (the wait is over), or what
 * the attempt came to, after which there is nothing to wait for. */
static int device_approach(struct device_wait *wait)
{
    ANeuralNetworksDevice *device = wait->device;
    uint64_t now_ns = nn_sys_now_ns(), due_ns = nn_rt_recovery_next_attempt(&device->recovery);
    int r;

    if (!wait->end_ns)
        set_end(wait, now_ns);
    if (device->is_opening)
        return await_opening(wait, now_ns);
    if (due_ns > now_ns && !is_recovery_off() && !wait->has_begun) {
        if (due_ns > wait->end_ns)
            return fail_quarantined(wait, due_ns, now_ns);
        device_sleep(wait, due_ns);
        return 0;
    }
    if (!wait->has_begun && device_begin(wait))
        return 0;
    r = device_attempt(wait);
    if (r <= 0 || wait->is_impatient || (now_ns = nn_sys_now_ns()) >= wait->end_ns)
        return r;
    now_ns += STEP_NS;
    device_sleep(wait, now_ns < wait->end_ns ? now_ns : wait->end_ns);
    return 0;
}

static int device_await_session(struct device_wait *wait, struct nn_rt_session **ret_session)
{
    ANeuralNetworksDevice *device = wait->device;
    int r = 0;

    wait->limit_ns = nn_wait_limit_get();
    pthread_mutex_lock(&device->lock);
    do {
        device_drop_dead(device);
        if (!device->session)
            r = device_approach(wait);
    } while (!r && !device->session);
    if (!r)
        *ret_session = nn_rt_session_ref(device->session);
    pthread_mutex_unlock(&device->lock);
    return r;
}

int nn_rt_device_get_session(ANeuralNetworksDevice *device, struct nn_why *why,
                             struct nn_rt_session **ret_session)
{
    struct device_wait wait = {.device = device, .why = why, .is_impatient = is_recovery_off()};

    if (nn_rt_device_is_foreign(device))
        return nn_fail_forked(why, device->name);
    return device_await_session(&wait, ret_session);
}

int nn_rt_device_may_recover(const ANeuralNetworksDevice *device)
{
    /* An embedded driver dies with this process: there is nothing to start again. */
    if (device->way == NNHAL_WAY_EMBEDDED || nn_rt_device_is_foreign(device) || is_recovery_off())
        return ANEURALNETWORKS_DEAD_OBJECT;
    return 0;
}

void nn_rt_device_note_success(ANeuralNetworksDevice *device)
{
    if (!__atomic_load_n(&device->is_quarantined, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&device->lock);
    if (nn_rt_recovery_is_quarantined(&device->recovery))
        nn_log("runtime", NN_LOG_WARNING, "%s: works again", device->name);
    nn_rt_recovery_note_success(&device->recovery);
    __atomic_store_n(&device->is_quarantined, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&device->lock);
}

bool nn_rt_device_has_suspects(const ANeuralNetworksDevice *device)
{
    return __atomic_load_n(&device->suspects.n, __ATOMIC_RELAXED) != 0;
}

int nn_rt_device_check_request(ANeuralNetworksDevice *device, uint64_t hash, struct nn_why *why)
{
    bool is_refused;

    pthread_mutex_lock(&device->lock);
    is_refused = nn_rt_suspects_is_refused(&device->suspects, hash, nn_sys_now_ns());
    pthread_mutex_unlock(&device->lock);
    if (!is_refused)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                   "%s: its process died twice while it worked on exactly this request, which is "
                   "not tried a third time now; others are",
                   device->name);
}

void nn_rt_device_note_request(ANeuralNetworksDevice *device, const struct nn_rt_session *session,
                               uint64_t hash, bool has_died)
{
    pthread_mutex_lock(&device->lock);
    if (has_died)
        nn_rt_suspects_note_death(&device->suspects, hash, session->number, nn_sys_now_ns());
    else
        nn_rt_suspects_note_success(&device->suspects, hash);
    pthread_mutex_unlock(&device->lock);
}

int nn_rt_device_wait(ANeuralNetworksDevice *device, struct nn_why *why)
{
    _cleanup_(nn_rt_session_unrefp) struct nn_rt_session *session = NULL;
    struct device_wait wait = {.device = device, .why = why, .patience_ns = WAIT_NS};

    if (nn_rt_device_is_foreign(device))
        return nn_fail_forked(why, device->name);
    return device_await_session(&wait, &session);
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
    ret_where->pid = device->session && nn_rt_session_is_alive(device->session) ? device->pid : 0;
    pthread_mutex_unlock(&device->lock);
}

/* -- counts ----------------------------------------------------------------------------- */

static void count(uint64_t *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

void nn_rt_device_count_success(ANeuralNetworksDevice *device, bool is_help)
{
    count(&device->counts.n_computed);
    if (is_help)
        count(&device->counts.n_helped);
}

void nn_rt_device_count_failure(ANeuralNetworksDevice *device)
{
    count(&device->counts.n_failed);
}

void nn_rt_device_count_short(ANeuralNetworksDevice *device)
{
    count(&device->counts.n_short);
}

void nn_rt_device_get_counts(const ANeuralNetworksDevice *device,
                             struct nnhal_device_counts *ret_counts)
{
    *ret_counts = (struct nnhal_device_counts){
        .n_computed = __atomic_load_n(&device->counts.n_computed, __ATOMIC_RELAXED),
        .n_failed = __atomic_load_n(&device->counts.n_failed, __ATOMIC_RELAXED),
        .n_helped = __atomic_load_n(&device->counts.n_helped, __ATOMIC_RELAXED),
        .n_short = __atomic_load_n(&device->counts.n_short, __ATOMIC_RELAXED),
    };
}
