/* SPDX-License-Identifier: Apache-2.0 */
/* constants.h - the pools that a model has its constants in
 *
 * Each is a memory of the session, referenced for as long as the driver may read
 * it. A driver that has kept what it needs elsewhere gives them back early. */
#ifndef NN_HOST_MEMORY_CONSTANTS_H
#define NN_HOST_MEMORY_CONSTANTS_H

#include "host/memory/memory.h"

struct nn_call;

/* The pools of a model, by memory and as the driver sees them. */
struct nn_constants {
    uint32_t n_pools;
    struct nn_memory **memories;
    struct nnhal_mapped_pool *mapped;
    uint64_t *sizes;
};

/* nn_constants_init() - finds the memories of a model's pools. What is allocated lives in
 * store. constants must be zero, and is to be done also on failure.
 * Returns: NNHAL_NONE, INVALID_ARGUMENT, RESOURCE_EXHAUSTED_TRANSIENT. */
uint32_t nn_constants_init(struct nn_call *call, struct nn_constants *constants,
                           const struct nnhal_model *model, struct nn_arena *store);

/* nn_constants_done() - drops the references; constants that are done have no pools. */
void nn_constants_done(struct nn_constants *constants);

/* nn_constants_can_be_in() - whether a constant may lie in that memory: the driver can
 * decode it, and it has a size. */
bool nn_constants_can_be_in(const struct nn_memory *memory);

/* nn_constants_check() - whether constants may lie in every pool.
 * Returns: NNHAL_NONE, GENERAL_FAILURE. */
uint32_t nn_constants_check(struct nn_call *call, const struct nn_constants *constants);

/* nn_constants_access() - makes all pools coherent for reading, or lets go of them.
 * Returns: NNHAL_NONE, GENERAL_FAILURE. */
uint32_t nn_constants_access(struct nn_call *call, const struct nn_constants *constants,
                             bool is_begin);

/* nn_constants_are_broken() - whether the file of a pool shrank while it was mapped. */
bool nn_constants_are_broken(const struct nn_constants *constants);

#endif
