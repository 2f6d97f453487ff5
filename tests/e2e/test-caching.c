/* SPDX-License-Identifier: Apache-2.0 */
/* setCaching() in the three ways: what one process has compiled the next one takes, in whichever
 * process the driver runs; and what is not right any more is compiled again. */
#include "ways.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The application's folder, and what the driver remembers. */
static char root[] = "/tmp/nnhal-caching-XXXXXX", entries[64], state[64];

static void caching_begin(void)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(entries, sizeof(entries), "%s/entries", root);
    snprintf(state, sizeof(state), "%s/state", root);
    ck_assert_int_eq(mkdir(entries, 0700), 0);
    setenv("NNHAL_STATE_PATH", state, 1);
    ways_begin();
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

static void remove_all(const char *path)
{
    ck_assert_int_eq(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void caching_end(void)
{
    ways_end();
    remove_all(root);
}

/* -- processes of an application ------------------------------------------------------------ */

/* Compiles and computes in a process of its own, which begins when the gate is closed. */
static pid_t start_client(const int *gate)
{
    pid_t child = fork();
    char byte;

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct ways_formula formula;
        uint32_t outcome;

        if (gate) {
            close(gate[1]);
            if (read(gate[0], &byte, 1) != 0)
                _exit(100);
        }
        outcome = ways_formula_compile_in(&formula, entries);
        ways_formula_bind(&formula, true);
        for (int i = 0; i < 5; i++)
            OK(ways_formula_run(&formula, i));
        ways_formula_done(&formula);
        exit((int)outcome); /* not _exit(): the entry is brought to the disk in the background */
    }
    return child;
}

/* Returns: the outcome. */
static int wait_for(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int compile_in(void)
{
    return wait_for(start_client(NULL));
}

TEST(what_one_process_compiled_the_next_one_takes)
{
    caching_begin();
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
    caching_end();
}
TEST_END

TEST(of_eight_processes_one_compiles)
{
    enum { N = 8 };
    int gate[2], n_compiled = 0, n_hits = 0;
    pid_t children[N];

    caching_begin();
    ck_assert_int_eq(pipe2(gate, O_CLOEXEC), 0);
    for (int i = 0; i < N; i++)
        children[i] = start_client(gate);
    close(gate[0]);
    close(gate[1]);
    for (int i = 0; i < N; i++) {
        int outcome = wait_for(children[i]);

        n_compiled += outcome == NNHAL_CACHE_COMPILED;
        n_hits += outcome == NNHAL_CACHE_HIT;
    }
    ck_assert_int_eq(n_compiled, 1);
    ck_assert_int_eq(n_hits, N - 1);
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
    caching_end();
}
TEST_END

/* -- what is not right any more ----------------------------------------------------------------- */

/* The path of the entry's file that ends in end. */
static const char *entry_file(const char *end)
{
    static char path[512];
    struct dirent *entry;
    DIR *dir = opendir(entries);

    path[0] = '\0';
    while ((entry = readdir(dir)))
        if (strlen(entry->d_name) > 3 && !strcmp(entry->d_name + strlen(entry->d_name) - 3, end))
            snprintf(path, sizeof(path), "%s/%s", entries, entry->d_name);
    closedir(dir);
    ck_assert_str_ne(path, "");
    return path;
}

TEST(each_changed_byte_is_noticed)
{
    static const char *const ends[] = {"-m0", "-d0"};
    struct stat status;
    uint8_t byte;
    int fd;

    caching_begin();
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    for (unsigned i = 0; i < 24; i++) {
        fd = open(entry_file(ends[i % 2]), O_RDWR | O_CLOEXEC);
        ck_assert_int_eq(fstat(fd, &status), 0);
        if (status.st_size > 0) { /* the formula has no constants of its own */
            off_t at = (off_t)(i * 7919) % status.st_size;

            ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
            byte ^= (uint8_t)(1 << i % 8);
            ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        } else {
            ck_assert_int_eq(ftruncate(fd, 1), 0);
        }
        close(fd);
        ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
        ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
    }
    caching_end();
}
TEST_END

/* A service's sandbox is closed by now: what it remembers is in files that it has open. */
TEST(what_the_driver_remembers_outlives_its_process)
{
    caching_begin();
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    if (ways_is("service")) {
        ways_kill_service(SIGTERM);
        ways_start_service();
        ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
        ways_kill_service(SIGKILL);
        ways_start_service();
    }
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
    caching_end();
}
TEST_END

TEST(what_the_driver_has_forgotten_is_compiled_again)
{
    caching_begin();
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    ways_kill_service(SIGTERM);
    remove_all(state);
    if (ways_is("service"))
        ways_start_service();
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
    caching_end();
}
TEST_END

/* It must not matter to applications that the driver's memory is taken away under it. */
TEST(a_driver_may_lose_its_memory_while_it_runs)
{
    caching_begin();
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    remove_all(state);
    for (int i = 0; i < 3; i++)
        ck_assert_int_ge(compile_in(), NNHAL_CACHE_HIT);
    caching_end();
}
TEST_END

/* -- death while it is saved ------------------------------------------------------------------------ */

static int n_kills(void)
{
    const char *value = getenv("NN_TEST_ROUNDS");

    return value ? atoi(value) : 20;
}

/* An application that gives up when its driver is gone. */
static pid_t start_frail(void)
{
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct ways_formula formula;
        uint32_t outcome;

        ways_formula_try_in(&formula, entries, &outcome);
        _exit(0);
    }
    return child;
}

/* The service dies somewhere in a compilation, or the application does. */
TEST(both_sides_may_die_while_a_model_is_kept)
{
    if (!ways_is("service"))
        return;
    caching_begin();
    setenv("NNHAL_RECOVERY", "off", 1);
    srand((unsigned)getpid());
    ck_assert_int_eq(compile_in(), NNHAL_CACHE_COMPILED);
    for (int i = 0; i < n_kills(); i++) {
        pid_t child;
        int outcome;

        if (i % 4 < 2)
            ck_assert_int_eq(truncate(entry_file("-m0"), 10), 0); /* it has to be compiled again */
        child = start_frail();
        ways_nap((uint64_t)(rand() % 15000000));
        if (i % 2 == 0) {
            ways_kill_service(SIGKILL);
            ways_start_service();
        } else {
            kill(child, SIGKILL);
        }
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
        outcome = compile_in();
        ck_assert_msg(outcome == NNHAL_CACHE_HIT || outcome == NNHAL_CACHE_COMPILED,
                      "seed %d, kill %d: outcome %d", (int)getpid(), i, outcome);
        ck_assert_int_eq(compile_in(), NNHAL_CACHE_HIT);
    }
    caching_end();
}
TEST_END

CHECK_MAIN("caching-" WAY, what_one_process_compiled_the_next_one_takes,
           of_eight_processes_one_compiles, each_changed_byte_is_noticed,
           what_the_driver_remembers_outlives_its_process,
           what_the_driver_has_forgotten_is_compiled_again,
           a_driver_may_lose_its_memory_while_it_runs, both_sides_may_die_while_a_model_is_kept)
