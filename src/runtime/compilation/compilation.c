/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/compilation.h"

#include "base/error.h"
#include "runtime/model/builder.h"
#include "runtime/partition/planner.h"
#include "runtime/registry.h"

#include <string.h>

static int dup_devices(ANeuralNetworksCompilation *compilation,
                       const ANeuralNetworksDevice *const *devices, uint32_t n_devices)
{
    const struct nn_rt_registry *registry = nn_rt_registry_get();

    compilation->is_explicit = devices != NULL;
    if (!devices) {
        devices = (const ANeuralNetworksDevice *const *)registry->devices;
        n_devices = registry->n_devices;
    }
    /* One more: calloc(0) may return NULL, which would look like a lack of memory. */
    compilation->devices = calloc(n_devices + 1, sizeof(*devices));
    if (!compilation->devices)
        return nn_error_origin(-ENOMEM);
    if (n_devices)
        memcpy(compilation->devices, devices, n_devices * sizeof(*devices));
    compilation->n_devices = n_devices;
    return 0;
}

/* With the defaults of everything that can be set. */
static int compilation_new(struct nn_rt_model *finished,
                           ANeuralNetworksCompilation **ret_compilation)
{
    ANeuralNetworksCompilation *compilation = calloc(1, sizeof(*compilation));

    if (!compilation)
        return nn_error_origin(-ENOMEM);
    nn_rt_object_init(&compilation->object);
    pthread_mutex_init(&compilation->lock, NULL);
    pthread_cond_init(&compilation->renewal.ended, NULL);
    nn_rt_argument_pools_init(&compilation->argument_pools);
    compilation->finished = nn_rt_model_ref(finished);
    compilation->preference = NNHAL_FAST_SINGLE_ANSWER;
    compilation->priority = NNHAL_PRIORITY_MEDIUM;
    *ret_compilation = compilation;
    return 0;
}

int nn_rt_compilation_new(const ANeuralNetworksModel *model,
                          const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                          struct nn_why *why, ANeuralNetworksCompilation **ret_compilation)
{
    _cleanup_(nn_rt_compilation_unrefp) ANeuralNetworksCompilation *compilation = NULL;
    struct nn_rt_model *finished = NULL;
    int r;

    r = nn_rt_builder_get_finished(model, why, &finished);
    if (!r && devices)
        r = nn_rt_registry_check_list(devices, n_devices, why);
    if (!r)
        r = compilation_new(finished, &compilation);
    if (!r)
        r = dup_devices(compilation, devices, n_devices);
    if (r)
        return r;
    *ret_compilation = steal_ptr(&compilation);
    return 0;
}

int nn_rt_compilation_new_part(const ANeuralNetworksCompilation *whole, struct nn_rt_model *part,
                               const ANeuralNetworksDevice *const *devices, uint32_t n_devices,
                               const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                               ANeuralNetworksCompilation **ret_compilation)
{
    _cleanup_(nn_rt_compilation_unrefp) ANeuralNetworksCompilation *compilation = NULL;
    int r = compilation_new(part, &compilation);

    if (!r)
        r = dup_devices(compilation, devices, n_devices);
    if (r)
        return r;
    compilation->is_part = true;
    compilation->is_explicit = whole->is_explicit;
    compilation->preference = whole->preference;
    compilation->priority = whole->priority;
    compilation->is_deferred = whole->is_deferred;
    if (whole->cache.path && token) {
        compilation->cache.path = strdup(whole->cache.path);
        if (!compilation->cache.path)
            return nn_error_origin(-ENOMEM);
        memcpy(compilation->cache.token, token, sizeof(compilation->cache.token));
    }
    *ret_compilation = steal_ptr(&compilation);
    return 0;
}

ANeuralNetworksCompilation *nn_rt_compilation_ref(ANeuralNetworksCompilation *compilation)
{
    nn_rt_object_ref(&compilation->object);
    return compilation;
}

ANeuralNetworksCompilation *nn_rt_compilation_unref(ANeuralNetworksCompilation *compilation)
{
    if (!compilation || !nn_rt_object_unref(&compilation->object))
        return NULL;
    nn_rt_argument_pools_done(&compilation->argument_pools);
    nn_rt_prepared_unref(compilation->prepared);
    nn_rt_prepared_unref(compilation->fallback);
    if (compilation->residents)
        compilation->free_residents(compilation->residents);
    nn_rt_plan_free(compilation->plan);
    for (size_t i = 0; i < NN_N_ELEMENTS(compilation->branches); i++)
        nn_rt_compilation_unref(compilation->branches[i]);
    nn_rt_model_unref(compilation->finished);
    free(compilation->devices);
    nn_rt_attributes_done(&compilation->attributes);
    nn_rt_cache_done(&compilation->cache);
    pthread_cond_destroy(&compilation->renewal.ended);
    pthread_mutex_destroy(&compilation->lock);
    nn_rt_object_done(&compilation->object);
    free(compilation);
    return NULL;
}

int nn_rt_compilation_check_finished(const ANeuralNetworksCompilation *compilation,
                                     struct nn_why *why)
{
    if (compilation->state == NN_COMPILATION_FINISHED)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   compilation->state == NN_COMPILATION_OPEN
                       ? "the compilation is not finished"
                       : "the compilation's finish() failed: it can only be freed");
}

bool nn_rt_compilation_has_one_device(const ANeuralNetworksCompilation *compilation)
{
    return compilation->is_explicit && compilation->n_devices == 1;
}

bool nn_rt_compilation_has_cache(const ANeuralNetworksCompilation *compilation)
{
    return nn_rt_cache_is_wanted(&compilation->cache);
}

int nn_rt_compilation_check_argument(const ANeuralNetworksCompilation *compilation, uint32_t index,
                                     bool is_input, struct nn_why *why)
{
    const struct nn_model_io *io = &compilation->finished->io;
    uint32_t n = is_input ? io->n_inputs : io->n_outputs;
    int r = nn_rt_compilation_check_finished(compilation, why);

    if (r || index < n)
        return r;
    return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no %s %u: the model has %u",
                   is_input ? "input" : "output", index, n);
}

/* -- the plan ------------------------------------------------------------------- */

/* Of the one device, which has been asked: its answer is kept with the model. */
static int plan_listed(const ANeuralNetworksCompilation *compilation, struct nn_why *why,
                       struct nn_rt_plan **ret_plan)
{
    struct nn_rt_planner planner = {
        .finished = compilation->finished,
        .preference = compilation->preference,
        .is_explicit = true,
    };
    int r = nn_rt_planner_init(&planner, compilation->devices, compilation->n_devices, why);

    if (!r)
        r = nn_rt_planner_plan(&planner, why, ret_plan);
    nn_rt_planner_done(&planner);
    return r;
}

/* NULL: there is none, or none yet. */
static const struct nn_rt_plan *find_plan(const ANeuralNetworksCompilation *compilation)
{
    /* Acquire: pairs with the release in nn_rt_compilation_get_plan(). */
    return __atomic_load_n(&compilation->plan, __ATOMIC_ACQUIRE);
}

int nn_rt_compilation_get_plan(ANeuralNetworksCompilation *compilation, struct nn_why *why,
                               const struct nn_rt_plan **ret_plan)
{
    struct nn_rt_plan *plan = NULL;
    bool has_one;
    int r = nn_rt_compilation_check_finished(compilation, why);

    if (r)
        return r;
    pthread_mutex_lock(&compilation->lock);
    has_one = compilation->plan != NULL;
    pthread_mutex_unlock(&compilation->lock);
    if (!has_one)
        r = plan_listed(compilation, why, &plan);
    if (r)
        return r;
    pthread_mutex_lock(&compilation->lock);
    if (!compilation->plan)
        __atomic_store_n(&compilation->plan, steal_ptr(&plan), __ATOMIC_RELEASE);
    *ret_plan = compilation->plan;
    pthread_mutex_unlock(&compilation->lock);
    nn_rt_plan_free(plan); /* another thread was first */
    return 0;
}

int nn_rt_compilation_get_cost(ANeuralNetworksCompilation *compilation, uint32_t part,
                               struct nn_why *why, struct nnhal_part_cost *ret_cost)
{
    const struct nn_rt_plan *plan;
    int r = nn_rt_compilation_get_plan(compilation, why, &plan);

    if (r)
        return r;
    if (part >= plan->n_parts)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no part %u: the plan has %u", part,
                       plan->n_parts);
    nn_rt_record_get_cost(plan->record, part, ret_cost);
    return 0;
}

int nn_rt_compilation_get_move(ANeuralNetworksCompilation *compilation, uint32_t move,
                               struct nn_why *why, struct nnhal_part_move *ret_move)
{
    const struct nn_rt_plan *plan;
    int r = nn_rt_compilation_get_plan(compilation, why, &plan);

    if (!r && !nn_rt_plan_tell_move(plan, move, ret_move))
        r = nn_fail(why, ANEURALNETWORKS_BAD_DATA, "there is no move %u: the plan has %u", move,
                    ret_move->n_moves);
    return r;
}

void nn_rt_compilation_note_duration(const ANeuralNetworksCompilation *compilation,
                                     const struct nn_rt_duration *duration)
{
    const struct nn_rt_plan *plan = find_plan(compilation);

    if (plan)
        nn_rt_record_note_duration(plan->record, 0, duration);
}

bool nn_rt_compilation_is_control(const ANeuralNetworksCompilation *compilation)
{
    return compilation->branches[0] != NULL;
}

bool nn_rt_compilation_is_split(const ANeuralNetworksCompilation *compilation)
{
    const struct nn_rt_plan *plan = find_plan(compilation);

    return nn_rt_compilation_is_control(compilation) ||
           (plan && (plan->n_parts > 1 || plan->parts[0].is_control));
}

struct nn_rt_prepared *nn_rt_compilation_get_prepared(ANeuralNetworksCompilation *compilation)
{
    struct nn_rt_prepared *prepared;

    pthread_mutex_lock(&compilation->lock);
    prepared = nn_rt_prepared_ref(compilation->prepared);
    pthread_mutex_unlock(&compilation->lock);
    return prepared;
}

/* Without the lock: an execution asks at each computation. The answer may be old by one renewal,
 * which the session's end then shows. Acquire: pairs with the release in renew(). */
bool nn_rt_compilation_has_prepared(const ANeuralNetworksCompilation *compilation,
                                    const struct nn_rt_prepared *prepared)
{
    return prepared && __atomic_load_n(&compilation->prepared, __ATOMIC_ACQUIRE) == prepared;
}
