/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/hash.h"

#include "base/error.h"

#define XXH_INLINE_ALL
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <xxhash.h>

/* Fetched once: libcrypto looks it up under locks of its own, for which a forked child might wait
 * for ever. */
static const EVP_MD *sha256;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* libcrypto would free its state in exit(), under the feet of a thread that hashes in the
 * background. (Not if the application has initialized it before us: then it is its own affair.) */
static void hash_load(void)
{
    unsigned char hash[NN_HASH_BYTES];

    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!sha256)
        sha256 = EVP_sha256();
    EVP_Digest("", 0, hash, NULL, sha256, NULL); /* whatever else is made at the first use */
}

void nn_hash_preload(void)
{
    pthread_once(&once, hash_load);
}

static int add_parts(EVP_MD_CTX *context, const struct nn_hash_part *parts, size_t n_parts)
{
    int is_good = EVP_DigestInit_ex(context, sha256, NULL);

    for (size_t i = 0; is_good && i < n_parts; i++)
        if (parts[i].size)
            is_good = EVP_DigestUpdate(context, parts[i].bytes, (size_t)parts[i].size);
    return is_good;
}

/* What libcrypto can fail with here is a lack of memory. */
int nn_hash_compute(const struct nn_hash_part *parts, size_t n_parts, struct nn_hash *ret_hash)
{
    EVP_MD_CTX *context;
    int is_good;

    nn_hash_preload();
    context = EVP_MD_CTX_new();
    is_good = context && add_parts(context, parts, n_parts) &&
              EVP_DigestFinal_ex(context, ret_hash->bytes, NULL);

    EVP_MD_CTX_free(context);
    return is_good ? 0 : nn_error_origin(-ENOMEM);
}

uint64_t nn_hash_checksum(const void *bytes, uint64_t size)
{
    return XXH3_64bits(bytes, (size_t)size);
}
