/* SPDX-License-Identifier: Apache-2.0 */
/* Compilations that are deferred, and what becomes of them in the background. */
#include "host/cache-files.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "support/check-main.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static const uint8_t token[NNHAL_CACHE_TOKEN_BYTES] = {4, 5, 6};
static const struct cache_chain chain = {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 20, 0};

enum {
    AFTER = 4, /* executions */
};

static void set_stages(const char *defer, unsigned after)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", after);
    setenv("NNHAL_DEFER", defer, 1);
    setenv("NNHAL_OPTIMIZE_AFTER", text, 1);
}

static uint32_t n_written(struct cache_desk *desk)
{
    return __atomic_load_n(&desk->n_written, __ATOMIC_ACQUIRE);
}

/* Runs it until what was kept has been replaced. */
static void use_until_written(struct cache_desk *desk, uint64_t prepared, uint32_t n)
{
    while (n_written(desk) < n)
        ck_assert(cache_computes(desk, &chain, prepared));
}

static size_t model_bytes(struct cache_desk *desk, uint8_t **ret_bytes)
{
    return cache_read(cache_path(desk, "x", true, 0), ret_bytes);
}

TEST(a_deferred_model_is_kept_at_once_and_replaced_later)
{
    struct cache_desk desk;
    struct cache_files files;
    uint8_t *quick, *optimized;
    size_t n_quick, n_optimized;
    uint64_t prepared;
    bool is_cached;

    set_stages("on", AFTER);
    cache_open(&desk, CACHE_CPU);
    cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
    prepared = cache_prepare(&desk, &chain, &files, token, &is_cached);
    cache_files_close(&files);
    ck_assert(is_cached);
    ck_assert_uint_eq(n_written(&desk), 1);
    n_quick = model_bytes(&desk, &quick);
    use_until_written(&desk, prepared, 2);
    for (int i = 0; i < 2 * AFTER; i++)
        ck_assert(cache_computes(&desk, &chain, prepared));
    ck_assert_uint_eq(n_written(&desk), 2);
    n_optimized = model_bytes(&desk, &optimized);
    ck_assert(n_quick != n_optimized || memcmp(quick, optimized, n_quick) != 0);

    /* The new one is good; the old one was this driver's too, but is no longer. */
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", token, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, &chain, prepared));
    cache_write(cache_path(&desk, "x", true, 0), quick, n_quick);
    ck_assert_uint_eq(cache_try(&desk, "x", token, &prepared), NNHAL_GENERAL_FAILURE);
    free(quick);
    free(optimized);
    cache_close(&desk);
}
TEST_END

TEST(what_came_quick_from_the_cache_is_optimized_too)
{
    struct cache_desk desk;
    uint64_t prepared;

    set_stages("on", 0);
    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, &chain, "x", token);
    set_stages("off", AFTER);
    cache_reopen(&desk, 1000);
    desk.n_written = 0;
    ck_assert_uint_eq(cache_try(&desk, "x", token, &prepared), NNHAL_NONE);
    use_until_written(&desk, prepared, 1);
    ck_assert(cache_runs(&desk, &chain, prepared));
    ck_assert_uint_eq(cache_try(&desk, "x", token, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, &chain, prepared));
    cache_close(&desk);
}
TEST_END

TEST(nothing_is_optimized_unless_it_runs_often)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;

    set_stages("on", 0);
    cache_open(&desk, CACHE_CPU);
    cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
    prepared = cache_prepare(&desk, &chain, &files, token, &is_cached);
    cache_files_close(&files);
    for (int i = 0; i < 100; i++)
        ck_assert(cache_computes(&desk, &chain, prepared));
    ck_assert_uint_eq(n_written(&desk), 1);
    cache_close(&desk);
}
TEST_END

static int say_slow(int fd, struct nn_sys_file *ret_file)
{
    *ret_file = (struct nn_sys_file){.kind = NN_SYS_STALLING_FILE};
    return 0;
}

/* A service must not close them on threads that clients share. */
TEST(files_are_known_to_be_slow_while_they_are_held)
{
    const struct nn_sys_fakes fakes = {.inspect = say_slow};
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;

    set_stages("on", AFTER);
    cache_open(&desk, CACHE_CPU);
    cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
    ck_assert(!nn_host_may_stall(desk.desk.hal));
    nn_sys_fakes = &fakes;
    prepared = cache_prepare(&desk, &chain, &files, token, &is_cached);
    nn_sys_fakes = NULL;
    cache_files_close(&files);
    ck_assert(nn_host_may_stall(desk.desk.hal));
    use_until_written(&desk, prepared, 2);
    while (nn_host_may_stall(desk.desk.hal)) /* until they have been let go of */
        sched_yield();
    cache_close(&desk);
}
TEST_END

/* Half of an entry would be replaced, and all of it lost. */
TEST(files_that_cannot_all_be_written_stay_as_they_are)
{
    const struct nn_sys_fakes fakes = {.inspect = say_slow};
    struct cache_files files, others;
    struct cache_desk desk;
    uint64_t prepared;

    set_stages("on", AFTER);
    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, &chain, "x", token);
    cache_reopen(&desk, 1000);
    cache_files_open(&desk, "x", O_RDWR, &files);
    cache_files_open(&desk, "x", O_RDONLY, &others);
    close(files.data[0]);
    files.data[0] = steal_fd(&others.data[0]);
    nn_sys_fakes = &fakes;
    ck_assert_uint_eq(cache_load(&desk, &files, token, &prepared), NNHAL_NONE);
    nn_sys_fakes = NULL;
    ck_assert(!nn_host_may_stall(desk.desk.hal)); /* they are not held */
    ck_assert(cache_runs(&desk, &chain, prepared));
    cache_files_close(&files);
    cache_files_close(&others);
    cache_close(&desk);
}
TEST_END

/* The model and the session may end at any moment of it. */
TEST(who_leaves_takes_the_work_along)
{
    for (int i = 0; i < 40; i++) {
        struct cache_desk desk;
        struct cache_files files;
        uint64_t prepared;
        bool is_cached;

        set_stages("on", 1);
        cache_open(&desk, CACHE_CPU);
        cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
        prepared = cache_prepare(&desk, &chain, &files, token, &is_cached);
        cache_files_close(&files);
        ck_assert(cache_computes(&desk, &chain, prepared));
        if (i % 2)
            desk_free_prepared(&desk.desk, prepared);
        if (i % 4 > 1)
            sched_yield();
        cache_close(&desk);
    }
}
TEST_END

/* A rewrite that fails at its n-th step: what is there afterwards is used if it is whole. */
TEST(a_rewrite_that_fails_halfway_is_a_miss_at_worst)
{
    for (long n = 1; n < 12; n++) {
        struct cache_desk desk;
        struct cache_files files;
        uint64_t prepared;
        bool is_cached;

        set_stages("on", AFTER);
        cache_open(&desk, CACHE_CPU);
        cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
        prepared = cache_prepare(&desk, &chain, &files, token, &is_cached);
        for (int i = 1; i < AFTER; i++)
            ck_assert(cache_computes(&desk, &chain, prepared));
        /* From here on there are no other calls but those of the rewrite. */
        nn_sys_fault_errno = ENOSPC;
        __atomic_store_n(&nn_sys_fault, n, __ATOMIC_SEQ_CST);
        ck_assert(cache_computes(&desk, &chain, prepared));
        while (__atomic_load_n(&nn_sys_fault, __ATOMIC_SEQ_CST) > 0 && n_written(&desk) < 2)
            sched_yield();
        __atomic_store_n(&nn_sys_fault, 0, __ATOMIC_SEQ_CST);
        ck_assert(cache_runs(&desk, &chain, prepared));
        if (cache_load(&desk, &files, token, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(&desk, &chain, prepared));
        ck_assert(
            cache_runs(&desk, &chain, cache_prepare(&desk, &chain, &files, token, &is_cached)));
        ck_assert(is_cached);
        cache_files_close(&files);
        cache_close(&desk);
    }
}
TEST_END

CHECK_MAIN("stages", a_deferred_model_is_kept_at_once_and_replaced_later,
           what_came_quick_from_the_cache_is_optimized_too,
           nothing_is_optimized_unless_it_runs_often,
           files_are_known_to_be_slow_while_they_are_held,
           files_that_cannot_all_be_written_stay_as_they_are, who_leaves_takes_the_work_along,
           a_rewrite_that_fails_halfway_is_a_miss_at_worst)
