/* SPDX-License-Identifier: Apache-2.0 */
/* verdicts.h - what devices say of the operations of a model
 *
 * A device is asked once; what it says is kept with the model. Where the model is newer than the
 * device, it is asked about the operations that are not (level-slice.h). Threads: any. */
#ifndef NN_RUNTIME_PARTITION_VERDICTS_H
#define NN_RUNTIME_PARTITION_VERDICTS_H

#include "runtime/model/model.h"

/* nn_rt_verdicts_get() - of a device: TAKEN, UNSUPPORTED or TOO_OLD of enum nnhal_verdict, and
 * why. Blocks for the device.
 * Returns: 0 with *ret_answer borrowed from the model; DEAD_OBJECT and what the device
 * answers; -ENOMEM. */
int nn_rt_verdicts_get(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       struct nn_why *why, const struct nn_rt_answer **ret_answer);

#endif
