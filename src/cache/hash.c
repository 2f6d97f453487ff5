/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/hash.h"

#include "base/error.h"

#define XXH_INLINE_ALL
#include <openssl/evp.h>
#include <xxhash.h>

static int add_parts(EVP_MD_CTX *context, const struct nn_hash_part *parts, size_t n_parts)
{
    int is_good = EVP_DigestInit_ex(context, EVP_sha256(), NULL);

    for (size_t i = 0; is_good && i < n_parts; i++)
        if (parts[i].size)
            is_good = EVP_DigestUpdate(context, parts[i].bytes, (size_t)parts[i].size);
    return is_good;
}

/* What libcrypto can fail with here is a lack of memory. */
int nn_hash_make(const struct nn_hash_part *parts, size_t n_parts, struct nn_hash *ret_hash)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int is_good = context && add_parts(context, parts, n_parts) &&
                  EVP_DigestFinal_ex(context, ret_hash->bytes, NULL);

    EVP_MD_CTX_free(context);
    return is_good ? 0 : nn_error_origin(-ENOMEM);
}

uint64_t nn_hash_sum(const void *bytes, uint64_t size)
{
    return XXH3_64bits(bytes, (size_t)size);
}
