/* SPDX-License-Identifier: Apache-2.0 */
/* BATCH_MATMUL */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

/* Batches are not broadcast: NNAPI has equal ones only. */
static int check_shapes(const struct nn_infer *infer)
{
    const struct nn_infer_operand *x = &infer->inputs[0];
    const struct nn_infer_operand *y = &infer->inputs[1];

    if (x->n_dims != y->n_dims)
        return nn_refuse(infer->why, "inputs 0 and 1 have rank %u and %u, they must be equal",
                         x->n_dims, y->n_dims);
    for (uint32_t i = 0; i + 2 < x->n_dims; i++) {
        if (x->dims[i] != y->dims[i])
            return nn_refuse(infer->why, "dimension %u is %u in input 0 and %u in input 1", i,
                             x->dims[i], y->dims[i]);
    }
    return 0;
}

/* An adjoint operand has its last two dimensions exchanged. */
static int infer_matmul(struct nn_infer *infer)
{
    const uint32_t rank = infer->inputs[0].n_dims;
    const uint32_t *x = infer->inputs[0].dims;
    const uint32_t *y = infer->inputs[1].dims;
    uint32_t dimensions[NNHAL_MAX_RANK];
    bool adjoint_x;
    bool adjoint_y;
    int r;

    if ((r = check_shapes(infer)) || (r = nn_infer_bool(infer, NN_MATMUL_ADJOINT_X, &adjoint_x)) ||
        (r = nn_infer_bool(infer, NN_MATMUL_ADJOINT_Y, &adjoint_y)))
        return r;
    if (x[adjoint_x ? rank - 2 : rank - 1] != y[adjoint_y ? rank - 1 : rank - 2])
        return nn_refuse(infer->why, "the inner dimensions are %u and %u, they must be equal",
                         x[adjoint_x ? rank - 2 : rank - 1], y[adjoint_y ? rank - 1 : rank - 2]);
    for (uint32_t i = 0; i + 2 < rank; i++)
        dimensions[i] = x[i];
    dimensions[rank - 2] = x[adjoint_x ? rank - 1 : rank - 2];
    dimensions[rank - 1] = y[adjoint_y ? rank - 2 : rank - 1];
    nn_infer_set_dims(infer, 0, rank, dimensions);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_BATCH_MATMUL, NULL, infer_matmul, NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 4)},
};

NN_OP_FAMILY(matmul, functions);
