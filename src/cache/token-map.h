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
 * The map is a file "tokens-EPOCH.map" of fixed size, shared by the processes
 * that serve the same driver:
 *
 *   header   one block: magic, version, epoch, checksum
 *   sets     1024 blocks of 4096 bytes; (user, token) says which
 *   records  32 in each set: token, hashes, user, age, place, checksum
 *
 * A get reads one set and takes no lock. A put locks its set against other
 * processes, reads it and writes one record. A record whose checksum or place is
 * wrong (torn, damaged, moved) is free, so that after any change of the file a
 * token is unknown or has the hash that was put. In a full set the user with
 * most records loses the oldest of them, the user who puts before others: no user
 * can push out another's share.
 *
 * The file stays open, so that a sandboxed process needs no other, and no
 * memory maps it, so that a file cut short by another process is no SIGBUS. Nothing
 * waits for the disk: after a power cut the map may have forgotten tokens.
 *
 * Threads: any. After fork the child's map knows nothing and takes nothing, because both would
 * share one lock. */
#ifndef NN_CACHE_TOKEN_MAP_H
#define NN_CACHE_TOKEN_MAP_H

#include "base/cleanup.h"
#include "cache/hash.h"

#include <nnhal/types.h>

struct nn_token_map;

enum {
    NN_TOKEN_MAP_E_NONE = 1, /* nothing is known of this token */
};

/* What a token stands for: either of them. */
struct nn_token_hashes {
    struct nn_hash current;
    struct nn_hash next; /* the same, unless nn_token_map_put_next() said otherwise */
};

/* nn_token_map_open() - the map of an epoch in a folder, which is made if it is missing. One that
 * can only be read is used as it is.
 * Returns: 0, -ENOMEM, -EIO (there can be no map: cache nothing). */
int nn_token_map_open(const char *folder, const struct nn_hash *epoch, struct nn_token_map **ret);

/* nn_token_map_take_fd() - its file, for nn_token_map_adopt() in another process; of the map only
 * nn_token_map_free() may be called then. */
int nn_token_map_take_fd(struct nn_token_map *map);

/* nn_token_map_adopt() - the same of a file that another process opened, whose fd is taken over and
 * closed on failure, too. Should the file be removed, it is not made anew.
 * Returns: 0, -ENOMEM, -EIO (it is no map of this epoch). */
int nn_token_map_adopt(int fd, const struct nn_hash *epoch, struct nn_token_map **ret);

/* nn_token_map_free() - accepts NULL; returns NULL. */
struct nn_token_map *nn_token_map_free(struct nn_token_map *map);

NN_DEFINE_CLEANUP(struct nn_token_map, nn_token_map_free)

/* nn_token_map_put() - what the token stands for from now on. Waits up to 1 s for another process
 * that puts. Returns: 0, -EIO (nothing may be written for the token). */
int nn_token_map_put(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash);

/* nn_token_map_put_next() - what is about to be written in place of what the token stands for: both
 * are known until nn_token_map_put() says that it is there. Waits as nn_token_map_put().
 * Returns: 0, -EIO (leave it as it is). */
int nn_token_map_put_next(struct nn_token_map *map, uint32_t uid,
                          const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash);

/* nn_token_map_get() - Returns: 0, NN_TOKEN_MAP_E_NONE (also when the map cannot be read). */
int nn_token_map_get(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                     struct nn_token_hashes *ret_hashes);

#endif
