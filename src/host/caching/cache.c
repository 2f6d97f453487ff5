/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/cache.h"

#include "base/error.h"
#include "base/log.h"
#include "cache/entry-file.h"
#include "cache/token-map.h"
#include "host/caching/cache-head.h"
#include "host/caching/build-id.h"
#include "host/load.h"

#include <stdio.h>
#include <string.h>

/* -- the token map of a host ----------------------------------------------------- */

void nn_cache_n_files(const struct nn_host *host, uint32_t *ret_n_model, uint32_t *ret_n_data)
{
    *ret_n_model = host->driver.n_model_cache_files;
    *ret_n_data = host->driver.n_data_cache_files;
    if (*ret_n_data && !*ret_n_model)
        *ret_n_model = 1; /* for the head */
}

static bool has_cache(const struct nn_host *host)
{
    return host->driver.n_model_cache_files || host->driver.n_data_cache_files;
}

static void say_nothing_is_cached(const char *driver, const char *folder)
{
    nn_log("cache", NN_LOG_WARNING, "driver %s caches nothing: %s%s (set NNHAL_STATE_PATH)", driver,
           folder ? folder : "there is no folder for it",
           folder ? " cannot be used as its folder" : "");
}

static int open_map(struct nn_host *host, const char *folder)
{
    _cleanup_(freep) char *standard = NULL;
    struct nn_hash epoch;
    int r = 0;

    nn_build_id_of(&host->driver, &epoch);
    if (!folder) {
        r = nn_state_folder(host->module, host->driver.name, &standard);
        folder = standard;
    }
    if (r == 0)
        r = nn_token_map_open(folder, &epoch, &host->tokens);
    if (r < 0)
        say_nothing_is_cached(host->driver.name, folder);
    return r == -ENOENT ? nn_error_origin(-EIO) : nn_error_trace(r);
}

/* Once: what could not be opened is not tried again for each model. */
int nn_host_open_tokens(struct nn_host *host, const char *folder)
{
    int r = 0;

    if (!has_cache(host))
        return 0;
    pthread_mutex_lock(&host->tokens_lock);
    if (!host->tokens && !host->has_no_tokens) {
        r = open_map(host, folder);
        host->has_no_tokens = r < 0;
    }
    if (host->has_no_tokens && r == 0)
        r = nn_error_origin(-EIO);
    pthread_mutex_unlock(&host->tokens_lock);
    return r;
}

bool nn_host_name_tokens(const struct nn_host *host, struct nn_host_tokens *ret_tokens)
{
    struct nn_hash epoch;

    if (!has_cache(host))
        return false;
    nn_build_id_of(&host->driver, &epoch);
    *ret_tokens = (struct nn_host_tokens){0};
    memcpy(ret_tokens->epoch, epoch.bytes, sizeof(ret_tokens->epoch));
    return true;
}

int nn_host_open_tokens_file(const char *module, const struct nn_host_tokens *tokens, int *ret_fd)
{
    _cleanup_(nn_token_map_freep) struct nn_token_map *map = NULL;
    _cleanup_(freep) char *folder = NULL;
    struct nn_hash epoch;
    int r;

    memcpy(epoch.bytes, tokens->epoch, sizeof(epoch.bytes));
    r = nn_state_folder(module, NULL, &folder);
    if (r == 0)
        r = nn_token_map_open(folder, &epoch, &map);
    if (r < 0) {
        say_nothing_is_cached(module, folder);
        return nn_error_trace(r);
    }
    *ret_fd = nn_token_map_take_fd(map);
    return 0;
}

void nn_host_take_tokens(struct nn_host *host, int fd)
{
    struct nn_hash epoch;

    nn_build_id_of(&host->driver, &epoch);
    pthread_mutex_lock(&host->tokens_lock);
    host->has_no_tokens = fd < 0 || nn_token_map_adopt(fd, &epoch, &host->tokens) < 0;
    pthread_mutex_unlock(&host->tokens_lock);
}

void nn_cache_close(struct nn_host *host)
{
    nn_token_map_free(host->tokens);
    pthread_mutex_destroy(&host->tokens_lock);
}

/* -- what is wanted -------------------------------------------------------------------- */

/* Android's runtime hands over zeroes where the application set no token. */
bool nn_cache_is_token(const uint8_t token[NNHAL_CACHE_TOKEN_BYTES])
{
    static const uint8_t none[NNHAL_CACHE_TOKEN_BYTES];

    return memcmp(token, none, sizeof(none)) != 0;
}

bool nn_cache_are_writable(uint32_t n, const int32_t *fds)
{
    for (uint32_t i = 0; i < n; i++)
        if (!nn_entry_file_is_writable(fds[i]))
            return false;
    return true;
}

/* A driver hands over all or nothing; what is too large is nothing. */
static bool is_filled(const struct nnhal_cache *cache)
{
    bool is_any = false;

    for (uint32_t i = 0; i < cache->n_model_files + cache->n_data_files; i++) {
        const struct nnhal_cache_buffer *buffer =
            i < cache->n_model_files ? &cache->model_files[i]
                                     : &cache->data_files[i - cache->n_model_files];

        if (buffer->size > NN_ENTRY_FILE_MAX_BYTES / 2 || (buffer->size && !buffer->bytes))
            return false;
        is_any = is_any || buffer->size;
    }
    return is_any;
}

struct nnhal_cache *nn_cache_new(const struct nn_host *host, struct nn_arena *arena)
{
    struct nnhal_cache *cache = nn_arena_new(arena, struct nnhal_cache);

    if (!cache)
        return NULL;
    cache->size = sizeof(*cache);
    cache->n_model_files = host->driver.n_model_cache_files;
    cache->n_data_files = host->driver.n_data_cache_files;
    cache->model_files = nn_arena_new_n(arena, struct nnhal_cache_buffer, cache->n_model_files);
    cache->data_files = nn_arena_new_n(arena, struct nnhal_cache_buffer, cache->n_data_files);
    return cache->model_files && cache->data_files ? cache : NULL;
}

void nn_cache_empty(struct nnhal_cache *cache)
{
    for (uint32_t i = 0; i < cache->n_model_files; i++)
        cache->model_files[i] = (struct nnhal_cache_buffer){0};
    for (uint32_t i = 0; i < cache->n_data_files; i++)
        cache->data_files[i] = (struct nnhal_cache_buffer){0};
}

void nn_cache_wanted(struct nn_host_session *session, const struct nn_hal_prepare_model_args *args,
                     struct nn_arena *arena, struct nnhal_cache **ret_cache)
{
    uint32_t n_model, n_data;

    *ret_cache = NULL;
    nn_cache_n_files(session->host, &n_model, &n_data);
    if (!n_model || !nn_cache_is_token(args->token) || args->n_model_cache != n_model ||
        args->n_data_cache != n_data || !nn_cache_are_writable(n_model, args->model_cache) ||
        !nn_cache_are_writable(n_data, args->data_cache) ||
        nn_host_open_tokens(session->host, NULL) < 0)
        return;
    *ret_cache = nn_cache_new(session->host, arena);
}

/* -- sharing ------------------------------------------------------------------------- */

static uint32_t sharing_uid(const struct nn_host_session *session)
{
    return session->host->sharing == NN_HOST_SHARING_ALL ? UINT32_MAX : session->uid;
}

bool nn_cache_share(struct nn_host_session *session, struct nnhal_cache *cache,
                    struct nn_prepared *prepared)
{
    struct nn_loaded_cache *loaded = &prepared->loaded;
    uint64_t n_bytes = 0;
    int r;

    /* With one client there is none to share with, and a copy costs time. */
    if (session->host->sharing == NN_HOST_SHARING_NONE || !cache->n_data_files || !is_filled(cache))
        return false;
    r = nn_loaded_cache_init(loaded, cache->n_model_files, cache->n_data_files, &prepared->arena);
    for (uint32_t i = 0; i < cache->n_model_files; i++)
        n_bytes += cache->model_files[i].size;
    if (r == 0)
        r = nn_quota_charge(&session->account, NN_QUOTA_BYTES, n_bytes, &loaded->charge);
    for (uint32_t i = 0; r == 0 && i < cache->n_model_files; i++)
        r = nn_loaded_cache_copy(loaded, &cache->model_files[i]);
    for (uint32_t i = 0; r == 0 && i < cache->n_data_files; i++)
        r = nn_loaded_cache_share(loaded, &session->host->weights, sharing_uid(session),
                                  &cache->data_files[i]);
    return r == 0;
}

/* -- saving -------------------------------------------------------------------------- */

/* What is to stand in the files: parts[0] is the head, then come the buffers. */
struct cache_image {
    uint32_t n_model; /* buffers of the driver */
    uint32_t n_data;
    struct nn_hash_part *parts;
};

/* Whether these bytes are the shared ones, whose hash is known. */
static bool is_shared(const struct nn_loaded_cache *loaded, uint32_t i, const void *bytes)
{
    return i < loaded->n_weights && nn_weights_data(loaded->weights[i]) == bytes;
}

static int make_image(const struct nnhal_cache *cache, const struct nn_prepared *prepared,
                      struct nn_arena *arena, struct cache_image *image)
{
    struct nn_cache_head head = {.priority = prepared->priority,
                                 .stage = prepared->reoptimization.stage,
                                 .io = prepared->io};
    const uint8_t *bytes;
    int r;

    image->n_model = cache->n_model_files;
    image->n_data = cache->n_data_files;
    head.n_files = image->n_model + image->n_data;
    image->parts = nn_arena_new_n(arena, struct nn_hash_part, head.n_files + 1);
    head.files = nn_arena_new_n(arena, struct nn_cache_file, head.n_files);
    if (!image->parts || !head.files)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < head.n_files; i++) {
        bool is_data = i >= image->n_model;
        const struct nnhal_cache_buffer *buffer = is_data ? &cache->data_files[i - image->n_model]
                                                          : &cache->model_files[i];

        image->parts[i + 1] = (struct nn_hash_part){buffer->bytes, buffer->size};
        head.files[i] = (struct nn_cache_file){
            .size = buffer->size,
            .sum = is_data ? nn_hash_checksum(buffer->bytes, buffer->size) : 0,
        };
        if (is_data && is_shared(&prepared->loaded, i - image->n_model, buffer->bytes))
            head.files[i].hash = *nn_weights_hash(prepared->loaded.weights[i - image->n_model]);
    }
    r = nn_cache_head_encode(&head, arena, &bytes, &image->parts[0].size);
    image->parts[0].bytes = bytes;
    return nn_error_trace(r);
}

/* The sizes of the model files, then their bytes: what check_hash() does with what it has read. */
static int hash_image(const struct cache_image *image, struct nn_arena *arena,
                      struct nn_hash *ret_hash)
{
    uint32_t n_files = image->n_model ? image->n_model : 1;
    struct nn_hash_part *parts = nn_arena_new_n(arena, struct nn_hash_part, image->n_model + 2);
    uint64_t *sizes = nn_arena_new_n(arena, uint64_t, n_files);

    if (!parts || !sizes)
        return nn_error_origin(-ENOMEM);
    parts[0] = (struct nn_hash_part){sizes, n_files * sizeof(*sizes)};
    memcpy(&parts[1], image->parts, (image->n_model + 1) * sizeof(*parts));
    sizes[0] = image->parts[0].size;
    for (uint32_t i = 0; i < image->n_model; i++)
        sizes[i] += image->parts[i + 1].size;
    nn_hash_compute(parts, image->n_model + 2, ret_hash);
    return 0;
}

/* The first model file comes last, and is empty until then: with it the files are whole. */
static int write_files(const struct cache_image *image,
                       const struct nn_hal_prepare_model_args *args,
                       int (*write_file)(int fd, const struct nn_hash_part *parts, size_t n_parts))
{
    uint64_t size = 0;
    int r = 0;

    /* An entry that is there is made empty first: a reader then sees none, and not half of each. */
    if (nn_entry_file_size(args->model_cache[0], &size) != 0 || size)
        r = write_file(args->model_cache[0], NULL, 0);
    for (uint32_t i = 0; r == 0 && i < args->n_data_cache; i++)
        r = write_file(args->data_cache[i], &image->parts[image->n_model + 1 + i], 1);
    for (uint32_t i = 1; r == 0 && i < args->n_model_cache; i++)
        r = write_file(args->model_cache[i], &image->parts[i + 1], 1);
    if (r == 0)
        r = write_file(args->model_cache[0], image->parts, image->n_model ? 2 : 1);
    /* What failed half way must not look whole; the hash would refuse it, an empty file costs
     * less. */
    if (r < 0)
        write_file(args->model_cache[0], NULL, 0);
    return nn_error_trace(r);
}

/* What is there is replaced in place: until it is whole, both are right. The files have their
 * names already, so each is on the disk before the next is written. */
static int replace_files(struct nn_host_session *session, const struct cache_image *image,
                         const struct nn_hal_prepare_model_args *args, const struct nn_hash *hash)
{
    struct nn_token_map *tokens = session->host->tokens;
    int r = nn_token_map_put_next(tokens, session->uid, args->token, hash);

    if (r == 0)
        r = write_files(image, args, nn_entry_file_write);
    if (r == 0)
        r = nn_token_map_put(tokens, session->uid, args->token, hash);
    return nn_error_trace(r);
}

static bool cache_save(struct nn_host_session *session,
                       const struct nn_hal_prepare_model_args *args,
                       const struct nnhal_cache *cache, const struct nn_prepared *prepared,
                       bool is_again)
{
    struct nn_arena arena;
    struct nn_hash hash;
    struct cache_image image;
    int r;

    if (!is_filled(cache))
        return false;
    nn_arena_init(&arena, 0);
    r = make_image(cache, prepared, &arena, &image);
    if (r == 0)
        r = hash_image(&image, &arena, &hash);
    if (r == 0 && is_again)
        r = replace_files(session, &image, args, &hash);
    else if (r == 0)
        r = nn_token_map_put(session->host->tokens, session->uid, args->token, &hash);
    /* The map first, as drivers are promised (doc/driver/caching.md): what a crash leaves is a hash
     * without its file, which is a miss. */
    if (r == 0 && !is_again) /* the client syncs them before it gives them names */
        r = write_files(&image, args, nn_entry_file_write_unsynced);
    nn_arena_done(&arena);
    if (r < 0)
        nn_log("cache", NN_LOG_INFO, "a compiled model was not cached: %s", strerror(-r));
    return r == 0;
}

bool nn_cache_save(struct nn_host_session *session, const struct nn_hal_prepare_model_args *args,
                   const struct nnhal_cache *cache, const struct nn_prepared *prepared)
{
    return cache_save(session, args, cache, prepared, false);
}

bool nn_cache_save_again(struct nn_host_session *session,
                         const struct nn_hal_prepare_model_args *args,
                         const struct nnhal_cache *cache, const struct nn_prepared *prepared)
{
    return cache_save(session, args, cache, prepared, true);
}

/* -- loading ------------------------------------------------------------------------- */

static uint32_t check_files(struct nn_call *call, const struct nn_host *host,
                            const struct nn_hal_prepare_model_from_cache_args *args)
{
    uint32_t n_model, n_data;

    nn_cache_n_files(host, &n_model, &n_data);
    if (!n_model)
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "driver %s keeps no compilation cache: prepare the model anew",
                            host->driver.name);
    if (args->n_model_cache != n_model || args->n_data_cache != n_data)
        return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                            "there are %u and %u cache files, driver %s has %u and %u",
                            args->n_model_cache, args->n_data_cache, host->driver.name, n_model,
                            n_data);
    for (uint32_t i = 0; i < n_model + n_data; i++)
        if ((i < n_model ? args->model_cache[i] : args->data_cache[i - n_model]) < 0)
            return nn_call_fail(call, NNHAL_INVALID_ARGUMENT,
                                "a cache file comes without a descriptor");
    return NNHAL_NONE;
}

/* Bytes of all files, charged to the session before memory is taken. Data that may be shared is
 * charged where it is found to be new, and once; a driver that does not say what it takes is
 * believed to make as much again of all. */
static uint32_t measure_files(struct nn_call *call,
                              const struct nn_hal_prepare_model_from_cache_args *args,
                              struct nn_hash_part *files, struct nn_prepared *prepared)
{
    const struct nn_host *host = call->session->host;
    uint32_t n_model = args->n_model_cache, status;
    uint64_t sum = 0, own = 0;

    for (uint32_t i = 0; i < n_model + args->n_data_cache; i++) {
        int fd = i < n_model ? args->model_cache[i] : args->data_cache[i - n_model];

        if (nn_entry_file_size(fd, &files[i].size) != 0)
            return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                                "a cache file cannot be read: open it for reading and writing");
        sum += files[i].size;
        if (i < n_model || host->sharing == NN_HOST_SHARING_NONE)
            own += files[i].size;
    }
    status = nn_call_charge(call, NN_QUOTA_MODEL_BYTES, sum, "bytes of prepared models",
                            &prepared->bytes_charge);
    if (status == NNHAL_NONE)
        status = nn_call_charge_memory(call, own, &prepared->loaded.charge);
    if (status == NNHAL_NONE && !host->driver.charges_memory)
        status = nn_call_charge_memory(call, sum, &prepared->estimate_charge);
    return status;
}

static uint32_t say_unread(struct nn_call *call, int r)
{
    if (r == -EDQUOT)
        return nn_call_fail(call, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
                            "the data cache needs more memory than its user may still have: free "
                            "something that is not needed, or let NNHAL_USER_MEMORY be raised");
    if (r < 0)
        return nn_call_fail_no_memory(call);
    if (r == NN_CACHED_E_SHORT)
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "a cache file became shorter while it was read");
    return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                        "the data cache is damaged, or belongs to another model cache");
}

static uint32_t read_model(struct nn_call *call, uint32_t n_files, const int32_t *fds,
                           struct nn_hash_part *files, struct nn_loaded_cache *loaded)
{
    for (uint32_t i = 0; i < n_files; i++) {
        struct nnhal_cache_buffer buffer;
        int r = nn_loaded_cache_read(loaded, fds[i], files[i].size, &buffer);

        if (r)
            return say_unread(call, r);
        files[i].bytes = buffer.bytes;
    }
    return NNHAL_NONE;
}

/* This is the decision that the bytes are this driver's, made over the copy that is used from here
 * on; the map's word decides nothing else. */
static uint32_t check_hash(struct nn_call *call, const struct nn_token_hashes *wanted,
                           uint32_t n_files, const struct nn_hash_part *files)
{
    struct nn_hash_part *parts = nn_arena_new_n(call->arena, struct nn_hash_part, n_files + 1);
    uint64_t *sizes = nn_arena_new_n(call->arena, uint64_t, n_files);
    struct nn_hash found;

    if (!parts || !sizes)
        return nn_call_fail_no_memory(call);
    parts[0] = (struct nn_hash_part){sizes, n_files * sizeof(*sizes)};
    for (uint32_t i = 0; i < n_files; i++) {
        sizes[i] = files[i].size;
        parts[i + 1] = files[i];
    }
    nn_hash_compute(parts, n_files + 1, &found);
    if (memcmp(&wanted->current, &found, sizeof(found)) != 0 &&
        memcmp(&wanted->next, &found, sizeof(found)) != 0)
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "the model cache is not what driver %s wrote for this token last",
                            call->session->host->driver.name);
    return NNHAL_NONE;
}

/* -- the model files are not read any more --------------------------------------------- */

/* Whether the model buffers are as the head says; then the driver gets them. */
static bool take_model(const struct nn_host *host, const struct nn_cache_head *head,
                       const struct nn_hash_part *files, uint64_t head_bytes,
                       struct nnhal_cache *cache)
{
    uint32_t n_model = host->driver.n_model_cache_files;

    if (head->n_files != n_model + host->driver.n_data_cache_files)
        return false;
    for (uint32_t i = 0; i < n_model; i++) {
        uint64_t skipped = i == 0 ? head_bytes : 0;

        /* A right hash over another split of the same bytes would move the driver's buffers. */
        if (files[i].size - skipped != head->files[i].size)
            return false;
        cache->model_files[i] = (struct nnhal_cache_buffer){
            (const uint8_t *)files[i].bytes + skipped, files[i].size - skipped};
    }
    return true;
}

static uint32_t take_data(struct nn_call *call, const struct nn_cache_head *head,
                          const int32_t *fds, const struct nn_hash_part *files,
                          struct nn_loaded_cache *loaded, struct nnhal_cache *cache)
{
    const struct nn_cache_file *said = head->files +
                                       call->session->host->driver.n_model_cache_files;

    for (uint32_t i = 0; i < cache->n_data_files; i++) {
        int r;

        if (files[i].size != said[i].size)
            r = NN_CACHED_E_DAMAGED;
        else if (call->session->host->sharing == NN_HOST_SHARING_NONE)
            r = nn_loaded_cache_read_data(loaded, fds[i], &said[i], &cache->data_files[i]);
        else
            r = nn_loaded_cache_find_data(loaded, &call->session->host->weights,
                                          sharing_uid(call->session), fds[i], &said[i],
                                          &cache->data_files[i]);
        if (r)
            return say_unread(call, r);
    }
    return NNHAL_NONE;
}

static uint32_t cache_load(struct nn_call *call,
                           const struct nn_hal_prepare_model_from_cache_args *args,
                           const struct nn_token_hashes *wanted, struct nn_prepared *prepared,
                           struct nnhal_cache *cache)
{
    uint32_t n_model = args->n_model_cache, n_files = n_model + args->n_data_cache;
    struct nn_hash_part *files = nn_arena_new_n(call->arena, struct nn_hash_part, n_files);
    struct nn_loaded_cache *loaded = &prepared->loaded;
    struct nn_cache_head head;
    uint64_t head_bytes;
    uint32_t status;

    if (!files || nn_loaded_cache_init(loaded, n_files, args->n_data_cache, &prepared->arena) < 0)
        return nn_call_fail_no_memory(call);
    /* Charged, then read, then hashed, and looked into last: until its hash is right a file may
     * hold any bytes. */
    status = measure_files(call, args, files, prepared);
    if (status == NNHAL_NONE)
        status = read_model(call, n_model, args->model_cache, files, loaded);
    if (status == NNHAL_NONE)
        status = check_hash(call, wanted, n_model, files);
    if (status != NNHAL_NONE)
        return status;
    if (!nn_cache_head_decode(files[0].bytes, files[0].size, &prepared->arena, &head,
                              &head_bytes) ||
        !take_model(call->session->host, &head, files, head_bytes, cache))
        return say_unread(call, NN_CACHED_E_DAMAGED);
    prepared->priority = head.priority;
    prepared->reoptimization.stage = head.stage;
    prepared->io = head.io;
    return take_data(call, &head, args->data_cache, files + n_model, loaded, cache);
}

uint32_t nn_cache_load(struct nn_call *call,
                       const struct nn_hal_prepare_model_from_cache_args *args,
                       struct nn_prepared *prepared, struct nnhal_cache **ret_cache)
{
    struct nn_host *host = call->session->host;
    uint32_t status = check_files(call, host, args);
    struct nn_token_hashes wanted;

    if (status != NNHAL_NONE)
        return status;
    if (nn_host_open_tokens(host, NULL) < 0 ||
        nn_token_map_get(host->tokens, call->session->uid, args->token, &wanted) != 0)
        return nn_call_fail(call, NNHAL_GENERAL_FAILURE,
                            "driver %s, as it is now, has compiled nothing for this token",
                            host->driver.name);
    *ret_cache = nn_cache_new(host, call->arena);
    if (!*ret_cache)
        return nn_call_fail_no_memory(call);
    return cache_load(call, args, &wanted, prepared, *ret_cache);
}
