/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/model-store.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/variable.h"
#include "hal/messages.h"
#include "codec/codec.h"
#include "host/caching/cache.h"
#include "host/caching/build-id.h"

#include <nnhal/cache.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STORE_MIN_NS    UINT64_C(10000000)
#define STORE_MAX_BYTES (UINT64_C(512) << 20)
#define STORE_MAX_MODEL (STORE_MAX_BYTES / 2)
#define STORE_RATIO     8
#define MAGIC           UINT64_C(0x3174706b6e6e) /* "nnkpt1" */

enum {
    ALIGNMENT = 64,
    MAX_FILES = 2 * NNHAL_MAX_CACHE_FILES,
};

/* A value: the head, then each buffer, all padded to 64 bytes. */
struct head {
    uint64_t magic;
    uint32_t n_model;
    uint32_t n_data;
    uint64_t sizes[MAX_FILES];
};

_Static_assert(sizeof(struct head) % 16 == 0, "a head has no padding of its own");

/* -- the store of a host ---------------------------------------------------------------- */

void nn_model_store_init(struct nn_model_store *models)
{
    pthread_mutex_init(&models->lock, NULL);
    models->is_on = nn_variable_is(NN_VARIABLE_DRIVER_CACHE, "on");
}

void nn_model_store_done(struct nn_model_store *models)
{
    nnhal_store_close(models->store);
    pthread_mutex_destroy(&models->lock);
    free(models->folder);
}

static int set_folder(struct nn_host *host)
{
    _cleanup_(freep) char *state = NULL;
    int r = nn_state_folder(host->driver.name, &state);

    if (r < 0)
        return nn_error_trace(r);
    if (asprintf(&host->model_store.folder, "%s/models", state) < 0) {
        host->model_store.folder = NULL;
        return nn_error_origin(-ENOMEM);
    }
    return 0;
}

int nn_host_keep_models(struct nn_host *host, bool is_service, const char **ret_folder)
{
    struct nn_model_store *models = &host->model_store;
    int r;

    if (!host->driver.prepare_from_cache || nn_variable_is(NN_VARIABLE_DRIVER_CACHE, "off") ||
        (!models->is_on && !is_service))
        return nn_error_origin(-ENOENT);
    models->is_choosy = !models->is_on;
    r = models->folder ? 0 : set_folder(host);
    models->is_on = r == 0;
    if (r == 0)
        *ret_folder = models->folder;
    return nn_error_trace(r);
}

static int open_store(struct nn_host *host)
{
    const struct nnhal_store_options options = {
        .size = sizeof(options),
        .max_value_bytes = STORE_MAX_MODEL,
        .max_total_bytes = STORE_MAX_BYTES,
    };
    struct nn_model_store *models = &host->model_store;
    int r = models->folder ? 0 : set_folder(host);

    if (r == 0)
        r = nnhal_store_open(models->folder, &options, &models->store);
    if (r < 0)
        nn_log("cache", NN_LOG_WARNING,
               "driver %s keeps no models of applications without a cache: %s cannot be used (%s)",
               host->driver.name, models->folder ? models->folder : "no folder", strerror(-r));
    return nn_error_trace(r);
}

/* Opened when it is first needed, and tried once. NULL: there is none. */
static struct nnhal_store *store_of(struct nn_host *host)
{
    struct nn_model_store *models = &host->model_store;
    struct nnhal_store *store;

    pthread_mutex_lock(&models->lock);
    if (!models->store && !models->has_failed)
        models->has_failed = open_store(host) < 0;
    store = models->store;
    pthread_mutex_unlock(&models->lock);
    return store;
}

void nn_host_open_models(struct nn_host *host)
{
    if (host->model_store.is_on)
        store_of(host);
}

/* -- the key ------------------------------------------------------------------------------ */

/* Of constants, by operand: what else lies in the pools decides nothing. */
static uint32_t put_constants(const struct nnhal_subgraph *graph,
                              const struct nn_constants *constants, struct nn_hash_part *parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < graph->n_operands; i++) {
        const struct nnhal_operand *operand = &graph->operands[i];
        const struct nnhal_data_location *at = &operand->location;

        if (operand->lifetime != NNHAL_CONSTANT_REFERENCE || at->pool_index >= constants->n_pools ||
            !nn_range_fits(at->offset, at->length, constants->mapped[at->pool_index].size))
            continue;
        if (parts)
            parts[n] = (struct nn_hash_part){constants->mapped[at->pool_index].data + at->offset,
                                             at->length};
        n++;
    }
    return n;
}

/* With parts NULL only counts. */
static uint32_t put_all_constants(const struct nnhal_model *model,
                                  const struct nn_constants *constants, struct nn_hash_part *parts)
{
    uint32_t n = put_constants(&model->main, constants, parts);

    for (uint32_t i = 0; i < model->n_referenced; i++)
        n += put_constants(&model->referenced[i], constants, parts ? parts + n : NULL);
    return n;
}

/* The arguments without what changes from call to call: memories are known by their bytes. */
static int model_encode(const struct nn_hal_prepare_model_args *args, struct nn_arena *arena,
                        struct nn_codec_buffer *buffer)
{
    struct nn_hal_prepare_model_args same = *args;
    uint64_t *pools = nn_arena_new_n(arena, uint64_t, args->model.n_pools);

    if (!pools)
        return nn_error_origin(-ENOMEM);
    same.model.pools = pools;
    for (uint32_t i = 0; i < args->model.n_pools; i++)
        pools[i] = 1;
    same.priority = NNHAL_PRIORITY_MEDIUM;
    same.deadline_ns = NNHAL_NO_TIME;
    same.n_model_cache = 0;
    same.n_data_cache = 0;
    return nn_error_fold(
        nn_codec_encode(&nn_codec_prepare_model_args, NN_HAL_MINOR, &same, buffer));
}

/* All that decides what is compiled, but for the constants in pools. */
static int hash_structure(struct nn_host_session *session,
                          const struct nn_hal_prepare_model_args *args, struct nn_arena *arena,
                          struct nn_hash *ret_hash)
{
    const struct nnhal_driver *driver = &session->host->driver;
    uint64_t configuration = driver->get_configuration
                                 ? driver->get_configuration(session->host->device)
                                 : 0;
    struct nn_codec_buffer buffer = {0};
    struct nn_hash epoch;
    int r = model_encode(args, arena, &buffer);

    nn_build_id_of(driver, &epoch);
    if (r == 0) {
        const struct nn_hash_part parts[] = {
            {epoch.bytes, sizeof(epoch.bytes)},
            {&configuration, sizeof(configuration)},
            {&session->uid, sizeof(session->uid)},
            {buffer.bytes, buffer.n_bytes},
        };

        nn_hash_compute(parts, sizeof(parts) / sizeof(parts[0]), ret_hash);
    }
    nn_codec_buffer_done(&buffer);
    return nn_error_trace(r);
}

static int make_key(const struct nn_hal_prepare_model_args *args,
                    const struct nn_prepared *prepared, struct nn_arena *arena,
                    struct nn_hash *ret_key)
{
    uint32_t n = put_all_constants(&args->model, &prepared->constants, NULL);
    struct nn_hash_part *parts = nn_arena_new_n(arena, struct nn_hash_part, n + 1);

    if (!parts)
        return nn_error_origin(-ENOMEM);
    parts[0] = (struct nn_hash_part){prepared->store_entry.structure.bytes, NN_HASH_BYTES};
    put_all_constants(&args->model, &prepared->constants, parts + 1);
    nn_hash_compute(parts, n + 1, ret_key);
    return 0;
}

/* -- what has been learnt of a structure ---------------------------------------------------- */

/* 0 for one that is not worth it, or not known. */
static uint64_t compile_time_recall(struct nnhal_store *store, const struct nn_hash *structure)
{
    uint64_t compile_ns = 0;
    size_t n = 0;

    if (nnhal_store_get(store, structure->bytes, sizeof(structure->bytes), &compile_ns,
                        sizeof(compile_ns), &n) != 0 ||
        n != sizeof(compile_ns))
        return 0;
    return compile_ns;
}

static void compile_time_remember(struct nnhal_store *store, const struct nn_hash *structure,
                                  uint64_t compile_ns)
{
    nnhal_store_set(store, structure->bytes, sizeof(structure->bytes), &compile_ns,
                    sizeof(compile_ns));
}

bool nn_model_store_begin(struct nn_host_session *session,
                          const struct nn_hal_prepare_model_args *args,
                          struct nn_store_entry *entry, struct nn_arena *arena)
{
    struct nn_host *host = session->host;

    if (!host->model_store.is_on || !host->driver.prepare_from_cache || !store_of(host) ||
        hash_structure(session, args, arena, &entry->structure) < 0)
        return false;
    if (host->model_store.is_choosy)
        entry->compile_ns = compile_time_recall(host->model_store.store, &entry->structure);
    if (!host->model_store.is_choosy || entry->compile_ns)
        entry->cache = nn_cache_new(host, arena);
    entry->begun_ns = nn_sys_now_ns();
    return true;
}

void nn_model_store_learn(struct nn_host_session *session, const struct nn_store_entry *entry)
{
    uint64_t compile_ns = nn_sys_now_ns() - entry->begun_ns;

    if (session->host->model_store.is_choosy && !entry->compile_ns && compile_ns >= STORE_MIN_NS)
        compile_time_remember(session->host->model_store.store, &entry->structure, compile_ns);
}

/* -- finding ------------------------------------------------------------------------------ */

static void *value_allocate(void *ctx, size_t n_bytes)
{
    size_t whole;

    return nn_align_up(n_bytes, ALIGNMENT, &whole) ? aligned_alloc(ALIGNMENT, whole) : NULL;
}

static void value_release(void *ctx, void *block)
{
    free(block);
}

/* The buffers of a value. Returns: whether it is one of this driver's. */
static bool take_buffers(const uint8_t *value, size_t n_value, struct nnhal_cache *cache)
{
    size_t at = sizeof(struct head), end;
    struct head head;

    if (n_value < sizeof(head))
        return false;
    memcpy(&head, value, sizeof(head));
    if (head.magic != MAGIC || head.n_model != cache->n_model_files ||
        head.n_data != cache->n_data_files || !nn_align_up(at, ALIGNMENT, &at))
        return false;
    for (uint32_t i = 0; i < head.n_model + head.n_data; i++) {
        if (!nn_range_fits(at, head.sizes[i], n_value))
            return false;
        *(i < head.n_model ? &cache->model_files[i] : &cache->data_files[i - head.n_model]) =
            (struct nnhal_cache_buffer){value + at, head.sizes[i]};
        end = at + (size_t)head.sizes[i];
        if (!nn_align_up(end, ALIGNMENT, &at))
            return false;
    }
    return at == n_value;
}

/* One block that prepared keeps, or, where clients share weights, copies of its pieces. */
static bool take_value(struct nn_host_session *session, struct nn_prepared *prepared,
                       uint8_t *value, size_t n_value, struct nnhal_cache *cache)
{
    bool is_good = take_buffers(value, n_value, cache);

    if (is_good && nn_cache_share(session, cache, prepared)) {
        free(value);
        return true;
    }
    nn_loaded_cache_done(&prepared->loaded);
    if (!is_good || nn_loaded_cache_init(&prepared->loaded, 1, 0, &prepared->arena) < 0) {
        free(value);
        return false;
    }
    prepared->loaded.files[prepared->loaded.n_files++] = value;
    return take_buffers(value, n_value, cache);
}

bool nn_model_store_find(struct nn_host_session *session,
                         const struct nn_hal_prepare_model_args *args, struct nn_prepared *prepared,
                         struct nn_arena *arena)
{
    const struct nnhal_store_allocator allocator = {.allocate = value_allocate,
                                                    .release = value_release};
    struct nnhal_store *store = session->host->model_store.store;
    struct nn_store_entry *entry = &prepared->store_entry;
    uint64_t hash_ns = nn_sys_now_ns();
    size_t n_value = 0;
    void *value;
    int r = make_key(args, prepared, arena, &entry->key);

    hash_ns = nn_sys_now_ns() - hash_ns;
    if (r == 0 && entry->compile_ns && entry->compile_ns < STORE_RATIO * hash_ns) {
        compile_time_remember(store, &entry->structure, 0);
        r = -ERANGE;
    }
    if (r < 0)
        entry->cache = NULL;
    return r == 0 &&
           nnhal_store_get_allocated(store, entry->key.bytes, sizeof(entry->key.bytes), &allocator,
                                     &value, &n_value) == 0 &&
           take_value(session, prepared, value, n_value, entry->cache);
}

/* -- keeping -------------------------------------------------------------------------------- */

bool nn_model_store_is_same(struct nn_host_session *session,
                            const struct nn_hal_prepare_model_args *args,
                            const struct nn_prepared *prepared, struct nn_arena *arena)
{
    struct nn_hash key;

    return make_key(args, prepared, arena, &key) == 0 &&
           memcmp(key.bytes, prepared->store_entry.key.bytes, sizeof(key.bytes)) == 0;
}

void nn_model_store_save(struct nn_host_session *session, const struct nn_prepared *prepared,
                         const struct nnhal_cache *cache)
{
    static const uint8_t padding[ALIGNMENT];
    struct head head = {
        .magic = MAGIC, .n_model = cache->n_model_files, .n_data = cache->n_data_files};
    struct nnhal_store_part parts[2 * MAX_FILES + 2];
    uint32_t n_files = head.n_model + head.n_data, n = 0;
    bool is_any = false;
    int r;

    parts[n++] = (struct nnhal_store_part){&head, sizeof(head)};
    parts[n++] = (struct nnhal_store_part){padding, -sizeof(head) % ALIGNMENT};
    for (uint32_t i = 0; i < n_files; i++) {
        const struct nnhal_cache_buffer *buffer = i < head.n_model
                                                      ? &cache->model_files[i]
                                                      : &cache->data_files[i - head.n_model];

        head.sizes[i] = buffer->size;
        is_any = is_any || buffer->size;
        parts[n++] = (struct nnhal_store_part){buffer->bytes, (size_t)buffer->size};
        parts[n++] = (struct nnhal_store_part){padding, (size_t)(-buffer->size % ALIGNMENT)};
    }
    if (!is_any)
        return;
    r = nnhal_store_set_parts(session->host->model_store.store, prepared->store_entry.key.bytes,
                              sizeof(prepared->store_entry.key.bytes), parts, n);
    if (r < 0)
        nn_log("cache", NN_LOG_INFO, "a compiled model was not kept: %s", strerror(-r));
}
