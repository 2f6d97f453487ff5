/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/planner-problem.h"

#include "base/error.h"
#include "model/types.h"
#include "runtime/partition/settings.h"
#include "runtime/partition/wave-time.h"

#include <string.h>

static uint32_t count_operations(const struct nn_rt_planner *planner)
{
    return planner->finished->model.main.n_operations;
}

bool nn_rt_planner_is_taken(const struct nn_rt_planner *planner, uint32_t operation)
{
    for (uint32_t d = 0; d < planner->n_devices; d++)
        if (!planner->devices[d].is_last_resort &&
            planner->devices[d].verdicts[operation] == NNHAL_VERDICT_TAKEN)
            return true;
    return false;
}

bool nn_rt_planner_is_left_to_others(const struct nn_rt_planner *planner, uint32_t operation)
{
    return nn_rt_planner_is_taken(planner, operation) ||
           nn_rt_shared_controls_find(&planner->controls, operation);
}

static bool may_compute(const struct nn_rt_planner *planner, uint32_t d, uint32_t operation,
                        const struct nn_rt_reach *reach)
{
    uint8_t verdict = planner->devices[d].verdicts[operation];
    bool is_guessed = reach->is_guess && verdict == NNHAL_VERDICT_UNASKED;

    if (verdict != NNHAL_VERDICT_TAKEN && !is_guessed)
        return false;
    if (reach->only < planner->n_devices)
        return d == reach->only;
    return !planner->devices[d].is_last_resort || reach->is_crowded ||
           !nn_rt_planner_is_left_to_others(planner, operation);
}

static uint32_t count_controls(const struct nn_rt_planner *planner, const struct nn_rt_reach *reach)
{
    return reach->only < planner->n_devices ? 0 : planner->controls.n;
}

/* What the partitioner sees of costs, or of times: of what each device takes, then of each control flow
 * that the runtime runs itself. */
static uint64_t *mask(const struct nn_rt_planner *planner, bool is_time,
                      const struct nn_rt_reach *reach, struct nn_arena *arena)
{
    const uint64_t *all = is_time ? planner->weights.times_ns : planner->weights.costs_ns;
    uint32_t n = count_operations(planner), n_controls = count_controls(planner, reach);
    uint64_t *masked = nn_arena_new_n(arena, uint64_t,
                                      ((size_t)planner->n_devices + n_controls) * n);

    for (uint32_t d = 0; masked && d < planner->n_devices; d++)
        for (uint32_t i = 0; i < n; i++)
            masked[(size_t)d * n + i] = may_compute(planner, d, i, reach) ? all[(size_t)d * n + i]
                                                                          : NN_RT_COST_NONE;
    for (uint32_t c = 0; masked && c < n_controls; c++) {
        const struct nn_rt_shared_control *control = &planner->controls.list[c];
        uint64_t *row = masked + ((size_t)planner->n_devices + c) * n;

        for (uint32_t i = 0; i < n; i++)
            row[i] = NN_RT_COST_NONE;
        row[control->operation] = is_time ? control->time_ns : control->cost_ns;
    }
    return masked;
}

/* An array per device with zeros for control flow, whose branches count calls and moves. */
static uint64_t *extend(const uint64_t *per_device, size_t n, size_t n_more, struct nn_arena *arena)
{
    uint64_t *extended = nn_arena_new_n(arena, uint64_t, n + n_more);

    if (extended)
        memcpy(extended, per_device, n * sizeof(*extended));
    return extended;
}

static bool can_stay(const struct nn_rt_planner *planner, uint32_t operand)
{
    const struct nnhal_operand *at = &planner->finished->model.main.operands[operand];
    const struct nn_rt_value *known = &planner->weights.known[operand];

    return at->lifetime == NNHAL_TEMPORARY_VARIABLE && known->state == NN_RT_VALUE_EXACT &&
           !nn_rt_value_is_empty(known) && nn_type_bytes(at->type) > 0;
}

/* Which values which devices have memory for: control flow has none. NULL: no device has any.
 * Returns: 0, -ENOMEM. */
static int list_keeps(const struct nn_rt_planner *planner, uint32_t n_controls,
                      struct nn_arena *arena, const bool **ret_keeps)
{
    uint32_t n = planner->finished->model.main.n_operands, d = 0;
    bool *keeps;

    while (d < planner->n_devices && !planner->devices[d].device->has_buffers)
        d++;
    if (d == planner->n_devices)
        return 0;
    keeps = nn_arena_new_n(arena, bool, ((size_t)planner->n_devices + n_controls) * n);
    if (!keeps)
        return nn_error_origin(-ENOMEM);
    for (; d < planner->n_devices; d++)
        for (uint32_t i = 0; planner->devices[d].device->has_buffers && i < n; i++)
            keeps[(size_t)d * n + i] = can_stay(planner, i);
    *ret_keeps = keeps;
    return 0;
}

/* The devices of a branch may be any. */
static uint32_t *list_places(const struct nn_rt_planner *planner, uint32_t n_controls,
                             struct nn_arena *arena)
{
    uint32_t n = planner->n_devices;
    uint32_t *places = nn_arena_new_n(arena, uint32_t, (size_t)n + n_controls);

    if (places)
        memcpy(places, planner->weights.places, n * sizeof(*places));
    for (uint32_t c = 0; places && c < n_controls; c++)
        places[n + c] = (uint32_t)NN_RT_PLACE_ANY;
    return places;
}

int nn_rt_planner_pose(const struct nn_rt_planner *planner, const struct nn_rt_reach *reach,
                       struct nn_arena *arena, struct nn_rt_partition_problem *ret_problem)
{
    uint32_t n_controls = count_controls(planner, reach);
    uint32_t n_operands = planner->finished->model.main.n_operands;

    *ret_problem = (struct nn_rt_partition_problem){
        .graph = &planner->finished->model.main,
        .n_devices = planner->n_devices + n_controls,
        .max_partitions = nn_rt_settings_max_parts(),
        .costs_ns = mask(planner, false, reach, arena),
        .launch_ns = extend(planner->weights.launch_ns, planner->n_devices, n_controls, arena),
        .move_ns = extend(planner->weights.move_ns, (size_t)planner->n_devices * n_operands,
                          (size_t)n_controls * n_operands, arena),
        .places = list_places(planner, n_controls, arena),
        .is_merging = true,
        .is_sharing = reach->may_share,
    };
    if (!ret_problem->costs_ns || !ret_problem->launch_ns || !ret_problem->move_ns ||
        !ret_problem->places)
        return nn_error_origin(-ENOMEM);
    return list_keeps(planner, n_controls, arena, &ret_problem->keeps);
}

int nn_rt_planner_pose_times(const struct nn_rt_planner *planner, const struct nn_rt_reach *reach,
                             struct nn_arena *arena, struct nn_rt_partition_problem *problem)
{
    if (planner->weights.times_ns != planner->weights.costs_ns)
        problem->costs_ns = mask(planner, true, reach, arena);
    return problem->costs_ns ? 0 : nn_error_origin(-ENOMEM);
}
