/* SPDX-License-Identifier: Apache-2.0 */
#include "tflite/delegate-shapes.h"

#include "tflite/map.h"

#include <errno.h>
#include <stdlib.h>

/* BuiltinOperator numbers of operations that NNAPI lacks and whose outputs are as long as it turns
 * out. */
enum { RANGE = 96, UNIQUE = 103, WHERE = 109 };

/* Inputs that say what shape the output has, as bits: they must be constant. */
static const struct {
    int32_t code;
    uint32_t inputs;
} shape_inputs[] = {
    {TFL_RESHAPE, 1 << 1},
    {TFL_EXPAND_DIMS, 1 << 1},
    {TFL_TRANSPOSE, 1 << 1},
    {TFL_PAD, 1 << 1},
    {TFL_PADV2, 1 << 1},
    {TFL_MIRROR_PAD, 1 << 1},
    {TFL_TILE, 1 << 1},
    {TFL_SLICE, 1 << 1 | 1 << 2},
    {TFL_STRIDED_SLICE, 1 << 1 | 1 << 2 | 1 << 3},
    {TFL_SPLIT, 1 << 0},
    {TFL_SPLIT_V, 1 << 1 | 1 << 2},
    {TFL_BATCH_TO_SPACE_ND, 1 << 1 | 1 << 2},
    {TFL_SPACE_TO_BATCH_ND, 1 << 1 | 1 << 2},
    {TFL_RESIZE_BILINEAR, 1 << 1},
    {TFL_RESIZE_NEAREST_NEIGHBOR, 1 << 1},
    {TFL_TRANSPOSE_CONV, 1 << 0},
    {TFL_TOPK_V2, 1 << 1},
    {TFL_FILL, 1 << 0},
    {TFL_SCATTER_ND, 1 << 2},
    {TFL_RFFT2D, 1 << 1},
    {TFL_MEAN, 1 << 1},
    {TFL_SUM, 1 << 1},
    {TFL_REDUCE_PROD, 1 << 1},
    {TFL_REDUCE_MAX, 1 << 1},
    {TFL_REDUCE_MIN, 1 << 1},
    {TFL_REDUCE_ANY, 1 << 1},
    {TFL_REDUCE_ALL, 1 << 1},
    {TFL_ARG_MAX, 1 << 1},
    {TFL_ARG_MIN, 1 << 1},
};

struct search {
    const struct lite_context *context;
    const struct tfl_graph *graph;
    bool *is_open; /* by tensor */
};

static bool reads_open(const struct search *search, const struct tfl_operator *op)
{
    for (uint32_t i = 0; i < op->n_inputs; i++)
        if (op->inputs[i] >= 0 && search->is_open[op->inputs[i]])
            return true;
    return false;
}

static bool lacks_constant(const struct search *search, const struct tfl_operator *op)
{
    uint32_t inputs = 0;

    for (size_t i = 0; i < sizeof(shape_inputs) / sizeof(shape_inputs[0]); i++)
        if (shape_inputs[i].code == op->code)
            inputs = shape_inputs[i].inputs;
    for (uint32_t i = 0; i < op->n_inputs && i < 32; i++)
        if (inputs >> i & 1 && op->inputs[i] >= 0 && !search->graph->tensors[op->inputs[i]].data)
            return true;
    return false;
}

static bool has_unknown_dimension(const struct lite_tensor *tensor)
{
    const struct lite_ints *signature = tensor->dims_signature;

    for (int i = 0; signature && i < signature->size; i++)
        if (signature->data[i] < 0)
            return true;
    return false;
}

/* An operation without a mapping is known by what it puts out. */
static bool puts_out_unknown(const struct search *search, const struct tfl_operator *op)
{
    if (tfl_is_mapped(op))
        return false;
    if (op->code == WHERE || op->code == UNIQUE || op->code == RANGE)
        return true;
    for (uint32_t i = 0; i < op->n_outputs; i++)
        if (op->outputs[i] >= 0 && has_unknown_dimension(&search->context->tensors[op->outputs[i]]))
            return true;
    return false;
}

static void mark_outputs(struct search *search, const struct tfl_operator *op)
{
    for (uint32_t i = 0; i < op->n_outputs; i++)
        if (op->outputs[i] >= 0)
            search->is_open[op->outputs[i]] = true;
}

int tfl_shapes_find_open(const struct lite_context *context, const struct tfl_view *view,
                         bool *is_open)
{
    struct search search = {context, &view->graph, NULL};

    search.is_open = calloc(view->graph.n_tensors + 1u, sizeof(bool));
    if (!search.is_open)
        return -ENOMEM;
    for (uint32_t i = 0; i < view->graph.n_tensors; i++)
        search.is_open[i] = context->tensors[i].allocation_type == LITE_DYNAMIC;
    for (uint32_t i = 0; i < view->graph.n_operators; i++) {
        const struct tfl_operator *op = &view->graph.operators[i];

        is_open[i] = reads_open(&search, op) || lacks_constant(&search, op) ||
                     puts_out_unknown(&search, op);
        if (is_open[i])
            mark_outputs(&search, op);
        for (uint32_t k = 0; k < op->n_outputs; k++)
            is_open[i] = is_open[i] || (op->outputs[k] >= 0 && search.is_open[op->outputs[k]]);
    }
    free(search.is_open);
    return 0;
}
