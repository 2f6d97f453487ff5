/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/shared-control.h"

#include "base/error.h"

bool nn_rt_shared_control_is(const struct nnhal_operation *operation)
{
    return operation->type == NNHAL_OP_IF || operation->type == NNHAL_OP_WHILE;
}

int nn_rt_shared_controls_init(struct nn_rt_shared_controls *controls, uint32_t n_operations,
                               struct nn_arena *arena)
{
    *controls = (struct nn_rt_shared_controls){
        .list = nn_arena_new_n(arena, struct nn_rt_shared_control, n_operations)};
    return controls->list ? 0 : nn_error_origin(-ENOMEM);
}

/* most_ns: what the largest part took that was seen. */
static void count_plan(struct nn_rt_shared_control *control, const struct nn_rt_plan *plan,
                       uint64_t *most_ns)
{
    control->cost_ns += plan->cost_ns;
    control->time_ns += plan->expected_ns;
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const struct nn_rt_plan_part *part = &plan->parts[i];

        if (part->compute_ns < *most_ns)
            continue;
        *most_ns = part->compute_ns;
        control->device = plan->devices[part->device].device;
    }
}

int nn_rt_shared_controls_add(struct nn_rt_shared_controls *controls,
                              const struct nnhal_subgraph *graph, uint32_t number,
                              const struct nn_rt_shared_control_calls *calls)
{
    const struct nnhal_operation *operation = &graph->operations[number];
    struct nn_rt_shared_control control = {.operation = number};
    uint64_t most_ns = 0;
    int r = 0;

    for (uint32_t i = 0; !r && i < operation->n_inputs; i++) {
        _cleanup_(nn_rt_plan_freep) struct nn_rt_plan *plan = NULL;
        const struct nnhal_operand *operand = &graph->operands[operation->inputs[i]];

        if (operand->lifetime != NNHAL_SUBGRAPH_VALUE)
            continue;
        r = calls->plan(calls->ctx, (uint32_t)operand->location.offset, &plan);
        if (!r)
            count_plan(&control, plan, &most_ns);
    }
    if (!r)
        controls->list[controls->n++] = control;
    return r < 0 ? r : 0;
}

const struct nn_rt_shared_control *
nn_rt_shared_controls_find(const struct nn_rt_shared_controls *controls, uint32_t operation)
{
    for (uint32_t i = 0; i < controls->n; i++)
        if (controls->list[i].operation == operation)
            return &controls->list[i];
    return NULL;
}

void nn_rt_shared_controls_remove(struct nn_rt_shared_controls *controls, uint32_t operation)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < controls->n; i++)
        if (controls->list[i].operation != operation)
            controls->list[n++] = controls->list[i];
    controls->n = n;
}
