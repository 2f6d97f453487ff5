/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h - how a prepared model is made
 *
 *     check --> compile --> share and keep
 *
 * A model is checked before anything is spent on it, then charged. What the driver
 * compiled is shared with other clients and kept in the client's files, as far as
 * that can be. */
#ifndef NN_HOST_EXECUTION_PREPARE_H
#define NN_HOST_EXECUTION_PREPARE_H

#include "host/call.h"
#include "host/execution/prepared.h"

/* nn_prepare_check_model() - whether the model is valid and its operations are known at
 * the driver's feature level. Returns: NNHAL_NONE with *facts set, INVALID_ARGUMENT,
 * RESOURCE_EXHAUSTED_TRANSIENT. */
uint32_t nn_prepare_check_model(struct nn_call *call, const struct nnhal_model *model,
                                const struct nn_constants *constants, struct nn_model_facts *facts);

/* nn_prepare_model_bytes() - about what a driver keeps of a valid model: its values and operands,
 * and once more the pools, which it may pack. */
uint64_t nn_prepare_model_bytes(const struct nnhal_model *model,
                                const struct nn_constants *constants);

#endif
