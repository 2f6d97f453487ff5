/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/possible.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "model/infer.h"
#include "model/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is known of a value before anything runs. */
struct known_value {
    bool is_known; /* the shape */
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
};

/* One walk through a graph. */
struct possibility {
    const struct nn_graph *graph;
    struct known_value *values;
    struct nn_infer_operand *operands; /* of the node that is looked at */
};

static struct known_value declared_value(const struct nn_value *value)
{
    struct known_value known = {.is_known = nn_dims_known(value->type, value->n_dims, value->dims),
                                .n_dims = value->n_dims,
                                .scale = value->scale,
                                .zero_point = value->zero_point};

    memcpy(known.dims, value->dims, sizeof(known.dims));
    return known;
}

/* Returns: whether inference can begin: it needs the shape of each input. */
static bool fill_inputs(const struct possibility *of, const struct nn_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct nn_value *value = &of->graph->values[node->inputs[i]];
        const struct known_value *known = &of->values[node->inputs[i]];

        of->operands[i] = (struct nn_infer_operand){
            .type = value->type,
            .n_dims = known->n_dims,
            .scale = known->scale,
            .zero_point = known->zero_point,
            .channel_quant = value->channel_quant.n_scales ? &value->channel_quant : NULL,
            .value = nn_value_is_private(value) ? value->data : NULL,
            .is_omitted = value->kind == NN_VALUE_OMITTED,
            .is_known = true};
        memcpy(of->operands[i].dims, known->dims, sizeof(known->dims));
        if (!known->is_known && value->kind != NN_VALUE_OMITTED)
            return false;
    }
    return true;
}

static void fill_outputs(const struct possibility *of, const struct nn_node *node)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct nn_value *value = &of->graph->values[node->outputs[i]];

        of->operands[node->n_inputs + i] = (struct nn_infer_operand){
            .type = value->type,
            .n_dims = value->n_dims,
            .scale = value->scale,
            .zero_point = value->zero_point,
            .is_fixed = value->kind == NN_VALUE_OUTPUT};
        memcpy(of->operands[node->n_inputs + i].dims, value->dims, sizeof(value->dims));
    }
}

static void keep_outputs(const struct possibility *of, const struct nn_node *node)
{
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        const struct nn_infer_operand *out = &of->operands[node->n_inputs + i];
        struct known_value *known = &of->values[node->outputs[i]];

        if (out->late_dims)
            continue;
        *known = (struct known_value){.is_known = true,
                                      .n_dims = out->n_dims,
                                      .scale = out->scale,
                                      .zero_point = out->zero_point};
        memcpy(known->dims, out->dims, sizeof(known->dims));
    }
}

static bool is_impossible(const struct possibility *of, const struct nn_node *node,
                          struct nn_why *why)
{
    const struct nn_op *op = nn_op_find(node->operation);
    struct nn_infer infer = {.op = op,
                             .is_lite = node->is_lite,
                             .n_inputs = node->n_inputs,
                             .n_outputs = node->n_outputs,
                             .inputs = of->operands,
                             .outputs = of->operands + node->n_inputs,
                             .why = why};
    int r;

    if (!op || node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE ||
        !fill_inputs(of, node))
        return false;
    fill_outputs(of, node);
    r = nn_infer(&infer);
    if (r == 0)
        keep_outputs(of, node);
    return r == NN_REFUSED;
}

int nn_graph_find_impossible(const struct nn_graph *graph, nn_impossible_fn on_impossible,
                             void *ctx)
{
    _cleanup_(freep) struct known_value *values = calloc((size_t)graph->n_values + 1,
                                                         sizeof(*values));
    struct possibility of = {.graph = graph, .values = values};
    size_t n_operands = 1;

    if (!values)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_values; i++)
        values[i] = declared_value(&graph->values[i]);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        if (n_operands < (size_t)graph->nodes[i].n_inputs + graph->nodes[i].n_outputs)
            n_operands = (size_t)graph->nodes[i].n_inputs + graph->nodes[i].n_outputs;
    of.operands = calloc(n_operands, sizeof(*of.operands));
    if (!of.operands)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < graph->n_nodes; i++) {
        struct nn_why why;

        nn_why_clear(&why);
        if (is_impossible(&of, &graph->nodes[i], &why))
            on_impossible(ctx, i, why.text);
    }
    free(of.operands);
    return 0;
}
