/* SPDX-License-Identifier: Apache-2.0 */
/* cmd-cache.c - nnhal cache: what lies in a cache folder, and whether it is whole */
#include "tool.h"

#include <nnhal/cache.h>
#include <nnhal/ext.h>

#include <cjson/cJSON.h>

#include <errno.h>
#include <unistd.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* In the order of the words of cache.def. */
enum action { ACTION_LIST, ACTION_VERIFY, ACTION_CLEAR, ACTION_STATS };

/* What was asked for, and what has been found so far. */
struct cache_job {
    enum action action;
    const char *path;
    bool is_json;
    cJSON *list; /* of is_json */
    uint64_t n_entries;
    uint64_t n_bytes;
    uint64_t n_damaged;
    uint64_t n_by_state[NNHAL_FOLDER_NOT_THERE + 1];
    uint64_t n_by_outcome[NNHAL_CACHE_UNCACHED + 1];
};

#define TOOL_VALUES struct cache_job
static const struct tool_usage cache_usage = {
#include "options/cache.def"
};

/* -- words ------------------------------------------------------------------------------ */

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"whole", "incomplete", "being made", "damaged", "gone"};

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

static const char *outcome_name(const struct nnhal_folder_entry *entry)
{
    static const char *const names[] = {"none", "hit", "compiled", "uncached"};

    return *entry->why && entry->outcome < 4 ? names[entry->outcome] : "";
}

/* "12 s", "3 min", "5 h", "9 d" */
static void put_age(int64_t since_s, char *text, size_t n)
{
    int64_t age = time(NULL) - since_s;

    if (age < 0)
        age = 0;
    if (age < 100)
        snprintf(text, n, "%" PRId64 " s", age);
    else if (age < 6000)
        snprintf(text, n, "%" PRId64 " min", age / 60);
    else if (age < 48 * 3600)
        snprintf(text, n, "%" PRId64 " h", age / 3600);
    else
        snprintf(text, n, "%" PRId64 " d", age / 86400);
}

static void put_size(uint64_t n_bytes, char *text, size_t n)
{
    if (n_bytes < 10000)
        snprintf(text, n, "%" PRIu64 " B", n_bytes);
    else if (n_bytes < 10000000)
        snprintf(text, n, "%" PRIu64 " kB", n_bytes / 1000);
    else
        snprintf(text, n, "%" PRIu64 " MB", n_bytes / 1000000);
}

/* -- an application's folder -------------------------------------------------------------- */

static void print_entry(const struct nnhal_folder_entry *entry)
{
    char size[32], age[32];

    put_size(entry->n_bytes, size, sizeof(size));
    put_age(entry->used_s, age, sizeof(age));
    printf("%.12s  %8s  %7s ago  %-10s  %-16s %s%s%s\n", entry->key, size, age,
           state_name(entry->state), *entry->device ? entry->device : "-", outcome_name(entry),
           *entry->why ? ": " : "", entry->why);
}

static cJSON *json_entry(const struct nnhal_folder_entry *entry)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "key", entry->key);
    cJSON_AddNumberToObject(object, "bytes", (double)entry->n_bytes);
    cJSON_AddNumberToObject(object, "files", entry->n_files);
    cJSON_AddNumberToObject(object, "used", (double)entry->used_s);
    cJSON_AddStringToObject(object, "state", state_name(entry->state));
    if (*entry->why) {
        cJSON_AddStringToObject(object, "device", entry->device);
        cJSON_AddStringToObject(object, "outcome", outcome_name(entry));
        cJSON_AddStringToObject(object, "why", entry->why);
    }
    return object;
}

static int see_entry(void *ctx, const struct nnhal_folder_entry *entry)
{
    struct cache_job *job = ctx;

    job->n_entries += entry->state != NNHAL_FOLDER_NOT_THERE;
    job->n_bytes += entry->n_bytes;
    job->n_damaged += entry->state == NNHAL_FOLDER_DAMAGED;
    if (entry->state <= NNHAL_FOLDER_NOT_THERE)
        job->n_by_state[entry->state]++;
    if (*entry->why && entry->outcome <= NNHAL_CACHE_UNCACHED)
        job->n_by_outcome[entry->outcome]++;
    if (job->action == ACTION_STATS)
        return 0;
    if (job->is_json)
        cJSON_AddItemToArray(job->list, json_entry(entry));
    else
        print_entry(entry);
    return 0;
}

static void show_folder_stats(const struct cache_job *job)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "kind", "folder");
    cJSON_AddNumberToObject(object, "entries", (double)job->n_entries);
    cJSON_AddNumberToObject(object, "bytes", (double)job->n_bytes);
    cJSON_AddNumberToObject(object, "incomplete", (double)job->n_by_state[NNHAL_FOLDER_INCOMPLETE]);
    cJSON_AddNumberToObject(object, "last_hit", (double)job->n_by_outcome[NNHAL_CACHE_HIT]);
    cJSON_AddNumberToObject(object, "last_compiled",
                            (double)job->n_by_outcome[NNHAL_CACHE_COMPILED]);
    cJSON_AddNumberToObject(object, "last_uncached",
                            (double)job->n_by_outcome[NNHAL_CACHE_UNCACHED]);
    job->list ? cJSON_AddItemToArray(job->list, object) : cJSON_Delete(object);
    if (job->is_json)
        return;
    printf("%" PRIu64 " entries of %" PRIu64 " bytes, %" PRIu64 " incomplete\n", job->n_entries,
           job->n_bytes, job->n_by_state[NNHAL_FOLDER_INCOMPLETE]);
    printf("the last time %" PRIu64 " were hits, %" PRIu64 " were compiled and kept, %" PRIu64
           " were not kept\n",
           job->n_by_outcome[NNHAL_CACHE_HIT], job->n_by_outcome[NNHAL_CACHE_COMPILED],
           job->n_by_outcome[NNHAL_CACHE_UNCACHED]);
}

static int use_folder(struct cache_job *job)
{
    int r;

    if (job->action == ACTION_CLEAR)
        r = nnhal_folder_clear(job->path);
    else if (job->action == ACTION_VERIFY)
        r = nnhal_folder_verify(job->path, see_entry, job);
    else
        r = nnhal_folder_list(job->path, see_entry, job);
    if (r == 0 && job->action == ACTION_STATS)
        show_folder_stats(job);
    return r;
}

/* -- a store -------------------------------------------------------------------------------- */

/* The first bytes as text if they are, else in hexadecimal. */
static void put_key(const struct nnhal_store_entry *entry, char text[2 * sizeof(entry->key) + 1])
{
    bool is_text = true;

    for (uint32_t i = 0; i < entry->n_key; i++)
        is_text = is_text && entry->key[i] > ' ' && entry->key[i] < 127;
    for (uint32_t i = 0; i < entry->n_key; i++)
        snprintf(text + (is_text ? i : 2 * i), 3, is_text ? "%c" : "%02x", entry->key[i]);
    if (!entry->n_key)
        *text = '\0';
}

static int see_value(void *ctx, const struct nnhal_store_entry *entry)
{
    char key[2 * sizeof(entry->key) + 1], size[32], age[32];
    struct cache_job *job = ctx;
    cJSON *object;

    job->n_entries++;
    job->n_damaged += entry->is_damaged;
    put_key(entry, key);
    if (!job->is_json) {
        put_size(entry->key_bytes + entry->value_bytes, size, sizeof(size));
        put_age(entry->used_s, age, sizeof(age));
        printf("%-24.24s  %8s  %7s ago  %s\n", key, size, age,
               entry->is_damaged ? "damaged" : "whole");
        return 0;
    }
    object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "key", key);
    cJSON_AddNumberToObject(object, "key_bytes", (double)entry->key_bytes);
    cJSON_AddNumberToObject(object, "bytes", (double)entry->value_bytes);
    cJSON_AddNumberToObject(object, "made", (double)entry->made_s);
    cJSON_AddNumberToObject(object, "used", (double)entry->used_s);
    cJSON_AddStringToObject(object, "state", entry->is_damaged ? "damaged" : "whole");
    cJSON_AddItemToArray(job->list, object);
    return 0;
}

static int show_store_stats(struct cache_job *job, struct nnhal_store *store)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    int r = nnhal_store_get_stats(store, &stats);
    const struct {
        const char *name;
        uint64_t number;
    } rows[] = {{"entries", stats.n_entries},     {"bytes", stats.n_bytes},
                {"disk_bytes", stats.disk_bytes}, {"hits", stats.n_hits},
                {"misses", stats.n_misses},       {"sets", stats.n_sets},
                {"evictions", stats.n_evictions}, {"damaged", stats.n_damaged}};
    cJSON *object = job->is_json ? cJSON_CreateObject() : NULL;

    if (object)
        cJSON_AddStringToObject(object, "kind", "store");
    for (size_t i = 0; r == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (object)
            cJSON_AddNumberToObject(object, rows[i].name, (double)rows[i].number);
        else
            printf("%-10s %" PRIu64 "\n", rows[i].name, rows[i].number);
    }
    if (object)
        cJSON_AddItemToArray(job->list, object);
    return r;
}

static int use_store(struct cache_job *job)
{
    const struct nnhal_store_options options = {.size = sizeof(options),
                                                .flags = NNHAL_STORE_EXISTING};
    struct nnhal_store *store = NULL;
    int r = nnhal_store_open(job->path, &options, &store);

    if (r == 0 && job->action == ACTION_LIST)
        r = nnhal_store_list(store, see_value, job);
    else if (r == 0 && job->action == ACTION_VERIFY)
        r = nnhal_store_verify(store, see_value, job);
    else if (r == 0 && job->action == ACTION_CLEAR)
        r = nnhal_store_clear(store);
    else if (r == 0)
        r = show_store_stats(job, store);
    nnhal_store_close(store);
    return r;
}

/* -- the command ------------------------------------------------------------------------------ */

static bool is_store(const char *path)
{
    char file[4096];
    struct stat status;

    return snprintf(file, sizeof(file), "%s/store.db", path) < (int)sizeof(file) &&
           lstat(file, &status) == 0;
}

/* statistics are one object, entries a list. */
static void print_json(const struct cache_job *job)
{
    const cJSON *first = cJSON_GetArrayItem(job->list, 0);
    char *text = cJSON_Print(job->action == ACTION_STATS && first ? first : job->list);

    puts(text ? text : "[]");
    free(text);
}

static int cache_run(struct cache_job *job)
{
    int r;

    if (job->is_json)
        job->list = cJSON_CreateArray();
    r = is_store(job->path) ? use_store(job) : use_folder(job);
    if (r == 0 && job->is_json)
        print_json(job);
    cJSON_Delete(job->list);
    if (r != 0)
        return tool_error(TOOL_BAD_FILE, "%s cannot be used: %s", job->path,
                          r == -EPERM ? "it belongs to another user, or others may write into it"
                                      : strerror(r < 0 ? -r : EIO));
    if (job->n_damaged)
        return tool_error(TOOL_BAD_FILE, "%" PRIu64 " of %" PRIu64 " were damaged and are removed",
                          job->n_damaged, job->n_entries);
    return TOOL_OK;
}

static int cache_command(int argc, char **argv)
{
    struct cache_job job = {0};
    int status = tool_parse(argc, argv, &cache_usage, &job), action;

    if (status != TOOL_OK)
        return status < 0 ? TOOL_OK : status;
    action = tool_find_word(&cache_usage, argv[optind]);
    if (action < 0)
        return TOOL_USAGE;
    job.action = (enum action)action;
    job.path = argv[optind + 1];
    return cache_run(&job);
}

const struct tool_command cmd_cache = {&cache_usage, cache_command};
