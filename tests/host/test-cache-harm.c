/* SPDX-License-Identifier: Apache-2.0 */
/* What others do to cache files, before and while they are used, and what the disk does: a model
 * that comes from the cache is the right one, or none does. NN_TEST_ROUNDS says how often what is
 * left to chance is tried. */
#include "host/cache-files.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned rounds(unsigned usual)
{
    const char *value = getenv("NN_TEST_ROUNDS");

    return value ? (unsigned)atoi(value) : usual;
}

/* -- damage ----------------------------------------------------------------------------------- */

TEST(each_flipped_bit_and_each_cut_of_a_model_cache_is_refused)
{
    struct cache_desk desk;

    for (int driver = 0; driver < CACHE_DRIVER_N; driver++) {
        uint64_t prepared;

        cache_open(&desk, (enum cache_driver)driver);
        cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
        for (uint32_t f = 0; f < desk.n_model; f++) {
            _cleanup_(freep) char *path = strdup(cache_path(&desk, "x", true, f));
            _cleanup_(freep) uint8_t *bytes = NULL;
            size_t n = cache_read(path, &bytes);

            for (size_t bit = 0; bit < 8 * n; bit++) {
                bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
                cache_write(path, bytes, n);
                ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared),
                                  NNHAL_GENERAL_FAILURE);
                bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
            }
            for (size_t length = 0; length < n; length++) {
                cache_write(path, bytes, length);
                ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared),
                                  NNHAL_GENERAL_FAILURE);
            }
            cache_write(path, bytes, n);
        }
        ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
        cache_close(&desk);
    }
}
TEST_END

/* Flips a bit, or appends up to 256 bytes. Returns: what to write back. */
static size_t damage(const char *path, uint32_t *seed, uint8_t **ret_bytes)
{
    _cleanup_(freep) uint8_t *damaged = NULL;
    size_t n = cache_read(path, ret_bytes), length = n;

    damaged = malloc(n + 256);
    memcpy(damaged, *ret_bytes, n);
    if (n && cache_random(seed) % 2) {
        damaged[cache_random(seed) % n] ^= (uint8_t)(1U << cache_random(seed) % 8);
    } else {
        length += 1 + cache_random(seed) % 256;
        for (size_t i = n; i < length; i++)
            damaged[i] = (uint8_t)cache_random(seed);
    }
    cache_write(path, damaged, length);
    return n;
}

static void damage_often(struct cache_desk *desk, bool is_model, unsigned n_times)
{
    uint32_t seed = 17 + is_model;
    uint64_t prepared;

    for (unsigned i = 0; i < n_times; i++) {
        uint32_t f = i % (is_model ? desk->n_model : desk->n_data);
        _cleanup_(freep) char *path = strdup(cache_path(desk, "x", is_model, f));
        _cleanup_(freep) uint8_t *bytes = NULL;
        size_t n = damage(path, &seed, &bytes);

        ck_assert_uint_eq(cache_try(desk, "x", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
        cache_write(path, bytes, n);
    }
}

TEST(random_damage_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    CACHE_EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", cache_token_a);
        damage_often(&desk, true, rounds(200));
        damage_often(&desk, false, rounds(50));
        ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
    }
}
TEST_END

/* -- others write at the same time ------------------------------------------------------------ */

/* The owner of the files writes another model's over them, all the time. */
struct rewriter {
    struct cache_files targets;
    uint32_t n_files;
    int32_t fds[2 * NNHAL_MAX_CACHE_FILES];
    uint8_t *bytes[2 * NNHAL_MAX_CACHE_FILES];
    size_t n_bytes[2 * NNHAL_MAX_CACHE_FILES];
    uint32_t is_stopping;
    pthread_t thread;
};

static void *rewrite(void *ctx)
{
    struct rewriter *rewriter = ctx;

    while (!__atomic_load_n(&rewriter->is_stopping, __ATOMIC_ACQUIRE))
        for (uint32_t i = 0; i < rewriter->n_files; i++)
            if (pwrite(rewriter->fds[i], rewriter->bytes[i], rewriter->n_bytes[i], 0) < 0)
                return NULL;
    return NULL;
}

static void rewriter_start(struct rewriter *rewriter, struct cache_desk *desk, const char *from,
                           const char *to)
{
    memset(rewriter, 0, sizeof(*rewriter));
    cache_files_open(desk, to, O_RDWR, &rewriter->targets);
    for (uint32_t i = 0; i < desk->n_model + desk->n_data; i++) {
        bool is_model = i < desk->n_model;
        uint32_t k = is_model ? i : i - desk->n_model;

        rewriter->fds[i] = is_model ? rewriter->targets.model[k] : rewriter->targets.data[k];
        rewriter->n_bytes[i] = cache_read(cache_path(desk, from, is_model, k), &rewriter->bytes[i]);
        rewriter->n_files++;
    }
    ck_assert_int_eq(pthread_create(&rewriter->thread, NULL, rewrite, rewriter), 0);
}

static void rewriter_stop(struct rewriter *rewriter)
{
    __atomic_store_n(&rewriter->is_stopping, 1, __ATOMIC_RELEASE);
    pthread_join(rewriter->thread, NULL);
    for (uint32_t i = 0; i < rewriter->n_files; i++)
        free(rewriter->bytes[i]);
    cache_files_close(&rewriter->targets);
}

/* n tries with a thread that writes MUL's cache over ADD's while that is saved or loaded. */
static void race(struct cache_desk *desk, const struct cache_chain *chain, bool during_save,
                 unsigned n)
{
    struct cache_chain mul = cache_mul_of(chain);
    struct rewriter rewriter;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;

    cache_save(desk, &mul, "mul", cache_token_b);
    cache_save(desk, chain, "x", cache_token_a);
    cache_copy(desk, "x", "good", 3);
    cache_files_open(desk, "x", O_RDWR, &files);
    rewriter_start(&rewriter, desk, "mul", "x");
    for (unsigned i = 0; i < n; i++) {
        if (during_save)
            ck_assert(cache_runs(desk, chain,
                                 cache_prepare(desk, chain, &files, cache_token_a, &is_cached)));
        else
            cache_copy(desk, "good", "x", 3);
        if (cache_load(desk, &files, cache_token_a, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(desk, chain, prepared));
    }
    rewriter_stop(&rewriter);
    cache_files_close(&files);
}

TEST(files_rewritten_while_they_are_saved_give_the_right_model_or_none)
{
    struct cache_desk desk;

    CACHE_EACH(desk, chain)
    {
        race(&desk, chain, true, rounds(30));
    }
}
TEST_END

TEST(files_rewritten_while_they_are_loaded_give_the_right_model_or_none)
{
    struct cache_desk desk;

    CACHE_EACH(desk, chain)
    {
        race(&desk, chain, false, rounds(30));
    }
}
TEST_END

/* -- what fails ------------------------------------------------------------------------------- */

/* Each system call of a save fails once: the model is prepared, and what is loaded after it is
 * right. */
TEST(a_save_that_fails_halfway_costs_nothing_but_the_cache)
{
    struct cache_desk desk;
    bool is_cached = false;

    cache_open(&desk, CACHE_CPU);
    for (long n = 1; !is_cached; n++) {
        struct cache_files files;
        uint64_t prepared;

        cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
        nn_sys_fault_errno = n % 2 ? ENOSPC : EIO;
        nn_sys_fault = n;
        prepared = cache_prepare(&desk, CACHE_SMALL, &files, cache_token_a, &is_cached);
        nn_sys_fault = 0;
        ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
        if (cache_load(&desk, &files, cache_token_a, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
        else
            ck_assert(!is_cached);
        cache_files_close(&files);
        ck_assert_int_lt(n, 100);
    }
    cache_close(&desk);
}
TEST_END

/* The only file in the driver's folder. */
static void find_map(struct cache_desk *desk, char *path, size_t n_bytes)
{
    char folder[sizeof(desk->folder) + 8];
    struct dirent *entry;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%s/state", desk->folder);
    dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    path[0] = '\0';
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            snprintf(path, n_bytes, "%s/%s", folder, entry->d_name);
    closedir(dir);
    ck_assert_int_ne(path[0], '\0');
}

TEST(a_damaged_map_forgets_but_does_not_fail)
{
    struct cache_desk desk;
    char path[512];
    uint32_t seed = 5;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
    for (unsigned i = 0; i < rounds(200); i++) {
        _cleanup_(freep) uint8_t *bytes = NULL;
        uint64_t prepared;
        size_t n;

        find_map(&desk, path, sizeof(path));
        n = cache_read(path, &bytes);
        if (i % 10 == 0)
            n = cache_random(&seed) % n;
        for (unsigned k = 0; n && k < 1 + cache_random(&seed) % 8; k++)
            bytes[cache_random(&seed) % n] ^= (uint8_t)(1U << cache_random(&seed) % 8);
        cache_write(path, bytes, n);
        cache_reopen(&desk, 1000);
        if (cache_try(&desk, "x", cache_token_a, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
        cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
        ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
    }
    cache_close(&desk);
}
TEST_END

CHECK_MAIN("cache-harm", each_flipped_bit_and_each_cut_of_a_model_cache_is_refused,
           random_damage_is_refused,
           files_rewritten_while_they_are_saved_give_the_right_model_or_none,
           files_rewritten_while_they_are_loaded_give_the_right_model_or_none,
           a_save_that_fails_halfway_costs_nothing_but_the_cache,
           a_damaged_map_forgets_but_does_not_fail)
