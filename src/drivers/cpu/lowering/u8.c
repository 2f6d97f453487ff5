/* SPDX-License-Identifier: Apache-2.0 */
/* u8.c - int8 is uint8 inside
 *
 * The twin (convert.h) of an int8 tensor has the same numbers as uint8: each code,
 * and the zero point, 128 higher, so that one set of kernels serves both, and vector
 * instructions that multiply unsigned bytes by signed ones. Convolutions are
 * moved, and what follows them, up to operations that are none of these. What int8
 * rounds in another way than uint8 (the product of scales, the average of
 * codes) goes on doing so: the node is marked as_int8.
 *
 * Filters with a scale per channel stay int8 beside uint8 data, as NNAPI has it. Other
 * constants are flipped when constants are folded, but not large ones: it is not worth
 * a second copy of weights. */
#include "drivers/cpu/lowering/passes.h"

#include "base/error.h"
#include "compiler/internal-op.h"
#include "compiler/passes/convert.h"
#include "compiler/passes/view.h"

#include <string.h>

enum {
    N_CODES = 256,
    FLIP = 0x80,
};

static bool is_int8(const struct nn_value *value)
{
    return value->type == NNHAL_TENSOR_QUANT8_ASYMM_SIGNED;
}

static void graph_turn_u8(struct nn_value *twin)
{
    twin->type = NNHAL_TENSOR_QUANT8_ASYMM;
    twin->zero_point += FLIP;
}

static int add_table(struct nn_graph *graph, uint32_t type, const uint8_t bytes[N_CODES],
                     uint32_t *ret_index)
{
    const struct nn_value like = {
        .type = type, .n_dims = 1, .dims = {N_CODES}, .scale = 1.0f, .is_settled = true};

    return nn_error_trace(nn_graph_add_constant(graph, &like, bytes, N_CODES, ret_index));
}

static int node_convert(struct nn_conversions *twins, bool back, uint32_t *ret_operation,
                        uint32_t *ret_constant)
{
    uint32_t type = back ? NNHAL_TENSOR_QUANT8_ASYMM_SIGNED : NNHAL_TENSOR_QUANT8_ASYMM;
    uint8_t bytes[N_CODES];
    int r = 0;

    for (uint32_t i = 0; i < N_CODES; i++)
        bytes[i] = (uint8_t)(i ^ FLIP);
    if (!twins->constants[back]) {
        r = add_table(twins->graph, type, bytes, &twins->constants[back]);
        twins->constants[back]++;
    }
    *ret_operation = NN_INTERNAL_OP_LUT;
    *ret_constant = twins->constants[back] - 1;
    return nn_error_trace(r);
}

/* ---- which operations ---- */

static bool may_turn(const struct nn_value *value)
{
    return is_int8(value) && (value->kind != NN_VALUE_CONSTANT || nn_value_is_private(value));
}

static bool is_convolution(const struct nn_graph *graph, const struct nn_node *node)
{
    const struct nn_value *filter;

    if (node->is_dead ||
        (node->operation != NNHAL_OP_CONV_2D && node->operation != NNHAL_OP_DEPTHWISE_CONV_2D))
        return false;
    filter = &graph->values[node->inputs[NN_CONV_FILTER]];
    return may_turn(&graph->values[node->inputs[NN_CONV_INPUT]]) &&
           (filter->type == NNHAL_TENSOR_QUANT8_SYMM_PER_CHANNEL || may_turn(filter));
}

/* Operations that compute with the distance of codes from their zero point, or
 * with codes as they are, so that they are the same for both. */
static bool is_same(uint32_t operation)
{
    switch (operation) {
    case NNHAL_OP_ADD:
    case NNHAL_OP_AVERAGE_POOL_2D: /* marked */
    case NNHAL_OP_CONCATENATION:
    case NNHAL_OP_DEQUANTIZE:
    case NNHAL_OP_EXPAND_DIMS:
    case NNHAL_OP_MAX_POOL_2D:
    case NNHAL_OP_MUL:
    case NNHAL_OP_PAD:
    case NNHAL_OP_RESHAPE:
    case NNHAL_OP_SQUEEZE:
    case NNHAL_OP_SUB:
    case NNHAL_OP_TRANSPOSE:
    case NN_INTERNAL_OP_LUT:
        return true;
    default:
        return false;
    }
}

/* Whether the quantization that the value has here is the one that it gets when it is computed:
 * conversions rely on it. */
static bool is_certain(const struct nn_value *value)
{
    return value->is_settled || value->kind != NN_VALUE_TEMPORARY;
}

/* Whether what the operation makes has the quantization that it has here. */
static bool makes_certain(const struct nn_graph *graph, const struct nn_node *node)
{
    const struct nn_value *out = &graph->values[node->outputs[0]];

    switch (node->operation) {
    case NNHAL_OP_AVERAGE_POOL_2D:
    case NNHAL_OP_EXPAND_DIMS:
    case NNHAL_OP_MAX_POOL_2D:
    case NNHAL_OP_PAD:
    case NNHAL_OP_RESHAPE:
    case NNHAL_OP_SQUEEZE:
    case NNHAL_OP_TRANSPOSE:
        return is_certain(out) || nn_view_same_form(&graph->values[node->inputs[0]], out);
    default:
        return true; /* it may have any */
    }
}

/* Whether the operation works on twins: all its data has some, or is constant. */
static bool node_follows_u8(const struct nn_conversions *twins, const struct nn_node *node)
{
    uint32_t n = node->operation == NN_INTERNAL_OP_LUT ? 1 : node->n_inputs, n_twins = 0;

    if (!is_same(node->operation) || !makes_certain(twins->graph, node))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct nn_value *value = &twins->graph->values[node->inputs[i]];

        if (!is_int8(value))
            continue;
        if (nn_conversions_find(twins, node->inputs[i]))
            n_twins += value->kind != NN_VALUE_CONSTANT;
        else if (value->kind != NN_VALUE_CONSTANT || !may_turn(value))
            return false;
    }
    return n_twins > 0 && (node->operation != NN_INTERNAL_OP_LUT ||
                           nn_value_is_private(&twins->graph->values[node->inputs[1]]));
}

/* ---- moving ---- */

/* The table for codes that are flipped before it, and behind it, too, if it makes int8. */
static int turn_table(struct nn_graph *graph, struct nn_node *node)
{
    const struct nn_value *table = &graph->values[node->inputs[1]];
    uint8_t bytes[N_CODES], flip = is_int8(table) ? FLIP : 0;

    for (uint32_t i = 0; i < N_CODES; i++)
        bytes[i] = ((const uint8_t *)table->data)[i ^ FLIP] ^ flip;
    return nn_error_trace(add_table(graph, NNHAL_TENSOR_QUANT8_ASYMM, bytes, &node->inputs[1]));
}

static int value_move(struct nn_conversions *twins, struct nn_node *node)
{
    int r = 0;

    if (node->operation == NN_INTERNAL_OP_LUT)
        r = turn_table(twins->graph, node);
    for (uint32_t i = 0; !r && i < node->n_inputs; i++)
        if (is_int8(&twins->graph->values[node->inputs[i]]))
            r = nn_conversions_want(twins, node->origin, node->inputs[i]);
    node->as_int8 = node->operation == NNHAL_OP_CONV_2D ||
                    node->operation == NNHAL_OP_DEPTHWISE_CONV_2D ||
                    node->operation == NNHAL_OP_AVERAGE_POOL_2D;
    return r ? nn_error_trace(r) : nn_conversions_move(twins, node, node->n_inputs);
}

/* Whether all that a convolution reads may get twins, or has them. */
static bool is_movable(const struct nn_conversions *twins, const struct nn_node *node)
{
    if (!is_convolution(twins->graph, node))
        return false;
    for (uint32_t i = NN_CONV_INPUT; i <= NN_CONV_FILTER; i++)
        if (is_int8(&twins->graph->values[node->inputs[i]]) &&
            !nn_conversions_find(twins, node->inputs[i]) &&
            !is_certain(&twins->graph->values[node->inputs[i]]))
            return false;
    return true;
}

static int take_node(struct nn_conversions *twins, struct nn_node *node)
{
    if (node->is_dead)
        return 0;
    if (is_movable(twins, node) || node_follows_u8(twins, node))
        return value_move(twins, node);
    return nn_error_trace(nn_rewrite_node(&twins->rewrite, node));
}

int nn_pass_u8(struct nn_graph *graph)
{
    struct nn_conversions twins;
    bool has_some = false;
    int r;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        has_some = has_some || is_convolution(graph, &graph->nodes[i]);
    if (!has_some)
        return 0;
    r = nn_conversions_init(&twins, graph);
    twins.has = is_int8;
    twins.turn = graph_turn_u8;
    twins.convert = node_convert;
    for (uint32_t i = 0; !r && i < graph->n_nodes; i++)
        r = take_node(&twins, &graph->nodes[i]);
    if (!r)
        nn_rewrite_finish(&twins.rewrite);
    return nn_error_trace(r);
}
