/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - what the user says of devices and partitions: lists of devices, NNHAL_PARTITION, NNHAL_PARTITIONS */
#ifndef NN_RUNTIME_PARTITION_SETTINGS_H
#define NN_RUNTIME_PARTITION_SETTINGS_H

#include "runtime/device.h"

/* More parts than this start more often than they compute. */
#define NN_RT_SETTINGS_MOST_PARTS 16

enum nn_rt_partitioning_mode {
    NN_RT_PARTITIONING_AUTO, /* parts where they pay; failures are computed elsewhere */
    NN_RT_PARTITIONING_OFF,  /* one device computes the whole model */
    NN_RT_PARTITIONING_ONLY, /* a part that fails is computed elsewhere, never the whole */
    NN_RT_PARTITIONING_WITHOUT_FALLBACK, /* nothing is computed elsewhere */
};

enum nn_rt_partitioning_mode nn_rt_settings_partitioning(void);

/* nn_rt_settings_max_parts() - how many parts a plan may have: 1 to NN_RT_SETTINGS_MOST_PARTS. */
uint32_t nn_rt_settings_max_parts(void);

/* nn_rt_settings_choose_devices() - leaves in devices those that a list allows (device-list.h), in
 * its order: names, separated by commas; "-NAME" takes one away. Without any name that is not taken
 * away all others stay. list NULL: all stay. Returns: whether it gives an order. */
bool nn_rt_settings_choose_devices(const char *list, ANeuralNetworksDevice **devices,
                                   uint32_t *n_devices);

#endif
