/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/compilation.h"

#include "base/error.h"
#include "base/log.h"
#include "base/wait-limit.h"
#include "cache/hash.h"
#include "runtime/model/builder.h"
#include "runtime/registry.h"
#include "runtime/execution/deadline.h"
#include "runtime/partition/part-model.h"
#include "runtime/partition/planner.h"

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
                               ANeuralNetworksDevice *device,
                               const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                               ANeuralNetworksCompilation **ret_compilation)
{
    _cleanup_(nn_rt_compilation_unrefp) ANeuralNetworksCompilation *compilation = NULL;
    const ANeuralNetworksDevice *const devices[] = {device};
    int r = compilation_new(part, &compilation);

    if (!r)
        r = dup_devices(compilation, devices, 1);
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
    nn_rt_plan_free(compilation->plan);
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

/* -- settings ------------------------------------------------------------------- */

static int compilation_check_open(const ANeuralNetworksCompilation *compilation, struct nn_why *why)
{
    if (compilation->state == NN_COMPILATION_OPEN)
        return 0;
    return nn_fail(why, ANEURALNETWORKS_BAD_STATE,
                   "finish() was called already: the compilation cannot be changed any more");
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

int nn_rt_compilation_set_preference(ANeuralNetworksCompilation *compilation, int32_t preference,
                                     struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    if (preference < ANEURALNETWORKS_PREFER_LOW_POWER ||
        preference > ANEURALNETWORKS_PREFER_SUSTAINED_SPEED)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%d is no preference", preference);
    compilation->preference = (uint32_t)preference;
    return 0;
}

int nn_rt_compilation_set_priority(ANeuralNetworksCompilation *compilation, int priority,
                                   struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    switch (priority) {
    case ANEURALNETWORKS_PRIORITY_LOW:
        compilation->priority = NNHAL_PRIORITY_LOW;
        return 0;
    case ANEURALNETWORKS_PRIORITY_MEDIUM:
        compilation->priority = NNHAL_PRIORITY_MEDIUM;
        return 0;
    case ANEURALNETWORKS_PRIORITY_HIGH:
        compilation->priority = NNHAL_PRIORITY_HIGH;
        return 0;
    default:
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%d is no priority: 90, 100 or 110 is",
                       priority);
    }
}

int nn_rt_compilation_set_timeout(ANeuralNetworksCompilation *compilation, uint64_t duration_ns,
                                  struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    /* AOSP's rule: the deadline is handed to the device, so that there must be just one. */
    if (!nn_rt_compilation_has_one_device(compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "timeouts need a compilation created for one listed device");
    compilation->timeout_ns = duration_ns;
    return 0;
}

int nn_rt_compilation_set_caching(ANeuralNetworksCompilation *compilation, const char *path,
                                  const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);
    char *copy;

    if (r)
        return r;
    /* Copied before the old one goes: a call that fails changes nothing. */
    copy = strdup(path);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    nn_rt_cache_done(&compilation->cache);
    compilation->cache.path = copy;
    memcpy(compilation->cache.token, token, sizeof(compilation->cache.token));
    return 0;
}

/* As with a folder the last call counts. */
int nn_rt_compilation_set_cache_files(ANeuralNetworksCompilation *compilation,
                                      const struct nn_rt_cache_files *files,
                                      const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                                      struct nn_why *why)
{
    const ANeuralNetworksDevice *device = compilation->devices[0];
    struct nn_rt_cache cache = {0};
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    if (!nn_rt_compilation_has_one_device(compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "cache files need a compilation created for one listed device");
    if (files->n_model != device->n_model_cache || files->n_data != device->n_data_cache)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s needs %u and %u files, not %u and %u",
                       device->name, device->n_model_cache, device->n_data_cache, files->n_model,
                       files->n_data);
    r = nn_rt_cache_take_files(&cache, files, why);
    if (r)
        return r;
    nn_rt_cache_done(&compilation->cache);
    compilation->cache = cache;
    memcpy(compilation->cache.token, token, sizeof(compilation->cache.token));
    return 0;
}

bool nn_rt_compilation_has_cache(const ANeuralNetworksCompilation *compilation)
{
    return nn_rt_cache_is_wanted(&compilation->cache);
}

int nn_rt_compilation_set_deferred(ANeuralNetworksCompilation *compilation, bool is_deferred,
                                   struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    compilation->is_deferred = is_deferred;
    return 0;
}

int nn_rt_compilation_add_attribute(ANeuralNetworksCompilation *compilation,
                                    const struct nn_rt_attribute *attribute, struct nn_why *why)
{
    int r = compilation_check_open(compilation, why);

    if (r)
        return r;
    if (!nn_rt_compilation_has_one_device(compilation))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "attributes need a compilation created for one listed device");
    return nn_rt_attributes_add(&compilation->attributes, compilation->devices[0], attribute, why);
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

/* -- finish ----------------------------------------------------------------------- */

/* Whether a device supports every operation. A device that fails to answer supports nothing; one that
 * is gone or late, is short of memory, or cannot reach the model's memories, says so.
 * Returns: 0; BAD_DATA with the operation in why; others. */
static int check_support(ANeuralNetworksCompilation *compilation, ANeuralNetworksDevice *device,
                         struct nn_why *why)
{
    const struct nnhal_subgraph *graph = &compilation->finished->model.main;
    const uint8_t *supported;
    int r;

    if (compilation->is_part)
        return 0; /* the device has taken each of these operations in the whole model */
    /* The answer is kept with the model, so that asking again is free. */
    r = nn_rt_model_get_supported(compilation->finished, device, why, &supported);
    if (r)
        return r == ANEURALNETWORKS_OP_FAILED ? ANEURALNETWORKS_BAD_DATA : r;
    if (nn_rt_model_is_newer(compilation->finished, device))
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA,
                       "%s knows feature level %lld; the model needs %lld", device->name,
                       (long long)device->feature_level,
                       (long long)nn_level_to_feature(compilation->finished->facts.level));
    for (uint32_t i = 0; i < graph->n_operations; i++)
        if (!supported[i])
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%s does not support operation %u (%s)",
                           device->name, compilation->finished->original[i],
                           nn_op_name(graph->operations[i].type));
    return 0;
}

/* Asks a device and lets it prepare the model. */
static int try_device(ANeuralNetworksCompilation *compilation, ANeuralNetworksDevice *device,
                      struct nn_rt_cache *cache, struct nn_why *why,
                      struct nn_rt_prepared **ret_prepared)
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
    nn_log("compilation", NN_LOG_INFO, "%s: %s", device->name,
           r ? why->text : "prepared the model");
    return r;
}

static int prepare_on(ANeuralNetworksCompilation *compilation, ANeuralNetworksDevice *device,
                      struct nn_why *why)
{
    struct nn_rt_cache *cache = nn_rt_compilation_has_cache(compilation) ? &compilation->cache
                                                                         : NULL;
    int r;

    /* A service that was restarted since the device was opened is found out only by calling it. */
    r = try_device(compilation, device, cache, why, &compilation->prepared);
    if (r == ANEURALNETWORKS_DEAD_OBJECT && !nn_rt_device_may_recover(device))
        r = try_device(compilation, device, cache, why, &compilation->prepared);
    if (!r) {
        compilation->device = device;
        compilation->stage = compilation->prepared->stage;
    }
    return r;
}

/* -- parts -------------------------------------------------------------------------- */

/* Two parts of a model may differ in nothing but their large constants, for which a token stands. */
static void make_token(const ANeuralNetworksCompilation *whole, const struct nn_rt_plan_part *part,
                       struct nn_hash *ret_token)
{
    const struct nn_hash_part parts[] = {
        {whole->cache.token, sizeof(whole->cache.token)},
        {part->operations, part->n_operations * sizeof(*part->operations)},
    };

    nn_hash_compute(parts, NN_N_ELEMENTS(parts), ret_token);
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
    struct nn_hash token;
    int r;

    r = nn_rt_model_new_part(whole->finished, &spec, plan->known, why, &model);
    if (r)
        return r;
    make_token(whole, part, &token);
    r = nn_rt_compilation_new_part(whole, model, plan->devices[part->device].device,
                                   part->is_empty ? NULL : token.bytes, &part->compilation);
    return r ? r : nn_rt_compilation_finish(part->compilation, why);
}

/* The least that is true of all: a whole that is a hit needs parts that all are. */
static void tell_cache(ANeuralNetworksCompilation *whole, const struct nn_rt_plan_part *part)
{
    const struct nn_rt_cache *cache = &part->compilation->cache;

    if (!whole->cache.path || (whole->cache.outcome && cache->outcome <= whole->cache.outcome))
        return;
    whole->cache.outcome = cache->outcome;
    memcpy(whole->cache.why, cache->why, sizeof(whole->cache.why));
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
        tell_cache(whole, part);
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
    if (plan->n_parts > 1)
        return prepare_parts(compilation, plan, why, ret_failed);
    return prepare_on(compilation, plan->devices[plan->parts->device].device, why);
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
    if (compilation->n_devices == 1 && (compilation->is_explicit || compilation->is_part))
        return prepare_on(compilation, compilation->devices[0], why);
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

bool nn_rt_compilation_is_split(const ANeuralNetworksCompilation *compilation)
{
    /* Acquire: pairs with the release in nn_rt_compilation_get_plan(). */
    const struct nn_rt_plan *plan = __atomic_load_n(&compilation->plan, __ATOMIC_ACQUIRE);

    return plan && plan->n_parts > 1;
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

/* -- renewal ------------------------------------------------------------------------ */

/* Without the lock, and without a deadline: all that call meanwhile wait for this. */
static void renewal_run(ANeuralNetworksCompilation *compilation)
{
    struct nn_rt_renewal *renewal = &compilation->renewal;
    struct nn_rt_cache cache = compilation->cache; /* what finish() said stays */
    struct nn_rt_prepared *prepared = NULL, *dead = NULL;
    struct nn_why why = {0};
    int r = try_device(compilation, compilation->device,
                       nn_rt_cache_is_wanted(&cache) ? &cache : NULL, &why, &prepared);

    pthread_mutex_lock(&compilation->lock);
    if (!r) {
        dead = compilation->prepared;
        __atomic_store_n(&compilation->prepared, prepared, __ATOMIC_RELEASE);
    }
    renewal->result = r;
    renewal->why = why;
    renewal->is_running = false;
    renewal->n_ended++;
    pthread_cond_broadcast(&renewal->ended);
    pthread_mutex_unlock(&compilation->lock);
    nn_rt_prepared_unref(dead);
}

/* The job holds a reference to the compilation. */
static void renewal_job(struct nn_job *job)
{
    ANeuralNetworksCompilation *compilation = NN_CONTAINER_OF(job, ANeuralNetworksCompilation,
                                                              renewal.job);

    renewal_run(compilation);
    nn_rt_compilation_unref(compilation);
}

/* A thread with a deadline leaves the work to another one, so that it can leave. */
static void renewal_start(ANeuralNetworksCompilation *compilation)
{
    struct nn_jobs *jobs = nn_rt_registry_get()->renewals;

    compilation->renewal.job = (struct nn_job){
        .priority = NN_JOBS_HIGH, .run = renewal_job, .cancel = renewal_job};
    if (jobs && nn_wait_limit_get() != NN_WAIT_UNLIMITED) {
        nn_rt_compilation_ref(compilation);
        if (nn_jobs_submit(jobs, &compilation->renewal.job) == 0)
            return;
        nn_rt_compilation_unref(compilation);
    }
    renewal_run(compilation);
}

/* Under the lock. */
static int renewal_await(ANeuralNetworksCompilation *compilation, uint64_t n_ended,
                         struct nn_why *why)
{
    struct nn_rt_renewal *renewal = &compilation->renewal;
    const struct timespec limit = nn_wait_limit_timespec(nn_wait_limit_get());
    int r = 0;

    while (renewal->n_ended == n_ended && !r)
        r = pthread_cond_clockwait(&renewal->ended, &compilation->lock, CLOCK_MONOTONIC, &limit);
    if (renewal->n_ended == n_ended)
        return nn_fail(why, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT,
                       "%s: its process died, and the model has not been prepared again in time",
                       compilation->device->name);
    if (renewal->result)
        *why = renewal->why;
    return renewal->result;
}

int nn_rt_compilation_renew(ANeuralNetworksCompilation *compilation,
                            const struct nn_rt_prepared *dead, struct nn_why *why)
{
    uint64_t n_ended;
    bool is_first;
    int r = nn_rt_device_may_recover(compilation->device);

    if (r)
        return r;
    pthread_mutex_lock(&compilation->lock);
    if (compilation->prepared == dead) {
        n_ended = compilation->renewal.n_ended;
        is_first = !compilation->renewal.is_running;
        if (is_first) {
            compilation->renewal.is_running = true;
            pthread_mutex_unlock(&compilation->lock);
            renewal_start(compilation);
            pthread_mutex_lock(&compilation->lock);
        }
        r = renewal_await(compilation, n_ended, why);
    }
    pthread_mutex_unlock(&compilation->lock);
    return r;
}

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
        r = try_device(compilation, device, NULL, why, &prepared);
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
