/* SPDX-License-Identifier: Apache-2.0 */
/* places.h - where the values between the parts of an execution lie
 *
 * One arena of shared memory, in which two values share a place if no wave needs both, is laid out when
 * the sizes are known. A value whose size cannot be known before its part is computed gets a memory
 * of its own, with as much room as the caller asks for. A value that is an output of the model, too,
 * needs no place. The memories are those of the compilation's argument pools, to which they are given back.
 * One thread at a time. */
#ifndef NN_RUNTIME_PARTITION_PLACES_H
#define NN_RUNTIME_PARTITION_PLACES_H

#include "compiler/memory-plan.h"
#include "runtime/memory/argument-pool.h"
#include "runtime/partition/plan.h"

/* Beyond it no more room is given to a value of unknown size. */
#define NN_RT_PLACE_MAX_ROOM_BYTES (UINT64_C(1) << 28)

/* A device need not say at once how large its outputs are: how often a computation is tried, and by what
 * the room for a value grows if the device did not say. */
enum { NN_RT_PLACE_ATTEMPTS = 4, NN_RT_PLACE_WIDER = 4 };

struct nn_rt_place {
    ANeuralNetworksMemory *memory; /* NULL: none yet */
    bool is_alone;                 /* the memory is of this value only */
    uint64_t offset;
    uint64_t capacity;
};

struct nn_rt_places {
    uint32_t n_values;
    const struct nn_rt_plan_value *values;
    struct nn_rt_argument_pools *pools;
    struct nn_rt_place *places;       /* per value; NULL: not initialized */
    struct nn_memory_buffer *buffers; /* per value: its part of the arena */
    ANeuralNetworksMemory *arena;     /* NULL: no value lies in it */
    bool is_planned;
};

/* nn_rt_places_init() - none yet; values are borrowed, the arrays are taken from memory.
 * Returns: 0, -ENOMEM. */
int nn_rt_places_init(struct nn_rt_places *places, uint32_t n_values,
                      const struct nn_rt_plan_value *values, struct nn_rt_argument_pools *pools,
                      struct nn_arena *memory);

/* nn_rt_places_clear() - back to none; no argument may refer to them any more. */
void nn_rt_places_clear(struct nn_rt_places *places);

/* nn_rt_places_fit() - whether values of these sizes (per value; 0: not known, or none is needed)
 * fit where they have been put, and no process that was given up can still write there. */
bool nn_rt_places_fit(const struct nn_rt_places *places, const uint64_t *sizes);

/* nn_rt_places_move() - gives values that such a process can write to new places of the same size, with
 * the bytes that they have now, as many as sizes say per value. Arguments that refer to the old places have to be
 * set anew. Returns: 0, -ENOMEM, -errno; some have moved then. */
int nn_rt_places_move(struct nn_rt_places *places, const uint64_t *sizes);

/* nn_rt_places_expose() - a device may still write there: no memory of theirs is taken again. */
void nn_rt_places_expose(struct nn_rt_places *places);

/* nn_rt_places_plan() - from none: the arena for these sizes. Returns: 0, -ENOMEM, -errno. */
int nn_rt_places_plan(struct nn_rt_places *places, const uint64_t *sizes);

/* nn_rt_places_put() - a value lies in a memory of the caller's, all of it, until the places are cleared. */
void nn_rt_places_put(struct nn_rt_places *places, uint32_t value, ANeuralNetworksMemory *memory);

/* nn_rt_place_room() - for a value of unknown size, made of n_bytes: several times as much. Pages that
 * are not written cost nothing. */
uint64_t nn_rt_place_room(uint64_t n_bytes);

/* nn_rt_places_make_room() - before it is made, for a value of which this is known: what it can have at
 * most, or, where that is open and it has no place yet, room_bytes. Returns: 0, -ENOMEM, -errno. */
int nn_rt_places_make_room(struct nn_rt_places *places, uint32_t value,
                           const struct nn_rt_value *known, uint64_t room_bytes);

/* nn_rt_places_widen() - a memory of its own, of at least n_bytes, for a value that has no place or one
 * that is too small. Returns: 0, -ENOMEM, -errno. */
int nn_rt_places_widen(struct nn_rt_places *places, uint32_t value, uint64_t n_bytes);

#endif
