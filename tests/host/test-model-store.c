/* SPDX-License-Identifier: Apache-2.0 */
/* Models that a host keeps by itself: for clients that bring no cache. */
#include "host/cache-files.h"

#include "support/check-main.h"
#include "support/fake-driver.h"

#include <nnhal/cache.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const uint8_t no_token[NNHAL_CACHE_TOKEN_BYTES];
static char state[64];

static void begin(const char *setting)
{
    snprintf(state, sizeof(state), "/tmp/nnhal-kept-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(state));
    ck_assert_int_eq(setenv("NNHAL_STATE_PATH", state, 1), 0);
    if (setting)
        ck_assert_int_eq(setenv("NNHAL_DRIVER_CACHE", setting, 1), 0);
    else
        unsetenv("NNHAL_DRIVER_CACHE");
}

static void end(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", state);
    ck_assert_int_eq(system(command), 0);
}

static const char *store_path(struct cache_desk *desk)
{
    static char path[192];

    snprintf(path, sizeof(path), "%s/%s/models", state, nn_host_driver(desk->desk.host)->name);
    return path;
}

/* Of the store, once the host has written what it counted. */
static struct nnhal_store_stats stats_of(struct cache_desk *desk, uint32_t uid)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store;

    cache_reopen(desk, uid);
    ck_assert_int_eq(nnhal_store_open(store_path(desk), NULL, &store), 0);
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    nnhal_store_close(store);
    return stats;
}

/* Prepares a model without a cache, and computes it. */
static void use(struct cache_desk *desk, const struct cache_chain *chain)
{
    const struct cache_files none = {0};
    bool is_cached;
    uint64_t prepared = cache_prepare(desk, chain, &none, no_token, &is_cached);

    ck_assert(!is_cached);
    ck_assert(cache_runs(desk, chain, prepared));
}

TEST(the_second_time_it_is_found)
{
    struct nnhal_store_stats stats;
    struct cache_desk desk;

    for (enum cache_driver driver = 0; driver < CACHE_DRIVER_N; driver++) {
        begin("on");
        cache_open(&desk, driver);
        use(&desk, CACHE_SMALL);
        use(&desk, CACHE_SMALL);
        stats = stats_of(&desk, 1000);
        ck_assert_uint_eq(stats.n_entries, 1);
        ck_assert_uint_eq(stats.n_hits, 1);
        ck_assert_uint_eq(stats.n_misses, 1);
        use(&desk, CACHE_SMALL); /* another host of the same driver */
        ck_assert_uint_eq(stats_of(&desk, 1000).n_hits, 2);
        cache_close(&desk);
        end();
    }
}
TEST_END

TEST(every_chain_runs_from_what_was_kept)
{
    struct cache_desk desk;

    begin("on");
    CACHE_EACH(desk, chain)
    {
        for (int i = 0; i < 3; i++)
            use(&desk, chain);
    }
    end();
}
TEST_END

TEST(another_model_or_user_finds_nothing)
{
    struct cache_chain mul = cache_mul_of(CACHE_SMALL);
    struct nnhal_store_stats stats;
    struct cache_desk desk;

    begin("on");
    cache_open(&desk, CACHE_CPU);
    use(&desk, CACHE_SMALL);
    use(&desk, &mul);
    stats = stats_of(&desk, 1001);
    ck_assert_uint_eq(stats.n_entries, 2);
    use(&desk, CACHE_SMALL);
    stats = stats_of(&desk, 1000);
    ck_assert_uint_eq(stats.n_entries, 3);
    ck_assert_uint_eq(stats.n_hits, 0);
    use(&desk, &mul);
    ck_assert_uint_eq(stats_of(&desk, 1000).n_hits, 1);
    cache_close(&desk);
    end();
}
TEST_END

TEST(what_was_kept_may_be_damaged_or_taken_away)
{
    char command[512];
    struct cache_desk desk;

    begin("on");
    cache_open(&desk, CACHE_CPU);
    use(&desk, CACHE_LARGE);
    cache_reopen(&desk, 1000);
    for (unsigned i = 0; i < 24; i++) {
        /* One byte here and there, and then all of it. */
        snprintf(
            command, sizeof(command),
            "for f in %s/*; do printf X | dd of=$f bs=1 seek=%u conv=notrunc 2>/dev/null; done",
            store_path(&desk), 1 + i * 613);
        ck_assert_int_eq(system(command), 0);
        use(&desk, CACHE_LARGE);
        use(&desk, CACHE_LARGE);
        cache_reopen(&desk, 1000);
    }
    snprintf(command, sizeof(command), "rm -r %s", store_path(&desk));
    use(&desk, CACHE_LARGE);
    ck_assert_int_eq(system(command), 0);
    use(&desk, CACHE_LARGE);
    cache_close(&desk);
    end();
}
TEST_END

TEST(nothing_is_kept_unless_it_is_wanted)
{
    const char *folder = NULL;
    struct cache_desk desk;

    for (int i = 0; i < 2; i++) {
        begin(i ? "off" : NULL);
        cache_open(&desk, CACHE_CPU);
        if (i)
            ck_assert_int_lt(nn_host_keep_models(desk.desk.host, true, &folder), 0);
        else
            ck_assert_int_lt(nn_host_keep_models(desk.desk.host, false, &folder), 0);
        use(&desk, CACHE_SMALL);
        ck_assert_int_lt(access(store_path(&desk), F_OK), 0);
        cache_close(&desk);
        end();
    }
}
TEST_END

/* A service keeps what compiles slowly, from the second time on: the fake driver can do that. */
static void (*hand_over)(const struct nnhal_prepare *prepare);

static void compile_slowly(const struct nnhal_prepare *prepare)
{
    usleep(15000);
    hand_over(prepare);
}

TEST(a_service_learns_what_is_worth_it)
{
    struct nnhal_store_stats stats;
    const char *folder = NULL;
    struct cache_desk desk;

    begin(NULL);
    cache_open(&desk, CACHE_FAKE);
    ck_assert_int_eq(nn_host_keep_models(desk.desk.host, true, &folder), 0);
    use(&desk, CACHE_SMALL); /* fast: nothing is remembered */
    use(&desk, CACHE_SMALL);
    stats = stats_of(&desk, 1000);
    ck_assert_uint_le(stats.n_entries, 1); /* 1: this machine was very slow just then */

    ck_assert_int_eq(nn_host_keep_models(desk.desk.host, true, &folder), 0);
    hand_over = fake.on_prepare;
    fake.on_prepare = compile_slowly;
    for (int i = 0; i < 3; i++)
        use(&desk, CACHE_LARGE);
    stats = stats_of(&desk, 1000);
    ck_assert_uint_ge(stats.n_entries, 2); /* what it is, and that it is slow */
    ck_assert_uint_ge(stats.n_hits, 2);
    cache_close(&desk);
    end();
}
TEST_END

CHECK_MAIN("kept", the_second_time_it_is_found, every_chain_runs_from_what_was_kept,
           another_model_or_user_finds_nothing, what_was_kept_may_be_damaged_or_taken_away,
           nothing_is_kept_unless_it_is_wanted, a_service_learns_what_is_worth_it)
