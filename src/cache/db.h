/* SPDX-License-Identifier: Apache-2.0 */
/* db.h - a SQLite database whose contents can be made again
 *
 * What the cache remembers lies in databases of which any may be lost: one that is damaged, or that
 * is a link or another user's, is replaced by an empty one, and all that was in it has to be
 * made anew. A damaged file thus costs time and never fails anything. Processes may share one; a
 * process that finds that the file it has open was replaced opens the new one.
 *
 * The folder must belong to this user and be writable by no other user: SQLite believes the
 * journal that it finds beside a database.
 *
 * Threads: nn_db_lock() is held around every use of any database of this process. It is also held
 * by fork(), so that a child finds SQLite's own state whole and can open databases. The handle that
 * it has inherited is refused (SQLite allows no other): it is neither used nor closed there. */
#ifndef NN_CACHE_DB_H
#define NN_CACHE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Statements that a database keeps prepared. */
#define NN_DB_MAX_STATEMENTS 24

enum {
    NN_DB_E_FORKED = 1,   /* made by the process that this one was forked from */
    NN_DB_E_REPLACED = 2, /* there is an empty one now, or another process's: look again */
};

/* It stays where it is while it is open. */
struct nn_db {
    sqlite3 *sqlite; /* NULL: closed, or cannot be opened at the moment */
    char *folder;    /* without links */
    char *path;
    const char *schema; /* what is executed after opening; borrowed */
    pid_t pid;
    dev_t device; /* of the file that is open */
    ino_t inode;
    int failure;         /* what SQLite said last when something failed */
    uint32_t n_replaced; /* times that the file was damaged */
    uint64_t busy_since_ns;
    sqlite3_stmt *statements[NN_DB_MAX_STATEMENTS];
};

void nn_db_lock(void);
void nn_db_unlock(void);

/* nn_db_open() - the database of that name in a folder, which is made if it is missing, with those
 * above it. The schema is statements that may be executed again; it lives as long as db.
 * Returns: 0, -ENOMEM, -EPERM (the folder is another user's, or others may write into it), -errno
 * (it cannot be had). db is closed then. */
int nn_db_open(struct nn_db *db, const char *folder, const char *name, const char *schema);

/* nn_db_close() - of one that is closed or zero does nothing. */
void nn_db_close(struct nn_db *db);

/* nn_db_refresh() - before each use: the file is still the one that is open. If it is not, and the
 * new one cannot be opened (a sandbox has been closed, say), the old one goes on.
 * Returns: 0, NN_DB_E_FORKED, NN_DB_E_REPLACED (by another process), -errno (as nn_db_open()). */
int nn_db_refresh(struct nn_db *db);

/* nn_db_statement() - the statement i, prepared from sql the first time, with nothing bound; it is
 * nn_db_reset() after each use: until then it holds SQLite's lock. Binding fails only for lack
 * of memory, and then the step does. NULL: see nn_db_recover(). */
sqlite3_stmt *nn_db_statement(struct nn_db *db, unsigned i, const char *sql);
void nn_db_reset(sqlite3_stmt *statement);

/* nn_db_step() - the next row.
 * Returns: SQLITE_ROW, SQLITE_DONE, or 0: see nn_db_recover(), also for a statement that is NULL. */
int nn_db_step(struct nn_db *db, sqlite3_stmt *statement);

/* nn_db_exec() - executes sql that has no parameters and whose rows are not needed.
 * Returns: whether it did; see nn_db_recover(). */
bool nn_db_exec(struct nn_db *db, const char *sql);

/* nn_db_begin() - begins a write transaction when it is this process's turn: behind those that wait
 * already, however soon it writes again. gate_fd is the folder. While others get on it waits, up to
 * 20 s. Returns: whether it did; see nn_db_recover(). */
bool nn_db_begin(struct nn_db *db, int gate_fd);

/* nn_db_recover() - after something failed, all statements being reset: ends the transaction, and
 * replaces the database if it is damaged.
 * Returns: NN_DB_E_REPLACED, -EBUSY (another process had it for too long), -ENOSPC, -EACCES,
 * -ENOMEM, -EIO. */
int nn_db_recover(struct nn_db *db);

#endif
