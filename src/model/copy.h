/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - deep copies of models and their parts into an arena
 *
 * The copy shares no memory with the original, operand_values included. Pools
 * are ids and are copied as such. The original may be unchecked as long as its
 * counts are true (a decoder's result). */
#ifndef NN_MODEL_COPY_H
#define NN_MODEL_COPY_H

#include <nnhal/types.h>

#include "base/arena.h"

/* nn_model_copy() - Returns: 0, -ENOMEM. */
int nn_model_copy(struct nnhal_model *ret, const struct nnhal_model *model, struct nn_arena *arena);

/* nn_operand_copy() - dimensions, scales and extension data too. Returns: 0, -ENOMEM. */
int nn_operand_copy(struct nnhal_operand *ret, const struct nnhal_operand *operand,
                    struct nn_arena *arena);

#endif
