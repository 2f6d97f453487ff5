/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/executor/reoptimize.h"

#include "drivers/cpu/lowering/compile.h"
#include "base/error.h"
#include "drivers/cpu/executor/exec.h"
#include "drivers/cpu/cache/serialize.h"
#include "model/copy.h"

#include <string.h>

/* A program and what it has handed over to be cached. */
struct stage {
    struct nn_program *program;
    const struct nn_meter *meter; /* the model's */
    struct nn_kept kept;
    uint32_t n_refs; /* one for being the newest, one for each execution */
};

struct nn_compiled {
    struct nn_compiled_options options;
    struct nn_kept loaded; /* borrowed; model NULL: compiled */
    struct nnhal_driver_model model;
    struct nn_arena arena; /* of the model's copy */
    bool is_optimized;     /* newest stays the newest; atomic */
    pthread_mutex_t lock;  /* newest, references, bursts */
    uint32_t n_bursts;     /* open */
    struct stage *newest;
};

/* ---- stages ---- */

static struct stage *stage_free(struct stage *stage)
{
    if (!stage)
        return NULL;
    nn_program_free(stage->program);
    free(stage->kept.model);
    free(stage->kept.own_weights);
    nn_meter_uncharge(stage->meter, stage->kept.charged);
    free(stage);
    return NULL;
}

NN_DEFINE_CLEANUP(struct stage, stage_free)

static struct stage *stage_new(const struct nn_meter *meter)
{
    struct stage *stage = calloc(1, sizeof(*stage));

    if (!stage)
        return NULL;
    stage->n_refs = 1;
    stage->meter = meter;
    return stage;
}

static struct stage *get_newest(struct nn_compiled *staged)
{
    struct stage *stage;

    pthread_mutex_lock(&staged->lock);
    stage = staged->newest;
    stage->n_refs++;
    pthread_mutex_unlock(&staged->lock);
    return stage;
}

static void stage_put(struct nn_compiled *staged, struct stage *stage)
{
    bool is_last;

    pthread_mutex_lock(&staged->lock);
    is_last = --stage->n_refs == 0;
    pthread_mutex_unlock(&staged->lock);
    if (is_last)
        stage_free(stage);
}

static void stage_replace(struct nn_compiled *staged, struct stage *stage)
{
    struct stage *old;

    pthread_mutex_lock(&staged->lock);
    old = staged->newest;
    staged->newest = stage;
    nn_program_set_bursts(stage->program, staged->n_bursts);
    pthread_mutex_unlock(&staged->lock);
    if (old)
        stage_put(staged, old);
}

/* ---- making ---- */

/* Hands the program over, if it can be kept. */
static int stage_keep(struct stage *stage, const struct nnhal_driver_model *model, bool is_final,
                      struct nnhal_cache *cache)
{
    struct nn_kept *kept = &stage->kept;
    int r = nn_serialize(stage->program, model, is_final, kept);

    if (r)
        return r < 0 ? nn_error_trace(r) : 0;
    cache->model_files[0] = (struct nnhal_cache_buffer){kept->model, kept->model_bytes};
    cache->data_files[0] = (struct nnhal_cache_buffer){kept->weights, kept->weights_bytes};
    return 0;
}

static int copy_model(struct nn_compiled *staged, const struct nnhal_driver_model *model)
{
    struct nnhal_model *copy = nn_arena_new(&staged->arena, struct nnhal_model);

    if (!copy || nn_model_copy(copy, model->model, &staged->arena))
        return nn_error_origin(-ENOMEM);
    staged->model = (struct nnhal_driver_model){
        .model = copy,
        .n_pools = model->n_pools,
        .pools = nn_arena_dup(&staged->arena, model->pools, model->n_pools * sizeof(*model->pools)),
    };
    return staged->model.pools ? 0 : nn_error_origin(-ENOMEM);
}

static struct nn_compiled *staged_new(const struct nn_compiled_options *options)
{
    struct nn_compiled *staged = calloc(1, sizeof(*staged));

    if (!staged)
        return NULL;
    staged->options = *options;
    nn_arena_init(&staged->arena, 0);
    staged->arena.meter = options->meter;
    pthread_mutex_init(&staged->lock, NULL);
    return staged;
}

int nn_compiled_new(const struct nnhal_driver_model *model,
                    const struct nn_compiled_options *options, struct nn_stop *stop,
                    struct nnhal_cache *cache, struct nn_why *why, struct nn_compiled **ret_staged)
{
    _cleanup_(nn_compiled_freep) struct nn_compiled *staged = staged_new(options);
    enum nn_pass_set passes = options->is_quick ? NN_PASSES_QUICK : options->passes;
    const struct nn_compile_options how = {options->team, options->isa, passes, stop,
                                           options->meter};
    _cleanup_(stage_freep) struct stage *stage = stage_new(options->meter);
    int r;

    if (!staged || !stage)
        return nn_error_origin(-ENOMEM);
    r = nn_compile(model, &how, why, &stage->program);
    if (r == NN_PROGRAM_E_STOPPED)
        return NN_COMPILED_E_STOPPED;
    if (r)
        return r < 0 ? nn_error_trace(r) : NN_COMPILED_E_REFUSED;
    /* What all passes have made cannot become better: its model is not needed again. */
    staged->is_optimized = passes == options->passes;
    r = staged->is_optimized ? 0 : copy_model(staged, model);
    if (r == 0 && cache)
        r = stage_keep(stage, model, staged->is_optimized, cache);
    if (r)
        return nn_error_trace(r);
    staged->newest = steal_ptr(&stage);
    *ret_staged = steal_ptr(&staged);
    return 0;
}

int nn_compiled_load(const struct nnhal_cache *cache, const struct nn_compiled_options *options,
                     struct nn_stop *stop, struct nn_compiled **ret_staged)
{
    const struct nn_compile_options how = {options->team, options->isa, options->passes, stop,
                                           options->meter};
    _cleanup_(nn_compiled_freep) struct nn_compiled *staged = staged_new(options);
    _cleanup_(stage_freep) struct stage *stage = stage_new(options->meter);
    int r;

    if (!staged || !stage)
        return nn_error_origin(-ENOMEM);
    staged->loaded = (struct nn_kept){.model = (uint8_t *)(uintptr_t)cache->model_files[0].bytes,
                                      .model_bytes = cache->model_files[0].size,
                                      .weights = cache->data_files[0].bytes,
                                      .weights_bytes = cache->data_files[0].size};
    r = nn_deserialize(&staged->loaded, &how, &stage->program);
    if (r == NN_SERIALIZE_E_STOPPED)
        return NN_COMPILED_E_STOPPED;
    if (r)
        return r < 0 ? nn_error_trace(r) : NN_COMPILED_E_INVALID;
    staged->is_optimized = stage->program->passes == options->passes;
    staged->newest = steal_ptr(&stage);
    *ret_staged = steal_ptr(&staged);
    return 0;
}

struct nn_compiled *nn_compiled_free(struct nn_compiled *staged)
{
    if (!staged)
        return NULL;
    stage_free(staged->newest);
    nn_arena_done(&staged->arena);
    pthread_mutex_destroy(&staged->lock);
    free(staged);
    return NULL;
}

/* ---- executing and optimizing ---- */

int nn_compiled_execute(struct nn_compiled *staged, struct nnhal_execution *execution,
                        struct nn_why *why)
{
    struct stage *stage;
    int r;

    /* A stage that is never replaced lives until the model is freed. Acquire pairs with the release
     * of nn_compiled_reoptimize(). */
    if (__atomic_load_n(&staged->is_optimized, __ATOMIC_ACQUIRE))
        return nn_exec(staged->newest->program, execution, why);
    stage = get_newest(staged);
    r = nn_exec(stage->program, execution, why);
    stage_put(staged, stage);
    return r;
}

unsigned nn_compiled_open_burst(struct nn_compiled *staged)
{
    unsigned n_threads;

    pthread_mutex_lock(&staged->lock);
    nn_program_set_bursts(staged->newest->program, ++staged->n_bursts);
    n_threads = nn_program_n_threads(staged->newest->program);
    pthread_mutex_unlock(&staged->lock);
    return n_threads;
}

void nn_compiled_close_burst(struct nn_compiled *staged)
{
    pthread_mutex_lock(&staged->lock);
    nn_program_set_bursts(staged->newest->program, --staged->n_bursts);
    pthread_mutex_unlock(&staged->lock);
}

/* The model, from wherever it is. Returns: 0, NN_COMPILED_E_BEST, -ENOMEM. */
static int find_model(struct nn_compiled *staged)
{
    int r;

    if (!staged->loaded.model || staged->model.model)
        return 0;
    r = nn_deserialize_model(&staged->loaded, &staged->arena, &staged->model);
    return r < 0 ? nn_error_trace(r) : r ? NN_COMPILED_E_BEST : 0;
}

static int make_optimized(struct nn_compiled *staged, struct nnhal_cache *cache,
                          struct nn_stop *stop, struct stage *stage)
{
    const struct nn_compiled_options *options = &staged->options;
    const struct nn_compile_options how = {options->team, options->isa, options->passes, stop,
                                           options->meter};
    struct nn_why why = {0};
    int r = nn_compile(&staged->model, &how, &why, &stage->program);

    if (r == NN_PROGRAM_E_STOPPED || (!r && nn_stop_look(stop)))
        return NN_COMPILED_E_STOPPED;
    if (r)
        return r < 0 ? nn_error_trace(r) : NN_COMPILED_E_BEST;
    return cache ? stage_keep(stage, &staged->model, true, cache) : 0;
}

int nn_compiled_reoptimize(struct nn_compiled *staged, struct nnhal_cache *cache,
                           struct nn_stop *stop)
{
    _cleanup_(stage_freep) struct stage *stage = NULL;
    int r = staged->is_optimized ? NN_COMPILED_E_BEST : find_model(staged);

    if (r)
        return r;
    stage = stage_new(staged->options.meter);
    if (!stage)
        return nn_error_origin(-ENOMEM);
    r = make_optimized(staged, cache, stop, stage);
    if (r)
        return r;
    stage_replace(staged, steal_ptr(&stage));
    __atomic_store_n(&staged->is_optimized, true, __ATOMIC_RELEASE);
    return 0;
}
