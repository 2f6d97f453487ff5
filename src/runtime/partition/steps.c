/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/steps.h"

#include "base/arith.h"
#include "base/error.h"
#include "model/types.h"
#include "runtime/compilation/preparation.h"
#include "runtime/memory/domain.h"
#include "runtime/partition/places.h"
#include "runtime/partition/remnant.h"
#include "runtime/partition/wave.h"

#include <string.h>

/* What a value of unknown size gets: this and a multiple of what its part reads. */
#define ROOM_BYTES     (UINT64_C(1) << 20)
#define ROOM_FACTOR    4
#define ROOM_MAX_BYTES (UINT64_C(1) << 28)

/* What an empty output gets, which needs some place. */
#define EMPTY_BYTES 64

/* What a part has to take at least if another thread is to compute it: about what waking one costs. */
#define SIDE_BY_SIDE_NS UINT64_C(50000)

/* Of a part whose values do not fit: a device need not say at once how large they are. */
#define MAX_ATTEMPTS 4

/* What is computed of a part: all of it, or its remnant. */
struct step {
    uint32_t number; /* of the part */
    bool is_remnant;
    const struct nn_rt_plan_part *part;
    ANeuralNetworksExecution *execution; /* NULL: it is not computed */
    const struct nn_rt_steps_calls *calls;
    struct nn_rt_errand errand; /* the computation */
    int result;                 /* of it */
    struct nn_why why;
};

struct nn_rt_steps {
    ANeuralNetworksExecution *whole;
    const struct nn_rt_plan *plan;
    struct nn_arena memory;           /* of arrays */
    ANeuralNetworksExecution **steps; /* per part; NULL: it is not computed */
    struct step *order;               /* of the parts, by wave */
    struct nn_rt_errand **errands;    /* of those that are computed together */
    struct nn_rt_remnant *remnants;   /* per part; none: none was needed */
    struct nn_rt_places places;       /* of values */
    uint64_t *sizes;                  /* per value, that are known before anything is computed */
    struct nn_rt_value *known;        /* per operand */
    uint8_t **inputs;                 /* copies of small inputs in memories, made when needed */
    uint8_t **copies;                 /* and of small values between parts */
    bool needs_whole;
};

/* -- making and ending ----------------------------------------------------------------- */

struct nn_rt_steps *nn_rt_steps_free(struct nn_rt_steps *steps)
{
    if (!steps)
        return NULL;
    /* Before the places: a part's arguments refer to them. */
    for (uint32_t i = 0; steps->steps && i < steps->plan->n_parts; i++)
        nn_rt_execution_unref(steps->steps[i]);
    for (uint32_t i = 0; steps->remnants && i < steps->plan->n_parts; i++)
        nn_rt_remnant_done(&steps->remnants[i]);
    nn_rt_places_clear(&steps->places);
    nn_arena_done(&steps->memory);
    free(steps);
    return NULL;
}

NN_DEFINE_CLEANUP(struct nn_rt_steps, nn_rt_steps_free)

static int make_arrays(struct nn_rt_steps *steps)
{
    const struct nn_rt_plan *plan = steps->plan;

    steps->steps = nn_arena_new_n(&steps->memory, ANeuralNetworksExecution *, plan->n_parts);
    steps->order = nn_arena_new_n(&steps->memory, struct step, plan->n_parts);
    steps->errands = nn_arena_new_n(&steps->memory, struct nn_rt_errand *, plan->n_parts);
    steps->remnants = nn_arena_new_n(&steps->memory, struct nn_rt_remnant, plan->n_parts);
    steps->sizes = nn_arena_new_n(&steps->memory, uint64_t, plan->n_values);
    steps->known = plan->is_open ? nn_arena_new_n(&steps->memory, struct nn_rt_value,
                                                  plan->model->main.n_operands)
                                 : plan->known;
    steps->inputs = nn_arena_new_n(&steps->memory, uint8_t *, plan->model->main.n_input_indexes);
    steps->copies = nn_arena_new_n(&steps->memory, uint8_t *, plan->n_values);
    if (!steps->steps || !steps->order || !steps->errands || !steps->remnants || !steps->sizes ||
        !steps->known || !steps->inputs || !steps->copies)
        return nn_error_origin(-ENOMEM);
    return nn_rt_places_init(&steps->places, plan, &steps->whole->compilation->argument_pools,
                             &steps->memory);
}

static int execution_new(const struct nn_rt_steps *steps, const struct nn_rt_plan_part *part,
                         struct nn_why *why, ANeuralNetworksExecution **ret_execution)
{
    int r = nn_rt_execution_new(part->compilation, why, ret_execution);

    if (r)
        return r;
    (*ret_execution)->is_reusable = steps->whole->is_reusable;
    (*ret_execution)->loop_timeout_ns = steps->whole->loop_timeout_ns;
    return 0;
}

static void order_parts(struct nn_rt_steps *steps)
{
    uint32_t n = 0;

    for (uint32_t wave = 0; wave < steps->plan->n_waves; wave++)
        for (uint32_t p = 0; p < steps->plan->n_parts; p++)
            if (steps->plan->parts[p].wave == wave)
                steps->order[n++].number = p;
}

static int steps_new(ANeuralNetworksExecution *whole, struct nn_why *why,
                     struct nn_rt_steps **ret_steps)
{
    _cleanup_(nn_rt_steps_freep) struct nn_rt_steps *steps = calloc(1, sizeof(*steps));
    int r;

    if (!steps)
        return nn_error_origin(-ENOMEM);
    nn_arena_init(&steps->memory, 0);
    steps->whole = whole;
    steps->plan = whole->compilation->plan;
    r = make_arrays(steps);
    for (uint32_t i = 0; !r && i < steps->plan->n_parts; i++)
        if (steps->plan->parts[i].compilation)
            r = execution_new(steps, &steps->plan->parts[i], why, &steps->steps[i]);
    if (r)
        return r;
    whole->parts = nn_arena_new_n(&steps->memory, struct nnhal_part_info, steps->plan->n_parts);
    if (!whole->parts)
        return nn_error_origin(-ENOMEM);
    order_parts(steps);
    whole->n_parts = steps->plan->n_parts;
    whole->free_steps = nn_rt_steps_free;
    *ret_steps = steal_ptr(&steps);
    return 0;
}

/* -- what is known -------------------------------------------------------------------------- */

static const struct nnhal_subgraph *graph_of(const struct nn_rt_steps *steps)
{
    return &steps->plan->model->main;
}

/* NULL: it is large, or cannot be read here. */
static const void *read_input(struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_argument *argument = &steps->whole->arguments.inputs[i];
    struct nn_why why = {0};

    if (argument->length > NN_RT_VALUE_READ_BYTES || nn_rt_memory_is_in_device(argument->memory))
        return NULL;
    if (!steps->inputs[i])
        steps->inputs[i] = nn_arena_alloc(&steps->memory, NN_RT_VALUE_READ_BYTES);
    if (!steps->inputs[i] || nn_rt_memory_read(argument->memory, argument->offset, steps->inputs[i],
                                               argument->length, &why) != 0)
        return NULL;
    return steps->inputs[i];
}

/* The shape of an input as it is now, and its bytes where this process has them. */
static void learn_input(struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_argument *argument = &steps->whole->arguments.inputs[i];
    uint32_t operand = graph_of(steps)->input_indexes[i], n_dims = argument->n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    struct nn_rt_value *value = &steps->known[operand];

    memcpy(dims, argument->dims, sizeof(dims));
    if (argument->kind == NN_ARGUMENT_MEMORY && argument->memory->domain)
        nn_rt_domain_get_dims(argument->memory->domain, &n_dims, dims);
    if (argument->kind == NN_ARGUMENT_OMITTED ||
        !nn_dims_known(graph_of(steps)->operands[operand].type, n_dims, dims))
        return;
    nn_rt_value_set_dims(value, n_dims, dims);
    if (argument->kind == NN_ARGUMENT_POINTER)
        value->bytes = argument->pointer;
    else
        value->bytes = read_input(steps, i);
}

static int infer_part(struct nn_rt_steps *steps, const struct nn_rt_plan_part *part)
{
    struct nn_arena scratch;
    int r = 0;

    nn_arena_init(&scratch, 0);
    for (uint32_t i = 0; !r && i < part->n_operations; i++) {
        r = nn_rt_values_infer(steps->known, graph_of(steps), part->operations[i], &scratch);
        nn_arena_reset(&scratch);
    }
    nn_arena_done(&scratch);
    return r;
}

static int learn_arguments(struct nn_rt_steps *steps)
{
    int r = 0;

    memcpy(steps->known, steps->plan->known, graph_of(steps)->n_operands * sizeof(*steps->known));
    for (uint32_t i = 0; i < graph_of(steps)->n_input_indexes; i++)
        learn_input(steps, i);
    for (uint32_t i = 0; !r && i < steps->plan->n_parts; i++)
        r = infer_part(steps, &steps->plan->parts[i]);
    return r;
}

/* -- places ------------------------------------------------------------------------------------ */

/* The model's output that a value is, if the application wants it; NULL: none. */
static const struct nn_rt_argument *find_output(const struct nn_rt_steps *steps, uint32_t output)
{
    const struct nn_rt_argument *argument;

    if (output == NN_RT_PLAN_NONE)
        return NULL;
    argument = &steps->whole->arguments.outputs[output];
    return argument->kind == NN_ARGUMENT_OMITTED ? NULL : argument;
}

/* The size that is known before anything is computed; 0: none is. */
static uint64_t planned_bytes(const struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_plan_value *value = &steps->plan->values[i];
    uint64_t n_bytes = 0;

    if (find_output(steps, value->output) ||
        !nn_rt_value_bytes(&steps->known[value->operand], value->type, &n_bytes))
        return 0;
    return n_bytes;
}

/* A part's arguments refer to places: none may be bound while those change. */
static void steps_unbind(struct nn_rt_steps *steps)
{
    for (uint32_t i = 0; i < steps->plan->n_parts; i++) {
        if (steps->steps[i])
            nn_rt_binding_unbind(&steps->steps[i]->binding);
        if (steps->remnants[i].execution)
            nn_rt_binding_unbind(&steps->remnants[i].execution->binding);
    }
}

static int steps_place(struct nn_rt_steps *steps)
{
    int r = steps->plan->is_open ? learn_arguments(steps) : 0;

    for (uint32_t i = 0; i < steps->plan->n_values; i++)
        steps->sizes[i] = planned_bytes(steps, i);
    if (r || nn_rt_places_fit(&steps->places, steps->sizes))
        return r;
    steps_unbind(steps);
    nn_rt_places_clear(&steps->places);
    return nn_rt_places_plan(&steps->places, steps->sizes);
}

static const struct nn_rt_place *place_of(const struct nn_rt_steps *steps, uint32_t value)
{
    return &steps->places.places[value];
}

/* -- arguments of a part -------------------------------------------------------------------------- */

static bool is_same_argument(const struct nn_rt_argument *a, const struct nn_rt_argument *b)
{
    return a->kind == b->kind && a->has_type == b->has_type && a->n_dims == b->n_dims &&
           memcmp(a->dims, b->dims, a->n_dims * sizeof(a->dims[0])) == 0 &&
           a->pointer == b->pointer && a->memory == b->memory && a->length == b->length &&
           a->padding == b->padding &&
           (a->offset == b->offset || a->kind == NN_ARGUMENT_POINTER); /* set by binding */
}

/* The binding holds what it was bound with: a changed argument is bound anew. */
static void replace_argument(ANeuralNetworksExecution *step, struct nn_rt_argument *argument,
                             const struct nn_rt_argument *by)
{
    if (is_same_argument(argument, by))
        return;
    nn_rt_binding_done(&step->binding);
    if (by->memory)
        nn_rt_memory_ref(by->memory);
    nn_rt_argument_done(argument);
    *argument = *by;
}

/* What is not known exactly is left open: a device's answer may not contradict it. */
static void set_dims(struct nn_rt_argument *argument, const struct nn_rt_value *value)
{
    argument->has_type = value->n_dims > 0 && value->state == NN_RT_VALUE_EXACT &&
                         !nn_rt_value_is_empty(value);
    argument->n_dims = argument->has_type ? value->n_dims : 0;
    memset(argument->dims, 0, sizeof(argument->dims));
    if (argument->has_type)
        memcpy(argument->dims, value->dims, value->n_dims * sizeof(value->dims[0]));
}

/* A value as its readers see it. */
static struct nn_rt_argument read_value(const struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_plan_value *value = &steps->plan->values[i];
    const struct nn_rt_argument *output = find_output(steps, value->output);
    struct nn_rt_argument argument = {.kind = NN_ARGUMENT_MEMORY,
                                      .memory = place_of(steps, i)->memory,
                                      .offset = place_of(steps, i)->offset};

    if (output)
        argument = *output;
    argument.padding = 0;
    set_dims(&argument, &steps->known[value->operand]);
    nn_rt_value_bytes(&steps->known[value->operand], value->type, &argument.length);
    return argument;
}

/* A value as its maker gets it. */
static struct nn_rt_argument write_value(const struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_value *value = &steps->known[steps->plan->values[i].operand];
    struct nn_rt_argument argument = {.kind = NN_ARGUMENT_MEMORY,
                                      .memory = place_of(steps, i)->memory,
                                      .offset = place_of(steps, i)->offset,
                                      .length = place_of(steps, i)->capacity};

    set_dims(&argument, value);
    if (argument.has_type || (value->state == NN_RT_VALUE_EXACT && !nn_rt_value_is_empty(value)))
        nn_rt_value_bytes(value, steps->plan->values[i].type, &argument.length);
    return argument;
}

static void set_inputs(struct nn_rt_steps *steps, const struct step *step)
{
    ANeuralNetworksExecution *execution = step->execution;

    for (uint32_t i = 0; i < step->part->n_inputs; i++) {
        const struct nn_rt_plan_source *source = &step->part->sources[i];
        struct nn_rt_argument argument = source->is_value
                                             ? read_value(steps, source->index)
                                             : steps->whole->arguments.inputs[source->index];

        replace_argument(execution, &execution->arguments.inputs[i], &argument);
    }
}

/* Room for what a part will make, as far as its values have none yet. */
static uint64_t count_room(const struct nn_rt_steps *steps, const struct nn_rt_plan_part *part)
{
    uint64_t n_bytes = 0, room = 0;

    for (uint32_t i = 0; i < part->n_inputs; i++) {
        uint32_t operand = part->input_operands[i];

        if (nn_rt_value_bytes(&steps->known[operand], graph_of(steps)->operands[operand].type,
                              &n_bytes) &&
            room < ROOM_MAX_BYTES)
            room += n_bytes;
    }
    room = ROOM_BYTES + ROOM_FACTOR * room;
    return room < ROOM_MAX_BYTES ? room : ROOM_MAX_BYTES;
}

static int make_room(struct nn_rt_steps *steps, const struct nn_rt_plan_part *part, uint32_t i)
{
    const struct nn_rt_value *value = &steps->known[steps->plan->values[i].operand];
    uint64_t n_bytes = 0;

    if (nn_rt_value_is_empty(value))
        return nn_rt_places_widen(&steps->places, i, EMPTY_BYTES);
    if (nn_rt_value_bytes(value, steps->plan->values[i].type, &n_bytes))
        return nn_rt_places_widen(&steps->places, i, n_bytes);
    return place_of(steps, i)->memory
               ? 0
               : nn_rt_places_widen(&steps->places, i, count_room(steps, part));
}

static int set_outputs(struct nn_rt_steps *steps, const struct step *step)
{
    ANeuralNetworksExecution *execution = step->execution;
    int r = 0;

    for (uint32_t i = 0; !r && i < step->part->n_outputs; i++) {
        const struct nn_rt_plan_target *target = &step->part->targets[i];
        const struct nn_rt_argument *output = find_output(steps, target->output);
        struct nn_rt_argument argument = {.kind = NN_ARGUMENT_OMITTED};

        if (output) {
            argument = *output;
        } else if (target->value != NN_RT_PLAN_NONE) {
            r = make_room(steps, step->part, target->value);
            argument = write_value(steps, target->value);
        }
        if (!r)
            replace_argument(execution, &execution->arguments.outputs[i], &argument);
    }
    return r;
}

/* -- computing ------------------------------------------------------------------------------------ */

/* Bytes of a value that this process can read, for the shapes that depend on it. */
static const void *find_bytes(const struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_argument *output = find_output(steps, steps->plan->values[i].output);
    const uint8_t *data;

    if (output)
        return output->kind == NN_ARGUMENT_POINTER ? output->pointer : NULL;
    data = nn_rt_memory_data(place_of(steps, i)->memory);
    return data ? data + place_of(steps, i)->offset : NULL;
}

/* A value between parts as it is now: the process of the part that made it can still write to it.
 * NULL: it is large, or did not fit. */
static const void *copy_bytes(struct nn_rt_steps *steps, uint32_t i)
{
    const struct nn_rt_plan_value *value = &steps->plan->values[i];
    const void *bytes = find_bytes(steps, i);
    uint64_t n_bytes = 0;

    if (!bytes || find_output(steps, value->output))
        return bytes; /* the application's own */
    if (!nn_rt_value_bytes(&steps->known[value->operand], value->type, &n_bytes) ||
        n_bytes > NN_RT_VALUE_READ_BYTES || n_bytes > place_of(steps, i)->capacity)
        return NULL;
    if (!steps->copies[i])
        steps->copies[i] = nn_arena_alloc(&steps->memory, NN_RT_VALUE_READ_BYTES);
    return steps->copies[i] ? memcpy(steps->copies[i], bytes, n_bytes) : NULL;
}

static bool is_told(const struct nn_rt_execution_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_dims; i++)
        if (!shape->dims[i])
            return shape->is_sufficient;
    return true;
}

/* What a part has made, or would have. */
static void learn_shapes(struct nn_rt_steps *steps, const struct step *step)
{
    const struct nn_rt_plan_part *part = step->part;

    for (uint32_t i = 0; i < part->n_outputs; i++) {
        const struct nn_rt_execution_shape *shape = &step->execution->shapes[i];
        const struct nn_rt_plan_target *target = &part->targets[i];

        if (find_output(steps, target->output))
            steps->whole->shapes[target->output] = *shape;
        if (target->value == NN_RT_PLAN_NONE || !steps->plan->is_open || !is_told(shape))
            continue;
        nn_rt_value_set_dims(&steps->known[part->output_operands[i]], shape->n_dims, shape->dims);
        steps->known[part->output_operands[i]].bytes = copy_bytes(steps, target->value);
    }
}

static bool has_short_output(const struct nn_rt_steps *steps, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++)
        if (find_output(steps, part->targets[i].output) &&
            !steps->whole->shapes[part->targets[i].output].is_sufficient)
            return true;
    return false;
}

/* Whether nothing is to be made: shapes are all that the outputs have. */
static bool makes_nothing(const struct nn_rt_steps *steps, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++)
        if (!nn_rt_value_is_empty(&steps->known[part->output_operands[i]]))
            return false;
    return true;
}

/* Of outputs for which nothing is computed. */
static void tell_empty(struct nn_rt_steps *steps, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++) {
        const struct nn_rt_value *value = &steps->known[part->output_operands[i]];
        struct nn_rt_execution_shape *shape;

        if (!nn_rt_value_is_empty(value) || !find_output(steps, part->targets[i].output))
            continue;
        shape = &steps->whole->shapes[part->targets[i].output];
        shape->n_dims = value->n_dims;
        memcpy(shape->dims, value->dims, sizeof(shape->dims));
    }
}

static int set_arguments(struct nn_rt_steps *steps, const struct step *step)
{
    int r = set_outputs(steps, step);

    if (!r)
        set_inputs(steps, step);
    return r;
}

/* On any thread: nothing but the step is touched. */
static void step_run(struct nn_rt_errand *errand)
{
    struct step *step = NN_CONTAINER_OF(errand, struct step, errand);

    step->result = step->calls->compute(step->calls->ctx,
                                        step->is_remnant ? NN_RT_PLAN_NONE : step->number,
                                        step->execution, &step->why);
}

/* What the computation came to. */
static int learn_result(struct nn_rt_steps *steps, const struct step *step)
{
    if (step->result == 0 || step->result == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE)
        learn_shapes(steps, step);
    return step->result;
}

/* Values that did not fit, and of which the device has not said how large they are. */
static int widen_places(struct nn_rt_steps *steps, const struct step *step)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < step->part->n_outputs; i++) {
        uint32_t value = step->part->targets[i].value;

        if (value != NN_RT_PLAN_NONE && !is_told(&step->execution->shapes[i]))
            r = nn_rt_places_widen(&steps->places, value,
                                   place_of(steps, value)->capacity * ROOM_FACTOR);
    }
    return r;
}

/* Where a value did not fit, its shape is known now, and it fits the second time. */
static int finish_step(struct nn_rt_steps *steps, struct step *step)
{
    bool is_reusable = step->execution->is_reusable;
    int r = learn_result(steps, step);

    for (uint32_t i = 1; i < MAX_ATTEMPTS && r == ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE &&
                         !has_short_output(steps, step->part);
         i++) {
        r = widen_places(steps, step);
        step->execution->is_reusable = true; /* for once more */
        if (!r)
            r = set_arguments(steps, step);
        if (r)
            break;
        step_run(&step->errand);
        r = learn_result(steps, step);
    }
    step->execution->is_reusable = is_reusable;
    return r;
}

static bool has_empty_input(const struct nn_rt_steps *steps, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_inputs; i++)
        if (part->sources[i].is_value &&
            nn_rt_value_is_empty(&steps->known[part->input_operands[i]]))
            return true;
    return false;
}

static int fail_empty(struct nn_rt_steps *steps, const struct nn_rt_plan_part *part,
                      struct nn_why *why)
{
    steps->needs_whole = true;
    return nn_fail(why, ANEURALNETWORKS_OP_FAILED,
                   "%s: a value between two parts of the model is empty, which no device can be "
                   "given as an input",
                   steps->plan->devices[part->device].name);
}

/* From the whole of a part to what is left of it. */
static int reduce_step(struct nn_rt_steps *steps, struct step *step, struct nn_why *why)
{
    struct nn_rt_remnant *remnant = &steps->remnants[step->number];
    int r = nn_rt_remnant_reduce(remnant, graph_of(steps), step->part, steps->known);

    if (r == NN_RT_REMNANT_E_NONE)
        return fail_empty(steps, step->part, why);
    if (!r && !remnant->part.compilation)
        r = nn_rt_compilation_prepare_part(steps->whole->compilation, steps->plan, &remnant->part,
                                           why);
    if (!r && !remnant->execution)
        r = execution_new(steps, &remnant->part, why, &remnant->execution);
    if (r) {
        nn_rt_remnant_done(remnant);
        return r;
    }
    step->is_remnant = true;
    step->part = &remnant->part;
    step->execution = remnant->execution;
    return 0;
}

/* All that comes before the computation of a part, or of what is left of it. Without an execution
 * then there is nothing to compute. */
static int begin_step(struct nn_rt_steps *steps, struct step *step,
                      const struct nn_rt_steps_calls *calls, struct nn_why *why)
{
    uint32_t number = step->number;
    int r;

    *step = (struct step){
        .number = number,
        .part = &steps->plan->parts[number],
        .execution = steps->steps[number],
        .calls = calls,
        .errand = {.run = step_run},
    };
    if (!step->execution)
        return 0;
    r = steps->plan->is_open ? infer_part(steps, step->part) : 0;
    if (r)
        return r;
    tell_empty(steps, step->part);
    if (makes_nothing(steps, step->part)) {
        step->execution = NULL;
        return 0;
    }
    if (has_empty_input(steps, step->part))
        r = reduce_step(steps, step, why);
    return r ? r : set_arguments(steps, step);
}

/* Until its part is computed an output is as the application declared it. */
static void reset_shapes(ANeuralNetworksExecution *execution)
{
    for (uint32_t i = 0; i < execution->arguments.n_outputs; i++) {
        execution->shapes[i].is_sufficient = true;
        execution->shapes[i].n_dims = execution->arguments.outputs[i].n_dims;
        memcpy(execution->shapes[i].dims, execution->arguments.outputs[i].dims,
               sizeof(execution->shapes[i].dims));
    }
}

/* The reference is told of wherever it took part: an application does not ask for it. */
static void tell_part(struct nn_rt_steps *steps, const struct step *step)
{
    ANeuralNetworksDevice *planned = steps->plan->devices[step->part->device].device;
    const ANeuralNetworksExecution *execution = step->execution;

    steps->whole->parts[step->number] = (struct nnhal_part_info){
        .n_parts = steps->plan->n_parts,
        .device = execution && execution->device ? execution->device : planned,
        .planned = planned,
        .why = execution ? execution->failure.text : "",
    };
    if (execution && execution->device &&
        (execution->device->is_reference || execution->device != planned))
        steps->whole->device = execution->device;
}

/* How many of the steps from this one on are computed together: a whole wave, if another thread
 * has something to gain by it. */
static uint32_t count_batch(const struct nn_rt_steps *steps, uint32_t first)
{
    const struct nn_rt_plan_part *parts = steps->plan->parts;
    uint32_t n_large = 0, n;

    for (n = 0; first + n < steps->plan->n_parts; n++) {
        const struct nn_rt_plan_part *part = &parts[steps->order[first + n].number];

        if (part->wave != parts[steps->order[first].number].wave)
            break;
        n_large += part->compute_ns + part->launch_ns >= SIDE_BY_SIDE_NS;
    }
    return n_large > 1 ? n : 1;
}

/* Between their beginnings and their ends other threads compute, which touch nothing but their step. */
static int compute_batch(struct nn_rt_steps *steps, struct step *batch, uint32_t n,
                         const struct nn_rt_steps_calls *calls, struct nn_why *why)
{
    uint32_t n_errands = 0, n_begun = 0;
    bool has_run;
    int r = 0;

    while (!r && n_begun < n) {
        r = begin_step(steps, &batch[n_begun], calls, why);
        if (batch[n_begun].execution)
            steps->errands[n_errands++] = &batch[n_begun].errand;
        n_begun++;
    }
    has_run = !r;
    if (has_run)
        nn_rt_wave_run(steps->errands, n_errands);
    for (uint32_t i = 0; i < n_begun; i++) {
        int own = has_run && batch[i].execution ? finish_step(steps, &batch[i]) : 0;

        if (own && !r)
            *why = batch[i].why;
        r = r ? r : own;
        tell_part(steps, &batch[i]);
    }
    return r;
}

int nn_rt_steps_compute(ANeuralNetworksExecution *execution, const struct nn_rt_steps_calls *calls,
                        struct nn_why *why)
{
    struct nn_rt_steps *steps;
    int r = 0;

    if (!execution->steps)
        r = steps_new(execution, why, &execution->steps);
    if (r)
        return r;
    steps = execution->steps;
    steps->needs_whole = false;
    reset_shapes(execution);
    r = steps_place(steps);
    for (uint32_t i = 0, n; !r && i < steps->plan->n_parts; i += n) {
        n = count_batch(steps, i);
        r = compute_batch(steps, &steps->order[i], n, calls, why);
    }
    return r;
}

void nn_rt_steps_rest(struct nn_rt_steps *steps)
{
    if (!steps)
        return;
    steps_unbind(steps);
    nn_rt_places_clear(&steps->places);
}

bool nn_rt_steps_need_whole(const struct nn_rt_steps *steps)
{
    return steps && steps->needs_whole;
}
