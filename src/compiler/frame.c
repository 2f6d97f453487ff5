/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/frame.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "model/types.h"

#include <string.h>

enum { ALIGNMENT = 64 };

int nn_frame_init(struct nn_frame *frame, uint32_t n_slots, const struct nn_meter *meter)
{
    uint64_t n_bytes = n_slots * sizeof(*frame->slots);
    int r = nn_meter_charge(meter, n_bytes);

    *frame = (struct nn_frame){.n_slots = 0};
    if (r < 0)
        return nn_error_trace(r);
    frame->slots = calloc(n_slots ? n_slots : 1, sizeof(*frame->slots));
    if (!frame->slots) {
        nn_meter_uncharge(meter, n_bytes);
        return nn_error_origin(-ENOMEM);
    }
    frame->n_slots = n_slots;
    frame->meter = meter;
    for (uint32_t i = 0; i < n_slots; i++)
        frame->slots[i].meter = meter;
    return 0;
}

static void drop_own(struct nn_slot *slot)
{
    free(slot->own);
    nn_meter_uncharge(slot->meter, slot->own_bytes);
    slot->own = NULL;
    slot->own_bytes = 0;
}

void nn_slot_done(struct nn_slot *slot)
{
    drop_own(slot);
    *slot = (struct nn_slot){.meter = slot->meter};
}

void nn_frame_done(struct nn_frame *frame)
{
    for (uint32_t i = 0; i < frame->n_slots; i++)
        drop_own(&frame->slots[i]);
    free(frame->slots);
    nn_meter_uncharge(frame->meter, frame->n_slots * sizeof(*frame->slots));
    *frame = (struct nn_frame){0};
}

/* Most slots of a frame are, those of values that lie in an arena: a look is cheaper than a reset. */
static bool is_fresh(const struct nn_slot *slot)
{
    return !slot->is_known && !slot->is_omitted && !slot->data && !slot->bound &&
           slot->scale == 0.0f && slot->zero_point == 0;
}

/* The buffer stays: the next execution likely needs as much. Dimensions beyond n_dims mean
 * nothing. */
void nn_slot_reset(struct nn_slot *slot)
{
    if (is_fresh(slot))
        return;
    slot->data = slot->bound = NULL;
    slot->size = slot->bound_bytes = 0;
    slot->n_dims = 0;
    slot->scale = 0.0f;
    slot->zero_point = 0;
    slot->is_known = slot->is_omitted = false;
}

int nn_slot_shape(struct nn_slot *slot, uint32_t type, uint32_t n_dims, const uint32_t *dims)
{
    uint64_t count;

    if (!nn_dims_product(n_dims, dims, &count) ||
        !nn_mul_u64(count, nn_type_bytes(type), &slot->size) || slot->size > UINT32_MAX)
        return nn_error_origin(-EOVERFLOW);
    slot->n_dims = n_dims;
    if (n_dims)
        memmove(slot->dims, dims, n_dims * sizeof(*dims));
    slot->is_known = true;
    return 0;
}

/* Buffers only grow, and are aligned for vectors, also where a tensor is empty. */
static int reserve_own(struct nn_slot *slot)
{
    uint64_t wanted = (slot->size / ALIGNMENT + 1) * ALIGNMENT;

    int r;

    if (slot->own_bytes < wanted) {
        drop_own(slot);
        r = nn_meter_charge(slot->meter, wanted);
        if (r < 0)
            return nn_error_trace(r);
        slot->own = aligned_alloc(ALIGNMENT, wanted);
        if (!slot->own) {
            nn_meter_uncharge(slot->meter, wanted);
            return nn_error_origin(-ENOMEM);
        }
        slot->own_bytes = wanted;
    }
    slot->data = slot->own;
    return 0;
}

/* Where the value is wanted, if that place is large enough and aligned for its type. */
int nn_slot_reserve(struct nn_slot *slot, uint32_t type)
{
    uint32_t element = nn_type_bytes(type);

    if (slot->bound && slot->bound_bytes >= slot->size &&
        (uintptr_t)slot->bound % (element ? element : 1) == 0) {
        slot->data = slot->bound;
        return 0;
    }
    return nn_error_trace(reserve_own(slot));
}

int nn_slot_copy_in(struct nn_slot *slot, const void *data, struct nn_stop *stop)
{
    struct nn_pace pace = nn_pace(stop);
    int r = reserve_own(slot);

    if (r)
        return nn_error_trace(r);
    if (slot->size)
        nn_pace_copy(&pace, slot->data, data, slot->size);
    return 0;
}
