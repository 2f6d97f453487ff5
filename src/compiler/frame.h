/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - values that live between plans
 *
 * A frame is one execution of one graph: a slot for each of the graph's values.
 * Inputs, outputs, and values that are computed by one plan and read by another
 * or by IF and WHILE, lie in slots; the rest lies in the arena and has none. A
 * slot borrows memory (the application's, or another frame's) or owns a
 * buffer, which it keeps for the next execution, and charges it to the frame's meter. */
#ifndef NN_COMPILER_FRAME_H
#define NN_COMPILER_FRAME_H

#include "base/meter.h"
#include "base/stop.h"

#include <nnhal/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_slot {
    void *data;    /* what the value is now; NULL while there is only a shape */
    uint64_t size; /* bytes that its shape needs */
    uint32_t n_dims;
    uint32_t dims[NNHAL_MAX_RANK];
    float scale;
    int32_t zero_point;
    bool is_known;   /* shape is set */
    bool is_omitted; /* an input without a value */
    void *own;       /* buffer of own_bytes, freed with the slot */
    uint64_t own_bytes;
    const struct nn_meter *meter;
    void *bound; /* outputs: where the result is wanted, if it fits */
    uint64_t bound_bytes;
};

struct nn_frame {
    uint32_t n_slots;
    struct nn_slot *slots; /* by index of value */
    const struct nn_meter *meter;
};

/* nn_frame_init() - n_slots empty slots. meter (NULL: none) outlives them.
 * Returns: 0, -ENOMEM, -EDQUOT. */
int nn_frame_init(struct nn_frame *frame, uint32_t n_slots, const struct nn_meter *meter);

/* nn_frame_done() - frees slots and buffers. */
void nn_frame_done(struct nn_frame *frame);

/* nn_slot_done() - frees the buffer of a slot that is in no frame. */
void nn_slot_done(struct nn_slot *slot);

/* nn_slot_reset() - forgets value, shape and bounds; keeps the buffer. */
void nn_slot_reset(struct nn_slot *slot);

/* nn_slot_shape() - sets shape and size. Returns: 0, -EOVERFLOW. */
int nn_slot_shape(struct nn_slot *slot, uint32_t type, uint32_t n_dims, const uint32_t *dims);

/* nn_slot_reserve() - gives the slot memory for its size: what is bound if it
 * is large enough and aligned for the type, else its own buffer.
 * Returns: 0 with data set (never NULL), -ENOMEM, -EDQUOT. */
int nn_slot_reserve(struct nn_slot *slot, uint32_t type);

/* nn_slot_copy_in() - makes the value the slot's own copy of size bytes, which is not whole if stop
 * has an outcome then.
 * Returns: 0, -ENOMEM, -EDQUOT. */
int nn_slot_copy_in(struct nn_slot *slot, const void *data, struct nn_stop *stop);

#endif
