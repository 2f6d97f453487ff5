/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/map.h"

#include <errno.h>
#include <string.h>

static const struct tfl_mapping *const families[] = {
    tfl_map_elementwise, tfl_map_layers,    tfl_map_shape,
    tfl_map_reduce,      tfl_map_recurrent, tfl_map_extension,
};

static tfl_map_fn find_mapping(const struct tfl_operator *op)
{
    if (op->code == TFL_CUSTOM && strcmp(op->name, "TFLite_Detection_PostProcess") == 0)
        return tfl_map_detection;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        for (const struct tfl_mapping *row = families[i]; row->map; row++)
            if (row->code == op->code)
                return row->map;
    return NULL;
}

bool tfl_is_mapped(const struct tfl_operator *op)
{
    return find_mapping(op) != NULL;
}

bool tfl_is_folded(const struct tfl_graph *graph, const struct tfl_operator *op)
{
    return op->code == TFL_DEQUANTIZE && op->n_inputs == 1 && op->inputs[0] >= 0 &&
           op->n_outputs == 1 && op->outputs[0] >= 0 && graph->tensors[op->inputs[0]].data;
}

static bool has_complex(const struct tfl_builder *b)
{
    bool has = false;

    for (uint32_t i = 0; i < b->op->n_inputs; i++)
        has |= tfl_in(b, i) && tfl_in(b, i)->type == TFL_COMPLEX64;
    for (uint32_t i = 0; i < b->op->n_outputs; i++)
        has |= tfl_out(b, i) && tfl_out(b, i)->type == TFL_COMPLEX64;
    return has;
}

/* To all others, complex numbers would be twice as many real ones. */
static bool takes_complex(const struct tfl_builder *b)
{
    switch (b->op->code) {
    case TFL_RFFT2D:
    case TFL_COMPLEX_ABS:
    case TFL_REAL:
    case TFL_IMAG:
        return true;
    case TFL_RESHAPE:
    case TFL_SQUEEZE:
    case TFL_EXPAND_DIMS:
        return tfl_in(b, 0) && tfl_out(b, 0) && tfl_in(b, 0)->type == tfl_out(b, 0)->type;
    default:
        return false;
    }
}

void tfl_map(struct tfl_builder *b)
{
    tfl_map_fn map = find_mapping(b->op);

    tfl_need(b, map, "NNAPI has no such operation");
    tfl_need(b, !has_complex(b) || takes_complex(b), "of complex numbers");
    map(b);
}
