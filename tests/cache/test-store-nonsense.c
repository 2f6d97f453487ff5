/* SPDX-License-Identifier: Apache-2.0 */
/* A database that SQLite takes for whole and that says what no store wrote: of closed stores, and of
 * one in use. A key has the value that was set, or none; and the store serves on.
 * Others that hold its locks, or take its folder away, cost a call at most. */
#include "temp-folder.h"
#include "support/check-main.h"
#include "support/refuse-call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* -- others --------------------------------------------------------------------------------------- */

static int try_to_set(struct nnhal_store *store)
{
    return nnhal_store_set(store, "x", 1, "y", 1);
}

/* One that stopped while it began to write. */
TEST(a_gate_that_is_held_for_ever_costs_each_call_two_seconds)
{
    struct nnhal_store *store;
    int fd;

    temp_folder_new(path);
    store = fill_store();
    fd = open(path, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(try_to_set(store), -EBUSY);
    ck_assert(has(store, 0));
    close(fd);
    ck_assert_int_eq(try_to_set(store), 0);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

static pid_t hold_database(void)
{
    int pair[2];
    char byte = 0;
    pid_t pid;

    ck_assert_int_eq(pipe(pair), 0);
    pid = fork();
    if (pid == 0) {
        sqlite3 *sqlite = NULL;
        char file[TEMP_FOLDER_BYTES + 16];

        snprintf(file, sizeof(file), "%s/store.db", path);
        byte = sqlite3_open(file, &sqlite) == SQLITE_OK &&
               sqlite3_exec(sqlite, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
        if (write(pair[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(pair[0], &byte, 1), 1);
    ck_assert_int_eq(byte, 1);
    close(pair[0]);
    close(pair[1]);
    return pid;
}

TEST(a_database_that_is_held_for_ever_is_busy_and_not_damaged)
{
    struct nnhal_store *store, *other = NULL;
    pid_t pid;

    temp_folder_new(path);
    store = fill_store();
    pid = hold_database();
    ck_assert_int_eq(try_to_set(store), -EBUSY);
    ck_assert_int_eq(nnhal_store_open(path, NULL, &other), -EBUSY);
    ck_assert_ptr_null(other);
    ck_assert(!has(store, 0)); /* cannot be read */
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    for (size_t i = 0; i < N(entries); i++)
        ck_assert(has(store, i));
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

static void sets_and_gets(void)
{
    struct nnhal_store *store = open_store();

    expect_service(store);
}

TEST(a_folder_that_cannot_be_locked_costs_fairness_only)
{
    temp_folder_new(path);
    refuse_in_child((struct refusal){SYS_flock, ENOLCK}, sets_and_gets);
    temp_folder_free(path);
}
TEST_END

static void goes_on_with_what_is_open(void)
{
    struct nnhal_store *store = fill_store(), *other = NULL;

    /* stat() alone, not fstat(): a sandbox that has been closed sees no path any more. */
    refuse_call_with(SYS_newfstatat, 0, (uint32_t)AT_FDCWD, EACCES);
    ck_assert(has(store, 0));
    ck_assert(has(store, 1));
    ck_assert_int_eq(nnhal_store_open(path, NULL, &other), -EACCES);
    nnhal_store_close(store);
}

TEST(behind_a_sandbox_the_open_store_serves)
{
    temp_folder_new(path);
    refuse_in_child((struct refusal){-1, 0}, goes_on_with_what_is_open);
    temp_folder_free(path);
}
TEST_END

TEST(where_its_folder_cannot_be_made_again_the_open_store_serves)
{
    struct nnhal_store *store, *other = NULL;
    char moved[TEMP_FOLDER_BYTES + 8];

    temp_folder_new(path);
    store = fill_store();
    snprintf(moved, sizeof(moved), "%s-moved", path);
    ck_assert_int_eq(rename(path, moved), 0);
    close(open(path, O_CREAT | O_WRONLY, 0600)); /* in its place */
    ck_assert(has(store, 0));
    ck_assert(has(store, 1));
    ck_assert_int_eq(nnhal_store_open(path, NULL, &other), -ENOTDIR);
    nnhal_store_close(store);
    unlink(path);
    temp_folder_free(moved);
}
TEST_END

static void sets_nothing(void)
{
    struct nnhal_store *store = open_store();

    refuse_call(SYS_getrandom, ENOSYS);
    ck_assert_int_eq(try_to_set(store), -EIO);
    ck_assert(!has(store, 0));
    nnhal_store_close(store);
}

TEST(without_random_numbers_nothing_is_set)
{
    temp_folder_new(path);
    refuse_in_child((struct refusal){-1, 0}, sets_nothing);
    temp_folder_free(path);
}
TEST_END

/* -- options and sizes ------------------------------------------------------------------------ */

TEST(options_and_sizes_that_make_no_sense_are_refused)
{
    const size_t size = sizeof(struct nnhal_store_options);
    const struct nnhal_store_options cases[] = {
        {.size = 0},
        {.size = sizeof(size_t) - 1},
        {.size = size, .max_key_bytes = (UINT64_C(1) << 20) + 1},
        {.size = size, .max_value_bytes = (UINT64_C(4) << 30) + 1},
        {.size = size, .max_total_bytes = (UINT64_C(1) << 40) + 1},
        {.size = size, .selection = NNHAL_STORE_RANDOM + 1},
        {.size = size, .capacity = NNHAL_STORE_FIT_HALVE + 1},
        {.size = size, .flags = 2},
    };
    const struct nnhal_store_options largest = {.size = size,
                                                .max_key_bytes = UINT64_C(1) << 20,
                                                .max_value_bytes = UINT64_C(4) << 30,
                                                .max_total_bytes = UINT64_C(1) << 40};
    const struct nnhal_store_part parts[] = {{"ab", SIZE_MAX}, {"c", 2}};
    struct nnhal_store *store = NULL;

    temp_folder_new(path);
    for (size_t i = 0; i < N(cases); i++)
        ck_assert_int_eq(nnhal_store_open(path, &cases[i], &store), -EINVAL);
    ck_assert_ptr_null(store);
    ck_assert_int_eq(nnhal_store_open(path, &largest, &store), 0);
    ck_assert_int_eq(nnhal_store_set_parts(store, "x", 1, parts, 2), NNHAL_STORE_E_TOO_LARGE);
    ck_assert_int_eq(nnhal_store_set_parts(store, "x", 1, NULL, 0), NNHAL_STORE_E_TOO_LARGE);
    nnhal_store_close(store);
    nnhal_store_close(NULL);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("store-nonsense", nonsense_in_a_closed_store_costs_entries_at_most,
           nonsense_in_a_store_in_use_costs_entries_at_most,
           a_gate_that_is_held_for_ever_costs_each_call_two_seconds,
           a_database_that_is_held_for_ever_is_busy_and_not_damaged,
           a_folder_that_cannot_be_locked_costs_fairness_only,
           behind_a_sandbox_the_open_store_serves,
           where_its_folder_cannot_be_made_again_the_open_store_serves,
           without_random_numbers_nothing_is_set, options_and_sizes_that_make_no_sense_are_refused)
