/* SPDX-License-Identifier: Apache-2.0 */
/* Where values between parts lie, and where they go when a process that was given up can write there. */
#include "rt.h"

#include "runtime/partition/places.h"

#include <string.h>
#include <sys/resource.h>

enum { N_VALUES = 4, ALONE = 3 };

struct stand {
    struct nn_arena memory;
    struct nn_rt_argument_pools pools;
    struct nn_rt_plan_value values[N_VALUES];
    struct nn_rt_places places;
};

/* Values 0 to 2 in the arena, of 100 bytes each and all at a time; the last one alone. */
static const uint64_t sizes[N_VALUES] = {100, 100, 100, 0};

static void stand_init(struct stand *stand)
{
    *stand = (struct stand){.values = {{0}}};
    nn_arena_init(&stand->memory, 0);
    nn_rt_argument_pools_init(&stand->pools);
    OK(nn_rt_places_init(&stand->places, N_VALUES, stand->values, &stand->pools, &stand->memory));
    OK(nn_rt_places_plan(&stand->places, sizes));
    OK(nn_rt_places_widen(&stand->places, ALONE, 5000));
}

static void stand_done(struct stand *stand)
{
    nn_rt_places_clear(&stand->places);
    nn_rt_argument_pools_done(&stand->pools);
    nn_arena_done(&stand->memory);
}

static uint8_t *bytes_of(const struct stand *stand, uint32_t value)
{
    const struct nn_rt_place *place = &stand->places.places[value];

    return nn_rt_memory_data(place->memory) + place->offset;
}

TEST(values_that_nobody_else_writes_to_stay)
{
    struct nn_rt_place before[N_VALUES];
    struct stand stand;

    stand_init(&stand);
    memcpy(before, stand.places.places, sizeof(before));
    OK(nn_rt_places_move(&stand.places, sizes));
    ck_assert_mem_eq(before, stand.places.places, sizeof(before));
    stand_done(&stand);
}
TEST_END

/* Which of the two memories the process has. */
static void check_move(bool has_arena, bool has_alone)
{
    const uint64_t now[N_VALUES] = {100, 50, 0, 5000};
    ANeuralNetworksMemory *old[N_VALUES];
    struct stand stand;

    stand_init(&stand);
    for (uint32_t i = 0; i < N_VALUES; i++) {
        old[i] = nn_rt_memory_ref(stand.places.places[i].memory);
        memset(bytes_of(&stand, i), 0x10 + (int)i, now[i]);
    }
    stand.places.arena->was_exposed = has_arena;
    stand.places.places[ALONE].memory->was_exposed = has_alone;
    OK(nn_rt_places_move(&stand.places, now));
    /* The one that was given up wakes up. */
    for (uint32_t i = 0; i < N_VALUES; i++)
        if (i == ALONE ? has_alone : has_arena)
            memset(nn_rt_memory_data(old[i]), 0xee, old[i]->size);
    for (uint32_t i = 0; i < N_VALUES; i++) {
        ck_assert((stand.places.places[i].memory != old[i]) ==
                  (i == ALONE ? has_alone : has_arena));
        for (uint64_t j = 0; j < now[i]; j++)
            ck_assert_uint_eq(bytes_of(&stand, i)[j], 0x10 + i);
    }
    ck_assert(nn_rt_places_fit(&stand.places, sizes));
    for (uint32_t i = 0; i < N_VALUES; i++)
        nn_rt_memory_unref(old[i]);
    stand_done(&stand);
}

TEST(values_move_away_from_a_process_that_was_given_up)
{
    check_move(true, false);
    check_move(false, true);
    check_move(true, true);
}
TEST_END

/* Values stay together with their memory, which counts as what it is: not fit for another computation. */
TEST(without_descriptors_nothing_moves)
{
    struct rlimit usual, none;
    ANeuralNetworksMemory *old;
    struct stand stand;
    int r;

    stand_init(&stand);
    old = stand.places.arena;
    old->was_exposed = true;
    OK(getrlimit(RLIMIT_NOFILE, &usual));
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = usual.rlim_max};
    OK(setrlimit(RLIMIT_NOFILE, &none));
    r = nn_rt_places_move(&stand.places, sizes);
    OK(setrlimit(RLIMIT_NOFILE, &usual));
    ck_assert_int_ne(r, 0);
    ck_assert_ptr_eq(stand.places.arena, old);
    ck_assert_ptr_eq(stand.places.places[0].memory, old);
    ck_assert(!nn_rt_places_fit(&stand.places, sizes));
    OK(nn_rt_places_move(&stand.places, sizes));
    ck_assert(nn_rt_places_fit(&stand.places, sizes));
    stand_done(&stand);
}
TEST_END

/* Neither moves back to it. */
TEST(what_was_left_is_not_taken_again)
{
    ANeuralNetworksMemory *old;
    struct stand stand;

    stand_init(&stand);
    old = nn_rt_memory_ref(stand.places.arena);
    old->was_exposed = true;
    OK(nn_rt_places_move(&stand.places, sizes));
    nn_rt_places_clear(&stand.places);
    OK(nn_rt_places_plan(&stand.places, sizes));
    ck_assert_ptr_ne(stand.places.arena, old);
    nn_rt_memory_unref(old);
    stand_done(&stand);
}
TEST_END

CHECK_MAIN("places", values_that_nobody_else_writes_to_stay,
           values_move_away_from_a_process_that_was_given_up, without_descriptors_nothing_moves,
           what_was_left_is_not_taken_again)
