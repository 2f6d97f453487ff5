/* SPDX-License-Identifier: Apache-2.0 */
#include "host/execution/prepare.h"

#include "base/sys.h"
#include "host/caching/cache.h"
#include "host/caching/reoptimize.h"
#include "host/methods.h"
#include "host/services.h"
#include "host/execution/extensions.h"
#include "host/execution/overdue.h"
#include "host/execution/turn.h"

/* -- the object -------------------------------------------------------------------- */

static void prepared_destroy(struct nn_object *object)
{
    struct nn_prepared *prepared = (struct nn_prepared *)object;

    nn_reoptimize_done(prepared);
    if (prepared->source != NN_PREPARED_UNMADE)
        prepared->host->driver.release(prepared->driver_prepared);
    nn_constants_done(&prepared->constants);
    nn_loaded_cache_done(&prepared->loaded);
    nn_arena_done(&prepared->arena);
    nn_quota_release(&prepared->driver_charge);
    nn_quota_release(&prepared->estimate_charge);
    nn_quota_release(&prepared->bytes_charge);
    nn_quota_release(&prepared->charge);
    free(prepared);
}

static struct nn_prepared *prepared_new(struct nn_host_session *session)
{
    struct nn_prepared *prepared = calloc(1, sizeof(*prepared));

    if (!prepared)
        return NULL;
    nn_object_init(&prepared->object, NN_OBJECT_PREPARED, prepared_destroy);
    nn_arena_init(&prepared->arena, 0);
    prepared->arena.meter = &session->meter;
    prepared->host = session->host;
    prepared->driver_charge = (struct nn_quota_charge){.account = &session->account,
                                                       .slot = NN_QUOTA_BYTES};
    return prepared;
}

/* -- check ------------------------------------------------------------------------- */

uint32_t nn_prepare_check_model(struct nn_call *call, const struct nnhal_model *model,
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

static uint32_t check_args(struct nn_call *call, const struct nn_hal_prepare_model_args *args)
{
    if (args->preference > NNHAL_SUSTAINED_SPEED)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "preference %u is not an enum nnhal_preference", args->preference);
    if (args->priority > NNHAL_PRIORITY_HIGH)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "priority %u is not an enum nnhal_priority", args->priority);
    return nn_hints_check(call, args->n_hints, args->hints);
}

static uint32_t check_deadline(struct nn_call *call, uint64_t deadline_ns)
{
    if (deadline_ns == NNHAL_NO_TIME || nn_sys_now_ns() < deadline_ns)
        return NNHAL_NONE;
    return nn_call_fail(
        call, NNHAL_MISSED_DEADLINE_PERSISTENT,
        "the deadline had passed before the model could be prepared: allow more time");
}

/* The model is valid: nothing overflows. */
uint64_t nn_prepare_model_bytes(const struct nnhal_model *model,
                                const struct nn_constants *constants)
{
    uint64_t n_bytes = model->operand_values.size;

    for (uint32_t i = 0; i < model->n_referenced; i++)
        n_bytes += model->referenced[i].n_operands * sizeof(struct nnhal_operand);
    for (uint32_t i = 0; i < constants->n_pools; i++)
        n_bytes += constants->sizes[i];
    return n_bytes + model->main.n_operands * sizeof(struct nnhal_operand);
}

/* Bytes of the values in between of one subgraph, as far as the model says them. */
static uint64_t values_between(const struct nnhal_subgraph *subgraph)
{
    uint64_t sum = 0, n_bytes;

    for (uint32_t i = 0; i < subgraph->n_operands; i++) {
        const struct nnhal_operand *operand = &subgraph->operands[i];

        if (operand->lifetime == NNHAL_TEMPORARY_VARIABLE &&
            nn_operand_bytes(operand->type, operand->n_dimensions, operand->dimensions, &n_bytes))
            sum += n_bytes;
    }
    return sum;
}

/* A driver that asks for memory before it takes it is charged with what it asks for. */
static uint32_t charge_estimate(struct nn_call *call, const struct nnhal_model *model,
                                struct nn_prepared *prepared)
{
    if (prepared->host->driver.charges_memory)
        return NNHAL_NONE;
    prepared->run_bytes = values_between(&model->main);
    for (uint32_t i = 0; i < model->n_referenced; i++)
        prepared->run_bytes += values_between(&model->referenced[i]);
    return nn_call_charge_memory(call, nn_prepare_model_bytes(model, &prepared->constants),
                                 &prepared->estimate_charge);
}

/* Everything that can be said of a request without the driver, cheapest first; nothing is spent
 * on a model before its client is charged for it. */
static uint32_t prepare_check(struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                              struct nn_prepared *prepared)
{
    struct nn_model_facts facts;
    uint32_t status;

    status = nn_call_charge(call, NN_QUOTA_PREPARED_MODELS, 1, "prepared models",
                            &prepared->charge);
    if (status == NNHAL_NONE)
        status = check_args(call, args);
    if (status == NNHAL_NONE)
        status = nn_constants_init(call, &prepared->constants, &args->model, &prepared->arena);
    if (status == NNHAL_NONE)
        status = nn_constants_check(call, &prepared->constants);
    if (status == NNHAL_NONE)
        status = nn_prepare_check_model(call, &args->model, &prepared->constants, &facts);
    if (status == NNHAL_NONE)
        status = check_deadline(call, args->deadline_ns);
    if (status == NNHAL_NONE)
        status = nn_call_charge(call, NN_QUOTA_MODEL_BYTES,
                                nn_prepare_model_bytes(&args->model, &prepared->constants),
                                "bytes of prepared models", &prepared->bytes_charge);
    if (status == NNHAL_NONE)
        status = charge_estimate(call, &args->model, prepared);
    if (status != NNHAL_NONE)
        return status;
    if (facts.has_tolerated)
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "the model has an operation that no device executes: ask for the supported "
            "operations first");
    status = facts.has_extensions ? nn_extensions_check(call, &args->model) : NNHAL_NONE;
    if (status != NNHAL_NONE)
        return status;
    if (nn_model_io_init(&prepared->io, &args->model, &prepared->arena) < 0)
        return nn_call_fail_no_memory(call);
    nn_extensions_size_io(prepared->host, &args->model, &prepared->io);
    return NNHAL_NONE;
}

/* -- compile, or load ------------------------------------------------------------- */

static uint32_t prepare_compile(struct nn_call *call, struct nn_prepared *prepared,
                                const struct nn_hal_prepare_model_args *args,
                                struct nnhal_cache *cache)
{
    const struct nn_host *host = prepared->host;
    struct nnhal_prepare prepare = {
        .size = sizeof(prepare),
        .model = {.model = &args->model,
                  .n_pools = prepared->constants.n_pools,
                  .pools = prepared->constants.mapped},
        .preference = args->preference,
        .priority = args->priority,
        .deadline_ns = args->deadline_ns,
        .cache = cache,
        .is_quick = prepared->reoptimization.stage == NN_STAGE_QUICK,
        .is_cancelled = &call->session->is_cancelled,
        .account = &prepared->driver_charge,
        .n_hints = args->n_hints,
        .hints = args->hints,
    };
    struct nn_overdue_call overdue;
    struct nn_turn turn;
    uint32_t status = nn_constants_access(call, &prepared->constants, true);

    if (status != NNHAL_NONE)
        return status;
    nn_call_set_priority(call, args->priority);
    prepare.turn = nn_turn_begin(call, &turn);
    nn_services_clear();
    nn_overdue_begin(&overdue, "prepare", &call->session->is_cancelled, args->deadline_ns);
    status = host->driver.prepare(host->device, &prepare, &prepared->driver_prepared);
    nn_overdue_end(&overdue);
    nn_turn_end(&turn);
    if (status == NNHAL_NONE)
        prepared->source = NN_PREPARED_COMPILED;
    status = nn_call_check_driver(call, status, "prepare");
    nn_constants_access(call, &prepared->constants, false);
    if (status == NNHAL_NONE && nn_prepared_is_broken(prepared))
        return nn_call_fail(
            call, NNHAL_GENERAL_FAILURE,
            "the file of a pool was made smaller while the model was prepared: leave "
            "constants alone, or seal the file against shrinking");
    return status;
}

/* The driver's object from what it once put into a cache. */
static uint32_t prepare_load(struct nn_call *call, const struct nnhal_cache *cache,
                             struct nn_prepared *prepared, uint64_t deadline_ns,
                             void **ret_prepared)
{
    struct nnhal_prepare_from_cache prepare = {.size = sizeof(prepare),
                                               .cache = cache,
                                               .deadline_ns = deadline_ns,
                                               .is_cancelled = &call->session->is_cancelled,
                                               .account = &prepared->driver_charge};
    const struct nn_host *host = call->session->host;
    struct nn_overdue_call overdue;
    struct nn_turn turn;
    uint32_t status;

    nn_call_set_priority(call, prepared->priority);
    prepare.turn = nn_turn_begin(call, &turn);
    nn_services_clear();
    nn_overdue_begin(&overdue, "prepare_from_cache", &call->session->is_cancelled, deadline_ns);
    status = host->driver.prepare_from_cache(host->device, &prepare, ret_prepared);
    nn_overdue_end(&overdue);
    nn_turn_end(&turn);
    return nn_call_check_driver(call, status, "prepare_from_cache");
}

/* -- keep --------------------------------------------------------------------------- */

/* In a service the driver's own weights give way to memory that other clients can share:
 * what prepare() has made is replaced by the same from the cache, and needs its pools no more.
 * What fails here leaves it as it is. */
static void prepare_share(const struct nn_call *call, const struct nnhal_cache *cache,
                          struct nn_prepared *prepared, uint64_t deadline_ns)
{
    struct nn_call aside = *call; /* its sentence is for no client: the model works */
    void *shared;

    if (prepare_load(&aside, cache, prepared, deadline_ns, &shared) != NNHAL_NONE) {
        nn_loaded_cache_done(&prepared->loaded);
        return;
    }
    prepared->host->driver.release(prepared->driver_prepared);
    prepared->driver_prepared = shared;
    nn_constants_done(&prepared->constants);
}

/* Keeps what was compiled in the client's files. Returns: whether they have it now. */
static bool prepare_keep(const struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                         struct nn_prepared *prepared, struct nnhal_cache *files)
{
    bool is_shared = nn_cache_share(call->session, files, prepared);
    bool is_written = nn_cache_save(call->session, args, files, prepared);

    if (is_shared)
        prepare_share(call, files, prepared, args->deadline_ns);
    else
        nn_loaded_cache_done(&prepared->loaded);
    return is_written;
}

/* -- the methods --------------------------------------------------------------------- */

static void tell_written(struct nn_host_session *session, uint64_t prepared_model)
{
    const struct nn_hal_cache_written_event event = {.prepared_model = prepared_model};

    if (session->listener.cache_written)
        session->listener.cache_written(session->listener.ctx, &event);
}

static uint32_t prepare_model(struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                              struct nn_hal_prepare_model_reply *reply)
{
    _cleanup_(nn_prepared_unrefp) struct nn_prepared *prepared = prepared_new(call->session);
    bool is_deferred, is_written = false;
    struct nnhal_cache *files;
    uint32_t status;

    if (!prepared)
        return nn_call_fail_no_memory(call);
    is_deferred = nn_reoptimize_is_deferred(call->session, args);
    prepared->priority = args->priority;
    prepared->is_low_power = args->preference == NNHAL_LOW_POWER;
    prepared->reoptimization.stage = is_deferred ? NN_STAGE_QUICK : NN_STAGE_WHOLE;
    nn_cache_wanted(call->session, args, call->arena, &files);
    status = prepare_check(call, args, prepared);
    if (status == NNHAL_NONE)
        status = prepare_compile(call, prepared, args, files);
    if (status != NNHAL_NONE)
        return status;
    if (files)
        is_written = prepare_keep(call, args, prepared, files);
    reply->stage = prepared->reoptimization.stage;
    nn_reoptimize_init(prepared, call->session, reply->stage);
    if (is_written)
        nn_reoptimize_hold(prepared, args->token, args->n_model_cache, args->model_cache,
                           args->n_data_cache, args->data_cache);
    if (nn_objects_add(&call->session->objects, &prepared->object) < 0)
        return nn_call_fail_no_memory(call);
    reply->prepared_model = prepared->object.id;
    if (is_written)
        tell_written(call->session, reply->prepared_model);
    return NNHAL_NONE;
}

static double milliseconds_since(uint64_t begin_ns)
{
    return (double)(nn_sys_now_ns() - begin_ns) / 1e6;
}

uint32_t nn_host_prepare_model(struct nn_call *call, const struct nn_hal_prepare_model_args *args,
                               struct nn_hal_prepare_model_reply *reply)
{
    uint64_t begin_ns = nn_sys_now_ns();
    uint32_t status = prepare_model(call, args, reply);

    if (status == NNHAL_NONE)
        nn_call_tell(call, NN_LOG_INFO, "a model of %u operations was prepared in %.1f ms",
                     args->model.main.n_operations, milliseconds_since(begin_ns));
    else
        nn_call_tell(call, NN_LOG_INFO, "a model of %u operations was refused: %s",
                     args->model.main.n_operations,
                     call->message ? call->message : "no memory for the sentence");
    return status;
}

uint32_t nn_host_prepare_model_from_cache(struct nn_call *call,
                                          const struct nn_hal_prepare_model_from_cache_args *args,
                                          struct nn_hal_prepare_model_from_cache_reply *reply)
{
    _cleanup_(nn_prepared_unrefp) struct nn_prepared *prepared = prepared_new(call->session);
    uint64_t begin_ns = nn_sys_now_ns();
    struct nnhal_cache *cache;
    uint32_t status, stage;

    if (!prepared)
        return nn_call_fail_no_memory(call);
    status = nn_call_charge(call, NN_QUOTA_PREPARED_MODELS, 1, "prepared models",
                            &prepared->charge);
    if (status == NNHAL_NONE)
        status = check_deadline(call, args->deadline_ns);
    if (status == NNHAL_NONE)
        status = nn_cache_load(call, args, prepared, &cache);
    if (status == NNHAL_NONE)
        status = prepare_load(call, cache, prepared, args->deadline_ns, &prepared->driver_prepared);
    if (status != NNHAL_NONE)
        return status;
    prepared->source = NN_PREPARED_FROM_CACHE;
    /* What came whole has nothing left that it could be made of. */
    stage = prepared->reoptimization.stage;
    nn_reoptimize_init(prepared, call->session,
                       stage == NN_STAGE_QUICK ? stage : NN_STAGE_OPTIMIZED);
    nn_reoptimize_hold(prepared, args->token, args->n_model_cache, args->model_cache,
                       args->n_data_cache, args->data_cache);
    if (nn_objects_add(&call->session->objects, &prepared->object) < 0)
        return nn_call_fail_no_memory(call);
    reply->prepared_model = prepared->object.id;
    reply->stage = stage;
    nn_call_tell(call, NN_LOG_INFO, "a model was taken from its cache in %.1f ms",
                 milliseconds_since(begin_ns));
    return NNHAL_NONE;
}

uint32_t nn_host_free_prepared_model(struct nn_call *call,
                                     const struct nn_hal_free_prepared_model_args *args,
                                     struct nn_hal_free_prepared_model_reply *reply)
{
    struct nn_prepared *prepared = nn_prepared_get(call->session, args->prepared_model);

    if (prepared)
        nn_reoptimize_cancel(prepared);
    nn_prepared_unref(prepared);
    nn_objects_remove(&call->session->objects, args->prepared_model, NN_OBJECT_PREPARED);
    return NNHAL_NONE;
}
