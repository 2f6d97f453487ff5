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

/* The tensor whose codes the operation moves, chooses or averages as they are; NULL: it computes with
 * what they stand for. */
static const struct tfl_tensor *moved_tensor(const struct tfl_builder *b)
{
    switch (b->op->code) {
    case TFL_AVERAGE_POOL_2D:
    case TFL_MAX_POOL_2D:
        return b->op->options.activation ? NULL : tfl_in(b, 0);
    case TFL_BATCH_TO_SPACE_ND:
    case TFL_DEPTH_TO_SPACE:
    case TFL_EXPAND_DIMS:
    case TFL_GATHER:
    case TFL_MAXIMUM:
    case TFL_MINIMUM:
    case TFL_MIRROR_PAD:
    case TFL_PAD: /* with the code for 0, which is the output's */
    case TFL_PADV2:
    case TFL_RESHAPE:
    case TFL_RESIZE_BILINEAR:
    case TFL_RESIZE_NEAREST_NEIGHBOR:
    case TFL_REVERSE_V2:
    case TFL_SLICE:
    case TFL_SPACE_TO_BATCH_ND: /* as PAD */
    case TFL_SPACE_TO_DEPTH:
    case TFL_SPLIT_V:
    case TFL_SQUEEZE:
    case TFL_STRIDED_SLICE:
    case TFL_TILE:
    case TFL_TOPK_V2:
    case TFL_TRANSPOSE:
    case TFL_UNPACK:
        return tfl_in(b, 0);
    case TFL_SPLIT:
        return tfl_in(b, 1);
    default:
        return NULL;
    }
}

/* How many inputs, from *ret_first on, the output's codes are taken from as they are, though NNAPI asks
 * for one scale and zero point, or takes theirs into account. */
static uint32_t copied_inputs(const struct tfl_builder *b, uint32_t *ret_first)
{
    switch (b->op->code) {
    case TFL_CAST:
    case TFL_REDUCE_MAX:
    case TFL_REDUCE_MIN:
        *ret_first = 0;
        return 1;
    case TFL_PACK:
        *ret_first = 0;
        return b->op->n_inputs;
    case TFL_EMBEDDING_LOOKUP:
    case TFL_SCATTER_ND:
        *ret_first = 1;
        return 1;
    case TFL_SELECT:
    case TFL_SELECT_V2:
        *ret_first = 1;
        return 2;
    case TFL_HASHTABLE_LOOKUP:
        *ret_first = 2;
        return 1;
    default:
        *ret_first = 0;
        return 0;
    }
}

bool tfl_is_relabelled(const struct tfl_tensor *from, const struct tfl_tensor *to)
{
    bool has_codes = from &&
                     (from->type == TFL_UINT8 || from->type == TFL_INT8 || from->type == TFL_INT16);

    return has_codes && from->n_scales <= 1 && to && to->type == from->type &&
           (tfl_scale_of(to) != tfl_scale_of(from) || to->zero_point != from->zero_point);
}

static bool pads_with_zero(int32_t code)
{
    return code == TFL_PAD || code == TFL_SPACE_TO_BATCH_ND;
}

/* NNAPI gives what is moved the input's scale and zero point. Where the file declares others, it is
 * moved to a temporary, whose codes become those of the output as they are. */
static void map_moved(struct tfl_builder *b, tfl_map_fn map)
{
    const struct tfl_tensor *from = moved_tensor(b);
    uint32_t *moved = tfl_keep(b, (b->op->n_outputs + (size_t)1) * sizeof(*moved));
    struct tfl_form form;

    for (uint32_t i = 0; moved && i < b->op->n_outputs; i++) {
        moved[i] = TFL_NO_OPERAND;
        if (!tfl_is_relabelled(from, tfl_out(b, i)))
            continue;
        tfl_need(b, !pads_with_zero(b->op->code) || tfl_out(b, i)->zero_point == from->zero_point,
                 "from the zero point %d to %d", from->zero_point, tfl_out(b, i)->zero_point);
        form = tfl_form_of(b, tfl_out(b, i));
        form.scale = tfl_scale_of(from);
        form.zero_point = from->zero_point;
        moved[i] = tfl_temporary(b, &form);
        b->operands[b->op->outputs[i]] = moved[i];
    }
    map(b);
    for (uint32_t i = 0; moved && i < b->op->n_outputs; i++) {
        if (moved[i] == TFL_NO_OPERAND)
            continue;
        b->operands[b->op->outputs[i]] = TFL_NO_OPERAND;
        tfl_add1(b, tfl_extension_operation(b, NNHAL_TFLITE_BITCAST), tfl_output(b, i), moved[i]);
    }
}

void tfl_map(struct tfl_builder *b)
{
    tfl_map_fn map = find_mapping(b->op);
    uint32_t first, n_copied = copied_inputs(b, &first);

    tfl_need(b, map, "NNAPI has no such operation");
    tfl_need(b, !has_complex(b) || takes_complex(b), "of complex numbers");
    for (uint32_t i = first; i < first + n_copied; i++)
        tfl_need(b, !tfl_is_relabelled(tfl_in(b, i), tfl_out(b, 0)),
                 "to another scale or zero point than those of input %u", i);
    map_moved(b, map);
}
