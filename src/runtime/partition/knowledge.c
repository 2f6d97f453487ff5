/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/knowledge.h"

#include "base/error.h"
#include "model/types.h"
#include "runtime/memory/domain.h"

#include <string.h>

int nn_rt_knowledge_init(struct nn_rt_knowledge *knowledge, const struct nn_rt_plan *plan,
                         bool is_open, struct nn_arena *memory)
{
    const struct nnhal_subgraph *graph = &plan->model->main;

    *knowledge = (struct nn_rt_knowledge){
        .plan = plan,
        .is_open = is_open,
        .memory = memory,
        .values = is_open ? nn_arena_new_n(memory, struct nn_rt_value, graph->n_operands)
                          : plan->known,
        .inputs = nn_arena_new_n(memory, uint8_t *, graph->n_input_indexes),
    };
    return knowledge->values && knowledge->inputs ? 0 : nn_error_origin(-ENOMEM);
}

/* NULL: it is large, or cannot be read here. */
static const void *read_input(struct nn_rt_knowledge *knowledge,
                              const struct nn_rt_argument *argument, uint32_t i)
{
    struct nn_why why = {0};

    if (argument->length > NN_RT_VALUE_READ_BYTES || nn_rt_memory_is_in_device(argument->memory))
        return NULL;
    if (!knowledge->inputs[i])
        knowledge->inputs[i] = nn_arena_alloc(knowledge->memory, NN_RT_VALUE_READ_BYTES);
    if (!knowledge->inputs[i] ||
        nn_rt_memory_read(argument->memory, argument->offset, knowledge->inputs[i],
                          argument->length, &why) != 0)
        return NULL;
    return knowledge->inputs[i];
}

/* The shape of an input as it is now, and its bytes where this process has them. */
static void learn_input(struct nn_rt_knowledge *knowledge, const struct nn_rt_argument *argument,
                        uint32_t i)
{
    const struct nnhal_subgraph *graph = &knowledge->plan->model->main;
    uint32_t operand = graph->input_indexes[i], n_dims = argument->n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    struct nn_rt_value *value = &knowledge->values[operand];

    memcpy(dims, argument->dims, sizeof(dims));
    if (argument->kind == NN_ARGUMENT_MEMORY && argument->memory->domain)
        nn_rt_domain_get_dims(argument->memory->domain, &n_dims, dims);
    if (argument->kind == NN_ARGUMENT_OMITTED ||
        !nn_dims_known(graph->operands[operand].type, n_dims, dims))
        return;
    nn_rt_value_set_dims(value, n_dims, dims);
    if (argument->kind == NN_ARGUMENT_POINTER)
        value->bytes = argument->pointer;
    else
        value->bytes = read_input(knowledge, argument, i);
}

int nn_rt_knowledge_infer(struct nn_rt_knowledge *knowledge, const struct nn_rt_plan_part *part)
{
    struct nn_arena scratch;
    int r = 0;

    if (!knowledge->is_open)
        return 0;
    nn_arena_init(&scratch, 0);
    for (uint32_t i = 0; !r && i < part->n_operations; i++) {
        r = nn_rt_values_infer(knowledge->values, &knowledge->plan->model->main,
                               part->operations[i], &scratch);
        nn_arena_reset(&scratch);
    }
    nn_arena_done(&scratch);
    return r;
}

int nn_rt_knowledge_begin(struct nn_rt_knowledge *knowledge,
                          const struct nn_rt_arguments *arguments)
{
    const struct nn_rt_plan *plan = knowledge->plan;
    int r = 0;

    if (!knowledge->is_open)
        return 0;
    memcpy(knowledge->values, plan->known, plan->model->main.n_operands * sizeof(*plan->known));
    for (uint32_t i = 0; i < arguments->n_inputs; i++)
        learn_input(knowledge, &arguments->inputs[i], i);
    for (uint32_t i = 0; !r && i < plan->n_parts; i++)
        r = nn_rt_knowledge_infer(knowledge, &plan->parts[i]);
    return r;
}
