/* SPDX-License-Identifier: Apache-2.0 */
/* loaded-cache.h - the buffers of a cache that a prepared model uses
 *
 * They stay where they are until the model goes: bytes that are its own, and
 * references to weights that it may share (weights.h). One thread at a time. */
#ifndef NN_HOST_CACHING_LOADED_CACHE_H
#define NN_HOST_CACHING_LOADED_CACHE_H

#include "base/arena.h"
#include "host/caching/cache-head.h"
#include "host/caching/weights.h"

#include <nnhal/driver.h>

enum {
    NN_CACHED_E_SHORT = 1,   /* the file is shorter than it was */
    NN_CACHED_E_DAMAGED = 2, /* its bytes are others */
};

struct nn_loaded_cache {
    uint32_t n_files;
    uint8_t **files; /* each to be freed */
    uint32_t n_weights;
    struct nn_weights **weights;   /* each a reference */
    struct nn_quota_charge charge; /* for the files: the owner's to make */
};

/* nn_loaded_cache_init() - with room for so many buffers of each kind, in arena. Returns: 0, -ENOMEM. */
int nn_loaded_cache_init(struct nn_loaded_cache *loaded, uint32_t n_files, uint32_t n_weights,
                         struct nn_arena *arena);

/* nn_loaded_cache_done() - gives back all of them; zero is fine. */
void nn_loaded_cache_done(struct nn_loaded_cache *loaded);

/* nn_loaded_cache_copy() - the buffer becomes a copy. Returns: 0, -ENOMEM. */
int nn_loaded_cache_copy(struct nn_loaded_cache *loaded, struct nnhal_cache_buffer *buffer);

/* nn_loaded_cache_share() - the buffer becomes one that uid has already or may share from now on.
 * Returns: 0, -errno. */
int nn_loaded_cache_share(struct nn_loaded_cache *loaded, struct nn_weights_table *table,
                          uint32_t uid, struct nnhal_cache_buffer *buffer);

/* nn_loaded_cache_read() - the first size bytes of a file.
 * Returns: 0, NN_CACHED_E_SHORT, -ENOMEM. */
int nn_loaded_cache_read(struct nn_loaded_cache *loaded, int fd, uint64_t size,
                         struct nnhal_cache_buffer *ret_buffer);

/* nn_loaded_cache_read_data() - the same of a data file, as the head says that it must be.
 * Returns: 0, NN_CACHED_E_SHORT, NN_CACHED_E_DAMAGED, -ENOMEM. */
int nn_loaded_cache_read_data(struct nn_loaded_cache *loaded, int fd,
                              const struct nn_cache_file *said,
                              struct nnhal_cache_buffer *ret_buffer);

/* nn_loaded_cache_find_data() - the same shared. What uid has already is not read: the head, which its
 * hash has vouched for, says what it is.
 * Returns: 0, NN_CACHED_E_DAMAGED, -errno. */
int nn_loaded_cache_find_data(struct nn_loaded_cache *loaded, struct nn_weights_table *table,
                              uint32_t uid, int fd, const struct nn_cache_file *said,
                              struct nnhal_cache_buffer *ret_buffer);

#endif
