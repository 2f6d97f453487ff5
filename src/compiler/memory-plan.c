/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory-plan.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <string.h>

/* Above this, the quadratic placement would take seconds. */
enum { MAX_BY_SIZE = 4096 };

static bool lives_together(const struct nn_memory_buffer *a, const struct nn_memory_buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

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

static int by_time(const void *a, const void *b)
{
    const struct nn_memory_buffer *x = *(const struct nn_memory_buffer *const *)a;
    const struct nn_memory_buffer *y = *(const struct nn_memory_buffer *const *)b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x < y ? -1 : x > y;
}

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

int nn_memory_plan(struct nn_memory_buffer *buffers, uint32_t n_buffers, uint64_t *ret_bytes)
{
    _cleanup_(freep) struct nn_memory_buffer **order = NULL;
    _cleanup_(freep) struct nn_memory_buffer **placed = NULL;
    bool is_by_time = n_buffers > MAX_BY_SIZE;
    size_t n = 0, n_placed = 0;
    uint64_t top = 0;

    order = calloc((size_t)n_buffers + 1, sizeof(*order));
    placed = calloc((size_t)n_buffers + 1, sizeof(struct nn_memory_buffer *));
    if (!order || !placed)
        return nn_error_origin(-ENOMEM);
    for (uint32_t i = 0; i < n_buffers; i++) {
        buffers[i].offset = 0;
        if (buffers[i].size)
            order[n++] = &buffers[i];
    }
    qsort(order, n, sizeof(struct nn_memory_buffer *), is_by_time ? by_time : by_size);
    for (size_t i = 0; i < n; i++) {
        if (is_by_time)
            n_placed = drop_ended(placed, n_placed, order[i]->first);
        if (!lowest_gap(order[i], placed, n_placed, &order[i]->offset))
            return nn_error_origin(-ENOMEM);
        insert_by_offset(placed, n_placed++, order[i]);
        if (order[i]->offset + order[i]->size > top)
            top = order[i]->offset + order[i]->size;
    }
    top = (top + NN_MEMORY_PLAN_ALIGNMENT - 1) & ~(uint64_t)(NN_MEMORY_PLAN_ALIGNMENT - 1);
    *ret_bytes = top;
    return 0;
}
