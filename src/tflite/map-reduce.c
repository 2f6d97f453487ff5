/* SPDX-License-Identifier: Apache-2.0 */
/* map-reduce.c - sums, means, extremes along axes */
#include "tflite/map.h"

#include <errno.h>
#include <string.h>

/* The axes as a list; a lone one is stored without a dimension. */
static uint32_t axes_operand(struct tfl_builder *b)
{
    int32_t values[TFL_MAX_RANK];
    uint32_t n = 0;

    if (!tfl_read_i32(b, 1, values, TFL_MAX_RANK, &n))
        tfl_fail(b, -ENOTSUP, "the axes are not constant");
    return tfl_i32s(b, values, n);
}

/* MEAN says with an integer whether it keeps dimensions. */
static void add_reduction(struct tfl_builder *b, int32_t type, uint32_t result, uint32_t input,
                          uint32_t axes, bool keeps)
{
    uint32_t keep = type == ANEURALNETWORKS_MEAN ? tfl_i32(b, keeps) : tfl_bool(b, keeps);

    tfl_add1(b, type, result, input, axes, keep);
}

/* -- ranks above 4 -- */

/* The axes of input 0 as bits. */
static uint32_t read_axes(struct tfl_builder *b)
{
    int32_t values[TFL_MAX_RANK], rank = (int32_t)tfl_in(b, 0)->n_dimensions;
    uint32_t n = 0, axes = 0;

    if (!tfl_read_i32(b, 1, values, TFL_MAX_RANK, &n))
        tfl_fail(b, -ENOTSUP, "the axes are not constant");
    for (uint32_t i = 0; i < n; i++) {
        int32_t axis = values[i] < 0 ? values[i] + rank : values[i];

        if (axis < 0 || axis >= rank)
            tfl_fail(b, -ENOTSUP, "axis %d of a tensor of rank %d", values[i], rank);
        else
            axes |= 1U << axis;
    }
    return axes;
}

/* Joins neighbors that are reduced, or kept, together. Returns the axes among the dimensions of form,
 * which become these groups. */
static uint32_t join_dimensions(struct tfl_builder *b, struct tfl_form *form, uint32_t axes)
{
    uint32_t n = 0, joined = 0;

    for (uint32_t d = 0; d < form->n_dimensions; d++) {
        uint32_t is_reduced = axes >> d & 1;

        if (n && (joined >> (n - 1) & 1) == is_reduced) {
            tfl_multiply(b, &form->dimensions[n - 1], form->dimensions[d]);
            continue;
        }
        form->dimensions[n] = form->dimensions[d];
        joined |= is_reduced << n++;
    }
    form->n_dimensions = n;
    return joined;
}

/* The input with its reduced dimensions behind the others, in their order; form and axes become its. */
static uint32_t move_axes_back(struct tfl_builder *b, uint32_t input, struct tfl_form *form,
                               uint32_t *axes)
{
    int32_t order[TFL_MAX_RANK];
    uint32_t dimensions[TFL_MAX_RANK], n = 0, n_kept = 0, moved;

    for (uint32_t is_reduced = 0; is_reduced < 2; is_reduced++) {
        for (uint32_t d = 0; d < form->n_dimensions; d++)
            if ((*axes >> d & 1) == is_reduced) {
                order[n] = (int32_t)d;
                dimensions[n++] = form->dimensions[d];
            }
        if (!is_reduced)
            n_kept = n;
    }
    memcpy(form->dimensions, dimensions, n * sizeof(*dimensions));
    *axes = ((1U << n) - 1) & ~((1U << n_kept) - 1);
    moved = tfl_temporary(b, form);
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_TRANSPOSE), moved, input,
             tfl_i32s(b, order, n));
    return moved;
}

/* Drops the axes from the dimensions, and lists them. */
static uint32_t drop_axes(struct tfl_builder *b, struct tfl_form *form, uint32_t axes)
{
    int32_t list[TFL_MAX_RANK];
    uint32_t n = 0, n_axes = 0;

    for (uint32_t d = 0; d < form->n_dimensions; d++) {
        if (axes >> d & 1)
            list[n_axes++] = (int32_t)d;
        else
            form->dimensions[n++] = form->dimensions[d];
    }
    if (!n)
        form->dimensions[n++] = 1;
    form->n_dimensions = n;
    return tfl_i32s(b, list, n_axes);
}

/* Of a tensor of four dimensions or fewer that has the same elements, or has them in another order
 * where axes and other dimensions alternate too often. The reduced elements keep their order. */
static void reduce_joined(struct tfl_builder *b, int32_t type, uint32_t result, uint32_t input,
                          struct tfl_form form)
{
    int32_t reshape = tfl_extension_operation(b, NNHAL_TFLITE_RESHAPE);
    uint32_t axes = read_axes(b), joined, reduced, list;
    struct tfl_form groups = form, to = tfl_form_of(b, tfl_out(b, 0));
    uint32_t group_axes = join_dimensions(b, &groups, axes);

    if (groups.n_dimensions > TFL_NNAPI_MAX_RANK) {
        input = move_axes_back(b, input, &form, &axes);
        groups = form;
        group_axes = join_dimensions(b, &groups, axes);
    }
    joined = tfl_temporary(b, &groups);
    tfl_add1(b, reshape, joined, input, tfl_shape(b, &groups));
    list = drop_axes(b, &groups, group_axes);
    reduced = tfl_temporary(b, &groups);
    add_reduction(b, type, reduced, joined, list, false);
    tfl_add1(b, reshape, result, reduced, tfl_shape(b, &to));
}

/* Reduces input, which is input 0 or its real numbers and has this form. */
static void reduce(struct tfl_builder *b, int32_t type, uint32_t result, uint32_t input,
                   const struct tfl_form *form)
{
    if (form->n_dimensions > TFL_NNAPI_MAX_RANK)
        reduce_joined(b, type, result, input, *form);
    else
        add_reduction(b, type, result, input, axes_operand(b), b->op->options.keep_dims);
}

/* NNAPI's MEAN keeps the input's scale: where the file changes it, the mean is
 * taken of real numbers. */
static void map_mean(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_out(b, 0);
    struct tfl_form form;
    uint32_t mean;

    tfl_need(b, x && y, "no input or output");
    if (!tfl_is_relabelled(x, y)) {
        form = tfl_form_of(b, x);
        reduce(b, ANEURALNETWORKS_MEAN, tfl_output(b, 0), tfl_input(b, 0), &form);
        return;
    }
    form = tfl_float_form_of(b, y);
    mean = tfl_temporary(b, &form);
    form = tfl_float_form_of(b, x);
    reduce(b, ANEURALNETWORKS_MEAN, mean, tfl_float_of(b, 0), &form);
    tfl_add1(b, ANEURALNETWORKS_QUANTIZE, tfl_output(b, 0), mean);
}

static void map_reduce(struct tfl_builder *b)
{
    static const struct {
        int32_t code, nnapi;
    } codes[] = {
        {TFL_SUM, ANEURALNETWORKS_REDUCE_SUM},
        {TFL_REDUCE_PROD, ANEURALNETWORKS_REDUCE_PROD},
        {TFL_REDUCE_MAX, ANEURALNETWORKS_REDUCE_MAX},
        {TFL_REDUCE_MIN, ANEURALNETWORKS_REDUCE_MIN},
        {TFL_REDUCE_ANY, ANEURALNETWORKS_REDUCE_ANY},
        {TFL_REDUCE_ALL, ANEURALNETWORKS_REDUCE_ALL},
    };
    struct tfl_form form;

    tfl_need(b, tfl_in(b, 0) && tfl_out(b, 0), "no input or output");
    form = tfl_form_of(b, tfl_in(b, 0));
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].code == b->op->code)
            reduce(b, codes[i].nnapi, tfl_output(b, 0), tfl_input(b, 0), &form);
}

/* NNAPI's indices have 32 bits. */
static void map_arg(struct tfl_builder *b)
{
    bool is_max = b->op->code == TFL_ARG_MAX;
    const struct tfl_tensor *y = tfl_out(b, 0);
    int32_t axis = 0, type = is_max ? ANEURALNETWORKS_ARGMAX : ANEURALNETWORKS_ARGMIN;
    uint32_t n = 0;

    tfl_need(b, tfl_read_i32(b, 1, &axis, 1, &n) && n == 1, "the axis is not constant");
    if (y && y->type == TFL_INT64)
        type = tfl_extension_operation(b, is_max ? NNHAL_TFLITE_ARG_MAX : NNHAL_TFLITE_ARG_MIN);
    tfl_add1(b, type, tfl_output(b, 0), tfl_input(b, 0), tfl_i32(b, axis));
}

const struct tfl_mapping tfl_map_reduce[] = {
    {TFL_MEAN, map_mean},          {TFL_SUM, map_reduce},
    {TFL_REDUCE_PROD, map_reduce}, {TFL_REDUCE_MAX, map_reduce},
    {TFL_REDUCE_MIN, map_reduce},  {TFL_REDUCE_ANY, map_reduce},
    {TFL_REDUCE_ALL, map_reduce},  {TFL_ARG_MAX, map_arg},
    {TFL_ARG_MIN, map_arg},        {0, NULL},
};
