/* SPDX-License-Identifier: Apache-2.0 */
/* map-extension.c - operators that become operations of nnhal.tflite, because NNAPI has none */
#include "tflite/map.h"

static void map_round(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_ROUND), tfl_output(b, 0), tfl_input(b, 0));
}

static void map_floor_mod(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_FLOOR_MOD), tfl_output(b, 0),
             tfl_input(b, 0), tfl_input(b, 1));
}

static void map_shape(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_SHAPE), tfl_output(b, 0), tfl_input(b, 0));
}

static void map_scatter_nd(struct tfl_builder *b)
{
    tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_SCATTER_ND), tfl_output(b, 0),
             tfl_input(b, 0), tfl_input(b, 1), tfl_input(b, 2));
}

const struct tfl_mapping tfl_map_extension[] = {
    {TFL_ROUND, map_round},
    {TFL_FLOOR_MOD, map_floor_mod},
    {TFL_SHAPE, map_shape},
    {TFL_SCATTER_ND, map_scatter_nd},
    {0, NULL},
};
