/* SPDX-License-Identifier: Apache-2.0 */
/* What Android's vendor test suite asks of compilation caching, over the HAL, with each driver that
 * has a cache, models of floats and of bytes, short ones and chains of 100 operations. Its tests by
 * name, and those here (more in test-cache-harm.c):
 *
 *     CacheSavingAndRetrieval                    what_was_saved_is_retrieved_and_runs
 *     CacheSavingAndRetrievalNonZeroOffset       offsets_and_old_contents_do_not_matter
 *     SaveToCacheInvalidNumCache, -NumFd         a_wrong_number_of_files_is_no_reason_not_to_prepare
 *     PrepareModelFromCacheInvalidNumCache, -Fd  a_wrong_number_of_files_is_not_loaded
 *     SaveToCacheInvalidAccessMode               files_that_cannot_be_written_are_left_alone
 *     PrepareModelFromCacheInvalidAccessMode     files_that_cannot_be_read_are_not_loaded
 *     SaveToCache_TOCTOU                         (harm) files_rewritten_while_they_are_saved_...
 *     PrepareFromCache_TOCTOU                    (harm) files_rewritten_while_they_are_loaded_...
 *     ReplaceSecuritySensitiveCache              another_models_cache_is_refused
 *     CorruptedModelCache, WrongLength-          (harm) each_flipped_bit_..., random_damage_...
 *     CorruptedDataCache, WrongLength-           (harm) random_damage_...
 *     WrongToken                                 another_token_is_refused
 *
 * A handle with two descriptors cannot be said in this HAL: a place has one, or none. */
#include "host/cache-files.h"

#include "base/cleanup.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* -- saving and retrieving ----------------------------------------------------------------- */

TEST(what_was_saved_is_retrieved_and_runs)
{
    struct cache_desk desk;
    uint64_t prepared;

    CACHE_EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", cache_token_a);
        ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
        /* Also by the next process, and as often as wanted. */
        for (int i = 0; i < 2; i++) {
            cache_reopen(&desk, 1000);
            ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
            ck_assert(cache_runs(&desk, chain, prepared));
        }
    }
}
TEST_END

static void advance(const struct cache_files *files, bool writes)
{
    char bytes[2] = {0};

    for (uint32_t i = 0; i < files->n_model + files->n_data; i++) {
        int fd = i < files->n_model ? files->model[i] : files->data[i - files->n_model];

        if (writes)
            ck_assert_int_eq(write(fd, bytes, 2), 2);
        else
            ck_assert_int_eq(read(fd, bytes, 1), 1);
    }
}

TEST(offsets_and_old_contents_do_not_matter)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;

    CACHE_EACH(desk, chain)
    {
        cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
        advance(&files, true);
        ck_assert(cache_runs(&desk, chain,
                             cache_prepare(&desk, chain, &files, cache_token_a, &is_cached)));
        ck_assert(is_cached);
        cache_files_close(&files);
        cache_files_open(&desk, "x", O_RDWR, &files);
        advance(&files, false);
        ck_assert_uint_eq(cache_load(&desk, &files, cache_token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
        cache_files_close(&files);
    }
}
TEST_END

/* A shorter model after a longer one: nothing of the old is left behind it. */
TEST(a_file_is_cut_to_what_it_holds)
{
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, CACHE_LARGE, "x", cache_token_a);
    cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
    cache_close(&desk);
}
TEST_END

/* -- files that cannot be meant -------------------------------------------------------------- */

/* Spoils the form of a set of files in its i-th way; the descriptor taken out is *ret_fd.
 * Returns: false if there are no more ways. */
static bool spoil_form(struct cache_files *files, unsigned way, int *ret_fd)
{
    *ret_fd = -1;
    switch (way) {
    case 0: /* one more model file */
        files->model[files->n_model++] = dup(files->data[0]);
        return true;
    case 1: /* one fewer */
        *ret_fd = files->model[--files->n_model];
        return true;
    case 2:
        files->data[files->n_data++] = dup(files->model[0]);
        return true;
    case 3:
        *ret_fd = files->data[--files->n_data];
        return true;
    case 4: /* a handle without a descriptor */
        *ret_fd = files->model[files->n_model - 1];
        files->model[files->n_model - 1] = -1;
        return true;
    case 5:
        *ret_fd = files->data[files->n_data - 1];
        files->data[files->n_data - 1] = -1;
        return true;
    default:
        return false;
    }
}

TEST(a_wrong_number_of_files_is_no_reason_not_to_prepare)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;
    int fd;

    CACHE_EACH(desk, chain)
    {
        for (unsigned way = 0; way < 6; way++) {
            uint32_t status;

            cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
            ck_assert(spoil_form(&files, way, &fd));
            ck_assert(cache_runs(&desk, chain,
                                 cache_prepare(&desk, chain, &files, cache_token_a, &is_cached)));
            ck_assert(!is_cached);
            closep(&fd);
            cache_files_close(&files);
            status = cache_try(&desk, "x", cache_token_a, &prepared);
            ck_assert(status == NNHAL_GENERAL_FAILURE || status == NNHAL_INVALID_ARGUMENT);
        }
    }
}
TEST_END

TEST(a_wrong_number_of_files_is_not_loaded)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    int fd;

    CACHE_EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", cache_token_a);
        for (unsigned way = 0; way < 6; way++) {
            cache_files_open(&desk, "x", O_RDWR, &files);
            ck_assert(spoil_form(&files, way, &fd));
            ck_assert_uint_eq(cache_load(&desk, &files, cache_token_a, &prepared),
                              NNHAL_INVALID_ARGUMENT);
            closep(&fd);
            cache_files_close(&files);
        }
    }
}
TEST_END

/* Opens the k-th of all files anew, with other flags. */
static void reopen_file(struct cache_desk *desk, struct cache_files *files, uint32_t k, int flags)
{
    bool is_model = k < desk->n_model;
    uint32_t i = is_model ? k : k - desk->n_model;
    int32_t *fd = is_model ? &files->model[i] : &files->data[i];

    close(*fd);
    *fd = open(cache_path(desk, "x", is_model, i), flags | O_CLOEXEC);
    ck_assert_int_ge(*fd, 0);
}

TEST(files_that_cannot_be_written_are_left_alone)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;

    CACHE_EACH(desk, chain)
    {
        for (uint32_t k = 0; k < desk.n_model + desk.n_data; k++) {
            cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
            reopen_file(&desk, &files, k, O_RDONLY);
            ck_assert(cache_runs(&desk, chain,
                                 cache_prepare(&desk, chain, &files, cache_token_a, &is_cached)));
            ck_assert(!is_cached);
            cache_files_close(&files);
            ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared),
                              NNHAL_GENERAL_FAILURE);
        }
    }
}
TEST_END

TEST(files_that_cannot_be_read_are_not_loaded)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;

    CACHE_EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", cache_token_a);
        for (uint32_t k = 0; k < desk.n_model + desk.n_data; k++) {
            cache_files_open(&desk, "x", O_RDWR, &files);
            reopen_file(&desk, &files, k, O_WRONLY);
            ck_assert_uint_eq(cache_load(&desk, &files, cache_token_a, &prepared),
                              NNHAL_GENERAL_FAILURE);
            cache_files_close(&files);
        }
    }
}
TEST_END

/* What is no ordinary file is not touched: a pipe would make the driver wait for ever. */
TEST(only_ordinary_files_are_used)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    bool is_cached;
    int ends[2];

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
    cache_files_open(&desk, "x", O_RDWR, &files);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    close(files.data[0]);
    files.data[0] = ends[0];
    ck_assert_uint_eq(cache_load(&desk, &files, cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
    ck_assert(cache_runs(&desk, CACHE_SMALL,
                         cache_prepare(&desk, CACHE_SMALL, &files, cache_token_a, &is_cached)));
    ck_assert(!is_cached);
    cache_files_close(&files);
    close(ends[1]);
    cache_close(&desk);
}
TEST_END

/* -- what was never written ------------------------------------------------------------------- */

TEST(another_models_cache_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    CACHE_EACH(desk, chain)
    {
        struct cache_chain mul = cache_mul_of(chain);

        cache_save(&desk, &mul, "mul", cache_token_b);
        cache_save(&desk, chain, "add", cache_token_a);
        cache_copy(&desk, "mul", "add", 1);
        ck_assert_uint_eq(cache_try(&desk, "add", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
        cache_copy(&desk, "mul", "add", 3);
        ck_assert_uint_eq(cache_try(&desk, "add", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
    }
}
TEST_END

/* What was good once is not good after something else was saved with the same token. */
TEST(an_older_cache_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    CACHE_EACH(desk, chain)
    {
        struct cache_chain mul = cache_mul_of(chain);

        cache_save(&desk, &mul, "x", cache_token_a);
        cache_copy(&desk, "x", "old", 3);
        cache_save(&desk, chain, "x", cache_token_a);
        ck_assert_uint_eq(cache_try(&desk, "old", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
        ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
    }
}
TEST_END

/* -- who asks ------------------------------------------------------------------------------- */

TEST(another_token_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    CACHE_EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", cache_token_a);
        ck_assert_uint_eq(cache_try(&desk, "x", cache_token_b, &prepared), NNHAL_GENERAL_FAILURE);
    }
}
TEST_END

TEST(another_users_token_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
    cache_reopen(&desk, 1001);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
    cache_close(&desk);
}
TEST_END

TEST(another_version_of_the_driver_starts_with_nothing)
{
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_FAKE);
    cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
    fake.driver.version = "the next one";
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
    cache_save(&desk, CACHE_SMALL, "x", cache_token_a);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, CACHE_SMALL, prepared));
    cache_close(&desk);
}
TEST_END

static bool has_vectors(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

/* The driver is told to do without what this processor has: a plan that needs it is refused. */
TEST(a_plan_for_another_processor_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;
    uint32_t status;

    for (unsigned i = 0; i < CACHE_CHAIN_N; i++) {
        unsetenv("NNHAL_CPU_ISA");
        cache_open(&desk, CACHE_CPU);
        cache_save(&desk, &cache_chains[i], "x", cache_token_a);
        setenv("NNHAL_CPU_ISA", "c", 1);
        cache_reopen(&desk, 1000);
        status = cache_try(&desk, "x", cache_token_a, &prepared);
        ck_assert_uint_eq(status, has_vectors() ? NNHAL_GENERAL_FAILURE : NNHAL_NONE);
        if (status == NNHAL_NONE)
            ck_assert(cache_runs(&desk, &cache_chains[i], prepared));
        cache_close(&desk);
    }
}
TEST_END

/* A driver may refuse what it has kept: then the model is compiled, or not. */
TEST(a_plan_that_the_configuration_forbids_is_refused)
{
    const struct cache_chain mul = cache_mul_of(CACHE_SMALL);
    struct cache_desk desk;
    char path[128];
    uint64_t prepared;

    cache_open(&desk, CACHE_SAMPLE);
    cache_save(&desk, &mul, "x", cache_token_a);
    snprintf(path, sizeof(path), "%s/accept.conf", desk.folder);
    cache_write(path, (const uint8_t *)"operations ADD\n", 15);
    desk.configuration = path;
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
    desk.configuration = NULL;
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, &mul, prepared));
    cache_close(&desk);
}
TEST_END

TEST(without_a_token_nothing_is_cached)
{
    static const uint8_t none[NNHAL_CACHE_TOKEN_BYTES];
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;
    struct stat status;
    bool is_cached;

    cache_open(&desk, CACHE_CPU);
    cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
    ck_assert(cache_runs(&desk, CACHE_SMALL,
                         cache_prepare(&desk, CACHE_SMALL, &files, none, &is_cached)));
    ck_assert(!is_cached);
    ck_assert_int_eq(fstat(files.model[0], &status), 0);
    ck_assert_int_eq(status.st_size, 0);
    ck_assert_uint_eq(cache_load(&desk, &files, none, &prepared), NNHAL_GENERAL_FAILURE);
    cache_files_close(&files);
    cache_close(&desk);
}
TEST_END

TEST(a_driver_without_a_cache_prepares_and_has_nothing_to_load)
{
    struct cache_desk desk;
    struct cache_files files = {.n_model = 1, .n_data = 1, .model = {-1}, .data = {-1}};
    uint64_t prepared;
    bool is_cached;

    cache_open(&desk, CACHE_FAKE);
    fake.driver.n_model_cache_files = fake.driver.n_data_cache_files = 0;
    fake.driver.prepare_from_cache = NULL;
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(desk.n_model + desk.n_data, 0);
    ck_assert(cache_runs(&desk, CACHE_SMALL,
                         cache_prepare(&desk, CACHE_SMALL, &files, cache_token_a, &is_cached)));
    ck_assert(!is_cached);
    ck_assert_uint_eq(cache_load(&desk, &files, cache_token_a, &prepared), NNHAL_GENERAL_FAILURE);
    cache_close(&desk);
}
TEST_END

/* -- what a model from the cache is ----------------------------------------------------------- */

static uint32_t execute_with(struct cache_desk *desk, uint64_t prepared, uint32_t n_elements,
                             uint32_t n_bytes)
{
    uint32_t status;

    desk_begin(&desk->desk);
    desk_input(&desk->desk, DIMS(1, n_elements), desk->memory, 0, n_bytes);
    desk_output(&desk->desk, 0, NULL, desk->memory, 1024, n_bytes);
    status = desk_execute(&desk->desk, prepared);
    return status;
}

TEST(requests_are_judged_as_for_a_compiled_model)
{
    static const struct {
        uint32_t n_elements, n_bytes;
    } requests[] = {{6, 24}, {6, 23}, {5, 20}, {7, 28}, {0, 24}, {6, 0}, {1u << 30, 24}};
    struct cache_desk desk;
    struct cache_files files;
    uint64_t compiled, cached;
    bool is_cached;

    cache_open(&desk, CACHE_CPU);
    cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
    compiled = cache_prepare(&desk, CACHE_SMALL, &files, cache_token_a, &is_cached);
    ck_assert_uint_eq(cache_load(&desk, &files, cache_token_a, &cached), NNHAL_NONE);
    for (size_t i = 0; i < NN_N_ELEMENTS(requests); i++)
        ck_assert_uint_eq(
            execute_with(&desk, compiled, requests[i].n_elements, requests[i].n_bytes),
            execute_with(&desk, cached, requests[i].n_elements, requests[i].n_bytes));
    desk_free_prepared(&desk.desk, compiled);
    ck_assert(cache_runs(&desk, CACHE_SMALL, cached));
    cache_files_close(&files);
    cache_close(&desk);
}
TEST_END

/* Its plans are made for the shapes that come; what is kept is the model that they are made of. */
TEST(a_model_with_open_shapes_is_kept)
{
    const struct cache_chain chain = {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 2, 1};
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, &chain, "x", cache_token_a);
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", cache_token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, &chain, prepared));
    cache_close(&desk);
}
TEST_END

CHECK_MAIN("cache", what_was_saved_is_retrieved_and_runs, offsets_and_old_contents_do_not_matter,
           a_file_is_cut_to_what_it_holds, a_wrong_number_of_files_is_no_reason_not_to_prepare,
           a_wrong_number_of_files_is_not_loaded, files_that_cannot_be_written_are_left_alone,
           files_that_cannot_be_read_are_not_loaded, only_ordinary_files_are_used,
           another_models_cache_is_refused, an_older_cache_is_refused, another_token_is_refused,
           another_users_token_is_refused, another_version_of_the_driver_starts_with_nothing,
           a_plan_for_another_processor_is_refused,
           a_plan_that_the_configuration_forbids_is_refused, without_a_token_nothing_is_cached,
           a_driver_without_a_cache_prepares_and_has_nothing_to_load,
           requests_are_judged_as_for_a_compiled_model, a_model_with_open_shapes_is_kept)
