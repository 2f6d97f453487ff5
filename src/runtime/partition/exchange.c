/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/exchange.h"

#include "base/error.h"

#include <string.h>

/* What a value of unknown size gets: this and a multiple of what its part reads. */
#define ROOM_BYTES     (UINT64_C(1) << 20)
#define ROOM_FACTOR    4
#define ROOM_MAX_BYTES (UINT64_C(1) << 28)

/* What an empty output gets, which needs some place. */
#define EMPTY_BYTES 64

int nn_rt_exchange_init(struct nn_rt_exchange *exchange, ANeuralNetworksExecution *whole,
                        struct nn_arena *memory)
{
    const struct nn_rt_plan *plan = whole->compilation->plan;
    int r;

    *exchange = (struct nn_rt_exchange){
        .whole = whole,
        .plan = plan,
        .memory = memory,
        .sizes = nn_arena_new_n(memory, uint64_t, plan->n_values),
        .copies = nn_arena_new_n(memory, uint8_t *, plan->n_values),
    };
    if (!exchange->sizes || !exchange->copies)
        return nn_error_origin(-ENOMEM);
    r = nn_rt_knowledge_init(&exchange->knowledge, plan, memory);
    if (r)
        return r;
    return nn_rt_places_init(&exchange->places, plan, &whole->compilation->argument_pools, memory);
}

void nn_rt_exchange_clear(struct nn_rt_exchange *exchange)
{
    nn_rt_places_clear(&exchange->places);
}

/* -- places ------------------------------------------------------------------------ */

const struct nn_rt_argument *nn_rt_exchange_find_output(const struct nn_rt_exchange *exchange,
                                                        uint32_t output)
{
    const struct nn_rt_argument *argument;

    if (output == NN_RT_PLAN_NONE)
        return NULL;
    argument = &exchange->whole->arguments.outputs[output];
    return argument->kind == NN_ARGUMENT_OMITTED ? NULL : argument;
}

/* The size that is known before anything is computed; 0: none is. */
static uint64_t planned_bytes(const struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_plan_value *value = &exchange->plan->values[i];
    uint64_t n_bytes = 0;

    if (nn_rt_exchange_find_output(exchange, value->output) ||
        !nn_rt_value_bytes(&exchange->knowledge.values[value->operand], value->type, &n_bytes))
        return 0;
    return n_bytes;
}

int nn_rt_exchange_begin(struct nn_rt_exchange *exchange)
{
    int r = nn_rt_knowledge_begin(&exchange->knowledge, &exchange->whole->arguments);

    for (uint32_t i = 0; i < exchange->plan->n_values; i++)
        exchange->sizes[i] = planned_bytes(exchange, i);
    return r;
}

bool nn_rt_exchange_fits(const struct nn_rt_exchange *exchange)
{
    return nn_rt_places_fit(&exchange->places, exchange->sizes);
}

int nn_rt_exchange_place(struct nn_rt_exchange *exchange)
{
    nn_rt_places_clear(&exchange->places);
    return nn_rt_places_plan(&exchange->places, exchange->sizes);
}

static const struct nn_rt_place *place_of(const struct nn_rt_exchange *exchange, uint32_t value)
{
    return &exchange->places.places[value];
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
static struct nn_rt_argument read_value(const struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_plan_value *value = &exchange->plan->values[i];
    const struct nn_rt_argument *output = nn_rt_exchange_find_output(exchange, value->output);
    struct nn_rt_argument argument = {.kind = NN_ARGUMENT_MEMORY,
                                      .memory = place_of(exchange, i)->memory,
                                      .offset = place_of(exchange, i)->offset};

    if (output)
        argument = *output;
    argument.padding = 0;
    set_dims(&argument, &exchange->knowledge.values[value->operand]);
    nn_rt_value_bytes(&exchange->knowledge.values[value->operand], value->type, &argument.length);
    return argument;
}

/* A value as its maker gets it. */
static struct nn_rt_argument write_value(const struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_value *value =
        &exchange->knowledge.values[exchange->plan->values[i].operand];
    struct nn_rt_argument argument = {.kind = NN_ARGUMENT_MEMORY,
                                      .memory = place_of(exchange, i)->memory,
                                      .offset = place_of(exchange, i)->offset,
                                      .length = place_of(exchange, i)->capacity};

    set_dims(&argument, value);
    if (argument.has_type || (value->state == NN_RT_VALUE_EXACT && !nn_rt_value_is_empty(value)))
        nn_rt_value_bytes(value, exchange->plan->values[i].type, &argument.length);
    return argument;
}

static void set_inputs(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                       ANeuralNetworksExecution *step)
{
    for (uint32_t i = 0; i < part->n_inputs; i++) {
        const struct nn_rt_plan_source *source = &part->sources[i];
        struct nn_rt_argument argument = source->is_value
                                             ? read_value(exchange, source->index)
                                             : exchange->whole->arguments.inputs[source->index];

        replace_argument(step, &step->arguments.inputs[i], &argument);
    }
}

/* Room for what a part will make, as far as its values have none yet. */
static uint64_t count_room(const struct nn_rt_exchange *exchange,
                           const struct nn_rt_plan_part *part)
{
    uint64_t n_bytes = 0, room = 0;

    for (uint32_t i = 0; i < part->n_inputs; i++) {
        uint32_t operand = part->input_operands[i];

        if (nn_rt_value_bytes(&exchange->knowledge.values[operand],
                              exchange->plan->model->main.operands[operand].type, &n_bytes) &&
            room < ROOM_MAX_BYTES)
            room += n_bytes;
    }
    room = ROOM_BYTES + ROOM_FACTOR * room;
    return room < ROOM_MAX_BYTES ? room : ROOM_MAX_BYTES;
}

static int make_room(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                     uint32_t i)
{
    const struct nn_rt_value *value =
        &exchange->knowledge.values[exchange->plan->values[i].operand];
    uint64_t n_bytes = 0;

    if (nn_rt_value_is_empty(value))
        return nn_rt_places_widen(&exchange->places, i, EMPTY_BYTES);
    if (nn_rt_value_bytes(value, exchange->plan->values[i].type, &n_bytes))
        return nn_rt_places_widen(&exchange->places, i, n_bytes);
    return place_of(exchange, i)->memory
               ? 0
               : nn_rt_places_widen(&exchange->places, i, count_room(exchange, part));
}

static int set_outputs(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                       ANeuralNetworksExecution *step)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < part->n_outputs; i++) {
        const struct nn_rt_plan_target *target = &part->targets[i];
        const struct nn_rt_argument *output = nn_rt_exchange_find_output(exchange, target->output);
        struct nn_rt_argument argument = {.kind = NN_ARGUMENT_OMITTED};

        if (output) {
            argument = *output;
        } else if (target->value != NN_RT_PLAN_NONE) {
            r = make_room(exchange, part, target->value);
            argument = write_value(exchange, target->value);
        }
        if (!r)
            replace_argument(step, &step->arguments.outputs[i], &argument);
    }
    return r;
}

int nn_rt_exchange_set_arguments(struct nn_rt_exchange *exchange,
                                 const struct nn_rt_plan_part *part, ANeuralNetworksExecution *step)
{
    int r = set_outputs(exchange, part, step);

    if (!r)
        set_inputs(exchange, part, step);
    return r;
}

/* -- results of a part ------------------------------------------------------------- */

/* Bytes of a value that this process can read, for the shapes that depend on it. */
static const void *find_bytes(const struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_argument *output = nn_rt_exchange_find_output(
        exchange, exchange->plan->values[i].output);
    const uint8_t *data;

    if (output)
        return output->kind == NN_ARGUMENT_POINTER ? output->pointer : NULL;
    data = nn_rt_memory_data(place_of(exchange, i)->memory);
    return data ? data + place_of(exchange, i)->offset : NULL;
}

/* A value between parts as it is now: the process of the part that made it can still write to it.
 * NULL: it is large, or did not fit. */
static const void *copy_bytes(struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_plan_value *value = &exchange->plan->values[i];
    const void *bytes = find_bytes(exchange, i);
    uint64_t n_bytes = 0;

    if (!bytes || nn_rt_exchange_find_output(exchange, value->output))
        return bytes; /* the application's own */
    if (!nn_rt_value_bytes(&exchange->knowledge.values[value->operand], value->type, &n_bytes) ||
        n_bytes > NN_RT_VALUE_READ_BYTES || n_bytes > place_of(exchange, i)->capacity)
        return NULL;
    if (!exchange->copies[i])
        exchange->copies[i] = nn_arena_alloc(exchange->memory, NN_RT_VALUE_READ_BYTES);
    return exchange->copies[i] ? memcpy(exchange->copies[i], bytes, n_bytes) : NULL;
}

static bool is_told(const struct nn_rt_execution_shape *shape)
{
    for (uint32_t i = 0; i < shape->n_dims; i++)
        if (!shape->dims[i])
            return shape->is_sufficient;
    return true;
}

void nn_rt_exchange_learn_shapes(struct nn_rt_exchange *exchange,
                                 const struct nn_rt_plan_part *part,
                                 const ANeuralNetworksExecution *step)
{
    for (uint32_t i = 0; i < part->n_outputs; i++) {
        const struct nn_rt_execution_shape *shape = &step->shapes[i];
        const struct nn_rt_plan_target *target = &part->targets[i];

        if (nn_rt_exchange_find_output(exchange, target->output))
            exchange->whole->shapes[target->output] = *shape;
        if (target->value == NN_RT_PLAN_NONE || !exchange->plan->is_open || !is_told(shape))
            continue;
        nn_rt_value_set_dims(&exchange->knowledge.values[part->output_operands[i]], shape->n_dims,
                             shape->dims);
        exchange->knowledge.values[part->output_operands[i]].bytes = copy_bytes(exchange,
                                                                                target->value);
    }
}

int nn_rt_exchange_widen(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                         const ANeuralNetworksExecution *step)
{
    int r = 0;

    for (uint32_t i = 0; !r && i < part->n_outputs; i++) {
        uint32_t value = part->targets[i].value;

        if (value != NN_RT_PLAN_NONE && !is_told(&step->shapes[i]))
            r = nn_rt_places_widen(&exchange->places, value,
                                   place_of(exchange, value)->capacity * ROOM_FACTOR);
    }
    return r;
}

void nn_rt_exchange_tell_empty(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; i < part->n_outputs; i++) {
        const struct nn_rt_value *value = &exchange->knowledge.values[part->output_operands[i]];
        struct nn_rt_execution_shape *shape;

        if (!nn_rt_value_is_empty(value) ||
            !nn_rt_exchange_find_output(exchange, part->targets[i].output))
            continue;
        shape = &exchange->whole->shapes[part->targets[i].output];
        shape->n_dims = value->n_dims;
        memcpy(shape->dims, value->dims, sizeof(shape->dims));
    }
}
