/* SPDX-License-Identifier: Apache-2.0 */
/* model-values.h - what a model tells of its values without arguments
 *
 * Shapes, and the bytes that decide shapes: small constants are read, also those in memories of the
 * application, which are copied. Any thread. */
#ifndef NN_RUNTIME_PARTITION_MODEL_VALUES_H
#define NN_RUNTIME_PARTITION_MODEL_VALUES_H

#include "runtime/model/model.h"
#include "runtime/partition/value.h"

/* nn_rt_model_values_new() - one per operand of the main graph; copies lie in arena.
 * Returns: 0, -ENOMEM. */
int nn_rt_model_values_new(const struct nn_rt_model *finished, struct nn_arena *arena,
                           struct nn_rt_value **ret_values);

/* nn_rt_model_values_keep() - copies the copies: values are those of nn_rt_model_values_new(), whose arena
 * need not live longer than this one now. Returns: 0, -ENOMEM. */
int nn_rt_model_values_keep(const struct nn_rt_model *finished, struct nn_arena *arena,
                            struct nn_rt_value *values);

#endif
