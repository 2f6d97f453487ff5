/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/hash.h"

/* The functions that OpenSSL 3 calls deprecated. What replaces them fetches an implementation at
 * the first use: that takes a millisecond, more than compiling a small model, allocates, and holds
 * locks that a forked child may wait for. These compute in the caller's memory and cannot fail. */
#define OPENSSL_SUPPRESS_DEPRECATED
#define XXH_INLINE_ALL
#include <openssl/sha.h>
#include <xxhash.h>

void nn_hash_compute(const struct nn_hash_part *parts, size_t n_parts, struct nn_hash *ret_hash)
{
    SHA256_CTX context;

    SHA256_Init(&context);
    for (size_t i = 0; i < n_parts; i++)
        if (parts[i].size)
            SHA256_Update(&context, parts[i].bytes, (size_t)parts[i].size);
    SHA256_Final(ret_hash->bytes, &context);
}

uint64_t nn_hash_checksum(const void *bytes, uint64_t size)
{
    return XXH3_64bits(bytes, (size_t)size);
}
