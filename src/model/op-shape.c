/* SPDX-License-Identifier: Apache-2.0 */
/* op-shape.c - operations that give a tensor another shape, or join tensors
 *
 * RESHAPE, SQUEEZE, EXPAND_DIMS and TRANSPOSE keep the elements;
 * CONCATENATION, PACK and SPLIT put tensors together and take them apart; RANK,
 * FILL and SHAPE (of nnhal.tflite) are what graphs that compute shapes are made of. */
#include "model/geometry.h"
#include "model/infer.h"
#include "model/operands.h"

#include "base/cleanup.h"

#include <string.h>

/* -- RESHAPE ----------------------------------------------------------------- */

/* Puts what is left of the elements where the target has its one -1. */
static int fill_wildcard(struct nn_infer *infer, uint64_t count, uint64_t known, int32_t wildcard,
                         uint32_t *dims)
{
    if (wildcard < 0)
        return known == count ? 0
                              : nn_refuse(infer->why, "the shape has %llu elements, the input %llu",
                                          (unsigned long long)known, (unsigned long long)count);
    if (known == 0 || count % known)
        return nn_refuse(infer->why, "no dimension in the place of -1 makes %llu elements",
                         (unsigned long long)count);
    dims[wildcard] = (uint32_t)(count / known);
    return 0;
}

/* The dimensions as asked for; *ret_known is the product of those that are given. */
static int read_target(struct nn_infer *infer, const void *values, uint64_t n, uint32_t *dims,
                       uint64_t *ret_known, int32_t *ret_wildcard)
{
    uint64_t known = 1;

    *ret_wildcard = -1;
    for (uint64_t i = 0; i < n; i++) {
        int32_t dim = nn_infer_i32_at(values, i);

        if (dim == -1 && *ret_wildcard < 0) {
            *ret_wildcard = (int32_t)i;
            continue;
        }
        if (dim <= 0)
            return nn_refuse(infer->why, "dimension %u of the shape is %d", (unsigned)i, dim);
        dims[i] = (uint32_t)dim;
        known *= dims[i]; /* at most 2^32 * 2^31: both factors were checked */
        if (known > UINT32_MAX)
            return nn_refuse(infer->why, "the shape has too many elements");
    }
    *ret_known = known;
    return 0;
}

static int infer_reshape(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK] = {0};
    uint64_t n, count, known = 0;
    const void *values;
    int32_t wildcard;
    int r;

    /* NNAPI's text says rank 1; its reference counts elements, and TensorFlow Lite emits [1, n]. */
    if ((r = nn_infer_rank(infer, 1, 1, NNHAL_MAX_RANK)) ||
        (r = nn_infer_i32s(infer, 1, &values, &n)))
        return r;
    if (n > NNHAL_MAX_RANK)
        return nn_refuse(infer->why, "the shape has rank %llu, at most %d is allowed",
                         (unsigned long long)n, NNHAL_MAX_RANK);
    r = read_target(infer, values, n, dims, &known, &wildcard);
    if (r)
        return r;
    if (!nn_dims_product(input->n_dims, input->dims, &count))
        return nn_refuse(infer->why, "the input has too many elements");
    r = fill_wildcard(infer, count, known, wildcard, dims);
    if (r)
        return r;
    return nn_infer_moved(infer, (uint32_t)n, dims);
}

/* -- SQUEEZE, EXPAND_DIMS ---------------------------------------------------- */

/* Bit d: dimension d goes. */
static int squeezed_axes(struct nn_infer *infer, uint32_t *ret_axes)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    const void *values;
    uint64_t n;
    int r;

    *ret_axes = 0;
    if (infer->inputs[1].is_omitted) {
        for (uint32_t d = 0; d < input->n_dims && d < NNHAL_MAX_RANK; d++)
            *ret_axes |= (uint32_t)(input->dims[d] == 1) << d;
        return 0;
    }
    r = nn_infer_i32s(infer, 1, &values, &n);
    if (r)
        return r;
    for (uint64_t i = 0; i < n; i++) {
        int32_t axis = nn_infer_i32_at(values, i);
        uint32_t d;

        if (!nn_axis_resolve(axis, input->n_dims, &d))
            return nn_refuse(infer->why, "axis %d of a tensor of rank %u", axis, input->n_dims);
        if (input->dims[d] != 1)
            return nn_refuse(infer->why, "dimension %u is %u, only 1 can be squeezed", d,
                             input->dims[d]);
        *ret_axes |= UINT32_C(1) << d;
    }
    return 0;
}

/* A scalar's worth of elements keeps one dimension: rank 0 would be a scalar. */
static int infer_squeeze(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], axes, n = 0;
    int r;

    r = squeezed_axes(infer, &axes);
    if (r)
        return r;
    for (uint32_t d = 0; d < input->n_dims; d++)
        if (!(axes >> d & 1))
            dims[n++] = input->dims[d];
    if (n == 0)
        dims[n++] = 1;
    return nn_infer_moved(infer, n, dims);
}

/* The axis is one of the output's, so that -1 is behind the last dimension. */
static int infer_expand_dims(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], rank = input->n_dims, axis;
    int r;

    r = nn_infer_axis(infer, 1, rank + 1, &axis);
    if (r)
        return r;
    if (rank >= NNHAL_MAX_RANK)
        return nn_refuse(infer->why, "the output would have rank %u, at most %d is allowed",
                         rank + 1, NNHAL_MAX_RANK);
    memcpy(dims, input->dims, axis * sizeof(dims[0]));
    dims[axis] = 1;
    memcpy(dims + axis + 1, input->dims + axis, (rank - axis) * sizeof(dims[0]));
    return nn_infer_moved(infer, rank + 1, dims);
}

/* -- TRANSPOSE --------------------------------------------------------------- */

static int read_permutation(struct nn_infer *infer, uint32_t rank, uint32_t *perm)
{
    const void *values;
    uint32_t seen = 0;
    uint64_t n;
    int r;

    if (infer->inputs[1].is_omitted) {
        for (uint32_t d = 0; d < rank; d++)
            perm[d] = rank - 1 - d;
        return 0;
    }
    r = nn_infer_i32s(infer, 1, &values, &n);
    if (r)
        return r;
    if (n != rank || infer->inputs[1].n_dims != 1)
        return nn_refuse(infer->why, "the permutation has %llu entries, the input rank %u",
                         (unsigned long long)n, rank);
    for (uint32_t d = 0; d < rank; d++) {
        int32_t axis = nn_infer_i32_at(values, d);

        if (axis < 0 || (uint32_t)axis >= rank || seen >> axis & 1)
            return nn_refuse(infer->why, "entry %u of the permutation is %d", d, axis);
        seen |= UINT32_C(1) << axis;
        perm[d] = (uint32_t)axis;
    }
    return 0;
}

static int infer_transpose(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], perm[NNHAL_MAX_RANK];
    int r;

    r = read_permutation(infer, input->n_dims, perm);
    if (r)
        return r;
    for (uint32_t d = 0; d < input->n_dims; d++)
        dims[d] = input->dims[perm[d]];
    return nn_infer_moved(infer, input->n_dims, dims);
}

/* -- CONCATENATION, PACK, SPLIT ---------------------------------------------- */

/* Inputs that are quantized differently from the output came with level 3. */
static int validate_concatenation(struct nn_op_context *context)
{
    const struct nnhal_operand *output = nn_op_output(context, 0);

    if (output->type != NNHAL_TENSOR_QUANT8_ASYMM)
        return 0;
    for (uint32_t i = 0; i + 1 < context->operation->n_inputs; i++) {
        const struct nnhal_operand *input = nn_op_input(context, i);

        if (input->scale != output->scale || input->zero_point != output->zero_point)
            nn_op_need_level(context, 3);
    }
    return 0;
}

/* Whether all dimensions of two inputs but those on the axis agree. */
static bool agree_beside(const struct nn_infer_operand *a, const struct nn_infer_operand *b,
                         uint32_t axis)
{
    if (a->n_dims != b->n_dims)
        return false;
    for (uint32_t d = 0; d < a->n_dims; d++)
        if (d != axis && a->dims[d] != b->dims[d])
            return false;
    return true;
}

/* Parts may be empty; the axis counts from the front only, unlike most others. */
static int infer_concatenation(struct nn_infer *infer)
{
    const struct nn_infer_operand *first = &infer->inputs[0];
    uint32_t n_parts = infer->n_inputs - 1, dims[NNHAL_MAX_RANK];
    uint64_t sum = 0;
    int32_t axis;
    int r;

    r = nn_infer_i32(infer, n_parts, &axis);
    if (r)
        return r;
    if (axis < 0 || (uint32_t)axis >= first->n_dims)
        return nn_refuse(infer->why, "axis %d of tensors of rank %u", axis, first->n_dims);
    for (uint32_t i = 0; i < n_parts; i++) {
        if (!agree_beside(first, &infer->inputs[i], (uint32_t)axis))
            return nn_refuse(infer->why, "input %u does not fit input 0 beside axis %d", i, axis);
        sum += infer->inputs[i].dims[axis];
    }
    if (sum > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    memcpy(dims, first->dims, sizeof(dims));
    dims[axis] = (uint32_t)sum;
    nn_infer_set_dims(infer, 0, first->n_dims, dims);
    return 0;
}

static int validate_pack(struct nn_op_context *context)
{
    const struct nnhal_operand *output = nn_op_output(context, 0), *first = nn_op_input(context, 1);
    uint32_t rank = 0; /* of the inputs, while unknown 0 */

    for (uint32_t i = 1; i < context->operation->n_inputs; i++) {
        const struct nnhal_operand *input = nn_op_input(context, i);

        if (nn_type_is_quantized(first->type) &&
            nn_op_check_same_quant(context, input, output, "inputs and output"))
            return NN_REFUSED;
        if (rank && input->n_dimensions && input->n_dimensions != rank)
            return nn_refuse(context->why, "input %u has rank %u, others have %u", i,
                             input->n_dimensions, rank);
        if (input->n_dimensions)
            rank = input->n_dimensions;
    }
    if (rank && output->n_dimensions && output->n_dimensions != rank + 1)
        return nn_refuse(context->why, "the output has rank %u, but the inputs have %u",
                         output->n_dimensions, rank);
    return 0;
}

/* The axis may be behind the last one, where the new dimension goes. */
static int infer_pack(struct nn_infer *infer)
{
    const struct nn_infer_operand *first = &infer->inputs[1];
    uint32_t dims[NNHAL_MAX_RANK], rank = first->n_dims;
    int32_t axis;
    int r;

    if ((r = nn_infer_rank(infer, 1, 1, NNHAL_MAX_RANK - 1)) || (r = nn_infer_i32(infer, 0, &axis)))
        return r;
    if (axis < 0 || (uint32_t)axis > rank)
        return nn_refuse(infer->why, "axis %d between tensors of rank %u", axis, rank);
    for (uint32_t i = 2; i < infer->n_inputs; i++)
        if (!agree_beside(first, &infer->inputs[i], UINT32_MAX))
            return nn_refuse(infer->why, "inputs 1 and %u have different shapes", i);
    memcpy(dims, first->dims, (size_t)axis * sizeof(dims[0]));
    dims[axis] = infer->n_inputs - 1;
    memcpy(dims + axis + 1, first->dims + axis, (rank - (uint32_t)axis) * sizeof(dims[0]));
    nn_infer_set_dims(infer, 0, rank + 1, dims);
    nn_infer_set_quant_like(infer, 0, 1);
    return 0;
}

static int infer_split(struct nn_infer *infer)
{
    const struct nn_infer_operand *input = &infer->inputs[0];
    uint32_t dims[NNHAL_MAX_RANK], axis;
    int32_t n_splits;
    int r;

    if ((r = nn_infer_axis(infer, NN_SPLIT_AXIS, input->n_dims, &axis)) ||
        (r = nn_infer_i32(infer, 2, &n_splits)))
        return r;
    if (n_splits <= 0 || (uint32_t)n_splits != infer->n_outputs)
        return nn_refuse(infer->why, "%d splits for %u outputs", n_splits, infer->n_outputs);
    if (input->dims[axis] % infer->n_outputs)
        return nn_refuse(infer->why, "dimension %u is %u, which %d splits do not divide", axis,
                         input->dims[axis], n_splits);
    memcpy(dims, input->dims, sizeof(dims));
    dims[axis] /= infer->n_outputs;
    for (uint32_t i = 0; i < infer->n_outputs; i++) {
        nn_infer_set_dims(infer, i, input->n_dims, dims);
        nn_infer_set_quant_like(infer, i, 0);
    }
    return 0;
}

/* -- RANK, FILL, SHAPE ------------------------------------------------------- */

static int infer_rank(struct nn_infer *infer)
{

    nn_infer_set_dims(infer, 0, 0, NULL);
    return 0;
}

static int infer_fill(struct nn_infer *infer)
{
    uint32_t dims[NNHAL_MAX_RANK], n;
    int r = nn_infer_listed_dims(infer, 0, dims, &n);

    if (!r)
        nn_infer_set_dims(infer, 0, n, dims);
    return r;
}

static int infer_shape(struct nn_infer *infer)
{
    nn_infer_set_dims(infer, 0, 1, &infer->inputs[0].n_dims);
    return 0;
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_RESHAPE, NULL, infer_reshape, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_SQUEEZE, NULL, infer_squeeze, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_EXPAND_DIMS, NULL, infer_expand_dims, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_TRANSPOSE, NULL, infer_transpose, 0},
    {NNHAL_OP_CONCATENATION, validate_concatenation, infer_concatenation, NN_INFER_RANK(1, 4)},
    {NNHAL_OP_PACK, validate_pack, infer_pack, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_SPLIT, NULL, infer_split, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_RANK, NULL, infer_rank, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, NNHAL_MAX_RANK)},
    {NNHAL_OP_FILL, NULL, infer_fill, NN_INFER_NOT_EMPTY | NN_INFER_RANK(1, 1)},
    {NN_TFLITE_OP(SHAPE), NULL, infer_shape, NN_INFER_RANK(1, NNHAL_MAX_RANK)},
};

NN_OP_FAMILY(shape, functions);
