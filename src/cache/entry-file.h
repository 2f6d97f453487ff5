/* SPDX-License-Identifier: Apache-2.0 */
/* entry-file.h - the files of a cache entry, as descriptors that an application handed over
 *
 * The owner of the descriptors may write the files at any time, and may have
 * written anything into them. So a file is read whole into memory of ours, judged
 * there, and only that copy is used. It is written from its beginning, regardless of
 * the descriptor's offset is, and cut to its new length. Only ordinary files are
 * touched: what else a descriptor may be could make us wait. */
#ifndef NN_CACHE_ENTRY_FILE_H
#define NN_CACHE_ENTRY_FILE_H

#include "cache/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest file that is read or written. */
#define NN_ENTRY_FILE_MAX_BYTES (UINT64_C(1) << 32)

/* What is read begins at a multiple of it. */
#define NN_ENTRY_FILE_ALIGNMENT 64

enum {
    NN_ENTRY_FILE_E_UNUSABLE = 1, /* not an ordinary file, not readable, or too large */
};

/* nn_entry_file_is_writable() - whether fd is an ordinary file open for reading and
 * writing anywhere in it. */
bool nn_entry_file_is_writable(int fd);

/* nn_entry_file_write() - makes the parts the file's whole contents, on the disk.
 * Returns: 0, -errno (the file holds anything then). */
int nn_entry_file_write(int fd, const struct nn_hash_part *parts, size_t n_parts);

/* nn_entry_file_write_unsynced() - the same without waiting for the disk. */
int nn_entry_file_write_unsynced(int fd, const struct nn_hash_part *parts, size_t n_parts);

/* nn_entry_file_size() - how many bytes nn_entry_file_read() would read now.
 * Returns: 0, NN_ENTRY_FILE_E_UNUSABLE. */
int nn_entry_file_size(int fd, uint64_t *ret_size);

/* nn_entry_file_read() - the first size bytes of a file, in memory to be freed.
 * Returns: 0, NN_ENTRY_FILE_E_UNUSABLE (also if it has become shorter), -ENOMEM. */
int nn_entry_file_read(int fd, uint64_t size, uint8_t **ret_bytes);

#endif
