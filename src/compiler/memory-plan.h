/* SPDX-License-Identifier: Apache-2.0 */
/* memory-plan.h - where in the arena each buffer lies
 *
 * A buffer is needed from one step to another, both included. Two that are
 * needed at the same step must not overlap; others may. Buffers are placed by
 * size, largest first, each at the lowest offset where it fits. With many
 * thousands they are placed in order of time; and where so many live together that each
 * would look at thousands, each takes the place of one of about its size that has ended, which costs
 * an eighth more memory and the same time for each. The result depends on nothing else. Pure function. */
#ifndef NN_COMPILER_MEMORY_PLAN_H
#define NN_COMPILER_MEMORY_PLAN_H

#include <stddef.h>
#include <stdint.h>

#define NN_MEMORY_PLAN_ALIGNMENT 64

/* In order of time each looks at those that live. More looks than this are too many. */
#define NN_MEMORY_PLAN_MAX_LOOKS (UINT64_C(1) << 24)

struct nn_memory_buffer {
    uint64_t size;   /* in: bytes; 0 takes no room */
    uint32_t first;  /* in: step */
    uint32_t last;   /* in: step, >= first */
    uint64_t offset; /* out: multiple of NN_MEMORY_PLAN_ALIGNMENT */
};

/* nn_memory_plan() - sets offset of each buffer.
 * Returns: 0 with the arena's size, -ENOMEM (also when sizes do not fit 64 bits). */
int nn_memory_plan(struct nn_memory_buffer *buffers, uint32_t n_buffers, uint64_t *ret_bytes);

#endif
