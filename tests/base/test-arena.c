/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include "support/check-main.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

TEST(blocks_are_zeroed_and_aligned)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    for (size_t n = 0; n < 300; n++) {
        unsigned char *block = nn_arena_alloc(&arena, n);

        ck_assert_ptr_nonnull(block);
        ck_assert_uint_eq((uintptr_t)block % 16, 0);
        for (size_t i = 0; i < n; i++)
            ck_assert_uint_eq(block[i], 0);
        memset(block, 0xff, n);
    }
    nn_arena_done(&arena);
    ck_assert_ptr_null(arena.chunks);
}
TEST_END

TEST(reset_keeps_a_chunk_and_gives_zeroes_again)
{
    struct nn_arena arena;
    unsigned char *block;

    nn_arena_init(&arena, 0);
    memset(nn_arena_alloc(&arena, 100), 0xff, 100);
    nn_arena_reset(&arena);
    ck_assert_uint_gt(arena.n_bytes, 0);
    block = nn_arena_alloc(&arena, 100);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(block[i], 0);
    nn_arena_done(&arena);
}
TEST_END

TEST(limit_is_held)
{
    struct nn_arena arena;

    nn_arena_init(&arena, 10000);
    ck_assert_ptr_nonnull(nn_arena_alloc(&arena, 5000));
    ck_assert_ptr_null(nn_arena_alloc(&arena, 6000));
    ck_assert_ptr_null(nn_arena_alloc_array(&arena, SIZE_MAX, 2));
    ck_assert_ptr_null(nn_arena_alloc(&arena, SIZE_MAX));
    nn_arena_done(&arena);
}
TEST_END

static uint64_t charged, limit;

static int charge(void *ctx, uint64_t n_bytes)
{
    if (n_bytes > limit - charged)
        return -EDQUOT;
    charged += n_bytes;
    return 0;
}

static void uncharge(void *ctx, uint64_t n_bytes)
{
    ck_assert_uint_le(n_bytes, charged);
    charged -= n_bytes;
}

TEST(chunks_are_charged_from_the_meter_on)
{
    const struct nn_meter meter = {charge, uncharge, NULL};
    struct nn_arena arena;

    limit = 100000;
    nn_arena_init(&arena, 0);
    ck_assert_ptr_nonnull(nn_arena_alloc(&arena, 1));
    arena.meter = &meter;
    ck_assert_ptr_nonnull(nn_arena_alloc(&arena, 1)); /* of the chunk that is there */
    ck_assert_uint_eq(charged, 0);
    ck_assert_ptr_nonnull(nn_arena_alloc(&arena, 50000));
    ck_assert_uint_ge(charged, 50000);
    ck_assert_ptr_null(nn_arena_alloc(&arena, 100000));
    nn_arena_reset(&arena);
    ck_assert_uint_ge(charged, 50000);
    nn_arena_done(&arena);
    ck_assert_uint_eq(charged, 0);
    ck_assert_ptr_null(nn_arena_alloc(&arena, 100001));
    nn_arena_done(&arena);
    /* What is kept was there before the meter. */
    nn_arena_init(&arena, 0);
    nn_arena_alloc(&arena, 1);
    arena.meter = &meter;
    nn_arena_reset(&arena);
    nn_arena_done(&arena);
    ck_assert_uint_eq(charged, 0);
}
TEST_END

CHECK_MAIN("arena", blocks_are_zeroed_and_aligned, reset_keeps_a_chunk_and_gives_zeroes_again,
           limit_is_held, chunks_are_charged_from_the_meter_on)
