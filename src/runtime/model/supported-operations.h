/* SPDX-License-Identifier: Apache-2.0 */
/* supported.h - which operations of a model some devices can execute */
#ifndef NN_RUNTIME_SUPPORTED_H
#define NN_RUNTIME_SUPPORTED_H

#include "runtime/builder.h"

/* nn_supported() - one answer per operation, in the order in which the application
 * added them. A device that fails counts as one that supports nothing. On
 * failure nothing is written.
 * Returns: 0; BAD_STATE; BAD_DATA (the list of devices). */
int nn_supported(const ANeuralNetworksModel *model, const ANeuralNetworksDevice *const *devices,
                 uint32_t n_devices, struct nn_why *why, bool *ret_supported);

#endif
