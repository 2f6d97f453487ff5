/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a store of values by key, in a directory, with limits; and the
 * contents of applications' cache folders
 *
 * For drivers and applications that cache compiled models, or other data that can
 * be made again. It is independent of NNAPI; link with -lnnhal.
 *
 *     struct nnhal_store_options options = {.size = sizeof(options),
 *                                           .max_total_bytes = 64 << 20};
 *     struct nnhal_store *store;
 *
 *     if (nnhal_store_open("/var/cache/mine", &options, &store) == 0) {
 *         if (nnhal_store_get(store, key, key_bytes, buffer, sizeof(buffer), &n_bytes) != 0)
 *             nnhal_store_set(store, key, key_bytes, value, value_bytes);
 *         nnhal_store_close(store);
 *     }
 *
 * What holds:
 *
 *   A value comes back as it was set, or not at all: each has a SHA-256 over key and
 *   value, which is checked at every read. It detects damage; it does not stop a process
 *   that may write into the directory. The directory must therefore belong to the user
 *   and be writable by no other user. Its files must be regular files of the user; others
 *   are replaced. Links inside it are not followed.
 *   The store can be opened and used after any damage to its files, and after a process
 *   was killed or the machine stopped at any moment; lost entries are misses. A set that
 *   returned 0 before a process was killed is kept; one in progress is kept or not.
 *   Any number of processes may use one directory at once, with equal or different limits;
 *   each enforces its own limits when it sets.
 *   The files of the directory take no more than max_total_bytes (1 MiB if that is less).
 *
 * Limits are counted as in Android's nnCache: a key and its value count as their
 * bytes. A set that would exceed max_total_bytes first evicts entries: the selection says
 * which, the capacity how many. A set for which the directory would grow too large does the
 * same until it fits: in addition to its bytes an entry takes about 200 for its record, and a
 * value of more than 64 KiB is a file of whole 4096-byte blocks.
 *
 * On the disk: store.db is a SQLite database with the index, recency, checksums and the smaller
 * values; v-NUMBER is a larger value, which is never changed after it was written. All files may
 * be removed at any time.
 *
 * Threads: any function except close() from any thread. Calls exclude each other, except while they
 * read and write the files of large values. They block for the disk, and for other processes 2 s
 * at most. fork() waits until no thread is in a call. A store is not inherited: in the child its
 * functions return NNHAL_STORE_E_FORKED, close() frees its memory and leaves its descriptors open,
 * and the child may open a store of its own.
 *
 * Results: 0; positive outcomes named here; -errno. */
#ifndef NNHAL_CACHE_H
#define NNHAL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nnhal_store;

/* Outcomes. */
enum {
    NNHAL_STORE_E_NONE = 1,      /* there is no such entry, or it was damaged */
    NNHAL_STORE_E_TOO_SMALL = 2, /* the buffer is smaller than the value */
    NNHAL_STORE_E_TOO_LARGE = 3, /* a key or value of no bytes, or beyond a limit */
    NNHAL_STORE_E_FORKED = 4,    /* the store was opened before a fork */
};

/* Which entry is evicted. */
enum nnhal_store_selection {
    NNHAL_STORE_LRU = 0,    /* the one that was set or read least recently */
    NNHAL_STORE_RANDOM = 1, /* any */
};

/* How many entries are evicted when a new one does not fit below max_total_bytes. */
enum nnhal_store_capacity {
    NNHAL_STORE_FIT = 0,       /* until the new entry fits */
    NNHAL_STORE_HALVE = 1,     /* until the others take at most half; it may still not fit */
    NNHAL_STORE_FIT_HALVE = 2, /* until all with it take at most half; larger than half: refused */
};

/* Begins with its size; members beyond it count as 0. */
struct nnhal_store_options {
    size_t size;
    uint64_t max_key_bytes;   /* 0: 4096; at most 1 MiB */
    uint64_t max_value_bytes; /* 0: max_total_bytes; at most 4 GiB */
    uint64_t max_total_bytes; /* 0: 64 MiB; at most 1 TiB */
    uint32_t selection;       /* enum nnhal_store_selection */
    uint32_t capacity;        /* enum nnhal_store_capacity */
    uint32_t flags;           /* NNHAL_STORE_EXISTING or 0 */
    uint32_t reserved;
};

#define NNHAL_STORE_EXISTING 1 /* open only an existing store */

/* nnhal_store_open() - opens the store in a directory, which is created if it is missing (mode
 * 0700). directory is copied. options NULL: all 0. A damaged store becomes an empty one.
 * Returns: 0; -EINVAL (a member of options makes no sense); -EPERM (the directory belongs to
 * another user, or others may write into it); -ENOENT (NNHAL_STORE_EXISTING, and there is none);
 * -EACCES, -EROFS, -ENOTDIR, -ENOSPC (it cannot be written); -EBUSY (another process held it for
 * 2 s); -ENOMEM; -EIO. */
int nnhal_store_open(const char *directory, const struct nnhal_store_options *options,
                     struct nnhal_store **ret_store);

/* nnhal_store_close() - accepts NULL. No other call on the store may be in progress. */
void nnhal_store_close(struct nnhal_store *store);

/* nnhal_store_set() - sets the value of a key. Both are borrowed.
 * Returns: 0; NNHAL_STORE_E_TOO_LARGE; NNHAL_STORE_E_FORKED; -ENOSPC, -EACCES, -EBUSY, -EIO,
 * -ENOMEM. The old value stays after TOO_LARGE because of a limit on key, value or total, or of
 * FIT_HALVE; it is gone after TOO_LARGE because of HALVE, which has evicted. After an error it may
 * be either. */
int nnhal_store_set(struct nnhal_store *store, const void *key, size_t key_bytes, const void *value,
                    size_t value_bytes);

/* A part of a value. */
struct nnhal_store_part {
    const void *bytes;
    size_t n_bytes;
};

/* nnhal_store_set_parts() - the same for a value that consists of parts in sequence. */
int nnhal_store_set_parts(struct nnhal_store *store, const void *key, size_t key_bytes,
                          const struct nnhal_store_part *parts, size_t n_parts);

/* nnhal_store_get() - copies the value into buffer. *ret_bytes is its size, also after TOO_SMALL,
 * which changes nothing else. buffer may be NULL if capacity is 0.
 * Returns: 0; NNHAL_STORE_E_NONE (also if it cannot be read); NNHAL_STORE_E_TOO_SMALL;
 * NNHAL_STORE_E_FORKED; -ENOMEM. */
int nnhal_store_get(struct nnhal_store *store, const void *key, size_t key_bytes, void *buffer,
                    size_t capacity, size_t *ret_bytes);

/* Memory for a value: allocate() returns NULL if there is none. release() takes back the memory of
 * a value that turned out to be damaged. Both may call the store. */
struct nnhal_store_allocator {
    void *ctx;
    void *(*allocate)(void *ctx, size_t n_bytes);
    void (*release)(void *ctx, void *block);
};

/* nnhal_store_get_allocated() - returns the value in memory of the allocator, which then belongs to
 * the caller; allocator NULL: malloc() and free().
 * Returns: 0; NNHAL_STORE_E_NONE (also if it cannot be read); NNHAL_STORE_E_FORKED; -ENOMEM. */
int nnhal_store_get_allocated(struct nnhal_store *store, const void *key, size_t key_bytes,
                              const struct nnhal_store_allocator *allocator, void **ret_value,
                              size_t *ret_bytes);

/* nnhal_store_remove() - removes an entry. Returns: 0; NNHAL_STORE_E_NONE; NNHAL_STORE_E_FORKED;
 * -errno as set. */
int nnhal_store_remove(struct nnhal_store *store, const void *key, size_t key_bytes);

/* nnhal_store_clear() - removes every entry. Returns: 0; NNHAL_STORE_E_FORKED; -errno as set. */
int nnhal_store_clear(struct nnhal_store *store);

/* Set size before the call: members beyond it are not touched. Counts are those of all processes
 * since the directory was made; the last counts of a killed process may be missing. */
struct nnhal_store_stats {
    size_t size;
    uint64_t n_entries;
    uint64_t n_bytes;     /* of keys and values, as the limit counts them */
    uint64_t disk_bytes;  /* of the files */
    uint64_t n_hits;      /* of get */
    uint64_t n_misses;    /* of get */
    uint64_t n_sets;      /* that succeeded */
    uint64_t n_evictions; /* entries removed for others */
    uint64_t n_damaged;   /* entries and databases removed as damaged */
};

/* nnhal_store_get_stats() - reads the counts. Returns: 0; NNHAL_STORE_E_FORKED; -EINVAL (size is
 * too small for n_entries); -errno as set. */
int nnhal_store_get_stats(struct nnhal_store *store, struct nnhal_store_stats *stats);

/* An entry, for people: key is cut to its first bytes. */
struct nnhal_store_entry {
    uint64_t key_bytes;
    uint64_t value_bytes;
    int64_t made_s;      /* seconds since 1970 */
    int64_t used_s;      /* set or read last */
    uint64_t file;       /* NUMBER of its file v-NUMBER; 0: in store.db */
    uint32_t is_damaged; /* nnhal_store_verify() only */
    uint32_t n_key;      /* bytes of key below */
    uint8_t key[64];
};

/* Called for each entry without a lock, so that it may call the store. A result other than 0 ends
 * the listing. */
typedef int (*nnhal_store_visit)(void *ctx, const struct nnhal_store_entry *entry);

/* nnhal_store_list() - lists the entries that exist when it is called, by their last use, the
 * oldest first. It does not count as use.
 * Returns: 0, or what visit returned; NNHAL_STORE_E_FORKED; -errno as set. */
int nnhal_store_list(struct nnhal_store *store, nnhal_store_visit visit, void *ctx);

/* nnhal_store_verify() - the same, and checks the database and every value; damaged entries are
 * passed to visit (which may be NULL) and removed. Returns: as nnhal_store_list(). */
int nnhal_store_verify(struct nnhal_store *store, nnhal_store_visit visit, void *ctx);

/* -- applications' folders -------------------------------------------------------------
 *
 * The folder that an application gives to ANeuralNetworksCompilation_setCaching() holds the files
 * of each compiled model. These functions describe them to people; drivers and host check the
 * files themselves when they use them. */

enum nnhal_folder_state {
    NNHAL_FOLDER_WHOLE = 0,      /* files exist; nnhal_folder_verify(): and are undamaged */
    NNHAL_FOLDER_INCOMPLETE = 1, /* empty, or files are missing: compiled again */
    NNHAL_FOLDER_BEING_MADE = 2, /* by a running process, or one that has died */
    NNHAL_FOLDER_DAMAGED = 3,    /* nnhal_folder_verify() only */
    NNHAL_FOLDER_NOT_THERE = 4,  /* only the note about its last use exists */
};

struct nnhal_folder_entry {
    char key[65]; /* in hexadecimal; the names of the files begin with it */
    char device[64];
    char why[255];    /* the outcome of its last use; "": not known, like device */
    uint32_t outcome; /* enum nnhal_cache_outcome of nnhal/ext.h, if why is known */
    uint32_t state;   /* enum nnhal_folder_state */
    uint32_t n_files;
    uint64_t n_bytes;
    int64_t used_s; /* seconds since 1970: made, or last prepared from */
};

/* nnhal_folder_list() - calls visit for each entry, in no order; a result other than 0 ends it.
 * Returns: 0, or what visit returned; -errno (the folder cannot be read); -ENOMEM. */
int nnhal_folder_list(const char *directory,
                      int (*visit)(void *ctx, const struct nnhal_folder_entry *entry), void *ctx);

/* nnhal_folder_verify() - the same, and reads the files: sizes and checksums of data caches must
 * agree with the model cache. The model cache itself is checked only when it is used. Files of
 * damaged or incomplete entries are removed. Returns: as nnhal_folder_list(). */
int nnhal_folder_verify(const char *directory,
                        int (*visit)(void *ctx, const struct nnhal_folder_entry *entry), void *ctx);

/* nnhal_folder_clear() - removes every entry, except those being made.
 * Returns: 0; -errno (the folder cannot be read); -ENOMEM. */
int nnhal_folder_clear(const char *directory);

#ifdef __cplusplus
}
#endif

#endif
