/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - what is known of the values of a graph without computing them
 *
 * Each operand has a shape and a quantization: those that the model declares, or
 * those that the rules of its operation say (model/infer.h). What decides a shape is
 * read from constants, and from bytes that the caller has: of the model's inputs,
 * and of results that were computed already.
 *
 * A shape is exact, a bound (some dimension is known only after execution, and this
 * is the most that it can be), or open. An exact dimension of 0 is a tensor without
 * elements. */
#ifndef NN_RUNTIME_PARTITION_VALUE_H
#define NN_RUNTIME_PARTITION_VALUE_H

#include "base/arena.h"

#include <nnhal/types.h>

#include <stdbool.h>

enum nn_rt_value_state {
    NN_RT_VALUE_OPEN,
    NN_RT_VALUE_BOUND,
    NN_RT_VALUE_EXACT,
};

/* What decides a shape is small: larger constants and inputs in memories of the application are not
 * looked at. */
#define NN_RT_VALUE_READ_BYTES 1024

struct nn_rt_value {
    enum nn_rt_value_state state;
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    const void *bytes; /* NULL: not known */
};

/* nn_rt_values_new() - one per operand of the main graph, as declared. pools: where each of
 * the model's pools is mapped, NULL where it is not. Returns: NULL if memory is short. */
struct nn_rt_value *nn_rt_values_new(const struct nnhal_model *model, const uint8_t *const *pools,
                                     struct nn_arena *arena);

/* nn_rt_values_infer() - what follows for the results of one operation; nothing where the rules
 * cannot tell, or refuse. scratch is taken from. Returns: 0, -ENOMEM. */
int nn_rt_values_infer(struct nn_rt_value *values, const struct nnhal_subgraph *graph,
                       uint32_t operation, struct nn_arena *scratch);

/* nn_rt_value_set_dims() - the shape that a value turned out to have. */
void nn_rt_value_set_dims(struct nn_rt_value *value, uint32_t n_dims, const uint32_t *dims);

/* nn_rt_value_is_empty() - it has no elements: one of its dimensions is 0, or at most that. */
bool nn_rt_value_is_empty(const struct nn_rt_value *value);

/* nn_rt_value_bytes() - its size, or the most that it can be. Returns: false if that is open,
 * or beyond 4 GiB. */
bool nn_rt_value_bytes(const struct nn_rt_value *value, uint32_t type, uint64_t *ret_bytes);

#endif
