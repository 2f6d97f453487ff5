/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/preparation.h"

#include "base/error.h"
#include "base/log.h"
#include "base/wait-limit.h"
#include "cache/hash.h"
#include "runtime/registry.h"
#include "runtime/execution/deadline.h"
#include "runtime/partition/part-model.h"
#include "runtime/partition/planner.h"
#include "runtime/partition/verdicts.h"

#include <string.h>

/* -- on one device ---------------------------------------------------------------- */

/* Whether a device supports every operation. A device that fails to answer supports nothing; one that
 * is gone or late, is short of memory, or cannot reach the model's memories, says so.
 * Returns: 0; BAD_DATA with the operation in why; others. */
static int check_support(ANeuralNetworksCompilation *compilation, ANeuralNetworksDevice *device,
                         struct nn_why *why)
{
    const struct nnhal_subgraph *graph = &compilation->finished->model.main;
    const struct nn_rt_answer *answer;
    int r;

    if (compilation->is_part)
        return 0; /* the device has taken each of these operations in the whole model */
    if (nn_rt_model_is_newer(compilation->finished, device))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "%s knows feature level %lld; the model needs %lld", device->name,
                       (long long)device->feature_level,
                       (long long)nn_level_to_feature(compilation->finished->facts.level));
    /* The answer is kept with the model, so that asking again is free. */
    r = nn_rt_verdicts_get(compilation->finished, device, why, &answer);
    if (r)
        return r == ANEURALNETWORKS_OP_FAILED ? ANEURALNETWORKS_BAD_DATA : r;
    for (uint32_t i = 0; i < graph->n_operations; i++)
        if (answer->verdicts[i] != NNHAL_VERDICT_TAKEN) {
            const char *reason = nn_rt_answer_why(answer, i);

            return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                           "%s does not support operation %u (%s)%s%s", device->name,
                           compilation->finished->original[i],
                           nn_op_name(graph->operations[i].type), *reason ? ": " : "", reason);
        }
    return 0;
}

int nn_rt_compilation_prepare_on(ANeuralNetworksCompilation *compilation,
                                 ANeuralNetworksDevice *device, struct nn_rt_cache *cache,
                                 struct nn_why *why, struct nn_rt_prepared **ret_prepared)
{
    const struct nn_rt_prepare_options options = {
        .preference = compilation->preference,
        .priority = compilation->priority,
        .deadline_ns = nn_deadline_after(compilation->timeout_ns),
        .is_deferred = compilation->is_deferred,
        .attributes = &compilation->attributes,
        /* One that is split was never prepared whole. */
        .is_renewal = compilation->device == device && !nn_rt_compilation_is_split(compilation),
        .cache = cache,
    };
    uint64_t limit_ns = nn_wait_limit_narrow(options.deadline_ns);
    int r;

    r = check_support(compilation, device, why);
    if (!r)
        r = nn_rt_prepared_new(compilation->finished, device, &options, why, ret_prepared);
    /* The limit is the thread's: what it waits for next has a deadline of its own. */
    nn_wait_limit_restore(limit_ns);
    if (r)
        nn_log("compilation", NN_LOG_INFO, "%s: %s", device->name, why->text);
    else
        nn_log("compilation", NN_LOG_INFO, "%s: prepared %u operations", device->name,
               compilation->finished->model.main.n_operations);
    return r;
}

static int prepare_whole(ANeuralNetworksCompilation *compilation, ANeuralNetworksDevice *device,
                         struct nn_why *why)
{
    struct nn_rt_cache *cache = nn_rt_compilation_has_cache(compilation) ? &compilation->cache
                                                                         : NULL;
    int r;

    /* A service that was restarted since the device was opened is found out only by calling it. */
    r = nn_rt_compilation_prepare_on(compilation, device, cache, why, &compilation->prepared);
    if (r == ANEURALNETWORKS_DEAD_OBJECT && !nn_rt_device_may_recover(device))
        r = nn_rt_compilation_prepare_on(compilation, device, cache, why, &compilation->prepared);
    if (!r) {
        compilation->device = device;
        compilation->stage = compilation->prepared->stage;
    }
    return r;
}

/* -- parts -------------------------------------------------------------------------- */

/* Two parts of a model may differ in nothing but their large constants, for which a token stands. So
 * may two branches: numbers are a part's operations, or a branch's number. */
static void make_token(const ANeuralNetworksCompilation *whole, uint32_t n_numbers,
                       const uint32_t *numbers, struct nn_hash *ret_token)
{
    const struct nn_hash_part parts[] = {
        {whole->cache.token, sizeof(whole->cache.token)},
        {numbers, n_numbers * sizeof(*numbers)},
    };

    nn_hash_compute(parts, NN_N_ELEMENTS(parts), ret_token);
}

/* The least that is true of all: a whole that is a hit needs parts that all are. */
static void tell_cache(ANeuralNetworksCompilation *whole, const ANeuralNetworksCompilation *part)
{
    const struct nn_rt_cache *cache = &part->cache;

    if (!whole->cache.path || (whole->cache.outcome && cache->outcome <= whole->cache.outcome))
        return;
    whole->cache.outcome = cache->outcome;
    memcpy(whole->cache.why, cache->why, sizeof(whole->cache.why));
}

/* The devices that compute branches: all that are no last resort. */
static int list_devices(const struct nn_rt_plan *plan, const ANeuralNetworksDevice ***ret_devices,
                        uint32_t *ret_n)
{
    const ANeuralNetworksDevice **devices = calloc(plan->n_devices, sizeof(*devices));

    if (!devices)
        return nn_error_origin(-ENOMEM);
    *ret_n = 0;
    for (uint32_t i = 0; i < plan->n_devices; i++)
        if (!plan->devices[i].is_last_resort)
            devices[(*ret_n)++] = plan->devices[i].device;
    *ret_devices = devices;
    return 0;
}

/* child: of the control's model. */
static int prepare_branch(ANeuralNetworksCompilation *control, const struct nn_rt_plan *plan,
                          uint32_t number, uint32_t child, struct nn_why *why)
{
    _cleanup_(nn_rt_compilation_unrefp) ANeuralNetworksCompilation *branch = NULL;
    _cleanup_(nn_rt_model_unrefp) struct nn_rt_model *model = NULL;
    const ANeuralNetworksDevice **devices = NULL;
    struct nn_hash token;
    uint32_t n = 0;
    int r = nn_rt_model_get_branch(control->finished, child, why, &model);

    make_token(control, 1, &number, &token);
    if (!r)
        r = list_devices(plan, &devices, &n);
    if (!r)
        r = nn_rt_compilation_new_part(control, model, devices, n, token.bytes, &branch);
    free(devices);
    if (r)
        return r;
    branch->is_branch = true;
    r = nn_rt_compilation_finish(branch, why);
    if (r)
        return r;
    if (branch->stage < control->stage)
        control->stage = branch->stage;
    tell_cache(control, branch);
    control->branches[number] = steal_ptr(&branch);
    return 0;
}

/* The part is one operation, whose model is prepared nowhere: its branches are. */
static int prepare_branches(ANeuralNetworksCompilation *control, const struct nn_rt_plan *plan,
                            struct nn_why *why)
{
    const struct nn_rt_model_part *part = &control->finished->part;
    const struct nnhal_operation *operation = &part->graph.operations[0];
    uint32_t number = 0;
    int r = 0;

    control->stage = NNHAL_STAGE_OPTIMIZED;
    for (uint32_t i = 0; !r && i < operation->n_inputs; i++) {
        const struct nnhal_operand *operand = &part->graph.operands[operation->inputs[i]];

        if (operand->lifetime == NNHAL_SUBGRAPH_VALUE)
            r = prepare_branch(control, plan, number++, (uint32_t)operand->location.offset, why);
    }
    control->device = control->devices[0];
    control->state = r ? NN_COMPILATION_FAILED : NN_COMPILATION_FINISHED;
    return r;
}

int nn_rt_compilation_prepare_part(const ANeuralNetworksCompilation *whole,
                                   const struct nn_rt_plan *plan, struct nn_rt_plan_part *part,
                                   struct nn_why *why)
{
    _cleanup_(nn_rt_model_unrefp) struct nn_rt_model *model = NULL;
    const struct nn_rt_part_spec spec = {
        .n_operations = part->n_operations,
        .n_inputs = part->n_inputs,
        .n_outputs = part->n_outputs,
        .operations = part->operations,
        .inputs = part->input_operands,
        .outputs = part->output_operands,
        .is_empty = part->is_empty,
    };
    const ANeuralNetworksDevice *const device[] = {plan->devices[part->device].device};
    struct nn_hash token;
    int r;

    r = nn_rt_model_new_part(whole->finished, &spec, plan->known, why, &model);
    if (r)
        return r;
    make_token(whole, part->n_operations, part->operations, &token);
    r = nn_rt_compilation_new_part(whole, model, device, 1, part->is_empty ? NULL : token.bytes,
                                   &part->compilation);
    if (r)
        return r;
    return part->is_control ? prepare_branches(part->compilation, plan, why)
                            : nn_rt_compilation_finish(part->compilation, why);
}

static void tell_whole(ANeuralNetworksCompilation *whole, const struct nn_rt_plan *plan)
{
    const struct nn_rt_plan_part *most = NULL;

    whole->stage = NNHAL_STAGE_OPTIMIZED;
    whole->cache.outcome = NNHAL_CACHE_NONE;
    for (uint32_t i = 0; i < plan->n_parts; i++) {
        const struct nn_rt_plan_part *part = &plan->parts[i];

        if (!part->compilation)
            continue;
        if (!most || part->compute_ns > most->compute_ns)
            most = part;
        if (part->compilation->stage < whole->stage)
            whole->stage = part->compilation->stage;
        tell_cache(whole, part->compilation);
    }
    if (most)
        whole->device = plan->devices[most->device].device;
}

static int prepare_parts(ANeuralNetworksCompilation *whole, struct nn_rt_plan *plan,
                         struct nn_why *why, const struct nn_rt_plan_part **ret_failed)
{
    int r = 0;

    plan->unref_part = nn_rt_compilation_unref;
    for (uint32_t i = 0; !r && i < plan->n_parts; i++) {
        *ret_failed = &plan->parts[i];
        if (plan->parts[i].n_outputs)
            r = nn_rt_compilation_prepare_part(whole, plan, &plan->parts[i], why);
    }
    if (!r)
        tell_whole(whole, plan);
    return r;
}

/* -- the plan ----------------------------------------------------------------------- */

/* Prepares what is planned. *ret_failed: the part whose device failed. */
static int prepare_plan(ANeuralNetworksCompilation *compilation, struct nn_rt_plan *plan,
                        struct nn_why *why, const struct nn_rt_plan_part **ret_failed)
{
    *ret_failed = plan->parts;
    if (plan->n_parts > 1 || plan->parts->is_control)
        return prepare_parts(compilation, plan, why, ret_failed);
    return prepare_whole(compilation, plan->devices[plan->parts->device].device, why);
}

/* Plan after plan, until one can be prepared: each lacks what the one before has failed with.
 * Without a list the first failure that is not a lack of support is what the application hears of:
 * it concerns the device that should have been chosen. */
static int prepare_planned(ANeuralNetworksCompilation *compilation, struct nn_rt_planner *planner,
                           struct nn_why *why)
{
    const struct nn_rt_plan_part *failed;
    int r;

    do {
        _cleanup_(nn_rt_plan_freep) struct nn_rt_plan *plan = NULL;

        r = nn_rt_planner_plan(planner, why, &plan);
        if (r)
            return r;
        r = prepare_plan(compilation, plan, why, &failed);
        if (!r)
            compilation->plan = steal_ptr(&plan);
        else if (r > 0)
            nn_rt_planner_refuse(planner, failed, r, why);
    } while (r > 0 && (!compilation->is_explicit || r == ANEURALNETWORKS_BAD_DATA));
    return r;
}

static int prepare_chosen(ANeuralNetworksCompilation *compilation, struct nn_why *why)
{
    struct nn_rt_planner planner = {
        .finished = compilation->finished,
        .preference = compilation->preference,
        .is_explicit = compilation->is_explicit,
    };
    int r = compilation->is_explicit || compilation->is_part ? 0 : nn_rt_registry_check_mode(why);

    if (r)
        return r;
    if (compilation->n_devices == 1 && !compilation->is_branch &&
        (compilation->is_explicit || compilation->is_part))
        return prepare_whole(compilation, compilation->devices[0], why);
    r = nn_rt_planner_init(&planner, compilation->devices, compilation->n_devices, why);
    if (!r)
        r = prepare_planned(compilation, &planner, why);
    nn_rt_planner_done(&planner);
    return r;
}

int nn_rt_compilation_finish(ANeuralNetworksCompilation *compilation, struct nn_why *why)
{
    int r;

    if (compilation->state != NN_COMPILATION_OPEN)
        return nn_fail(why, ANEURALNETWORKS_BAD_STATE, "finish() was called already");
    /* A child has neither the device's threads nor its connection, and would use the parent's. */
    if (nn_rt_object_is_foreign(&compilation->object))
        return nn_fail_forked(why, "the compilation");
    r = prepare_chosen(compilation, why);
    compilation->state = r ? NN_COMPILATION_FAILED : NN_COMPILATION_FINISHED;
    return r;
}

/* -- for failures ------------------------------------------------------------------- */

int nn_rt_compilation_get_fallback(ANeuralNetworksCompilation *compilation,
                                   ANeuralNetworksDevice *device, struct nn_why *why,
                                   struct nn_rt_prepared **ret_prepared)
{
    struct nn_rt_prepared *prepared = NULL;
    bool has_one;
    int r = 0;

    pthread_mutex_lock(&compilation->lock);
    has_one = compilation->fallback != NULL;
    pthread_mutex_unlock(&compilation->lock);
    if (!has_one)
        /* No cache: the token stands for what the chosen device makes of the model. */
        r = nn_rt_compilation_prepare_on(compilation, device, NULL, why, &prepared);
    if (r)
        return r;
    pthread_mutex_lock(&compilation->lock);
    if (!compilation->fallback)
        compilation->fallback = steal_ptr(&prepared);
    *ret_prepared = nn_rt_prepared_ref(compilation->fallback);
    pthread_mutex_unlock(&compilation->lock);
    nn_rt_prepared_unref(prepared); /* another thread was first */
    return 0;
}
