/* SPDX-License-Identifier: Apache-2.0 */
/* op-select.c - SELECT and TOPK_V2 */
#include "model/infer.h"

#include "base/cleanup.h"

#include <string.h>

/* No broadcasting: condition and both operands have one shape. */
static int infer_select(struct nn_infer *infer)
{
    const struct nn_infer_operand *condition = &infer->inputs[0];

    for (uint32_t i = 1; i < 3; i++) {
        const struct nn_infer_operand *input = &infer->inputs[i];

        if (input->n_dims != condition->n_dims ||
            memcmp(input->dims, condition->dims, input->n_dims * sizeof(input->dims[0])))
            return nn_refuse(infer->why, "input %u and the condition have different shapes", i);
    }
    nn_infer_set_dims_like(infer, 0, 1);
    return 0;
}

/* The indices, output 1, are integers without a scale. */
static int infer_topk(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], last;
    int32_t k;
    int r;

    r = nn_infer_i32(infer, 1, &k);
    if (r)
        return r;
    last = input->n_dims - 1;
    if (k < 1 || (uint32_t)k > input->dims[last])
        return nn_refuse(infer->why, "the largest %d of %u elements", k, input->dims[last]);
    memcpy(dims, input->dims, sizeof(dims));
    dims[last] = (uint32_t)k;
    nn_infer_set_dims(infer, 0, input->n_dims, dims);
    nn_infer_set_dims(infer, 1, input->n_dims, dims);
    nn_infer_set_quant_like(infer, 0, 0);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_SELECT, NULL, infer_select, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
    {NNHAL_OP_TOPK_V2, NULL, infer_topk, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
};

NN_OP_FAMILY(select, functions);
