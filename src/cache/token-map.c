/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/token-map.h"

#include "base/error.h"
#include "base/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    BUSY_MS = 2000,    /* longer than any transaction of another process */
    KEPT_EPOCHS = 3,   /* maps of other builds */
    EPOCH_BYTES = 8,   /* of the hash, in the file's name */
    MAX_EPOCHS = 1024, /* looked at in one folder */
};

struct nn_token_map {
    pthread_mutex_t lock;
    char *path;
    sqlite3 *db; /* NULL: cannot be opened any more */
};

/* -- the database ---------------------------------------------------------------- */

static const char schema[] =
    "PRAGMA journal_mode = MEMORY;"
    "PRAGMA synchronous = FULL;"
    "CREATE TABLE IF NOT EXISTS tokens("
    "    serial INTEGER PRIMARY KEY AUTOINCREMENT, uid INTEGER NOT NULL, token BLOB NOT NULL,"
    "    current BLOB NOT NULL, UNIQUE(uid, token));";

/* Whether the last failure was the file's fault, and not that of others or of the machine. */
static bool is_damaged(const struct nn_token_map *map)
{
    switch (map->db ? sqlite3_errcode(map->db) & 0xff : SQLITE_ERROR) {
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return false;
    default:
        return true;
    }
}

static void close_db(struct nn_token_map *map)
{
    sqlite3_close(map->db);
    map->db = NULL;
}

/* SQLite would follow a link, and give the file to everybody's group. */
static int make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return nn_error_origin(-EIO);
    close(fd);
    return 0;
}

static int open_db(struct nn_token_map *map, bool *ret_is_damaged)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    int r = make_file(map->path);

    *ret_is_damaged = false;
    if (r == 0 && sqlite3_open_v2(map->path, &map->db, flags, NULL) != SQLITE_OK)
        r = nn_error_origin(-EIO);
    if (r == 0) {
        sqlite3_busy_timeout(map->db, BUSY_MS);
        if (sqlite3_exec(map->db, schema, NULL, NULL, NULL) != SQLITE_OK)
            r = nn_error_origin(-EIO);
    }
    if (r < 0) {
        *ret_is_damaged = map->db && is_damaged(map);
        close_db(map);
    }
    return r;
}

/* Whatever is wrong with it: an empty one instead. */
static int replace_db(struct nn_token_map *map)
{
    bool is_damaged_again;

    nn_log("cache", NN_LOG_DEBUG, "%s is damaged and is replaced", map->path);
    close_db(map);
    unlink(map->path);
    return nn_error_trace(open_db(map, &is_damaged_again));
}

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

/* The folder and those above it. */
static int make_folder(const char *folder)
{
    _cleanup_(freep) char *path = strdup(folder);

    if (!path)
        return nn_error_origin(-ENOMEM);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : nn_error_origin(-EIO);
}

static int set_path(struct nn_token_map *map, const char *folder, const struct nn_hash *epoch,
                    const char **ret_name)
{
    char hex[2 * EPOCH_BYTES + 1];

    for (size_t i = 0; i < EPOCH_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", epoch->bytes[i]);
    if (asprintf(&map->path, "%s/tokens-%s.db", folder, hex) < 0) {
        map->path = NULL;
        return nn_error_origin(-ENOMEM);
    }
    *ret_name = map->path + strlen(folder) + 1;
    return 0;
}

int nn_token_map_open(const char *folder, const struct nn_hash *epoch, struct nn_token_map **ret)
{
    _cleanup_(nn_token_map_freep) struct nn_token_map *map = calloc(1, sizeof(*map));
    bool must_replace = false;
    const char *name;
    int r;

    if (!map)
        return nn_error_origin(-ENOMEM);
    pthread_mutex_init(&map->lock, NULL);
    r = make_folder(folder);
    if (r == 0)
        r = set_path(map, folder, epoch, &name);
    if (r == 0) {
        r = open_db(map, &must_replace);
        if (must_replace)
            r = replace_db(map);
    }
    if (r < 0)
        return nn_error_trace(r);
    forget_old(folder, name);
    *ret = steal_ptr(&map);
    return 0;
}

struct nn_token_map *nn_token_map_free(struct nn_token_map *map)
{
    if (!map)
        return NULL;
    close_db(map);
    pthread_mutex_destroy(&map->lock);
    free(map->path);
    free(map);
    return NULL;
}

/* -- tokens ---------------------------------------------------------------------------- */

static sqlite3_stmt *prepare(struct nn_token_map *map, const char *sql, uint32_t uid)
{
    sqlite3_stmt *statement = NULL;

    if (map->db && sqlite3_prepare_v2(map->db, sql, -1, &statement, NULL) == SQLITE_OK)
        sqlite3_bind_int64(statement, 1, uid);
    return statement;
}

/* One transaction: the row, and room for it. */
static bool put_row(struct nn_token_map *map, uint32_t uid, const uint8_t *token,
                    const struct nn_hash *hash)
{
    sqlite3_stmt *statement;
    bool is_done;

    statement = prepare(map,
                        "INSERT INTO tokens(uid, token, current) VALUES(?1, ?2, ?3) "
                        "ON CONFLICT(uid, token) DO UPDATE SET current = excluded.current",
                        uid);
    if (!statement)
        return false;
    sqlite3_bind_blob(statement, 2, token, NNHAL_CACHE_TOKEN_BYTES, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 3, hash->bytes, NN_HASH_BYTES, SQLITE_STATIC);
    is_done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return is_done;
}

static void trim(struct nn_token_map *map, uint32_t uid)
{
    sqlite3_stmt *statement = prepare(
        map,
        "DELETE FROM tokens WHERE uid = ?1 AND serial <= (SELECT serial FROM tokens "
        "WHERE uid = ?1 ORDER BY serial DESC LIMIT 1 OFFSET ?2)",
        uid);

    if (!statement)
        return;
    sqlite3_bind_int64(statement, 2, NN_TOKEN_MAP_MAX_TOKENS);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
}

int nn_token_map_put(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash)
{
    bool is_done;

    pthread_mutex_lock(&map->lock);
    is_done = put_row(map, uid, token, hash);
    if (!is_done && is_damaged(map) && replace_db(map) == 0)
        is_done = put_row(map, uid, token, hash);
    if (is_done)
        trim(map, uid);
    pthread_mutex_unlock(&map->lock);
    return is_done ? 0 : nn_error_origin(-EIO);
}

static bool get_row(sqlite3_stmt *statement, struct nn_hash *ret_hash)
{
    if (sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_type(statement, 0) != SQLITE_BLOB ||
        sqlite3_column_bytes(statement, 0) != NN_HASH_BYTES)
        return false;
    memcpy(ret_hash->bytes, sqlite3_column_blob(statement, 0), NN_HASH_BYTES);
    return true;
}

int nn_token_map_get(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_hash *ret_hash)
{
    sqlite3_stmt *statement;
    bool is_found = false;

    pthread_mutex_lock(&map->lock);
    statement = prepare(map, "SELECT current FROM tokens WHERE uid = ?1 AND token = ?2", uid);
    if (statement) {
        sqlite3_bind_blob(statement, 2, token, NNHAL_CACHE_TOKEN_BYTES, SQLITE_STATIC);
        is_found = get_row(statement, ret_hash);
        sqlite3_finalize(statement);
    }
    pthread_mutex_unlock(&map->lock);
    return is_found ? 0 : NN_TOKEN_MAP_E_NONE;
}
