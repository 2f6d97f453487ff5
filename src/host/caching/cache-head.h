/* SPDX-License-Identifier: Apache-2.0 */
/* cache-head.h - the head of a model cache: what the host keeps of a model
 *
 *     struct head   fixed
 *     struct file   one for each buffer: the driver's model buffers, then its data buffers
 *     struct side   one for each input, then for each output
 *
 * In this machine's byte order: another machine's hash is another one. Although
 * the hash has been found right before a head is read, nothing in it is believed
 * that is not inside. */
#ifndef NN_HOST_CACHING_CACHE_HEAD_H
#define NN_HOST_CACHING_CACHE_HEAD_H

#include "base/arena.h"
#include "cache/hash.h"
#include "model/validate.h"

#include <nnhal/driver.h>

#include <stdbool.h>

struct nn_cache_file {
    uint64_t size;
    uint64_t sum;
    struct nn_hash hash; /* of a data buffer whose saver has hashed it; else zeroes */
};

struct nn_cache_head {
    uint32_t priority;
    uint32_t stage; /* enum nn_stage */
    uint32_t n_files;
    struct nn_cache_file *files;
    struct nn_model_io io;
};

/* nn_cache_head_encode() - a multiple of 64 bytes, in arena.
 * Returns: 0, -ENOMEM. */
int nn_cache_head_encode(const struct nn_cache_head *head, struct nn_arena *arena,
                         const uint8_t **ret_bytes, uint64_t *ret_size);

/* nn_cache_head_decode() - from the beginning of bytes; what is in *ret_head lives in arena.
 * Returns: whether it is a head; *ret_size is where it ends. */
bool nn_cache_head_decode(const uint8_t *bytes, uint64_t n_bytes, struct nn_arena *arena,
                          struct nn_cache_head *ret_head, uint64_t *ret_size);

#endif
