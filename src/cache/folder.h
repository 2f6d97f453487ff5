/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - an application's folder of cache entries
 *
 * An entry is a set of files named after its key, a hash of all that decides what
 * is in them: NAME-m0, NAME-m1, ... (model cache), NAME-d0, ... (data cache).
 * What is in the files is the driver's affair; nothing is added here.
 *
 *   hit    nn_entry_find() opens them, for reading and writing
 *   miss   nn_entry_create() makes empty files under other names; nn_entry_sync()
 *          brings what was written to the disk; nn_entry_commit() gives the files
 *          their names, nn_entry_done() removes them
 *
 * An entry is seen whole or not at all, but for a process that ends between two
 * renames; the driver's hash refuses what does not belong together. Safety is that
 * hash: the lock only saves work. It is a byte of the file "lock", which is never
 * removed; the byte's offset comes from the key, so that two keys hardly ever meet.
 * Its descriptor stays here: one that is handed on would hand on the lock.
 *
 * Files are ordinary ones of this user; links are not followed. */
#ifndef NN_CACHE_FOLDER_H
#define NN_CACHE_FOLDER_H

#include "base/cleanup.h"
#include "cache/hash.h"

#include <nnhal/types.h>

#include <stdbool.h>
#include <sys/types.h>

/* Bytes of all entries together; beyond, those that were not used for longest go. */
#define NN_FOLDER_MAX_BYTES (UINT64_C(1) << 30)

enum {
    NN_FOLDER_E_NONE = 1, /* nn_entry_find(): there is no such entry, or it is not usable */
    NN_FOLDER_E_BUSY = 2, /* nn_folder_lock(): another process still has it */
};

struct nn_folder {
    int fd;
    int lock_fd; /* -1: nothing is locked */
};

struct nn_entry {
    struct nn_folder *folder;
    struct nn_hash key;
    uint32_t n_model;
    uint32_t n_data;
    int32_t model[NNHAL_MAX_CACHE_FILES]; /* -1, or open */
    int32_t data[NNHAL_MAX_CACHE_FILES];
    ino_t inode; /* of the first model file that was found: one that is replaced has another */
    uint64_t temporary; /* number in the names until they are kept; 0: none */
};

/* Of the names of files; the key comes first, in hexadecimal. */
#define NN_FOLDER_KEY_CHARACTERS (2 * NN_HASH_BYTES)
#define NN_FOLDER_NAME_BYTES     (NN_FOLDER_KEY_CHARACTERS + 64)

/* A file of an entry. */
struct nn_folder_file {
    char name[NN_FOLDER_NAME_BYTES];
    uint64_t size;
    int64_t time_s; /* of its last use, or since when it was written */
};

/* nn_folder_open() - path must exist. Returns: 0, -errno. */
int nn_folder_open(const char *path, struct nn_folder *ret_folder);

/* nn_folder_close() - also unlocks. */
void nn_folder_close(struct nn_folder *folder);

/* nn_folder_open_file() - a file of this name, for reading and writing, which must be an ordinary
 * one of ours. Returns: a descriptor, -EPERM, -errno. */
int nn_folder_open_file(const struct nn_folder *folder, const char *name, int flags);

/* nn_folder_list() - the files of all entries, sorted by name, so that those of one key stand
 * together; the array is to be freed. Returns: how many. */
size_t nn_folder_list(const struct nn_folder *folder, struct nn_folder_file **ret_files);

/* nn_folder_file_is_temporary() - whether it is one of an entry that is being made. */
bool nn_folder_file_is_temporary(const struct nn_folder_file *file);

/* nn_folder_lock() - only one at a time, here and in other processes, compiles for a key. Waits
 * until deadline_ns (CLOCK_MONOTONIC). The new holder looks for the entry again.
 * Returns: 0, NN_FOLDER_E_BUSY, -errno. */
int nn_folder_lock(struct nn_folder *folder, const struct nn_hash *key, uint64_t deadline_ns);
void nn_folder_unlock(struct nn_folder *folder);

/* nn_entry_find() - opens the files of a key, of which the first model file is not
 * empty, and notes that they were used. Returns: 0, NN_FOLDER_E_NONE. */
int nn_entry_find(struct nn_folder *folder, const struct nn_hash *key, uint32_t n_model,
                  uint32_t n_data, struct nn_entry *ret_set);

/* nn_entry_create() - empty files. Returns: 0, -errno. */
int nn_entry_create(struct nn_folder *folder, const struct nn_hash *key, uint32_t n_model,
                    uint32_t n_data, struct nn_entry *ret_set);

/* nn_entry_is_written() - whether the driver has written into it: it writes the first
 * model file last. */
bool nn_entry_is_written(const struct nn_entry *set);

/* nn_entry_is_removed() - whether its files have no name any more: they cannot be kept. */
bool nn_entry_is_removed(const struct nn_entry *set);

/* nn_entry_sync() - the data files, then the model files, the first of them last. Waits for the
 * disk. Returns: 0, -errno. */
int nn_entry_sync(const struct nn_entry *set);

/* nn_entry_commit() - the files take the place of those of the key; then makes room.
 * Returns: 0, -errno. */
int nn_entry_commit(struct nn_entry *set, uint64_t max_bytes);

/* nn_entry_done() - closes; removes what was not kept. Zero is fine after
 * nn_entry_init(). */
void nn_entry_init(struct nn_entry *set);
void nn_entry_done(struct nn_entry *set);

#endif
