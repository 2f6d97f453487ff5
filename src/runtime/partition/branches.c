/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/branches.h"

#include "base/error.h"
#include "model/infer.h"
#include "model/types.h"
#include "runtime/copy-count.h"
#include "runtime/memory/domain.h"

#include <string.h>

/* -- values with a place ----------------------------------------------------------- */

static const struct nnhal_subgraph *graph_of(const struct nn_rt_branches *branches)
{
    return &branches->whole->compilation->finished->part.graph;
}

static const struct nn_model_io *io_of(const struct nn_rt_branches *branches, uint32_t branch)
{
    return &branches->whole->compilation->branches[branch]->finished->io;
}

/* Operands of the operation before those that it gives to branches. */
static uint32_t count_ahead(const struct nn_rt_branches *branches)
{
    return branches->is_loop ? NN_RT_N_BRANCHES : NN_RT_N_BRANCHES + 1;
}

static uint32_t place_made(const struct nn_rt_branches *branches, enum nn_rt_row row, uint32_t i)
{
    return branches->n_given + (row == NN_RT_ROW_B ? branches->n_made : 0) + i;
}

static uint32_t place_condition(const struct nn_rt_branches *branches)
{
    return branches->n_values - 1;
}

static void declare(struct nn_rt_branches *branches, uint32_t value,
                    const struct nnhal_operand *operand)
{
    struct nn_rt_value *declared = &branches->declared[value];

    branches->values[value].type = operand->type;
    declared->state = NN_RT_VALUE_OPEN;
    /* The branches of IF need not agree. */
    if (branches->is_loop &&
        nn_dims_known(operand->type, operand->n_dimensions, operand->dimensions))
        nn_rt_value_set_dims(declared, operand->n_dimensions, operand->dimensions);
}

static void declare_all(struct nn_rt_branches *branches)
{
    const struct nn_model_io *last = io_of(branches, NN_RT_N_BRANCHES - 1);

    for (uint32_t i = 0; i < branches->n_made; i++) {
        declare(branches, place_made(branches, NN_RT_ROW_A, i), &last->outputs[i]);
        declare(branches, place_made(branches, NN_RT_ROW_B, i), &last->outputs[i]);
    }
    if (branches->is_loop)
        declare(branches, place_condition(branches), &io_of(branches, 0)->outputs[0]);
}

int nn_rt_branches_init(struct nn_rt_branches *branches, ANeuralNetworksExecution *whole)
{
    struct nn_arena *memory = &branches->memory;

    nn_arena_init(memory, 0);
    branches->whole = whole;
    branches->operation = graph_of(branches)->operations;
    branches->is_loop = branches->operation->type == NNHAL_OP_WHILE;
    branches->n_given = branches->operation->n_inputs - count_ahead(branches);
    branches->n_made = io_of(branches, NN_RT_N_BRANCHES - 1)->n_outputs;
    branches->n_values = branches->n_given + 2 * branches->n_made + 1;
    branches->given = nn_arena_new_n(memory, struct nn_rt_argument, branches->n_given);
    branches->given_known = nn_arena_new_n(memory, struct nn_rt_value, branches->n_given);
    branches->values = nn_arena_new_n(memory, struct nn_rt_plan_value, branches->n_values);
    branches->declared = nn_arena_new_n(memory, struct nn_rt_value, branches->n_values);
    branches->known = nn_arena_new_n(memory, struct nn_rt_value, branches->n_values);
    branches->sizes = nn_arena_new_n(memory, uint64_t, branches->n_values);
    if (!branches->given || !branches->given_known || !branches->values || !branches->declared ||
        !branches->known || !branches->sizes)
        return nn_error_origin(-ENOMEM);
    declare_all(branches);
    return nn_rt_places_init(&branches->places, branches->n_values, branches->values,
                             &whole->compilation->argument_pools, memory);
}

void nn_rt_branches_done(struct nn_rt_branches *branches)
{
    /* Before the places: arguments refer to them. */
    for (uint32_t i = 0; i < NN_RT_N_BRANCHES; i++)
        for (uint32_t row = 0; row < _NN_RT_ROW_N; row++)
            nn_rt_execution_unref(branches->executions[i][row]);
    nn_rt_places_clear(&branches->places);
    nn_arena_done(&branches->memory);
}

void nn_rt_branches_rest(struct nn_rt_branches *branches)
{
    branches->lacks_room = false;
    for (uint32_t i = 0; i < NN_RT_N_BRANCHES; i++)
        for (uint32_t row = 0; row < _NN_RT_ROW_N; row++)
            nn_rt_place_arguments_drop(branches->executions[i][row]);
    nn_rt_places_clear(&branches->places);
}

uint32_t nn_rt_branches_find_output(const struct nn_rt_branches *branches, uint32_t i)
{
    const struct nnhal_subgraph *graph = graph_of(branches);

    for (uint32_t j = 0; i < branches->operation->n_outputs && j < graph->n_output_indexes; j++)
        if (graph->output_indexes[j] == branches->operation->outputs[i])
            return j;
    return NN_RT_PLAN_NONE;
}

bool nn_rt_branches_fit_output(const struct nn_rt_branches *branches, uint32_t output,
                               const struct nn_rt_value *known,
                               struct nn_rt_execution_shape *ret_shape)
{
    const struct nn_rt_argument *argument = &branches->whole->arguments.outputs[output];
    const struct nnhal_operand *operand =
        &branches->whole->compilation->finished->io.outputs[output];
    uint64_t n_bytes = 0;

    if (nn_rt_argument_is_opaque(argument) || known->state != NN_RT_VALUE_EXACT ||
        !nn_dims_merge(argument->n_dims, argument->dims, known->n_dims, known->dims,
                       &ret_shape->n_dims, ret_shape->dims) ||
        !nn_io_bytes(operand, ret_shape->n_dims, ret_shape->dims, &n_bytes))
        return false;
    ret_shape->is_sufficient = argument->kind == NN_ARGUMENT_OMITTED || n_bytes <= argument->length;
    return true;
}

/* -- what is given ----------------------------------------------------------------- */

static struct nn_rt_argument given_constant(const struct nn_rt_branches *branches,
                                            const struct nnhal_operand *operand)
{
    const struct nn_rt_model_part *part = &branches->whole->compilation->finished->part;
    struct nn_rt_argument argument = {.kind = NN_ARGUMENT_OMITTED};

    if (operand->lifetime == NNHAL_CONSTANT_COPY) {
        argument.kind = NN_ARGUMENT_POINTER;
        argument.pointer = (void *)(uintptr_t)(part->values.data + operand->location.offset);
        argument.length = operand->location.length;
    } else if (operand->lifetime == NNHAL_CONSTANT_REFERENCE) {
        argument.kind = NN_ARGUMENT_MEMORY;
        argument.memory = part->pools[operand->location.pool_index];
        argument.offset = operand->location.offset;
        argument.length = operand->location.length;
    }
    argument.n_dims = operand->n_dimensions;
    if (operand->n_dimensions)
        memcpy(argument.dims, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
    return argument;
}

struct nn_rt_argument nn_rt_branches_find_given(const struct nn_rt_branches *branches,
                                                uint32_t operand)
{
    const struct nnhal_subgraph *graph = graph_of(branches);
    struct nn_rt_argument argument;

    for (uint32_t i = 0; i < graph->n_input_indexes; i++) {
        if (graph->input_indexes[i] != operand)
            continue;
        argument = branches->whole->arguments.inputs[i];
        argument.padding = 0;
        if (argument.kind == NN_ARGUMENT_MEMORY && argument.memory->domain)
            nn_rt_domain_get_dims(argument.memory->domain, &argument.n_dims, argument.dims);
        return argument;
    }
    return given_constant(branches, &graph->operands[operand]);
}

static void learn_given(struct nn_rt_branches *branches, uint32_t i)
{
    uint32_t operand = branches->operation->inputs[count_ahead(branches) + i];
    uint32_t type = graph_of(branches)->operands[operand].type;
    struct nn_rt_argument *argument = &branches->given[i];
    struct nn_rt_value *known = &branches->given_known[i];

    *argument = nn_rt_branches_find_given(branches, operand);
    *known = (struct nn_rt_value){.state = NN_RT_VALUE_OPEN};
    branches->values[i].type = type;
    branches->sizes[i] = 0;
    if (argument->kind == NN_ARGUMENT_OMITTED)
        return;
    if (nn_dims_known(type, argument->n_dims, argument->dims))
        nn_rt_value_set_dims(known, argument->n_dims, argument->dims);
    if (known->state == NN_RT_VALUE_EXACT)
        nn_rt_place_argument_describe(argument, known, type);
    if (branches->is_loop && argument->kind == NN_ARGUMENT_POINTER)
        branches->sizes[i] = argument->length;
}

/* Bytes at pointers would be copied for each call. */
static void copy_given(struct nn_rt_branches *branches)
{
    for (uint32_t i = 0; i < branches->n_given; i++) {
        const struct nn_rt_place *place = &branches->places.places[i];
        struct nn_rt_argument *argument = &branches->given[i];

        if (!branches->sizes[i])
            continue;
        memcpy(nn_rt_memory_data(place->memory) + place->offset, argument->pointer,
               argument->length);
        nn_rt_copy_count_add(argument->length);
        argument->kind = NN_ARGUMENT_MEMORY;
        argument->pointer = NULL;
        argument->memory = place->memory;
        argument->offset = place->offset;
    }
}

/* Of IF only what nothing reads needs a place, of WHILE all that the body makes. */
static void measure_made(struct nn_rt_branches *branches)
{
    for (uint32_t v = branches->n_given; v < branches->n_values; v++) {
        uint32_t i = (v - branches->n_given) % (branches->n_made ? branches->n_made : 1);
        bool is_needed = branches->is_loop ||
                         (v < branches->n_given + branches->n_made &&
                          nn_rt_branches_find_output(branches, i) == NN_RT_PLAN_NONE);

        branches->sizes[v] = 0;
        if (is_needed)
            nn_rt_value_bytes(&branches->declared[v], branches->values[v].type,
                              &branches->sizes[v]);
    }
}

int nn_rt_branches_begin(struct nn_rt_branches *branches)
{
    int r = 0;

    branches->lacks_room = false;
    for (uint32_t i = 0; i < branches->n_given; i++)
        learn_given(branches, i);
    measure_made(branches);
    memcpy(branches->known, branches->declared, branches->n_values * sizeof(*branches->known));
    if (!nn_rt_places_fit(&branches->places, branches->sizes)) {
        nn_rt_branches_rest(branches);
        r = nn_rt_places_plan(&branches->places, branches->sizes);
    }
    if (!r)
        copy_given(branches);
    return r;
}

/* -- calls ------------------------------------------------------------------------- */

enum nn_rt_row nn_rt_branches_next(enum nn_rt_row row)
{
    return row == NN_RT_ROW_A ? NN_RT_ROW_B : NN_RT_ROW_A;
}

struct nn_rt_argument nn_rt_branches_state(const struct nn_rt_branches *branches,
                                           enum nn_rt_row row, uint32_t i,
                                           const struct nn_rt_value **ret_known)
{
    uint32_t value = place_made(branches, row, i);

    if (row == NN_RT_ROW_START || i >= branches->n_made) {
        *ret_known = &branches->given_known[i];
        return branches->given[i];
    }
    *ret_known = &branches->known[value];
    return nn_rt_place_read(&branches->places.places[value], &branches->known[value],
                            branches->values[value].type);
}

bool nn_rt_branches_condition(const struct nn_rt_branches *branches)
{
    const struct nn_rt_place *place = &branches->places.places[place_condition(branches)];

    /* The device's process can still write there: it is read once. */
    return *(const volatile uint8_t *)(nn_rt_memory_data(place->memory) + place->offset) != 0;
}

/* A call while it is made. */
struct branch_call {
    struct nn_rt_branches *branches;
    uint32_t branch;
    enum nn_rt_row row;
    ANeuralNetworksExecution *execution;
    struct nn_rt_knowledge *knowledge; /* of the branch */
};

static int find_execution(struct branch_call *call, struct nn_why *why)
{
    const ANeuralNetworksExecution *whole = call->branches->whole;
    ANeuralNetworksExecution **execution = &call->branches->executions[call->branch][call->row];
    int r = 0;

    if (!*execution)
        r = nn_rt_execution_new(whole->compilation->branches[call->branch], why, execution);
    if (r)
        return r;
    (*execution)->is_reusable = true;
    (*execution)->loop_timeout_ns = whole->loop_timeout_ns;
    (*execution)->is_continued = whole->is_continued && !call->branches->is_loop;
    call->execution = *execution;
    return 0;
}

static int find_knowledge(struct branch_call *call)
{
    struct nn_rt_knowledge *knowledge = &call->branches->knowledge[call->branch];
    const struct nn_rt_plan *plan = call->execution->compilation->plan;

    call->knowledge = knowledge;
    if (knowledge->plan)
        return 0;
    return nn_rt_knowledge_init(knowledge, plan, plan->has_open_outputs, &call->branches->memory);
}

/* What is known of output i of the call before it is made. */
static const struct nn_rt_value *find_foreseen(const struct branch_call *call, uint32_t i)
{
    const struct nnhal_subgraph *graph = &call->knowledge->plan->model->main;

    return &call->knowledge->values[graph->output_indexes[i]];
}

/* The value with a place that is output i of the call. Returns: NN_RT_PLAN_NONE: it goes to *ret_output. */
static uint32_t find_made(const struct branch_call *call, uint32_t i, uint32_t *ret_output)
{
    const struct nn_rt_branches *branches = call->branches;

    if (branches->is_loop)
        return call->branch == 0 ? place_condition(branches)
                                 : place_made(branches, nn_rt_branches_next(call->row), i);
    *ret_output = nn_rt_branches_find_output(branches, i);
    return *ret_output == NN_RT_PLAN_NONE ? place_made(branches, NN_RT_ROW_A, i) : NN_RT_PLAN_NONE;
}

static int set_inputs(const struct branch_call *call, struct nn_why *why)
{
    for (uint32_t i = 0; i < call->execution->arguments.n_inputs; i++) {
        const struct nn_rt_value *known;
        struct nn_rt_argument argument = nn_rt_branches_state(call->branches, call->row, i, &known);

        if (nn_rt_value_is_empty(known))
            return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                           "a value that control flow gives on is empty, which no device can be "
                           "given as an input");
        nn_rt_place_argument_replace(call->execution, &call->execution->arguments.inputs[i],
                                     &argument);
    }
    return 0;
}

static uint64_t count_given(const struct nn_rt_branches *branches)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < branches->n_given && sum < NN_RT_PLACE_MAX_ROOM_BYTES; i++)
        sum += branches->given[i].length;
    return sum;
}

static int set_outputs(const struct branch_call *call)
{
    struct nn_rt_branches *branches = call->branches;
    int r = 0;

    for (uint32_t i = 0; !r && i < call->execution->arguments.n_outputs; i++) {
        const struct nn_rt_value *foreseen = find_foreseen(call, i);
        uint32_t output, value = find_made(call, i, &output);
        struct nn_rt_argument argument;

        if (value == NN_RT_PLAN_NONE) {
            argument = branches->whole->arguments.outputs[output];
        } else {
            r = nn_rt_places_make_room(&branches->places, value, foreseen,
                                       nn_rt_place_room(count_given(branches)));
            argument = nn_rt_place_write(&branches->places.places[value], foreseen,
                                         branches->values[value].type);
        }
        if (!r)
            nn_rt_place_argument_replace(call->execution, &call->execution->arguments.outputs[i],
                                         &argument);
    }
    return r;
}

/* What was made, or would have been. Returns: whether an output of the application was too small. */
static bool learn_outputs(const struct branch_call *call)
{
    bool is_short = false;

    for (uint32_t i = 0; i < call->execution->arguments.n_outputs; i++) {
        const struct nn_rt_execution_shape *shape = &call->execution->shapes[i];
        uint32_t output, value = find_made(call, i, &output);

        if (value == NN_RT_PLAN_NONE) {
            call->branches->whole->shapes[output] = *shape;
            is_short |= !shape->is_sufficient;
        } else {
            nn_rt_value_set_dims(&call->branches->known[value], shape->n_dims, shape->dims);
        }
    }
    return is_short;
}

/* Places for what did not fit: as large as the device said, or several times as large. */
static int widen(const struct branch_call *call)
{
    struct nn_rt_branches *branches = call->branches;
    int r = 0;

    for (uint32_t i = 0; !r && i < call->execution->arguments.n_outputs; i++) {
        uint32_t output, value = find_made(call, i, &output);
        uint64_t n_bytes = 0;

        if (value == NN_RT_PLAN_NONE || call->execution->shapes[i].is_sufficient)
            continue;
        if (!nn_rt_value_bytes(&branches->known[value], branches->values[value].type, &n_bytes) ||
            n_bytes <= branches->places.places[value].capacity)
            n_bytes = branches->places.places[value].capacity * NN_RT_PLACE_WIDER;
        r = nn_rt_places_widen(&branches->places, value, n_bytes);
    }
    return r;
}

/* Whether it is certain that outputs of IF are too small, and of what shape all of them are. */
static bool foresee_shortage(const struct branch_call *call)
{
    struct nn_rt_execution_shape *shapes = call->branches->whole->shapes, shape = {0};
    bool is_short = false;

    for (uint32_t i = 0; i < call->execution->arguments.n_outputs; i++) {
        uint32_t output, value = find_made(call, i, &output);

        if (value != NN_RT_PLAN_NONE)
            continue;
        if (!nn_rt_branches_fit_output(call->branches, output, find_foreseen(call, i), &shape))
            return false;
        shapes[output] = shape;
        is_short |= !shape.is_sufficient;
    }
    return is_short;
}

/* One attempt. ret_again: it is worth another one, with more room. */
static int attempt(const struct branch_call *call, const struct nn_rt_steps_calls *calls,
                   struct nn_why *why, bool *ret_again)
{
    int r = set_inputs(call, why);

    *ret_again = false;
    if (!r)
        r = nn_rt_knowledge_begin(call->knowledge, &call->execution->arguments);
    if (!r)
        r = set_outputs(call);
    if (r)
        return r;
    if (foresee_shortage(call))
        return nn_fail(why, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                       "an output of the branch has less room than it needs");
    r = calls->compute(calls->ctx, NN_RT_PLAN_NONE, call->execution, why);
    nn_rt_execution_tell_inner(call->branches->whole, call->execution);
    if (r && r != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
        return r;
    *ret_again = !learn_outputs(call) && r;
    return r;
}

/* Again and again, while what did not fit gets more room. What did fit stays where a process that was
 * given up in any attempt may write. */
static int call_with_room(const struct branch_call *call, const struct nn_rt_steps_calls *calls,
                          struct nn_why *why)
{
    bool again = true, is_haunted = false;
    int r = 0;

    call->execution->is_haunted = false; /* an attempt can end before it begins */
    for (uint32_t i = 0; again && i < NN_RT_PLACE_ATTEMPTS; i++) {
        int widened = i ? widen(call) : 0;

        if (widened)
            return widened;
        call->execution->is_continued |= i > 0;
        r = attempt(call, calls, why, &again);
        is_haunted |= call->execution->is_haunted;
    }
    call->execution->is_continued = false;
    call->execution->is_haunted = is_haunted;
    if (r && again) /* of no output of the application's */
        return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                       "a value within control flow has no room that is large enough");
    return r;
}

/* Out of the memory in which a process that was given up can still write. */
static int move_places(struct nn_rt_branches *branches)
{
    int r;

    for (uint32_t v = branches->n_given; v < branches->n_values; v++) {
        branches->sizes[v] = 0;
        nn_rt_value_bytes(&branches->known[v], branches->values[v].type, &branches->sizes[v]);
    }
    r = nn_rt_places_move(&branches->places, branches->sizes);
    for (uint32_t i = 0; i < branches->n_given; i++)
        if (branches->sizes[i])
            branches->given[i].memory = branches->places.places[i].memory;
    return r;
}

/* Whether a process that was given up may write to the loop's state. The outputs of IF are those of the
 * whole: who made it a part has to look. */
static bool is_state_haunted(const struct branch_call *call)
{
    if (call->branches->is_loop)
        return call->execution->is_haunted;
    call->branches->whole->is_haunted |= call->execution->is_haunted;
    return false;
}

/* What a call has made is read by the next ones. If its device was given up meanwhile, and wakes up
 * then, it writes there: the values move, and the call is made once more. */
int nn_rt_branches_call(struct nn_rt_branches *branches, uint32_t branch, enum nn_rt_row row,
                        const struct nn_rt_steps_calls *calls, struct nn_why *why)
{
    struct branch_call call = {.branches = branches, .branch = branch, .row = row};
    int r = find_execution(&call, why);

    if (!r)
        r = find_knowledge(&call);
    for (uint32_t i = 0; !r && i < NN_RT_PLACE_ATTEMPTS; i++) {
        bool is_haunted;

        r = call_with_room(&call, calls, why);
        is_haunted = is_state_haunted(&call);
        if (r || !is_haunted)
            return r;
        r = move_places(branches);
    }
    return r ? r
             : nn_fail(why, ANEURALNETWORKS_DEAD_OBJECT,
                       "the process of a device ends in each attempt of a round");
}
