/* SPDX-License-Identifier: Apache-2.0 */
/* AVERAGE_POOL_2D, L2_POOL_2D, MAX_POOL_2D */
#include "model/window.h"

#include "base/cleanup.h"

static int infer_pool(struct nn_infer *infer)
{
    struct nn_window_2d window;
    int r;

    if ((r = nn_infer_activation(infer, nn_infer_window_operands(infer).activation)) ||
        (r = nn_window_2d_read(infer, &window)))
        return r;
    nn_window_2d_set_output(infer, &window);
    nn_infer_set_quant_like(infer, 0, 0);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_AVERAGE_POOL_2D, NULL, infer_pool, 0},
    {NNHAL_OP_L2_POOL_2D, NULL, infer_pool, 0},
    {NNHAL_OP_MAX_POOL_2D, NULL, infer_pool, 0},
};

NN_OP_FAMILY(pool, functions);
