/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h - memory that is freed at once
 *
 * An arena hands out zeroed blocks and frees all of them together: the memory
 * of one request, one decoded model, one compilation. It grows by chunks and
 * never beyond its limit, and charges each chunk to its meter, if it was given one, before it
 * takes it. Blocks never move. One thread at a time. */
#ifndef NN_BASE_ARENA_H
#define NN_BASE_ARENA_H

#include "base/cleanup.h"
#include "base/meter.h"

#include <stddef.h>
#include <stdint.h>

struct nn_arena_chunk;

struct nn_arena {
    struct nn_arena_chunk *chunks;
    size_t n_bytes;               /* taken from the system */
    size_t limit_bytes;           /* 0: none */
    const struct nn_meter *meter; /* NULL: none; set after nn_arena_init() */
    size_t n_charged;             /* of n_bytes: what was taken since the meter was set */
};

/* nn_arena_init() - an empty arena; takes no memory before it is used. */
void nn_arena_init(struct nn_arena *arena, size_t limit_bytes);

/* nn_arena_done() - frees every block. The arena is as after nn_arena_init(), and keeps its meter. */
void nn_arena_done(struct nn_arena *arena);

/* nn_arena_reset() - frees every block but keeps one chunk for the next use. */
void nn_arena_reset(struct nn_arena *arena);

/* nn_arena_alloc() - a zeroed block, aligned to 16 bytes; n_bytes may be 0.
 * Returns: the block, or NULL if memory, the limit or the meter is exhausted. */
void *nn_arena_alloc(struct nn_arena *arena, size_t n_bytes);

/* nn_arena_alloc_array() - as nn_arena_alloc(), with the product checked. */
void *nn_arena_alloc_array(struct nn_arena *arena, size_t n, size_t element_bytes);

/* nn_arena_dup() - a copy of n_bytes at bytes. */
void *nn_arena_dup(struct nn_arena *arena, const void *bytes, size_t n_bytes);

#define nn_arena_new(arena, type)      ((type *)nn_arena_alloc((arena), sizeof(type)))
#define nn_arena_new_n(arena, type, n) ((type *)nn_arena_alloc_array((arena), (n), sizeof(type)))

#endif
