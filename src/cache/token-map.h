/* SPDX-License-Identifier: Apache-2.0 */
/* token-map.h - which bytes a token stands for
 *
 * The driver's side remembers, in a folder of its own, the hash of the model
 * cache that it has written for each (user, token). What comes back with another
 * hash was not written by this driver, or not for this token, or not last: it is
 * not used. The map survives the process. It belongs to one build of one
 * driver (the epoch): another build has a file of its own, and of the files of
 * others the newest few are kept.
 *
 * The map is a SQLite database: processes that serve the same driver share
 * it. If it is damaged it is replaced by an empty one, and everything in it
 * has to be compiled again; a damaged map cannot make a wrong file right.
 * The journal is held in memory and the database stays open, so that a
 * sandboxed process needs no file but the open one. Nothing waits for the disk:
 * a process that ends loses nothing, and after a power cut the map may have
 * forgotten the last tokens, or be damaged.
 *
 * Threads: any; one at a time inside. After fork the child's map knows nothing and takes nothing
 * (db.h). */
#ifndef NN_CACHE_TOKEN_MAP_H
#define NN_CACHE_TOKEN_MAP_H

#include "base/cleanup.h"
#include "cache/hash.h"

#include <nnhal/types.h>

struct nn_token_map;

/* Tokens kept per user: beyond, the one that was put first goes. */
#define NN_TOKEN_MAP_MAX_TOKENS 4096

enum {
    NN_TOKEN_MAP_E_NONE = 1, /* nothing is known of this token */
};

/* nn_token_map_open() - the map of an epoch in a folder, which is made if it is missing.
 * Returns: 0, -ENOMEM, -EIO (there can be no map: cache nothing). */
int nn_token_map_open(const char *folder, const struct nn_hash *epoch, struct nn_token_map **ret);

/* nn_token_map_free() - accepts NULL; returns NULL. */
struct nn_token_map *nn_token_map_free(struct nn_token_map *map);

NN_DEFINE_CLEANUP(struct nn_token_map, nn_token_map_free)

/* nn_token_map_put() - what the token stands for from now on.
 * Returns: 0, -EIO (nothing may be written for the token). */
int nn_token_map_put(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash);

/* nn_token_map_put_next() - what is about to be written in place of what the token stands for: both
 * are known until nn_token_map_put() says that it is there. Returns: 0, -EIO (leave it as it is). */
int nn_token_map_put_next(struct nn_token_map *map, uint32_t uid,
                          const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash);

/* nn_token_map_get_next() - Returns: 0, NN_TOKEN_MAP_E_NONE. */
int nn_token_map_get_next(struct nn_token_map *map, uint32_t uid,
                          const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_hash *ret_hash);

/* nn_token_map_get() - Returns: 0, NN_TOKEN_MAP_E_NONE (also when the map cannot be read). */
int nn_token_map_get(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], struct nn_hash *ret_hash);

#endif
