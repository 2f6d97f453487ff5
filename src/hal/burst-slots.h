/* SPDX-License-Identifier: Apache-2.0 */
/* burst-slots.h - which memory lies in which slot of a burst
 *
 * The client's table. A slot is free, being set, set, or being freed: while it
 * is being set or freed the device is told, with no lock held, and no other memory
 * gets the slot. The slot that was freed last is given out first. Any thread. */
#ifndef NN_HAL_BURST_SLOTS_H
#define NN_HAL_BURST_SLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Memories that have a slot at a time. */
#define NN_BURST_MAX_SLOTS 1024

enum {
    NN_BURST_SLOTS_E_NEW = 1,  /* reserved: tell the device, then nn_burst_slots_commit() */
    NN_BURST_SLOTS_E_FULL = 2, /* all are taken */
};

struct nn_burst_slot {
    uint64_t memory; /* 0: free */
    bool is_set;     /* the device knows it */
    int32_t next_free;
};

struct nn_burst_slots {
    pthread_mutex_t lock;
    struct nn_burst_slot *slots;
    uint32_t n_slots; /* that were ever used */
    uint32_t n_room;
    int32_t first_free; /* -1: none */
};

void nn_burst_slots_init(struct nn_burst_slots *slots);
void nn_burst_slots_done(struct nn_burst_slots *slots);

/* nn_burst_slots_reserve() - the slot of a memory: its own, or one that is now
 * reserved for it. Returns: 0, NEW, FULL, -ENOMEM. */
int nn_burst_slots_reserve(struct nn_burst_slots *slots, uint64_t memory, int32_t *ret_slot);

/* nn_burst_slots_commit() - a reserved slot: the device has taken the memory, or
 * not, and then the slot is free. */
void nn_burst_slots_commit(struct nn_burst_slots *slots, int32_t slot, bool is_set);

/* nn_burst_slots_begin_free() - takes a memory out of its slot, which is not given out
 * until nn_burst_slots_end_free(). Returns: the slot, -1 if it has none. */
int32_t nn_burst_slots_begin_free(struct nn_burst_slots *slots, uint64_t memory);
void nn_burst_slots_end_free(struct nn_burst_slots *slots, int32_t slot);

/* nn_burst_slots_get() - the memory in a slot; 0: none, or no such slot. */
uint64_t nn_burst_slots_get(struct nn_burst_slots *slots, int32_t slot);

#endif
