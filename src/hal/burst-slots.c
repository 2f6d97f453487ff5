/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/burst-slots.h"

#include "base/error.h"

#include <stdlib.h>

#define FIRST_ROOM 8

void nn_burst_slots_init(struct nn_burst_slots *slots)
{
    *slots = (struct nn_burst_slots){.first_free = -1};
    pthread_mutex_init(&slots->lock, NULL);
}

void nn_burst_slots_done(struct nn_burst_slots *slots)
{
    free(slots->slots);
    pthread_mutex_destroy(&slots->lock);
}

/* -- under the lock -------------------------------------------------------- */

static int32_t slot_find(const struct nn_burst_slots *slots, uint64_t memory)
{
    for (uint32_t i = 0; i < slots->n_slots; i++)
        if (slots->slots[i].memory == memory && slots->slots[i].is_set)
            return (int32_t)i;
    return -1;
}

static int slots_grow(struct nn_burst_slots *slots)
{
    uint32_t n_room = slots->n_room ? slots->n_room * 2 : FIRST_ROOM;
    struct nn_burst_slot *larger;

    if (slots->n_slots == NN_BURST_MAX_SLOTS)
        return NN_BURST_SLOTS_E_FULL;
    if (slots->n_slots < slots->n_room)
        return 0;
    larger = realloc(slots->slots, n_room * sizeof(*larger));
    if (!larger)
        return nn_error_origin(-ENOMEM);
    slots->slots = larger;
    slots->n_room = n_room;
    return 0;
}

static int slot_reserve(struct nn_burst_slots *slots, uint64_t memory, int32_t *ret_slot)
{
    int32_t slot = slots->first_free;

    if (slot >= 0) {
        slots->first_free = slots->slots[slot].next_free;
    } else {
        int r = slots_grow(slots);

        if (r)
            return r;
        slot = (int32_t)slots->n_slots++;
    }
    slots->slots[slot] = (struct nn_burst_slot){.memory = memory};
    *ret_slot = slot;
    return NN_BURST_SLOTS_E_NEW;
}

static void slot_free(struct nn_burst_slots *slots, int32_t slot)
{
    slots->slots[slot] = (struct nn_burst_slot){.next_free = slots->first_free};
    slots->first_free = slot;
}

/* -------------------------------------------------------------------------- */

int nn_burst_slots_reserve(struct nn_burst_slots *slots, uint64_t memory, int32_t *ret_slot)
{
    int32_t slot;
    int r = 0;

    pthread_mutex_lock(&slots->lock);
    slot = slot_find(slots, memory);
    if (slot >= 0)
        *ret_slot = slot;
    else
        r = slot_reserve(slots, memory, ret_slot);
    pthread_mutex_unlock(&slots->lock);
    return r;
}

void nn_burst_slots_commit(struct nn_burst_slots *slots, int32_t slot, bool is_set)
{
    pthread_mutex_lock(&slots->lock);
    if (is_set)
        slots->slots[slot].is_set = true;
    else
        slot_free(slots, slot);
    pthread_mutex_unlock(&slots->lock);
}

int32_t nn_burst_slots_begin_free(struct nn_burst_slots *slots, uint64_t memory)
{
    int32_t slot;

    pthread_mutex_lock(&slots->lock);
    slot = slot_find(slots, memory);
    if (slot >= 0)
        slots->slots[slot] = (struct nn_burst_slot){.memory = 0};
    pthread_mutex_unlock(&slots->lock);
    return slot;
}

void nn_burst_slots_end_free(struct nn_burst_slots *slots, int32_t slot)
{
    pthread_mutex_lock(&slots->lock);
    slot_free(slots, slot);
    pthread_mutex_unlock(&slots->lock);
}

uint64_t nn_burst_slots_get(struct nn_burst_slots *slots, int32_t slot)
{
    uint64_t memory = 0;

    pthread_mutex_lock(&slots->lock);
    if (slot >= 0 && (uint32_t)slot < slots->n_slots && slots->slots[slot].is_set)
        memory = slots->slots[slot].memory;
    pthread_mutex_unlock(&slots->lock);
    return memory;
}
