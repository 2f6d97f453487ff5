/* SPDX-License-Identifier: Apache-2.0 */
/* cache-files.h - compilation caching as a client of the HAL sees it
 *
 * A cache_desk is a host with a session, a folder for what the driver remembers,
 * and a set of cache files. Models are chains of ADD or of MUL with a constant,
 * of floats or of quantized bytes; cache_runs() says whether a prepared one
 * computes what its chain must.
 *
 *     cache_open(&desk, CACHE_CPU);
 *     cache_prepare(&desk, &chain, &files, token) -> prepared model, is_cached
 *     cache_load(&desk, &files, token, &prepared) -> status */
#ifndef NN_TESTS_HOST_CACHE_FILES_H
#define NN_TESTS_HOST_CACHE_FILES_H

#include "host/desk.h"

enum cache_driver { CACHE_FAKE, CACHE_CPU, CACHE_SAMPLE, CACHE_DRIVER_N };

struct cache_chain {
    uint32_t operation; /* NNHAL_OP_ADD or NNHAL_OP_MUL */
    uint32_t type;      /* NNHAL_TENSOR_FLOAT32 or NNHAL_TENSOR_QUANT8_ASYMM */
    uint32_t n_operations;
    uint32_t is_open; /* the first dimension is not known */
};

struct cache_desk {
    struct desk desk;
    enum cache_driver driver;
    const char *configuration; /* of the sample, from the next cache_reopen() on */
    char folder[64];           /* state/ and files lie in it */
    uint32_t n_model, n_data;
    uint64_t memory;
    uint64_t written_model; /* of the last cache_written event; atomic, as is their number */
    uint32_t n_written;
};

/* Chains of each form: short and long, of floats and of bytes. */
#define CACHE_CHAIN_N 4
extern const struct cache_chain cache_chains[CACHE_CHAIN_N];
#define CACHE_SMALL (&cache_chains[0])
#define CACHE_LARGE (&cache_chains[2])

/* cache_mul_of() - the other model of the same form. */
struct cache_chain cache_mul_of(const struct cache_chain *chain);

extern const uint8_t cache_token_a[NNHAL_CACHE_TOKEN_BYTES];
extern const uint8_t cache_token_b[NNHAL_CACHE_TOKEN_BYTES];

/* Each driver with each chain that it can do. */
#define CACHE_EACH(desk, chain)                                                                    \
    for (unsigned each_ = 0; each_ < CACHE_DRIVER_N * CACHE_CHAIN_N; each_++)                      \
        for (const struct cache_chain *chain = &cache_chains[each_ / CACHE_DRIVER_N],              \
                                      *once_ = chain;                                              \
             once_ && cache_can(each_ % CACHE_DRIVER_N, chain) &&                                  \
             (cache_open(&(desk), each_ % CACHE_DRIVER_N), true);                                  \
             once_ = NULL, cache_close(&(desk)))

/* cache_random() - the next number of a seed. */
uint32_t cache_random(uint32_t *seed);

/* Descriptors, each -1 or to be closed; more than a driver wants have room. */
struct cache_files {
    uint32_t n_model, n_data;
    int32_t model[NNHAL_MAX_CACHE_FILES];
    int32_t data[NNHAL_MAX_CACHE_FILES];
};

/* cache_can() - whether the driver prepares such models: the sample has floats alone. */
bool cache_can(enum cache_driver driver, const struct cache_chain *chain);

/* cache_open() - a driver and an empty folder. cache_reopen() - another host of the
 * same driver, and a session for uid. */
void cache_open(struct cache_desk *desk, enum cache_driver driver);
void cache_reopen(struct cache_desk *desk, uint32_t uid);
void cache_close(struct cache_desk *desk);

/* cache_files_open() - the files called name, as many as the driver wants, opened with flags. */
void cache_files_open(struct cache_desk *desk, const char *name, int flags,
                      struct cache_files *files);
void cache_files_close(struct cache_files *files);

/* cache_path() - of the i-th file called name; good for three more calls. */
const char *cache_path(struct cache_desk *desk, const char *name, bool is_model, uint32_t i);

/* cache_prepare() - must succeed; is_cached: there was an event. Returns: the prepared model. */
uint64_t cache_prepare(struct cache_desk *desk, const struct cache_chain *chain,
                       const struct cache_files *files, const uint8_t *token, bool *ret_is_cached);

/* cache_load() - checks that there is a prepared model if and only if the status is NONE. */
uint32_t cache_load(struct cache_desk *desk, const struct cache_files *files, const uint8_t *token,
                    uint64_t *ret_prepared);

/* cache_computes() - whether it computes the chain. */
bool cache_computes(struct cache_desk *desk, const struct cache_chain *chain, uint64_t prepared);

/* cache_runs() - the same; frees the prepared model. */
bool cache_runs(struct cache_desk *desk, const struct cache_chain *chain, uint64_t prepared);

/* cache_save() - prepares and saves into the files called name; all must go well. */
void cache_save(struct cache_desk *desk, const struct cache_chain *chain, const char *name,
                const uint8_t *token);

/* cache_try() - loads the files called name. Returns: the status. */
uint32_t cache_try(struct cache_desk *desk, const char *name, const uint8_t *token,
                   uint64_t *ret_prepared);

/* cache_copy() - the contents of the files called from into those called to; kinds: 1 model, 2
 * data. */
void cache_copy(struct cache_desk *desk, const char *from, const char *to, unsigned kinds);

/* The bytes of a file. */
size_t cache_read(const char *path, uint8_t **ret_bytes);
void cache_write(const char *path, const uint8_t *bytes, size_t n_bytes);

#endif
