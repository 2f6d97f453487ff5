/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/compilation/cache.h"

#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "runtime/attribute.h"
#include "runtime/compilation/cache-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#define LONGEST_WAIT_NS (UINT64_C(10) * 1000000000) /* for another process that compiles */
#define FORMAT          1                           /* of folders and keys */

/* An application that compiles a hundred models on a full disk logs one warning. */
static void cache_warn(const char *why)
{
    static uint64_t last;
    uint64_t sum = nn_hash_checksum(why, strlen(why));
    bool is_known = __atomic_exchange_n(&last, sum, __ATOMIC_RELAXED) == sum;

    nn_log("cache", is_known ? NN_LOG_DEBUG : NN_LOG_WARNING, "not cached: %s", why);
}

__attribute__((__format__(__printf__, 3, 4))) static void
set_outcome(struct nn_rt_cache *cache, enum nnhal_cache_outcome outcome, const char *format, ...)
{
    va_list arguments;

    cache->outcome = outcome;
    va_start(arguments, format);
    vsnprintf(cache->why, sizeof(cache->why), format, arguments);
    va_end(arguments);
    if (outcome != NNHAL_CACHE_UNCACHED)
        nn_log("cache", NN_LOG_INFO, "%s", cache->why);
    else
        cache_warn(cache->why);
}

/* -- what was asked for --------------------------------------------------------------- */

static int dup_files(uint32_t n, const int *from, int32_t *to, struct nn_why *why)
{
    for (uint32_t i = 0; i < n; i++) {
        to[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD_CLOEXEC, 3);
        if (to[i] < 0 && (from[i] < 0 || errno == EBADF))
            return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "cache file %u is not open", i);
        if (to[i] < 0)
            return nn_error_origin(-errno);
    }
    return 0;
}

int nn_rt_cache_take_files(struct nn_rt_cache *cache, const struct nn_rt_cache_files *files,
                           struct nn_why *why)
{
    struct nn_entry *set = &cache->files;
    int r;

    if (!files->n_model || files->n_model > NNHAL_MAX_CACHE_FILES ||
        files->n_data > NNHAL_MAX_CACHE_FILES)
        return nn_fail(why, ANEURALNETWORKS_BAD_DATA, "%u and %u cache files: 1 to %d are possible",
                       files->n_model, files->n_data, NNHAL_MAX_CACHE_FILES);
    nn_entry_init(set);
    for (uint32_t i = 0; i < NNHAL_MAX_CACHE_FILES; i++)
        set->model[i] = set->data[i] = -1;
    set->n_model = files->n_model;
    set->n_data = files->n_data;
    r = dup_files(files->n_model, files->model, set->model, why);
    if (!r)
        r = dup_files(files->n_data, files->data, set->data, why);
    if (r)
        nn_entry_done(set);
    return r;
}

void nn_rt_cache_done(struct nn_rt_cache *cache)
{
    free(cache->path);
    cache->path = NULL;
    nn_entry_done(&cache->files);
}

bool nn_rt_cache_is_wanted(const struct nn_rt_cache *cache)
{
    return cache->path || cache->files.n_model;
}

/* -- the key ---------------------------------------------------------------------- */

/* Fields one after the other, each with its length before it. */
struct fields {
    FILE *file;
    const struct nnhal_model *model;
};

static void key_put(const struct fields *fields, const void *bytes, uint64_t n_bytes)
{
    fwrite(&n_bytes, sizeof(n_bytes), 1, fields->file);
    if (n_bytes)
        fwrite(bytes, 1, n_bytes, fields->file);
}

static void key_put_u64(const struct fields *fields, uint64_t number)
{
    key_put(fields, &number, sizeof(number));
}

/* A type, whose prefix is this process's alone, with the place of its extension in the model's list,
 * which is in order of names. */
static uint64_t lasting_type(const struct nnhal_model *model, uint32_t type)
{
    for (uint32_t i = 0; i < model->n_extension_prefixes; i++)
        if (model->extension_prefixes[i].prefix == type >> 16)
            return ((uint64_t)i + 1) << 16 | (type & UINT16_MAX);
    return type;
}

/* Field by field: padding bytes and pointers of a struct would make every key a new one. */
static void key_put_operand(const struct fields *fields, const struct nnhal_operand *operand)
{
    const uint64_t numbers[] = {lasting_type(fields->model, operand->type),
                                operand->lifetime,
                                (uint64_t)(int64_t)operand->zero_point,
                                operand->extra_params,
                                operand->location.pool_index,
                                operand->location.offset,
                                operand->location.length,
                                operand->channel_quant.channel_dim};

    key_put(fields, numbers, sizeof(numbers));
    key_put(fields, &operand->scale, sizeof(operand->scale));
    key_put(fields, operand->dimensions, operand->n_dimensions * sizeof(uint32_t));
    key_put(fields, operand->channel_quant.scales, operand->channel_quant.n_scales * sizeof(float));
    key_put(fields, operand->extension_data.data, operand->extension_data.size);
}

static void key_put_subgraph(const struct fields *fields, const struct nnhal_subgraph *graph)
{
    key_put_u64(fields, graph->n_operands);
    for (uint32_t i = 0; i < graph->n_operands; i++)
        key_put_operand(fields, &graph->operands[i]);
    key_put_u64(fields, graph->n_operations);
    for (uint32_t i = 0; i < graph->n_operations; i++) {
        const struct nnhal_operation *operation = &graph->operations[i];

        key_put_u64(fields, lasting_type(fields->model, operation->type));
        key_put(fields, operation->inputs, operation->n_inputs * sizeof(uint32_t));
        key_put(fields, operation->outputs, operation->n_outputs * sizeof(uint32_t));
    }
    key_put(fields, graph->input_indexes, graph->n_input_indexes * sizeof(uint32_t));
    key_put(fields, graph->output_indexes, graph->n_output_indexes * sizeof(uint32_t));
}

/* The structure and the small values: large ones are what the token stands for. */
static void key_put_model(const struct fields *fields)
{
    const struct nnhal_model *model = fields->model;

    key_put_u64(fields, model->relax_computation_float32_to_float16);
    key_put(fields, model->operand_values.data, model->operand_values.size);
    key_put_subgraph(fields, &model->main);
    key_put_u64(fields, model->n_referenced);
    for (uint32_t i = 0; i < model->n_referenced; i++)
        key_put_subgraph(fields, &model->referenced[i]);
    key_put_u64(fields, model->n_extension_prefixes);
    for (uint32_t i = 0; i < model->n_extension_prefixes; i++)
        key_put(fields, model->extension_prefixes[i].name,
                strlen(model->extension_prefixes[i].name));
}

/* Everything that decides what is compiled: two compilations with one key are interchangeable. */
static int make_key(const struct nn_rt_cache *cache, const struct nn_rt_model *finished,
                    const ANeuralNetworksDevice *device,
                    const struct nn_rt_prepare_options *options, struct nn_hash *ret_key)
{
    _cleanup_(freep) char *bytes = NULL;
    size_t n_bytes = 0;
    const struct fields fields = {.file = open_memstream(&bytes, &n_bytes),
                                  .model = &finished->model};
    struct nn_hash_part part;
    bool is_short;

    if (!fields.file)
        return nn_error_origin(-ENOMEM);
    key_put_u64(&fields, FORMAT);
    key_put(&fields, cache->token, sizeof(cache->token));
    key_put(&fields, device->name, strlen(device->name));
    key_put(&fields, device->version, strlen(device->version));
    key_put_u64(&fields, options->preference);
    key_put_u64(&fields, options->priority);
    for (uint32_t i = 0; i < options->attributes->n; i++) {
        key_put_u64(&fields, (uint64_t)options->attributes->hints[i].token);
        key_put(&fields, options->attributes->hints[i].value.data,
                options->attributes->hints[i].value.size);
    }
    key_put_model(&fields);
    is_short = ferror(fields.file) != 0;
    if (fclose(fields.file) != 0 || is_short)
        return nn_error_origin(-ENOMEM);
    part = (struct nn_hash_part){bytes, n_bytes};
    nn_hash_compute(&part, 1, ret_key);
    return 0;
}

/* -- hit and miss -------------------------------------------------------------------- */

struct cache_attempt {
    struct nn_rt_cache *cache;
    const ANeuralNetworksDevice *device;
    const struct nn_rt_cache_calls *calls;
    struct nn_folder folder;
    struct nn_hash key;
    ino_t refused;     /* the first model file of an entry that was refused; 0: none was */
    bool is_submitted; /* the writer has folder and entry, and notes the outcome */
};

/* Returns: whether it was a hit; else cache->why says why not. What was refused before is not
 * tried again. */
static bool try_hit(struct cache_attempt *attempt)
{
    struct nn_entry set;
    struct nn_why why = {0};
    ino_t found;
    int r;

    if (nn_entry_find(&attempt->folder, &attempt->key, attempt->device->n_model_cache,
                      attempt->device->n_data_cache, &set) != 0) {
        set_outcome(attempt->cache, NNHAL_CACHE_COMPILED, "there was no entry for this model");
        return false;
    }
    found = set.inode;
    /* The same file would be refused again, after reading and hashing it once more. */
    if (attempt->refused && found == attempt->refused) {
        nn_entry_done(&set);
        return false;
    }
    r = attempt->calls->from_cache(attempt->calls->ctx, &set, attempt->key.bytes, &why);
    nn_entry_done(&set);
    attempt->refused = r ? found : 0;
    if (r)
        set_outcome(attempt->cache, NNHAL_CACHE_COMPILED, "the entry was refused: %s", why.text);
    else
        set_outcome(attempt->cache, NNHAL_CACHE_HIT, "prepared from the cache");
    return r == 0;
}

static int compile_uncached(struct cache_attempt *attempt, struct nn_why *why)
{
    attempt->cache->outcome = NNHAL_CACHE_UNCACHED;
    return attempt->calls->compile(attempt->calls->ctx, NULL, NULL, why);
}

/* The driver's side does not tell why it wrote nothing. A full disk can be seen from here: what was
 * written before it failed still fills it. */
static void set_unwritten(struct cache_attempt *attempt)
{
    struct statvfs space;

    if (fstatvfs(attempt->folder.fd, &space) == 0 && space.f_bavail == 0)
        set_outcome(attempt->cache, NNHAL_CACHE_UNCACHED, "there is no room left in %s",
                    attempt->cache->path);
    else
        set_outcome(attempt->cache, NNHAL_CACHE_UNCACHED,
                    "%s kept nothing: it cannot keep this model, or has no place for what it must "
                    "remember: see NNHAL_STATE_PATH",
                    attempt->device->name);
}

/* For people: nnhal cache tells it. */
static struct nn_history_record make_record(const struct cache_attempt *attempt)
{
    struct nn_history_record record;

    memset(&record, 0, sizeof(record)); /* the padding is written, too */
    record.key = attempt->key;
    record.time_s = time(NULL);
    record.outcome = attempt->cache->outcome;
    snprintf(record.device, sizeof(record.device), "%s", attempt->device->name);
    snprintf(record.why, sizeof(record.why), "%s", attempt->cache->why);
    return record;
}

static void outcome_record(const struct cache_attempt *attempt)
{
    const struct nn_history_record record = make_record(attempt);

    if (!attempt->is_submitted)
        nn_history_write(&attempt->folder, &record);
}

/* The files are written; the rest waits for the disk, which finish() does not. */
static void entry_keep(struct cache_attempt *attempt, struct nn_entry *set)
{
    struct nn_history_record record;

    if (!nn_entry_is_written(set)) {
        set_unwritten(attempt);
        return;
    }
    if (nn_entry_is_removed(set)) {
        set_outcome(attempt->cache, NNHAL_CACHE_UNCACHED,
                    "the entry cannot be kept: %s was removed", attempt->cache->path);
        return;
    }
    record = make_record(attempt);
    nn_rt_cache_writer_submit(&attempt->folder, set, &record);
    attempt->is_submitted = true;
}

static int entry_compile(struct cache_attempt *attempt, struct nn_why *why)
{
    struct nn_entry set;
    int r = nn_entry_create(&attempt->folder, &attempt->key, attempt->device->n_model_cache,
                            attempt->device->n_data_cache, &set);

    if (r < 0) {
        set_outcome(attempt->cache, NNHAL_CACHE_UNCACHED, "%s cannot be written: %s",
                    attempt->cache->path, strerror(-r));
        return compile_uncached(attempt, why);
    }
    r = attempt->calls->compile(attempt->calls->ctx, &set, attempt->key.bytes, why);
    if (r == 0)
        entry_keep(attempt, &set);
    nn_entry_done(&set);
    return r;
}

/* Another process that compiles is waited for half of the time that is left, so that the other half
 * is enough to compile here. */
static uint64_t wait_until_ns(uint64_t deadline_ns)
{
    uint64_t now_ns = nn_sys_now_ns();
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

    return now_ns + (left_ns / 2 < LONGEST_WAIT_NS ? left_ns / 2 : LONGEST_WAIT_NS);
}

/* Looks again under the lock: the entry may have been made since the first look, also where the lock
 * was free at once. */
static int compile_locked(struct cache_attempt *attempt, uint64_t deadline_ns, struct nn_why *why)
{
    int r = nn_folder_lock(&attempt->folder, &attempt->key, wait_until_ns(deadline_ns));

    if (r != 0) {
        set_outcome(attempt->cache, NNHAL_CACHE_UNCACHED,
                    r > 0 ? "another process has been compiling this model for too long"
                          : "the folder's lock cannot be had: it must be writable");
        return compile_uncached(attempt, why);
    }
    if (try_hit(attempt))
        return 0;
    return entry_compile(attempt, why);
}

/* The application's own files: whether they may be used at all is its affair. */
static int prepare_with_files(struct cache_attempt *attempt, struct nn_why *why)
{
    struct nn_rt_cache *cache = attempt->cache;
    const struct nn_rt_cache_calls *calls = attempt->calls;
    int r = calls->from_cache(calls->ctx, &cache->files, attempt->key.bytes, why);

    if (!r) {
        set_outcome(cache, NNHAL_CACHE_HIT, "prepared from the files that were given");
        return 0;
    }
    set_outcome(cache, NNHAL_CACHE_COMPILED, "the files that were given were refused: %s",
                why->text);
    r = calls->compile(calls->ctx, &cache->files, attempt->key.bytes, why);
    if (!r && !nn_entry_is_written(&cache->files))
        set_outcome(cache, NNHAL_CACHE_UNCACHED, "%s kept nothing in the files that were given",
                    attempt->device->name);
    return r;
}

int nn_rt_cache_prepare(struct nn_rt_cache *cache, const struct nn_rt_model *finished,
                        const ANeuralNetworksDevice *device,
                        const struct nn_rt_prepare_options *options,
                        const struct nn_rt_cache_calls *calls, struct nn_why *why)
{
    struct cache_attempt attempt = {.cache = cache, .device = device, .calls = calls};
    int r;

    if (!device->n_model_cache) {
        set_outcome(cache, NNHAL_CACHE_UNCACHED, "%s has no compilation cache", device->name);
        return compile_uncached(&attempt, why);
    }
    /* What fails before the folder is open is noted nowhere: the outcome alone tells. */
    r = make_key(cache, finished, device, options, &attempt.key);
    if (r == 0 && cache->files.n_model)
        return prepare_with_files(&attempt, why);
    if (r == 0)
        r = nn_folder_open(cache->path, &attempt.folder);
    if (r < 0) {
        set_outcome(cache, NNHAL_CACHE_UNCACHED, "%s cannot be used: %s", cache->path,
                    strerror(-r));
        return compile_uncached(&attempt, why);
    }
    r = try_hit(&attempt) ? 0 : compile_locked(&attempt, options->deadline_ns, why);
    outcome_record(&attempt);
    nn_folder_close(&attempt.folder);
    return r;
}
