/* SPDX-License-Identifier: Apache-2.0 */
/* op-activation.c - RELU, RELU1, RELU6
 *
 * The shape of the input; zero-sized inputs are taken. */
#include "model/infer.h"

#include "base/cleanup.h"

/* infer_clamp() - the output's quantisation is the input's. */
static int infer_clamp(struct nn_infer *infer)
{
    int r = nn_infer_rank(infer, 0, 1, 4);

    if (r != 0)
        return r;
    nn_infer_set_like(infer, 0, 0);
    nn_infer_set_quant_like(infer, 0, 0);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_RELU, NULL, infer_clamp},
    {NNHAL_OP_RELU1, NULL, infer_clamp},
    {NNHAL_OP_RELU6, NULL, infer_clamp},
};

NN_OP_FAMILY(activation, functions);
