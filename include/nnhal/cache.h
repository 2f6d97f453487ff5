/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - a store of values by key, in a directory, with limits; and what lies
 * in the cache folders of applications
 *
 * For drivers and applications that cache what they have compiled, or anything
 * else that can be made again. It needs no NNAPI; link with -lnnhal.
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
 *   value that is checked whenever it is read. That finds damage; it does not stop
 *   somebody who may write into the directory. So the directory must belong to the user
 *   and be writable by nobody else, and its files must be ordinary ones of the user:
 *   others are replaced. No link inside it is followed.
 *   Whatever happens to the files, and whenever a process is killed or the machine stops,
 *   the store can be opened and used: what was lost is a miss. A set that returned
 *   0 before a process was killed is there; one that was under way is there or not.
 *   Any number of processes may use one directory at once, with the same limits or others:
 *   each holds its own when it sets.
 *   The files of the directory take no more than max_total_bytes (1 MiB if that is less).
 *
 * Limits, as Android's nnCache counts them: a key and its value count as their
 * bytes. A set that would take the sum beyond max_total_bytes first evicts entries (which,
 * says the selection; how many, says the capacity); so does one for which the directory
 * would grow too large, until it fits: beside its bytes an entry takes about 200 for its record,
 * and a value of more than 64 KiB is a file of whole 4096-byte blocks.
 *
 * On the disk: store.db is a SQLite database with the index, recency, sums and the smaller values;
 * v-NUMBER is a larger value, never changed after it was written. All of it may be
 * removed at any time.
 *
 * Threads: any function but close() from any thread; one at a time inside, but for reading and
 * writing the files of large values. Calls block for the disk, and for other processes
 * 2 s at most. fork() waits until nobody is inside. A store does not go with a fork: in the child
 * its functions return NNHAL_STORE_E_FORKED, close() frees its memory and leaves its descriptors
 * open, and the child opens a store of its own.
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
    NNHAL_STORE_LRU = 0,    /* the one that was set or got least recently */
    NNHAL_STORE_RANDOM = 1, /* any */
};

/* How many are, when a new entry does not fit below max_total_bytes. */
enum nnhal_store_capacity {
    NNHAL_STORE_FIT = 0,       /* until it fits */
    NNHAL_STORE_HALVE = 1,     /* until the others take at most half; it may not fit then */
    NNHAL_STORE_FIT_HALVE = 2, /* until all with it take at most half; larger than half: refused */
};

/* Begins with its size; what lies beyond it counts as 0. */
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

#define NNHAL_STORE_EXISTING 1 /* open only what is a store already */

/* nnhal_store_open() - the store in a directory, which is made if it is missing (mode 0700).
 * directory is copied. options NULL: all 0. A store that is damaged becomes an empty one.
 * Returns: 0; -EINVAL (a member of options makes no sense); -EPERM (the directory belongs to
 * another user, or others may write into it); -ENOENT (NNHAL_STORE_EXISTING, and there is none);
 * -EACCES, -EROFS, -ENOTDIR, -ENOSPC (it cannot be written); -EBUSY (another process held it for
 * 2 s); -ENOMEM; -EIO. */
int nnhal_store_open(const char *directory, const struct nnhal_store_options *options,
                     struct nnhal_store **ret_store);

/* nnhal_store_close() - accepts NULL. No other call on the store may be in progress. */
void nnhal_store_close(struct nnhal_store *store);

/* nnhal_store_set() - key stands for value from now on. Both are borrowed.
 * Returns: 0; NNHAL_STORE_E_TOO_LARGE; NNHAL_STORE_E_FORKED; -ENOSPC, -EACCES, -EBUSY, -EIO,
 * -ENOMEM. What key stood for stays after TOO_LARGE by a limit on key, value or total, and by
 * FIT_HALVE; it is gone after TOO_LARGE by HALVE, which has evicted. After an error it stays or is
 * gone. */
int nnhal_store_set(struct nnhal_store *store, const void *key, size_t key_bytes, const void *value,
                    size_t value_bytes);

/* A value in pieces that lie apart. */
struct nnhal_store_part {
    const void *bytes;
    size_t n_bytes;
};

/* nnhal_store_set_parts() - the same for a value that is the parts one after the other. */
int nnhal_store_set_parts(struct nnhal_store *store, const void *key, size_t key_bytes,
                          const struct nnhal_store_part *parts, size_t n_parts);

/* nnhal_store_get() - copies the value into buffer. *ret_bytes is its size, also for TOO_SMALL,
 * which changes nothing else. buffer may be NULL if capacity is 0.
 * Returns: 0; NNHAL_STORE_E_NONE (also if it cannot be read); NNHAL_STORE_E_TOO_SMALL;
 * NNHAL_STORE_E_FORKED; -ENOMEM. */
int nnhal_store_get(struct nnhal_store *store, const void *key, size_t key_bytes, void *buffer,
                    size_t capacity, size_t *ret_bytes);

/* Memory for a value: allocate() returns NULL if it has none. release() takes back what turned out
 * to be damaged. Both may call the store. */
struct nnhal_store_allocator {
    void *ctx;
    void *(*allocate)(void *ctx, size_t n_bytes);
    void (*release)(void *ctx, void *block);
};

/* nnhal_store_get_allocated() - the value in memory of the allocator, which is the caller's from
 * then on; allocator NULL: malloc() and free().
 * Returns: 0; NNHAL_STORE_E_NONE (also if it cannot be read); NNHAL_STORE_E_FORKED; -ENOMEM. */
int nnhal_store_get_allocated(struct nnhal_store *store, const void *key, size_t key_bytes,
                              const struct nnhal_store_allocator *allocator, void **ret_value,
                              size_t *ret_bytes);

/* nnhal_store_remove() - Returns: 0; NNHAL_STORE_E_NONE; NNHAL_STORE_E_FORKED; -errno as set. */
int nnhal_store_remove(struct nnhal_store *store, const void *key, size_t key_bytes);

/* nnhal_store_clear() - removes every entry. Returns: 0; NNHAL_STORE_E_FORKED; -errno as set. */
int nnhal_store_clear(struct nnhal_store *store);

/* Set size before the call: members beyond it are not touched. Counts are those of all processes
 * since the directory was made; what a process that was killed counted last may be missing. */
struct nnhal_store_stats {
    size_t size;
    uint64_t n_entries;
    uint64_t n_bytes;     /* of keys and values: what the limit counts */
    uint64_t disk_bytes;  /* that the files take */
    uint64_t n_hits;      /* of get */
    uint64_t n_misses;    /* of get */
    uint64_t n_sets;      /* that succeeded */
    uint64_t n_evictions; /* entries that made room */
    uint64_t n_damaged;   /* entries and databases that were found damaged, and removed */
};

/* nnhal_store_get_stats() - Returns: 0; NNHAL_STORE_E_FORKED; -EINVAL (size is too small for
 * n_entries); -errno as set. */
int nnhal_store_get_stats(struct nnhal_store *store, struct nnhal_store_stats *stats);

/* An entry, for people: key is cut to its first bytes. */
struct nnhal_store_entry {
    uint64_t key_bytes;
    uint64_t value_bytes;
    int64_t made_s;      /* seconds since 1970 */
    int64_t used_s;      /* set or got last */
    uint64_t file;       /* NUMBER of its file v-NUMBER; 0: it lies in store.db */
    uint32_t is_damaged; /* nnhal_store_verify() only */
    uint32_t n_key;      /* bytes of key below */
    uint8_t key[64];
};

/* Called for each entry with no lock held: it may call the store. Not 0 ends the listing. */
typedef int (*nnhal_store_visit)(void *ctx, const struct nnhal_store_entry *entry);

/* nnhal_store_list() - the entries that there are when it is called, in order of their last use,
 * the oldest first. Does not count as use.
 * Returns: 0, or what visit returned; NNHAL_STORE_E_FORKED; -errno as set. */
int nnhal_store_list(struct nnhal_store *store, nnhal_store_visit visit, void *ctx);

/* nnhal_store_verify() - the same, and checks the database and every value; what is damaged is
 * told to visit (which may be NULL) and removed. Returns: as nnhal_store_list(). */
int nnhal_store_verify(struct nnhal_store *store, nnhal_store_visit visit, void *ctx);

/* -- applications' folders -------------------------------------------------------------
 *
 * The folder that an application gives to ANeuralNetworksCompilation_setCaching() holds, for each
 * compiled model, files of whichever driver compiled it. Here is what a person may want to know of
 * them; the driver judges for itself when it gets them. */

enum nnhal_folder_state {
    NNHAL_FOLDER_WHOLE = 0,      /* files are there; nnhal_folder_verify(): and undamaged */
    NNHAL_FOLDER_INCOMPLETE = 1, /* empty, or not all: will be compiled again */
    NNHAL_FOLDER_BEING_MADE = 2, /* by a process at work, or one that has died */
    NNHAL_FOLDER_DAMAGED = 3,    /* nnhal_folder_verify() only */
    NNHAL_FOLDER_NOT_THERE = 4,  /* only the note of what became of it */
};

struct nnhal_folder_entry {
    char key[65]; /* in hexadecimal: what the names of the files begin with */
    char device[64];
    char why[255];    /* what became of it the last time; "": not known, as device */
    uint32_t outcome; /* enum nnhal_cache_outcome of nnhal/ext.h, if why is known */
    uint32_t state;   /* enum nnhal_folder_state */
    uint32_t n_files;
    uint64_t n_bytes;
    int64_t used_s; /* seconds since 1970: made, or prepared from; the last time */
};

/* nnhal_folder_list() - calls visit for each entry, in no order; not 0 ends the listing.
 * Returns: 0, or what visit returned; -errno (the folder cannot be read); -ENOMEM. */
int nnhal_folder_list(const char *directory,
                      int (*visit)(void *ctx, const struct nnhal_folder_entry *entry), void *ctx);

/* nnhal_folder_verify() - the same, and reads the files: sizes, and the sums of data caches, must
 * be what the model cache says; the model cache itself only its driver can vouch for. Files of entries
 * that are damaged or incomplete are removed. Returns: as nnhal_folder_list(). */
int nnhal_folder_verify(const char *directory,
                        int (*visit)(void *ctx, const struct nnhal_folder_entry *entry), void *ctx);

/* nnhal_folder_clear() - removes every entry, but for those being made.
 * Returns: 0; -errno (the folder cannot be read); -ENOMEM. */
int nnhal_folder_clear(const char *directory);

#ifdef __cplusplus
}
#endif

#endif
