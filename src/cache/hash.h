/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - what cached bytes are recognized by
 *
 * A hash (SHA-256) tells bytes that may have been forged to look like
 * others; a sum (XXH3) finds damage, ten times as fast. Both are made over
 * memory of ours: what is hashed is what is used. */
#ifndef NN_CACHE_HASH_H
#define NN_CACHE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define NN_HASH_BYTES 32

struct nn_hash {
    uint8_t bytes[NN_HASH_BYTES];
};

struct nn_hash_part {
    const void *bytes;
    uint64_t size;
};

/* nn_hash_compute() - of the parts one after the other with nothing in between:
 * where lengths differ from case to case they are a part, too. Cannot fail, allocates
 * nothing. Any thread. */
void nn_hash_compute(const struct nn_hash_part *parts, size_t n_parts, struct nn_hash *ret_hash);

/* nn_hash_checksum() - finds damage, not malice. */
uint64_t nn_hash_checksum(const void *bytes, uint64_t size);

#endif
