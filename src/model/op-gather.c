/* SPDX-License-Identifier: Apache-2.0 */
/* op-gather.c - GATHER: slabs along an axis, picked by an index tensor
 *
 * The indices' values decide nothing here; the kernel checks each. */
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

#include <string.h>

static int infer_gather(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0],
                                  *indices = &infer->inputs[NN_GATHER_INDICES];
    uint32_t dims[2 * NNHAL_MAX_RANK], axis, n;
    int r;

    if ((r = nn_infer_axis(infer, NN_GATHER_AXIS, input->n_dims, &axis)) ||
        (r = nn_infer_rank(infer, NN_GATHER_INDICES, 1, NNHAL_MAX_RANK)))
        return r;
    n = input->n_dims - 1 + indices->n_dims;
    if (n > NNHAL_MAX_RANK)
        return nn_refuse(infer->why, "the output would have rank %u, at most %d is allowed", n,
                         NNHAL_MAX_RANK);
    memcpy(dims, input->dims, axis * sizeof(dims[0]));
    memcpy(dims + axis, indices->dims, indices->n_dims * sizeof(dims[0]));
    memcpy(dims + axis + indices->n_dims, input->dims + axis + 1,
           (input->n_dims - axis - 1) * sizeof(dims[0]));
    nn_infer_set_dims(infer, 0, n, dims);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_GATHER, NULL, infer_gather, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(gather, functions);
