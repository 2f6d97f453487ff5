/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory-plan.h"

#include "base/sys.h"
#include "cpu/builder.h"
#include "support/check-main.h"

static void check_sound(const struct nn_memory_buffer *buffers, uint32_t n, uint64_t total)
{
    uint32_t n_overlaps = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct nn_memory_buffer *a = &buffers[i];

        ck_assert_uint_eq(a->offset % NN_MEMORY_PLAN_ALIGNMENT, 0);
        ck_assert_uint_le(a->offset + a->size, total);
        for (uint32_t j = 0; j < i; j++) {
            const struct nn_memory_buffer *b = &buffers[j];
            int lives = a->first <= b->last && b->first <= a->last;
            int overlaps = a->offset < b->offset + b->size && b->offset < a->offset + a->size;

            n_overlaps += lives && overlaps && a->size && b->size;
        }
    }
    ck_assert_uint_eq(n_overlaps, 0);
}

TEST(no_two_live_buffers_overlap)
{
    static struct nn_memory_buffer buffers[600];
    uint32_t seed = 7;

    for (int round = 0; round < 60; round++) {
        uint32_t n = (uint32_t)builder_random_int(&seed, 0, 600), n_steps = 1 + n / 2;
        uint64_t total, sum = 0;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t first = (uint32_t)builder_random_int(&seed, 0, (int32_t)n_steps);

            buffers[i] = (struct nn_memory_buffer){
                .size = (uint64_t)builder_random_int(&seed, 0, 5000),
                .first = first,
                .last = first + (uint32_t)builder_random_int(&seed, 0, 9)};
            sum += (buffers[i].size + 63) / 64 * 64;
        }
        ck_assert_int_eq(nn_memory_plan(buffers, n, &total), 0);
        check_sound(buffers, n, total);
        ck_assert_uint_le(total, sum);
    }
}
TEST_END

TEST(chain_needs_two_buffers)
{
    struct nn_memory_buffer buffers[100];
    uint64_t total;

    for (uint32_t i = 0; i < 100; i++)
        buffers[i] = (struct nn_memory_buffer){.size = 1024, .first = i, .last = i + 1};
    ck_assert_int_eq(nn_memory_plan(buffers, 100, &total), 0);
    ck_assert_uint_eq(total, 2048);
}
TEST_END

TEST(many_thousands_are_placed_too)
{
    enum { N = 20000 };
    struct nn_memory_buffer *buffers = calloc(N, sizeof(*buffers));
    uint64_t total;

    ck_assert_ptr_nonnull(buffers);
    for (uint32_t i = 0; i < N; i++)
        buffers[i] = (struct nn_memory_buffer){.size = 100, .first = i, .last = i + 2};
    ck_assert_int_eq(nn_memory_plan(buffers, N, &total), 0);
    ck_assert_uint_le(total, 3 * 128);
    check_sound(buffers, 500, total);
    free(buffers);
}
TEST_END

/* A hundred thousand that all live together took 19 s, without the limit; each tenth of them gives way to another. */
TEST(a_hundred_thousand_live_together)
{
    enum { N = 110000, N_TOGETHER = 100000 };
    struct nn_memory_buffer *buffers = calloc(N, sizeof(*buffers));
    uint64_t total, begin_ns = nn_sys_now_ns();

    ck_assert_ptr_nonnull(buffers);
    ck_assert_uint_eq(NN_MEMORY_PLAN_MAX_LOOKS, 1 << 24);
    for (uint32_t i = 0; i < N; i++)
        buffers[i] = (struct nn_memory_buffer){
            .size = 4000 + i % 10 * 1000,
            .first = i < N_TOGETHER ? i : N_TOGETHER + 1,
            .last = i < N_TOGETHER && i % 10 == 0 ? N_TOGETHER : N_TOGETHER + 2};
    for (uint32_t i = N_TOGETHER; i < N; i++)
        buffers[i].size = 4000;
    ck_assert_int_eq(nn_memory_plan(buffers, N, &total), 0);
    ck_assert_uint_lt(nn_sys_now_ns() - begin_ns, UINT64_C(2000000000));
    check_sound(buffers, 3000, total);
    check_sound(buffers + N - 3000, 3000, total);
    ck_assert_uint_le(total, UINT64_C(8500) * N_TOGETHER * 9 / 8 + N_TOGETHER * 64);
    free(buffers);
}
TEST_END

TEST(sizes_that_do_not_fit_are_refused)
{
    struct nn_memory_buffer buffers[] = {{.size = UINT64_MAX / 2, .first = 0, .last = 1},
                                         {.size = UINT64_MAX / 2, .first = 0, .last = 1},
                                         {.size = UINT64_MAX / 2, .first = 0, .last = 1}};
    uint64_t total;

    ck_assert_int_lt(nn_memory_plan(buffers, 3, &total), 0);
}
TEST_END

CHECK_MAIN("memory-plan", no_two_live_buffers_overlap, chain_needs_two_buffers,
           many_thousands_are_placed_too, a_hundred_thousand_live_together,
           sizes_that_do_not_fit_are_refused)
