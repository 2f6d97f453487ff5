/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - two asynchronous devices, reached in the way that WAY names
 *
 * In the way "service" each is served by a process of its own. */
#ifndef NN_TESTS_QUEUE_SERVICES_H
#define NN_TESTS_QUEUE_SERVICES_H

#include "support/check-main.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OK(call) ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)

enum { N_DEVICES = 2 };

/* What may take long on a busy machine. */
enum { LIMIT_S = 30 };

extern pid_t chain_services[N_DEVICES]; /* 0: there is none */

/* chain_is_way() - whether the devices are reached so: "embedded", "private", "service". */
bool chain_is_way(const char *way);

/* chain_nap() - 2 ms. */
void chain_nap(void);

/* services_begin() - for the drivers of these names in DRIVER_FOLDER, which live as long as the test. Before
 * the devices are listed. services_end() in the end. */
void services_begin(const char *const names[N_DEVICES]);
void services_end(void);

/* services_restart() - one whose process ends or has ended, as a service manager does; in other ways
 * the runtime does. */
void services_restart(int which);

/* services_find() - its device. */
ANeuralNetworksDevice *services_find(int which);

/* services_pid() - the process that computes for a device. */
int32_t services_pid(const ANeuralNetworksDevice *device);

/* services_check_blame() - since services_count() one computation of a device has failed, and none of the others;
 * -1: no one at all. */
void services_count(struct nnhal_device_counts counts[N_DEVICES]);
void services_check_blame(const struct nnhal_device_counts before[N_DEVICES], int which);

#endif
