/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory-plan.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <string.h>

/* So many are placed by size, each looking at all others. */
enum { MAX_BY_SIZE = 4096 };

enum {
    CLASSES_PER_OCTAVE = 8, /* at most an eighth of a buffer is wasted */
    N_CLASSES = 64 * CLASSES_PER_OCTAVE,
};

static bool lives_together(const struct nn_memory_buffer *a, const struct nn_memory_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* ---- orders ---- */

/* Larger first; equal ones by time, then by position, so that the order is total. */
static int by_size(const void *a, const void *b)
{
    const struct nn_memory_buffer *x = *(const struct nn_memory_buffer *const *)a;
    const struct nn_memory_buffer *y = *(const struct nn_memory_buffer *const *)b;

    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

static uint32_t last_step(const struct nn_memory_buffer *buffers, uint32_t n_buffers)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < n_buffers; i++)
        if (buffers[i].last > last)
            last = buffers[i].last;
    return last;
}

/* The buffers that have a size by their first or last step, equal ones by position: counted, not
 * compared, since there may be a million. Returns: how many, or -ENOMEM. */
static int64_t sort_by_time(struct nn_memory_buffer *buffers, uint32_t n_buffers, bool is_by_last,
                            struct nn_memory_buffer **order)
{
    size_t n_steps = (size_t)last_step(buffers, n_buffers) + 2;
    _cleanup_(freep) uint32_t *starts = calloc(n_steps, sizeof(*starts));
    int64_t n = 0;

    if (!starts)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n_buffers; i++)
        if (buffers[i].size)
            starts[(is_by_last ? buffers[i].last : buffers[i].first) + 1]++;
    for (size_t s = 1; s < n_steps; s++)
        starts[s] += starts[s - 1];
    for (uint32_t i = 0; i < n_buffers; i++) {
        if (!buffers[i].size)
            continue;
        order[starts[is_by_last ? buffers[i].last : buffers[i].first]++] = &buffers[i];
        n++;
    }
    return n;
}

/* ---- gaps ---- */

/* placed[] is sorted by offset: the lowest gap that no neighbor in time reaches into. */
static bool lowest_gap(const struct nn_memory_buffer *buffer,
                       struct nn_memory_buffer *const *placed, size_t n_placed, uint64_t *ret)
{
    uint64_t offset = 0, end;

    for (size_t i = 0; i < n_placed; i++) {
        const struct nn_memory_buffer *other = placed[i];

        if (!lives_together(buffer, other))
            continue;
        if (other->offset >= offset && other->offset - offset >= buffer->size)
            break;
        end = (other->offset + other->size + NN_MEMORY_PLAN_ALIGNMENT - 1) &
              ~(uint64_t)(NN_MEMORY_PLAN_ALIGNMENT - 1);
        if (end > offset)
            offset = end;
    }
    /* Room for the next one's alignment, too. */
    if (!nn_add_u64(offset, buffer->size, &end) || !nn_add_u64(end, NN_MEMORY_PLAN_ALIGNMENT, &end))
        return false;
    *ret = offset;
    return true;
}

static void insert_by_offset(struct nn_memory_buffer **placed, size_t n_placed,
                             struct nn_memory_buffer *buffer)
{
    size_t at = n_placed;

    while (at > 0 && placed[at - 1]->offset > buffer->offset)
        at--;
    memmove(&placed[at + 1], &placed[at], (n_placed - at) * sizeof(*placed));
    placed[at] = buffer;
}

/* In order of time, buffers that have ended make room at once. */
static size_t drop_ended(struct nn_memory_buffer **placed, size_t n_placed, uint32_t now)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n_placed; i++)
        if (placed[i]->last >= now)
            placed[n_kept++] = placed[i];
    return n_kept;
}

static int place_in_gaps(struct nn_memory_buffer **order, size_t n, bool is_by_time)
{
    _cleanup_(freep) struct nn_memory_buffer **placed = calloc(n + 1, sizeof(*order));
    size_t n_placed = 0;

    if (!placed)
        return nn_error_origin(-ENOMEM);
    for (size_t i = 0; i < n; i++) {
        if (is_by_time)
            n_placed = drop_ended(placed, n_placed, order[i]->first);
        if (!lowest_gap(order[i], placed, n_placed, &order[i]->offset))
            return nn_error_origin(-ENOMEM);
        insert_by_offset(placed, n_placed++, order[i]);
    }
    return 0;
}

/* ---- classes ---- */

/* What a buffer of this size takes: the next eighth of a power of two. */
static uint64_t class_bytes(uint64_t size, uint32_t *ret_class)
{
    uint64_t unit = size > NN_MEMORY_PLAN_ALIGNMENT ? size - 1 : NN_MEMORY_PLAN_ALIGNMENT - 1;
    int octave = 63 - __builtin_clzll(unit);
    uint64_t step = (UINT64_C(1) << octave) / CLASSES_PER_OCTAVE;

    if (step < NN_MEMORY_PLAN_ALIGNMENT)
        step = NN_MEMORY_PLAN_ALIGNMENT;
    *ret_class = (uint32_t)octave * CLASSES_PER_OCTAVE +
                 (uint32_t)((unit - (UINT64_C(1) << octave)) / step);
    return (unit / step + 1) * step;
}

/* Places that are free, in a stack for each class. */
struct free_places {
    struct free_place {
        uint64_t offset;
        uint32_t below; /* + 1; 0: none */
    } * places;
    uint32_t n;
    uint32_t tops[N_CLASSES]; /* + 1 */
};

static void place_give(struct free_places *free, const struct nn_memory_buffer *buffer)
{
    uint32_t of;

    class_bytes(buffer->size, &of);
    free->places[free->n] = (struct free_place){buffer->offset, free->tops[of]};
    free->tops[of] = ++free->n;
}

/* Returns: false if a new place at the top does not fit 64 bits. */
static bool place_take(struct free_places *free, struct nn_memory_buffer *buffer, uint64_t *top)
{
    uint64_t n_bytes;
    uint32_t of;

    if (buffer->size > UINT64_MAX / 4 || *top > UINT64_MAX / 4)
        return false;
    n_bytes = class_bytes(buffer->size, &of);
    if (free->tops[of]) {
        const struct free_place *place = &free->places[free->tops[of] - 1];

        buffer->offset = place->offset;
        free->tops[of] = place->below;
        return true;
    }
    buffer->offset = *top;
    *top += n_bytes;
    return true;
}

/* In order of time, each takes the place of one of its class that has ended, or a new one at the
 * top: the same work for each, however many live. */
static int place_in_classes(struct nn_memory_buffer *const *by_first,
                            struct nn_memory_buffer *const *by_last, size_t n)
{
    _cleanup_(freep) struct free_place *places = calloc(n + 1, sizeof(*places));
    struct free_places free = {.places = places};
    uint64_t top = 0;

    if (!places)
        return nn_error_origin(-ENOMEM);
    for (size_t i = 0; i < n; i++) {
        /* Ends at the latest with the buffer itself. */
        while (by_last[free.n]->last < by_first[i]->first)
            place_give(&free, by_last[free.n]);
        if (!place_take(&free, by_first[i], &top))
            return nn_error_origin(-ENOMEM);
    }
    return 0;
}

/* How many buffers are looked at if each looks at those that live with it, at most NN_MEMORY_PLAN_MAX_LOOKS + 1. */
static uint64_t count_looks(struct nn_memory_buffer *const *by_first,
                            struct nn_memory_buffer *const *by_last, size_t n)
{
    uint64_t n_looks = 0;
    size_t n_ended = 0;

    for (size_t i = 0; i < n && n_looks <= NN_MEMORY_PLAN_MAX_LOOKS; i++) {
        while (by_last[n_ended]->last < by_first[i]->first)
            n_ended++;
        n_looks += i - n_ended;
    }
    return n_looks;
}

/* ---- the plan ---- */

static int plan_many(struct nn_memory_buffer *buffers, uint32_t n_buffers,
                     struct nn_memory_buffer **order)
{
    _cleanup_(freep) struct nn_memory_buffer **by_last = calloc((size_t)n_buffers + 1,
                                                                sizeof(*by_last));
    int64_t n = by_last ? sort_by_time(buffers, n_buffers, false, order) : nn_error_origin(-ENOMEM);

    if (n >= 0)
        n = sort_by_time(buffers, n_buffers, true, by_last);
    if (n < 0)
        return nn_error_trace((int)n);
    if (count_looks(order, by_last, (size_t)n) > NN_MEMORY_PLAN_MAX_LOOKS)
        return nn_error_trace(place_in_classes(order, by_last, (size_t)n));
    return nn_error_trace(place_in_gaps(order, (size_t)n, true));
}

static int plan_few(struct nn_memory_buffer *buffers, uint32_t n_buffers,
                    struct nn_memory_buffer **order)
{
    size_t n = 0;

    for (uint32_t i = 0; i < n_buffers; i++)
        if (buffers[i].size)
            order[n++] = &buffers[i];
    qsort(order, n, sizeof(*order), by_size);
    return nn_error_trace(place_in_gaps(order, n, false));
}

int nn_memory_plan(struct nn_memory_buffer *buffers, uint32_t n_buffers, uint64_t *ret_bytes)
{
    _cleanup_(freep) struct nn_memory_buffer **order = calloc((size_t)n_buffers + 1,
                                                              sizeof(*order));
    uint64_t top = 0;
    int r;

    if (!order)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n_buffers; i++)
        buffers[i].offset = 0;
    r = n_buffers > MAX_BY_SIZE ? plan_many(buffers, n_buffers, order)
                                : plan_few(buffers, n_buffers, order);
    if (r)
        return nn_error_trace(r);
    for (uint32_t i = 0; i < n_buffers; i++)
        if (buffers[i].size && buffers[i].offset + buffers[i].size > top)
            top = buffers[i].offset + buffers[i].size;
    *ret_bytes = (top + NN_MEMORY_PLAN_ALIGNMENT - 1) & ~(uint64_t)(NN_MEMORY_PLAN_ALIGNMENT - 1);
    return 0;
}
