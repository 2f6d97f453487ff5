/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - preparing a model with an application's cache folder
 *
 *   find entry --found--> prepare_model_from_cache --good--> HIT
 *       |none                     |refused
 *       +-------------------------+--> lock --> find again --none, or the same--> make files
 *                  --> prepare_model --the driver wrote--> keep them: COMPILED
 *                                    --it did not-------> remove them: UNCACHED
 *
 * Keeping waits for the disk and is done in the background, by cache-writer.h,
 * which also holds the lock until the entry is whole.
 *
 * A failure of the cache fails no compilation: the model is prepared without it,
 * and why says what failed. That is logged as a warning, too, but not twice in
 * a row. */
#ifndef NN_RUNTIME_COMPILATION_CACHE_H
#define NN_RUNTIME_COMPILATION_CACHE_H

#include "cache/folder.h"
#include "runtime/compilation/prepare-options.h"
#include "runtime/model/model.h"

#include <nnhal/ext.h>

/* What an application asked for, and the outcome. */
struct nn_rt_cache {
    char *path;            /* NULL: no folder was asked for */
    struct nn_entry files; /* n_model 0: no files of its own were asked for */
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES];
    enum nnhal_cache_outcome outcome;
    char why[256];
};

/* Files that an application has opened itself. */
struct nn_rt_cache_files {
    uint32_t n_model;
    uint32_t n_data;
    const int *model;
    const int *data;
};

/* nn_rt_cache_take_files() - duplicates them into an empty cache, which is empty after a failure.
 * Returns: 0; BAD_DATA: there are none, or one is not open; -errno. */
int nn_rt_cache_take_files(struct nn_rt_cache *cache, const struct nn_rt_cache_files *files,
                           struct nn_why *why);
void nn_rt_cache_done(struct nn_rt_cache *cache);

/* nn_rt_cache_is_wanted() - whether the application asked for one. */
bool nn_rt_cache_is_wanted(const struct nn_rt_cache *cache);

/* How the HAL is asked, by prepared.c. An fd array belongs to the set. */
struct nn_rt_cache_calls {
    void *ctx;
    /* Returns: 0; what the device answers. */
    int (*from_cache)(void *ctx, const struct nn_entry *set, const uint8_t *token,
                      struct nn_why *why);
    int (*compile)(void *ctx, const struct nn_entry *set, const uint8_t *token, struct nn_why *why);
};

/* nn_rt_cache_prepare() - as drawn above; cache->outcome and why are set.
 * Returns: what compile() returned, or 0 for a hit. */
int nn_rt_cache_prepare(struct nn_rt_cache *cache, const struct nn_rt_model *finished,
                        const ANeuralNetworksDevice *device,
                        const struct nn_rt_prepare_options *options,
                        const struct nn_rt_cache_calls *calls, struct nn_why *why);

#endif
