/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/store.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define MIB                 (UINT64_C(1) << 20)
#define DEFAULT_KEY_BYTES   UINT64_C(4096)
#define DEFAULT_TOTAL_BYTES (64 * MIB)
#define MIN_DISK_BYTES      MIB
#define HEAD_PARTS          2 /* hashed before a value's */

/* -- opening -------------------------------------------------------------------------- */

static uint64_t or_default(uint64_t number, uint64_t standard)
{
    return number ? number : standard;
}

static int take_options(struct nnhal_store *store, const struct nnhal_store_options *from,
                        uint32_t *ret_flags)
{
    struct nnhal_store_options options = {0};

    if (from && from->size < sizeof(from->size))
        return nn_error_origin(-EINVAL);
    if (from)
        memcpy(&options, from, from->size < sizeof(options) ? from->size : sizeof(options));
    store->max_total_bytes = or_default(options.max_total_bytes, DEFAULT_TOTAL_BYTES);
    store->max_key_bytes = or_default(options.max_key_bytes, DEFAULT_KEY_BYTES);
    store->max_value_bytes = options.max_value_bytes;
    if (!store->max_value_bytes)
        store->max_value_bytes = store->max_total_bytes < 4096 * MIB ? store->max_total_bytes
                                                                     : 4096 * MIB;
    store->max_disk_bytes = store->max_total_bytes > MIN_DISK_BYTES ? store->max_total_bytes
                                                                    : MIN_DISK_BYTES;
    store->selection = options.selection;
    store->capacity = options.capacity;
    *ret_flags = options.flags;
    return store->max_key_bytes <= MIB && store->max_value_bytes <= 4096 * MIB &&
                   store->max_total_bytes <= MIB * MIB && options.selection <= NNHAL_STORE_RANDOM &&
                   options.capacity <= NNHAL_STORE_FIT_HALVE &&
                   (options.flags & ~(uint32_t)NNHAL_STORE_EXISTING) == 0
               ? 0
               : nn_error_origin(-EINVAL);
}

static int check_existing(const char *directory)
{
    _cleanup_(freep) char *path = NULL;

    if (asprintf(&path, "%s/store.db", directory) < 0) {
        path = NULL;
        return nn_error_origin(-ENOMEM);
    }
    return access(path, F_OK) < 0 ? nn_error_origin(-errno) : 0;
}

_public_ int nnhal_store_open(const char *directory, const struct nnhal_store_options *options,
                              struct nnhal_store **ret_store)
{
    struct nnhal_store *store = calloc(1, sizeof(*store));
    uint32_t flags = 0;
    int r;

    if (!store)
        return nn_error_origin(-ENOMEM);
    store->folder_fd = -1;
    r = take_options(store, options, &flags);
    if (r == 0 && (flags & NNHAL_STORE_EXISTING))
        r = check_existing(directory);
    nn_db_lock();
    if (r == 0)
        r = nn_store_open_db(store, directory);
    nn_db_unlock();
    if (r < 0)
        nnhal_store_close(store);
    else
        *ret_store = store;
    return nn_error_trace(r);
}

static bool do_nothing(struct nnhal_store *store, void *ctx)
{
    return true;
}

_public_ void nnhal_store_close(struct nnhal_store *store)
{
    if (!store)
        return;
    nn_db_lock();
    /* What gets have counted is written now, or is lost with this handle. */
    if (store->n_uses || store->n_hits || store->n_misses || store->n_damaged)
        nn_store_transact(store, do_nothing, NULL);
    nn_db_close(&store->db);
    nn_db_unlock();
    closep(&store->folder_fd);
    free(store->doomed);
    free(store);
}

/* -- keys and values --------------------------------------------------------------------- */

static struct nn_store_key key_of(const void *bytes, size_t n_bytes)
{
    return (struct nn_store_key){bytes, n_bytes, (int64_t)nn_hash_checksum(bytes, n_bytes)};
}

/* What is checked when a value is read begins with the lengths, so that no key ends in a value.
 * sizes is room of the caller's, which the parts lead to. */
static void put_head(const struct nn_store_key *key, uint64_t n_value, uint64_t sizes[2],
                     struct nn_hash_part ret_parts[HEAD_PARTS])
{
    sizes[0] = key->n_bytes;
    sizes[1] = n_value;
    ret_parts[0] = (struct nn_hash_part){sizes, 2 * sizeof(*sizes)};
    ret_parts[1] = (struct nn_hash_part){key->bytes, key->n_bytes};
}

static int hash_entry(const struct nn_store_key *key, uint64_t n_value,
                      const struct nn_hash_part *parts, size_t n_parts, struct nn_hash *ret_hash)
{
    _cleanup_(freep) struct nn_hash_part *all = calloc(HEAD_PARTS + n_parts, sizeof(*all));
    uint64_t sizes[2];

    if (!all)
        return nn_error_origin(-ENOMEM);
    put_head(key, n_value, sizes, all);
    memcpy(all + HEAD_PARTS, parts, n_parts * sizeof(*all));
    nn_hash_compute(all, HEAD_PARTS + n_parts, ret_hash);
    return 0;
}

/* Takes no memory: where there is none, an entry would be lost as damaged. */
bool nn_store_is_intact(const void *key, size_t n_key, const void *value, uint64_t n_value,
                        const struct nn_hash *wanted)
{
    const struct nn_store_key whose = {key, n_key, 0};
    struct nn_hash_part all[HEAD_PARTS + 1];
    uint64_t sizes[2];
    struct nn_hash found;

    put_head(&whose, n_value, sizes, all);
    all[HEAD_PARTS] = (struct nn_hash_part){value, n_value};
    nn_hash_compute(all, HEAD_PARTS + 1, &found);
    return memcmp(found.bytes, wanted->bytes, sizeof(found.bytes)) == 0;
}

/* -- setting ------------------------------------------------------------------------------- */

/* A value on its way in. */
struct setting {
    struct nn_store_key key;
    struct nn_store_row row;
    const void *value; /* NULL: it is a file, which is written by then */
    bool is_room_made; /* only makes room */
    bool fits;
};

/* Makes room and, unless that was all, puts the entry into it. */
static bool set_entry(struct nnhal_store *store, void *ctx)
{
    struct setting *setting = ctx;
    uint64_t n_evictions = store->state.n_evictions;
    struct nn_store_row old;

    /* What is replaced counts as room: no other entry goes without need. */
    if (!nn_store_find_row(store, &setting->key, &old) ||
        !nn_store_evict(store, &old, &setting->row,
                        setting->row.file_bytes ? setting->key.n_bytes : setting->row.n_bytes,
                        &setting->fits))
        return false;
    if (setting->fits && setting->is_room_made)
        return true;
    if (!setting->fits && n_evictions == store->state.n_evictions)
        return true;
    if (old.id && !nn_store_delete(store, &old))
        return false;
    if (!setting->fits)
        return true;
    if (!setting->value && nn_store_file_commit(store, setting->row.id) < 0) {
        store->db.failure = SQLITE_IOERR;
        return false;
    }
    store->state.n_sets++;
    return nn_store_insert(store, &setting->key, &setting->row, setting->value);
}

static int store_transact(struct nnhal_store *store,
                          bool (*body)(struct nnhal_store *store, void *ctx), void *ctx)
{
    int r;

    nn_db_lock();
    r = nn_store_transact(store, body, ctx);
    nn_db_unlock();
    return r;
}

static int set_inline(struct nnhal_store *store, struct setting *setting,
                      const struct nn_hash_part *parts, size_t n_parts)
{
    _cleanup_(freep) uint8_t *joined = NULL;
    size_t n_key = setting->key.n_bytes, n = 0;

    setting->value = parts[0].bytes;
    if (n_parts > 1) {
        joined = malloc((size_t)setting->row.n_bytes - n_key);
        if (!joined)
            return nn_error_origin(-ENOMEM);
        for (size_t i = 0; i < n_parts; i++) {
            if (parts[i].size)
                memcpy(joined + n, parts[i].bytes, (size_t)parts[i].size);
            n += (size_t)parts[i].size;
        }
        setting->value = joined;
    }
    return store_transact(store, set_entry, setting);
}

/* Room is made, and the files that leave it are gone, before the new one is written: and
 * looked for again when it has been, as others may have taken it. */
static int set_file(struct nnhal_store *store, struct setting *setting,
                    const struct nn_hash_part *parts, size_t n_parts)
{
    _cleanup_(closep) int fd = -1;
    int r;

    setting->is_room_made = true;
    r = store_transact(store, set_entry, setting);
    if (r != 0 || !setting->fits)
        return r;
    r = nn_store_file_write(store, setting->row.id, parts, n_parts, &fd);
    if (r < 0)
        return nn_error_trace(r);
    setting->is_room_made = false;
    r = store_transact(store, set_entry, setting);
    if (r != 0 || !setting->fits)
        nn_store_file_remove(store, setting->row.id);
    return r;
}

static bool value_measure(const struct nnhal_store *store, const struct nn_store_key *key,
                          const struct nn_hash_part *parts, size_t n_parts, uint64_t *ret_n_value)
{
    uint64_t n = 0;

    for (size_t i = 0; i < n_parts; i++)
        if (!nn_add_u64(n, parts[i].size, &n))
            return false;
    *ret_n_value = n;
    return key->n_bytes && n && key->n_bytes <= store->max_key_bytes &&
           n <= store->max_value_bytes && key->n_bytes + n <= store->max_total_bytes;
}

static int store_set(struct nnhal_store *store, const struct nn_store_key *key,
                     const struct nn_hash_part *parts, size_t n_parts)
{
    struct setting setting = {.key = *key};
    uint64_t n_value;
    int r;

    if (!value_measure(store, key, parts, n_parts, &n_value))
        return NNHAL_STORE_E_TOO_LARGE;
    r = hash_entry(key, n_value, parts, n_parts, &setting.row.hash);
    if (r < 0)
        return nn_error_trace(r);
    setting.row.n_bytes = key->n_bytes + n_value;
    /* Not SQLite's: in a sandbox that has no /dev/urandom to begin with. */
    if (getrandom(&setting.row.id, sizeof(setting.row.id), 0) != sizeof(setting.row.id))
        return nn_error_origin(-EIO);
    /* Positive and never 0, which stands for no row. */
    setting.row.id = (setting.row.id & INT64_MAX) | 1;
    if (n_value > NN_STORE_INLINE_BYTES) {
        setting.row.file_bytes = (n_value + NN_STORE_BLOCK_BYTES - 1) / NN_STORE_BLOCK_BYTES *
                                 NN_STORE_BLOCK_BYTES;
        r = set_file(store, &setting, parts, n_parts);
    } else {
        r = set_inline(store, &setting, parts, n_parts);
    }
    if (r != 0)
        return r;
    return setting.fits ? 0 : NNHAL_STORE_E_TOO_LARGE;
}

_public_ int nnhal_store_set(struct nnhal_store *store, const void *key, size_t key_bytes,
                             const void *value, size_t value_bytes)
{
    const struct nn_store_key wanted = key_of(key, key_bytes);
    const struct nn_hash_part part = {value, value_bytes};

    return store_set(store, &wanted, &part, 1);
}

_public_ int nnhal_store_set_parts(struct nnhal_store *store, const void *key, size_t key_bytes,
                                   const struct nnhal_store_part *from, size_t n_parts)
{
    const struct nn_store_key wanted = key_of(key, key_bytes);
    _cleanup_(freep) struct nn_hash_part *parts = calloc(n_parts ? n_parts : 1, sizeof(*parts));

    if (!parts)
        return nn_error_origin(-ENOMEM);
    for (size_t i = 0; i < n_parts; i++)
        parts[i] = (struct nn_hash_part){from[i].bytes, from[i].n_bytes};
    return store_set(store, &wanted, parts, n_parts);
}

/* -- getting ------------------------------------------------------------------------------- */

/* Where a value goes: memory for n bytes, NULL if there is none. */
struct sink {
    void *buffer;
    size_t capacity;
    const struct nnhal_store_allocator *allocator; /* NULL: buffer */
};

/* Counts a use; those of many gets are written at once. What fails is only not remembered. */
static void store_count_use(struct nnhal_store *store, int64_t id, bool is_hit, bool is_damaged)
{
    nn_db_lock();
    /* A get that wrote each time would take the writers' lock: 64 uses share one transaction. */
    if (store->n_uses == NN_STORE_MAX_USES) {
        nn_store_transact(store, do_nothing, NULL);
        store->n_uses = 0;
    }
    if (is_hit)
        store->uses[store->n_uses++] = id;
    store->n_hits += is_hit;
    store->n_misses += !is_hit;
    store->n_damaged += is_damaged;
    nn_db_unlock();
}

static bool forget_entry(struct nnhal_store *store, void *ctx)
{
    const int64_t *id = ctx;
    struct nn_store_found found;
    bool is_good = nn_store_find_id(store, *id, &found) &&
                   (!found.row.id || nn_store_delete(store, &found.row));

    nn_store_found_done(&found);
    return is_good;
}

/* The value into memory of the sink. Returns: whether it is the right one. */
static bool read_value(const struct nn_store_key *key, const struct nn_store_found *found,
                       void *memory, size_t n_value)
{
    if (found->value)
        memcpy(memory, found->value, n_value);
    else if (found->fd < 0 || nn_sys_pread(found->fd, memory, n_value, 0) != (ssize_t)n_value)
        return false;
    return nn_store_is_intact(key->bytes, key->n_bytes, memory, n_value, &found->row.hash);
}

static int value_deliver(const struct nn_store_key *key, const struct nn_store_found *found,
                         const struct sink *sink, void **ret_value, size_t *ret_bytes)
{
    size_t n_value = (size_t)found->row.n_bytes - key->n_bytes;
    void *memory = sink->buffer;

    if (!sink->allocator && n_value > sink->capacity) {
        *ret_bytes = n_value;
        return NNHAL_STORE_E_TOO_SMALL;
    }
    if (sink->allocator)
        memory = sink->allocator->allocate(sink->allocator->ctx, n_value);
    if (!memory)
        return nn_error_origin(-ENOMEM);
    if (!read_value(key, found, memory, n_value)) {
        if (sink->allocator)
            sink->allocator->release(sink->allocator->ctx, memory);
        return NNHAL_STORE_E_NONE;
    }
    *ret_value = memory;
    *ret_bytes = n_value;
    return 0;
}

/* Returns: 0, NONE, FORKED. What cannot be read is not there. */
static int store_find(struct nnhal_store *store, const struct nn_store_key *key,
                      struct nn_store_found *ret_found)
{
    int r;

    *ret_found = (struct nn_store_found){.fd = -1};
    nn_db_lock();
    r = nn_store_refresh(store);
    if (r == 0 && !nn_store_find(store, key, ret_found)) {
        nn_store_found_done(ret_found);
        r = nn_db_recover(&store->db);
    }
    nn_db_unlock();
    if (r == NNHAL_STORE_E_FORKED)
        return r;
    return r == 0 && ret_found->row.id ? 0 : NNHAL_STORE_E_NONE;
}

static int store_get(struct nnhal_store *store, const void *key_bytes, size_t n_key,
                     const struct sink *sink, void **ret_value, size_t *ret_bytes)
{
    const struct nn_store_key key = key_of(key_bytes, n_key);
    struct nn_store_found found;
    int r = store_find(store, &key, &found);
    bool is_damaged;
    int64_t id;

    if (r == NNHAL_STORE_E_FORKED)
        return r;
    if (r == NNHAL_STORE_E_NONE) {
        store_count_use(store, 0, false, false);
        return r;
    }
    id = found.row.id;
    r = found.row.n_bytes > n_key ? value_deliver(&key, &found, sink, ret_value, ret_bytes)
                                  : NNHAL_STORE_E_NONE;
    is_damaged = r == NNHAL_STORE_E_NONE && !nn_store_found_is_unreadable(&found);
    nn_store_found_done(&found);
    if (r == 0 || r == NNHAL_STORE_E_NONE)
        store_count_use(store, id, r == 0, is_damaged);
    /* Removed after the value was looked at: a get holds no transaction while it reads a file. */
    if (is_damaged)
        store_transact(store, forget_entry, &id);
    return r;
}

_public_ int nnhal_store_get(struct nnhal_store *store, const void *key, size_t key_bytes,
                             void *buffer, size_t capacity, size_t *ret_bytes)
{
    const struct sink sink = {.buffer = buffer, .capacity = capacity};
    void *value;

    return store_get(store, key, key_bytes, &sink, &value, ret_bytes);
}

static void *plain_allocate(void *ctx, size_t n_bytes)
{
    return malloc(n_bytes);
}

static void plain_release(void *ctx, void *block)
{
    free(block);
}

_public_ int nnhal_store_get_allocated(struct nnhal_store *store, const void *key, size_t key_bytes,
                                       const struct nnhal_store_allocator *allocator,
                                       void **ret_value, size_t *ret_bytes)
{
    static const struct nnhal_store_allocator plain = {.allocate = plain_allocate,
                                                       .release = plain_release};
    const struct sink sink = {.allocator = allocator ? allocator : &plain};

    return store_get(store, key, key_bytes, &sink, ret_value, ret_bytes);
}

/* -- removing ------------------------------------------------------------------------------ */

struct removal {
    struct nn_store_key key;
    bool is_found;
};

static bool remove_entry(struct nnhal_store *store, void *ctx)
{
    struct removal *removal = ctx;
    struct nn_store_row row;

    if (!nn_store_find_row(store, &removal->key, &row))
        return false;
    removal->is_found = row.id != 0;
    return !row.id || nn_store_delete(store, &row);
}

_public_ int nnhal_store_remove(struct nnhal_store *store, const void *key, size_t key_bytes)
{
    struct removal removal = {.key = key_of(key, key_bytes)};
    int r = store_transact(store, remove_entry, &removal);

    if (r != 0)
        return r;
    return removal.is_found ? 0 : NNHAL_STORE_E_NONE;
}

static bool clear_entries(struct nnhal_store *store, void *ctx)
{
    struct nn_store_row row;

    while (store->state.n_entries)
        if (!nn_store_choose_victim(store, 0, &row) || !nn_store_delete(store, &row))
            return false;
    return nn_db_exec(&store->db, "PRAGMA incremental_vacuum");
}

_public_ int nnhal_store_clear(struct nnhal_store *store)
{
    return store_transact(store, clear_entries, NULL);
}
