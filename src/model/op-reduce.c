/* SPDX-License-Identifier: Apache-2.0 */
/* MEAN, REDUCE_ALL, _ANY, _MAX, _MIN, _PROD, _SUM, ARGMAX, ARGMIN; of nnhal.tflite ARG_MAX and ARG_MIN */
#include "model/geometry.h"
#include "model/infer.h"

#include "base/cleanup.h"

/* Output 0 is input 0 without the reduced dimensions, or with 1 in their place. */
static void set_reduced(struct nn_infer *infer, uint32_t reduced, bool keeps)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dimensions[NNHAL_MAX_RANK];
    uint32_t n = 0;

    for (uint32_t i = 0; i < input->n_dims; i++) {
        if (!(reduced & 1u << i))
            dimensions[n++] = input->dims[i];
        else if (keeps)
            dimensions[n++] = 1;
    }
    if (!n)
        dimensions[n++] = 1;
    nn_infer_set_dims(infer, 0, n, dimensions);
    nn_infer_set_quant_like(infer, 0, 0);
}

/* The axes of input 0 that input i lists, as bits; from either end, and more than once. */
static int read_axes(const struct nn_infer *infer, uint32_t i, uint32_t *ret_axes)
{
    uint32_t rank = infer->inputs[0].n_dims;
    uint32_t axes = 0;
    const void *values;
    uint64_t n;
    int r;

    if ((r = nn_infer_rank(infer, i, 1, 1)) || (r = nn_infer_i32s(infer, i, &values, &n)))
        return r;
    for (uint64_t k = 0; k < n; k++) {
        int32_t axis = nn_infer_i32_at(values, k);
        uint32_t d;

        if (!nn_axis_resolve(axis, rank, &d))
            return nn_refuse(infer->why, "axis %d is outside a rank of %u", axis, rank);
        axes |= 1u << d;
    }
    *ret_axes = axes;
    return 0;
}

static int infer_reduce(struct nn_infer *infer)
{
    bool keeps;
    uint32_t axes;
    int r;

    r = read_axes(infer, 1, &axes);
    if (!r)
        r = nn_infer_bool(infer, 2, &keeps);
    if (!r)
        set_reduced(infer, axes, keeps);
    return r;
}

/* MEAN says with an integer whether it keeps dimensions. */
static int infer_mean(struct nn_infer *infer)
{
    int32_t keeps;
    uint32_t axes;
    int r;

    r = read_axes(infer, 1, &axes);
    if (!r)
        r = nn_infer_i32(infer, 2, &keeps);
    if (!r)
        set_reduced(infer, axes, keeps > 0);
    return r;
}

/* The result is an index: it has no quantization, though input 0 may have one. */
static int infer_arg(struct nn_infer *infer)
{
    uint32_t axis;
    int r;

    r = nn_infer_axis(infer, 1, infer->inputs[0].n_dims, &axis);
    if (r)
        return r;
    set_reduced(infer, 1u << axis, false);
    nn_infer_set_quant(infer, 0, 0.0f, 0);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_MEAN, NULL, infer_mean, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_REDUCE_ALL, NULL, infer_reduce, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_REDUCE_ANY, NULL, infer_reduce, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_REDUCE_MAX, NULL, infer_reduce, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_REDUCE_MIN, NULL, infer_reduce, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_REDUCE_PROD, NULL, infer_reduce, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_REDUCE_SUM, NULL, infer_reduce, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 4)},
    {NNHAL_OP_ARGMAX, NULL, infer_arg, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_ARGMIN, NULL, infer_arg, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(ARG_MAX), NULL, infer_arg, NN_INFER_NOT_EMPTY},
    {NN_TFLITE_OP(ARG_MIN), NULL, infer_arg, NN_INFER_NOT_EMPTY},
};

NN_OP_FAMILY(reduce, functions);
