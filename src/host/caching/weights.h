/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - data caches that clients share
 *
 * What a driver keeps as data cache (packed weights) is most of a model. In a service it is held
 * once: the bytes lie in memory of this process that is sealed against writing, and are
 * found again by uid, size and SHA-256. A client that prepares the same model from its cache gets
 * a reference and costs no copy; nothing is shared on a client's word.
 *
 * Which clients share is the host's: none (a process with one client, who pays for a hash that
 * needs nothing), those of one uid (a service), or all.
 *
 * Threads: all functions, any thread. Bytes are read-only from the beginning to the end. */
#ifndef NN_HOST_CACHING_WEIGHTS_H
#define NN_HOST_CACHING_WEIGHTS_H

#include "base/cleanup.h"
#include "cache/hash.h"
#include "host/quota.h"

#include <pthread.h>
#include <stdint.h>

struct nn_weights;

/* All that a host shares at the moment. */
struct nn_weights_table {
    pthread_mutex_t lock;
    struct nn_quota *quota; /* borrowed */
    struct nn_weights *first;
};

enum {
    NN_WEIGHTS_E_NONE = 1, /* there are none, or they cannot be read, or are others */
};

/* nn_weights_table_init() - what the table holds is charged to the uid that brought it first, once. */
void nn_weights_table_init(struct nn_weights_table *table, struct nn_quota *quota);

/* nn_weights_table_done() - all references must have been given back. */
void nn_weights_table_done(struct nn_weights_table *table);

/* nn_weights_find() - a reference to bytes that a session of uid holds.
 * Returns: 0, NN_WEIGHTS_E_NONE. */
int nn_weights_find(struct nn_weights_table *table, uint32_t uid, uint64_t size,
                    const struct nn_hash *hash, struct nn_weights **ret_weights);

/* nn_weights_add() - a reference to a sealed copy of these bytes, which is made unless uid has one.
 * Returns: 0, -EDQUOT (beyond the uid's memory), -errno. */
int nn_weights_add(struct nn_weights_table *table, uint32_t uid, const void *bytes, uint64_t size,
                   const struct nn_hash *hash, struct nn_weights **ret_weights);

/* nn_weights_read() - the first size bytes of a file, sealed, then hashed: a reference to them,
 * or to the same ones that uid already has. sum is what they must have (nn_hash_checksum()).
 * Returns: 0, NN_WEIGHTS_E_NONE (the file is shorter, or its sum another), -errno. */
int nn_weights_read(struct nn_weights_table *table, uint32_t uid, int fd, uint64_t size,
                    uint64_t sum, struct nn_weights **ret_weights);

/* nn_weights_unref() - accepts NULL; returns NULL. */
struct nn_weights *nn_weights_unref(struct nn_weights *weights);

/* The bytes, aligned to a page. */
const void *nn_weights_data(const struct nn_weights *weights);
const struct nn_hash *nn_weights_hash(const struct nn_weights *weights);

#endif
