/* SPDX-License-Identifier: Apache-2.0 */
/* defaults.h - trailing arguments that say what is meant anyway
 *
 * Fourteen operations have arguments at their end that came with later levels:
 * layout, dilation, axis, alignment. One that is a constant with its default
 * value (NHWC, 1, the last axis, none) can be left out, and then the operation
 * runs on devices that are older than the argument. */
#ifndef NN_MODEL_DEFAULTS_H
#define NN_MODEL_DEFAULTS_H

#include "model/ops.h"

/* nn_operation_count_without_defaults() - how many inputs are left when trailing
 * defaults are left out. The operation was accepted by nn_operation_validate()
 * and matched signature. value() gives the bytes of an operand of the subgraph,
 * NULL if it has no constant value. */
uint32_t nn_operation_count_without_defaults(
    const struct nnhal_operation *operation, const struct nn_signature *signature,
    const void *(*value)(const void *ctx, uint32_t operand), const void *ctx);

#endif
