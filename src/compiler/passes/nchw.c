/* SPDX-License-Identifier: Apache-2.0 */
/* nchw.c - models in [N,C,H,W] are computed in [N,H,W,C]
 *
 * The twin (convert.h) of a value in [N,C,H,W] is the same in [N,H,W,C]. Operations
 * with a layout input are moved; so are those that do not care,
 * elementwise ones and CONCATENATION, if what they read has twins. A TRANSPOSE of the model is
 * taken for what it is, so that those around every operation cancel, too.
 *
 * Operations that are moved compute the same bits in either order. */
#include "compiler/passes.h"

#include "base/error.h"
#include "compiler/passes/convert.h"
#include "compiler/passes/view.h"
#include "model/types.h"

#include <string.h>

enum { RANK = 4 };

static const int32_t to_nhwc[RANK] = {0, 2, 3, 1}, to_nchw[RANK] = {0, 3, 1, 2};

struct nchw_work {
    struct nn_conversions twins;
    uint32_t *alias; /* by value: what it is replaced with + 1 */
};

/* ---- looking ---- */

/* Which input says the layout; 0: the operation is not moved. */
static uint32_t layout_input(const struct nn_graph *graph, const struct nn_node *node)
{
    switch (node->operation) {
    case NNHAL_OP_CONV_2D:
    case NNHAL_OP_DEPTHWISE_CONV_2D:
    case NNHAL_OP_AVERAGE_POOL_2D:
    case NNHAL_OP_L2_POOL_2D:
    case NNHAL_OP_MAX_POOL_2D:
        return nn_graph_window_operands(graph, node).layout;
    case NNHAL_OP_RESIZE_BILINEAR:
    case NNHAL_OP_RESIZE_NEAREST_NEIGHBOR:
        return NN_RESIZE_LAYOUT;
    case NNHAL_OP_DEPTH_TO_SPACE:
    case NNHAL_OP_SPACE_TO_DEPTH:
        return NN_SPACE_LAYOUT;
    default:
        return 0;
    }
}

static bool is_nchw(const struct nn_graph *graph, const struct nn_node *node)
{
    uint32_t at = layout_input(graph, node);
    const struct nn_value *value;

    if (!at || !nn_graph_is_bool(graph, node, at))
        return false;
    value = &graph->values[node->inputs[at]];
    return nn_value_is_private(value) && value->size == 1 && *(const uint8_t *)value->data != 0;
}

/* Whether the node is a TRANSPOSE by this permutation. */
static bool is_transpose(const struct nn_graph *graph, const struct nn_node *node,
                         const int32_t order[RANK])
{
    const struct nn_value *by;

    if (node->operation != NNHAL_OP_TRANSPOSE || node->n_inputs != 2)
        return false;
    by = &graph->values[node->inputs[1]];
    return nn_value_is_private(by) && by->size == RANK * sizeof(*order) &&
           memcmp(by->data, order, RANK * sizeof(*order)) == 0;
}

/* Whether an operand looks the same in both orders: a scalar, or one number for all. */
static bool is_same(const struct nn_value *value)
{
    return nn_type_is_scalar(value->type) ||
           (value->kind == NN_VALUE_CONSTANT && value->n_dims <= 1 &&
            value->size == nn_type_bytes(value->type));
}

/* Whether it is a constant that gets its twin when constants are folded. */
static bool is_turned(const struct nn_value *value)
{
    return value->kind == NN_VALUE_CONSTANT && value->n_dims == RANK;
}

/* Whether all that the elementwise operation, or CONCATENATION, reads has twins. */
static bool node_follows_layout(const struct nchw_work *work, const struct nn_node *node)
{
    uint32_t n_twins = 0;
    int32_t axis;

    if (node->n_outputs != 1 ||
        (!nn_view_is_elementwise(node->operation) && node->operation != NNHAL_OP_CONCATENATION))
        return false;
    if (node->operation == NNHAL_OP_CONCATENATION &&
        (!nn_graph_i32(work->twins.graph, node->inputs[node->n_inputs - 1], &axis) ||
         axis < -RANK || axis >= RANK))
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        const struct nn_value *value = &work->twins.graph->values[node->inputs[i]];

        if (nn_conversions_find(&work->twins, node->inputs[i]))
            n_twins += value->kind != NN_VALUE_CONSTANT;
        else if (!is_same(value) && !is_turned(value))
            return false;
    }
    return n_twins > 0;
}

/* ---- making ---- */

static bool has_twin(const struct nn_value *value)
{
    return true;
}

static void node_turn(struct nn_value *twin)
{
    const struct nn_value original = *twin;

    for (uint32_t i = 0; twin->n_dims == RANK && i < RANK; i++)
        twin->dims[i] = original.dims[to_nhwc[i]];
}

static int add_order(struct nn_graph *graph, const int32_t order[RANK], uint32_t *ret)
{
    const struct nn_value like = {
        .type = NNHAL_TENSOR_INT32, .n_dims = 1, .dims = {RANK}, .is_settled = true};

    return nn_error_trace(nn_graph_add_constant(graph, &like, order, RANK * sizeof(*order), ret));
}

static int graph_convert(struct nn_conversions *twins, bool back, uint32_t *ret_operation,
                         uint32_t *ret_constant)
{
    int r = 0;

    if (!twins->constants[back]) {
        r = add_order(twins->graph, back ? to_nchw : to_nhwc, &twins->constants[back]);
        twins->constants[back]++;
    }
    *ret_operation = NNHAL_OP_TRANSPOSE;
    *ret_constant = twins->constants[back] - 1;
    return nn_error_trace(r);
}

static int move_with_layout(struct nchw_work *work, struct nn_node *node)
{
    uint32_t at = layout_input(work->twins.graph, node);
    int r = nn_conversions_want(&work->twins, node->origin, node->inputs[0]);

    node->was_nchw = true;
    if (!r)
        r = nn_graph_add_bool(work->twins.graph, false, &node->inputs[at]);
    /* A filter is the same in both, and so is all that it may be computed from. */
    return r ? nn_error_trace(r) : nn_conversions_move(&work->twins, node, 1);
}

static int move_follower(struct nchw_work *work, struct nn_node *node)
{
    static const int32_t axis_in_nhwc[RANK] = {0, 3, 1, 2};
    uint32_t at = node->n_inputs - 1;
    int32_t axis;
    int r = 0;

    if (node->operation == NNHAL_OP_CONCATENATION) {
        nn_graph_i32(work->twins.graph, node->inputs[at], &axis);
        r = nn_graph_add_i32(work->twins.graph, axis_in_nhwc[axis < 0 ? axis + RANK : axis],
                             &node->inputs[at]);
    }
    for (uint32_t i = 0; !r && i < node->n_inputs; i++)
        if (is_turned(&work->twins.graph->values[node->inputs[i]]))
            r = nn_conversions_want(&work->twins, node->origin, node->inputs[i]);
    return r ? nn_error_trace(r) : nn_conversions_move(&work->twins, node, node->n_inputs);
}

/* ---- the walk ---- */

/* A TRANSPOSE of the model: its result is a twin, or has one. */
static int take_transpose(struct nchw_work *work, struct nn_node *node)
{
    uint32_t in = node->inputs[0], out = node->outputs[0];

    if (is_transpose(work->twins.graph, node, to_nhwc)) {
        if (nn_conversions_find(&work->twins, in) &&
            work->twins.graph->values[out].kind == NN_VALUE_TEMPORARY) {
            work->alias[out] = nn_conversions_find(&work->twins, in);
            return 0;
        }
        if (in < work->twins.n && !work->twins.of[in])
            work->twins.of[in] = out + 1;
    } else if (is_transpose(work->twins.graph, node, to_nchw)) {
        work->twins.of[out] = in + 1;
    }
    return nn_error_trace(nn_rewrite_node(&work->twins.rewrite, node));
}

static int take_node(struct nchw_work *work, struct nn_node *node)
{
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] < work->twins.n && work->alias[node->inputs[i]])
            node->inputs[i] = work->alias[node->inputs[i]] - 1;
    if (node->is_dead)
        return 0;
    if (is_nchw(work->twins.graph, node))
        return move_with_layout(work, node);
    if (node_follows_layout(work, node))
        return move_follower(work, node);
    return take_transpose(work, node);
}

int nn_pass_nchw(struct nn_graph *graph)
{
    struct nchw_work work;
    bool is_wanted = false;
    int r;

    for (uint32_t i = 0; i < graph->n_nodes; i++)
        is_wanted = is_wanted || is_nchw(graph, &graph->nodes[i]) ||
                    is_transpose(graph, &graph->nodes[i], to_nhwc);
    if (!is_wanted)
        return 0;
    r = nn_conversions_init(&work.twins, graph);
    work.twins.has = has_twin;
    work.twins.turn = node_turn;
    work.twins.convert = graph_convert;
    work.alias = nn_arena_new_n(&graph->arena, uint32_t, graph->n_values);
    if (r || !work.alias)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; !r && i < graph->n_nodes; i++)
        r = take_node(&work, &graph->nodes[i]);
    if (!r)
        nn_rewrite_finish(&work.twins.rewrite);
    return nn_error_trace(r);
}
