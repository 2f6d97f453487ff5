/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/partition/places.h"

#include "base/error.h"

#include <string.h>

/* What a value of unknown size gets: this and a multiple of what it is made of. */
#define ROOM_BYTES  (UINT64_C(1) << 20)
#define ROOM_FACTOR 4

/* What an empty value gets, which needs some place. */
#define EMPTY_BYTES 64

int nn_rt_places_init(struct nn_rt_places *places, uint32_t n_values,
                      const struct nn_rt_plan_value *values, struct nn_rt_argument_pools *pools,
                      struct nn_arena *memory)
{
    *places = (struct nn_rt_places){
        .n_values = n_values,
        .values = values,
        .pools = pools,
        .places = nn_arena_new_n(memory, struct nn_rt_place, n_values),
        .buffers = nn_arena_new_n(memory, struct nn_memory_buffer, n_values),
    };
    return places->places && places->buffers ? 0 : nn_error_origin(-ENOMEM);
}

void nn_rt_places_clear(struct nn_rt_places *places)
{
    for (uint32_t i = 0; places->places && i < places->n_values; i++) {
        if (places->places[i].is_alone)
            nn_rt_argument_pools_give(places->pools, places->places[i].memory);
        places->places[i] = (struct nn_rt_place){.memory = NULL};
    }
    places->arena = nn_rt_argument_pools_give(places->pools, places->arena);
    places->is_planned = false;
}

bool nn_rt_places_fit(const struct nn_rt_places *places, const uint64_t *sizes)
{
    if (!places->is_planned || (places->arena && nn_rt_memory_is_exposed(places->arena)))
        return false;
    for (uint32_t i = 0; i < places->n_values; i++) {
        const struct nn_rt_place *place = &places->places[i];

        if (sizes[i] > place->capacity ||
            (place->is_alone && nn_rt_memory_is_exposed(place->memory)))
            return false;
    }
    return true;
}

/* The old memory goes, and is never taken again: it is exposed. On failure nothing has changed. */
static int move_memory(struct nn_rt_places *places, const uint64_t *sizes,
                       ANeuralNetworksMemory *old, ANeuralNetworksMemory **ret_memory)
{
    ANeuralNetworksMemory *memory;
    int r = nn_rt_argument_pools_take(places->pools, old->size, &memory);

    if (r)
        return r;
    for (uint32_t i = 0; i < places->n_values; i++) {
        struct nn_rt_place *place = &places->places[i];

        if (place->memory != old)
            continue;
        place->memory = memory;
        memcpy(nn_rt_memory_data(place->memory) + place->offset,
               nn_rt_memory_data(old) + place->offset,
               sizes[i] < place->capacity ? sizes[i] : place->capacity);
    }
    nn_rt_memory_unref(old);
    *ret_memory = memory;
    return 0;
}

int nn_rt_places_move(struct nn_rt_places *places, const uint64_t *sizes)
{
    ANeuralNetworksMemory *memory;
    int r = 0;

    if (places->arena && nn_rt_memory_is_exposed(places->arena))
        r = move_memory(places, sizes, places->arena, &places->arena);
    for (uint32_t i = 0; !r && i < places->n_values; i++)
        if (places->places[i].is_alone && nn_rt_memory_is_exposed(places->places[i].memory))
            r = move_memory(places, sizes, places->places[i].memory, &memory);
    return r;
}

void nn_rt_places_expose(struct nn_rt_places *places)
{
    for (uint32_t i = 0; i < places->n_values; i++)
        if (places->places[i].memory)
            nn_rt_memory_expose(places->places[i].memory);
}

int nn_rt_places_plan(struct nn_rt_places *places, const uint64_t *sizes)
{
    uint64_t n_bytes = 0;
    int r;

    for (uint32_t i = 0; i < places->n_values; i++)
        places->buffers[i] = (struct nn_memory_buffer){
            .size = sizes[i],
            .first = places->values[i].first_wave,
            .last = places->values[i].last_wave,
        };
    r = nn_memory_plan(places->buffers, places->n_values, &n_bytes);
    if (!r && n_bytes)
        r = nn_rt_argument_pools_take(places->pools, n_bytes, &places->arena);
    if (r)
        return r;
    for (uint32_t i = 0; i < places->n_values; i++)
        if (sizes[i])
            places->places[i] = (struct nn_rt_place){
                .memory = places->arena, .offset = places->buffers[i].offset, .capacity = sizes[i]};
    places->is_planned = true;
    return 0;
}

void nn_rt_places_put(struct nn_rt_places *places, uint32_t value, ANeuralNetworksMemory *memory)
{
    places->places[value] = (struct nn_rt_place){.memory = memory, .capacity = memory->size};
}

uint64_t nn_rt_place_room(uint64_t n_bytes)
{
    if (n_bytes >= (NN_RT_PLACE_MAX_ROOM_BYTES - ROOM_BYTES) / ROOM_FACTOR)
        return NN_RT_PLACE_MAX_ROOM_BYTES;
    return ROOM_BYTES + ROOM_FACTOR * n_bytes;
}

int nn_rt_places_make_room(struct nn_rt_places *places, uint32_t value,
                           const struct nn_rt_value *known, uint64_t room_bytes)
{
    uint64_t n_bytes = 0;

    if (nn_rt_value_is_empty(known))
        return nn_rt_places_widen(places, value, EMPTY_BYTES);
    if (nn_rt_value_bytes(known, places->values[value].type, &n_bytes))
        return nn_rt_places_widen(places, value, n_bytes);
    return places->places[value].memory ? 0 : nn_rt_places_widen(places, value, room_bytes);
}

int nn_rt_places_widen(struct nn_rt_places *places, uint32_t value, uint64_t n_bytes)
{
    struct nn_rt_place *place = &places->places[value];
    ANeuralNetworksMemory *memory;
    int r;

    if (place->memory && place->capacity >= n_bytes)
        return 0;
    r = nn_rt_argument_pools_take(places->pools, n_bytes, &memory);
    if (r)
        return r;
    if (place->is_alone)
        nn_rt_argument_pools_give(places->pools, place->memory);
    *place = (struct nn_rt_place){.memory = memory, .is_alone = true, .capacity = n_bytes};
    return 0;
}
