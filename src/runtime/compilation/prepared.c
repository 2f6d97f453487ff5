/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/prepared.h"

#include "base/error.h"
#include "runtime/attribute.h"
#include "runtime/compilation/cache.h"
#include "runtime/model/model-hash.h"

#include <string.h>

/* One preparation on its way. */
struct preparation {
    struct nn_rt_prepared *prepared;
    struct nn_rt_model *finished;
    const struct nn_rt_prepare_options *options;
};

static void set_prepared(struct nn_rt_prepared *prepared, uint64_t id, uint32_t stage)
{
    prepared->id = id;
    /* A newer device may name a stage that this runtime does not know. */
    prepared->stage = stage < NNHAL_STAGE_OPTIMIZED ? stage : NNHAL_STAGE_OPTIMIZED;
}

/* set and token are NULL where nothing is to be kept. */
static int prepared_compile(void *ctx, const struct nn_entry *set, const uint8_t *token,
                            struct nn_why *why)
{
    const struct preparation *preparation = ctx;
    struct nn_rt_prepared *prepared = preparation->prepared;
    struct nn_hal_prepare_model_args args = {
        .preference = preparation->options->preference,
        .priority = preparation->options->priority,
        .deadline_ns = preparation->options->deadline_ns,
        .is_deferred = preparation->options->is_deferred,
        .n_hints = preparation->options->attributes->n,
        .hints = preparation->options->attributes->hints,
    };
    struct nn_hal_prepare_model_reply reply = {0};
    struct nn_arena arena;
    int r;

    if (set) {
        args.n_model_cache = set->n_model;
        args.n_data_cache = set->n_data;
        args.model_cache = set->model;
        args.data_cache = set->data;
        memcpy(args.token, token, sizeof(args.token));
    }
    nn_arena_init(&arena, 0);
    r = nn_rt_model_get_hal_model(preparation->finished, prepared->session, &arena, why,
                                  &args.model);
    if (!r) {
        uint32_t status = nn_rt_session_check_status(
            prepared->session, nn_hal_prepare_model(prepared->session->hal, &args, &reply, &arena));

        r = nn_fail_status(why, status, prepared->device->name, reply.message);
    }
    if (!r)
        set_prepared(prepared, reply.prepared_model, reply.stage);
    nn_arena_done(&arena);
    return r;
}

static int prepared_from_cache(void *ctx, const struct nn_entry *set, const uint8_t *token,
                               struct nn_why *why)
{
    const struct preparation *preparation = ctx;
    struct nn_rt_prepared *prepared = preparation->prepared;
    struct nn_hal_prepare_model_from_cache_args args = {
        .deadline_ns = preparation->options->deadline_ns,
        .n_model_cache = set->n_model,
        .n_data_cache = set->n_data,
        .model_cache = set->model,
        .data_cache = set->data,
    };
    struct nn_hal_prepare_model_from_cache_reply reply = {0};
    struct nn_arena arena;
    uint32_t status;
    int r;

    /* The key is the token on the driver's side: it also stands for device, options and model. */
    memcpy(args.token, token, sizeof(args.token));
    nn_arena_init(&arena, 0);
    status = nn_rt_session_check_status(
        prepared->session,
        nn_hal_prepare_model_from_cache(prepared->session->hal, &args, &reply, &arena));
    r = nn_fail_status(why, status, prepared->device->name, reply.message);
    if (!r)
        set_prepared(prepared, reply.prepared_model, reply.stage);
    nn_arena_done(&arena);
    return r;
}

static int prepared_prepare(struct nn_rt_prepared *prepared, struct nn_rt_model *finished,
                            const struct nn_rt_prepare_options *options, struct nn_why *why)
{
    struct preparation preparation = {prepared, finished, options};
    const struct nn_rt_cache_calls calls = {&preparation, prepared_from_cache, prepared_compile};

    /* Only what the application asked for is cached: a cache on our own was never faster. */
    if (!options->cache)
        return prepared_compile(&preparation, NULL, NULL, why);
    return nn_rt_cache_prepare(options->cache, finished, prepared->device, options, &calls, why);
}

/* A model under which the device's process dies again and again is not tried for ever. One that was
 * prepared before is not suspected: all compilations are renewed when a process is back, so that they
 * are there whenever it is killed again. The device's quarantine (recovery.h) bounds those deaths. */
static int prepare_watched(struct nn_rt_prepared *prepared, struct nn_rt_model *finished,
                           const struct nn_rt_prepare_options *options, struct nn_why *why)
{
    ANeuralNetworksDevice *device = prepared->device;
    int r = 0;

    if (options->is_renewal)
        return prepared_prepare(prepared, finished, options, why);
    if (nn_rt_device_has_suspects(device))
        r = nn_rt_device_check_request(device, nn_rt_model_hash(&finished->model), why);
    if (r)
        return r;
    r = prepared_prepare(prepared, finished, options, why);
    if ((r == ANEURALNETWORKS_DEAD_OBJECT && !nn_rt_device_may_recover(device)) ||
        (r == 0 && nn_rt_device_has_suspects(device)))
        nn_rt_device_note_request(device, prepared->session, nn_rt_model_hash(&finished->model),
                                  r != 0);
    return r;
}

int nn_rt_prepared_new(struct nn_rt_model *finished, ANeuralNetworksDevice *device,
                       const struct nn_rt_prepare_options *options, struct nn_why *why,
                       struct nn_rt_prepared **ret_prepared)
{
    _cleanup_(nn_rt_prepared_unrefp) struct nn_rt_prepared *prepared = NULL;
    int r;

    prepared = calloc(1, sizeof(*prepared));
    if (!prepared)
        return nn_error_origin(-ENOMEM);
    prepared->n_refs = 1;
    nn_rt_implicit_burst_init(&prepared->implicit);
    prepared->device = device;
    r = nn_rt_device_get_session(device, why, &prepared->session);
    if (!r)
        r = prepare_watched(prepared, finished, options, why);
    if (r)
        return r;
    *ret_prepared = steal_ptr(&prepared);
    return 0;
}

struct nn_rt_prepared *nn_rt_prepared_ref(struct nn_rt_prepared *prepared)
{
    nn_ref(&prepared->n_refs);
    return prepared;
}

struct nn_rt_prepared *nn_rt_prepared_unref(struct nn_rt_prepared *prepared)
{
    struct nn_hal_free_prepared_model_args args = {0};
    struct nn_hal_free_prepared_model_reply reply = {0};
    struct nn_arena arena;

    if (!prepared || !nn_unref(&prepared->n_refs))
        return NULL;
    nn_rt_implicit_burst_done(&prepared->implicit,
                              prepared->session && nn_rt_session_is_foreign(prepared->session));
    /* A device that is gone has freed its models with its process. */
    if (prepared->id && nn_rt_session_is_alive(prepared->session)) {
        args.prepared_model = prepared->id;
        nn_arena_init(&arena, 0);
        nn_hal_free_prepared_model(prepared->session->hal, &args, &reply, &arena);
        nn_arena_done(&arena);
    }
    nn_rt_session_unref(prepared->session);
    free(prepared);
    return NULL;
}
