/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/place-argument.h"

#include <string.h>

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

static bool is_same_argument(const struct nn_rt_argument *a, const struct nn_rt_argument *b)
{
    return a->kind == b->kind && a->has_type == b->has_type && a->n_dims == b->n_dims &&
           memcmp(a->dims, b->dims, a->n_dims * sizeof(a->dims[0])) == 0 &&
           a->pointer == b->pointer && a->memory == b->memory && a->length == b->length &&
           a->padding == b->padding &&
           (a->offset == b->offset || a->kind == NN_ARGUMENT_POINTER); /* set by binding */
}

/* The binding holds what it was bound with: a changed argument is bound anew. */
void nn_rt_place_argument_replace(ANeuralNetworksExecution *execution,
                                  struct nn_rt_argument *argument, const struct nn_rt_argument *by)
{
    if (is_same_argument(argument, by))
        return;
    nn_rt_binding_done(&execution->binding);
    if (by->memory)
        nn_rt_memory_ref(by->memory);
    nn_rt_argument_done(argument);
    *argument = *by;
}

static void drop_arguments(struct nn_rt_argument *arguments, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        nn_rt_argument_done(&arguments[i]);
}

void nn_rt_place_arguments_drop(ANeuralNetworksExecution *execution)
{
    if (!execution)
        return;
    nn_rt_execution_rest(execution);
    drop_arguments(execution->arguments.inputs, execution->arguments.n_inputs);
    drop_arguments(execution->arguments.outputs, execution->arguments.n_outputs);
}

void nn_rt_place_argument_describe(struct nn_rt_argument *argument, const struct nn_rt_value *value,
                                   uint32_t type)
{
    argument->padding = 0;
    set_dims(argument, value);
    if (!nn_rt_argument_is_opaque(argument)) /* which is used as a whole: 0 */
        nn_rt_value_bytes(value, type, &argument->length);
}

struct nn_rt_argument nn_rt_place_read(const struct nn_rt_place *place,
                                       const struct nn_rt_value *value, uint32_t type)
{
    struct nn_rt_argument argument = {
        .kind = NN_ARGUMENT_MEMORY, .memory = place->memory, .offset = place->offset};

    nn_rt_place_argument_describe(&argument, value, type);
    return argument;
}

struct nn_rt_argument nn_rt_place_write(const struct nn_rt_place *place,
                                        const struct nn_rt_value *value, uint32_t type)
{
    struct nn_rt_argument argument = {.kind = NN_ARGUMENT_MEMORY,
                                      .memory = place->memory,
                                      .offset = place->offset,
                                      .length = place->capacity};

    set_dims(&argument, value);
    if (argument.has_type || (value->state == NN_RT_VALUE_EXACT && !nn_rt_value_is_empty(value)))
        nn_rt_value_bytes(value, type, &argument.length);
    return argument;
}
