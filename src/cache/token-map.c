/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/token-map.h"

#include "base/error.h"
#include "cache/db.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    KEPT_EPOCHS = 3,   /* maps of other builds */
    EPOCH_BYTES = 8,   /* of the hash, in the file's name */
    MAX_EPOCHS = 1024, /* looked at in one folder */
};

struct nn_token_map {
    struct nn_db db;
};

static const char schema[] =
    "PRAGMA journal_mode = MEMORY;"
    "PRAGMA synchronous = OFF;"
    "CREATE TABLE IF NOT EXISTS tokens("
    "    serial INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, token BLOB NOT NULL,"
    "    current BLOB NOT NULL, next BLOB, UNIQUE(uid, token));";

enum {
    STATEMENT_PUT,
    STATEMENT_TRIM,
    STATEMENT_GET,
    STATEMENT_PUT_NEXT,
    STATEMENT_GET_NEXT,
};

/* -- maps of other builds ---------------------------------------------------------- */

static bool is_map(const char *name)
{
    size_t n = strlen(name);

    return n > 10 && strncmp(name, "tokens-", 7) == 0 && strcmp(name + n - 3, ".db") == 0;
}

struct old_map {
    char *name;
    time_t time;
};

static int compare_age(const void *a, const void *b)
{
    const struct old_map *x = a, *y = b;

    return (x->time < y->time) - (x->time > y->time); /* newest first */
}

/* Removes what builds that are gone have left: all but the newest few. */
static void forget_old(const char *folder, const char *own)
{
    DIR *dir = opendir(folder);
    struct old_map old[MAX_EPOCHS];
    struct dirent *entry;
    struct stat status;
    size_t n = 0;

    while (dir && n < MAX_EPOCHS && (entry = readdir(dir))) {
        if (!is_map(entry->d_name) || strcmp(entry->d_name, own) == 0 ||
            fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        old[n] = (struct old_map){.name = strdup(entry->d_name), .time = status.st_mtime};
        n += old[n].name != NULL;
    }
    if (n)
        qsort(old, n, sizeof(*old), compare_age);
    for (size_t i = 0; i < n; i++) {
        if (i >= KEPT_EPOCHS)
            unlinkat(dirfd(dir), old[i].name, 0);
        free(old[i].name);
    }
    if (dir)
        closedir(dir);
}

/* -- opening ------------------------------------------------------------------------- */

int nn_token_map_open(const char *folder, const struct nn_hash *epoch, struct nn_token_map **ret)
{
    _cleanup_(freep) struct nn_token_map *map = calloc(1, sizeof(*map));
    char name[2 * EPOCH_BYTES + 16] = "tokens-";
    size_t n = strlen(name);
    int r;

    if (!map)
        return nn_error_origin(-ENOMEM);
    for (size_t i = 0; i < EPOCH_BYTES; i++)
        n += (size_t)snprintf(name + n, sizeof(name) - n, "%02x", epoch->bytes[i]);
    snprintf(name + n, sizeof(name) - n, ".db");
    nn_db_lock();
    r = nn_db_open(&map->db, folder, name, schema);
    nn_db_unlock();
    if (r < 0)
        return r == -ENOMEM ? nn_error_trace(r) : nn_error_origin(-EIO);
    forget_old(folder, name);
    *ret = steal_ptr(&map);
    return 0;
}

struct nn_token_map *nn_token_map_free(struct nn_token_map *map)
{
    if (!map)
        return NULL;
    nn_db_lock();
    nn_db_close(&map->db);
    nn_db_unlock();
    free(map);
    return NULL;
}

/* -- tokens ---------------------------------------------------------------------------- */

/* As what is there, or as what is about to be. */
static bool put_row(struct nn_db *db, uint32_t uid, const uint8_t *token,
                    const struct nn_hash *hash, bool is_next)
{
    sqlite3_stmt *statement =
        is_next
            ? nn_db_statement(db, STATEMENT_PUT_NEXT,
                              "INSERT INTO tokens(uid, token, current, next) "
                              "VALUES(?1, ?2, ?3, ?3) ON CONFLICT(uid, token) DO UPDATE "
                              "SET next = excluded.next")
            : nn_db_statement(db, STATEMENT_PUT,
                              "INSERT INTO tokens(uid, token, current) VALUES(?1, ?2, ?3) "
                              "ON CONFLICT(uid, token) DO UPDATE SET current = excluded.current, "
                              "next = NULL");
    bool is_done;

    sqlite3_bind_int64(statement, 1, uid);
    sqlite3_bind_blob(statement, 2, token, NNHAL_CACHE_TOKEN_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, hash->bytes, NN_HASH_BYTES, SQLITE_STATIC);
    is_done = nn_db_step(db, statement) == SQLITE_DONE;
    nn_db_reset(statement);
    return is_done;
}

static void map_trim(struct nn_db *db, uint32_t uid)
{
    sqlite3_stmt *statement = nn_db_statement(
        db, STATEMENT_TRIM,
        "DELETE FROM tokens WHERE uid = ?1 AND serial <= (SELECT serial FROM tokens "
        "WHERE uid = ?1 ORDER BY serial DESC LIMIT 1 OFFSET ?2)");

    sqlite3_bind_int64(statement, 1, uid);
    sqlite3_bind_int64(statement, 2, NN_TOKEN_MAP_MAX_TOKENS);
    nn_db_step(db, statement);
    nn_db_reset(statement);
}

static bool take_row(sqlite3_stmt *statement, struct nn_hash *ret_hash)
{
    if (sqlite3_column_type(statement, 0) != SQLITE_BLOB ||
        sqlite3_column_bytes(statement, 0) != NN_HASH_BYTES)
        return false;
    memcpy(ret_hash->bytes, sqlite3_column_blob(statement, 0), NN_HASH_BYTES);
    return true;
}

/* Returns: false if the database failed. */
static bool get_row(struct nn_db *db, uint32_t uid, const uint8_t *token, bool is_next,
                    struct nn_hash *ret_hash, bool *ret_is_there)
{
    sqlite3_stmt *statement =
        is_next ? nn_db_statement(db, STATEMENT_GET_NEXT,
                                  "SELECT next FROM tokens WHERE uid = ?1 AND token = ?2")
                : nn_db_statement(db, STATEMENT_GET,
                                  "SELECT current FROM tokens WHERE uid = ?1 AND token = ?2");
    int r;

    sqlite3_bind_int64(statement, 1, uid);
    sqlite3_bind_blob(statement, 2, token, NNHAL_CACHE_TOKEN_BYTES, SQLITE_STATIC);
    r = nn_db_step(db, statement);
    *ret_is_there = r == SQLITE_ROW && take_row(statement, ret_hash);
    nn_db_reset(statement);
    return r != 0;
}

/* Puts it and looks whether it is there: an index that contradicts its table is not seen
 * otherwise. */
static bool put_and_see(struct nn_db *db, uint32_t uid, const uint8_t *token,
                        const struct nn_hash *hash, bool is_next)
{
    struct nn_hash found;
    bool is_there;

    if (!put_row(db, uid, token, hash, is_next) ||
        !get_row(db, uid, token, is_next, &found, &is_there))
        return false;
    if (is_there && memcmp(&found, hash, sizeof(found)) == 0)
        return true;
    db->failure = SQLITE_CORRUPT;
    return false;
}

static int map_put(struct nn_db *db, uint32_t uid, const uint8_t *token, const struct nn_hash *hash,
                   bool is_next)
{
    int r = nn_db_refresh(db);

    if (r == NN_DB_E_FORKED || r < 0)
        return nn_error_origin(-EIO);
    if (!put_and_see(db, uid, token, hash, is_next) &&
        (nn_db_recover(db) != NN_DB_E_REPLACED || !put_and_see(db, uid, token, hash, is_next)))
        return nn_error_origin(-EIO);
    map_trim(db, uid);
    return 0;
}

static int lock_and_put(struct nn_token_map *map, uint32_t uid, const uint8_t *token,
                        const struct nn_hash *hash, bool is_next)
{
    int r;

    nn_db_lock();
    r = map_put(&map->db, uid, token, hash, is_next);
    nn_db_unlock();
    return nn_error_trace(r);
}

int nn_token_map_put(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash)
{
    return lock_and_put(map, uid, token, hash, false);
}

int nn_token_map_put_next(struct nn_token_map *map, uint32_t uid,
                          const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash)
{
    return lock_and_put(map, uid, token, hash, true);
}

static int lock_and_get(struct nn_token_map *map, uint32_t uid, const uint8_t *token, bool is_next,
                        struct nn_hash *ret_hash)
{
    bool is_found = false;
    int r;

    nn_db_lock();
    r = nn_db_refresh(&map->db);
    if ((r == 0 || r == NN_DB_E_REPLACED) &&
        !get_row(&map->db, uid, token, is_next, ret_hash, &is_found))
        nn_db_recover(&map->db);
    nn_db_unlock();
    return is_found ? 0 : NN_TOKEN_MAP_E_NONE;
}

int nn_token_map_get(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_hash *ret_hash)
{
    return lock_and_get(map, uid, token, false, ret_hash);
}

int nn_token_map_get_next(struct nn_token_map *map, uint32_t uid,
                          const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_hash *ret_hash)
{
    return lock_and_get(map, uid, token, true, ret_hash);
}
