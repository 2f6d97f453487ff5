/* SPDX-License-Identifier: Apache-2.0 */
/* possible.h - operations that no execution can compute, with any inputs
 *
 * A valid model may hold them: shapes that cannot be broadcast, an axis beyond the rank, a fused
 * activation that is none. NNAPI leaves them to the execution, which fails; a client that asks
 * first loses one operation and not its graph.
 * What is known of a graph's operands is kept while its operations are looked at in their order:
 * the shapes that are declared, those that follow from them, and constants of at most 4 KiB. What is not
 * known yet counts as possible. Pure functions over the owner's arrays: no memory, no I/O. */
#ifndef NN_MODEL_POSSIBLE_H
#define NN_MODEL_POSSIBLE_H

#include "model/infer.h"

/* One walk through a graph. The owner fills operands with what is declared of each and the values
 * of constants that stay as they are, and makes node: room for the operands of its largest operation. */
struct nn_possible {
    struct nn_infer_operand *operands;
    struct nn_infer_operand *node;
};

/* An operation by the indices of its operands. */
struct nn_possible_operation {
    const struct nn_op *op;
    bool is_lite; /* as in struct nn_infer */
    uint32_t n_inputs;
    const uint32_t *inputs;
    uint32_t n_outputs;
    const uint32_t *outputs;
};

/* nn_possible_judge() - an operation, which must be valid: after all whose outputs it reads, and not IF
 * or WHILE. What follows for its outputs is kept. Returns: 0: it is possible, as far as is known;
 * NN_REFUSED: it is not, why says the reason. */
int nn_possible_judge(struct nn_possible *possible, const struct nn_possible_operation *operation,
                      struct nn_why *why);

#endif
