/* SPDX-License-Identifier: Apache-2.0 */
/* extensions.h - types and operations that are a driver's own
 *
 * A model names extensions and gives each a prefix, which its types and operations carry. A driver
 * says which extensions it has, and how large the elements of their operand types are; only the
 * driver knows what its operations take. It gets no model with an extension that it lacks, and no
 * value of another size than it said. */
#ifndef NN_HOST_EXECUTION_EXTENSIONS_H
#define NN_HOST_EXECUTION_EXTENSIONS_H

#include "host/call.h"
#include "host/session.h"
#include "model/validate.h"

/* nn_extensions_allow() - whether the driver has the extensions that an operation and its operands
 * belong to. */
bool nn_extensions_allow(const struct nn_host *host, const struct nnhal_model *model,
                         const struct nnhal_subgraph *subgraph,
                         const struct nnhal_operation *operation);

/* nn_extensions_check() - judges a valid model that is to be prepared: the driver has all extensions
 * that it uses, and constants of their types have the right size. Returns: NNHAL_NONE,
 * NNHAL_INVALID_ARGUMENT. */
uint32_t nn_extensions_check(struct nn_call *call, const struct nnhal_model *model);

/* nn_extensions_size_io() - sets the sizes of elements for nn_io_bytes(). */
void nn_extensions_size_io(const struct nn_host *host, const struct nnhal_model *model,
                           struct nn_model_io *io);

/* nn_hints_check() - whether attributes are of extensions that the driver has.
 * Returns: NNHAL_NONE, NNHAL_INVALID_ARGUMENT. */
uint32_t nn_hints_check(struct nn_call *call, uint32_t n_hints, const struct nnhal_hint *hints);

/* nn_hints_copy() - with their bytes. Returns: NULL: memory is short. */
const struct nnhal_hint *nn_hints_copy(uint32_t n_hints, const struct nnhal_hint *hints,
                                       struct nn_arena *arena);

#endif
