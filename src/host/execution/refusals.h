/* SPDX-License-Identifier: Apache-2.0 */
/* refusals.h - why a driver does not support operations of a model
 *
 * The driver says it with services->refuse() while it is asked what it supports, and the host
 * adds reasons of its own. Different sentences are kept once, NNHAL_MAX_REASONS at most, and each
 * is cut to a plain line of NNHAL_MAX_REASON_BYTES. What no room is left for, also for want
 * of memory, has no sentence: that is no failure. */
#ifndef NN_HOST_EXECUTION_REFUSALS_H
#define NN_HOST_EXECUTION_REFUSALS_H

#include "base/arena.h"
#include "hal/hal.h"

struct nn_refusals {
    struct nn_arena *arena; /* of what follows */
    uint32_t n_operations;
    uint32_t n_reasons;
    uint8_t *whys; /* per operation: which reason, from 1; 0: none. NULL: there is no reason */
    struct nnhal_reason *reasons;
};

/* nn_refusals_init() - takes no memory. The arena outlives the refusals. */
void nn_refusals_init(struct nn_refusals *refusals, uint32_t n_operations, struct nn_arena *arena);

/* nn_refusals_add() - the sentence of an operation, in place of the one that it has. An operation that
 * there is not, and an empty text, are ignored. */
void nn_refusals_add(struct nn_refusals *refusals, uint32_t operation, const char *text);

/* nn_refusals_find() - the sentence of an operation; NULL: it has none. */
const char *nn_refusals_find(const struct nn_refusals *refusals, uint32_t operation);

/* nn_refusals_tell() - puts them into a reply, but for those of operations that are supported. */
void nn_refusals_tell(struct nn_refusals *refusals,
                      struct nn_hal_get_supported_operations_reply *reply);

#endif
