/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - views, in place, slots, and the arena
 *
 * Every value of a segment lies in the memory of a root, some bytes behind its
 * beginning. At first each value is its own root. Walking over the steps in
 * order, views join the roots of their operands (a RESHAPE's output joins its
 * input; what CONCATENATION puts together joins its output), and a kernel that
 * works in place joins its output to the root of an input that ends there. A
 * root is either the segment's own, placed in the arena or in one slot, or not:
 * constants, inputs and earlier results, which are never written to.
 *
 * What keeps this sound: memory of a root is taken from the first step that
 * writes any value in it to the last one that reads any; a step writes in place
 * only into a root of which nothing is read afterwards; and a root that has a slot
 * is exactly that value. Steps that run joined (epilogue.h) count as one moment. */
#include "drivers/cpu/lowering/segment.h"

#include "base/error.h"
#include "compiler/memory-plan.h"
#include "drivers/cpu/executor/epilogue.h"
#include "model/operands.h"
#include "model/ops.h"

#include <string.h>

/* Ways become shorter as they are walked: views of views may be thousands deep. */
uint32_t nn_segment_root(struct nn_segment *segment, uint32_t value, uint64_t *ret_delta)
{
    uint64_t delta = 0;

    while (segment->values[value].root != value) {
        struct nn_segment_value *v = &segment->values[value];
        const struct nn_segment_value *above = &segment->values[v->root];

        if (above->root != v->root) {
            v->delta += above->delta;
            v->root = above->root;
        }
        delta += v->delta;
        value = v->root;
    }
    *ret_delta = delta;
    return value;
}

/* Puts the memory of root below into that of root above, delta bytes behind its beginning. */
static void layout_fuse(struct nn_segment *segment, uint32_t below, uint32_t above, uint64_t delta)
{
    struct nn_segment_value *b = &segment->values[below];
    struct nn_segment_value *a = &segment->values[above];

    b->root = above;
    b->delta = delta;
    if (b->first_step < a->first_step)
        a->first_step = b->first_step;
    if (b->last_step > a->last_step)
        a->last_step = b->last_step;
    if (b->slot != NN_NOWHERE)
        a->slot = b->slot;
}

static bool is_free(const struct nn_segment_value *root)
{
    return root->is_local && !root->is_late && root->slot == NN_NOWHERE;
}

static const struct nn_node *step_node(const struct nn_segment *segment, uint32_t step)
{
    return &segment->graph->nodes[segment->steps[step].node];
}

/* ---- joined steps ---- */

/* Whether the step can run inside the one before: that one's result is as large
 * as its own, and of no other step. What the graph says is only that it would be good. */
static bool may_follow(const struct nn_segment *segment, uint32_t step)
{
    const struct nn_node *node = step_node(segment, step), *before;
    const struct nn_segment_value *out, *in;
    uint32_t n_reads = 0;

    if (step == 0 || !node->is_fused || !segment->steps[step].row->is_elementwise ||
        !nn_epilogue_takes(segment->steps[step - 1].row))
        return false;
    before = step_node(segment, step - 1);
    out = &segment->values[node->outputs[0]];
    in = &segment->values[before->outputs[0]];
    for (uint32_t i = 0; i < node->n_inputs; i++)
        n_reads += node->inputs[i] == before->outputs[0];
    return node->n_outputs == 1 && before->n_outputs == 1 && n_reads == 1 && !in->is_slot &&
           !in->is_late && !out->is_late && in->n_dims == out->n_dims &&
           memcmp(in->dims, out->dims, in->n_dims * sizeof(*in->dims)) == 0;
}

static void join_steps(struct nn_segment *segment)
{
    uint32_t n = 0;

    for (uint32_t s = 0; s < segment->n_steps; s++) {
        n = n < NN_EPILOGUE_MAX && may_follow(segment, s) ? n + 1 : 0;
        segment->steps[s].is_fused = n > 0;
    }
}

/* The steps that run together with a step: they read and write at the same time. */
static void find_group(const struct nn_segment *segment, uint32_t step, uint32_t *ret_first,
                       uint32_t *ret_last)
{
    *ret_first = *ret_last = step;
    while (segment->steps[*ret_first].is_fused)
        (*ret_first)--;
    while (*ret_last + 1 < segment->n_steps && segment->steps[*ret_last + 1].is_fused)
        (*ret_last)++;
}

/* ---- lifetimes ---- */

static bool is_read_later(const struct nn_segment *segment, uint32_t value)
{
    return segment->graph->values[value].kind == NN_VALUE_OUTPUT ||
           segment->graph->last_use[value] > segment->end_node;
}

static void find_lifetimes(struct nn_segment *segment)
{
    for (uint32_t v = 0; v < segment->graph->n_values; v++) {
        struct nn_segment_value *state = &segment->values[v];

        state->root = v;
        state->slot = NN_NOWHERE;
        state->is_slot = state->is_local && (state->is_late || is_read_later(segment, v));
        if (state->is_slot)
            state->slot = v;
    }
    join_steps(segment);
    for (uint32_t s = 0; s < segment->n_steps; s++) {
        const struct nn_node *node = step_node(segment, s);
        uint32_t first, last;

        find_group(segment, s, &first, &last);
        for (uint32_t i = 0; i < node->n_inputs; i++)
            segment->values[node->inputs[i]].last_step = last;
        for (uint32_t i = 0; i < node->n_outputs; i++) {
            segment->values[node->outputs[i]].first_step = first;
            segment->values[node->outputs[i]].last_step = last;
        }
    }
}

/* ---- views ---- */

static int32_t known_i32(const struct nn_segment *segment, uint32_t value)
{
    int32_t number = 0;

    memcpy(&number, segment->values[value].known, sizeof(number));
    return number;
}

static bool same_quant(const struct nn_segment_value *a, const struct nn_segment_value *b)
{
    return a->scale == b->scale && a->zero_point == b->zero_point;
}

/* RESHAPE and its like: output 0 is input 0 in another shape. */
static bool view_whole(struct nn_segment *segment, const struct nn_node *node)
{
    struct nn_segment_value *out = &segment->values[node->outputs[0]];
    const struct nn_segment_value *in = &segment->values[node->inputs[0]];
    uint64_t delta;
    uint32_t root = nn_segment_root(segment, node->inputs[0], &delta);
    struct nn_segment_value *r = &segment->values[root];

    if (in->size != out->size || out->is_late)
        return false;
    if (out->is_slot && (!is_free(r) || delta != 0 || r->size != out->size))
        return false;
    layout_fuse(segment, node->outputs[0], root, delta);
    return true;
}

/* Whether all dimensions before axis are 1, so that parts along it lie one behind the other. */
static bool is_outermost(const struct nn_segment_value *value, int32_t axis)
{
    if (axis < 0)
        axis += (int32_t)value->n_dims;
    if (axis < 0 || (uint32_t)axis >= value->n_dims)
        return false;
    for (int32_t i = 0; i < axis; i++)
        if (value->dims[i] != 1)
            return false;
    return true;
}

/* Whether part is the whole of a root that may be moved to a part of out's memory. */
static bool may_join(struct nn_segment *segment, uint32_t part, uint32_t out)
{
    uint64_t delta;
    uint32_t root = nn_segment_root(segment, part, &delta);
    const struct nn_segment_value *r = &segment->values[root];

    return is_free(r) && root != out && delta == 0 && r->size == segment->values[part].size &&
           r->size > 0 && same_quant(&segment->values[part], &segment->values[out]);
}

/* Two parts of one root cannot both move: while parts are looked at, roots that are taken are not
 * free. */
static bool view_concatenation(struct nn_segment *segment, const struct nn_node *node)
{
    uint32_t n = node->n_inputs - 1, n_taken = 0, out = node->outputs[0];
    uint64_t offset = 0, delta;

    if (segment->values[out].is_late ||
        !is_outermost(&segment->values[out], known_i32(segment, node->inputs[n])))
        return false;
    for (; n_taken < n && may_join(segment, node->inputs[n_taken], out); n_taken++)
        segment->values[nn_segment_root(segment, node->inputs[n_taken], &delta)].slot = out;
    for (uint32_t i = 0; i < n_taken; i++)
        segment->values[nn_segment_root(segment, node->inputs[i], &delta)].slot = NN_NOWHERE;
    if (n_taken < n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        layout_fuse(segment, nn_segment_root(segment, node->inputs[i], &delta), out, offset);
        offset += segment->values[node->inputs[i]].size;
    }
    return true;
}

static bool view_split(struct nn_segment *segment, const struct nn_node *node)
{
    uint64_t delta;
    uint32_t root = nn_segment_root(segment, node->inputs[0], &delta);

    if (!is_outermost(&segment->values[node->inputs[0]],
                      known_i32(segment, node->inputs[NN_SPLIT_AXIS])))
        return false;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        if (segment->values[node->outputs[i]].is_slot)
            return false;
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        layout_fuse(segment, node->outputs[i], root, delta);
        delta += segment->values[node->outputs[i]].size;
    }
    return true;
}

static bool make_view(struct nn_segment *segment, const struct nn_node *node)
{
    switch (node->operation) {
    case NNHAL_OP_RESHAPE:
    case NNHAL_OP_SQUEEZE:
    case NNHAL_OP_EXPAND_DIMS:
    case NN_TFLITE_OP(BITCAST):
        return view_whole(segment, node);
    case NNHAL_OP_CONCATENATION:
        return view_concatenation(segment, node);
    case NNHAL_OP_SPLIT:
        return view_split(segment, node);
    default:
        return false;
    }
}

/* ---- in place ---- */

/* Whether every operand in this root is read as output 0 is written: same place, same size. */
static bool others_agree(struct nn_segment *segment, const struct nn_node *node, uint32_t root,
                         uint64_t in_place, uint64_t size)
{
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        uint64_t delta;

        if (nn_segment_root(segment, node->inputs[i], &delta) != root)
            continue;
        if (i >= 64 || !(in_place >> i & 1) || delta != 0 ||
            segment->values[node->inputs[i]].size != size)
            return false;
    }
    return true;
}

/* Whether another step of the group reads in this root: while one range is written, it may
 * read another. What a step before this one passed on to the next is done with. */
static bool group_needs(struct nn_segment *segment, uint32_t step, uint32_t first, uint32_t last,
                        uint32_t root)
{
    uint64_t delta;

    for (uint32_t s = first; s <= last; s++) {
        const struct nn_node *node = step_node(segment, s);

        for (uint32_t i = 0; s != step && i < node->n_inputs; i++) {
            bool is_passed_on = s > first && s < step &&
                                node->inputs[i] == step_node(segment, s - 1)->outputs[0];

            if (!is_passed_on && nn_segment_root(segment, node->inputs[i], &delta) == root)
                return true;
        }
    }
    return false;
}

static void work_in_place(struct nn_segment *segment, uint32_t step)
{
    const struct nn_node *node = step_node(segment, step);
    uint64_t in_place = segment->steps[step].row->in_place, delta;
    uint32_t out = node->outputs[0], first, last;
    uint64_t size = segment->values[out].size;

    if (segment->values[out].is_late || size == 0)
        return;
    find_group(segment, step, &first, &last);
    for (uint32_t i = 0; i < node->n_inputs && i < 64; i++) {
        uint32_t root = nn_segment_root(segment, node->inputs[i], &delta);
        const struct nn_segment_value *r = &segment->values[root];

        if ((in_place >> i & 1) && is_free(r) && r->last_step == last && delta == 0 &&
            r->size == size && root != out && others_agree(segment, node, root, in_place, size) &&
            !group_needs(segment, step, first, last, root)) {
            layout_fuse(segment, out, root, 0);
            return;
        }
    }
}

/* ---- the arena ---- */

static bool needs_arena(const struct nn_segment *segment, uint32_t value)
{
    const struct nn_segment_value *state = &segment->values[value];

    return state->is_local && state->root == value && state->slot == NN_NOWHERE;
}

static int layout_place(struct nn_segment *segment)
{
    struct nn_memory_buffer *buffers;
    uint32_t n = 0, i = 0;
    int r;

    for (uint32_t v = 0; v < segment->graph->n_values; v++)
        n += needs_arena(segment, v);
    buffers = nn_arena_new_n(segment->arena, struct nn_memory_buffer, n);
    if (!buffers)
        return nn_error_origin(-ENOMEM);
    for (uint32_t v = 0; v < segment->graph->n_values; v++) {
        const struct nn_segment_value *state = &segment->values[v];

        if (needs_arena(segment, v))
            buffers[i++] = (struct nn_memory_buffer){
                .size = state->size, .first = state->first_step, .last = state->last_step};
    }
    r = nn_memory_plan(buffers, n, &segment->arena_bytes);
    if (r)
        return nn_error_trace(r);
    i = 0;
    for (uint32_t v = 0; v < segment->graph->n_values; v++)
        if (needs_arena(segment, v))
            segment->values[v].offset = buffers[i++].offset;
    return 0;
}

int nn_segment_layout(struct nn_segment *segment)
{
    find_lifetimes(segment);
    for (uint32_t s = 0; s < segment->n_steps; s++) {
        if (make_view(segment, step_node(segment, s)))
            segment->steps[s].is_dropped = true;
        else if (segment->steps[s].row->in_place)
            work_in_place(segment, s);
    }
    return nn_error_trace(layout_place(segment));
}
