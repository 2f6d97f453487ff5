/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - a device as the application sees it
 *
 * A device is a driver and the way to reach it: in this process, in a private
 * child, or in a service. Its name, version and feature level are asked once, when
 * the list of devices is made, and stay. All users of the device share its
 * session; when it has died, the next use opens another, which is accepted if
 * the same device answers. One thread opens, without the lock, and the others
 * wait; how long, and when it is tried again, recovery.h says. For a call with a
 * deadline that is a thread of its own, which the call can leave.
 * Threads: any. */
#ifndef NN_RUNTIME_DEVICE_H
#define NN_RUNTIME_DEVICE_H

#include "runtime/device-facts.h"
#include "runtime/partition/cost.h"
#include "runtime/recovery.h"
#include "runtime/result.h"
#include "runtime/session.h"
#include "runtime/suspects.h"

#include <nnhal/ext.h>

#include <pthread.h>

struct ANeuralNetworksDevice {
    char *name;
    char *version;
    char *endpoint; /* the name by which its service or driver is found; "": linked in */
    char *path;     /* socket or module; "": linked in */
    int32_t type;
    int64_t feature_level;
    uint32_t n_model_cache; /* files that a cached model takes; both 0: it has no cache */
    uint32_t n_data_cache;
    bool has_buffers; /* its driver makes buffers of its own (memory domains) */
    struct nn_rt_device_facts facts;
    enum nnhal_way way;
    bool is_reference;                    /* as builtin.h says */
    struct nn_rt_performance performance; /* what is measured of it: under the lock */
    bool has_looked;                      /* for figures that were kept; under the lock */
    uint32_t fork_generation;
    struct nn_host *host;          /* embedded only */
    pthread_mutex_t lock;          /* of what follows */
    pthread_cond_t changed;        /* there is a session, or the attempt to open one has ended */
    struct nn_rt_session *session; /* NULL: it has died */
    bool is_opening;               /* a thread tries to */
    int opening_result;            /* what the last thread that does nothing else came to */
    struct nn_why opening_why;
    int32_t pid;
    struct nn_rt_recovery recovery;
    struct nn_rt_suspects suspects;
    uint32_t is_quarantined;           /* as recovery says; atomic, for those without the lock */
    struct nnhal_device_counts counts; /* atomic */
};

/* nn_rt_device_open() - reaches a driver and asks what it is. endpoint and path are
 * copied; host is NULL unless way is embedded, and is consumed.
 * Returns: 0; below 0 if it cannot be used. */
int nn_rt_device_open(enum nnhal_way way, const char *endpoint, const char *path,
                      struct nn_host *host, struct nn_why *why, ANeuralNetworksDevice **ret_device);

/* nn_rt_device_free() - of a device that was never listed; one that was lives as long as the process,
 * since threads that start its child refer to it. Returns: NULL. */
ANeuralNetworksDevice *nn_rt_device_free(ANeuralNetworksDevice *device);

/* nn_rt_device_is_foreign() - whether it was opened before a fork, by the parent. */
bool nn_rt_device_is_foreign(const ANeuralNetworksDevice *device);

/* nn_rt_device_get_session() - a session for new work: the shared one, or a new one
 * if that died. The reference is the caller's. Blocks while the driver's process is
 * started or gone: until the thread's limit (base/wait-limit.h), 2 s after the death at
 * most, and not at all with NNHAL_RECOVERY=off. A call with a limit that begins the start
 * of a private child waits until that limit; the child goes on starting then, on a thread
 * of its own.
 * Returns: 0, DEAD_OBJECT, MISSED_DEADLINE_TRANSIENT, -errno. */
int nn_rt_device_get_session(ANeuralNetworksDevice *device, struct nn_why *why,
                             struct nn_rt_session **ret_session);

/* nn_rt_device_may_recover() - whether what died with a session of this device may be
 * made again without asking the application: not with NNHAL_RECOVERY=off.
 * Returns: 0; DEAD_OBJECT. */
int nn_rt_device_may_recover(const ANeuralNetworksDevice *device);

/* nn_rt_device_note_success() - a computation has succeeded. */
void nn_rt_device_note_success(ANeuralNetworksDevice *device);

/* nn_rt_device_count_success(), nn_rt_device_count_failure() - a computation has ended; is_help: it
 * was another device's, which failed. */
void nn_rt_device_count_success(ANeuralNetworksDevice *device, bool is_help);
void nn_rt_device_count_failure(ANeuralNetworksDevice *device);

/* nn_rt_device_count_short() - a computation has ended for an output that was too small. */
void nn_rt_device_count_short(ANeuralNetworksDevice *device);

/* nn_rt_device_get_counts() - all of it but size. */
void nn_rt_device_get_counts(const ANeuralNetworksDevice *device,
                             struct nnhal_device_counts *ret_counts);

/* nn_rt_device_has_suspects() - whether a request has to be hashed and asked about at all. */
bool nn_rt_device_has_suspects(const ANeuralNetworksDevice *device);

/* nn_rt_device_check_request() - Returns: 0; DEAD_OBJECT: a request of this hash was on its way
 * twice when the process died, and is not tried a third time now. */
int nn_rt_device_check_request(ANeuralNetworksDevice *device, uint64_t hash, struct nn_why *why);

/* nn_rt_device_note_request() - it has succeeded in the session, or the process died under it. */
void nn_rt_device_note_request(ANeuralNetworksDevice *device, const struct nn_rt_session *session,
                               uint64_t hash, bool has_died);

/* nn_rt_device_wait() - until nn_rt_device_get_session() succeeds, 10 s at most.
 * Returns: 0, DEAD_OBJECT. */
int nn_rt_device_wait(ANeuralNetworksDevice *device, struct nn_why *why);

/* nn_rt_device_get_where() - how and where it runs; the strings live as long as the device. */
void nn_rt_device_get_where(ANeuralNetworksDevice *device, struct nnhal_where *ret_where);

NN_DEFINE_CLEANUP(ANeuralNetworksDevice, nn_rt_device_free)

#endif
