/* SPDX-License-Identifier: Apache-2.0 */
#include "model/possible.h"

#include "model/types.h"

/* Any number of operations may read one constant of any size, and no deadline ends a judgement. */
enum { MAX_VALUE_BYTES = 4096 };

static const void *short_value(const struct nn_infer_operand *operand)
{
    uint64_t n_bytes;

    if (!nn_operand_bytes(operand->type, operand->n_dims, operand->dims, &n_bytes))
        return NULL;
    return n_bytes <= MAX_VALUE_BYTES ? operand->value : NULL;
}

/* Returns: whether inference can begin: it needs the shape of each input. */
static bool take_operands(struct nn_possible *possible,
                          const struct nn_possible_operation *operation)
{
    for (uint32_t i = 0; i < operation->n_inputs; i++) {
        possible->node[i] = possible->operands[operation->inputs[i]];
        if (!possible->node[i].is_known && !possible->node[i].is_omitted)
            return false;
        possible->node[i].value = short_value(&possible->node[i]);
    }
    for (uint32_t i = 0; i < operation->n_outputs; i++)
        possible->node[operation->n_inputs + i] = possible->operands[operation->outputs[i]];
    return true;
}

/* Of a shape that is known only after execution, what is declared stays. */
static void keep_outputs(struct nn_possible *possible,
                         const struct nn_possible_operation *operation)
{
    for (uint32_t i = 0; i < operation->n_outputs; i++) {
        const struct nn_infer_operand *out = &possible->node[operation->n_inputs + i];

        if (!out->late_dims)
            possible->operands[operation->outputs[i]] = *out;
    }
}

int nn_possible_judge(struct nn_possible *possible, const struct nn_possible_operation *operation,
                      struct nn_why *why)
{
    struct nn_infer infer = {.op = operation->op,
                             .is_lite = operation->is_lite,
                             .n_inputs = operation->n_inputs,
                             .n_outputs = operation->n_outputs,
                             .inputs = possible->node,
                             .outputs = possible->node + operation->n_inputs,
                             .why = why};
    int r;

    if (!take_operands(possible, operation))
        return 0;
    r = nn_infer(&infer);
    if (r == 0)
        keep_outputs(possible, operation);
    return r == NN_REFUSED ? r : 0;
}
