/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/db.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/sys.h"
#include "cache/own-folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define BUSY_NS         UINT64_C(2000000000) /* longer than any transaction of another process */
#define LONGEST_WAIT_NS (10 * BUSY_NS)
#define NAP_NS          1000000

/* -- one at a time ----------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;

static void take_lock(void)
{
    pthread_mutex_lock(&lock);
}

void nn_db_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
    pthread_atfork(take_lock, nn_db_unlock, nn_db_unlock);
}

void nn_db_lock(void)
{
    pthread_once(&lock_once, watch_forks);
    take_lock();
}

/* -- the file ------------------------------------------------------- */

/* The file is ours and an ordinary one, and no other user can read it. One that is there is not
 * opened: closing any descriptor of it would drop the locks that SQLite has in this process. */
static int make_file(const char *path)
{
    struct stat status;
    int fd;

    if (lstat(path, &status) == 0) {
        if (S_ISREG(status.st_mode) && status.st_uid == geteuid())
            return 0;
        if (unlink(path) < 0)
            return nn_error_origin(-errno);
    }
    fd = nn_sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd < 0)
        return fd == -EEXIST ? 0 : nn_error_trace(fd);
    close(fd);
    return 0;
}

/* -- opening and closing ------------------------------------------------------------- */

/* Short naps, all alike: the longest waiter does not look least often. */
static int wait_for_others(void *ctx, int n_tries)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    struct nn_db *db = ctx;

    if (n_tries == 0)
        db->busy_since_ns = nn_sys_now_ns();
    nanosleep(&nap, NULL);
    return nn_sys_now_ns() - db->busy_since_ns < BUSY_NS;
}

/* What a file says about itself is not to be believed. */
static void handle_harden(sqlite3 *sqlite)
{
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_exec(sqlite,
                 "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                 "PRAGMA temp_store = MEMORY",
                 NULL, NULL, NULL);
}

/* Whether a failure was the file's fault, and not that of others or of the machine. */
static bool is_damage(const struct nn_db *db)
{
    switch (db->failure & 0xff) {
    case SQLITE_OK:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_NOMEM:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return false;
    case SQLITE_READONLY: /* a file that we may write says that it must not be */
        return access(db->path, W_OK) == 0;
    default:
        return true;
    }
}

static int error_of(int failure)
{
    switch (failure & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return nn_error_origin(-EBUSY);
    case SQLITE_NOMEM:
        return nn_error_origin(-ENOMEM);
    case SQLITE_FULL:
        return nn_error_origin(-ENOSPC);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
        return nn_error_origin(-EACCES);
    default:
        return nn_error_origin(-EIO);
    }
}

/* A handle that was inherited by fork() is forgotten, not closed: closing it would drop the
 * parent's locks and might write. */
static void close_handle(struct nn_db *db)
{
    bool is_ours = db->pid == getpid();

    for (size_t i = 0; i < NN_DB_MAX_STATEMENTS; i++) {
        if (is_ours)
            sqlite3_finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
    if (is_ours)
        sqlite3_close(db->sqlite);
    db->sqlite = NULL;
}

static int open_handle(struct nn_db *db)
{
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    struct stat status;
    int r = make_file(db->path);

    db->failure = SQLITE_OK;
    if (r < 0)
        return nn_error_trace(r);
    db->pid = getpid();
    db->failure = sqlite3_open_v2(db->path, &db->sqlite, flags, NULL);
    if (db->failure == SQLITE_OK && stat(db->path, &status) < 0)
        db->failure = SQLITE_CANTOPEN;
    if (db->failure == SQLITE_OK) {
        db->device = status.st_dev;
        db->inode = status.st_ino;
        sqlite3_busy_handler(db->sqlite, wait_for_others, db);
        handle_harden(db->sqlite);
        db->failure = sqlite3_exec(db->sqlite, db->schema, NULL, NULL, NULL);
    }
    if (db->failure == SQLITE_OK)
        return 0;
    close_handle(db);
    return nn_error_trace(error_of(db->failure));
}

/* Any defect: it is replaced by an empty one. */
static int file_replace(struct nn_db *db)
{
    _cleanup_(freep) char *journal = NULL;

    nn_log("cache", NN_LOG_DEBUG, "%s is damaged and is replaced", db->path);
    close_handle(db);
    if (asprintf(&journal, "%s-journal", db->path) < 0) {
        journal = NULL;
        return nn_error_origin(-ENOMEM);
    }
    /* The journal first: one that stayed would be rolled back into the new database. */
    unlink(journal);
    unlink(db->path);
    db->n_replaced++;
    return nn_error_trace(open_handle(db));
}

static int open_or_replace(struct nn_db *db)
{
    int r = open_handle(db);

    return r < 0 && is_damage(db) ? nn_error_trace(file_replace(db)) : nn_error_trace(r);
}

/* SQLite follows no link, so there is none in the path. */
static int set_paths(struct nn_db *db, const char *folder, const char *name)
{
    db->folder = realpath(folder, NULL);
    if (!db->folder)
        return nn_error_origin(-errno);
    if (asprintf(&db->path, "%s/%s", db->folder, name) < 0) {
        db->path = NULL;
        return nn_error_origin(-ENOMEM);
    }
    return 0;
}

int nn_db_open(struct nn_db *db, const char *folder, const char *name, const char *schema)
{
    int r;

    *db = (struct nn_db){.schema = schema};
    r = nn_own_folder_make(folder);
    if (r == 0)
        r = set_paths(db, folder, name);
    if (r == 0)
        r = open_or_replace(db);
    if (r < 0)
        nn_db_close(db);
    return nn_error_trace(r);
}

void nn_db_close(struct nn_db *db)
{
    close_handle(db);
    free(db->folder);
    free(db->path);
    *db = (struct nn_db){0};
}

/* -- use ----------------------------------------------------------------------------------- */

/* What cannot be looked at has not moved: a service that has left its privileges keeps what
 * it has open. */
static bool has_moved(const struct nn_db *db)
{
    struct stat status;

    if (stat(db->path, &status) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return status.st_dev != db->device || status.st_ino != db->inode;
}

int nn_db_refresh(struct nn_db *db)
{
    struct nn_db next;
    int r;

    if (!db->path || db->pid != getpid())
        return NN_DB_E_FORKED;
    if (db->sqlite && !has_moved(db))
        return 0;
    next = (struct nn_db){
        .folder = db->folder, .path = db->path, .schema = db->schema, .n_replaced = db->n_replaced};
    r = nn_own_folder_make(db->folder);
    if (r == 0)
        r = open_or_replace(&next);
    /* A sandbox that has been closed opens nothing; the file that is open still serves this
     * process. */
    if (r < 0)
        return db->sqlite ? 0 : nn_error_trace(r);
    close_handle(db);
    *db = next;
    sqlite3_busy_handler(db->sqlite, wait_for_others, db);
    return NN_DB_E_REPLACED;
}

sqlite3_stmt *nn_db_statement(struct nn_db *db, unsigned i, const char *sql)
{
    if (!db->sqlite) {
        db->failure = SQLITE_CANTOPEN;
        return NULL;
    }
    /* Prepared once: each get and set executes the same few. */
    if (!db->statements[i])
        db->failure = sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                         &db->statements[i], NULL);
    return db->statements[i];
}

void nn_db_reset(sqlite3_stmt *statement)
{
    if (!statement)
        return;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
}

int nn_db_step(struct nn_db *db, sqlite3_stmt *statement)
{
    int r = statement ? sqlite3_step(statement) : db->failure;

    if (r == SQLITE_ROW || r == SQLITE_DONE)
        return r;
    db->failure = r;
    return 0;
}

bool nn_db_exec(struct nn_db *db, const char *sql)
{
    db->failure = db->sqlite ? sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) : SQLITE_CANTOPEN;
    return db->failure == SQLITE_OK;
}

/* Whether the file was written since *last. */
static bool has_advanced(const struct nn_db *db, struct timespec *last)
{
    struct stat status;

    if (stat(db->path, &status) < 0 ||
        (status.st_mtim.tv_sec == last->tv_sec && status.st_mtim.tv_nsec == last->tv_nsec))
        return false;
    *last = status.st_mtim;
    return true;
}

/* The time to wait begins anew whenever others get on: how many they are and how slow the disk is
 * does not matter then. A folder that cannot be locked costs fairness only. */
static bool gate_lock(const struct nn_db *db, int gate_fd)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t began_ns = nn_sys_now_ns(), advanced_ns = began_ns, now_ns;
    struct timespec last = {0};

    while (flock(gate_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return true;
        now_ns = nn_sys_now_ns();
        if (has_advanced(db, &last))
            advanced_ns = now_ns;
        if (now_ns - advanced_ns >= BUSY_NS || now_ns - began_ns >= LONGEST_WAIT_NS)
            return false;
        nanosleep(&nap, NULL);
    }
    return true;
}

/* SQLite's lock alone is unfair: who has just written is the first to write again, while the others
 * nap. So there is a gate in front of it, which is held until the transaction has begun: who has
 * written finds it taken, by the one that is next. Not by an OFD lock, which needs a descriptor open
 * for writing: a folder has none. */
bool nn_db_begin(struct nn_db *db, int gate_fd)
{
    bool is_begun;

    if (!gate_lock(db, gate_fd)) {
        db->failure = SQLITE_BUSY;
        return false;
    }
    is_begun = nn_db_exec(db, "BEGIN IMMEDIATE");
    flock(gate_fd, LOCK_UN);
    return is_begun;
}

int nn_db_recover(struct nn_db *db)
{
    int r;

    if (db->sqlite && !sqlite3_get_autocommit(db->sqlite))
        sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
    if (!is_damage(db))
        return nn_error_trace(error_of(db->failure));
    r = file_replace(db);
    return r < 0 ? nn_error_trace(r) : NN_DB_E_REPLACED;
}
