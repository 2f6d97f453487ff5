/* SPDX-License-Identifier: Apache-2.0 */
/* execution.h - a binding with a life of its own
 *
 * A reusable execution, which has an id, or the one request of a fenced
 * execution, which outlives the call that brought it and has none. */
#ifndef NN_HOST_EXECUTION_EXECUTION_H
#define NN_HOST_EXECUTION_EXECUTION_H

#include "host/execution/binding.h"

struct nn_execution {
    struct nn_object object; /* first */
    struct nn_binding binding;
    struct nn_arena arena; /* of the binding */
    bool measure;
    uint64_t loop_timeout_ns;
    struct nn_quota_charge charge;
};

/* nn_execution_new() - an execution without an id and without a charge.
 * Returns: NNHAL_NONE, or the status with *message set. */
uint32_t nn_execution_new(struct nn_call *call, uint64_t prepared_model,
                          const struct nn_binding_source *source,
                          struct nn_execution **ret_execution);

/* nn_execution_get() - a reference to the reusable execution of that id.
 * Returns: NNHAL_NONE, INVALID_ARGUMENT with *message set if there is none. */
uint32_t nn_execution_get(struct nn_call *call, uint64_t id, struct nn_execution **ret_execution);

/* nn_execution_unref() - accepts NULL; returns NULL. */
struct nn_execution *nn_execution_unref(struct nn_execution *execution);

NN_DEFINE_CLEANUP(struct nn_execution, nn_execution_unref)

/* nn_execution_check_form() - whether measure is 0 or 1, and which of the two
 * forms of a request this is. Returns: NNHAL_NONE, INVALID_ARGUMENT. */
uint32_t nn_execution_check_form(struct nn_call *call, uint64_t execution, uint64_t prepared_model,
                                 const struct nnhal_request *request, uint32_t measure);

#endif
