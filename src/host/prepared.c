/* SPDX-License-Identifier: Apache-2.0 */
#include "host/prepared.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "host/cache.h"
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

static uint32_t constants_add(struct nn_constants *constants, struct nn_session *session,
                              uint64_t id, const char **message, struct nn_arena *arena)
{
    uint32_t i = constants->n_pools;
    struct nn_memory *memory = nn_memory_get(session, id);

    if (!memory)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "pool %u of the model is no memory of this session: import it first", i);
    constants->memories[i] = memory;
    constants->n_pools++;
    if (!memory->is_readable)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
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

static uint32_t constants_judge(const struct nn_constants *constants, const char **message,
                                struct nn_arena *arena)
{
    for (uint32_t i = 0; i < constants->n_pools; i++) {
        const struct nn_memory *memory = constants->memories[i];
        uint32_t status = nn_memory_check_decoded(memory, "model", i, message, arena);

        if (status != NNHAL_NONE)
            return status;
        if (!can_hold_constants(memory))
            return nn_say(
                message, arena, NNHAL_GENERAL_FAILURE,
                "pool %u of the model is a hardware buffer that is no BLOB: put constants "
                "into shared memory or a BLOB buffer",
                i);
    }
    return NNHAL_NONE;
}

/* Finds the memories of a model's pools. What is allocated lives in store, the
 * sentence in arena. constants must be zero, and is to be done also on failure. */
static uint32_t constants_init(struct nn_constants *constants, struct nn_session *session,
                               const struct nnhal_model *model, struct nn_arena *store,
                               const char **message, struct nn_arena *arena)
{
    uint32_t status = NNHAL_NONE;

    if (model->n_pools > NNHAL_MAX_POOLS || (model->n_pools && !model->pools))
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "the model has %u pools, at most %d are allowed: put more constants into one",
                      model->n_pools, NNHAL_MAX_POOLS);
    constants->memories = nn_arena_new_n(store, struct nn_memory *, model->n_pools);
    constants->mapped = nn_arena_new_n(store, struct nnhal_mapped_pool, model->n_pools);
    constants->sizes = nn_arena_new_n(store, uint64_t, model->n_pools);
    if (!constants->memories || !constants->mapped || !constants->sizes)
        return nn_say_no_memory(message, arena);
    for (uint32_t i = 0; i < model->n_pools && status == NNHAL_NONE; i++)
        status = constants_add(constants, session, model->pools[i], message, arena);
    return status;
}

/* Makes the pools of a model coherent for reading, or lets go of them. */
static uint32_t constants_access(const struct nn_constants *constants, bool is_begin,
                                 const char **message, struct nn_arena *arena)
{
    for (uint32_t i = 0; i < constants->n_pools; i++) {
        struct nn_region *region = constants->memories[i]->region;
        int r = is_begin ? nn_region_begin_access(region, false)
                         : nn_region_end_access(region, false);

        if (r < 0)
            return nn_say(message, arena, NNHAL_GENERAL_FAILURE,
                          "pool %u of the model cannot be read", i);
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

static uint32_t judge_model(struct nn_session *session, const struct nnhal_model *model,
                            const struct nn_constants *constants, struct nn_model_facts *facts,
                            const char **message, struct nn_arena *arena)
{
    struct nn_why why = {.text = ""};
    int r = nn_model_validate(model, constants->sizes, arena, facts, &why);

    if (r == NN_REFUSED)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT, "%s", why.text);
    if (r != 0)
        return nn_say_no_memory(message, arena);
    if (facts->level > session->host->level)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "the model needs feature level %u, device %s has %u: use another device for "
                      "what is newer",
                      facts->level, session->host->driver.name, session->host->level);
    return NNHAL_NONE;
}

uint32_t nn_driver_lied(const struct nn_host *host, const char **message, struct nn_arena *arena,
                        const char *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    nn_log("host", NN_LOG_WARNING, "driver %s is defective: %s", host->driver.name, text);
    return nn_say(message, arena, NNHAL_GENERAL_FAILURE, "driver %s is defective: %s",
                  host->driver.name, text);
}

uint32_t nn_driver_status(const struct nn_host *host, uint32_t status, const char *callback,
                          const char **message, struct nn_arena *arena)
{
    const char *text = nn_services_explanation();

    if (status == NNHAL_NONE)
        return status;
    if (status == NNHAL_OUTPUT_INSUFFICIENT_SIZE || status >= NNHAL_DEAD_OBJECT)
        return nn_driver_lied(host, message, arena,
                              "%s() returned %u, which is not one of its statuses", callback,
                              status);
    if (text)
        return nn_say(message, arena, status, "driver %s: %s", host->driver.name, text);
    return nn_say(message, arena, status, "driver %s: %s() failed and does not say why",
                  host->driver.name, callback);
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

static uint32_t ask_driver(struct nn_session *session, const struct nnhal_model *model,
                           const struct nn_constants *constants,
                           struct nn_hal_get_supported_operations_reply *reply,
                           struct nn_arena *arena)
{
    const struct nn_host *host = session->host;
    const struct nnhal_driver_model driver_model = {
        .model = model,
        .n_pools = constants->n_pools,
        .pools = constants->mapped,
    };
    const char *why_not = NULL;
    struct nn_model_facts facts;
    uint8_t *supported;
    uint32_t status;

    status = judge_model(session, model, constants, &facts, &reply->message, arena);
    if (status == NNHAL_NONE)
        status = constants_access(constants, true, &reply->message, arena);
    if (status != NNHAL_NONE)
        return status;
    supported = nn_arena_new_n(arena, uint8_t, model->main.n_operations);
    if (!supported)
        return nn_say_no_memory(&reply->message, arena);
    nn_services_clear();
    /* A driver is not asked about what it might look for where nothing is. */
    if (has_all_mapped(constants))
        status = nn_driver_status(
            host, host->driver.get_supported_operations(host->device, &driver_model, supported),
            "get_supported_operations", &reply->message, arena);
    constants_access(constants, false, &reply->message, arena);
    if (status != NNHAL_NONE)
        return status;
    for (uint32_t i = 0; i < model->main.n_operations; i++)
        supported[i] = supported[i] != 0;
    if (facts.has_tolerated || constants_judge(constants, &why_not, arena) != NNHAL_NONE)
        refuse(constants, model, supported);
    reply->supported = supported;
    reply->n_supported = model->main.n_operations;
    return NNHAL_NONE;
}

uint32_t nn_host_get_supported_operations(struct nn_session *session,
                                          const struct nn_hal_get_supported_operations_args *args,
                                          struct nn_hal_get_supported_operations_reply *reply,
                                          struct nn_arena *arena)
{
    struct nn_constants constants = {.n_pools = 0};
    uint32_t status;

    status = constants_init(&constants, session, &args->model, arena, &reply->message, arena);
    if (status == NNHAL_NONE)
        status = ask_driver(session, &args->model, &constants, reply, arena);
    constants_done(&constants);
    return status;
}

/* -- prepare_model ------------------------------------------------------------- */

static uint32_t judge_args(const struct nn_hal_prepare_model_args *args, const char **message,
                           struct nn_arena *arena)
{
    if (args->preference > NNHAL_SUSTAINED_SPEED)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "preference %u is not an enum nnhal_preference", args->preference);
    if (args->priority > NNHAL_PRIORITY_HIGH)
        return nn_say(message, arena, NNHAL_INVALID_ARGUMENT,
                      "priority %u is not an enum nnhal_priority", args->priority);
    return NNHAL_NONE;
}

static uint32_t judge_deadline(uint64_t deadline_ns, const char **message, struct nn_arena *arena)
{
    if (deadline_ns == NNHAL_NO_TIME || nn_sys_now_ns() < deadline_ns)
        return NNHAL_NONE;
    return nn_say(message, arena, NNHAL_MISSED_DEADLINE_PERSISTENT,
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

static uint32_t make(struct nn_prepared *prepared, const struct nn_hal_prepare_model_args *args,
                     struct nnhal_cache *cache, const char **message, struct nn_arena *arena)
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
    uint32_t status = constants_access(&prepared->constants, true, message, arena);

    if (status != NNHAL_NONE)
        return status;
    nn_services_clear();
    status = host->driver.prepare(host->device, &prepare, &prepared->driver_prepared);
    prepared->is_made = status == NNHAL_NONE;
    status = nn_driver_status(host, status, "prepare", message, arena);
    constants_access(&prepared->constants, false, message, arena);
    if (status == NNHAL_NONE && nn_prepared_is_broken(prepared))
        return nn_say(message, arena, NNHAL_GENERAL_FAILURE,
                      "the file of a pool was made smaller while the model was prepared: leave "
                      "constants alone, or seal the file against shrinking");
    return status;
}

/* What prepare() made, without the model: *ret_prepared is the driver's. */
static uint32_t make_from_cache(const struct nn_host *host, const struct nnhal_cache *cache,
                                uint64_t deadline_ns, void **ret_prepared, const char **message,
                                struct nn_arena *arena)
{
    const struct nnhal_prepare_from_cache prepare = {
        .size = sizeof(prepare), .cache = cache, .deadline_ns = deadline_ns};
    uint32_t status;

    nn_services_clear();
    status = host->driver.prepare_from_cache(host->device, &prepare, ret_prepared);
    return nn_driver_status(host, status, "prepare_from_cache", message, arena);
}

/* For a client without a cache: what the host has kept, or the driver makes and the host may keep:
 * prepared->kept.cache then. */
static uint32_t make_or_find(struct nn_session *session,
                             const struct nn_hal_prepare_model_args *args,
                             struct nn_prepared *prepared, const char **message,
                             struct nn_arena *arena)
{
    struct nn_kept *kept = &prepared->kept;
    bool is_kept_here = nn_kept_begin(session, args, kept, arena), is_found;
    const char *refusal = NULL;
    uint32_t status;

    if (kept->cache) {
        status = constants_access(&prepared->constants, true, message, arena);
        if (status != NNHAL_NONE)
            return status;
        is_found = nn_kept_find(session, args, prepared, arena);
        constants_access(&prepared->constants, false, &refusal, arena);
        if (is_found &&
            make_from_cache(prepared->host, kept->cache, args->deadline_ns,
                            &prepared->driver_prepared, &refusal, arena) == NNHAL_NONE) {
            prepared->is_made = true;
            constants_done(&prepared->constants);
            kept->cache = NULL; /* nothing new */
            return NNHAL_NONE;
        }
        nn_cached_done(&prepared->cached);
        if (kept->cache)
            nn_cache_empty(kept->cache);
    }
    status = make(prepared, args, kept->cache, message, arena);
    if (status == NNHAL_NONE && is_kept_here)
        nn_kept_learn(session, kept);
    return status;
}

static uint32_t prepare(struct nn_session *session, const struct nn_hal_prepare_model_args *args,
                        struct nn_prepared *prepared, struct nnhal_cache *cache,
                        const char **message, struct nn_arena *arena)
{
    struct nn_model_facts facts;
    uint32_t status;

    status = nn_session_charge(session, NN_QUOTA_PREPARED_MODELS, 1, "prepared models",
                               &prepared->charge, message, arena);
    if (status == NNHAL_NONE)
        status = judge_args(args, message, arena);
    if (status == NNHAL_NONE)
        status = constants_init(&prepared->constants, session, &args->model, &prepared->arena,
                                message, arena);
    if (status == NNHAL_NONE)
        status = constants_judge(&prepared->constants, message, arena);
    if (status == NNHAL_NONE)
        status = judge_model(session, &args->model, &prepared->constants, &facts, message, arena);
    if (status == NNHAL_NONE)
        status = judge_deadline(args->deadline_ns, message, arena);
    if (status == NNHAL_NONE)
        status = nn_session_charge(
            session, NN_QUOTA_MODEL_BYTES, model_bytes(&args->model, &prepared->constants),
            "bytes of prepared models", &prepared->bytes_charge, message, arena);
    if (status != NNHAL_NONE)
        return status;
    if (facts.has_tolerated)
        return nn_say(message, arena, NNHAL_GENERAL_FAILURE,
                      "the model has an operation that no device executes: ask for the supported "
                      "operations first");
    if (nn_model_io_init(&prepared->io, &args->model, &prepared->arena) < 0)
        return nn_say_no_memory(message, arena);
    if (!nn_cache_is_token(args->token) && prepared->staging.stage == NN_STAGE_WHOLE)
        return make_or_find(session, args, prepared, message, arena);
    return make(prepared, args, cache, message, arena);
}

/* Constants that were changed while they were compiled belong to no key. */
static bool is_worth_keeping(struct nn_session *session,
                             const struct nn_hal_prepare_model_args *args,
                             struct nn_prepared *prepared, struct nn_arena *arena)
{
    const char *message = NULL;
    bool is_same;

    if (constants_access(&prepared->constants, true, &message, arena) != NNHAL_NONE)
        return false;
    is_same = nn_kept_is_same(session, args, prepared, arena);
    constants_access(&prepared->constants, false, &message, arena);
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
static void share(const struct nn_host *host, const struct nnhal_cache *cache,
                  struct nn_prepared *prepared, uint64_t deadline_ns, struct nn_arena *arena)
{
    const char *message = NULL;
    void *shared;

    if (make_from_cache(host, cache, deadline_ns, &shared, &message, arena) != NNHAL_NONE) {
        nn_cached_done(&prepared->cached);
        return;
    }
    host->driver.release(prepared->driver_prepared);
    prepared->driver_prepared = shared;
    constants_done(&prepared->constants);
}

uint32_t nn_host_prepare_model(struct nn_session *session,
                               const struct nn_hal_prepare_model_args *args,
                               struct nn_hal_prepare_model_reply *reply, struct nn_arena *arena)
{
    _cleanup_(nn_prepared_unrefp) struct nn_prepared *prepared = prepared_new(session);
    struct nnhal_cache *cache;
    bool is_written = false;
    uint32_t status, stage;

    if (!prepared)
        return nn_say_no_memory(&reply->message, arena);
    prepared->priority = args->priority;
    prepared->is_low_power = args->preference == NNHAL_LOW_POWER;
    prepared->staging.stage = nn_staging_is_deferred(session, args) ? NN_STAGE_QUICK
                                                                    : NN_STAGE_WHOLE;
    nn_cache_wanted(session, args, arena, &cache);
    status = prepare(session, args, prepared, cache, &reply->message, arena);
    if (status != NNHAL_NONE)
        return status;
    if (prepared->kept.cache && is_worth_keeping(session, args, prepared, arena))
        cache = prepared->kept.cache;
    if (cache) {
        bool is_shared = nn_cache_share(session, cache, prepared);

        if (cache == prepared->kept.cache)
            nn_kept_save(session, prepared, cache);
        else
            is_written = nn_cache_save(session, args, cache, prepared);
        if (is_shared)
            share(session->host, cache, prepared, args->deadline_ns, arena);
        else
            nn_cached_done(&prepared->cached);
    }
    stage = prepared->staging.stage;
    nn_staging_init(prepared, session, stage);
    if (is_written)
        nn_staging_hold(prepared, args->token, args->n_model_cache, args->model_cache,
                        args->n_data_cache, args->data_cache);
    if (nn_objects_add(&session->objects, &prepared->object) < 0)
        return nn_say_no_memory(&reply->message, arena);
    reply->prepared_model = prepared->object.id;
    reply->stage = stage;
    if (is_written)
        tell_written(session, reply->prepared_model);
    return NNHAL_NONE;
}

/* -- prepare_model_from_cache ------------------------------------------------------ */

uint32_t nn_host_prepare_model_from_cache(struct nn_session *session,
                                          const struct nn_hal_prepare_model_from_cache_args *args,
                                          struct nn_hal_prepare_model_from_cache_reply *reply,
                                          struct nn_arena *arena)
{
    _cleanup_(nn_prepared_unrefp) struct nn_prepared *prepared = prepared_new(session);
    struct nnhal_cache *cache;
    uint32_t status, stage;

    if (!prepared)
        return nn_say_no_memory(&reply->message, arena);
    status = nn_session_charge(session, NN_QUOTA_PREPARED_MODELS, 1, "prepared models",
                               &prepared->charge, &reply->message, arena);
    if (status == NNHAL_NONE)
        status = judge_deadline(args->deadline_ns, &reply->message, arena);
    if (status == NNHAL_NONE)
        status = nn_cache_load(session, args, prepared, &cache, &reply->message, arena);
    if (status == NNHAL_NONE)
        status = make_from_cache(session->host, cache, args->deadline_ns,
                                 &prepared->driver_prepared, &reply->message, arena);
    prepared->is_made = status == NNHAL_NONE;
    if (status != NNHAL_NONE)
        return status;
    /* What came whole has nothing left that it could be made of. */
    stage = prepared->staging.stage;
    nn_staging_init(prepared, session, stage == NN_STAGE_QUICK ? stage : NN_STAGE_OPTIMIZED);
    nn_staging_hold(prepared, args->token, args->n_model_cache, args->model_cache,
                    args->n_data_cache, args->data_cache);
    if (nn_objects_add(&session->objects, &prepared->object) < 0)
        return nn_say_no_memory(&reply->message, arena);
    reply->prepared_model = prepared->object.id;
    reply->stage = stage;
    return NNHAL_NONE;
}

uint32_t nn_host_free_prepared_model(struct nn_session *session,
                                     const struct nn_hal_free_prepared_model_args *args,
                                     struct nn_hal_free_prepared_model_reply *reply,
                                     struct nn_arena *arena)
{
    struct nn_prepared *prepared = nn_prepared_get(session, args->prepared_model);

    if (prepared)
        nn_staging_cancel(prepared);
    nn_prepared_unref(prepared);
    nn_objects_remove(&session->objects, args->prepared_model, NN_OBJECT_PREPARED);
    return NNHAL_NONE;
}
