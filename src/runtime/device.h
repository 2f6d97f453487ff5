/* SPDX-License-Identifier: Apache-2.0 */
/* device.h - a device as the application sees it
 *
 * A device is a driver and the way to reach it: in this process, in a private
 * child, or in a service. Its name, version and feature level are asked once, when
 * the list of devices is made, and stay. All users of the device share its
 * session; when it has died, the next
 * use opens another, which is accepted if the same device answers.
 * Threads: any. */
#ifndef NN_RUNTIME_DEVICE_H
#define NN_RUNTIME_DEVICE_H

#include "runtime/result.h"
#include "runtime/session.h"

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
    enum nnhal_way way;
    uint32_t fork_generation;
    struct nn_host *host; /* embedded only */
    pthread_mutex_t lock; /* of what follows */
    struct nn_rt_session *session;
    int32_t pid;
    uint32_t n_recoveries; /* in a row, without a computation that succeeded */
};

/* nn_rt_device_open() - reaches a driver and asks what it is. endpoint and path are
 * copied; host is NULL unless way is embedded, and is consumed.
 * Returns: 0; below 0 if it cannot be used. */
int nn_rt_device_open(enum nnhal_way way, const char *endpoint, const char *path,
                      struct nn_host *host, struct nn_why *why, ANeuralNetworksDevice **ret_device);
ANeuralNetworksDevice *nn_rt_device_free(ANeuralNetworksDevice *device);

/* nn_rt_device_is_foreign() - whether it was opened before a fork, by the parent. */
bool nn_rt_device_is_foreign(const ANeuralNetworksDevice *device);

/* nn_rt_device_get_session() - a session for new work: the shared one, or a new one
 * if that died. The reference is the caller's.
 * Returns: 0, DEAD_OBJECT. */
int nn_rt_device_get_session(ANeuralNetworksDevice *device, struct nn_why *why,
                             struct nn_rt_session **ret_session);

/* nn_rt_device_may_recover() - whether what died with a session of this device may be
 * made again without asking the application: not with NNHAL_RECOVERY=off, and
 * not the fourth time in a row. Counts.
 * Returns: 0; DEAD_OBJECT. */
int nn_rt_device_may_recover(ANeuralNetworksDevice *device, struct nn_why *why);

/* nn_rt_device_reset_recoveries() - a computation has succeeded. */
void nn_rt_device_reset_recoveries(ANeuralNetworksDevice *device);

/* nn_rt_device_wait() - until nn_rt_device_get_session() succeeds, 10 s at most.
 * Returns: 0, DEAD_OBJECT. */
int nn_rt_device_wait(ANeuralNetworksDevice *device, struct nn_why *why);

/* nn_rt_device_get_where() - how and where it runs; the strings live as long as the device. */
void nn_rt_device_get_where(ANeuralNetworksDevice *device, struct nnhal_where *ret_where);

NN_DEFINE_CLEANUP(ANeuralNetworksDevice, nn_rt_device_free)

#endif
