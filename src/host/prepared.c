/* SPDX-License-Identifier: Apache-2.0 */
#include "host/prepared.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/cache.h"
#include "host/methods.h"
#include "host/services.h"

#include <stdarg.h>
#include <stdio.h>

/* -- constants --------------------------------------------------------------- */

static void constants_done(struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        nn_memory_unref(constants->memories[i]);
    constants->n_pools = 0;
}

static uint32_t constants_add(struct nn_call *call, struct nn_constants *constants, uint64_t id)
{
    uint32_t i = constants->n_pools;
    struct nn_memory *memory = nn_memory_get(call->session, id);

    if (!memory)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the model is no memory of this session: import it first",
                            i);
    constants->memories[i] = memory;
    constants->n_pools++;
    if (!memory->is_readable)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "pool %u of the model is not readable: import it with PROT_READ", i);
    constants->sizes[i] = nn_region_size(memory->region);
    constants->mapped[i] = (struct nnhal_mapped_pool){
        .data = memory->is_whole ? NULL : memory->view,
        .size = memory->is_whole ? 0 : memory->n_view,
        .memory = memory->driver_memory,
    };
    return NNHAL_NONE;
}

/* Constants lie in memories with a size that the driver can decode. */
static bool can_hold_constants(const struct nn_memory *memory)
{
    return memory->is_decoded && !memory->is_whole;
}

static uint32_t constants_judge(struct nn_call *call, const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++) {
        const struct nn_memory *memory = constants->memories[i];
        uint32_t status = nn_memory_check_decoded(call, memory, "model", i);

        if (status != NNHAL_NONE)
            return status;
        if (!can_hold_constants(memory))
            return nn_call_fail(
                call, NNHAL_GENERAL_FAILURE,
                "pool %u of the model is a hardware buffer that is no BLOB: put constants "
                "into shared memory or a BLOB buffer",
                i);
    }
    return NNHAL_NONE;
}

/* Finds the memories of a model's pools. What is allocated lives in store, the
 * sentence in arena. constants must be zero, and is to be done also on failure. */
static uint32_t constants_init(struct nn_call *call, struct nn_constants *constants,
                               const struct nnhal_model *model, struct nn_arena *store)
{
    uint32_t status = NNHAL_NONE;

    if (model->n_pools > NNHAL_MAX_POOLS || (model->n_pools && !model->pools))
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "the model has %u pools, at most %d are allowed: put more constants into one",
            model->n_pools, NNHAL_MAX_POOLS);
    constants->memories = nn_arena_new_n(store, struct nn_memory *, model->n_pools);
    constants->mapped = nn_arena_new_n(store, struct nnhal_mapped_pool, model->n_pools);
    constants->sizes = nn_arena_new_n(store, uint64_t, model->n_pools);
    if (!constants->memories || !constants->mapped || !constants->sizes)
        return nn_call_fail_no_memory(call);
    for (uint32_t i = 0; i < model->n_pools && status == NNHAL_NONE; i++)
        status = constants_add(call, constants, model->pools[i]);
    return status;
}

/* Makes the pools of a model coherent for reading, or lets go of them. */
static uint32_t constants_access(struct nn_call *call, const struct nn_constants *constants,
                                 bool is_begin)
{
    for (uint32_t i = 0; i < constants->n_pools; i++) {
        struct nn_region *region = constants->memories[i]->region;
        int r = is_begin ? nn_region_begin_access(region, false)
                         : nn_region_end_access(region, false);

        if (r < 0)
            return nn_call_fail(call, NNHAL_GENERAL_FAILURE, "pool %u of the model cannot be read",
                                i);
    }
    return NNHAL_NONE;
}

static bool constants_are_broken(const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        if (nn_memory_is_broken(constants->memories[i]))
            return true;
    return false;
}

/* -- the object -------------------------------------------------------------- */

struct nn_prepared *nn_prepared_get(struct nn_session *session, uint64_t id)
{
    return (struct nn_prepared *)nn_objects_get(&session->objects, id, NN_OBJECT_PREPARED);
}

struct nn_prepared *nn_prepared_unref(struct nn_prepared *prepared)
{
    if (prepared)
        nn_object_unref(&prepared->object);
    return NULL;
}

bool nn_prepared_is_broken(const struct nn_prepared *prepared)
{
    return constants_are_broken(&prepared->constants);
}

static void prepared_destroy(struct nn_object *object)
{
    struct nn_prepared *prepared = (struct nn_prepared *)object;

    nn_staging_done(prepared);
    if (prepared->is_made)
        prepared->host->driver.release(prepared->driver_prepared);
    constants_done(&prepared->constants);
    nn_cached_done(&prepared->cached);
    nn_arena_done(&prepared->arena);
    nn_quota_release(&prepared->bytes_charge);
    nn_quota_release(&prepared->charge);
    free(prepared);
}

/* -- what models and drivers are allowed ------------------------------------- */

static uint32_t judge_model(struct nn_call *call, const struct nnhal_model *model,
                            const struct nn_constants *constants, struct nn_model_facts *facts)
{
    struct nn_why why = {.text = ""};
    int r = nn_model_validate(model, constants->sizes, call->arena, facts, &why);

    if (r == NN_REFUSED)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT, "%s", why.text);
    if (r != 0)
        return nn_call_fail_no_memory(call);
    if (facts->level > call->session->host->level)
        return nn_call_fail(
            call, NNHAL_INVALID_ARGUMENT,
            "the model needs feature level %u, device %s has %u: use another device for "
            "what is newer",
            facts->level, call->session->host->driver.name, call->session->host->level);
    return NNHAL_NONE;
}

/* -- get_supported_operations ------------------------------------------------ */

/* What no driver is asked to execute, though models may contain it: operations
 * that are there for the sake of a client, and such as read a constant that lies
 * where the driver cannot reach it. */
static bool is_refused(const struct nn_constants *constants, const struct nnhal_subgraph *subgraph,
                       uint32_t i)
{
    const struct nnhal_operation *operation = &subgraph->operations[i];
    struct nn_operation_facts facts;

    if (nn_operation_validate(subgraph->operands, subgraph->n_operands, operation, &facts, NULL) !=
            0 ||
        facts.is_tolerated)
        return true;
    for (uint32_t j = 0; j < operation->n_inputs; j++) {
        const struct nnhal_operand *operand = &subgraph->operands[operation->inputs[j]];

        if (operand->lifetime == NNHAL_CONSTANT_REFERENCE &&
            !can_hold_constants(constants->memories[operand->location.pool_index]))
            return true;
    }
    return false;
}

static bool any_is_refused(const struct nn_constants *constants,
                           const struct nnhal_subgraph *subgraphs, uint32_t n)
{
    for (uint32_t g = 0; g < n; g++)
        for (uint32_t i = 0; i < subgraphs[g].n_operations; i++)
            if (is_refused(constants, &subgraphs[g], i))
                return true;
    return false;
}

/* Control flow is refused where a subgraph has such an operation, whichever it is. */
static void refuse(const struct nn_constants *constants, const struct nnhal_model *model,
                   uint8_t *supported)
{
    bool is_inside = any_is_refused(constants, model->referenced, model->n_referenced);

    for (uint32_t i = 0; i < model->main.n_operations; i++) {
        uint32_t type = model->main.operations[i].type;

        if (is_refused(constants, &model->main, i) ||
            (is_inside && (type == NNHAL_OP_IF || type == NNHAL_OP_WHILE)))
            supported[i] = 0;
    }
}

static bool has_all_mapped(const struct nn_constants *constants)
{
    for (uint32_t i = 0; i < constants->n_pools; i++)
        if (constants->memories[i]->is_whole)
            return false;
    return true;
}

static uint32_t ask_driver(struct nn_call *call, const struct nnhal_model *model,
                           const struct nn_constants *constants,
                           struct nn_hal_get_supported_operations_reply *reply)
{
    const struct nn_host *host = call->session->host;
    const struct nnhal_driver_model driver_model = {
        .model = model,
        .n_pools = constants->n_pools,
        .pools = constants->mapped,
    };
    struct nn_call aside = *call; /* a refusal is an answer here, not a failure */
    struct nn_model_facts facts;
    uint8_t *supported;
    uint32_t status;

    status = judge_model(call, model, constants, &facts);
    if (status == NNHAL_NONE)
        status = constants_access(call, constants, true);
    if (status != NNHAL_NONE)
        return status;
    supported = nn_arena_new_n(call->arena, uint8_t, model->main.n_operations);
    if (!supported)
        return nn_call_fail_no_memory(call);
    nn_services_clear();
    /* A driver is not asked about what it might look for where nothing is. */
    if (has_all_mapped(constants))
        status = nn_call_check_driver(
            call, host->driver.get_supported_operations(host->device, &driver_model, supported),
            "get_supported_operations");
    constants_access(call, constants, false);
    if (status != NNHAL_NONE)
        return status;
    for (uint32_t i = 0; i < model->main.n_operations; i++)
        supported[i] = supported[i] != 0;
    if (facts.has_tolerated || constants_judge(&aside, constants) != NNHAL_NONE)
        refuse(constants, model, supported);
    reply->supported = supported;
    reply->n_supported = model->main.n_operations;
    return NNHAL_NONE;
}

uint32_t nn_host_get_supported_operations(struct nn_call *call,
                                          const struct nn_hal_get_supported_operations_args *args,
                                          struct nn_hal_get_supported_operations_reply *reply)
{
    struct nn_constants constants = {.n_pools = 0};
    uint32_t status;

    status = constants_init(call, &constants, &args->model, call->arena);
    if (status == NNHAL_NONE)
        status = ask_driver(call, &args->model, &constants, reply);
    constants_done(&constants);
    return status;
}

/* -- prepare_model ------------------------------------------------------------- */

static uint32_t judge_args(struct nn_call *call, const struct nn_hal_prepare_model_args *args)
{
    if (args->preference > NNHAL_SUSTAINED_SPEED)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "preference %u is not an enum nnhal_preference", args->preference);
    if (args->priority > NNHAL_PRIORITY_HIGH)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "priority %u is not an enum nnhal_priority", args->priority);
    return NNHAL_NONE;
}

static uint32_t judge_deadline(struct nn_call *call, uint64_t deadline_ns)
{
    if (deadline_ns == NNHAL_NO_TIME || nn_sys_now_ns() < deadline_ns)
        return NNHAL_NONE;
    return nn_call_fail(
        call, NNHAL_MISSED_DEADLINE_PERSISTENT,
        "the deadline had passed before the model could be prepared: allow more time");
}

/* About what a driver keeps of a model: its values and operands, and once more
 * the pools, which it may pack. The model is valid: nothing overflows. */
static uint64_t model_bytes(const struct nnhal_model *model, const struct nn_constants *constants)
{
    uint64_t n_bytes = model->operand_values.size;

    for (uint32_t i = 0; i < model->n_referenced; i++)
        n_bytes += model->referenced[i].n_operands * sizeof(struct nnhal_operand);
    for (uint32_t i = 0; i < constants->n_pools; i++)
        n_bytes += constants->sizes[i];
    return n_bytes + model->main.n_operands * sizeof(struct nnhal_operand);
}

static uint32_t make(struct nn_call *call, struct nn_prepared *prepared,
                     const struct nn_hal_prepare_model_args *args, struct nnhal_cache *cache)
{
    const struct nn_host *host = prepared->host;
    const struct nnhal_prepare prepare = {
        .size = sizeof(prepare),
        .model = {.model = &args->model,
                  .n_pools = prepared->constants.n_pools,
                  .pools = prepared->constants.mapped},
        .preference = args->preference,
        .priority = args->priority,
        .deadline_ns = args->deadline_ns,
        .cache = cache,
        .is_quick = prepared->staging.stage == NN_STAGE_QUICK,
    };
    uint32_t status = constants_access(call, &prepared->constants, true);

    if (status != NNHAL_NONE)
        return status;
    nn_services_clear();
    status = host->driver.prepare(host->device, &prepare, &prepared->driver_prepared);
    prepared->is_made = status == NNHAL_NONE;
    status = nn_call_check_driver(call, status, "prepare");
    constants_access(call, &prepared->constants, false);
    if (status == NNHAL_NONE && nn_prepared_is_broken(prepared))
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "the file of a pool was made smaller while the model was prepared: leave "
            "constants alone, or seal the file against shrinking");
    return status;
}

/* What prepare() made, without the model: *ret_prepared is the driver's. */
static uint32_t make_from_cache(struct nn_call *call, const struct nnhal_cache *cache,
                                uint64_t deadline_ns, void **ret_prepared)
{
    const struct nnhal_prepare_from_cache prepare = {
        .size = sizeof(prepare), .cache = cache, .deadline_ns = deadline_ns};
    const struct nn_host *host = call->session->host;
    uint32_t status;

    nn_services_clear();
    status = host->driver.prepare_from_cache(host->device, &prepare, ret_prepared);
    return nn_call_check_driver(call, status, "prepare_from_cache");
}

/* For a client without a cache: what the host has kept, or the driver makes and the host may keep:
 * prepared->kept.cache then. */
static uint32_t make_or_find(struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                             struct nn_prepared *prepared)
{
    struct nn_kept *kept = &prepared->kept;
    bool is_kept_here = nn_kept_begin(call->session, args, kept, call->arena), is_found;
    struct nn_call aside = *call; /* its sentence is for no client: the model is compiled */
    uint32_t status;

    if (kept->cache) {
        status = constants_access(call, &prepared->constants, true);
        if (status != NNHAL_NONE)
            return status;
        is_found = nn_kept_find(call->session, args, prepared, call->arena);
        constants_access(&aside, &prepared->constants, false);
        if (is_found && make_from_cache(&aside, kept->cache, args->deadline_ns,
                                        &prepared->driver_prepared) == NNHAL_NONE) {
            prepared->is_made = true;
            constants_done(&prepared->constants);
            kept->cache = NULL; /* nothing new */
            return NNHAL_NONE;
        }
        nn_cached_done(&prepared->cached);
        if (kept->cache)
            nn_cache_empty(kept->cache);
    }
    status = make(call, prepared, args, kept->cache);
    if (status == NNHAL_NONE && is_kept_here)
        nn_kept_learn(call->session, kept);
    return status;
}

static uint32_t prepare(struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                        struct nn_prepared *prepared, struct nnhal_cache *cache)
{
    struct nn_model_facts facts;
    uint32_t status;

    status = nn_call_charge(call, NN_QUOTA_PREPARED_MODELS, 1, "prepared models",
                            &prepared->charge);
    if (status == NNHAL_NONE)
        status = judge_args(call, args);
    if (status == NNHAL_NONE)
        status = constants_init(call, &prepared->constants, &args->model, &prepared->arena);
    if (status == NNHAL_NONE)
        status = constants_judge(call, &prepared->constants);
    if (status == NNHAL_NONE)
        status = judge_model(call, &args->model, &prepared->constants, &facts);
    if (status == NNHAL_NONE)
        status = judge_deadline(call, args->deadline_ns);
    if (status == NNHAL_NONE)
        status = nn_call_charge(call, NN_QUOTA_MODEL_BYTES,
                                model_bytes(&args->model, &prepared->constants),
                                "bytes of prepared models", &prepared->bytes_charge);
    if (status != NNHAL_NONE)
        return status;
    if (facts.has_tolerated)
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "the model has an operation that no device executes: ask for the supported "
            "operations first");
    if (nn_model_io_init(&prepared->io, &args->model, &prepared->arena) < 0)
        return nn_call_fail_no_memory(call);
    if (!nn_cache_is_token(args->token) && prepared->staging.stage == NN_STAGE_WHOLE)
        return make_or_find(call, args, prepared);
    return make(call, prepared, args, cache);
}

/* Constants that were changed while they were compiled belong to no key. */
static bool is_worth_keeping(const struct nn_call *call,
                             const struct nn_hal_prepare_model_args *args,
                             struct nn_prepared *prepared)
{
    struct nn_call aside = *call; /* its sentence is for no client: the model works */
    bool is_same;

    if (constants_access(&aside, &prepared->constants, true) != NNHAL_NONE)
        return false;
    is_same = nn_kept_is_same(call->session, args, prepared, call->arena);
    constants_access(&aside, &prepared->constants, false);
    return is_same && !nn_prepared_is_broken(prepared);
}

static struct nn_prepared *prepared_new(struct nn_session *session)
{
    struct nn_prepared *prepared = calloc(1, sizeof(*prepared));

    if (!prepared)
        return NULL;
    nn_object_init(&prepared->object, NN_OBJECT_PREPARED, prepared_destroy);
    nn_arena_init(&prepared->arena, 0);
    prepared->host = session->host;
    return prepared;
}

static void tell_written(struct nn_session *session, uint64_t prepared_model)
{
    const struct nn_hal_cache_written_event event = {.prepared_model = prepared_model};

    if (session->listener.cache_written)
        session->listener.cache_written(session->listener.ctx, &event);
}

/* In a service the driver's own weights give way to memory that other clients can share:
 * what prepare() has made is replaced by the same from the cache, and needs its pools no more.
 * What fails here leaves it as it is. */
static void share(const struct nn_call *call, const struct nnhal_cache *cache,
                  struct nn_prepared *prepared, uint64_t deadline_ns)
{
    struct nn_call aside = *call; /* its sentence is for no client: the model works */
    void *shared;

    if (make_from_cache(&aside, cache, deadline_ns, &shared) != NNHAL_NONE) {
        nn_cached_done(&prepared->cached);
        return;
    }
    prepared->host->driver.release(prepared->driver_prepared);
    prepared->driver_prepared = shared;
    constants_done(&prepared->constants);
}

uint32_t nn_host_prepare_model(struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                               struct nn_hal_prepare_model_reply *reply)
{
    _cleanup_(nn_prepared_unrefp) struct nn_prepared *prepared = prepared_new(call->session);
    struct nnhal_cache *cache;
    bool is_written = false;
    uint32_t status, stage;

    if (!prepared)
        return nn_call_fail_no_memory(call);
    prepared->priority = args->priority;
    prepared->is_low_power = args->preference == NNHAL_LOW_POWER;
    prepared->staging.stage = nn_staging_is_deferred(call->session, args) ? NN_STAGE_QUICK
                                                                          : NN_STAGE_WHOLE;
    nn_cache_wanted(call->session, args, call->arena, &cache);
    status = prepare(call, args, prepared, cache);
    if (status != NNHAL_NONE)
        return status;
    if (prepared->kept.cache && is_worth_keeping(call, args, prepared))
        cache = prepared->kept.cache;
    if (cache) {
        bool is_shared = nn_cache_share(call->session, cache, prepared);

        if (cache == prepared->kept.cache)
            nn_kept_save(call->session, prepared, cache);
        else
            is_written = nn_cache_save(call->session, args, cache, prepared);
        if (is_shared)
            share(call, cache, prepared, args->deadline_ns);
        else
            nn_cached_done(&prepared->cached);
    }
    stage = prepared->staging.stage;
    nn_staging_init(prepared, call->session, stage);
    if (is_written)
        nn_staging_hold(prepared, args->token, args->n_model_cache, args->model_cache,
                        args->n_data_cache, args->data_cache);
    if (nn_objects_add(&call->session->objects, &prepared->object) < 0)
        return nn_call_fail_no_memory(call);
    reply->prepared_model = prepared->object.id;
    reply->stage = stage;
    if (is_written)
        tell_written(call->session, reply->prepared_model);
    return NNHAL_NONE;
}

/* -- prepare_model_from_cache ------------------------------------------------------ */

uint32_t nn_host_prepare_model_from_cache(struct nn_call *call,
                                          const struct nn_hal_prepare_model_from_cache_args *args,
                                          struct nn_hal_prepare_model_from_cache_reply *reply)
{
    _cleanup_(nn_prepared_unrefp) struct nn_prepared *prepared = prepared_new(call->session);
    struct nnhal_cache *cache;
    uint32_t status, stage;

    if (!prepared)
        return nn_call_fail_no_memory(call);
    status = nn_call_charge(call, NN_QUOTA_PREPARED_MODELS, 1, "prepared models",
                            &prepared->charge);
    if (status == NNHAL_NONE)
        status = judge_deadline(call, args->deadline_ns);
    if (status == NNHAL_NONE)
        status = nn_cache_load(call, args, prepared, &cache);
    if (status == NNHAL_NONE)
        status = make_from_cache(call, cache, args->deadline_ns, &prepared->driver_prepared);
    prepared->is_made = status == NNHAL_NONE;
    if (status != NNHAL_NONE)
        return status;
    /* What came whole has nothing left that it could be made of. */
    stage = prepared->staging.stage;
    nn_staging_init(prepared, call->session, stage == NN_STAGE_QUICK ? stage : NN_STAGE_OPTIMIZED);
    nn_staging_hold(prepared, args->token, args->n_model_cache, args->model_cache,
                    args->n_data_cache, args->data_cache);
    if (nn_objects_add(&call->session->objects, &prepared->object) < 0)
        return nn_call_fail_no_memory(call);
    reply->prepared_model = prepared->object.id;
    reply->stage = stage;
    return NNHAL_NONE;
}

uint32_t nn_host_free_prepared_model(struct nn_call *call,
                                     const struct nn_hal_free_prepared_model_args *args,
                                     struct nn_hal_free_prepared_model_reply *reply)
{
    struct nn_prepared *prepared = nn_prepared_get(call->session, args->prepared_model);

    if (prepared)
        nn_staging_cancel(prepared);
    nn_prepared_unref(prepared);
    nn_objects_remove(&call->session->objects, args->prepared_model, NN_OBJECT_PREPARED);
    return NNHAL_NONE;
}
