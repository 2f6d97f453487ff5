/* SPDX-License-Identifier: Apache-2.0 */
/* supported-operations.h - which operations of a model some devices can execute */
#ifndef NN_RUNTIME_MODEL_SUPPORTED_OPERATIONS_H
#define NN_RUNTIME_MODEL_SUPPORTED_OPERATIONS_H

#include "runtime/model/builder.h"

/* nn_rt_supported_operations_get() - one answer per operation, in the order in which the application
 * added them. A device that fails counts as one that supports nothing. An IF or WHILE that no device
 * takes is supported if the devices take its branches among them (partition/control-flow.h).
 * Returns: 0; BAD_STATE; BAD_DATA (the list of devices). */
int nn_rt_supported_operations_get(const ANeuralNetworksModel *model,
                                   const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                                   struct nn_why *why, bool *ret_supported);

#endif
