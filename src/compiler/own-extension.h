/* SPDX-License-Identifier: Apache-2.0 */
/* own-extension.h - nnhal.tflite, from the codes of a model to those of a driver
 *
 * Types and operations of an extension carry a prefix, which each process chooses. A graph has the
 * codes of src/model in their place, NN_TYPE_... and NN_TFLITE_OP(), so that inference, kernels,
 * plans and caches know nothing of prefixes. The host leaves an extension's operations to the
 * driver, which judges here what the host judges of Android's: after that they are as any other. */
#ifndef NN_COMPILER_OWN_EXTENSION_H
#define NN_COMPILER_OWN_EXTENSION_H

#include "model/why.h"

#include <nnhal/types.h>

#include <stdbool.h>

/* What stands for a type or an operation that is none: no kernel takes it. */
#define NN_OWN_NONE UINT32_MAX

/* What a driver's table says of the extension. */
extern const struct nnhal_extension nn_own_extension;

/* nn_own_type() - the driver's code of an operand type; Android's are as they are. NN_OWN_NONE: of
 * another extension, or not in this one. */
uint32_t nn_own_type(const struct nnhal_model *model, uint32_t type);

/* nn_own_types_fit() - whether all operand types of extensions in a valid model are this one's, and
 * constants of theirs have the bytes that their shapes need: what the host judges, for a model that
 * comes from elsewhere. */
bool nn_own_types_fit(const struct nnhal_model *model);

/* nn_own_operation() - the driver's code of an operation; Android's are as they are. NN_OWN_NONE with
 * a sentence: of another extension, not in this one, or with operands that it does not take.
 * The model has been validated. Returns: 0, -ENOMEM. */
int nn_own_operation(const struct nnhal_model *model, const struct nnhal_subgraph *subgraph,
                     const struct nnhal_operation *operation, struct nn_why *why,
                     uint32_t *ret_operation);

#endif
