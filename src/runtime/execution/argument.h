/* SPDX-License-Identifier: Apache-2.0 */
/* argument.h - one input or output of an execution, as the application set it
 *
 * An argument is unset, omitted, bytes at a pointer, or bytes in a memory. It
 * knows its dimensions as model and application together say; for outputs some
 * may stay 0, unknown. length is what the tensor needs, or, while that is not
 * known, what there is room for; padding is what the application gave beyond. */
#ifndef NN_RUNTIME_EXECUTION_ARGUMENT_H
#define NN_RUNTIME_EXECUTION_ARGUMENT_H

#include "runtime/memory/memory.h"
#include "runtime/result.h"

#include <nnhal/types.h>

enum nn_rt_argument_kind {
    NN_ARGUMENT_UNSET,
    NN_ARGUMENT_OMITTED,
    NN_ARGUMENT_POINTER,
    NN_ARGUMENT_MEMORY,
};

struct nn_rt_argument {
    enum nn_rt_argument_kind kind;
    bool has_type; /* the application gave dimensions */
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    void *pointer; /* of an input: only read */
    ANeuralNetworksMemory *memory;
    uint64_t offset; /* in memory, or in the argument pool */
    uint64_t length;
    uint64_t padding;
};

/* What holds for the argument that is set. */
struct nn_rt_argument_rules {
    const struct nnhal_operand *operand;    /* of the model */
    const ANeuralNetworksOperandType *type; /* what the application says more; NULL: nothing */
    bool is_input;
    bool has_padding; /* lengths may exceed what is needed */
};

/* nn_rt_argument_set_pointer() - pointer NULL: omitted. The argument is unchanged on failure.
 * Returns: 0, BAD_DATA. */
int nn_rt_argument_set_pointer(struct nn_rt_argument *argument,
                               const struct nn_rt_argument_rules *rules, void *pointer,
                               uint64_t length, struct nn_why *why);

/* nn_rt_argument_set_memory() - the same, with bytes of a memory, which it references. */
int nn_rt_argument_set_memory(struct nn_rt_argument *argument,
                              const struct nn_rt_argument_rules *rules,
                              ANeuralNetworksMemory *memory, uint64_t offset, uint64_t length,
                              struct nn_why *why);

void nn_rt_argument_done(struct nn_rt_argument *argument);

/* nn_rt_argument_is_opaque() - it is all of a memory whose layout the device decides. */
bool nn_rt_argument_is_opaque(const struct nn_rt_argument *argument);

/* nn_rt_argument_is_specified() - every dimension of what is not omitted is known. */
bool nn_rt_argument_is_specified(const struct nn_rt_argument *argument,
                                 const struct nnhal_operand *operand);

#endif
