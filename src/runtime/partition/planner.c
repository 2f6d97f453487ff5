/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/planner.h"

#include "base/error.h"
#include "base/log.h"
#include "base/variable.h"
#include "model/ops.h"
#include "runtime/device-performance.h"
#include "runtime/partition/device-list.h"
#include "runtime/partition/model-values.h"
#include "runtime/partition/part-model.h"
#include "runtime/partition/settings.h"
#include "runtime/partition/verdicts.h"
#include "runtime/partition/wave-time.h"

#include <string.h>

#define MAX_REFUSALS 3

static uint32_t count_operations(const struct nn_rt_planner *planner)
{
    return planner->finished->model.main.n_operations;
}

/* -- which devices ------------------------------------------------------------------- */

static int add_device(struct nn_rt_planner *planner, ANeuralNetworksDevice *device)
{
    struct nn_rt_plan_device *entry = &planner->devices[planner->n_devices];

    nn_rt_device_get_performance(device, &planner->performances[planner->n_devices]);
    *entry = (struct nn_rt_plan_device){
        .device = device,
        .name = device->name,
        /* Devices that were named are equals. */
        .is_last_resort = device->is_reference && !planner->is_explicit && !planner->is_ordered,
        .source = nn_rt_cost_source(&planner->performances[planner->n_devices]),
    };
    entry->verdicts = nn_arena_alloc(&planner->arena, count_operations(planner));
    if (!entry->verdicts)
        return nn_error_origin(-ENOMEM);
    memset(entry->verdicts, NNHAL_VERDICT_UNASKED, count_operations(planner));
    planner->n_devices++;
    return 0;
}

static int add_devices(struct nn_rt_planner *planner, ANeuralNetworksDevice *const *devices,
                       uint32_t n_devices, struct nn_why *why)
{
    ANeuralNetworksDevice **list = nn_arena_new_n(&planner->arena, ANeuralNetworksDevice *,
                                                  n_devices);
    struct nn_rt_device_list allowed = {0};
    uint32_t n = n_devices;
    int r = planner->is_explicit ? 0 : nn_rt_device_list_read(&planner->arena, why, &allowed);

    if (r)
        return r;
    planner->devices = nn_arena_new_n(&planner->arena, struct nn_rt_plan_device, n_devices);
    planner->performances = nn_arena_new_n(&planner->arena, struct nn_rt_performance, n_devices);
    if (!list || !planner->devices || !planner->performances)
        return nn_error_origin(-ENOMEM);
    memcpy(list, devices, n_devices * sizeof(*list));
    planner->is_ordered = nn_rt_settings_choose_devices(allowed.names, list, &n);
    if (!n && n_devices)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s names no device of this machine",
                       allowed.source);
    if (!n)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no device on this machine");
    for (uint32_t i = 0; !r && i < n; i++)
        r = add_device(planner, list[i]);
    return r;
}

int nn_rt_planner_init(struct nn_rt_planner *planner, ANeuralNetworksDevice *const *devices,
                       uint32_t n_devices, struct nn_why *why)
{
    int r;

    nn_arena_init(&planner->arena, 0);
    r = add_devices(planner, devices, n_devices, why);
    if (r)
        return r;
    return nn_rt_weights_init(&planner->weights, planner->finished, planner->n_devices,
                              planner->performances, planner->preference, &planner->arena);
}

void nn_rt_planner_done(struct nn_rt_planner *planner)
{
    nn_arena_done(&planner->arena);
}

/* -- asking ---------------------------------------------------------------------------- */

static void note_why(struct nn_rt_planner *planner, struct nn_rt_plan_device *device, int r,
                     const struct nn_why *why)
{
    device->why = *why;
    if (planner->first || r == ANEURALNETWORKS_BAD_DATA)
        return;
    planner->first = r;
    planner->first_why = *why;
}

/* A device that fails to answer supports nothing. One that is gone or late, is short of memory, or
 * cannot reach the model's memories, is told of: at once if the application listed it. */
static int ask_device(struct nn_rt_planner *planner, uint32_t d, struct nn_why *why)
{
    struct nn_rt_plan_device *device = &planner->devices[d];
    int r;

    if (device->verdicts[0] != NNHAL_VERDICT_UNASKED)
        return 0;
    r = nn_rt_verdicts_get(planner->finished, device->device, why, &device->answer);
    /* A service that was restarted since the device was opened is found out only by calling it. */
    if (r == ANEURALNETWORKS_DEAD_OBJECT && !nn_rt_device_may_recover(device->device))
        r = nn_rt_verdicts_get(planner->finished, device->device, why, &device->answer);
    if (!r) {
        memcpy(device->verdicts, device->answer->verdicts, count_operations(planner));
        return 0;
    }
    memset(device->verdicts, NNHAL_VERDICT_UNREACHED, count_operations(planner));
    r = r == ANEURALNETWORKS_OP_FAILED ? ANEURALNETWORKS_BAD_DATA : r;
    note_why(planner, device, r, why);
    nn_log("compilation", NN_LOG_WARNING, "%s", why->text);
    return planner->is_explicit && r != ANEURALNETWORKS_BAD_DATA ? r : 0;
}

static bool takes_all(const struct nn_rt_planner *planner, uint32_t d)
{
    for (uint32_t i = 0; i < count_operations(planner); i++)
        if (planner->devices[d].verdicts[i] != NNHAL_VERDICT_TAKEN)
            return false;
    return true;
}

static bool may_take(const struct nn_rt_planner *planner, uint32_t d, uint32_t operation)
{
    uint8_t verdict = planner->devices[d].verdicts[operation];

    return verdict == NNHAL_VERDICT_TAKEN || verdict == NNHAL_VERDICT_UNASKED;
}

/* Whether the other devices do without it: together, or one of them if the model is not split. */
static bool is_covered(const struct nn_rt_planner *planner)
{
    bool is_whole = nn_rt_settings_partitioning() == NN_RT_PARTITIONING_OFF;
    bool is_covered = !is_whole;

    for (uint32_t i = 0; is_covered && i < count_operations(planner); i++)
        is_covered = nn_rt_planner_is_left_to_others(planner, i);
    for (uint32_t d = 0; is_whole && d < planner->n_devices; d++)
        is_covered = is_covered || (!planner->devices[d].is_last_resort && takes_all(planner, d));
    return is_covered;
}

/* What no mixture can be below: each operation where it is cheapest, among those who may take it. */
static uint64_t find_bound(const struct nn_rt_planner *planner)
{
    uint32_t n = count_operations(planner);
    uint64_t bound_ns = UINT64_MAX;

    for (uint32_t d = 0; d < planner->n_devices; d++)
        if (!planner->devices[d].is_last_resort && planner->weights.launch_ns[d] < bound_ns)
            bound_ns = planner->weights.launch_ns[d];
    for (uint32_t i = 0; i < n; i++) {
        uint64_t least_ns = UINT64_MAX;

        for (uint32_t d = 0; d < planner->n_devices; d++)
            if (!planner->devices[d].is_last_resort && may_take(planner, d, i) &&
                planner->weights.costs_ns[(size_t)d * n + i] < least_ns)
                least_ns = planner->weights.costs_ns[(size_t)d * n + i];
        bound_ns += least_ns == UINT64_MAX ? 0 : least_ns;
    }
    return bound_ns;
}

/* The next to ask: the user's order, or the cheapest for the whole, the last resort last and where
 * it is needed. Returns: n_devices if no more are to be asked. */
static uint32_t find_unasked(const struct nn_rt_planner *planner)
{
    uint32_t best = planner->n_devices, last = planner->n_devices;

    for (uint32_t d = 0; d < planner->n_devices; d++) {
        if (planner->devices[d].verdicts[0] != NNHAL_VERDICT_UNASKED)
            continue;
        if (planner->devices[d].is_last_resort) {
            last = d;
            continue;
        }
        if (best == planner->n_devices ||
            (!planner->is_ordered &&
             planner->weights.whole_ns[d] < planner->weights.whole_ns[best]))
            best = d;
    }
    return best < planner->n_devices || is_covered(planner) ? best : last;
}

/* Whether one device is to compute it all, without an answer of those that were not asked. */
static bool is_settled(const struct nn_rt_planner *planner, uint32_t d)
{
    return takes_all(planner, d) && !planner->devices[d].is_last_resort &&
           (planner->is_ordered || planner->weights.whole_ns[d] <= find_bound(planner));
}

/* -- control flow ---------------------------------------------------------------------- */

/* All that are no last resort, who compute branches. */
static ANeuralNetworksDevice **list_equals(const struct nn_rt_planner *planner,
                                           struct nn_arena *arena, uint32_t *ret_n)
{
    ANeuralNetworksDevice **devices = nn_arena_new_n(arena, ANeuralNetworksDevice *,
                                                     planner->n_devices);

    *ret_n = 0;
    for (uint32_t d = 0; devices && d < planner->n_devices; d++)
        if (!planner->devices[d].is_last_resort)
            devices[(*ret_n)++] = planner->devices[d].device;
    return devices;
}

/* Returns: 0 with a plan that is thrown away; why there is none; -ENOMEM. */
static int plan_branch(void *ctx, uint32_t child, struct nn_rt_plan **ret_plan)
{
    struct nn_rt_planner *planner = ctx;
    _cleanup_(nn_rt_model_unrefp) struct nn_rt_model *branch = NULL;
    struct nn_rt_planner own = {
        .preference = planner->preference,
        .is_explicit = planner->is_explicit,
        .is_estimate = true,
    };
    uint32_t n;
    ANeuralNetworksDevice **devices = list_equals(planner, &planner->arena, &n);
    struct nn_why why = {0};
    int r = devices ? nn_rt_model_get_branch(planner->finished, child, &why, &branch)
                    : nn_error_origin(-ENOMEM);

    if (r)
        return r;
    own.finished = branch;
    r = nn_rt_planner_init(&own, devices, n, &why);
    if (!r)
        r = nn_rt_planner_plan(&own, &why, ret_plan);
    nn_rt_planner_done(&own);
    return r;
}

/* When all devices but the last resort have been asked. */
static int find_controls(struct nn_rt_planner *planner)
{
    const struct nn_rt_shared_control_calls calls = {planner, plan_branch};
    const struct nnhal_subgraph *graph = &planner->finished->part.graph;
    int r = 0;

    if (planner->controls.list || nn_rt_settings_partitioning() == NN_RT_PARTITIONING_OFF)
        return 0;
    r = nn_rt_shared_controls_init(&planner->controls, graph->n_operations, &planner->arena);
    for (uint32_t i = 0; !r && i < graph->n_operations; i++)
        if (nn_rt_shared_control_is(&graph->operations[i]) && !nn_rt_planner_is_taken(planner, i))
            r = nn_rt_shared_controls_add(&planner->controls, graph, i, &calls);
    return r;
}

int nn_rt_planner_list_controls(struct nn_rt_planner *planner, struct nn_why *why)
{
    int r = 0;

    for (uint32_t d = 0; !r && d < planner->n_devices; d++)
        r = ask_device(planner, d, why);
    return r ? r : find_controls(planner);
}

/* -- branches -------------------------------------------------------------------------- */

/* Whether two devices could compute at the same time, and may have branches of one model. Energy is no
 * less by that, and the user's order has one device for all. */
static bool may_share(const struct nn_rt_planner *planner)
{
    uint32_t place = (uint32_t)NN_RT_PLACE_ANY;

    if (planner->preference == NNHAL_LOW_POWER || planner->is_ordered ||
        nn_rt_settings_partitioning() == NN_RT_PARTITIONING_OFF)
        return false;
    for (uint32_t d = 0; d < planner->n_devices; d++) {
        if (planner->devices[d].is_last_resort)
            continue;
        if (place != (uint32_t)NN_RT_PLACE_ANY && planner->weights.places[d] != place)
            return true;
        place = planner->weights.places[d];
    }
    return false;
}

/* device: of the partitioner, which counts control flow, too. */
static bool is_unasked(const struct nn_rt_planner *planner, uint32_t device)
{
    return device < planner->n_devices &&
           planner->devices[device].verdicts[0] == NNHAL_VERDICT_UNASKED;
}

/* As if all that were not asked took everything.
 * Returns: 0 with a device that was not asked and would get a branch, or n_devices; -ENOMEM. */
static int find_helper(const struct nn_rt_planner *planner, uint32_t *ret_helper,
                       bool *ret_is_shared)
{
    const struct nn_rt_reach reach = {
        .only = planner->n_devices, .is_guess = true, .may_share = true};
    struct nn_rt_partition_problem problem;
    struct nn_rt_partitioning partitioning;
    struct nn_arena scratch;
    uint32_t operation = 0;
    int r;

    *ret_helper = planner->n_devices;
    nn_arena_init(&scratch, 0);
    r = nn_rt_planner_pose(planner, &reach, &scratch, &problem);
    if (!r)
        r = nn_rt_partition(&problem, &scratch, &partitioning, &operation);
    *ret_is_shared = !r && partitioning.n_partitions > 1;
    for (uint32_t p = 0; *ret_is_shared && p < partitioning.n_partitions; p++)
        if (is_unasked(planner, partitioning.devices[p]))
            *ret_helper = partitioning.devices[p];
    nn_arena_done(&scratch);
    return r < 0 ? r : 0;
}

/* One device takes all: who could compute branches of it meanwhile is asked, too.
 * Returns: 0 with that device, or n_devices: several share it; and others. */
static int ask_helpers(struct nn_rt_planner *planner, struct nn_why *why, uint32_t *whole)
{
    uint32_t helper = planner->n_devices;
    bool is_shared = false;
    int r = 0;

    do {
        if (helper < planner->n_devices)
            r = ask_device(planner, helper, why);
        if (r > 0)
            r = 0; /* it cannot be reached, and would only have helped */
        if (!r)
            r = find_helper(planner, &helper, &is_shared);
    } while (!r && helper < planner->n_devices);
    if (is_shared)
        *whole = planner->n_devices;
    return r;
}

/* -- asking all that is to be asked ------------------------------------------------------- */

/* Returns: 0 with a device that computes it all, or n_devices: several do; and others. */
static int ask_devices(struct nn_rt_planner *planner, struct nn_why *why, uint32_t *ret_whole)
{
    int r = 0;

    *ret_whole = planner->n_devices;
    for (uint32_t d = 0; d < planner->n_devices && *ret_whole == planner->n_devices; d++)
        if (is_settled(planner, d))
            *ret_whole = d;
    while (!r && *ret_whole == planner->n_devices) {
        uint32_t d = find_unasked(planner);

        if (d == planner->n_devices || planner->devices[d].is_last_resort) {
            r = find_controls(planner);
            d = r ? planner->n_devices : find_unasked(planner);
        }
        if (d == planner->n_devices)
            break;
        r = ask_device(planner, d, why);
        if (!r && is_settled(planner, d))
            *ret_whole = d;
    }
    if (!r && *ret_whole < planner->n_devices && may_share(planner))
        r = ask_helpers(planner, why, ret_whole);
    return r;
}

/* -- the plan -------------------------------------------------------------------------- */

/* The cheapest device that takes all, for those who want no parts. */
static uint32_t find_cheapest_whole(const struct nn_rt_planner *planner)
{
    uint32_t best = planner->n_devices;

    for (uint32_t d = 0; d < planner->n_devices; d++)
        if (takes_all(planner, d) &&
            (best == planner->n_devices ||
             planner->weights.whole_ns[d] < planner->weights.whole_ns[best]))
            best = d;
    return best;
}

/* Whose sentence goes with the failure: the first that has one. NULL: none has. */
static const struct nn_rt_plan_device *find_explainer(const struct nn_rt_planner *planner,
                                                      uint32_t operation)
{
    uint32_t d = 0;

    while (d < planner->n_devices && !*nn_rt_plan_device_why(&planner->devices[d], operation))
        d++;
    return d < planner->n_devices ? &planner->devices[d] : NULL;
}

static int fail_unsupported(const struct nn_rt_planner *planner, uint32_t operation,
                            struct nn_why *why)
{
    uint32_t type = planner->finished->model.main.operations[operation].type;
    uint32_t original = planner->finished->original[operation];
    const struct nn_rt_plan_device *first = &planner->devices[0];
    const struct nn_rt_plan_device *explainer = find_explainer(planner, operation);
    const char *reason = explainer ? nn_rt_plan_device_why(explainer, operation) : "";

    if (planner->first) {
        *why = planner->first_why;
        return planner->first;
    }
    /* A part that failed, after which no device is left for this operation. */
    if (first->why.text[0]) {
        explainer = first;
        reason = first->why.text;
    }
    if (planner->n_devices == 1)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s does not support operation %u (%s)%s%s",
                       first->name, original, nn_op_name(type), *reason ? ": " : "", reason);
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                   "none of %u devices takes operation %u (%s)%s%s%s%s", planner->n_devices,
                   original, nn_op_name(type), explainer ? "; " : "",
                   explainer ? explainer->name : "", explainer ? ": " : "", reason);
}

static int plan_new(const struct nn_rt_planner *planner, struct nn_rt_plan **ret_plan)
{
    struct nn_rt_plan *plan = calloc(1, sizeof(*plan));
    uint32_t n = count_operations(planner);

    if (!plan)
        return nn_error_origin(-ENOMEM);
    nn_arena_init(&plan->arena, 0);
    plan->model = &planner->finished->model;
    plan->n_devices = planner->n_devices;
    plan->devices = nn_arena_dup(&plan->arena, planner->devices,
                                 planner->n_devices * sizeof(*plan->devices));
    plan->known = nn_arena_dup(&plan->arena, planner->weights.known,
                               planner->finished->model.main.n_operands * sizeof(*plan->known));
    for (uint32_t d = 0; plan->devices && d < plan->n_devices; d++) {
        plan->devices[d].verdicts = nn_arena_dup(&plan->arena, planner->devices[d].verdicts, n);
        if (!plan->devices[d].verdicts)
            plan->devices = NULL;
    }
    if (!plan->devices || !plan->known ||
        nn_rt_model_values_keep(planner->finished, &plan->arena, plan->known)) {
        nn_rt_plan_free(plan);
        return nn_error_origin(-ENOMEM);
    }
    *ret_plan = plan;
    return 0;
}

static uint32_t find_device(const struct nn_rt_planner *planner,
                            const ANeuralNetworksDevice *device)
{
    uint32_t d = 0;

    while (planner->devices[d].device != device)
        d++;
    return d;
}

/* From the partitioner's devices to the plan's. */
static void name_controls(const struct nn_rt_planner *planner, struct nn_rt_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        struct nn_rt_plan_part *part = &plan->parts[i];

        part->is_control = part->device >= planner->n_devices;
        if (part->is_control)
            part->device = find_device(
                planner, planner->controls.list[part->device - planner->n_devices].device);
    }
}

static int plan_fill(const struct nn_rt_planner *planner, uint32_t only, struct nn_arena *scratch,
                     struct nn_why *why, struct nn_rt_plan *plan)
{
    struct nn_rt_reach reach = {.only = only, .may_share = may_share(planner)};
    struct nn_rt_partition_problem problem;
    struct nn_rt_partitioning partitioning;
    uint32_t operation = 0;
    int r = nn_rt_planner_pose(planner, &reach, scratch, &problem);

    if (!r)
        r = nn_rt_partition(&problem, scratch, &partitioning, &operation);
    if (!r && partitioning.n_partitions > problem.max_partitions && !is_covered(planner)) {
        reach.is_crowded = true;
        r = nn_rt_planner_pose(planner, &reach, scratch, &problem);
        if (!r)
            r = nn_rt_partition(&problem, scratch, &partitioning, &operation);
    }
    if (r == NN_RT_PARTITION_E_UNSUPPORTED)
        return fail_unsupported(planner, operation, why);
    if (!r)
        r = nn_rt_planner_pose_times(planner, &reach, scratch, &problem);
    if (!r)
        r = nn_rt_plan_lay_out(plan, &problem, &partitioning);
    if (!r)
        name_controls(planner, plan);
    return r;
}

int nn_rt_planner_plan(struct nn_rt_planner *planner, struct nn_why *why,
                       struct nn_rt_plan **ret_plan)
{
    _cleanup_(nn_rt_plan_freep) struct nn_rt_plan *plan = NULL;
    struct nn_arena scratch;
    uint32_t whole;
    int r;

    r = ask_devices(planner, why, &whole);
    if (r)
        return r;
    if (whole == planner->n_devices && nn_rt_settings_partitioning() == NN_RT_PARTITIONING_OFF)
        whole = find_cheapest_whole(planner);
    r = plan_new(planner, &plan);
    if (r)
        return r;
    nn_arena_init(&scratch, 0);
    r = plan_fill(planner, whole, &scratch, why, plan);
    nn_arena_done(&scratch);
    if (!r)
        r = nn_rt_plan_tell(plan, planner->finished->original);
    if (r)
        return r;
    if (!planner->is_estimate)
        nn_trace_printed("plan", nn_rt_plan_print, plan);
    *ret_plan = steal_ptr(&plan);
    return 0;
}

void nn_rt_planner_refuse(struct nn_rt_planner *planner, const struct nn_rt_plan_part *part, int r,
                          const struct nn_why *why)
{
    struct nn_rt_plan_device *device = &planner->devices[part->device];

    if (part->is_control) {
        nn_rt_shared_controls_remove(&planner->controls, part->operations[0]);
        note_why(planner, device, r, why);
        return;
    }
    for (uint32_t i = 0; i < part->n_operations; i++)
        device->verdicts[part->operations[i]] = NNHAL_VERDICT_REFUSED;
    /* Others may share what this device took: they are looked for again. */
    planner->controls = (struct nn_rt_shared_controls){.n = 0};
    /* One that fails again and again is not tried with every subset. */
    if (++device->n_refusals == MAX_REFUSALS)
        memset(device->verdicts, NNHAL_VERDICT_REFUSED, count_operations(planner));
    note_why(planner, device, r, why);
}
