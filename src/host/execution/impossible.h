/* SPDX-License-Identifier: Apache-2.0 */
/* impossible.h - operations of a model that no execution can compute, by the shapes and constants that it tells
 *
 * A driver that takes such an operation fails to prepare the model, or to execute it, and its client
 * loses the whole graph. The device that stands in for NNAPI's own takes them (host.h). */
#ifndef NN_HOST_EXECUTION_IMPOSSIBLE_H
#define NN_HOST_EXECUTION_IMPOSSIBLE_H

#include "host/execution/refusals.h"

/* nn_impossible_refuse() - sets supported to 0 for each such operation of the main graph of a valid
 * model, with a sentence unless the driver has refused it with its own. Constants count where they are
 * in the model itself; control flow and extensions are left to the driver. Takes memory of the
 * refusals' arena. Returns: 0, -ENOMEM. */
int nn_impossible_refuse(const struct nnhal_model *model, struct nn_refusals *refusals,
                         uint8_t *supported);

#endif
