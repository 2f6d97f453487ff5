/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation caching as an application sees it: what it saves, what it never costs. */
#include "rt.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t token_a[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
static const uint8_t token_b[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {2};

/* A folder for the entries and one for what the driver remembers. */
static char root[64], folder[80];

/* Shared with child processes. */
static struct {
    _Atomic uint32_t n_compiled, n_from_cache;
} * counts;

/* -- the driver: one model file, one data file --------------------------------------- */

static char kept_model[] = "a plan", kept_data[] = "weights";
static bool keeps_nothing;

static void hand_over(const struct nnhal_prepare *prepare)
{
    counts->n_compiled++;
    if (!prepare->cache || keeps_nothing)
        return;
    prepare->cache->model_files[0] = (struct nnhal_cache_buffer){kept_model, sizeof(kept_model)};
    prepare->cache->data_files[0] = (struct nnhal_cache_buffer){kept_data, sizeof(kept_data)};
}

static uint32_t prepare_from_cache(void *device, const struct nnhal_prepare_from_cache *prepare,
                                   void **ret_prepared)
{
    ck_assert_str_eq(prepare->cache->model_files[0].bytes, kept_model);
    ck_assert_str_eq(prepare->cache->data_files[0].bytes, kept_data);
    counts->n_from_cache++;
    fake.n_prepared++;
    *ret_prepared = malloc(1);
    return NNHAL_NONE;
}

static void caching_init(void)
{
    const char *parent = getenv("TMPDIR");

    rt_init();
    counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(counts, MAP_FAILED);
    snprintf(root, sizeof(root), "%.36s/nnhal-caching-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(folder, sizeof(folder), "%s/entries", root);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    setenv("NNHAL_STATE_PATH", root, 1);
    keeps_nothing = false;
    fake.on_prepare = hand_over;
    fake.driver.n_model_cache_files = 1;
    fake.driver.n_data_cache_files = 1;
    fake.driver.prepare_from_cache = prepare_from_cache;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

static void caching_done(void)
{
    ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* -- compilations ------------------------------------------------------------------------ */

static void compute(ANeuralNetworksCompilation *compilation)
{
    ANeuralNetworksExecution *execution;
    float x[4] = {1, 2, 3, 4}, y[4] = {0}, z[4] = {0};

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setInput(execution, 1, NULL, y, sizeof(y)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(z, x, sizeof(z));
    ANeuralNetworksExecution_free(execution);
}

struct how {
    int32_t operation;
    int32_t preference;
    const char *path;
    const uint8_t *token;
};

#define USUAL                                                                                      \
    ((struct how){ANEURALNETWORKS_ADD, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, folder, token_a})

/* Compiles, computes, frees. Returns: the outcome, with its sentence. */
static uint32_t compile(struct how how, char why[256])
{
    const ANeuralNetworksDevice *device = RT_FAKE;
    struct nnhal_cache_info info = {.size = sizeof(info)};
    ANeuralNetworksModel *model = rt_model_of(how.operation, 4);
    ANeuralNetworksCompilation *compilation;

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_setPreference(compilation, how.preference));
    if (how.path)
        OK(ANeuralNetworksCompilation_setCaching(compilation, how.path, how.token));
    BAD_STATE(nnhal_compilation_get_cache_info(compilation, &info));
    OK(ANeuralNetworksCompilation_finish(compilation));
    BAD_STATE(ANeuralNetworksCompilation_setCaching(compilation, folder, token_a));
    OK(nnhal_compilation_get_cache_info(compilation, &info));
    ck_assert_int_eq(info.outcome == NNHAL_CACHE_NONE, info.why[0] == '\0');
    snprintf(why, 256, "%s", info.why);
    compute(compilation);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return info.outcome;
}

#define EXPECT(wanted, how)                                                                        \
    do {                                                                                           \
        char why_[256];                                                                            \
        uint32_t outcome_ = compile((how), why_);                                                  \
                                                                                                   \
        ck_assert_msg(outcome_ == (wanted), "outcome %u: %s", outcome_, why_);                     \
    } while (0)

/* Files in the folder but the lock; the last one's path. */
static unsigned list(char *path, size_t n_bytes)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    unsigned n = 0;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lock"))
            continue;
        n++;
        if (path)
            snprintf(path, n_bytes, "%s/%s", folder, entry->d_name);
    }
    closedir(dir);
    return n;
}

/* -- what it saves -------------------------------------------------------------------------- */

TEST(the_second_compilation_is_a_hit)
{
    caching_init();
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    ck_assert_uint_eq(list(NULL, 0), 2);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    ck_assert_uint_eq(counts->n_compiled, 1);
    ck_assert_uint_eq(counts->n_from_cache, 2);
    caching_done();
}
TEST_END

TEST(whatever_decides_the_result_is_in_the_key)
{
    struct how how = USUAL;

    caching_init();
    how.path = folder;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    how.token = token_b;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    how.preference = ANEURALNETWORKS_PREFER_LOW_POWER;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    how.operation = ANEURALNETWORKS_MUL;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    ck_assert_uint_eq(list(NULL, 0), 8);
    EXPECT(NNHAL_CACHE_HIT, how);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_done();
}
TEST_END

TEST(without_setCaching_there_is_no_cache)
{
    struct how how = USUAL;

    caching_init();
    how.path = NULL;
    EXPECT(NNHAL_CACHE_NONE, how);
    EXPECT(NNHAL_CACHE_NONE, how);
    ck_assert_uint_eq(counts->n_compiled, 2);
    caching_done();
}
TEST_END

/* -- what it never costs ----------------------------------------------------------------------- */

TEST(a_damaged_entry_is_compiled_again)
{
    char path[512];

    caching_init();
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    for (int i = 0; i < 4; i++) {
        list(path, sizeof(path));
        if (i < 3)
            ck_assert_int_eq(truncate(path, i), 0);
        else
            ck_assert_int_eq(unlink(path), 0);
        EXPECT(NNHAL_CACHE_COMPILED, USUAL);
        EXPECT(NNHAL_CACHE_HIT, USUAL);
    }
    caching_done();
}
TEST_END

TEST(a_folder_that_cannot_be_used_costs_only_the_cache)
{
    struct how how = USUAL;
    char path[128];
    int fd;

    caching_init();
    how.path = "/nowhere/at/all";
    EXPECT(NNHAL_CACHE_UNCACHED, how);
    snprintf(path, sizeof(path), "%s/file", root);
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    how.path = path;
    EXPECT(NNHAL_CACHE_UNCACHED, how);
    /* The lock is a link to somewhere else. */
    snprintf(path, sizeof(path), "%s/lock", folder);
    ck_assert_int_eq(symlink("../file", path), 0);
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    ck_assert_uint_eq(list(NULL, 0), 0);
    caching_done();
}
TEST_END

/* A link where a file of an entry should be is not followed, but replaced. */
TEST(links_in_place_of_files_are_not_followed)
{
    char path[512], target[128];
    struct stat status;
    int fd;

    caching_init();
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    snprintf(target, sizeof(target), "%s/precious", root);
    fd = open(target, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, "keep", 4), 4);
    close(fd);
    list(path, sizeof(path));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    ck_assert_int_eq(stat(target, &status), 0);
    ck_assert_int_eq(status.st_size, 4);
    caching_done();
}
TEST_END

TEST(a_driver_that_keeps_nothing_leaves_nothing)
{
    caching_init();
    keeps_nothing = true;
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    ck_assert_uint_eq(list(NULL, 0), 0);
    caching_done();
}
TEST_END

TEST(a_driver_without_a_cache_compiles)
{
    caching_init();
    fake.driver.n_model_cache_files = fake.driver.n_data_cache_files = 0;
    fake.driver.prepare_from_cache = NULL;
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    ck_assert_uint_eq(list(NULL, 0), 0);
    caching_done();
}
TEST_END

TEST(a_model_that_cannot_be_prepared_fails_as_without_a_cache)
{
    const ANeuralNetworksDevice *device;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    caching_init();
    device = RT_FAKE;
    model = rt_model();
    fake.prepare_status = NNHAL_GENERAL_FAILURE;
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_setCaching(compilation, folder, token_a));
    FAILS(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ck_assert_uint_eq(list(NULL, 0), 0);
    caching_done();
}
TEST_END

/* -- at the same time ----------------------------------------------------------------------------- */

TEST(eight_processes_compile_once)
{
    enum { N = 8 };
    pid_t children[N];
    int gate[2], status;
    char byte = 0;

    caching_init();
    ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i] == 0) {
            char why[256];
            uint32_t outcome;

            close(gate[1]);
            if (read(gate[0], &byte, 1) != 0) /* all begin when the parent closes its end */
                _exit(2);
            outcome = compile(USUAL, why);
            _exit(outcome == NNHAL_CACHE_HIT || outcome == NNHAL_CACHE_COMPILED ? 0 : 1);
        }
    }
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert(WIFEXITED(status));
        ck_assert_int_eq(WEXITSTATUS(status), 0);
    }
    ck_assert_uint_eq(counts->n_compiled, 1);
    ck_assert_uint_eq(counts->n_from_cache, N - 1);
    ck_assert_uint_eq(list(NULL, 0), 2);
    caching_done();
}
TEST_END

CHECK_MAIN("caching", the_second_compilation_is_a_hit, whatever_decides_the_result_is_in_the_key,
           without_setCaching_there_is_no_cache, a_damaged_entry_is_compiled_again,
           a_folder_that_cannot_be_used_costs_only_the_cache,
           links_in_place_of_files_are_not_followed, a_driver_that_keeps_nothing_leaves_nothing,
           a_driver_without_a_cache_compiles,
           a_model_that_cannot_be_prepared_fails_as_without_a_cache, eight_processes_compile_once)
