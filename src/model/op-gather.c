/* SPDX-License-Identifier: Apache-2.0 */
/* op-gather.c - GATHER: slabs along an axis, picked by an index tensor; SCATTER_ND, of nnhal.tflite:
 * slabs that are added up in the places that an index tensor names
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

/* Each index, along the last axis of the indices, names a slab of the output, and the updates have
 * one slab for each index. */
static int infer_scatter_nd(struct nn_infer *infer)
{
    const struct nn_infer_operand *indices = &infer->inputs[0],
                                  *updates = &infer->inputs[NN_SCATTER_UPDATES];
    uint32_t dims[NNHAL_MAX_RANK], n, depth, n_outer = indices->n_dims - 1;
    int r = nn_infer_listed_dims(infer, NN_SCATTER_SHAPE, dims, &n);

    if (r)
        return r;
    depth = indices->dims[n_outer];
    if (depth > n)
        return nn_refuse(infer->why, "indices of %u numbers into an output of rank %u", depth, n);
    if (updates->n_dims != n_outer + n - depth ||
        memcmp(updates->dims, indices->dims, n_outer * sizeof(dims[0])) != 0 ||
        memcmp(updates->dims + n_outer, dims + depth, (n - depth) * sizeof(dims[0])) != 0)
        return nn_refuse(infer->why, "the updates are not one slab of the output for each index");
    nn_infer_set_dims(infer, 0, n, dims);
    nn_infer_set_quant_like(infer, 0, NN_SCATTER_UPDATES);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_GATHER, NULL, infer_gather, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(SCATTER_ND), NULL, infer_scatter_nd,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
};

NN_OP_FAMILY(gather, functions);
