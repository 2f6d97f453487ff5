/* SPDX-License-Identifier: Apache-2.0 */
/* Quick, whole and optimized, from the cache or not, and swapped in the middle: the same bits. */
#include "cpu/cases.h"
#include "drivers/cpu/executor/program.h"
#include "support/check-main.h"

#include <pthread.h>
#include <string.h>

/* The results that every stage must have. */
static struct case_result wanted[CASE_N_VARIANTS];

static void expect_wanted(const struct cpu_case *of, struct builder *b, void *prepared,
                          const char *stage)
{
    static struct case_result result;

    for (uint32_t v = 0; v < CASE_N_VARIANTS; v++) {
        case_execute(of, b, prepared, v, &result);
        ck_assert_msg(memcmp(&result, &wanted[v], sizeof(result)) == 0, "%s, %s, variant %u: %s",
                      of->name, stage, v, b->why);
    }
}

static void find_wanted(const struct cpu_case *of, struct builder *b)
{
    void *prepared = builder_prepare(b);

    for (uint32_t v = 0; v < CASE_N_VARIANTS; v++)
        case_execute(of, b, prepared, v, &wanted[v]);
    b->driver->release(prepared);
}

TEST(every_stage_gives_the_same_bits)
{
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        struct case_cache quick, optimized;
        void *prepared, *loaded;
        struct builder b;

        builder_init(&b, 2);
        of->build(&b);
        find_wanted(of, &b);
        prepared = case_prepare_kept(&b, true, &quick);
        expect_wanted(of, &b, prepared, "quick");

        /* What is kept of a quick one can be optimized, too. */
        loaded = case_load(&b, &quick);
        ck_assert_ptr_nonnull(loaded);
        expect_wanted(of, &b, loaded, "quick from the cache");
        ck_assert_uint_eq(case_optimize(&b, loaded, NULL), NNHAL_NONE);
        expect_wanted(of, &b, loaded, "optimized after the cache");
        b.driver->release(loaded);

        ck_assert_uint_eq(case_optimize(&b, prepared, &optimized), NNHAL_NONE);
        expect_wanted(of, &b, prepared, "optimized");
        ck_assert_uint_ne(optimized.model.size, 0);
        loaded = case_load(&b, &optimized);
        ck_assert_ptr_nonnull(loaded);
        expect_wanted(of, &b, loaded, "optimized from the cache");
        b.driver->release(loaded);

        /* There is nothing better. */
        ck_assert_uint_eq(case_optimize(&b, prepared, NULL), NNHAL_GENERAL_FAILURE);
        expect_wanted(of, &b, prepared, "optimized twice");
        b.driver->release(prepared);
        builder_done(&b);
    }
}
TEST_END

TEST(what_is_cancelled_changes_nothing)
{
    const uint32_t is_cancelled = 1;
    const struct nnhal_optimize request = {.size = sizeof(request), .is_cancelled = &is_cancelled};
    const struct cpu_case *of = &cpu_cases[0];
    struct case_cache cache;
    struct builder b;
    void *prepared;

    builder_init(&b, 2);
    of->build(&b);
    find_wanted(of, &b);
    prepared = case_prepare_kept(&b, true, &cache);
    ck_assert_uint_eq(b.driver->optimize(prepared, &request), NNHAL_GENERAL_FAILURE);
    expect_wanted(of, &b, prepared, "cancelled");
    ck_assert_uint_eq(case_optimize(&b, prepared, NULL), NNHAL_NONE);
    expect_wanted(of, &b, prepared, "optimized");
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

struct user {
    const struct cpu_case *of;
    struct builder *b;
    void *prepared;
    uint32_t variant;
    uint32_t n_rounds;
    uint32_t is_ending;
    bool is_right;
};

static void *use(void *ctx)
{
    struct user *user = ctx;
    struct case_result *result = malloc(sizeof(*result));

    user->is_right = result != NULL;
    while (user->is_right && !__atomic_load_n(&user->is_ending, __ATOMIC_ACQUIRE)) {
        case_execute(user->of, user->b, user->prepared, user->variant, result);
        user->is_right = memcmp(result, &wanted[user->variant], sizeof(*result)) == 0;
        __atomic_add_fetch(&user->n_rounds, 1, __ATOMIC_RELEASE);
    }
    free(result);
    return NULL;
}

static void wait_for_rounds(const struct user *user, uint32_t n)
{
    while (__atomic_load_n(&user->n_rounds, __ATOMIC_ACQUIRE) < n)
        sched_yield();
}

TEST(a_model_may_be_optimized_while_it_is_used)
{
    for (const struct cpu_case *of = cpu_cases; of->name; of++) {
        struct user users[CASE_N_VARIANTS];
        pthread_t threads[CASE_N_VARIANTS];
        struct case_cache cache;
        struct builder b;
        void *prepared;

        builder_init(&b, 2);
        of->build(&b);
        find_wanted(of, &b);
        prepared = case_prepare_kept(&b, true, &cache);
        for (uint32_t v = 0; v < CASE_N_VARIANTS; v++) {
            users[v] = (struct user){.of = of, .b = &b, .prepared = prepared, .variant = v};
            ck_assert_int_eq(pthread_create(&threads[v], NULL, use, &users[v]), 0);
        }
        for (uint32_t v = 0; v < CASE_N_VARIANTS; v++)
            wait_for_rounds(&users[v], 3);
        ck_assert_uint_eq(case_optimize(&b, prepared, &cache), NNHAL_NONE);
        for (uint32_t v = 0; v < CASE_N_VARIANTS; v++) {
            wait_for_rounds(&users[v], __atomic_load_n(&users[v].n_rounds, __ATOMIC_ACQUIRE) + 3);
            __atomic_store_n(&users[v].is_ending, 1, __ATOMIC_RELEASE);
            pthread_join(threads[v], NULL);
            ck_assert_msg(users[v].is_right, "%s, variant %u", of->name, v);
        }
        b.driver->release(prepared);
        builder_done(&b);
    }
}
TEST_END

static uint32_t n_kept(const struct nn_program *program)
{
    return program->n_spare_seats + (program->warm_seat != NULL);
}

/* How many seats stay of as many as were in use at once. */
static uint32_t count_kept(struct nn_program *program)
{
    enum { N = NN_PROGRAM_MAX_SPARE + 4 };
    struct nn_seat *seats[N];

    for (int i = 0; i < N; i++)
        ck_assert_int_eq(nn_program_get_seat(program, &seats[i]), 0);
    for (int i = 0; i < N; i++)
        nn_program_put_seat(program, seats[i]);
    return n_kept(program);
}

TEST(an_open_burst_keeps_a_seat_more)
{
    struct nn_program *program;

    ck_assert_int_eq(nn_program_new_kept(NULL, 0, &program), 0);
    ck_assert_uint_eq(count_kept(program), NN_PROGRAM_MAX_SPARE);
    nn_program_set_bursts(program, 2);
    ck_assert_uint_eq(count_kept(program), NN_PROGRAM_MAX_SPARE + 2);
    nn_program_set_bursts(program, 1);
    ck_assert_uint_eq(n_kept(program), NN_PROGRAM_MAX_SPARE + 1);
    nn_program_set_bursts(program, 0);
    ck_assert_uint_eq(n_kept(program), NN_PROGRAM_MAX_SPARE);
    nn_program_free(program);
}
TEST_END

TEST(bursts_nest_and_outlive_a_stage)
{
    const struct cpu_case *of = &cpu_cases[0];
    struct case_cache cache;
    struct builder b;
    void *prepared;

    builder_init(&b, 2);
    of->build(&b);
    find_wanted(of, &b);
    prepared = case_prepare_kept(&b, true, &cache);
    for (int i = 0; i < 2; i++) {
        uint32_t n_threads = b.driver->burst_opened(prepared);

        ck_assert_uint_ge(n_threads, 1);
        ck_assert_uint_le(n_threads, 2);
    }
    expect_wanted(of, &b, prepared, "on a burst");
    ck_assert_uint_eq(case_optimize(&b, prepared, NULL), NNHAL_NONE);
    b.driver->burst_closed(prepared);
    expect_wanted(of, &b, prepared, "optimized on a burst");
    b.driver->burst_closed(prepared);
    expect_wanted(of, &b, prepared, "after it");
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

CHECK_MAIN("staged", every_stage_gives_the_same_bits, what_is_cancelled_changes_nothing,
           a_model_may_be_optimized_while_it_is_used, an_open_burst_keeps_a_seat_more,
           bursts_nest_and_outlive_a_stage)
