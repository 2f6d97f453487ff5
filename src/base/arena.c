/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "base/arith.h"
#include "base/block.h"

#include <stdbool.h>
#include <string.h>

enum {
    FIRST_CHUNK_BYTES = 4096,
    LAST_CHUNK_BYTES = 1 << 20, /* chunks double up to here */
    ALIGNMENT = 16,
};

/* The newest chunk stands first; blocks are taken from its end upwards. */
struct nn_arena_chunk {
    struct nn_arena_chunk *next;
    size_t n_used;
    size_t n_ready; /* whose pages were touched */
    size_t capacity;
    bool is_charged;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

void nn_arena_init(struct nn_arena *arena, size_t limit_bytes)
{
    *arena = (struct nn_arena){.limit_bytes = limit_bytes};
}

void nn_arena_done(struct nn_arena *arena)
{
    struct nn_arena_chunk *chunk = arena->chunks;

    while (chunk) {
        struct nn_arena_chunk *next = chunk->next;

        free(chunk);
        chunk = next;
    }
    nn_meter_uncharge(arena->meter, arena->n_charged);
    *arena = (struct nn_arena){.limit_bytes = arena->limit_bytes, .meter = arena->meter};
}

void nn_arena_reset(struct nn_arena *arena)
{
    struct nn_arena_chunk *kept = arena->chunks;
    size_t n_charged;

    if (!kept)
        return;
    /* The newest chunk, which is charged unless the meter came after all of them. */
    n_charged = kept->is_charged ? kept->capacity : 0;
    arena->n_charged -= n_charged;
    arena->chunks = kept->next;
    nn_arena_done(arena);
    kept->next = NULL;
    kept->n_used = 0;
    arena->chunks = kept;
    arena->n_bytes = kept->capacity;
    arena->n_charged = n_charged;
}

static struct nn_arena_chunk *arena_grow(struct nn_arena *arena, size_t n_bytes)
{
    size_t capacity = arena->chunks ? arena->chunks->capacity * 2 : FIRST_CHUNK_BYTES;
    size_t total, n_total;
    struct nn_arena_chunk *chunk;

    if (capacity > LAST_CHUNK_BYTES)
        capacity = LAST_CHUNK_BYTES;
    if (capacity < n_bytes)
        capacity = n_bytes;
    if (!nn_add_size(arena->n_bytes, capacity, &n_total) ||
        !nn_add_size(sizeof(*chunk), capacity, &total))
        return NULL;
    /* Capacities are what is counted, not blocks: the limit bounds what a peer makes this
     * process allocate. */
    if (arena->limit_bytes && n_total > arena->limit_bytes)
        return NULL;
    if (nn_meter_charge(arena->meter, capacity) < 0)
        return NULL;
    /* Large pages for large blocks alone: an alignment to them costs address space. */
    chunk = capacity > 2 * LAST_CHUNK_BYTES ? nn_block_new(total) : malloc(total);
    if (!chunk) {
        nn_meter_uncharge(arena->meter, capacity);
        return NULL;
    }
    chunk->is_charged = arena->meter != NULL;
    if (chunk->is_charged)
        arena->n_charged += capacity;
    chunk->n_used = chunk->n_ready = 0;
    chunk->capacity = capacity;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    arena->n_bytes = n_total;
    return chunk;
}

/* n_bytes of undefined contents. */
static void *arena_take(struct nn_arena *arena, size_t n_bytes)
{
    struct nn_arena_chunk *chunk = arena->chunks;
    void *block;

    if (!nn_align_up(n_bytes ? n_bytes : 1, ALIGNMENT, &n_bytes))
        return NULL;
    if (!chunk || n_bytes > chunk->capacity - chunk->n_used)
        chunk = arena_grow(arena, n_bytes);
    if (!chunk)
        return NULL;
    block = chunk->bytes + chunk->n_used;
    chunk->n_used += n_bytes;
    if (chunk->n_used > chunk->n_ready)
        chunk->n_ready = nn_block_touch_up_to(chunk->bytes, chunk->capacity, chunk->n_ready,
                                              chunk->n_used);
    return block;
}

/* Blocks are cleared, not chunks: what is never taken is not touched, which costs a page each time. */
void *nn_arena_alloc(struct nn_arena *arena, size_t n_bytes)
{
    void *block = arena_take(arena, n_bytes);

    return block ? memset(block, 0, n_bytes) : NULL;
}

void *nn_arena_alloc_array(struct nn_arena *arena, size_t n, size_t element_bytes)
{
    size_t n_bytes;

    if (!nn_mul_size(n, element_bytes, &n_bytes))
        return NULL;
    return nn_arena_alloc(arena, n_bytes);
}

void *nn_arena_dup(struct nn_arena *arena, const void *bytes, size_t n_bytes)
{
    void *copy = arena_take(arena, n_bytes);

    if (copy && n_bytes)
        memcpy(copy, bytes, n_bytes);
    return copy;
}
