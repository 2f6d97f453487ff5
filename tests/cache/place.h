/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - a temporary folder for a test of the cache */
#ifndef NN_TESTS_CACHE_PLACE_H
#define NN_TESTS_CACHE_PLACE_H

#include <nnhal/cache.h>

#include <stdint.h>

#define PLACE_BYTES 64

/* place_make() - a new empty folder in $TMPDIR, else in memory; place_remove() - it, with all
 * that is in it. */
void place_make(char path[PLACE_BYTES]);
void place_remove(const char *path);

/* place_files() - the names of the files in it, sorted, in an array to be freed with each. */
size_t place_files(const char *path, char ***ret_names);
void place_files_done(char **names, size_t n);

/* place_disk_bytes() - what its files take, in whole blocks of 4096. */
uint64_t place_disk_bytes(const char *path);

/* place_open() - a store in it with these limits (0: the defaults). */
struct nnhal_store *place_open(const char *path, uint64_t max_total_bytes, uint32_t selection,
                               uint32_t capacity);

/* place_value() - the n bytes that stand for a number. */
void place_value(uint32_t number, uint8_t *bytes, size_t n);

#endif
