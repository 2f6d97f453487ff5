/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - the parts that nnhal/cache.h is made of
 *
 *   store.c         the public functions: limits, locks, what is read and checked outside of them
 *   store-rows.c    the database: transactions, entries, their recency and sums
 *   store-evict.c    which entries go to make room
 *   store-files.c   larger values as files
 *   store-list.c    statistics, lists, verification
 *
 * A value's file gets its name within the transaction that adds its row, and loses it after
 * the one that removes the row. So the holder of the write transaction knows that a
 * file without a row has no owner: that is what nn_store_sweep() removes. Until then it has
 * a temporary name, and its maker holds a lock on it.
 *
 * Uses are remembered in memory and written with the next transaction, so that most gets only
 * read. The total is kept in the database as well, counted anew whenever it is opened.
 *
 * Functions that return bool work inside of a transaction and are false when the database failed
 * (db.h): the transaction is then undone. nn_db_lock() is held around all that touch db. */
#ifndef NN_CACHE_STORE_H
#define NN_CACHE_STORE_H

#include "cache/db.h"
#include "cache/hash.h"

#include <nnhal/cache.h>

enum {
    NN_STORE_MAX_USES = 64,        /* not yet written */
    NN_STORE_INLINE_BYTES = 65536, /* the largest value in the database */
    NN_STORE_BLOCK_BYTES = 4096,   /* what files are counted in, and a page */
};

/* What the database says of all entries, while a transaction is open. */
struct nn_store_state {
    uint64_t n_entries;
    uint64_t n_bytes;    /* keys and values */
    uint64_t file_bytes; /* of files, in whole blocks */
    uint64_t clock;      /* of the last use */
    uint64_t n_hits;
    uint64_t n_misses;
    uint64_t n_sets;
    uint64_t n_evictions;
    uint64_t n_damaged;
};

struct nnhal_store {
    struct nn_db db;
    int folder_fd;
    uint64_t max_key_bytes;
    uint64_t max_value_bytes;
    uint64_t max_total_bytes;
    uint64_t max_disk_bytes;
    uint32_t selection;
    uint32_t capacity;
    uint32_t n_seen_replaced; /* of db.n_replaced */

    struct nn_store_state state;
    int64_t *doomed; /* files to be removed once the transaction has been committed */
    size_t n_doomed;

    int64_t uses[NN_STORE_MAX_USES]; /* ids, the last use last */
    uint32_t n_uses;
    uint64_t n_hits; /* not yet written either */
    uint64_t n_misses;
    uint64_t n_damaged;
};

/* An entry, without key and value. */
struct nn_store_row {
    int64_t id; /* random, > 0: also the number of its file */
    uint64_t n_bytes;
    uint64_t file_bytes; /* 0: it is in the database */
    struct nn_hash hash;
};

/* A key with its sum, which is what is searched for. */
struct nn_store_key {
    const void *bytes;
    size_t n_bytes;
    int64_t sum;
};

/* -- store.c --------------------------------------------------------------------------- */

/* nn_store_is_intact() - whether it is the value that was set for the key. */
bool nn_store_is_intact(const void *key, size_t n_key, const void *value, uint64_t n_value,
                        const struct nn_hash *wanted);

/* -- store-rows.c -------------------------------------------------------------------- */

/* nn_store_open_db() - opens the database and counts. Returns: as nn_db_open(). */
int nn_store_open_db(struct nnhal_store *store, const char *directory);

/* nn_store_refresh() - before reading. Returns: 0, NNHAL_STORE_E_FORKED, -errno. */
int nn_store_refresh(struct nnhal_store *store);

/* nn_store_transact() - what body does is done whole or not at all, and is done again on an empty
 * database if this one was damaged. state is right in body and is written afterwards.
 * Returns: 0, NNHAL_STORE_E_FORKED, -errno. */
int nn_store_transact(struct nnhal_store *store, bool (*body)(struct nnhal_store *store, void *ctx),
                      void *ctx);

/* What is found of an entry. */
struct nn_store_found {
    struct nn_store_row row; /* id 0: there is none */
    uint8_t *key;            /* to be freed; nn_store_find_id() only */
    size_t n_key;
    uint8_t *value; /* to be freed; NULL if it is a file */
    int fd;         /* the file, opened while the row was there; -1: none; -errno: why not */
};

/* nn_store_find() - the entry of a key; nn_store_find_id() - of an id. nn_store_found_done()
 * frees what was found, also after a failure. */
bool nn_store_find(struct nnhal_store *store, const struct nn_store_key *key,
                   struct nn_store_found *ret_found);
bool nn_store_find_id(struct nnhal_store *store, int64_t id, struct nn_store_found *ret_found);
void nn_store_found_done(struct nn_store_found *found);

/* nn_store_found_is_unreadable() - whether this process has no descriptor or memory left to open the
 * value, which says nothing about it. */
bool nn_store_found_is_unreadable(const struct nn_store_found *found);

/* nn_store_find_row() - the row of a key alone; its id is 0 if there is none. */
bool nn_store_find_row(struct nnhal_store *store, const struct nn_store_key *key,
                       struct nn_store_row *ret_row);

/* nn_store_choose_victim() - the entry that goes next, but not the one with the id but_not. */
bool nn_store_choose_victim(struct nnhal_store *store, int64_t but_not,
                            struct nn_store_row *ret_row);

/* nn_store_insert() - value NULL: it is the file with the row's id. */
bool nn_store_insert(struct nnhal_store *store, const struct nn_store_key *key,
                     const struct nn_store_row *row, const void *value);
bool nn_store_delete(struct nnhal_store *store, const struct nn_store_row *row);

/* nn_store_declare_damaged() - the database says what cannot be: as if SQLite had found it damaged.
 * Returns: false. */
bool nn_store_declare_damaged(struct nnhal_store *store);

/* nn_store_pages() - of the database's file, and those of them that are free. */
bool nn_store_pages(struct nnhal_store *store, uint64_t *ret_n_pages, uint64_t *ret_n_free);

/* nn_store_check() - whether the database agrees with itself: one that does not has failed. */
bool nn_store_check(struct nnhal_store *store);

/* nn_store_list_rows() - every entry, used longest ago first, in arrays to be freed, also
 * after a failure. */
struct nn_store_rows {
    size_t n;
    struct nnhal_store_entry *entries;
    int64_t *ids;
};
bool nn_store_list_rows(struct nnhal_store *store, struct nn_store_rows *ret_rows);

/* -- store-evict.c -------------------------------------------------------------------- */

/* nn_store_evict() - for row, of which db_bytes lie in the database, in the place of old
 * (id 0: of none). *ret_fits says whether it fits now; unless it does, old is still there. */
bool nn_store_evict(struct nnhal_store *store, const struct nn_store_row *old,
                    const struct nn_store_row *row, uint64_t db_bytes, bool *ret_fits);

/* -- store-files.c ------------------------------------------------------------------- */

/* nn_store_file_write() - a new file with a temporary name; *ret_fd holds its lock.
 * Returns: 0, -errno. */
int nn_store_file_write(struct nnhal_store *store, int64_t id, const struct nn_hash_part *parts,
                        size_t n_parts, int *ret_fd);

/* nn_store_file_commit() - gives it its name. Returns: 0, -errno. */
int nn_store_file_commit(struct nnhal_store *store, int64_t id);

/* nn_store_file_remove() - whichever name it has. */
void nn_store_file_remove(struct nnhal_store *store, int64_t id);

/* nn_store_file_open() - for reading n_bytes. Returns: a descriptor, -errno. */
int nn_store_file_open(struct nnhal_store *store, int64_t id, uint64_t n_bytes);

/* nn_store_folder_open() - opens folder_fd, anew if it was open. Returns: 0, -errno. */
int nn_store_folder_open(struct nnhal_store *store);

/* nn_store_sweep() - removes files that no row has: has() says which have one. */
void nn_store_sweep(struct nnhal_store *store, bool (*has)(struct nnhal_store *store, int64_t id));

#endif
