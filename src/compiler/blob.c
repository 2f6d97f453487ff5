/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/blob.h"

#include "base/arith.h"
#include "base/block.h"
#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

void nn_blob_done(struct nn_blob *blob)
{
    free(blob->bytes);
    nn_meter_uncharge(blob->meter, blob->allocated);
    *blob = (struct nn_blob){.meter = blob->meter};
}

/* Moves the bytes to a block of n_bytes, which is not less than their size. */
static int blob_move(struct nn_blob *blob, size_t n_bytes)
{
    uint8_t *bytes, *old = blob->bytes;
    size_t whole;
    int r;

    if (!nn_align_up(n_bytes ? n_bytes : 1, NN_BLOB_ALIGNMENT, &whole))
        return nn_error_origin(-ENOMEM);
    r = nn_meter_charge(blob->meter, whole);
    if (r < 0)
        return nn_error_trace(r);
    bytes = nn_block_new(whole);
    if (!bytes) {
        nn_meter_uncharge(blob->meter, whole);
        return nn_error_origin(-ENOMEM);
    }
    nn_meter_uncharge(blob->meter, blob->allocated);
    blob->bytes = bytes;
    blob->allocated = whole;
    blob->n_ready = nn_block_touch_up_to(bytes, whole, 0, blob->size);
    if (blob->size)
        memcpy(bytes, old, blob->size);
    free(old);
    return 0;
}

/* Where n_bytes more begin and end, for which there is room then. */
static int blob_grow(struct nn_blob *blob, size_t n_bytes, size_t alignment, size_t *ret_start,
                     size_t *ret_end)
{
    size_t wanted;

    if (!nn_align_up(blob->size, alignment, ret_start) ||
        !nn_add_size(*ret_start, n_bytes, ret_end))
        return nn_error_origin(-ENOMEM);
    if (*ret_end <= blob->allocated)
        return 0;
    /* A quarter more than needed: growing stays linear, and large weights are not charged twice. */
    wanted = *ret_end < 1024 ? 1024 : *ret_end;
    if (!nn_add_size(wanted, wanted / 4, &wanted))
        return nn_error_origin(-ENOMEM);
    return nn_error_trace(blob_move(blob, wanted));
}

int nn_blob_reserve(struct nn_blob *blob, size_t n_bytes, size_t alignment)
{
    size_t start, end;

    return nn_error_trace(blob_grow(blob, n_bytes, alignment, &start, &end));
}

int nn_blob_extend(struct nn_blob *blob, size_t n_bytes, size_t alignment, size_t *ret_offset)
{
    size_t start, end;
    int r = blob_grow(blob, n_bytes, alignment, &start, &end);

    if (r)
        return nn_error_trace(r);
    blob->n_ready = nn_block_touch_up_to(blob->bytes, blob->allocated, blob->n_ready, end);
    /* An empty blob may have no bytes at all yet. */
    if (end > blob->size)
        memset(blob->bytes + blob->size, 0, end - blob->size);
    blob->size = end;
    *ret_offset = start;
    return 0;
}

int nn_blob_append(struct nn_blob *blob, const void *bytes, size_t n_bytes, size_t alignment,
                   size_t *ret_offset)
{
    int r = nn_blob_extend(blob, n_bytes, alignment, ret_offset);

    if (!r && n_bytes)
        memcpy(blob->bytes + *ret_offset, bytes, n_bytes);
    return nn_error_trace(r);
}

/* Gives back what is behind the bytes, which the allocator leaves where they are if it can. */
static int blob_shrink(struct nn_blob *blob)
{
    size_t whole;
    uint8_t *bytes;

    if (!blob->bytes || !nn_align_up(blob->size, NN_BLOB_ALIGNMENT, &whole) || whole == 0)
        return nn_error_trace(blob_move(blob, blob->size));
    bytes = realloc(blob->bytes, whole);
    if (!bytes)
        return nn_error_origin(-ENOMEM);
    nn_meter_uncharge(blob->meter, blob->allocated - whole);
    blob->bytes = bytes;
    blob->allocated = whole;
    blob->n_ready = blob->size;
    return (uintptr_t)bytes % NN_BLOB_ALIGNMENT ? nn_error_trace(blob_move(blob, blob->size)) : 0;
}

int nn_blob_take(struct nn_blob *blob, uint8_t **ret_bytes, uint64_t *ret_size, uint64_t *charged)
{
    int r;

    if (!blob->bytes || blob->allocated - blob->size > blob->size / 8) {
        r = blob_shrink(blob);
        if (r)
            return nn_error_trace(r);
    }
    *ret_bytes = steal_ptr(&blob->bytes);
    *ret_size = blob->size;
    *charged += blob->meter ? blob->allocated : 0;
    *blob = (struct nn_blob){.meter = blob->meter};
    return 0;
}
