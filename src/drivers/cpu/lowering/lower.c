/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/lowering/lower.h"

#include "base/arith.h"
#include "base/block.h"
#include "base/error.h"
#include "drivers/cpu/lowering/row.h"
#include "drivers/cpu/lowering/segment.h"
#include "compiler/internal-op.h"
#include "model/infer.h"
#include "model/types.h"

#include <string.h>

/* Values that inference asks for without saying which: integers, and no more than this. */
enum { MAX_GUESSED_BYTES = 4096 };

enum { MIN_RESERVED_BYTES = 1 << 16 }; /* of weights: less is moved in no time */

enum { LOWER_CUT = 100 }; /* internal: the segment ends before this node */

/* ---- values ---- */

static int set_size(struct nn_segment_value *state, uint32_t type)
{
    uint64_t count;

    if (!nn_dims_product(state->n_dims, state->dims, &count) ||
        !nn_mul_u64(count, nn_type_bytes(type), &state->size) || state->size > UINT32_MAX)
        return nn_error_origin(-ENOMEM);
    state->is_defined = true;
    return 0;
}

/* Bytes of a large constant may change under us: they are not known. */
static void define_constant(struct nn_segment_value *state, const struct nn_value *value)
{
    state->n_dims = value->n_dims;
    memcpy(state->dims, value->dims, sizeof(state->dims));
    state->size = value->size;
    state->is_defined = true;
    if (nn_value_is_private(value))
        state->known = value->data;
}

/* The shape of a slot is a condition of the plan, its bytes only once something asks for them. */
static void define_from_slot(struct nn_segment *segment, uint32_t index,
                             struct nn_segment_value *state)
{
    const struct nn_slot *slot = &segment->frame->slots[index];

    state->n_dims = slot->n_dims;
    memcpy(state->dims, slot->dims, sizeof(state->dims));
    state->size = slot->size;
    state->scale = slot->scale;
    state->zero_point = slot->zero_point;
    state->is_omitted = slot->is_omitted;
    state->is_defined = true;
    segment->conditions[segment->n_conditions].value = index;
    state->condition = ++segment->n_conditions;
}

/* Makes sure that the shape of a value is known. */
static int value_define(struct nn_segment *segment, uint32_t index)
{
    const struct nn_value *value = &segment->graph->values[index];
    struct nn_segment_value *state = &segment->values[index];

    if (state->is_defined)
        return 0;
    state->scale = value->scale;
    state->zero_point = value->zero_point;
    if (value->kind == NN_VALUE_OMITTED) {
        state->is_omitted = true;
        state->is_defined = true;
    } else if (value->kind == NN_VALUE_CONSTANT) {
        define_constant(state, value);
    } else if (segment->frame->slots[index].is_known || segment->frame->slots[index].is_omitted) {
        define_from_slot(segment, index, state);
    } else {
        return NN_LOWER_E_UNKNOWN;
    }
    return 0;
}

/* Makes sure that the bytes of a value are known. */
static int make_known(struct nn_segment *segment, uint32_t index)
{
    const struct nn_value *value = &segment->graph->values[index];
    struct nn_segment_value *state = &segment->values[index];
    const struct nn_slot *slot = &segment->frame->slots[index];
    const void *bytes;

    if (state->known || state->is_omitted || state->size == 0)
        return 0;
    if (state->is_local)
        return LOWER_CUT;
    bytes = value->kind == NN_VALUE_CONSTANT ? value->data : slot->data;
    if (!bytes)
        return NN_LOWER_E_UNKNOWN;
    state->known = nn_arena_dup(segment->arena, bytes, state->size);
    if (!state->known)
        return nn_error_origin(-ENOMEM);
    if (state->condition)
        segment->conditions[state->condition - 1].bytes = state->known;
    return 0;
}

/* ---- one node ---- */

struct node_work {
    struct nn_segment *segment;
    const struct nn_node *node;
    uint32_t index;
    struct nn_infer_operand *inputs, *outputs;
    struct nn_lower_operand *lower_inputs, *lower_outputs;
    struct nn_tensor *tensors; /* inputs, then outputs */
    uint32_t *types;           /* inputs, then outputs */
};

static int allocate_work(struct node_work *work)
{
    struct nn_arena *arena = work->segment->arena;
    uint32_t n_in = work->node->n_inputs, n_out = work->node->n_outputs;

    work->inputs = nn_arena_new_n(arena, struct nn_infer_operand, n_in);
    work->outputs = nn_arena_new_n(arena, struct nn_infer_operand, n_out);
    work->lower_inputs = nn_arena_new_n(arena, struct nn_lower_operand, n_in);
    work->lower_outputs = nn_arena_new_n(arena, struct nn_lower_operand, n_out);
    work->tensors = nn_arena_new_n(arena, struct nn_tensor, (size_t)n_in + n_out);
    work->types = nn_arena_new_n(arena, uint32_t, (size_t)n_in + n_out);
    if (!work->inputs || !work->outputs || !work->lower_inputs || !work->lower_outputs ||
        !work->tensors || !work->types)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n_in; i++)
        work->types[i] = work->segment->graph->values[work->node->inputs[i]].type;
    for (uint32_t i = 0; i < n_out; i++)
        work->types[n_in + i] = work->segment->graph->values[work->node->outputs[i]].type;
    return 0;
}

/* Types alone: whether a row takes the shapes, its lower() says. */
static uint32_t find_row(const struct node_work *work, uint32_t first)
{
    return nn_kernel_find(first, work->node->operation, work->segment->isa, work->node->n_inputs,
                          work->node->n_outputs, work->types);
}

static bool must_know(const struct nn_value *value, const struct nn_kernel *row, uint32_t i)
{
    return nn_type_is_scalar(value->type) || (i < 64 && (row->needs_value >> i & 1));
}

/* Scalars, what the kernel names, and with guess set, all that may be a shape. */
static int know_inputs(struct node_work *work, const struct nn_kernel *row, bool guess)
{
    struct nn_segment *segment = work->segment;
    int r;

    for (uint32_t i = 0; i < work->node->n_inputs; i++) {
        uint32_t index = work->node->inputs[i];
        const struct nn_value *value = &segment->graph->values[index];

        r = value_define(segment, index);
        if (r)
            return r;
        if (must_know(value, row, i) || (guess && value->type == NNHAL_TENSOR_INT32 &&
                                         segment->values[index].size <= MAX_GUESSED_BYTES)) {
            r = make_known(segment, index);
            if (r)
                return r;
        }
    }
    return 0;
}

static void fill_infer_input(const struct nn_value *value, const struct nn_segment_value *state,
                             struct nn_infer_operand *operand)
{
    *operand = (struct nn_infer_operand){
        .type = value->type,
        .n_dims = state->n_dims,
        .scale = state->scale,
        .zero_point = state->zero_point,
        .channel_quant = value->channel_quant.n_scales ? &value->channel_quant : NULL,
        .value = state->known,
        .is_omitted = state->is_omitted,
        .is_known = true};
    memcpy(operand->dims, state->dims, sizeof(operand->dims));
}

static void fill_infer_output(const struct nn_value *value, struct nn_infer_operand *operand)
{
    *operand = (struct nn_infer_operand){
        .type = value->type,
        .n_dims = value->n_dims,
        .scale = value->scale,
        .zero_point = value->zero_point,
        .channel_quant = value->channel_quant.n_scales ? &value->channel_quant : NULL,
        .is_omitted = value->kind == NN_VALUE_OMITTED,
        .is_fixed = value->kind == NN_VALUE_OUTPUT};
    memcpy(operand->dims, value->dims, sizeof(operand->dims));
}

static int infer_once(struct node_work *work)
{
    const struct nn_graph *graph = work->segment->graph;
    struct nn_infer infer = {.op = nn_op_find(work->node->operation),
                             .is_lite = work->node->is_lite,
                             .n_inputs = work->node->n_inputs,
                             .n_outputs = work->node->n_outputs,
                             .inputs = work->inputs,
                             .outputs = work->outputs,
                             .why = work->segment->why};

    for (uint32_t i = 0; i < infer.n_inputs; i++)
        fill_infer_input(&graph->values[work->node->inputs[i]],
                         &work->segment->values[work->node->inputs[i]], &work->inputs[i]);
    for (uint32_t i = 0; i < infer.n_outputs; i++)
        fill_infer_output(&graph->values[work->node->outputs[i]], &work->outputs[i]);
    return infer.op ? nn_infer(&infer) : nn_internal_op_infer(&infer);
}

/* Inference first runs with what is known; only if it asks for more are integers that may be
 * shapes made known, because each that is cuts the plan, or ties it to its value. */
static int infer_outputs(struct node_work *work, const struct nn_kernel *row)
{
    struct nn_segment *segment = work->segment;
    int r = infer_once(work);

    if (r == NN_INFER_E_UNKNOWN) {
        r = know_inputs(work, row, true);
        if (r)
            return r;
        r = infer_once(work);
    }
    if (r == NN_INFER_E_UNKNOWN)
        nn_refuse(segment->why, "the shape of its output cannot be known");
    if (r)
        return r < 0 ? nn_error_trace(r) : NN_LOWER_E_REFUSED;
    for (uint32_t i = 0; i < work->node->n_outputs; i++) {
        const struct nn_infer_operand *out = &work->outputs[i];
        struct nn_segment_value *state = &segment->values[work->node->outputs[i]];

        state->is_local = true;
        state->is_omitted = out->is_omitted;
        state->is_late = out->late_dims != 0;
        state->n_dims = out->n_dims;
        memcpy(state->dims, out->dims, sizeof(state->dims));
        state->scale = out->scale;
        state->zero_point = out->zero_point;
        r = set_size(state, out->type);
        if (r)
            return nn_error_trace(r);
    }
    return 0;
}

static void fill_lower(const struct nn_value *value, const struct nn_segment_value *state,
                       struct nn_lower_operand *operand)
{
    *operand = (struct nn_lower_operand){.type = value->type,
                                         .is_omitted = state->is_omitted,
                                         .n_dims = state->n_dims,
                                         .scale = state->scale,
                                         .zero_point = state->zero_point,
                                         .channel_dim = value->channel_quant.channel_dim,
                                         .n_channel_scales = value->channel_quant.n_scales,
                                         .channel_scales = value->channel_quant.scales,
                                         .value = state->known,
                                         .size = state->size};
    memcpy(operand->dims, state->dims, sizeof(operand->dims));
    if (!state->known && value->kind == NN_VALUE_CONSTANT)
        operand->value = value->data;
}

static bool outputs_are_empty(const struct node_work *work)
{
    for (uint32_t i = 0; i < work->node->n_outputs; i++) {
        const struct nn_segment_value *state = &work->segment->values[work->node->outputs[i]];

        if (state->size || state->is_late)
            return false;
    }
    return true;
}

static int add_step(struct node_work *work, uint32_t kernel, const struct nn_kernel *row,
                    const struct nn_lower *lower)
{
    struct nn_segment *segment = work->segment;
    struct nn_segment_step step = {.node = work->index,
                                   .kernel = kernel,
                                   .row = row,
                                   .params = lower->params,
                                   .weights = lower->private->weights,
                                   .weights_bytes = lower->private->weights_bytes};

    if (!nn_row_find_scratch(row, lower, work->tensors, &step.scratch))
        return nn_error_origin(-ENOMEM);
    segment->steps[segment->n_steps++] = step;
    return 0;
}

/* Asks the rows that match, in order, until one takes the node. */
static int lower_with_rows(struct node_work *work, uint32_t kernel)
{
    struct nn_segment *segment = work->segment;
    const struct nn_graph *graph = segment->graph;
    struct nn_lower_private private = {.blob = &segment->weights, .why = segment->why};
    size_t weights_size = segment->weights.size;
    struct nn_lower lower = {.operation = work->node->operation,
                             .n_inputs = work->node->n_inputs,
                             .n_outputs = work->node->n_outputs,
                             .is_relaxed = graph->is_relaxed,
                             .as_int8 = work->node->as_int8,
                             .was_nchw = work->node->was_nchw,
                             .stop = segment->stop,
                             .inputs = work->lower_inputs,
                             .outputs = work->lower_outputs,
                             .private = &private};

    for (uint32_t i = 0; i < lower.n_inputs; i++)
        fill_lower(&graph->values[work->node->inputs[i]], &segment->values[work->node->inputs[i]],
                   &work->lower_inputs[i]);
    for (uint32_t i = 0; i < lower.n_outputs; i++)
        fill_lower(&graph->values[work->node->outputs[i]], &segment->values[work->node->outputs[i]],
                   &work->lower_outputs[i]);
    for (; kernel != UINT32_MAX; kernel = find_row(work, kernel + 1)) {
        const struct nn_kernel *row = nn_kernel_at(kernel);
        int r;

        lower.params = nn_arena_alloc(segment->arena, row->params_bytes + 1);
        if (!lower.params)
            return nn_error_origin(-ENOMEM);
        /* A row that passed may have begun to pack weights. */
        segment->weights.size = weights_size;
        private.weights_bytes = 0;
        r = row->lower ? row->lower(&lower) : 0;
        if (nn_stop_outcome(segment->stop))
            return NN_LOWER_E_STOPPED;
        if (r == 0)
            return add_step(work, kernel, row, &lower);
        if (r != NN_KERNEL_E_PASS)
            return r < 0 ? nn_error_trace(r) : NN_LOWER_E_REFUSED;
    }
    nn_refuse(segment->why, "no kernel takes these shapes");
    return NN_LOWER_E_REFUSED;
}

/* Behind a dynamic step shapes are known only when it has run: the next plan begins there. */
static int lower_node(struct nn_segment *segment, uint32_t index)
{
    struct node_work work = {
        .segment = segment, .node = &segment->graph->nodes[index], .index = index};
    const struct nn_kernel *row;
    uint32_t kernel;
    int r = allocate_work(&work);

    if (r)
        return nn_error_trace(r);
    kernel = find_row(&work, 0);
    row = nn_kernel_at(kernel);
    if (!row) {
        nn_refuse(segment->why, "there is no kernel for these types");
        return NN_LOWER_E_REFUSED;
    }
    if ((r = know_inputs(&work, row, false)) || (r = infer_outputs(&work, row)))
        return r;
    if (outputs_are_empty(&work) && !row->is_dynamic)
        return 0;
    r = lower_with_rows(&work, kernel);
    if (!r && row->is_dynamic) {
        segment->end = NN_PLAN_CUT;
        segment->end_node = index + 1;
    }
    return r;
}

/* ---- the walk ---- */

static bool is_control(const struct nn_node *node)
{
    return node->operation == NNHAL_OP_IF || node->operation == NNHAL_OP_WHILE;
}

/* Dead nodes at the end do not make another plan. */
static int segment_walk(struct nn_segment *segment)
{
    const struct nn_graph *graph = segment->graph;

    segment->end = NN_PLAN_DONE;
    segment->end_node = graph->n_nodes;
    for (uint32_t i = segment->first_node; i < segment->end_node; i++) {
        int r;

        if (graph->nodes[i].is_dead)
            continue;
        if (is_control(&graph->nodes[i])) {
            segment->end = NN_PLAN_CONTROL;
            segment->end_node = i;
            break;
        }
        r = nn_stop_look(segment->stop) ? NN_LOWER_E_STOPPED : lower_node(segment, i);
        if (r == LOWER_CUT) {
            segment->end = NN_PLAN_CUT;
            segment->end_node = i;
            break;
        }
        if (r == NN_LOWER_E_REFUSED)
            nn_why_prefix(segment->why, "operation %u (%s): ", graph->nodes[i].origin,
                          nn_internal_op_name(graph->nodes[i].operation));
        if (r)
            return r;
    }
    while (segment->end_node < graph->n_nodes && graph->nodes[segment->end_node].is_dead)
        segment->end_node++;
    if (segment->end_node == graph->n_nodes)
        segment->end = NN_PLAN_DONE;
    return 0;
}

static int lower_segment(struct nn_segment *segment, struct nn_plan *ret_plan)
{
    const struct nn_graph *graph = segment->graph;
    int r;

    segment->values = nn_arena_new_n(segment->arena, struct nn_segment_value, graph->n_values);
    segment->conditions = nn_arena_new_n(segment->arena, struct nn_segment_condition,
                                         graph->n_values);
    segment->steps = nn_arena_new_n(segment->arena, struct nn_segment_step,
                                    graph->n_nodes - segment->first_node);
    if (!segment->values || !segment->conditions || !segment->steps)
        return nn_error_origin(-ENOMEM);
    r = segment_walk(segment);
    if (!r)
        r = nn_segment_layout(segment);
    if (!r && nn_stop_look(segment->stop))
        r = NN_LOWER_E_STOPPED;
    if (!r)
        r = nn_segment_emit(segment, ret_plan);
    return r;
}

/* What packing will read is made present: a file's pages come sixteen by an exception else. There is
 * room for what it will write, so that weights do not move as they grow, each time into memory that
 * is touched for the first time. Codes of 8 bits may become two bytes. That is a guess, since only
 * kernels know what they pack. */
static void make_weights_ready(struct nn_segment *segment)
{
    const struct nn_graph *graph = segment->graph;
    bool *is_counted = nn_arena_new_n(segment->arena, bool, graph->n_values);
    size_t n_bytes = 0;

    for (uint32_t n = segment->first_node; is_counted && n < graph->n_nodes; n++)
        for (uint32_t i = 0; i < graph->nodes[n].n_inputs; i++) {
            uint32_t index = graph->nodes[n].inputs[i];
            const struct nn_value *value = &graph->values[index];
            size_t factor = nn_type_bytes(value->type) == 1 ? 2 : 1, size;

            if (value->kind != NN_VALUE_CONSTANT || is_counted[index])
                continue;
            is_counted[index] = true;
            if (value->pool != NN_POOL_NONE && !nn_stop_look(segment->stop))
                nn_block_touch_read(value->data, (size_t)value->size);
            if (!nn_mul_size(value->size, factor, &size) || !nn_add_size(n_bytes, size, &n_bytes))
                return;
        }
    if (n_bytes >= MIN_RESERVED_BYTES)
        nn_blob_reserve(&segment->weights, n_bytes, NN_PLAN_ALIGNMENT);
}

/* segment comes without its memory. *ret_has_room: weights got more of it than they may need. */
static int lower_once(struct nn_segment segment, bool wants_room, bool *ret_has_room,
                      struct nn_plan *ret_plan)
{
    struct nn_arena arena;
    int r;

    nn_arena_init(&arena, 0);
    arena.meter = segment.weights.meter;
    segment.arena = &arena;
    if (wants_room)
        make_weights_ready(&segment);
    *ret_has_room = segment.weights.allocated > 0;
    r = lower_segment(&segment, ret_plan);
    nn_blob_done(&segment.weights);
    nn_arena_done(&arena);
    return r;
}

/* A model is refused for the memory that it takes, not for the room that was guessed. */
int nn_lower_segment(const struct nn_graph *graph, uint32_t first_node,
                     const struct nn_frame *frame, uint32_t isa,
                     const struct nn_plan_caller *caller, struct nn_plan *ret_plan)
{
    struct nn_segment segment = {.graph = graph,
                                 .frame = frame,
                                 .why = caller->why,
                                 .stop = caller->stop,
                                 .weights = {.meter = caller->meter},
                                 .isa = isa,
                                 .first_node = first_node};
    bool has_room;
    int r = lower_once(segment, true, &has_room, ret_plan);

    if (has_room && (r == -ENOMEM || r == -EDQUOT))
        r = lower_once(segment, false, &has_room, ret_plan);
    return r;
}

/* By types alone: shapes may be unknown, and a refusal because of them comes with a sentence
 * when the model is prepared. */
int nn_lower_supports(const struct nn_graph *graph, const struct nn_node *node, uint32_t isa)
{
    struct nn_arena arena;
    struct nn_segment segment = {.graph = graph, .arena = &arena, .isa = isa};
    struct node_work work = {.segment = &segment, .node = node};
    int r;

    nn_arena_init(&arena, 0);
    r = allocate_work(&work);
    if (!r)
        r = find_row(&work, 0) != UINT32_MAX;
    nn_arena_done(&arena);
    return r < 0 ? nn_error_trace(r) : r;
}
