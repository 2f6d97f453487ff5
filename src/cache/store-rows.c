/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/error.h"
#include "cache/store.h"

#include <string.h>
#include <time.h>

/* What is small comes first, so that it is read without the rest. n_bytes and file_bytes
 * are in an index too, which is what is counted and chosen by. */
static const char schema[] =
    "PRAGMA page_size = 4096;"
    "PRAGMA auto_vacuum = INCREMENTAL;"
    "PRAGMA journal_mode = TRUNCATE;"
    "PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS state("
    "    id INTEGER PRIMARY KEY, n_entries INTEGER NOT NULL, n_bytes INTEGER NOT NULL,"
    "    file_bytes INTEGER NOT NULL, clock INTEGER NOT NULL, n_hits INTEGER NOT NULL,"
    "    n_misses INTEGER NOT NULL, n_sets INTEGER NOT NULL, n_evictions INTEGER NOT NULL,"
    "    n_damaged INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS entries("
    "    id INTEGER PRIMARY KEY, key_sum INTEGER NOT NULL, n_bytes INTEGER NOT NULL,"
    "    file_bytes INTEGER NOT NULL, used INTEGER NOT NULL, used_s INTEGER NOT NULL,"
    "    made_s INTEGER NOT NULL, hash BLOB NOT NULL, key BLOB NOT NULL, value BLOB);"
    "CREATE INDEX IF NOT EXISTS by_key ON entries(key_sum);"
    "CREATE INDEX IF NOT EXISTS by_use ON entries(used, n_bytes, file_bytes);";

/* Every statement, by name. */
enum {
    LOAD_STATE,
    SAVE_STATE,
    COUNT,
    USE,
    FIND,
    FIND_ROW,
    FIND_ID,
    HAS_FILE,
    OLDEST,
    RANDOM_FROM,
    INSERT,
    DELETE,
    PAGE_COUNT,
    FREE_COUNT,
    CHECK,
    LIST,
};

static const char *const sql[] = {
    [LOAD_STATE] = "SELECT n_entries, n_bytes, file_bytes, clock, n_hits, n_misses, n_sets,"
                   " n_evictions, n_damaged FROM state WHERE id = 0",
    [SAVE_STATE] = "INSERT OR REPLACE INTO state VALUES(0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [COUNT] = "SELECT count(*), total(n_bytes), total(file_bytes), max(used)"
              " FROM entries INDEXED BY by_use",
    [USE] = "UPDATE entries SET used = ?2, used_s = ?3 WHERE id = ?1",
    [FIND] = "SELECT id, n_bytes, file_bytes, hash, key, value FROM entries"
             " WHERE key_sum = ?1 AND key = ?2",
    [FIND_ROW] = "SELECT id, n_bytes, file_bytes, hash FROM entries"
                 " WHERE key_sum = ?1 AND key = ?2",
    [FIND_ID] = "SELECT id, n_bytes, file_bytes, hash, key, value FROM entries WHERE id = ?1",
    [HAS_FILE] = "SELECT 1 FROM entries WHERE id = ?1 AND file_bytes > 0",
    [OLDEST] = "SELECT id, n_bytes, file_bytes FROM entries INDEXED BY by_use"
               " WHERE id <> ?1 ORDER BY used LIMIT 1",
    [RANDOM_FROM] = "SELECT id, n_bytes, file_bytes FROM entries"
                    " WHERE id <> ?1 AND id >= ?2 ORDER BY id LIMIT 1",
    [INSERT] = "INSERT INTO entries VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9)",
    [DELETE] = "DELETE FROM entries WHERE id = ?1",
    [PAGE_COUNT] = "PRAGMA page_count",
    [FREE_COUNT] = "PRAGMA freelist_count",
    [CHECK] = "PRAGMA integrity_check(1)",
    [LIST] = "SELECT id, n_bytes, file_bytes, used_s, made_s, length(key), substr(key, 1, 64)"
             " FROM entries ORDER BY used",
};

static sqlite3_stmt *statement_of(struct nnhal_store *store, unsigned i)
{
    return nn_db_statement(&store->db, i, sql[i]);
}

bool nn_store_declare_damaged(struct nnhal_store *store)
{
    store->db.failure = SQLITE_CORRUPT;
    return false;
}

/* Executes a statement without rows. */
static bool statement_finish(struct nnhal_store *store, sqlite3_stmt *statement)
{
    bool is_done = nn_db_step(&store->db, statement) == SQLITE_DONE;

    nn_db_reset(statement);
    return is_done;
}

/* A number of the row that was stepped to; what is negative is damage. */
static uint64_t number_at(sqlite3_stmt *statement, int column)
{
    sqlite3_int64 number = sqlite3_column_int64(statement, column);

    return number < 0 ? 0 : (uint64_t)number;
}

/* -- the state -------------------------------------------------------------------------- */

static bool load_state(struct nnhal_store *store)
{
    sqlite3_stmt *statement = statement_of(store, LOAD_STATE);
    struct nn_store_state *state = &store->state;
    uint64_t *const members[] = {&state->n_entries, &state->n_bytes,     &state->file_bytes,
                                 &state->clock,     &state->n_hits,      &state->n_misses,
                                 &state->n_sets,    &state->n_evictions, &state->n_damaged};
    int r = nn_db_step(&store->db, statement);

    *state = (struct nn_store_state){0};
    for (size_t i = 0; r == SQLITE_ROW && i < NN_N_ELEMENTS(members); i++)
        *members[i] = number_at(statement, (int)i);
    nn_db_reset(statement);
    return r != 0;
}

static bool save_state(struct nnhal_store *store)
{
    sqlite3_stmt *statement = statement_of(store, SAVE_STATE);
    const struct nn_store_state *state = &store->state;
    const uint64_t members[] = {state->n_entries, state->n_bytes,     state->file_bytes,
                                state->clock,     state->n_hits,      state->n_misses,
                                state->n_sets,    state->n_evictions, state->n_damaged};

    for (size_t i = 0; i < NN_N_ELEMENTS(members); i++)
        sqlite3_bind_int64(statement, (int)i + 1, (sqlite3_int64)members[i]);
    return statement_finish(store, statement);
}

/* The sums of what is there, not what the state says. */
static bool count_entries(struct nnhal_store *store)
{
    sqlite3_stmt *statement = statement_of(store, COUNT);
    struct nn_store_state *state = &store->state;
    bool is_counted = nn_db_step(&store->db, statement) == SQLITE_ROW;

    if (is_counted) {
        state->n_entries = number_at(statement, 0);
        state->n_bytes = number_at(statement, 1);
        state->file_bytes = number_at(statement, 2);
        if (number_at(statement, 3) > state->clock)
            state->clock = number_at(statement, 3);
    }
    nn_db_reset(statement);
    return is_counted;
}

static bool put_uses(struct nnhal_store *store)
{
    sqlite3_stmt *statement = statement_of(store, USE);

    for (uint32_t i = 0; i < store->n_uses; i++) {
        sqlite3_bind_int64(statement, 1, store->uses[i]);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)++store->state.clock);
        sqlite3_bind_int64(statement, 3, time(NULL));
        if (!statement_finish(store, statement))
            return false;
    }
    store->state.n_hits += store->n_hits;
    store->state.n_misses += store->n_misses;
    store->state.n_damaged += store->n_damaged;
    return true;
}

/* -- transactions -------------------------------------------------------------------------- */

/* Files go after the commit: if it fails their rows are still there. One that is killed in between
 * leaves files without rows, which the next sweep removes. */
static void end_transaction(struct nnhal_store *store, bool is_committed)
{
    for (size_t i = 0; is_committed && i < store->n_doomed; i++)
        nn_store_file_remove(store, store->doomed[i]);
    free(store->doomed);
    store->doomed = NULL;
    store->n_doomed = 0;
    if (!is_committed)
        return;
    store->n_uses = 0;
    store->n_hits = 0;
    store->n_misses = 0;
    store->n_damaged = 0;
}

/* One that changes nothing does not write. */
static bool try_transaction(struct nnhal_store *store,
                            bool (*body)(struct nnhal_store *store, void *ctx), void *ctx)
{
    struct nn_store_state before;
    bool is_committed = nn_db_begin(&store->db, store->folder_fd) && load_state(store);

    before = store->state;
    is_committed = is_committed && put_uses(store) && body(store, ctx) &&
                   (memcmp(&before, &store->state, sizeof(before)) == 0 || save_state(store)) &&
                   nn_db_exec(&store->db, "COMMIT");
    end_transaction(store, is_committed);
    return is_committed;
}

static bool has_file(struct nnhal_store *store, int64_t id)
{
    sqlite3_stmt *statement = statement_of(store, HAS_FILE);
    bool is_there;

    sqlite3_bind_int64(statement, 1, id);
    is_there = nn_db_step(&store->db, statement) != SQLITE_DONE; /* failed: let it be */
    nn_db_reset(statement);
    return is_there;
}

static bool count_and_sweep(struct nnhal_store *store, void *ctx)
{
    if (!count_entries(store))
        return false;
    nn_store_sweep(store, has_file);
    return true;
}

/* The database is new to us: what others have left is counted, or removed. */
static int begin_anew(struct nnhal_store *store)
{
    int r = nn_store_folder_open(store);

    if (r < 0)
        return nn_error_trace(r);
    for (int i = 0; i < 2; i++) {
        store->n_damaged += store->db.n_replaced - store->n_seen_replaced;
        store->n_seen_replaced = store->db.n_replaced;
        if (try_transaction(store, count_and_sweep, NULL))
            return 0;
        r = nn_db_recover(&store->db);
        if (r != NN_DB_E_REPLACED)
            return nn_error_trace(r);
    }
    return nn_error_origin(-EIO);
}

int nn_store_open_db(struct nnhal_store *store, const char *directory)
{
    int r = nn_db_open(&store->db, directory, "store.db", schema);

    return r < 0 ? nn_error_trace(r) : nn_error_trace(begin_anew(store));
}

int nn_store_refresh(struct nnhal_store *store)
{
    int r = nn_db_refresh(&store->db);

    if (r == NN_DB_E_FORKED)
        return NNHAL_STORE_E_FORKED;
    if (r == NN_DB_E_REPLACED || store->n_seen_replaced != store->db.n_replaced)
        return nn_error_trace(begin_anew(store));
    return nn_error_trace(r);
}

int nn_store_transact(struct nnhal_store *store, bool (*body)(struct nnhal_store *store, void *ctx),
                      void *ctx)
{
    int r = nn_store_refresh(store);

    /* Done again on an empty database at most once: two damages in a row are the disk's. */
    if (r != 0 || try_transaction(store, body, ctx))
        return r;
    r = nn_db_recover(&store->db);
    if (r == NN_DB_E_REPLACED) {
        r = begin_anew(store);
        if (r == 0 && !try_transaction(store, body, ctx))
            r = nn_db_recover(&store->db);
    }
    return r == NN_DB_E_REPLACED ? nn_error_origin(-EIO) : nn_error_trace(r);
}

/* -- finding ------------------------------------------------------------------------------- */

static void bind_key(sqlite3_stmt *statement, int first, const struct nn_store_key *key)
{
    sqlite3_bind_int64(statement, first, key->sum);
    sqlite3_bind_blob64(statement, first + 1, key->bytes, key->n_bytes, SQLITE_STATIC);
}

static void take_numbers(sqlite3_stmt *statement, struct nn_store_row *row)
{
    row->id = sqlite3_column_int64(statement, 0);
    row->n_bytes = number_at(statement, 1);
    row->file_bytes = number_at(statement, 2);
}

/* Where memory is short SQLite has no bytes, though the blob has some. */
static bool copy_blob(struct nnhal_store *store, sqlite3_stmt *statement, int column, void *to,
                      size_t n)
{
    const void *bytes = sqlite3_column_blob(statement, column);

    if (!bytes && n > 0) {
        store->db.failure = SQLITE_NOMEM;
        return false;
    }
    if (n > 0)
        memcpy(to, bytes, n);
    return true;
}

static bool take_row(struct nnhal_store *store, sqlite3_stmt *statement, struct nn_store_row *row)
{
    take_numbers(statement, row);
    /* Numbers of a row that SQLite thinks whole may still be nonsense: they become sizes and
     * names. */
    if (row->id <= 0 || sqlite3_column_bytes(statement, 3) != NN_HASH_BYTES)
        return nn_store_declare_damaged(store);
    return copy_blob(store, statement, 3, row->hash.bytes, NN_HASH_BYTES);
}

/* A blob's bytes; those of an empty one are not NULL. */
static uint8_t *dup_blob(struct nnhal_store *store, sqlite3_stmt *statement, int column,
                         size_t *ret_size)
{
    size_t n = (size_t)sqlite3_column_bytes(statement, column);
    _cleanup_(freep) uint8_t *copy = malloc(n ? n : 1);

    if (!copy)
        store->db.failure = SQLITE_NOMEM;
    if (!copy || !copy_blob(store, statement, column, copy, n))
        return NULL;
    *ret_size = n;
    return steal_ptr(&copy);
}

static bool take_found(struct nnhal_store *store, sqlite3_stmt *statement,
                       struct nn_store_found *found)
{
    size_t n_value = 0;

    if (!take_row(store, statement, &found->row))
        return false;
    found->key = dup_blob(store, statement, 4, &found->n_key);
    if (found->key && !found->row.file_bytes)
        found->value = dup_blob(store, statement, 5, &n_value);
    if (!found->key || (!found->row.file_bytes && !found->value))
        return false;
    if (found->row.n_bytes < found->n_key ||
        (!found->row.file_bytes && found->row.n_bytes != found->n_key + n_value))
        return nn_store_declare_damaged(store);
    if (found->row.file_bytes)
        found->fd = nn_store_file_open(store, found->row.id, found->row.n_bytes - found->n_key);
    return true;
}

/* Executes a statement that finds at most one entry with its key and value. */
static bool find_with(struct nnhal_store *store, sqlite3_stmt *statement,
                      struct nn_store_found *found)
{
    int r = nn_db_step(&store->db, statement);
    bool is_good = r == SQLITE_DONE || (r == SQLITE_ROW && take_found(store, statement, found));

    nn_db_reset(statement);
    return is_good;
}

bool nn_store_find(struct nnhal_store *store, const struct nn_store_key *key,
                   struct nn_store_found *ret_found)
{
    sqlite3_stmt *statement = statement_of(store, FIND);

    *ret_found = (struct nn_store_found){.fd = -1};
    bind_key(statement, 1, key);
    return find_with(store, statement, ret_found);
}

bool nn_store_find_id(struct nnhal_store *store, int64_t id, struct nn_store_found *ret_found)
{
    sqlite3_stmt *statement = statement_of(store, FIND_ID);

    *ret_found = (struct nn_store_found){.fd = -1};
    sqlite3_bind_int64(statement, 1, id);
    return find_with(store, statement, ret_found);
}

void nn_store_found_done(struct nn_store_found *found)
{
    free(found->key);
    free(found->value);
    closep(&found->fd);
    *found = (struct nn_store_found){.fd = -1};
}

bool nn_store_find_row(struct nnhal_store *store, const struct nn_store_key *key,
                       struct nn_store_row *ret_row)
{
    sqlite3_stmt *statement = statement_of(store, FIND_ROW);
    bool is_good;
    int r;

    *ret_row = (struct nn_store_row){0};
    bind_key(statement, 1, key);
    r = nn_db_step(&store->db, statement);
    is_good = r == SQLITE_DONE || (r == SQLITE_ROW && take_row(store, statement, ret_row));
    nn_db_reset(statement);
    return is_good;
}

/* -- choosing ------------------------------------------------------------------------------ */

/* Whether one was found is *ret_row's id. */
static bool choose_with(struct nnhal_store *store, sqlite3_stmt *statement,
                        struct nn_store_row *ret_row)
{
    int r = nn_db_step(&store->db, statement);

    *ret_row = (struct nn_store_row){0};
    if (r == SQLITE_ROW)
        take_numbers(statement, ret_row);
    nn_db_reset(statement);
    return r != 0;
}

/* Ids are random, so the first one from a random number on is any of them. */
static bool choose_from(struct nnhal_store *store, int64_t but_not, int64_t from,
                        struct nn_store_row *ret_row)
{
    sqlite3_stmt *statement = statement_of(store, RANDOM_FROM);

    sqlite3_bind_int64(statement, 1, but_not);
    sqlite3_bind_int64(statement, 2, from);
    return choose_with(store, statement, ret_row);
}

bool nn_store_choose_victim(struct nnhal_store *store, int64_t but_not,
                            struct nn_store_row *ret_row)
{
    sqlite3_stmt *statement;
    int64_t from;

    if (store->selection == NNHAL_STORE_LRU) {
        statement = statement_of(store, OLDEST);
        sqlite3_bind_int64(statement, 1, but_not);
        if (!choose_with(store, statement, ret_row))
            return false;
    } else {
        sqlite3_randomness(sizeof(from), &from);
        if (!choose_from(store, but_not, from & INT64_MAX, ret_row) ||
            (!ret_row->id && !choose_from(store, but_not, 0, ret_row)))
            return false;
    }
    return ret_row->id > 0 ||
           nn_store_declare_damaged(store); /* the state says that there is one */
}

/* -- changing ------------------------------------------------------------------------------ */

bool nn_store_insert(struct nnhal_store *store, const struct nn_store_key *key,
                     const struct nn_store_row *row, const void *value)
{
    sqlite3_stmt *statement = statement_of(store, INSERT);
    uint64_t n_value = row->n_bytes - key->n_bytes;

    sqlite3_bind_int64(statement, 1, row->id);
    sqlite3_bind_int64(statement, 2, key->sum);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)row->n_bytes);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)row->file_bytes);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)++store->state.clock);
    sqlite3_bind_int64(statement, 6, time(NULL));
    sqlite3_bind_blob(statement, 7, row->hash.bytes, NN_HASH_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob64(statement, 8, key->bytes, key->n_bytes, SQLITE_STATIC);
    if (value)
        sqlite3_bind_blob64(statement, 9, value, n_value, SQLITE_STATIC);
    store->state.n_entries++;
    store->state.n_bytes += row->n_bytes;
    store->state.file_bytes += row->file_bytes;
    return statement_finish(store, statement);
}

bool nn_store_delete(struct nnhal_store *store, const struct nn_store_row *row)
{
    sqlite3_stmt *statement = statement_of(store, DELETE);
    struct nn_store_state *state = &store->state;
    int64_t *grown;

    sqlite3_bind_int64(statement, 1, row->id);
    if (!statement_finish(store, statement))
        return false;
    if (sqlite3_changes(store->db.sqlite) != 1 || !state->n_entries ||
        state->n_bytes < row->n_bytes || state->file_bytes < row->file_bytes)
        return nn_store_declare_damaged(store);
    state->n_entries--;
    state->n_bytes -= row->n_bytes;
    state->file_bytes -= row->file_bytes;
    if (!row->file_bytes)
        return true;
    grown = realloc(store->doomed, (store->n_doomed + 1) * sizeof(*grown));
    if (!grown) {
        store->db.failure = SQLITE_NOMEM;
        return false;
    }
    store->doomed = grown;
    store->doomed[store->n_doomed++] = row->id;
    return true;
}

static bool read_number(struct nnhal_store *store, unsigned i, uint64_t *ret_number)
{
    sqlite3_stmt *statement = statement_of(store, i);
    bool is_read = nn_db_step(&store->db, statement) == SQLITE_ROW;

    if (is_read)
        *ret_number = number_at(statement, 0);
    nn_db_reset(statement);
    return is_read;
}

bool nn_store_pages(struct nnhal_store *store, uint64_t *ret_n_pages, uint64_t *ret_n_free)
{
    return read_number(store, PAGE_COUNT, ret_n_pages) &&
           read_number(store, FREE_COUNT, ret_n_free) &&
           (*ret_n_free <= *ret_n_pages || nn_store_declare_damaged(store));
}

bool nn_store_check(struct nnhal_store *store)
{
    sqlite3_stmt *statement = statement_of(store, CHECK);
    int r = nn_db_step(&store->db, statement);
    char text[2];
    bool is_whole = false;

    if (r == SQLITE_ROW && sqlite3_column_bytes(statement, 0) != sizeof(text))
        nn_store_declare_damaged(store);
    else if (r == SQLITE_ROW && copy_blob(store, statement, 0, text, sizeof(text)))
        is_whole = memcmp(text, "ok", sizeof(text)) == 0 || nn_store_declare_damaged(store);
    nn_db_reset(statement);
    return is_whole;
}

/* -- listing ------------------------------------------------------------------------------- */

static bool add_row(struct nnhal_store *store, sqlite3_stmt *statement, struct nn_store_rows *rows)
{
    struct nnhal_store_entry entry = {0}, *entries;
    struct nn_store_row row;
    int64_t *ids;

    take_numbers(statement, &row);
    entry.made_s = sqlite3_column_int64(statement, 4);
    entry.used_s = sqlite3_column_int64(statement, 3);
    entry.key_bytes = number_at(statement, 5);
    entry.value_bytes = row.n_bytes - entry.key_bytes;
    entry.file = row.file_bytes ? (uint64_t)row.id : 0;
    entry.n_key = (uint32_t)sqlite3_column_bytes(statement, 6);
    if (entry.key_bytes > row.n_bytes || entry.n_key > sizeof(entry.key))
        return nn_store_declare_damaged(store);
    if (!copy_blob(store, statement, 6, entry.key, entry.n_key))
        return false;
    if ((rows->n & (rows->n - 1)) == 0) {
        size_t n = rows->n ? 2 * rows->n : 1;

        entries = realloc(rows->entries, n * sizeof(*entries));
        rows->entries = entries ? entries : rows->entries;
        ids = realloc(rows->ids, n * sizeof(*ids));
        rows->ids = ids ? ids : rows->ids;
        if (!entries || !ids) {
            store->db.failure = SQLITE_NOMEM;
            return false;
        }
    }
    rows->ids[rows->n] = row.id;
    rows->entries[rows->n++] = entry;
    return true;
}

bool nn_store_list_rows(struct nnhal_store *store, struct nn_store_rows *ret_rows)
{
    sqlite3_stmt *statement = statement_of(store, LIST);
    bool is_good = true;
    int r = SQLITE_ROW;

    *ret_rows = (struct nn_store_rows){0};
    while (is_good && (r = nn_db_step(&store->db, statement)) == SQLITE_ROW)
        is_good = add_row(store, statement, ret_rows);
    nn_db_reset(statement);
    return is_good && r == SQLITE_DONE;
}
