/* SPDX-License-Identifier: Apache-2.0 */
#include "host/caching/loaded-cache.h"

#include "base/arith.h"
#include "base/error.h"
#include "cache/entry-file.h"

#include <string.h>

int nn_loaded_cache_init(struct nn_loaded_cache *loaded, uint32_t n_files, uint32_t n_weights,
                         struct nn_arena *arena)
{
    *loaded = (struct nn_loaded_cache){
        .files = nn_arena_new_n(arena, uint8_t *, n_files),
        .weights = nn_arena_new_n(arena, struct nn_weights *, n_weights),
    };
    return loaded->files && loaded->weights ? 0 : nn_error_origin(-ENOMEM);
}

void nn_loaded_cache_done(struct nn_loaded_cache *loaded)
{
    for (uint32_t i = 0; i < loaded->n_files; i++)
        free(loaded->files[i]);
    for (uint32_t i = 0; i < loaded->n_weights; i++)
        nn_weights_unref(loaded->weights[i]);
    nn_quota_release(&loaded->charge);
    *loaded = (struct nn_loaded_cache){0};
}

int nn_loaded_cache_copy(struct nn_loaded_cache *loaded, struct nnhal_cache_buffer *buffer)
{
    uint8_t *copy;
    size_t whole;

    if (!nn_align_up(buffer->size ? buffer->size : 1, NN_ENTRY_FILE_ALIGNMENT, &whole))
        return nn_error_origin(-ENOMEM);
    copy = aligned_alloc(NN_ENTRY_FILE_ALIGNMENT, whole);
    if (!copy)
        return nn_error_origin(-ENOMEM);
    if (buffer->size)
        memcpy(copy, buffer->bytes, buffer->size);
    loaded->files[loaded->n_files++] = copy;
    buffer->bytes = copy;
    return 0;
}

int nn_loaded_cache_share(struct nn_loaded_cache *loaded, struct nn_weights_table *table,
                          uint32_t uid, struct nnhal_cache_buffer *buffer)
{
    const struct nn_hash_part part = {buffer->bytes, buffer->size};
    struct nn_weights *weights;
    struct nn_hash hash;
    int r;

    /* A cryptographic hash: clients of one table could otherwise be handed what another has
     * forged. */
    nn_hash_compute(&part, 1, &hash);
    r = nn_weights_add(table, uid, buffer->bytes, buffer->size, &hash, &weights);
    if (r < 0)
        return nn_error_trace(r);
    loaded->weights[loaded->n_weights++] = weights;
    buffer->bytes = nn_weights_data(weights);
    return 0;
}

int nn_loaded_cache_read(struct nn_loaded_cache *loaded, int fd, uint64_t size,
                         struct nnhal_cache_buffer *ret_buffer)
{
    uint8_t *bytes;
    int r = nn_entry_file_read(fd, size, &bytes);

    if (r)
        return r < 0 ? nn_error_trace(r) : NN_CACHED_E_SHORT;
    loaded->files[loaded->n_files++] = bytes;
    *ret_buffer = (struct nnhal_cache_buffer){bytes, size};
    return 0;
}

int nn_loaded_cache_read_data(struct nn_loaded_cache *loaded, int fd,
                              const struct nn_cache_file *said,
                              struct nnhal_cache_buffer *ret_buffer)
{
    int r = nn_loaded_cache_read(loaded, fd, said->size, ret_buffer);

    if (r)
        return r;
    /* A checksum is enough: data decides no address, so that its owner can only spoil results of
     * his own. */
    return nn_hash_checksum(ret_buffer->bytes, said->size) == said->sum ? 0 : NN_CACHED_E_DAMAGED;
}

int nn_loaded_cache_find_data(struct nn_loaded_cache *loaded, struct nn_weights_table *table,
                              uint32_t uid, int fd, const struct nn_cache_file *said,
                              struct nnhal_cache_buffer *ret_buffer)
{
    struct nn_weights *weights;
    int r = nn_weights_find(table, uid, said->size, &said->hash, &weights);

    /* Read only if no client has them: that is what makes a second client cheap. */
    if (r == NN_WEIGHTS_E_NONE)
        r = nn_weights_read(table, uid, fd, said->size, said->sum, &weights);
    if (r)
        return r < 0 ? nn_error_trace(r) : NN_CACHED_E_DAMAGED;
    loaded->weights[loaded->n_weights++] = weights;
    *ret_buffer = (struct nnhal_cache_buffer){nn_weights_data(weights), said->size};
    return 0;
}
