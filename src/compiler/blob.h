/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - bytes that grow at their end: plans and weights while they are made
 *
 * The bytes start at a multiple of 64; what is appended is found by its offset,
 * since the bytes move when they grow. One thread at a time. */
#ifndef NN_COMPILER_BLOB_H
#define NN_COMPILER_BLOB_H

#include "base/meter.h"

#include <stddef.h>
#include <stdint.h>

#define NN_BLOB_ALIGNMENT 64

struct nn_blob {
    uint8_t *bytes;
    size_t size;
    size_t allocated;
    size_t n_ready;               /* of allocated: their pages are there */
    const struct nn_meter *meter; /* NULL: none; charged for what is allocated */
};

/* nn_blob_done() - frees the bytes. It is empty then, and keeps its meter, as all that follows. */
void nn_blob_done(struct nn_blob *blob);

/* nn_blob_reserve() - what is extended next by n_bytes at that alignment does not move the blob.
 * Returns: 0, -ENOMEM. */
int nn_blob_reserve(struct nn_blob *blob, size_t n_bytes, size_t alignment);

/* nn_blob_extend() - n_bytes zeroed bytes at the end, at a multiple of alignment (a power of
 * two up to 64). Returns: 0 with their offset, -ENOMEM, -EDQUOT. */
int nn_blob_extend(struct nn_blob *blob, size_t n_bytes, size_t alignment, size_t *ret_offset);

/* nn_blob_append() - the same with a copy of bytes. */
int nn_blob_append(struct nn_blob *blob, const void *bytes, size_t n_bytes, size_t alignment,
                   size_t *ret_offset);

/* nn_blob_take() - the bytes, to be freed with free(), in a block without
 * slack; the blob is empty then. What was charged for them is added to *charged, and the
 * caller's to give back. Returns: 0, -ENOMEM, -EDQUOT. */
int nn_blob_take(struct nn_blob *blob, uint8_t **ret_bytes, uint64_t *ret_size, uint64_t *charged);

#endif
