/* SPDX-License-Identifier: Apache-2.0 */
/* knowledge.h - what an execution knows of the values of its graph
 *
 * Where the model tells the shapes that the owner needs it is what the plan knows, and costs nothing. Where
 * they are open it begins anew with each computation: the arguments tell shapes, and the bytes that
 * decide shapes, then results do, part by part. Bytes in memories that other processes can write are
 * copied before they are judged. One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_KNOWLEDGE_H
#define NN_RUNTIME_PARTITION_KNOWLEDGE_H

#include "runtime/execution/binding.h"
#include "runtime/partition/plan.h"

struct nn_rt_knowledge {
    const struct nn_rt_plan *plan;
    bool is_open;
    struct nn_arena *memory;    /* of copies */
    struct nn_rt_value *values; /* per operand */
    uint8_t **inputs;           /* copies of small inputs in memories, made when needed */
};

/* nn_rt_knowledge_init() - plan is borrowed, arrays are taken from memory. is_open: of the shapes that are
 * needed, those of values between parts or of outputs. Returns: 0, -ENOMEM. */
int nn_rt_knowledge_init(struct nn_rt_knowledge *knowledge, const struct nn_rt_plan *plan,
                         bool is_open, struct nn_arena *memory);

/* nn_rt_knowledge_begin() - what these arguments tell of all parts. Returns: 0, -ENOMEM. */
int nn_rt_knowledge_begin(struct nn_rt_knowledge *knowledge,
                          const struct nn_rt_arguments *arguments);

/* nn_rt_knowledge_infer() - what follows for the results of a part from what is known now.
 * Returns: 0, -ENOMEM. */
int nn_rt_knowledge_infer(struct nn_rt_knowledge *knowledge, const struct nn_rt_plan_part *part);

#endif
