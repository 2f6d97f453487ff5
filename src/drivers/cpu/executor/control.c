/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - graphs, and the IF and WHILE in them
 *
 * The graphs they run have frames of their own. Values pass between frames
 * without a copy: an inner input borrows the outer value's memory, and an
 * inner output is written to where the outer one is wanted, or else its buffer
 * changes hands. A loop's state is a row of slots: each round the body's
 * outputs change buffers with them, so that what the body reads is never what
 * it writes. */
#include "drivers/cpu/executor/control.h"

#include "base/error.h"
#include "base/sys.h"
#include "model/types.h"

#include <string.h>

/* ---- passing values ---- */

/* What a value of the outer graph is now, as a slot that borrows it. */
static int borrow_value(struct nn_run *run, uint32_t graph, const struct nn_frame *frame,
                        uint32_t index, struct nn_slot *ret)
{
    const struct nn_value *value = &run->program->graphs[graph].graph.values[index];
    const struct nn_slot *slot = &frame->slots[index];

    if (value->kind == NN_VALUE_CONSTANT) {
        ret->data = (void *)(uintptr_t)value->data;
        return nn_error_trace(nn_slot_shape(ret, value->type, value->n_dims, value->dims));
    }
    if (value->kind == NN_VALUE_OMITTED || slot->is_omitted) {
        ret->is_omitted = true;
        return 0;
    }
    if (!slot->is_known || (slot->size && !slot->data)) {
        nn_refuse(run->why, "a value that control flow needs has not been computed");
        return NN_EXEC_E_REFUSED;
    }
    ret->data = slot->data;
    ret->size = slot->size;
    ret->n_dims = slot->n_dims;
    memcpy(ret->dims, slot->dims, sizeof(ret->dims));
    ret->is_known = true;
    return 0;
}

/* Makes input number i of an inner frame the value in from. */
static int lend_input(struct nn_run *run, uint32_t graph, struct nn_frame *frame, uint32_t i,
                      const struct nn_slot *from)
{
    const struct nn_graph *inner = &run->program->graphs[graph].graph;
    const struct nn_value *value = &inner->values[inner->inputs[i]];
    struct nn_slot *slot = &frame->slots[inner->inputs[i]];

    nn_slot_reset(slot);
    slot->data = from->data;
    slot->size = from->size;
    slot->n_dims = from->n_dims;
    memcpy(slot->dims, from->dims, sizeof(slot->dims));
    slot->is_known = from->is_known;
    slot->is_omitted = from->is_omitted;
    slot->scale = value->scale;
    slot->zero_point = value->zero_point;
    return from->is_omitted ? 0 : nn_run_declared(run, value, slot);
}

/* Hands a value over: to where it is wanted if it is there already or fits, else with its buffer.
 * Returns: 0, NN_EXEC_E_DEADLINE, _CANCELLED, -ENOMEM, -EDQUOT. */
static int hand_over(struct nn_slot *from, struct nn_slot *to, struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);

    to->size = from->size;
    to->n_dims = from->n_dims;
    memcpy(to->dims, from->dims, sizeof(to->dims));
    to->is_known = true;
    if (to->bound && from->data == to->bound) {
        to->data = to->bound;
    } else if (to->bound && to->bound_bytes >= to->size) {
        to->data = to->bound;
        if (to->size)
            nn_pace_copy(&pace, to->data, from->data, to->size);
    } else if (from->data == from->own) {
        void *own = to->own;
        uint64_t own_bytes = to->own_bytes;

        to->data = to->own = from->own;
        to->own_bytes = from->own_bytes;
        from->data = from->own = own;
        from->own_bytes = own_bytes;
    } else {
        int r = nn_slot_copy_in(to, from->data, stop);

        if (r)
            return nn_error_trace(r);
    }
    return nn_stop_outcome(stop);
}

/* An output of the node takes what from holds. */
static int set_output(struct nn_run *run, uint32_t graph, struct nn_frame *frame, uint32_t index,
                      struct nn_slot *from)
{
    const struct nn_value *value = &run->program->graphs[graph].graph.values[index];
    struct nn_slot *slot = &frame->slots[index];
    int r;

    if (!from->is_known || (from->size && !from->data)) {
        nn_refuse(run->why, "a branch or body does not compute an output");
        return NN_EXEC_E_REFUSED;
    }
    r = hand_over(from, slot, run->stop);
    if (r)
        return r;
    slot->scale = value->scale;
    slot->zero_point = value->zero_point;
    return nn_run_declared(run, value, slot);
}

static bool read_condition(const struct nn_slot *slot)
{
    return slot->data && slot->size && *(const volatile uint8_t *)slot->data;
}

/* The graph that operand i of the node refers to. */
static uint32_t referred_graph(const struct nn_run *run, uint32_t graph, const struct nn_node *node,
                               uint32_t i)
{
    return run->program->graphs[graph].graph.values[node->inputs[i]].index;
}

/* ---- IF ---- */

static int run_branch(struct nn_run *run, uint32_t graph, const struct nn_node *node,
                      struct nn_frame *frame, uint32_t branch, struct nn_frame *inner)
{
    const struct nn_graph *of = &run->program->graphs[branch].graph;
    int r;

    for (uint32_t i = 0; i < of->n_inputs; i++) {
        struct nn_slot value = {0};

        if ((r = borrow_value(run, graph, frame, node->inputs[3 + i], &value)) ||
            (r = lend_input(run, branch, inner, i, &value)))
            return r;
    }
    for (uint32_t i = 0; i < of->n_outputs; i++) {
        inner->slots[of->outputs[i]].bound = frame->slots[node->outputs[i]].bound;
        inner->slots[of->outputs[i]].bound_bytes = frame->slots[node->outputs[i]].bound_bytes;
    }
    r = nn_run_graph(run, branch, inner);
    for (uint32_t i = 0; !r && i < of->n_outputs; i++)
        r = set_output(run, graph, frame, node->outputs[i], &inner->slots[of->outputs[i]]);
    return r;
}

static int run_if(struct nn_run *run, uint32_t graph, const struct nn_node *node,
                  struct nn_frame *frame)
{
    struct nn_program_frame *inner;
    struct nn_slot condition = {0};
    uint32_t branch;
    int r = borrow_value(run, graph, frame, node->inputs[0], &condition);

    if (r)
        return r;
    if (condition.is_omitted) {
        nn_refuse(run->why, "the condition of IF has no value");
        return NN_EXEC_E_REFUSED;
    }
    branch = referred_graph(run, graph, node, read_condition(&condition) ? 1 : 2);
    r = nn_program_get_frame(run->program, branch, &inner);
    if (r)
        return nn_error_trace(r);
    r = run_branch(run, graph, node, frame, branch, &inner->frame);
    nn_program_put_frame(run->program, branch, inner);
    return r;
}

/* ---- WHILE ---- */

struct while_loop {
    uint32_t condition, body; /* graphs */
    uint32_t n_state;
    struct nn_slot *state;
    struct nn_frame *condition_frame, *body_frame;
};

static int lend_state(struct nn_run *run, struct while_loop *loop, uint32_t graph,
                      struct nn_frame *frame)
{
    for (uint32_t i = 0; i < loop->n_state; i++) {
        int r = lend_input(run, graph, frame, i, &loop->state[i]);

        if (r)
            return r;
    }
    return 0;
}

static int ask_condition(struct nn_run *run, struct while_loop *loop, bool *ret_continues)
{
    const struct nn_graph *graph = &run->program->graphs[loop->condition].graph;
    int r = lend_state(run, loop, loop->condition, loop->condition_frame);

    if (!r)
        r = nn_run_graph(run, loop->condition, loop->condition_frame);
    if (!r)
        *ret_continues = read_condition(&loop->condition_frame->slots[graph->outputs[0]]);
    return r;
}

static int run_body(struct nn_run *run, struct while_loop *loop)
{
    const struct nn_graph *graph = &run->program->graphs[loop->body].graph;
    int r = lend_state(run, loop, loop->body, loop->body_frame);

    if (!r)
        r = nn_run_graph(run, loop->body, loop->body_frame);
    for (uint32_t i = 0; !r && i < graph->n_outputs; i++) {
        struct nn_slot *out = &loop->body_frame->slots[graph->outputs[i]];

        if (!out->is_known) {
            nn_refuse(run->why, "the body of a loop does not compute an output");
            return NN_EXEC_E_REFUSED;
        }
        r = hand_over(out, &loop->state[i], run->stop);
    }
    return r;
}

static int run_rounds(struct nn_run *run, struct while_loop *loop)
{
    uint64_t start = nn_sys_now_ns();

    for (;;) {
        bool continues;
        int r = ask_condition(run, loop, &continues);

        if (!r)
            r = nn_stop_look(run->stop);
        if (r || !continues)
            return r;
        if (run->loop_timeout_ns != NNHAL_NO_TIME &&
            nn_sys_now_ns() - start > run->loop_timeout_ns) {
            nn_refuse(run->why, "a WHILE ran longer than the loop timeout");
            return NN_EXEC_E_DEADLINE;
        }
        r = run_body(run, loop);
        if (r)
            return r;
    }
}

static int run_loop(struct nn_run *run, uint32_t graph, const struct nn_node *node,
                    struct nn_frame *frame, struct while_loop *loop)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < loop->n_state; i++)
        r = borrow_value(run, graph, frame, node->inputs[2 + i], &loop->state[i]);
    if (!r)
        r = run_rounds(run, loop);
    for (uint32_t i = 0; !r && i < node->n_outputs; i++)
        r = set_output(run, graph, frame, node->outputs[i], &loop->state[i]);
    return r;
}

static int run_while(struct nn_run *run, uint32_t graph, const struct nn_node *node,
                     struct nn_frame *frame)
{
    struct while_loop loop = {.condition = referred_graph(run, graph, node, 0),
                              .body = referred_graph(run, graph, node, 1),
                              .n_state = node->n_inputs - 2};
    struct nn_program_frame *condition = NULL, *body = NULL;
    int r;

    loop.state = calloc(loop.n_state ? loop.n_state : 1, sizeof(*loop.state));
    if (!loop.state)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < loop.n_state; i++)
        loop.state[i].meter = run->program->meter;
    r = nn_program_get_frame(run->program, loop.condition, &condition);
    if (!r)
        r = nn_program_get_frame(run->program, loop.body, &body);
    if (!r) {
        loop.condition_frame = &condition->frame;
        loop.body_frame = &body->frame;
        r = run_loop(run, graph, node, frame, &loop);
    }
    if (body)
        nn_program_put_frame(run->program, loop.body, body);
    if (condition)
        nn_program_put_frame(run->program, loop.condition, condition);
    for (uint32_t i = 0; i < loop.n_state; i++)
        nn_slot_done(&loop.state[i]);
    free(loop.state);
    return r;
}

/* ---- a graph ---- */

/* The nodes between IFs and WHILEs run as plans. */
int nn_run_graph(struct nn_run *run, uint32_t graph, struct nn_frame *frame)
{
    const struct nn_graph *of = &run->program->graphs[graph].graph;
    uint32_t node = 0;

    for (;;) {
        int r = nn_run_plans(run, graph, frame, &node);

        if (r || node >= of->n_nodes)
            return r;
        r = of->nodes[node].operation == NNHAL_OP_IF
                ? run_if(run, graph, &of->nodes[node], frame)
                : run_while(run, graph, &of->nodes[node], frame);
        if (r || ++node >= of->n_nodes)
            return r;
    }
}
