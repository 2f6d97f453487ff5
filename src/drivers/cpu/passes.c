/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/passes.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "drivers/cpu/fold.h"

#include <string.h>

/* ---- looking at graphs ---- */

void nn_graph_count_uses(const struct nn_graph *graph, uint32_t *n_uses)
{
    memset(n_uses, 0, graph->n_values * sizeof(*n_uses));
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t j = 0; !graph->nodes[i].is_dead && j < graph->nodes[i].n_inputs; j++)
            n_uses[graph->nodes[i].inputs[j]]++;
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        n_uses[graph->outputs[i]]++;
}

/* Who computes each value: node + 1, 0 for nobody. */
static void find_producers(const struct nn_graph *graph, uint32_t *producers)
{
    memset(producers, 0, graph->n_values * sizeof(*producers));
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        for (uint32_t j = 0; !graph->nodes[i].is_dead && j < graph->nodes[i].n_outputs; j++)
            producers[graph->nodes[i].outputs[j]] = i + 1;
}

/* What the two fusing passes look up. They may add values behind these arrays. */
struct view {
    struct nn_graph *graph;
    uint32_t n; /* values when the view was made */
    uint32_t *n_uses, *producers;
};

static int view_init(struct view *view, struct nn_graph *graph)
{
    *view = (struct view){.graph = graph, .n = graph->n_values};
    view->n_uses = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    view->producers = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    if (!view->n_uses || !view->producers)
        return nn_error_origin(-ENOMEM);
    nn_graph_count_uses(graph, view->n_uses);
    find_producers(graph, view->producers);
    return 0;
}

/* The node that computes a temporary which nothing but one node reads, or NULL. */
static struct nn_node *only_producer(const struct view *view, uint32_t value)
{
    if (value >= view->n || view->graph->values[value].kind != NN_VALUE_TEMPORARY ||
        view->n_uses[value] != 1 || !view->producers[value])
        return NULL;
    return &view->graph->nodes[view->producers[value] - 1];
}

static bool constant_i32(const struct nn_graph *graph, uint32_t index, int32_t *ret)
{
    const struct nn_value *value = &graph->values[index];

    if (value->type != NNHAL_INT32 || !nn_value_is_private(value) || value->size != sizeof(*ret))
        return false;
    memcpy(ret, value->data, sizeof(*ret));
    return true;
}

static bool is_bool(const struct nn_graph *graph, const struct nn_node *node, uint32_t i)
{
    return i < node->n_inputs && graph->values[node->inputs[i]].type == NNHAL_BOOL;
}

/* ---- activations ---- */

/* Which input is the fused activation; 0: none that this pass knows. */
static uint32_t activation_input(const struct nn_graph *graph, const struct nn_node *node)
{
    uint32_t n = node->n_inputs;

    switch (node->operation) {
    case NNHAL_OP_ADD:
    case NNHAL_OP_MUL:
    case NNHAL_OP_SUB:
    case NNHAL_OP_DIV:
        return 2;
    case NNHAL_OP_FULLY_CONNECTED:
        return 3;
    case NNHAL_OP_CONV_2D:
        return n == 7 || is_bool(graph, node, 7) ? 6 : 9;
    case NNHAL_OP_DEPTHWISE_CONV_2D:
        return n == 8 || is_bool(graph, node, 8) ? 7 : 10;
    case NNHAL_OP_AVERAGE_POOL_2D:
    case NNHAL_OP_MAX_POOL_2D:
        return n <= 8 ? 6 : 9;
    default:
        return 0;
    }
}

static int32_t activation_code(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_RELU:
        return NNHAL_FUSED_RELU;
    case NNHAL_OP_RELU1:
        return NNHAL_FUSED_RELU1;
    case NNHAL_OP_RELU6:
        return NNHAL_FUSED_RELU6;
    default:
        return NNHAL_FUSED_NONE;
    }
}

static bool same_form(const struct nn_value *a, const struct nn_value *b)
{
    return a->type == b->type && a->type != NNHAL_TENSOR_INT32 && a->scale == b->scale &&
           a->zero_point == b->zero_point;
}

static int fuse_activation(const struct view *view, struct nn_node *relu)
{
    struct nn_graph *graph = view->graph;
    int32_t code = activation_code(relu->operation), before;
    struct nn_node *producer;
    uint32_t at;
    int r;

    if (code == NNHAL_FUSED_NONE || relu->is_dead)
        return 0;
    producer = only_producer(view, relu->inputs[0]);
    if (!producer || producer->is_dead)
        return 0;
    at = activation_input(graph, producer);
    if (!at || !constant_i32(graph, producer->inputs[at], &before) || before != NNHAL_FUSED_NONE ||
        !same_form(&graph->values[relu->inputs[0]], &graph->values[relu->outputs[0]]))
        return 0;
    r = nn_graph_add_i32(graph, code, &producer->inputs[at]);
    if (r)
        return nn_error_trace(r);
    view->producers[relu->outputs[0]] = view->producers[relu->inputs[0]];
    producer->outputs[0] = relu->outputs[0];
    relu->is_dead = true;
    return 0;
}

int nn_pass_activation(struct nn_graph *graph)
{
    struct view view;
    int r = view_init(&view, graph);

    for (uint32_t i = 0; !r && i < graph->n_nodes; i++)
        r = fuse_activation(&view, &graph->nodes[i]);
    return nn_error_trace(r);
}

/* ---- padding ---- */

enum { MAX_CONV_INPUTS = 14 };

/* A convolution in its longest, explicit form. */
struct conv {
    bool is_depthwise;
    bool is_nchw;
    int32_t pad[4]; /* left, right, top, bottom */
    uint32_t strides[2], multiplier, activation, layout, dilations[2]; /* inputs; 0: absent */
};

/* Finds where the scalars stand. Returns: false if its padding depends on the size or is not
 * constant. */
static bool read_conv(const struct nn_graph *graph, const struct nn_node *node, struct conv *conv)
{
    uint32_t at = 3, n = node->n_inputs;
    bool is_implicit;
    int32_t code;

    *conv = (struct conv){.is_depthwise = node->operation == NNHAL_OP_DEPTHWISE_CONV_2D};
    if (!conv->is_depthwise && node->operation != NNHAL_OP_CONV_2D)
        return false;
    is_implicit = conv->is_depthwise ? n == 8 || is_bool(graph, node, 8)
                                     : n == 7 || is_bool(graph, node, 7);
    if (is_implicit) {
        if (!constant_i32(graph, node->inputs[at++], &code) || code == 1)
            return false;
    } else {
        for (int i = 0; i < 4; i++)
            if (!constant_i32(graph, node->inputs[at++], &conv->pad[i]))
                return false;
    }
    conv->strides[0] = at++;
    conv->strides[1] = at++;
    conv->multiplier = conv->is_depthwise ? at++ : 0;
    conv->activation = at++;
    conv->layout = at < n ? at++ : 0;
    conv->dilations[0] = at < n ? at++ : 0;
    conv->dilations[1] = at < n ? at++ : 0;
    if (conv->layout) {
        const struct nn_value *layout = &graph->values[node->inputs[conv->layout]];

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
    const struct nn_value *amounts = &graph->values[pad->inputs[1]];
    const struct nn_value *filter = &graph->values[node->inputs[1]];
    uint32_t rows = conv->is_nchw ? 2 : 1;
    int32_t pads[4][2], dilation[2] = {1, 1};

    if (!nn_value_is_private(amounts) || amounts->size != sizeof(pads) || filter->n_dims != 4)
        return false;
    memcpy(pads, amounts->data, sizeof(pads));
    for (uint32_t d = 0; d < 4; d++)
        if (pads[d][0] < 0 || pads[d][1] < 0 ||
            (d != rows && d != rows + 1 && (pads[d][0] || pads[d][1])))
            return false;
    for (int i = 0; i < 2; i++)
        if (conv->dilations[i] &&
            !constant_i32(graph, node->inputs[conv->dilations[i]], &dilation[i]))
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

static int add_bool(struct nn_graph *graph, bool truth, uint32_t *ret_index)
{
    struct nn_value value = {
        .type = NNHAL_BOOL, .kind = NN_VALUE_CONSTANT, .pool = NN_POOL_NONE, .size = 1};
    uint8_t byte = truth;

    value.data = nn_arena_dup(&graph->arena, &byte, 1);
    if (!value.data)
        return nn_error_origin(-ENOMEM);
    return nn_graph_add_value(graph, &value, ret_index);
}

/* The inputs of the explicit form: what the old one has, and defaults. */
static int make_explicit(struct nn_graph *graph, struct nn_node *node, uint32_t data,
                         const struct conv *conv)
{
    uint32_t inputs[MAX_CONV_INPUTS], n = 0, *copy;
    int r = 0;

    inputs[n++] = data;
    inputs[n++] = node->inputs[1];
    inputs[n++] = node->inputs[2];
    for (int i = 0; !r && i < 4; i++)
        r = nn_graph_add_i32(graph, conv->pad[i], &inputs[n++]);
    inputs[n++] = node->inputs[conv->strides[0]];
    inputs[n++] = node->inputs[conv->strides[1]];
    if (conv->is_depthwise)
        inputs[n++] = node->inputs[conv->multiplier];
    inputs[n++] = node->inputs[conv->activation];
    if (conv->layout)
        inputs[n++] = node->inputs[conv->layout];
    else if (!r)
        r = add_bool(graph, false, &inputs[n++]);
    for (int i = 0; !r && i < 2; i++) {
        if (conv->dilations[i])
            inputs[n++] = node->inputs[conv->dilations[i]];
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

static int fuse_pad(const struct view *view, struct nn_node *node)
{
    struct nn_graph *graph = view->graph;
    struct nn_node *pad;
    struct conv conv;
    int r;

    if (node->is_dead || !read_conv(graph, node, &conv))
        return 0;
    pad = only_producer(view, node->inputs[0]);
    if (!pad || pad->is_dead || pad->operation != NNHAL_OP_PAD ||
        !same_form(&graph->values[pad->inputs[0]], &graph->values[pad->outputs[0]]) ||
        !add_padding(graph, pad, node, &conv))
        return 0;
    r = make_explicit(graph, node, pad->inputs[0], &conv);
    if (r)
        return nn_error_trace(r);
    pad->is_dead = true;
    return 0;
}

int nn_pass_pad(struct nn_graph *graph)
{
    struct view view;
    int r = view_init(&view, graph);

    for (uint32_t i = 0; !r && i < graph->n_nodes; i++)
        r = fuse_pad(&view, &graph->nodes[i]);
    return nn_error_trace(r);
}

/* ---- dead operations ---- */

static bool is_wanted(const struct nn_node *node, const bool *is_read)
{
    if (node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE)
        return true;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (is_read[node->outputs[i]])
            return true;
    return false;
}

int nn_pass_dead(struct nn_graph *graph)
{
    bool *is_read = nn_arena_new_n(&graph->arena, bool, graph->n_values);

    if (!is_read)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_outputs; i++)
        is_read[graph->outputs[i]] = true;
    for (uint32_t i = graph->n_nodes; i-- > 0;) {
        struct nn_node *node = &graph->nodes[i];

        node->is_dead = node->is_dead || !is_wanted(node, is_read);
        for (uint32_t j = 0; !node->is_dead && j < node->n_inputs; j++)
            is_read[node->inputs[j]] = true;
    }
    return 0;
}

/* ---- the table ---- */

/* A pass over the graph alone, or one that runs kernels. */
struct pass {
    const char *name;
    enum nn_passes set; /* the smallest that has it */
    int (*run)(struct nn_graph *graph);
    int (*run_program)(struct nn_program *program, uint32_t graph);
};

static const struct pass passes[] = {
    {.name = "fold", .set = NN_PASSES_QUICK, .run_program = nn_fold_constants},
    {.name = "pad", .set = NN_PASSES_ALL, .run = nn_pass_pad},
    {.name = "activation", .set = NN_PASSES_ALL, .run = nn_pass_activation},
    {.name = "dead", .set = NN_PASSES_QUICK, .run = nn_pass_dead},
};

/* Prints the graph if it is not what it was when *last was printed. */
static void trace(const struct nn_graph *graph, const char *title, char **last)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file;

    if (!nn_trace_enabled("passes"))
        return;
    file = open_memstream(&text, &n_bytes);
    if (!file)
        return;
    nn_graph_print(graph, file);
    if (fclose(file) || (*last && strcmp(*last, text) == 0)) {
        free(text);
        return;
    }
    nn_trace("---- %s", title);
    nn_trace_text(text);
    free(*last);
    *last = text;
}

static int run_pass(struct nn_program *program, uint32_t index, const struct pass *pass)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    int r = pass->run ? pass->run(graph) : pass->run_program(program, index);

    if (!r)
        r = nn_graph_finish(graph);
    return nn_error_trace(r);
}

int nn_passes_run(struct nn_program *program, uint32_t index, enum nn_passes set)
{
    struct nn_graph *graph = &program->graphs[index].graph;
    _cleanup_(freep) char *last = NULL;
    int r = nn_graph_finish(graph);

    trace(graph, "model", &last);
    for (size_t i = 0; !r && i < NN_N_ELEMENTS(passes); i++) {
        if (passes[i].set > set)
            continue;
        r = run_pass(program, index, &passes[i]);
        trace(graph, passes[i].name, &last);
    }
    return nn_error_trace(r);
}
