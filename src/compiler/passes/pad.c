/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/passes.h"

#include "base/error.h"
#include "compiler/passes/view.h"
#include "model/geometry.h"

#include <string.h>

enum { MAX_CONV_INPUTS = 14 };

/* A convolution in its longest, explicit form. */
struct conv {
    bool is_nchw;
    int32_t pad[4]; /* left, right, top, bottom */
    struct nn_window_operands at;
};

/* Returns: false if it is no convolution that may pad, or if its padding depends on the size or
 * is not constant. */
static bool read_conv(const struct nn_graph *graph, const struct nn_node *node, struct conv *conv)
{
    int32_t code;

    if (node->operation != NNHAL_OP_CONV_2D && node->operation != NNHAL_OP_DEPTHWISE_CONV_2D)
        return false;
    *conv = (struct conv){.at = nn_graph_window_operands(graph, node)};
    if (conv->at.padding_code) {
        if (!nn_graph_i32(graph, node->inputs[conv->at.padding_code], &code) ||
            code == NN_PADDING_SAME)
            return false;
    } else {
        for (uint32_t i = 0; i < 4; i++)
            if (!nn_graph_i32(graph, node->inputs[conv->at.paddings + i], &conv->pad[i]))
                return false;
    }
    if (conv->at.layout) {
        const struct nn_value *layout = &graph->values[node->inputs[conv->at.layout]];

        if (!nn_value_is_private(layout) || layout->size != 1)
            return false;
        conv->is_nchw = *(const uint8_t *)layout->data != 0;
    }
    return true;
}

/* Adds what the PAD node pads to the convolution's own padding. Only rows and
 * columns may be padded, and no side as far as the filter reaches, since that
 * is what explicit padding is limited to. */
static bool add_padding(const struct nn_graph *graph, const struct nn_node *pad,
                        const struct nn_node *node, struct conv *conv)
{
    const struct nn_value *amounts = &graph->values[pad->inputs[NN_PAD_PADDINGS]];
    const struct nn_value *filter = &graph->values[node->inputs[NN_CONV_FILTER]];
    uint32_t rows = conv->is_nchw ? 2 : 1;
    int32_t pads[4][2], dilation[2] = {1, 1};

    if (!nn_value_is_private(amounts) || amounts->size != sizeof(pads) || filter->n_dims != 4)
        return false;
    memcpy(pads, amounts->data, sizeof(pads));
    for (uint32_t d = 0; d < 4; d++)
        if (pads[d][0] < 0 || pads[d][1] < 0 ||
            (d != rows && d != rows + 1 && (pads[d][0] || pads[d][1])))
            return false;
    for (uint32_t i = 0; conv->at.dilations && i < 2; i++)
        if (!nn_graph_i32(graph, node->inputs[conv->at.dilations + i], &dilation[i]))
            return false;
    for (int i = 0; i < 4; i++) {
        int64_t reach = ((int64_t)filter->dims[i < 2 ? 2 : 1] - 1) * dilation[i / 2];
        int64_t sum = (int64_t)conv->pad[i] + pads[i < 2 ? rows + 1 : rows][i % 2];

        if (conv->pad[i] < 0 || sum > reach)
            return false;
        conv->pad[i] = (int32_t)sum;
    }
    return true;
}

/* The inputs of the explicit form: what the old one has, and defaults. */
static int make_explicit(struct nn_graph *graph, struct nn_node *node, uint32_t data,
                         const struct conv *conv)
{
    uint32_t inputs[MAX_CONV_INPUTS], n = 0, *copy;
    int r = 0;

    inputs[n++] = data;
    inputs[n++] = node->inputs[NN_CONV_FILTER];
    inputs[n++] = node->inputs[NN_CONV_BIAS];
    for (int i = 0; !r && i < 4; i++)
        r = nn_graph_add_i32(graph, conv->pad[i], &inputs[n++]);
    inputs[n++] = node->inputs[conv->at.strides];
    inputs[n++] = node->inputs[conv->at.strides + 1];
    if (conv->at.groups)
        inputs[n++] = node->inputs[conv->at.groups];
    inputs[n++] = node->inputs[conv->at.activation];
    if (conv->at.layout)
        inputs[n++] = node->inputs[conv->at.layout];
    else if (!r)
        r = nn_graph_add_bool(graph, false, &inputs[n++]);
    for (uint32_t i = 0; !r && i < 2; i++) {
        if (conv->at.dilations)
            inputs[n++] = node->inputs[conv->at.dilations + i];
        else
            r = nn_graph_add_i32(graph, 1, &inputs[n++]);
    }
    if (r)
        return nn_error_trace(r);
    copy = nn_arena_dup(&graph->arena, inputs, n * sizeof(*inputs));
    if (!copy)
        return nn_error_origin(-ENOMEM);
    node->inputs = copy;
    node->n_inputs = n;
    return 0;
}

static int fuse_pad(const struct nn_view *view, struct nn_node *node)
{
    struct nn_graph *graph = view->graph;
    struct nn_node *pad;
    struct conv conv;
    int r;

    if (node->is_dead || !read_conv(graph, node, &conv))
        return 0;
    pad = nn_view_only_producer(view, node->inputs[NN_CONV_INPUT]);
    if (!pad || pad->is_dead || pad->operation != NNHAL_OP_PAD ||
        !nn_view_same_form(&graph->values[pad->inputs[NN_PAD_INPUT]],
                           &graph->values[pad->outputs[0]]) ||
        !add_padding(graph, pad, node, &conv))
        return 0;
    r = make_explicit(graph, node, pad->inputs[NN_PAD_INPUT], &conv);
    if (r)
        return nn_error_trace(r);
    pad->is_dead = true;
    return 0;
}

int nn_pass_pad(struct nn_graph *graph)
{
    struct nn_view view;
    int r = nn_view_init(&view, graph);

    for (uint32_t i = 0; !r && i < graph->n_nodes; i++)
        r = fuse_pad(&view, &graph->nodes[i]);
    return nn_error_trace(r);
}
