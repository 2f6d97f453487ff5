/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation caching as an application sees it: what it saves, what it never costs. */
#include "caching.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DATA_BYTES = 4096 };

/* -- what it saves -------------------------------------------------------------------------- */

TEST(the_second_compilation_is_a_hit)
{
    caching_init(DATA_BYTES);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    ck_assert_uint_eq(caching_list(NULL, 0), 2);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    ck_assert_uint_eq(caching_counts->n_from_cache, 2);
    caching_done();
}
TEST_END

TEST(everything_that_decides_the_result_is_in_the_key)
{
    struct how how = USUAL;

    caching_init(DATA_BYTES);
    how.path = caching_folder;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    how.token = token_b;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    how.preference = ANEURALNETWORKS_PREFER_LOW_POWER;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    how.operation = ANEURALNETWORKS_MUL;
    EXPECT(NNHAL_CACHE_COMPILED, how);
    ck_assert_uint_eq(caching_list(NULL, 0), 8);
    EXPECT(NNHAL_CACHE_HIT, how);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_done();
}
TEST_END

TEST(without_setCaching_there_is_no_cache)
{
    struct how how = USUAL;

    caching_init(DATA_BYTES);
    how.path = NULL;
    EXPECT(NNHAL_CACHE_NONE, how);
    EXPECT(NNHAL_CACHE_NONE, how);
    ck_assert_uint_eq(caching_counts->n_compiled, 2);
    caching_done();
}
TEST_END

/* -- what it never costs ----------------------------------------------------------------------- */

/* Damages a file in its i-th way: a flipped bit, a piece missing, bytes too many, nothing left, or
 * no file at all. */
static void damage_file(const char *path, unsigned i)
{
    struct stat status;
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t at;

    ck_assert_int_eq(fstat(fd, &status), 0);
    at = (off_t)(i * 2654435761U) % status.st_size;
    switch (i % 5) {
    case 0:
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= (uint8_t)(1 << i / 5 % 8);
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        break;
    case 1:
        ck_assert_int_eq(ftruncate(fd, at), 0);
        break;
    case 2:
        ck_assert_int_eq(ftruncate(fd, status.st_size + 1 + i), 0);
        break;
    case 3:
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        break;
    default:
        ck_assert_int_eq(unlink(path), 0);
    }
    close(fd);
}

TEST(a_damaged_entry_is_compiled_again)
{
    char path[512];

    caching_init(DATA_BYTES);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    for (unsigned i = 0; i < 60; i++) {
        caching_path(i % 2 ? "-d0" : "-m0", path, sizeof(path));
        damage_file(path, i / 2);
        EXPECT(NNHAL_CACHE_COMPILED, USUAL);
        EXPECT(NNHAL_CACHE_HIT, USUAL);
    }
    caching_done();
}
TEST_END

/* The files of one compilation under the names of another's: one, the other, both. */
TEST(swapped_files_are_compiled_again)
{
    static const char *const ends[] = {"-m0", "-d0"};
    char theirs[2][512], aside[2][128], mine[512];
    struct how other = USUAL;

    caching_init(DATA_BYTES);
    other.path = caching_folder;
    other.operation = ANEURALNETWORKS_MUL;
    EXPECT(NNHAL_CACHE_COMPILED, other);
    for (int i = 0; i < 2; i++)
        caching_path(ends[i], theirs[i], sizeof(theirs[i]));
    for (int i = 0; i < 2; i++) {
        snprintf(aside[i], sizeof(aside[i]), "%s/theirs%s", caching_root, ends[i]);
        ck_assert_int_eq(rename(theirs[i], aside[i]), 0);
    }
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    for (unsigned swapped = 1; swapped < 4; swapped++) {
        for (unsigned i = 0; i < 2; i++) {
            caching_path(ends[i], mine, sizeof(mine));
            ck_assert_int_eq(swapped >> i & 1 ? unlink(mine) | link(aside[i], mine) : 0, 0);
        }
        EXPECT(NNHAL_CACHE_COMPILED, USUAL);
        EXPECT(NNHAL_CACHE_HIT, USUAL);
    }
    /* Where they belong they are good. */
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(rename(aside[i], theirs[i]), 0);
    EXPECT(NNHAL_CACHE_HIT, other);
    caching_done();
}
TEST_END

TEST(a_folder_that_cannot_be_used_costs_only_the_cache)
{
    struct how how = USUAL;
    char path[128];
    int fd;

    caching_init(DATA_BYTES);
    how.path = "/nowhere/at/all";
    EXPECT(NNHAL_CACHE_UNCACHED, how);
    snprintf(path, sizeof(path), "%s/file", caching_root);
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    how.path = path;
    EXPECT(NNHAL_CACHE_UNCACHED, how);
    /* The lock is a link to somewhere else. */
    snprintf(path, sizeof(path), "%s/lock", caching_folder);
    ck_assert_int_eq(symlink("../file", path), 0);
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    ck_assert_uint_eq(caching_list(NULL, 0), 0);
    caching_done();
}
TEST_END

/* A link where a file of an entry should be is not followed, but replaced. */
TEST(links_in_place_of_files_are_not_followed)
{
    char path[512], target[128];
    struct stat status;
    int fd;

    caching_init(DATA_BYTES);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    snprintf(target, sizeof(target), "%s/precious", caching_root);
    fd = open(target, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, "keep", 4), 4);
    close(fd);
    caching_list(path, sizeof(path));
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
    caching_init(DATA_BYTES);
    caching_keeps_nothing = true;
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    ck_assert_uint_eq(caching_list(NULL, 0), 0);
    caching_done();
}
TEST_END

TEST(a_driver_without_a_cache_compiles)
{
    caching_init(DATA_BYTES);
    fake.driver.n_model_cache_files = fake.driver.n_data_cache_files = 0;
    fake.driver.prepare_from_cache = NULL;
    EXPECT(NNHAL_CACHE_UNCACHED, USUAL);
    ck_assert_uint_eq(caching_list(NULL, 0), 0);
    caching_done();
}
TEST_END

TEST(a_model_that_cannot_be_prepared_fails_as_without_a_cache)
{
    const ANeuralNetworksDevice *device;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    caching_init(DATA_BYTES);
    device = RT_FAKE;
    model = rt_model();
    fake.prepare_status = NNHAL_GENERAL_FAILURE;
    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_setCaching(compilation, caching_folder, token_a));
    FAILS(ANeuralNetworksCompilation_finish(compilation));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ck_assert_uint_eq(caching_list(NULL, 0), 0);
    caching_done();
}
TEST_END

/* -- at the same time ----------------------------------------------------------------------------- */

/* All begin when the gate's writing end is closed. */
static int compile_behind_gate(void *ctx)
{
    const int *gate = ctx;
    char byte, why[256];
    uint32_t outcome;

    close(gate[1]);
    if (read(gate[0], &byte, 1) != 0)
        return 2;
    outcome = caching_compile(USUAL, why);
    return outcome == NNHAL_CACHE_HIT || outcome == NNHAL_CACHE_COMPILED ? 0 : 1;
}

TEST(eight_processes_compile_once)
{
    enum { N = 8 };
    pid_t children[N];
    int gate[2], status;

    caching_init(DATA_BYTES);
    ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
    for (int i = 0; i < N; i++)
        children[i] = caching_start(compile_behind_gate, gate);
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(waitpid(children[i], &status, 0), children[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    ck_assert_uint_eq(caching_counts->n_from_cache, N - 1);
    ck_assert_uint_eq(caching_list(NULL, 0), 2);
    EXPECT(NNHAL_CACHE_HIT, USUAL); /* the files are whole */
    caching_done();
}
TEST_END

/* Another compilation takes place between the look for the entry and the lock. */
static bool is_overtaken;

static int open_late(int dir_fd, const char *path, int flags, unsigned mode)
{
    int fd;

    if (is_overtaken && strcmp(path, "lock") == 0) {
        is_overtaken = false;
        EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    }
    fd = openat(dir_fd, path, flags | O_CLOEXEC, mode);
    return fd < 0 ? -errno : fd;
}

TEST(an_entry_that_appears_before_the_lock_is_taken)
{
    const struct nn_sys_fakes fakes = {.openat = open_late};
    char path[512];

    caching_init(DATA_BYTES);
    nn_sys_fakes = &fakes;
    is_overtaken = true;
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    /* The same when there is an entry, which both find damaged. */
    caching_path("-m0", path, sizeof(path));
    damage_file(path, 0);
    is_overtaken = true;
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    ck_assert_uint_eq(caching_counts->n_compiled, 2);
    nn_sys_fakes = NULL;
    caching_done();
}
TEST_END

/* A driver that takes long, and says when it has begun. */
static int begun[2];

static void take_long(void)
{
    ck_assert_int_eq(write(begun[1], "x", 1), 1);
    sleep(600);
}

static int compile_slowly(void *ctx)
{
    char why[256];

    caching_on_prepare = take_long;
    return (int)caching_compile(USUAL, why);
}

/* Only half of the time that is left is spent on waiting for another process. */
TEST(a_process_that_compiles_for_ever_is_not_waited_for)
{
    struct how hurried = USUAL;
    char byte, why[256];
    pid_t slow;

    caching_init(DATA_BYTES);
    hurried.timeout_ns = UINT64_C(4000000000);
    ck_assert_int_eq(pipe2(begun, O_CLOEXEC), 0);
    slow = caching_start(compile_slowly, NULL);
    ck_assert_int_eq(read(begun[0], &byte, 1), 1);
    ck_assert_uint_eq(caching_compile(hurried, why), NNHAL_CACHE_UNCACHED);
    ck_assert_msg(strstr(why, "another process"), "%s", why);
    /* It dies: its lock goes with it. */
    ck_assert_int_eq(kill(slow, SIGKILL), 0);
    ck_assert_int_eq(waitpid(slow, NULL, 0), slow);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_done();
}
TEST_END

CHECK_MAIN("caching", the_second_compilation_is_a_hit,
           everything_that_decides_the_result_is_in_the_key, without_setCaching_there_is_no_cache,
           a_damaged_entry_is_compiled_again, swapped_files_are_compiled_again,
           a_folder_that_cannot_be_used_costs_only_the_cache,
           links_in_place_of_files_are_not_followed, a_driver_that_keeps_nothing_leaves_nothing,
           a_driver_without_a_cache_compiles,
           a_model_that_cannot_be_prepared_fails_as_without_a_cache, eight_processes_compile_once,
           an_entry_that_appears_before_the_lock_is_taken,
           a_process_that_compiles_for_ever_is_not_waited_for)
