/* SPDX-License-Identifier: Apache-2.0 */
/* lut.c - chains from bytes to bytes become one look-up
 *
 * What a chain of operations makes of one 8-bit tensor, element by element
 * (DEQUANTIZE, some functions of floats, QUANTIZE; or two activations of
 * codes), is a function of one byte. The chain is copied to run on the 256
 * codes, folding computes it with the kernels that would have run it, rounding
 * in sequence, and the operation that is left looks up what came out. */
#include "compiler/passes.h"

#include "base/error.h"
#include "compiler/internal-op.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/view.h"
#include "model/types.h"

#include <string.h>

enum {
    N_CODES = 256,
    MAX_CHAIN = 32,
    MAX_CHAINS = 256, /* folding computes their tables one by one */
};

/* Scales with which a code comes back from float as it went: no product is subnormal or infinite. */
#define MIN_SCALE 1e-30f
#define MAX_SCALE 1e+30f

/* From the first operation to the last, and which of their inputs is the data. */
struct lut_chain {
    uint32_t n;
    uint32_t nodes[MAX_CHAIN]; /* the last one first */
    uint32_t data[MAX_CHAIN];
    uint32_t from; /* value */
};

struct lut_work {
    struct nn_view view;
    struct nn_rewrite rewrite;
    uint32_t *chains; /* by node: index in table + 1 of the chain that ends there */
    struct lut_chain *table;
    uint32_t n;
};

static bool is_bytes(const struct nn_value *value)
{
    return value->is_settled && (value->type == NNHAL_TENSOR_QUANT8_ASYMM ||
                                 value->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED);
}

/* A scalar, or a constant with one element that stretches to the codes. */
static bool is_one_number(const struct nn_value *value)
{
    return value->kind == NN_VALUE_CONSTANT && nn_value_is_private(value) && value->n_dims <= 1 &&
           value->size == nn_type_bytes(value->type);
}

/* Whether the node's output is a function of one element of one input. */
static bool is_function(const struct nn_graph *graph, const struct nn_node *node,
                        uint32_t *ret_data)
{
    uint32_t n_data = 0;

    if (!nn_view_is_elementwise(node->operation) || node->n_outputs != 1)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        if (is_one_number(&graph->values[node->inputs[i]]))
            continue;
        *ret_data = i;
        n_data++;
    }
    return n_data == 1 && graph->values[node->inputs[*ret_data]].kind != NN_VALUE_CONSTANT;
}

/* The longest chain that ends with the node. */
static void find_chain(const struct nn_view *view, uint32_t last, struct lut_chain *chain)
{
    const struct nn_node *node = &view->graph->nodes[last];
    uint32_t length = 0, data;

    *chain = (struct lut_chain){.n = 0};
    while (length < MAX_CHAIN && is_function(view->graph, node, &data)) {
        chain->nodes[length] = (uint32_t)(node - view->graph->nodes);
        chain->data[length++] = data;
        if (is_bytes(&view->graph->values[node->inputs[data]])) {
            chain->n = length;
            chain->from = node->inputs[data];
        }
        node = nn_view_producer(view, node->inputs[data]);
        if (!node || node->is_dead)
            break;
    }
}

/* The last operation is replaced, and with it those whose results have no other reader. What the
 * chain begins with has one more reader: a longer chain must not take it away. */
static void take_chain(const struct nn_view *view, const struct lut_chain *chain)
{
    view->n_uses[chain->from]++;
    for (uint32_t k = 0; k < chain->n; k++) {
        struct nn_node *node = &view->graph->nodes[chain->nodes[k]];

        if (k > 0 && !nn_view_only_producer(view, node->outputs[0]))
            return;
        node->is_dead = true;
    }
}

static int find_chains(struct lut_work *work)
{
    struct nn_graph *graph = work->view.graph;

    work->chains = nn_arena_new_n(&graph->arena, uint32_t, graph->n_nodes);
    work->table = nn_arena_new_n(&graph->arena, struct lut_chain,
                                 graph->n_nodes < MAX_CHAINS ? graph->n_nodes : MAX_CHAINS);
    if (!work->chains || !work->table)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = graph->n_nodes; i-- > 0 && work->n < MAX_CHAINS;) {
        struct lut_chain *chain = &work->table[work->n];
        const struct nn_node *node = &graph->nodes[i];

        if (node->is_dead || node->n_outputs != 1 || !is_bytes(&graph->values[node->outputs[0]]))
            continue;
        find_chain(&work->view, i, chain);
        if (chain->n == 0 || graph->nodes[i].operation == NN_INTERNAL_OP_LUT)
            continue;
        take_chain(&work->view, chain);
        work->chains[i] = ++work->n;
    }
    return 0;
}

/* ---- what stands for a chain ---- */

static int add_codes(struct nn_graph *graph, const struct nn_value *from, uint32_t *ret_index)
{
    const struct nn_value like = {.type = from->type,
                                  .n_dims = 1,
                                  .dims = {N_CODES},
                                  .scale = from->scale,
                                  .zero_point = from->zero_point,
                                  .is_settled = true};
    uint8_t bytes[N_CODES];

    for (uint32_t i = 0; i < N_CODES; i++)
        bytes[i] = (uint8_t)i;
    return nn_error_trace(nn_graph_add_constant(graph, &like, bytes, sizeof(bytes), ret_index));
}

/* The node again, on the value in, which has the 256 codes or what came of them. */
static int copy_node(struct lut_work *work, const struct nn_node *node, uint32_t data, uint32_t in,
                     uint32_t *ret_out)
{
    struct nn_graph *graph = work->view.graph;
    struct nn_value value = graph->values[node->outputs[0]];
    uint32_t *inputs = nn_arena_dup(&graph->arena, node->inputs,
                                    node->n_inputs * sizeof(*node->inputs));
    int r;

    if (!inputs)
        return nn_error_origin(-ENOMEM);
    inputs[data] = in;
    value.kind = NN_VALUE_TEMPORARY;
    value.n_dims = 1;
    value.dims[0] = N_CODES;
    r = nn_graph_add_value(graph, &value, ret_out);
    if (!r)
        r = nn_rewrite_operation(&work->rewrite, node->operation, node->origin, node->n_inputs,
                                 inputs, *ret_out);
    return nn_error_trace(r);
}

static int emit_chain(struct lut_work *work, const struct lut_chain *chain)
{
    struct nn_graph *graph = work->view.graph;
    const struct nn_node *last = &graph->nodes[chain->nodes[0]];
    uint32_t inputs[2] = {chain->from, 0};
    int r = add_codes(graph, &graph->values[chain->from], &inputs[1]);

    for (uint32_t k = chain->n; !r && k-- > 0;)
        r = copy_node(work, &graph->nodes[chain->nodes[k]], chain->data[k], inputs[1], &inputs[1]);
    if (!r)
        r = nn_rewrite_operation(&work->rewrite, NN_INTERNAL_OP_LUT, last->origin, 2, inputs,
                                 last->outputs[0]);
    return nn_error_trace(r);
}

/* ---- there and back ---- */

/* Whether the chain is DEQUANTIZE and QUANTIZE to what it was: with a float's 24
 * bits, (code - zero point) * scale / scale is off by far less than a half. */
static bool is_identity(const struct nn_graph *graph, const struct lut_chain *chain)
{
    const struct nn_node *last = &graph->nodes[chain->nodes[0]];
    const struct nn_value *from = &graph->values[chain->from];
    const struct nn_value *to = &graph->values[last->outputs[0]];

    return chain->n == 2 && last->operation == NNHAL_OP_QUANTIZE &&
           graph->nodes[chain->nodes[1]].operation == NNHAL_OP_DEQUANTIZE &&
           graph->values[last->inputs[0]].type == NNHAL_TENSOR_FLOAT32 &&
           to->kind == NN_VALUE_TEMPORARY && nn_view_same_form(from, to) &&
           from->scale > MIN_SCALE && from->scale < MAX_SCALE;
}

static void replace_inputs(struct nn_node *node, const uint32_t *alias, uint32_t n)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        while (node->inputs[i] < n && alias[node->inputs[i]])
            node->inputs[i] = alias[node->inputs[i]] - 1;
}

static int chain_rewrite(struct lut_work *work)
{
    struct nn_graph *graph = work->view.graph;
    uint32_t *alias = nn_arena_new_n(&graph->arena, uint32_t, work->view.n);
    int r = nn_rewrite_init(&work->rewrite, graph);

    if (r || !alias)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < graph->n_nodes; i++) {
        struct nn_node *node = &graph->nodes[i];
        struct lut_chain *chain = work->chains[i] ? &work->table[work->chains[i] - 1] : NULL;

        replace_inputs(node, alias, work->view.n);
        while (chain && chain->from < work->view.n && alias[chain->from])
            chain->from = alias[chain->from] - 1;
        if (chain && is_identity(graph, chain))
            alias[node->outputs[0]] = chain->from + 1;
        else if (chain)
            r = emit_chain(work, chain);
        else if (!node->is_dead)
            r = nn_rewrite_node(&work->rewrite, node);
    }
    if (!r)
        nn_rewrite_finish(&work->rewrite);
    return nn_error_trace(r);
}

int nn_pass_lut(struct nn_graph *graph)
{
    struct lut_work work = {.n = 0};
    int r = nn_view_init(&work.view, graph);

    if (!r)
        r = find_chains(&work);
    if (!r && work.n)
        r = chain_rewrite(&work);
    return nn_error_trace(r);
}
