/* SPDX-License-Identifier: Apache-2.0 */
/* A database that SQLite takes for whole and that says what no store wrote: of closed stores, and of
 * one in use. Whatever it says, a key has the value that was set, or none; and the store serves on. */
#include "temp-folder.h"
#include "support/check-main.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { SMALL = 100, LARGE = 100000 }; /* in the database, in a file */

static const struct {
    char key;
    size_t size;
} entries[] = {{'a', SMALL}, {'b', LARGE}, {'c', SMALL}, {'d', LARGE}};

static const char *const spoilers[] = {
    "UPDATE entries SET id = -id",
    "UPDATE entries SET hash = x'0011'",
    "UPDATE entries SET hash = x''",
    "UPDATE entries SET hash = randomblob(32)",
    "UPDATE entries SET hash = randomblob(100000)",
    "UPDATE entries SET n_bytes = 0",
    "UPDATE entries SET n_bytes = -5",
    "UPDATE entries SET n_bytes = n_bytes + 1",
    "UPDATE entries SET n_bytes = 'many'",
    "UPDATE entries SET n_bytes = 9223372036854775807",
    "UPDATE entries SET file_bytes = 0",
    "UPDATE entries SET file_bytes = 4096",
    "UPDATE entries SET file_bytes = 9223372036854775807",
    "UPDATE entries SET value = NULL",
    "UPDATE entries SET value = x''",
    "UPDATE entries SET value = randomblob(99)",
    "UPDATE entries SET value = zeroblob(300000)",
    "UPDATE entries SET key = x''",
    "UPDATE entries SET key = zeroblob(100000)",
    "UPDATE entries SET key = 'b'",
    "UPDATE entries SET key_sum = 0",
    "UPDATE entries SET used = 'never', used_s = 'never', made_s = x'00'",
    "UPDATE entries SET used = 9223372036854775807",
    "UPDATE state SET n_entries = 0",
    "UPDATE state SET n_entries = 1000",
    "UPDATE state SET n_entries = -1",
    "UPDATE state SET n_bytes = 0, file_bytes = 0",
    "UPDATE state SET n_bytes = 9223372036854775807",
    "UPDATE state SET file_bytes = 9223372036854775807",
    "UPDATE state SET clock = 9223372036854775807",
    "UPDATE state SET id = 1",
    "DELETE FROM state",
    "DELETE FROM entries",
    "DROP TABLE state",
    "DROP TABLE entries",
    "DROP TABLE state; CREATE TABLE state(id INTEGER PRIMARY KEY)",
    "DROP TABLE entries; CREATE TABLE entries(id INTEGER PRIMARY KEY, key BLOB)",
    "DROP TABLE entries; CREATE VIEW entries AS SELECT 1 AS id",
    "DROP INDEX by_use",
    "DROP INDEX by_use; CREATE INDEX by_use ON entries(made_s)",
    "ALTER TABLE entries RENAME COLUMN hash TO other",
    "CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
    "CREATE TRIGGER t BEFORE DELETE ON entries BEGIN SELECT RAISE(IGNORE); END",
    "PRAGMA user_version = 7; PRAGMA application_id = 7",
};

static const char *spoiler; /* the one that is tried */
static char path[TEMP_FOLDER_BYTES];
static uint8_t bytes[2 * LARGE], wanted[LARGE];

static void set(struct nnhal_store *store, size_t i)
{
    int r;

    make_value((uint32_t)entries[i].key, wanted, entries[i].size);
    r = nnhal_store_set(store, &entries[i].key, 1, wanted, entries[i].size);
    ck_assert_msg(r == 0, "%s: set: %d", spoiler, r);
}

/* Whether it is there, as it was set. */
static bool has(struct nnhal_store *store, size_t i)
{
    size_t n = 0;
    int r = nnhal_store_get(store, &entries[i].key, 1, bytes, sizeof(bytes), &n);

    ck_assert_msg(r == 0 || r == NNHAL_STORE_E_NONE, "%s: get: %d", spoiler, r);
    make_value((uint32_t)entries[i].key, wanted, entries[i].size);
    ck_assert_msg(r != 0 || (n == entries[i].size && memcmp(bytes, wanted, n) == 0),
                  "%s: get: another value", spoiler);
    return r == 0;
}

static struct nnhal_store *open_store(void)
{
    /* Room for one large value. */
    return temp_folder_open_store(path, 3 * LARGE / 2, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
}

static struct nnhal_store *fill_store(void)
{
    struct nnhal_store *store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);

    for (size_t i = 0; i < N(entries); i++)
        set(store, i);
    return store;
}

static void spoil(void)
{
    char file[TEMP_FOLDER_BYTES + 16];
    sqlite3 *sqlite = NULL;
    int r;

    snprintf(file, sizeof(file), "%s/store.db", path);
    ck_assert_int_eq(sqlite3_open(file, &sqlite), SQLITE_OK);
    r = sqlite3_exec(sqlite, spoiler, NULL, NULL, NULL);
    ck_assert_msg(r == SQLITE_OK, "%s: %s", spoiler, sqlite3_errmsg(sqlite));
    sqlite3_close(sqlite);
}

static int visit(void *ctx, const struct nnhal_store_entry *entry)
{
    ck_assert_uint_le(entry->n_key, sizeof(entry->key));
    return 0;
}

/* What an application does, each on a store that was spoilt. */

static void get_all(struct nnhal_store *store)
{
    for (size_t i = 0; i < N(entries); i++)
        has(store, i);
}

static void list_all(struct nnhal_store *store)
{
    ck_assert_int_eq(nnhal_store_list(store, visit, NULL), 0);
}

static void verify_all(struct nnhal_store *store)
{
    ck_assert_int_eq(nnhal_store_verify(store, visit, NULL), 0);
}

static void replace_all(struct nnhal_store *store)
{
    for (size_t i = 0; i < N(entries); i++)
        set(store, i);
}

static void remove_all(struct nnhal_store *store)
{
    for (size_t i = 0; i < N(entries); i++) {
        int r = nnhal_store_remove(store, &entries[i].key, 1);

        ck_assert_msg(r == 0 || r == NNHAL_STORE_E_NONE, "remove: %d", r);
    }
}

static void clear(struct nnhal_store *store)
{
    ck_assert_int_eq(nnhal_store_clear(store), 0);
}

static void count(struct nnhal_store *store)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};

    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
}

static void (*const uses[])(struct nnhal_store *store) = {
    get_all, list_all, verify_all, replace_all, remove_all, clear, count};

/* It may have become an empty one, and takes and gives values as any. */
static void expect_service(struct nnhal_store *store)
{
    set(store, 0);
    ck_assert_msg(has(store, 0), "%s", spoiler);
    set(store, 1);
    ck_assert_msg(has(store, 1), "%s", spoiler);
    nnhal_store_close(store);
}

static void try_use(void (*use)(struct nnhal_store *store), bool is_in_use)
{
    struct nnhal_store *store;

    temp_folder_new(path);
    store = fill_store();
    if (!is_in_use) {
        nnhal_store_close(store);
        spoil();
        store = open_store();
    } else {
        get_all(store); /* its statements are prepared */
        spoil();
    }
    use(store);
    expect_service(store);
    temp_folder_free(path);
}

static void try_all(bool is_in_use)
{
    for (size_t i = 0; i < N(spoilers); i++) {
        spoiler = spoilers[i];
        for (size_t k = 0; k < N(uses); k++)
            try_use(uses[k], is_in_use);
    }
}

TEST(nonsense_in_a_closed_store_costs_entries_at_most)
{
    try_all(false);
}
TEST_END

TEST(nonsense_in_a_store_in_use_costs_entries_at_most)
{
    try_all(true);
}
TEST_END

CHECK_MAIN("store-nonsense", nonsense_in_a_closed_store_costs_entries_at_most,
           nonsense_in_a_store_in_use_costs_entries_at_most)
