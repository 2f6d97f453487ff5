/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/exchange.h"

#include "base/error.h"
#include "runtime/partition/place-argument.h"
#include "runtime/partition/record.h"

#include <string.h>

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
    r = nn_rt_knowledge_init(&exchange->knowledge, plan, plan->is_open, memory);
    if (r)
        return r;
    return nn_rt_places_init(&exchange->places, plan->n_values, plan->values,
                             &whole->compilation->argument_pools, memory);
}

void nn_rt_exchange_clear(struct nn_rt_exchange *exchange)
{
    nn_rt_places_clear(&exchange->places);
    if (exchange->residents)
        exchange->residents = nn_rt_residents_give(exchange->whole->compilation->residents,
                                                   exchange->residents);
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
        nn_rt_exchange_is_resident(exchange, i) ||
        !nn_rt_value_bytes(&exchange->knowledge.values[value->operand], value->type, &n_bytes))
        return 0;
    return n_bytes;
}

void nn_rt_exchange_settle(struct nn_rt_exchange *exchange)
{
    if (!exchange->places.is_planned && !exchange->residents)
        exchange->residents = nn_rt_residents_take(exchange->whole->compilation->residents);
}

bool nn_rt_exchange_is_resident(const struct nn_rt_exchange *exchange, uint32_t value)
{
    return exchange->residents && value != NN_RT_PLAN_NONE && exchange->residents->memories[value];
}

bool nn_rt_exchange_has_lost(const struct nn_rt_exchange *exchange)
{
    return exchange->residents && nn_rt_resident_set_is_lost(exchange->residents);
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
    int r;

    nn_rt_places_clear(&exchange->places);
    r = nn_rt_places_plan(&exchange->places, exchange->sizes);
    for (uint32_t i = 0; !r && i < exchange->plan->n_values; i++)
        if (nn_rt_exchange_is_resident(exchange, i))
            nn_rt_places_put(&exchange->places, i, exchange->residents->memories[i]);
    return r;
}

int nn_rt_exchange_evacuate(struct nn_rt_exchange *exchange)
{
    int r;

    nn_rt_exchange_clear(exchange);
    r = nn_rt_exchange_begin(exchange);
    return r ? r : nn_rt_exchange_place(exchange);
}

int nn_rt_exchange_move(struct nn_rt_exchange *exchange)
{
    for (uint32_t i = 0; i < exchange->plan->n_values; i++)
        exchange->sizes[i] = planned_bytes(exchange, i);
    return nn_rt_places_move(&exchange->places, exchange->sizes);
}

void nn_rt_exchange_expose(struct nn_rt_exchange *exchange)
{
    nn_rt_places_expose(&exchange->places);
}

static const struct nn_rt_place *place_of(const struct nn_rt_exchange *exchange, uint32_t value)
{
    return &exchange->places.places[value];
}

/* -- arguments of a part -------------------------------------------------------------------------- */

/* A value as its readers see it: where the application wants it, if it does. */
static struct nn_rt_argument read_value(const struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_plan_value *value = &exchange->plan->values[i];
    const struct nn_rt_value *known = &exchange->knowledge.values[value->operand];
    const struct nn_rt_argument *output = nn_rt_exchange_find_output(exchange, value->output);
    struct nn_rt_argument argument;

    if (!output)
        return nn_rt_place_read(place_of(exchange, i), known, value->type);
    argument = *output;
    nn_rt_place_argument_describe(&argument, known, value->type);
    return argument;
}

static struct nn_rt_argument write_value(const struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_plan_value *value = &exchange->plan->values[i];

    return nn_rt_place_write(place_of(exchange, i), &exchange->knowledge.values[value->operand],
                             value->type);
}

static void set_inputs(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                       ANeuralNetworksExecution *step)
{
    for (uint32_t i = 0; i < part->n_inputs; i++) {
        const struct nn_rt_plan_source *source = &part->sources[i];
        struct nn_rt_argument argument = source->is_value
                                             ? read_value(exchange, source->index)
                                             : exchange->whole->arguments.inputs[source->index];

        nn_rt_place_argument_replace(step, &step->arguments.inputs[i], &argument);
    }
}

/* Of what a part reads. */
static uint64_t count_inputs(const struct nn_rt_exchange *exchange,
                             const struct nn_rt_plan_part *part)
{
    const struct nnhal_operand *operands = exchange->plan->model->main.operands;
    uint64_t n_bytes = 0, sum = 0;

    for (uint32_t i = 0; i < part->n_inputs; i++)
        if (nn_rt_value_bytes(&exchange->knowledge.values[part->input_operands[i]],
                              operands[part->input_operands[i]].type, &n_bytes) &&
            sum < NN_RT_PLACE_MAX_ROOM_BYTES)
            sum += n_bytes;
    return sum;
}

static int make_room(struct nn_rt_exchange *exchange, const struct nn_rt_plan_part *part,
                     uint32_t i)
{
    uint64_t room_bytes = nn_rt_place_room(count_inputs(exchange, part));
    uint64_t had_bytes = nn_rt_record_get_size(exchange->plan->record, i);

    if (had_bytes > NN_RT_PLACE_MAX_ROOM_BYTES)
        had_bytes = NN_RT_PLACE_MAX_ROOM_BYTES;
    return nn_rt_places_make_room(&exchange->places, i,
                                  &exchange->knowledge.values[exchange->plan->values[i].operand],
                                  had_bytes > room_bytes ? had_bytes : room_bytes);
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
            nn_rt_place_argument_replace(step, &step->arguments.outputs[i], &argument);
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

/* Where bytes of a value are copied to. NULL: memory is short. */
static uint8_t *find_copy(struct nn_rt_exchange *exchange, uint32_t i)
{
    if (!exchange->copies[i])
        exchange->copies[i] = nn_arena_alloc(exchange->memory, NN_RT_VALUE_READ_BYTES);
    return exchange->copies[i];
}

/* In a memory of the application. NULL: this process cannot read it; it is a picture. */
static const void *copy_output(struct nn_rt_exchange *exchange, uint32_t i,
                               const struct nn_rt_argument *output, uint64_t n_bytes)
{
    struct nn_why why = {0};
    uint8_t *copy;

    if (n_bytes > output->length || nn_rt_memory_is_in_device(output->memory))
        return NULL;
    copy = find_copy(exchange, i);
    return copy && nn_rt_memory_read(output->memory, output->offset, copy, n_bytes, &why) == 0
               ? copy
               : NULL;
}

/* The bytes of a value between parts as they are now, for the shapes that depend on them: the process of
 * the part that made it can still write to it. NULL: it is large, or did not fit. */
static const void *copy_bytes(struct nn_rt_exchange *exchange, uint32_t i)
{
    const struct nn_rt_plan_value *value = &exchange->plan->values[i];
    const struct nn_rt_argument *output = nn_rt_exchange_find_output(exchange, value->output);
    const struct nn_rt_place *place = place_of(exchange, i);
    uint64_t n_bytes = 0;
    uint8_t *copy;

    if (output && output->kind == NN_ARGUMENT_POINTER)
        return output->pointer;
    if (!nn_rt_value_bytes(&exchange->knowledge.values[value->operand], value->type, &n_bytes) ||
        n_bytes > NN_RT_VALUE_READ_BYTES)
        return NULL;
    if (output)
        return copy_output(exchange, i, output, n_bytes);
    copy = n_bytes <= place->capacity ? find_copy(exchange, i) : NULL;
    return copy ? memcpy(copy, nn_rt_memory_data(place->memory) + place->offset, n_bytes) : NULL;
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

void nn_rt_exchange_note_sizes(const struct nn_rt_exchange *exchange,
                               const struct nn_rt_plan_part *part)
{
    for (uint32_t i = 0; exchange->plan->is_open && i < part->n_outputs; i++) {
        uint32_t value = part->targets[i].value;
        uint64_t n_bytes = 0;

        if (value != NN_RT_PLAN_NONE &&
            nn_rt_value_bytes(&exchange->knowledge.values[part->output_operands[i]],
                              exchange->plan->values[value].type, &n_bytes))
            nn_rt_record_note_size(exchange->plan->record, value, n_bytes);
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
                                   place_of(exchange, value)->capacity * NN_RT_PLACE_WIDER);
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
