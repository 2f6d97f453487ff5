/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/registry.h"

#include "base/jobs.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/thread.h"
#include "base/variable.h"
#include "base/wait-limit.h"
#include "host/host.h"
#include "ipc/discovery.h"
#include "runtime/builtin.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Jobs mostly wait, for dependencies and for devices, so there may be many more of them than CPUs. */
#define N_THREADS  64
#define MAX_QUEUED 65536

/* Each prepares a model again, which all computations of a compilation wait for. */
#define N_RENEWALS 16

/* A list that something is missing from for want of memory is made again. */
#define N_ATTEMPTS 2

/* All services together: one that is stopped would hold every program that lists devices. Each private
 * child, and all together, as they start side by side: drivers may take seconds to open theirs. */
#define SERVICES_NS UINT64_C(1000000000)
#define CHILDREN_NS UINT64_C(20000000000)

/* That start at a time; each is waited for by a thread. */
#define N_CHILDREN 16

enum mode {
    MODE_AUTO,
    MODE_SERVICE,
    MODE_PRIVATE,
    MODE_EMBEDDED,
};

static struct nn_rt_chains chains = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct nn_rt_registry registry = {.chains = &chains};
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t is_complete; /* atomic */
static bool is_short;        /* something was left out for want of memory */

/* Sentences about what was left out, and why. */
static struct {
    char **sentences;
    uint32_t n;
} left_out;

static enum mode read_mode(void)
{
    static const char *const names[] = {"auto", "service", "private", "embedded", NULL};
    int chosen = nn_variable_choose(NN_VARIABLE_MODE, names);

    return chosen >= 0 ? (enum mode)chosen : MODE_AUTO;
}

/* Short of memory it is forgotten: the log has it. */
__attribute__((__format__(__printf__, 2, 3))) static void registry_remember(enum nn_log_level level,
                                                                            const char *format, ...)
{
    char text[512], **sentences;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nn_log("runtime", level, "%s", text);
    sentences = realloc(left_out.sentences, (left_out.n + 1) * sizeof(*sentences));
    if (!sentences)
        return;
    left_out.sentences = sentences;
    sentences[left_out.n] = strdup(text);
    left_out.n += sentences[left_out.n] != NULL;
}

static void registry_forget(void)
{
    while (left_out.n)
        free(left_out.sentences[--left_out.n]);
    free(left_out.sentences);
    left_out.sentences = NULL;
}

/* Consumes device. */
static void registry_add(ANeuralNetworksDevice *device)
{
    _cleanup_(nn_rt_device_freep) ANeuralNetworksDevice *owned = device;
    ANeuralNetworksDevice **devices;

    for (uint32_t i = 0; i < registry.n_devices; i++)
        if (!strcmp(registry.devices[i]->name, owned->name)) {
            registry_remember(NN_LOG_INFO, "%s (%s) is left out: %s has that name", owned->name,
                              owned->path, registry.devices[i]->path);
            return;
        }
    /* Short of memory the device is left out: an application can do with fewer. */
    devices = realloc(registry.devices, (registry.n_devices + 1) * sizeof(*devices));
    if (!devices) {
        is_short = true;
        return;
    }
    registry.devices = devices;
    devices[registry.n_devices++] = steal_ptr(&owned);
}

/* Why something was left out: a driver that cannot be used stays out, memory comes back. */
static void registry_leave_out(const char *what, int r, const char *why)
{
    is_short |= r == -ENOMEM;
    registry_remember(NN_LOG_WARNING, "%s is left out: %s", what,
                      why[0] ? why : strerror(r < 0 ? -r : 0));
}

/* What opening a device came to. */
struct opening {
    int r;
    ANeuralNetworksDevice *device;
    struct nn_why why;
};

/* Consumes host. endpoint NULL: linked in. */
static void opening_run(struct opening *opening, enum nnhal_way way,
                        const struct nn_discovery_entry *endpoint, struct nn_host *host)
{
    opening->r = nn_rt_device_open(way, endpoint ? endpoint->name : NULL,
                                   endpoint ? endpoint->path : NULL, host, &opening->why,
                                   &opening->device);
}

static void registry_take(const struct opening *opening, const char *what)
{
    if (opening->r)
        registry_leave_out(what, opening->r, opening->why.text);
    else
        registry_add(opening->device);
}

/* Consumes host. */
static void open_device(enum nnhal_way way, const struct nn_discovery_entry *endpoint,
                        struct nn_host *host, bool is_reference)
{
    struct opening opening = {.device = NULL};

    opening_run(&opening, way, endpoint, host);
    if (!opening.r)
        opening.device->is_reference = is_reference;
    registry_take(&opening, endpoint ? endpoint->path : "built in");
}

static void open_module(const struct nn_discovery_entry *endpoint)
{
    struct nn_host_why why = {0};
    struct nn_host *host;
    int r;

    r = nn_host_open_module(endpoint->path, NULL, &why, &host);
    if (r)
        registry_leave_out(endpoint->path, r, why.text);
    else
        open_device(NNHAL_WAY_EMBEDDED, endpoint, host, false);
}

static void open_builtin(const struct nn_builtin *builtin)
{
    struct nn_host_why why = {0};
    struct nn_host *host;
    int r;

    r = nn_host_open_builtin(builtin->driver_main, builtin->configuration, &why, &host);
    if (r) {
        registry_leave_out("a driver that is linked in", r, why.text);
        return;
    }
    if (builtin->is_reference)
        nn_host_take_impossible(host);
    open_device(NNHAL_WAY_EMBEDDED, NULL, host, builtin->is_reference);
}

/* Each has an equal part of the time that those before it have left; i is its number. */
static void open_service(const struct nn_discovery *places, size_t i, uint64_t end_ns)
{
    uint64_t now_ns = nn_sys_now_ns(), left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
    uint64_t limit_ns = nn_wait_limit_narrow(now_ns + left_ns / (places->n_entries - i));

    open_device(NNHAL_WAY_SERVICE, &places->entries[i], NULL, false);
    nn_wait_limit_restore(limit_ns);
}

static void discover_services(void)
{
    struct nn_discovery places = {0};
    uint64_t end_ns;
    int r;

    r = nn_discovery_init_sockets(&places);
    if (r < 0) {
        is_short |= r == -ENOMEM;
        return;
    }
    end_ns = nn_sys_now_ns() + SERVICES_NS;
    for (size_t i = 0; i < places.n_entries; i++)
        open_service(&places, i, end_ns);
    nn_discovery_done(&places);
}

/* A driver is named by its file, and so is its service: no need to load what
 * a service offers already. */
static bool is_offered(const char *endpoint)
{
    for (uint32_t i = 0; i < registry.n_devices; i++)
        if (!strcmp(registry.devices[i]->endpoint, endpoint))
            return true;
    return false;
}

/* -- private children, side by side ------------------------------------------------- */

struct children {
    const struct nn_discovery *places;
    struct opening *openings; /* as many */
    uint64_t end_ns;
    size_t n_begun; /* atomic */
};

static void *children_run(void *ctx)
{
    struct children *children = ctx;
    uint64_t limit_ns = nn_wait_limit_narrow(children->end_ns);
    size_t i;

    while ((i = __atomic_fetch_add(&children->n_begun, 1, __ATOMIC_RELAXED)) <
           children->places->n_entries)
        opening_run(&children->openings[i], NNHAL_WAY_PRIVATE, &children->places->entries[i], NULL);
    nn_wait_limit_restore(limit_ns);
    return NULL;
}

/* A driver that takes long to open takes nothing of the others' time. This thread opens some, too, and all
 * of them where no other could be started. */
static void open_children(const struct nn_discovery *places)
{
    _cleanup_(freep) struct opening *openings = calloc(places->n_entries + 1, sizeof(*openings));
    struct children children = {places, openings, nn_sys_now_ns() + CHILDREN_NS, 0};
    pthread_t threads[N_CHILDREN];
    size_t n_threads = 0;

    if (!openings) {
        is_short = true;
        return;
    }
    while (n_threads + 1 < places->n_entries && n_threads < N_CHILDREN &&
           nn_thread_start("nn-open", children_run, &children, &threads[n_threads]) == 0)
        n_threads++;
    children_run(&children);
    while (n_threads > 0)
        pthread_join(threads[--n_threads], NULL);
    for (size_t i = 0; i < places->n_entries; i++)
        registry_take(&openings[i], places->entries[i].path);
}

static void discover_drivers(enum mode mode)
{
    struct nn_discovery places = {0};
    int r = nn_discovery_init_drivers(&places);

    if (r < 0) {
        is_short |= r == -ENOMEM;
        return;
    }
    if (mode == MODE_PRIVATE)
        open_children(&places);
    for (size_t i = 0; i < places.n_entries && mode != MODE_PRIVATE; i++)
        if (is_offered(places.entries[i].name))
            registry_remember(NN_LOG_DEBUG, "%s is left out: a service offers it",
                              places.entries[i].path);
        else
            open_module(&places.entries[i]);
    nn_discovery_done(&places);
}

/* What is missing where the mode is a promise that could not be kept. */
static void check_mode(enum mode mode)
{
    static const struct {
        enum nnhal_way way;
        const char *text;
    } promises[] = {
        [MODE_SERVICE] = {NNHAL_WAY_SERVICE,
                          "NNHAL_MODE=service, and no service answers: start one "
                          "(nnhal serve), or unset NNHAL_MODE"},
        [MODE_PRIVATE] = {NNHAL_WAY_PRIVATE, "NNHAL_MODE=private, and no driver runs in a process "
                                             "of its own: see NNHAL_DRIVER_PATH and NNHAL_HOST"},
        [MODE_EMBEDDED] = {NNHAL_WAY_EMBEDDED, "NNHAL_MODE=embedded, and no driver was found: see "
                                               "NNHAL_DRIVER_PATH"},
    };

    registry.why = (struct nn_why){0};
    if (mode == MODE_AUTO)
        return;
    for (uint32_t i = 0; i < registry.n_devices; i++)
        if (registry.devices[i]->way == promises[mode].way && !registry.devices[i]->is_reference)
            return;
    snprintf(registry.why.text, sizeof(registry.why.text), "%s%s%s", promises[mode].text,
             left_out.n ? "; " : "", left_out.n ? left_out.sentences[left_out.n - 1] : "");
}

static void registry_discover(void)
{
    enum mode mode = read_mode();

    if (nn_jobs_new("nn-compute", N_THREADS, MAX_QUEUED, &registry.jobs) < 0)
        registry.jobs = NULL;
    if (nn_jobs_new("nn-renew", N_RENEWALS, MAX_QUEUED, &registry.renewals) < 0)
        registry.renewals = NULL;
    /* Services first: a name belongs to the first device that has it, and what several processes
     * share is better in one. */
    if (mode == MODE_AUTO || mode == MODE_SERVICE)
        discover_services();
    if (mode != MODE_SERVICE)
        discover_drivers(mode);
    for (const struct nn_builtin *builtin = nn_builtins; builtin->driver_main; builtin++)
        open_builtin(builtin);
    check_mode(mode);
}

/* No device has been shown to the application yet: a list that is not whole is made again. */
static void registry_try_discover(void)
{
    is_short = false;
    registry_forget();
    registry_discover();
    if (!is_short) {
        registry.is_whole = true;
        __atomic_store_n(&is_complete, 1, __ATOMIC_RELEASE);
        return;
    }
    while (registry.n_devices)
        nn_rt_device_free(registry.devices[--registry.n_devices]);
    free(registry.devices);
    registry.devices = NULL;
    registry.jobs = nn_jobs_free(registry.jobs);
    registry.renewals = nn_jobs_free(registry.renewals);
}

const struct nn_rt_registry *nn_rt_registry_get(void)
{
    static const struct nn_rt_registry nothing;

    if (__atomic_load_n(&is_complete, __ATOMIC_ACQUIRE))
        return &registry;
    pthread_mutex_lock(&registry_lock);
    for (uint32_t i = 0; i < N_ATTEMPTS && !is_complete; i++)
        registry_try_discover();
    pthread_mutex_unlock(&registry_lock);
    return __atomic_load_n(&is_complete, __ATOMIC_ACQUIRE) ? &registry : &nothing;
}

size_t nn_rt_registry_tell_left_out(uint32_t index, char *text, size_t n_bytes)
{
    const char *sentence;
    size_t n;

    nn_rt_registry_get();
    /* A list that is not whole is made again, perhaps now. */
    pthread_mutex_lock(&registry_lock);
    sentence = index < left_out.n ? left_out.sentences[index] : "";
    n = strlen(sentence);
    if (text && n_bytes)
        snprintf(text, n_bytes, "%s", sentence);
    pthread_mutex_unlock(&registry_lock);
    return n;
}

int nn_rt_registry_check_mode(struct nn_why *why)
{
    const struct nn_rt_registry *list = nn_rt_registry_get();

    if (!list->why.text[0])
        return 0;
    *why = list->why;
    return ANEURALNETWORKS_UNAVAILABLE_DEVICE;
}

static bool registry_has(const struct nn_rt_registry *list, const ANeuralNetworksDevice *device)
{
    for (uint32_t i = 0; i < list->n_devices; i++)
        if (list->devices[i] == device)
            return true;
    return false;
}

int nn_rt_registry_check_list(const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                              struct nn_why *why)
{
    const struct nn_rt_registry *list = nn_rt_registry_get();

    if (!n_devices)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "the list of devices is empty");
    for (uint32_t i = 0; i < n_devices; i++) {
        if (!registry_has(list, devices[i]))
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "element %u is no device of this library",
                           i);
        for (uint32_t j = 0; j < i; j++)
            if (devices[j] == devices[i])
                return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s is listed twice",
                               devices[i]->name);
    }
    return 0;
}
