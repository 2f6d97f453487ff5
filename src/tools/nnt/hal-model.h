/* SPDX-License-Identifier: Apache-2.0 */
/* hal-model.h - a model of vectors in the HAL's terms
 *
 * For asking a session directly, past the runtime. Every constant is copied
 * into operand_values; the arrays live as long as the model in the file. */
#ifndef NN_TOOLS_NNT_HAL_MODEL_H
#define NN_TOOLS_NNT_HAL_MODEL_H

#include "file.h"

#include <nnhal/types.h>

/* nnt_hal_model_make() - Returns: false if memory is short. */
bool nnt_hal_model_make(struct nnt_file *file, const struct nnt_model *model,
                        struct nnhal_model *ret);

#endif
