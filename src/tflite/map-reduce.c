/* SPDX-License-Identifier: Apache-2.0 */
/* map-reduce.c - sums, means, extremes along axes */
#include "tflite/map.h"

#include <errno.h>
#include <string.h>

static bool same_scale(const struct tfl_tensor *x, const struct tfl_tensor *y)
{
    return x->scale == y->scale && x->zero_point == y->zero_point;
}

/* The axes as a list; a lone one is stored without a dimension. */
static uint32_t axes_operand(struct tfl_builder *b)
{
    int32_t values[TFL_MAX_RANK];
    uint32_t n = 0;

    if (!tfl_read_i32(b, 1, values, TFL_MAX_RANK, &n))
        tfl_fail(b, -ENOTSUP, "the axes are not constant");
    return tfl_i32s(b, values, n);
}

/* NNAPI's MEAN keeps the input's scale: where the file changes it, the mean is
 * taken of real numbers. */
static void map_mean(struct tfl_builder *b)
{
    const struct tfl_tensor *x = tfl_in(b, 0), *y = tfl_out(b, 0);
    uint32_t list = axes_operand(b), keep = tfl_i32(b, b->op->options.keep_dims);
    struct tfl_form form;
    uint32_t mean;

    tfl_need(b, x && y, "no input or output");
    if (!tfl_is_quantized(x) || same_scale(x, y)) {
        tfl_add1(b, ANEURALNETWORKS_MEAN, tfl_output(b, 0), tfl_input(b, 0), list, keep);
        return;
    }
    form = tfl_float_form_of(b, y);
    mean = tfl_temporary(b, &form);
    tfl_add1(b, ANEURALNETWORKS_MEAN, mean, tfl_float_of(b, 0), list, keep);
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
    uint32_t list = axes_operand(b);

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].code == b->op->code)
            tfl_add1(b, codes[i].nnapi, tfl_output(b, 0), tfl_input(b, 0), list,
                     tfl_bool(b, b->op->options.keep_dims));
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
