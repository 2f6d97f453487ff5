/* SPDX-License-Identifier: Apache-2.0 */
/* temp-folder.h - a temporary folder for a test of the cache */
#ifndef NN_TESTS_CACHE_TEMP_FOLDER_H
#define NN_TESTS_CACHE_TEMP_FOLDER_H

#include <nnhal/cache.h>

#include <stdint.h>

#define TEMP_FOLDER_BYTES 64

/* temp_folder_new() - a new empty folder in $TMPDIR, else in memory; temp_folder_free() - it, with all
 * that is in it. */
void temp_folder_new(char path[TEMP_FOLDER_BYTES]);
void temp_folder_free(const char *path);

/* temp_folder_list() - the names of the files in it, sorted, in an array to be freed with each. */
size_t temp_folder_list(const char *path, char ***ret_names);
void temp_folder_list_done(char **names, size_t n);

/* temp_folder_disk_bytes() - what its files take, in whole blocks of 4096. */
uint64_t temp_folder_disk_bytes(const char *path);

/* temp_folder_open_store() - a store in it with these limits (0: the defaults). */
struct nnhal_store *temp_folder_open_store(const char *path, uint64_t max_total_bytes,
                                           uint32_t selection, uint32_t capacity);

/* make_value() - the n bytes that stand for a number. */
void make_value(uint32_t number, uint8_t *bytes, size_t n);

#endif
