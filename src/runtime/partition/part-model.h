/* SPDX-License-Identifier: Apache-2.0 */
/* part-model.h - some operations of a finished model as a model of its own
 *
 * What they read from elsewhere becomes an input, what is read elsewhere an output, in
 * the order that the caller gives. Of constants it has those that it reads: small ones
 * are copied, large ones stay in the memories where they are, which it references. */
#ifndef NN_RUNTIME_PARTITION_PART_MODEL_H
#define NN_RUNTIME_PARTITION_PART_MODEL_H

#include "runtime/model/model.h"
#include "runtime/partition/value.h"

/* The part; the arrays hold operations and operands of the whole, in order. */
struct nn_rt_part_spec {
    uint32_t n_operations;
    uint32_t n_inputs;
    uint32_t n_outputs;
    const uint32_t *operations;
    const uint32_t *inputs;
    const uint32_t *outputs;
    const bool *is_empty; /* per operand of the whole: operations do without it; NULL: none is */
};

/* nn_rt_model_new_part() - values: what is known of the whole's operands; shapes and quantizations
 * that are known become those of inputs and outputs.
 * The part references the whole. Returns: 0; BAD_DATA (the rules refuse it as a model); -ENOMEM. */
int nn_rt_model_new_part(struct nn_rt_model *whole, const struct nn_rt_part_spec *spec,
                         const struct nn_rt_value *values, struct nn_why *why,
                         struct nn_rt_model **ret_part);

/* nn_rt_model_get_branch() - a child of whole, whose computations are relaxed if those of whole are:
 * as in Android the settings of the model that is compiled hold for all that it refers to. The
 * reference is the caller's; it is the child itself where that has the same settings.
 * Returns: 0, -ENOMEM. */
int nn_rt_model_get_branch(const struct nn_rt_model *whole, uint32_t child, struct nn_why *why,
                           struct nn_rt_model **ret_branch);

#endif
