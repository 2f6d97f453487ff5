/* SPDX-License-Identifier: Apache-2.0 */
/* portrait.h - a finished model as diagnostics describe it */
#ifndef NN_RUNTIME_MODEL_PORTRAIT_H
#define NN_RUNTIME_MODEL_PORTRAIT_H

#include "runtime/diagnostic.h"
#include "runtime/model/model.h"

/* nn_rt_model_describe() - fills what told says of the model; what it points to lives as long as the
 * model. */
void nn_rt_model_describe(struct nn_rt_model *finished, struct nn_rt_told *told);

#endif
