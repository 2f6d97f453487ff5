/* SPDX-License-Identifier: Apache-2.0 */
/* assembly.h - from what was built to what is executed
 *
 * Sorts the operations, lays out the constants, links the subgraphs and validates
 * the result. Its cost is linear in the model's size, and nothing recurses. */
#ifndef NN_RUNTIME_MODEL_ASSEMBLY_H
#define NN_RUNTIME_MODEL_ASSEMBLY_H

#include "runtime/model/builder.h"

/* nn_rt_builder_finish() - Returns: 0; BAD_STATE; BAD_DATA (the model can never be finished);
 * -ENOMEM and other fatal errors (it can be tried again). */
int nn_rt_builder_finish(ANeuralNetworksModel *model, struct nn_why *why);

#endif
