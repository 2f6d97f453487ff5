/* SPDX-License-Identifier: Apache-2.0 */
/* map-extension.c - operators that become operations of nnhal.tflite, because NNAPI has none */
#include "tflite/map.h"

#include <errno.h>

static void map_round(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_ROUND), tfl_output(b, 0), tfl_input(b, 0));
}

static void map_floor_mod(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_FLOOR_MOD), tfl_output(b, 0),
             tfl_input(b, 0), tfl_input(b, 1));
}

/* A scalar has no dimension in TensorFlow Lite, and one in NNAPI. */
static void map_shape(struct tfl_builder *b)
{
    tfl_need(b, tfl_in(b, 0) && tfl_in(b, 0)->n_dimensions, "of a scalar");
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_SHAPE), tfl_output(b, 0), tfl_input(b, 0));
}

static void map_scatter_nd(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_SCATTER_ND), tfl_output(b, 0),
             tfl_input(b, 0), tfl_input(b, 1), tfl_input(b, 2));
}

/* NNAPI's SIN has no phase that is exact for large angles. */
static void map_cos(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_COS), tfl_output(b, 0), tfl_input(b, 0));
}

static void map_rfft2d(struct tfl_builder *b)
{
    tfl_need(b,
             tfl_in(b, 0) && tfl_in(b, 0)->type == TFL_FLOAT32 && tfl_out(b, 0) &&
                 tfl_out(b, 0)->type == TFL_COMPLEX64,
             "of other numbers than float32, or into others than complex ones");
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_RFFT2D), tfl_output(b, 0), tfl_input(b, 0),
             tfl_input(b, 1));
}

static void map_part(struct tfl_builder *b)
{
    uint16_t number = b->op->code == TFL_REAL   ? NNHAL_TFLITE_REAL
                      : b->op->code == TFL_IMAG ? NNHAL_TFLITE_IMAG
                                                : NNHAL_TFLITE_COMPLEX_ABS;

    tfl_need(b, tfl_in(b, 0) && tfl_in(b, 0)->type == TFL_COMPLEX64,
             "of other numbers than complex");
    tfl_add1(b, tfl_extension_operation(b, number), tfl_output(b, 0), tfl_input(b, 0));
}

const struct tfl_mapping tfl_map_extension[] = {
    {TFL_COS, map_cos},
    {TFL_RFFT2D, map_rfft2d},
    {TFL_COMPLEX_ABS, map_part},
    {TFL_REAL, map_part},
    {TFL_IMAG, map_part},
    {TFL_ROUND, map_round},
    {TFL_FLOOR_MOD, map_floor_mod},
    {TFL_SHAPE, map_shape},
    {TFL_SCATTER_ND, map_scatter_nd},
    {0, NULL},
};
