/* SPDX-License-Identifier: Apache-2.0 */
/* What Android's vendor test suite asks of compilation caching, and what its security guide does:
 * only what this driver wrote for this token is ever used. */
#include "host/cache-files.h"

#include "base/cleanup.h"
#include "base/sys.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

static const uint8_t token_a[NNHAL_CACHE_TOKEN_BYTES] = {1, 2, 3};
static const uint8_t token_b[NNHAL_CACHE_TOKEN_BYTES] = {1, 2, 4};

static const struct cache_chain chains[] = {
    {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 2, 0},
    {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, 2, 0},
    {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 100, 0},
    {NNHAL_OP_ADD, NNHAL_TENSOR_QUANT8_ASYMM, 100, 0},
};
#define SMALL (&chains[0])
#define LARGE (&chains[2])

/* The other model of the same form. */
static struct cache_chain mul_of(const struct cache_chain *chain)
{
    struct cache_chain mul = *chain;

    mul.operation = NNHAL_OP_MUL;
    return mul;
}

/* Each driver with each chain that it can do. */
#define EACH(desk, chain)                                                                          \
    for (unsigned each_ = 0; each_ < CACHE_DRIVER_N * NN_N_ELEMENTS(chains); each_++)              \
        for (const struct cache_chain *chain = &chains[each_ / CACHE_DRIVER_N], *once_ = chain;    \
             once_ && cache_can(each_ % CACHE_DRIVER_N, chain) &&                                  \
             (cache_open(&(desk), each_ % CACHE_DRIVER_N), true);                                  \
             once_ = NULL, cache_close(&(desk)))

static uint32_t random_of(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* -- saving and retrieving ----------------------------------------------------------------- */

TEST(what_was_saved_is_retrieved_and_runs)
{
    struct cache_desk desk;
    uint64_t prepared;

    EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", token_a);
        ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
        /* Also by the next process, and as often as wanted. */
        for (int i = 0; i < 2; i++) {
            cache_reopen(&desk, 1000);
            ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
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

    EACH(desk, chain)
    {
        cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
        advance(&files, true);
        ck_assert(
            cache_runs(&desk, chain, cache_prepare(&desk, chain, &files, token_a, &is_cached)));
        ck_assert(is_cached);
        cache_files_close(&files);
        cache_files_open(&desk, "x", O_RDWR, &files);
        advance(&files, false);
        ck_assert_uint_eq(cache_load(&desk, &files, token_a, &prepared), NNHAL_NONE);
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
    cache_save(&desk, LARGE, "x", token_a);
    cache_save(&desk, SMALL, "x", token_a);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, SMALL, prepared));
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

    EACH(desk, chain)
    {
        for (unsigned way = 0; way < 6; way++) {
            uint32_t status;

            cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
            ck_assert(spoil_form(&files, way, &fd));
            ck_assert(
                cache_runs(&desk, chain, cache_prepare(&desk, chain, &files, token_a, &is_cached)));
            ck_assert(!is_cached);
            closep(&fd);
            cache_files_close(&files);
            status = cache_try(&desk, "x", token_a, &prepared);
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

    EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", token_a);
        for (unsigned way = 0; way < 6; way++) {
            cache_files_open(&desk, "x", O_RDWR, &files);
            ck_assert(spoil_form(&files, way, &fd));
            ck_assert_uint_eq(cache_load(&desk, &files, token_a, &prepared),
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

    EACH(desk, chain)
    {
        for (uint32_t k = 0; k < desk.n_model + desk.n_data; k++) {
            cache_files_open(&desk, "x", O_RDWR | O_CREAT, &files);
            reopen_file(&desk, &files, k, O_RDONLY);
            ck_assert(
                cache_runs(&desk, chain, cache_prepare(&desk, chain, &files, token_a, &is_cached)));
            ck_assert(!is_cached);
            cache_files_close(&files);
            ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
        }
    }
}
TEST_END

TEST(files_that_cannot_be_read_are_not_loaded)
{
    struct cache_desk desk;
    struct cache_files files;
    uint64_t prepared;

    EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", token_a);
        for (uint32_t k = 0; k < desk.n_model + desk.n_data; k++) {
            cache_files_open(&desk, "x", O_RDWR, &files);
            reopen_file(&desk, &files, k, O_WRONLY);
            ck_assert_uint_eq(cache_load(&desk, &files, token_a, &prepared), NNHAL_GENERAL_FAILURE);
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
    cache_save(&desk, SMALL, "x", token_a);
    cache_files_open(&desk, "x", O_RDWR, &files);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    close(files.data[0]);
    files.data[0] = ends[0];
    ck_assert_uint_eq(cache_load(&desk, &files, token_a, &prepared), NNHAL_GENERAL_FAILURE);
    ck_assert(cache_runs(&desk, SMALL, cache_prepare(&desk, SMALL, &files, token_a, &is_cached)));
    ck_assert(!is_cached);
    cache_files_close(&files);
    close(ends[1]);
    cache_close(&desk);
}
TEST_END

/* -- what nobody has written ------------------------------------------------------------------ */

TEST(another_models_cache_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    EACH(desk, chain)
    {
        struct cache_chain mul = mul_of(chain);

        cache_save(&desk, &mul, "mul", token_b);
        cache_save(&desk, chain, "add", token_a);
        cache_copy(&desk, "mul", "add", 1);
        ck_assert_uint_eq(cache_try(&desk, "add", token_a, &prepared), NNHAL_GENERAL_FAILURE);
        cache_copy(&desk, "mul", "add", 3);
        ck_assert_uint_eq(cache_try(&desk, "add", token_a, &prepared), NNHAL_GENERAL_FAILURE);
    }
}
TEST_END

/* What was good once is not good after something else was saved with the same token. */
TEST(an_older_cache_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    EACH(desk, chain)
    {
        struct cache_chain mul = mul_of(chain);

        cache_save(&desk, &mul, "x", token_a);
        cache_copy(&desk, "x", "old", 3);
        cache_save(&desk, chain, "x", token_a);
        ck_assert_uint_eq(cache_try(&desk, "old", token_a, &prepared), NNHAL_GENERAL_FAILURE);
        ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
    }
}
TEST_END

TEST(each_flipped_bit_and_each_cut_of_a_model_cache_is_refused)
{
    struct cache_desk desk;

    for (int driver = 0; driver < CACHE_DRIVER_N; driver++) {
        uint64_t prepared;

        cache_open(&desk, (enum cache_driver)driver);
        cache_save(&desk, SMALL, "x", token_a);
        for (uint32_t f = 0; f < desk.n_model; f++) {
            _cleanup_(freep) char *path = strdup(cache_path(&desk, "x", true, f));
            _cleanup_(freep) uint8_t *bytes = NULL;
            size_t n = cache_read(path, &bytes);

            for (size_t bit = 0; bit < 8 * n; bit++) {
                bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
                cache_write(path, bytes, n);
                ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
                bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
            }
            for (size_t length = 0; length < n; length++) {
                cache_write(path, bytes, length);
                ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
            }
            cache_write(path, bytes, n);
        }
        ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, SMALL, prepared));
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
    if (n && random_of(seed) % 2) {
        damaged[random_of(seed) % n] ^= (uint8_t)(1U << random_of(seed) % 8);
    } else {
        length += 1 + random_of(seed) % 256;
        for (size_t i = n; i < length; i++)
            damaged[i] = (uint8_t)random_of(seed);
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

        ck_assert_uint_eq(cache_try(desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
        cache_write(path, bytes, n);
    }
}

TEST(random_damage_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", token_a);
        damage_often(&desk, true, 200);
        damage_often(&desk, false, 50);
        ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, chain, prepared));
    }
}
TEST_END

/* -- who asks ------------------------------------------------------------------------------- */

TEST(another_token_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    EACH(desk, chain)
    {
        cache_save(&desk, chain, "x", token_a);
        ck_assert_uint_eq(cache_try(&desk, "x", token_b, &prepared), NNHAL_GENERAL_FAILURE);
    }
}
TEST_END

TEST(another_users_token_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, SMALL, "x", token_a);
    cache_reopen(&desk, 1001);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, SMALL, prepared));
    cache_close(&desk);
}
TEST_END

TEST(another_version_of_the_driver_starts_with_nothing)
{
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_FAKE);
    cache_save(&desk, SMALL, "x", token_a);
    fake.driver.version = "the next one";
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
    cache_save(&desk, SMALL, "x", token_a);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, SMALL, prepared));
    cache_close(&desk);
}
TEST_END

/* A plan that uses what this processor does not have, or is told not to have. */
TEST(a_plan_for_another_processor_is_refused)
{
    struct cache_desk desk;
    uint64_t prepared;
    uint32_t status;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, SMALL, "x", token_a);
    setenv("NNHAL_CPU_ISA", "c", 1);
    cache_reopen(&desk, 1000);
    status = cache_try(&desk, "x", token_a, &prepared);
    ck_assert(status == NNHAL_NONE || status == NNHAL_GENERAL_FAILURE);
    if (status == NNHAL_NONE)
        ck_assert(cache_runs(&desk, SMALL, prepared));
    cache_close(&desk);
}
TEST_END

/* A driver may refuse what it has kept: then the model is compiled, or not. */
TEST(a_plan_that_the_configuration_forbids_is_refused)
{
    const struct cache_chain mul = mul_of(SMALL);
    struct cache_desk desk;
    char path[128];
    uint64_t prepared;

    cache_open(&desk, CACHE_SAMPLE);
    cache_save(&desk, &mul, "x", token_a);
    snprintf(path, sizeof(path), "%s/accept.conf", desk.folder);
    cache_write(path, (const uint8_t *)"operations ADD\n", 15);
    desk.configuration = path;
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_GENERAL_FAILURE);
    desk.configuration = NULL;
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
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
    ck_assert(cache_runs(&desk, SMALL, cache_prepare(&desk, SMALL, &files, none, &is_cached)));
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
    ck_assert(cache_runs(&desk, SMALL, cache_prepare(&desk, SMALL, &files, token_a, &is_cached)));
    ck_assert(!is_cached);
    ck_assert_uint_eq(cache_load(&desk, &files, token_a, &prepared), NNHAL_GENERAL_FAILURE);
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
    compiled = cache_prepare(&desk, SMALL, &files, token_a, &is_cached);
    ck_assert_uint_eq(cache_load(&desk, &files, token_a, &cached), NNHAL_NONE);
    for (size_t i = 0; i < NN_N_ELEMENTS(requests); i++)
        ck_assert_uint_eq(
            execute_with(&desk, compiled, requests[i].n_elements, requests[i].n_bytes),
            execute_with(&desk, cached, requests[i].n_elements, requests[i].n_bytes));
    desk_free_prepared(&desk.desk, compiled);
    ck_assert(cache_runs(&desk, SMALL, cached));
    cache_files_close(&files);
    cache_close(&desk);
}
TEST_END

/* Its plans are made for the shapes that come: there is nothing to keep. */
TEST(a_model_with_open_shapes_is_kept)
{
    const struct cache_chain chain = {NNHAL_OP_ADD, NNHAL_TENSOR_FLOAT32, 2, 1};
    struct cache_desk desk;
    uint64_t prepared;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, &chain, "x", token_a);
    cache_reopen(&desk, 1000);
    ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
    ck_assert(cache_runs(&desk, &chain, prepared));
    cache_close(&desk);
}
TEST_END

/* -- others write at the same time ------------------------------------------------------------ */

struct rewriter {
    struct cache_desk *desk;
    struct cache_files targets;
    uint8_t *bytes[2];
    size_t n_bytes[2];
    uint32_t is_stopping;
};

static void *rewrite(void *ctx)
{
    struct rewriter *rewriter = ctx;

    while (!__atomic_load_n(&rewriter->is_stopping, __ATOMIC_ACQUIRE)) {
        if (pwrite(rewriter->targets.model[0], rewriter->bytes[0], rewriter->n_bytes[0], 0) < 0 ||
            pwrite(rewriter->targets.data[0], rewriter->bytes[1], rewriter->n_bytes[1], 0) < 0)
            break;
    }
    return NULL;
}

/* n tries with a thread that writes MUL's cache over ADD's while that is saved or loaded. */
static void race(const struct cache_chain *chain, bool during_save, unsigned n)
{
    struct cache_chain mul = mul_of(chain);
    struct rewriter rewriter = {0};
    struct cache_desk desk;
    struct cache_files files;
    pthread_t thread;
    uint64_t prepared;
    bool is_cached;

    cache_open(&desk, CACHE_CPU);
    cache_save(&desk, &mul, "mul", token_b);
    cache_save(&desk, chain, "x", token_a);
    cache_copy(&desk, "x", "good", 3);
    rewriter.desk = &desk;
    rewriter.n_bytes[0] = cache_read(cache_path(&desk, "mul", true, 0), &rewriter.bytes[0]);
    rewriter.n_bytes[1] = cache_read(cache_path(&desk, "mul", false, 0), &rewriter.bytes[1]);
    cache_files_open(&desk, "x", O_RDWR, &rewriter.targets);
    cache_files_open(&desk, "x", O_RDWR, &files);
    ck_assert_int_eq(pthread_create(&thread, NULL, rewrite, &rewriter), 0);
    for (unsigned i = 0; i < n; i++) {
        if (during_save)
            ck_assert(
                cache_runs(&desk, chain, cache_prepare(&desk, chain, &files, token_a, &is_cached)));
        else
            cache_copy(&desk, "good", "x", 3);
        if (cache_load(&desk, &files, token_a, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(&desk, chain, prepared));
    }
    __atomic_store_n(&rewriter.is_stopping, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    free(rewriter.bytes[0]);
    free(rewriter.bytes[1]);
    cache_files_close(&rewriter.targets);
    cache_files_close(&files);
    cache_close(&desk);
}

TEST(files_rewritten_while_they_are_saved_give_the_right_model_or_none)
{
    race(LARGE, true, 100);
}
TEST_END

TEST(files_rewritten_while_they_are_loaded_give_the_right_model_or_none)
{
    race(LARGE, false, 100);
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
        prepared = cache_prepare(&desk, SMALL, &files, token_a, &is_cached);
        nn_sys_fault = 0;
        ck_assert(cache_runs(&desk, SMALL, prepared));
        if (cache_load(&desk, &files, token_a, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(&desk, SMALL, prepared));
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
    cache_save(&desk, SMALL, "x", token_a);
    for (unsigned i = 0; i < 200; i++) {
        _cleanup_(freep) uint8_t *bytes = NULL;
        uint64_t prepared;
        size_t n;

        find_map(&desk, path, sizeof(path));
        n = cache_read(path, &bytes);
        if (i % 10 == 0)
            n = random_of(&seed) % n;
        for (unsigned k = 0; n && k < 1 + random_of(&seed) % 8; k++)
            bytes[random_of(&seed) % n] ^= (uint8_t)(1U << random_of(&seed) % 8);
        cache_write(path, bytes, n);
        cache_reopen(&desk, 1000);
        if (cache_try(&desk, "x", token_a, &prepared) == NNHAL_NONE)
            ck_assert(cache_runs(&desk, SMALL, prepared));
        cache_save(&desk, SMALL, "x", token_a);
        ck_assert_uint_eq(cache_try(&desk, "x", token_a, &prepared), NNHAL_NONE);
        ck_assert(cache_runs(&desk, SMALL, prepared));
    }
    cache_close(&desk);
}
TEST_END

CHECK_MAIN("cache", what_was_saved_is_retrieved_and_runs, offsets_and_old_contents_do_not_matter,
           a_file_is_cut_to_what_it_holds, a_wrong_number_of_files_is_no_reason_not_to_prepare,
           a_wrong_number_of_files_is_not_loaded, files_that_cannot_be_written_are_left_alone,
           files_that_cannot_be_read_are_not_loaded, only_ordinary_files_are_used,
           another_models_cache_is_refused, an_older_cache_is_refused,
           each_flipped_bit_and_each_cut_of_a_model_cache_is_refused, random_damage_is_refused,
           another_token_is_refused, another_users_token_is_refused,
           another_version_of_the_driver_starts_with_nothing,
           a_plan_for_another_processor_is_refused,
           a_plan_that_the_configuration_forbids_is_refused, without_a_token_nothing_is_cached,
           a_driver_without_a_cache_prepares_and_has_nothing_to_load,
           requests_are_judged_as_for_a_compiled_model, a_model_with_open_shapes_is_kept,
           files_rewritten_while_they_are_saved_give_the_right_model_or_none,
           files_rewritten_while_they_are_loaded_give_the_right_model_or_none,
           a_save_that_fails_halfway_costs_nothing_but_the_cache,
           a_damaged_map_forgets_but_does_not_fail)
