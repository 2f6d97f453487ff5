/* SPDX-License-Identifier: Apache-2.0 */
/* registry.h - the devices of this process
 *
 * The list is made when it is first asked for, by NNHAL_MODE (secure_getenv):
 *
 *     auto      services, then drivers that no service offers, in this process
 *     service   services only
 *     private   drivers, each in a child of its own
 *     embedded  drivers in this process
 *
 * and in every mode what is linked in comes last. A name belongs to the first
 * device that has it. What cannot be used is left out, with a line in the log:
 * all services together have 1 s to answer, and each child 20 s to open its driver,
 * side by side with the others. A driver in this process has no limit.
 * A mode other than auto is a promise: where no driver was reached as it says,
 * nothing is computed by the reference unless the application lists it. */
#ifndef NN_RUNTIME_REGISTRY_H
#define NN_RUNTIME_REGISTRY_H

#include "runtime/device.h"

#include <pthread.h>

struct nn_jobs;

/* Of all chains of fenced computations (runtime/execution/chain.h). */
struct nn_rt_chains {
    pthread_mutex_t lock; /* of what is before each link, and of what a look leaves in it */
    uint64_t n_looks;
};

struct nn_rt_registry {
    uint32_t n_devices;
    ANeuralNetworksDevice **devices;
    bool is_whole;        /* false: there was no memory for it */
    struct nn_why why;    /* not empty: no driver was reached as NNHAL_MODE asks */
    struct nn_jobs *jobs; /* for computations in the background; NULL: no memory */
    /* For models that are prepared again: the threads of jobs may all wait for one. NULL: no memory. */
    struct nn_jobs *renewals;
    struct nn_rt_chains *chains; /* not NULL where devices are */
};

/* nn_rt_registry_get() - makes the list the first time, which may block. Short of memory it is
 * empty, and made again by the next call. Never NULL. */
const struct nn_rt_registry *nn_rt_registry_get(void);

/* nn_rt_registry_tell_left_out() - copies the sentence about what was left out of the list, one each from
 * index 0 on. Returns: its whole length; 0: there are no more. */
size_t nn_rt_registry_tell_left_out(uint32_t index, char *text, size_t n_bytes);

/* nn_rt_registry_check_mode() - whether a driver was reached in the way that NNHAL_MODE names.
 * Returns: 0, UNAVAILABLE_DEVICE. */
int nn_rt_registry_check_mode(struct nn_why *why);

/* nn_rt_registry_check_list() - an application's list of devices, NULLs already refused:
 * not empty, all known, none twice. Returns: 0, BAD_DATA. */
int nn_rt_registry_check_list(const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                              struct nn_why *why);

#endif
