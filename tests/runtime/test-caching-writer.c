/* SPDX-License-Identifier: Apache-2.0 */
/* What is left to do when finish() has returned: the thread that brings an entry to the disk, and
 * everything that waits for it. The disk is a gate: a sync waits until the test opens it. */
#include "caching.h"

#include "base/sys.h"

#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DATA_BYTES = 4096, N_SYNCS = 2 };

static sem_t gate;
static bool is_gated;

/* What was synced and renamed, in order: "d0 m0 r r ". */
static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
static char order[128];

static void note_order(const char *call, int fd)
{
    char link[64], name[512] = "";
    const char *at;
    ssize_t n;

    if (strcmp(call, "renameat") == 0)
        strcat(order, "r ");
    if (strcmp(call, "fdatasync") != 0)
        return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, name, sizeof(name) - 1);
    ck_assert_int_gt(n, 0);
    at = strstr(name, ".tmp") ? strrchr(name, '-') : NULL;
    ck_assert_msg(at, "%s was synced under its name", name);
    snprintf(order + strlen(order), sizeof(order) - strlen(order), "%.2s ", at + 1);
}

static void on_sys_call(const char *call, int fd)
{
    pthread_mutex_lock(&order_lock);
    note_order(call, fd);
    pthread_mutex_unlock(&order_lock);
    if (strcmp(call, "fdatasync") == 0 && __atomic_load_n(&is_gated, __ATOMIC_ACQUIRE))
        while (sem_wait(&gate) != 0)
            continue;
}

static void close_gate(void)
{
    ck_assert_int_eq(sem_init(&gate, 0, 0), 0);
    __atomic_store_n(&is_gated, true, __ATOMIC_RELEASE);
    nn_sys_observer = on_sys_call;
    nn_sys_fault = LONG_MAX;
}

static void open_gate(void)
{
    __atomic_store_n(&is_gated, false, __ATOMIC_RELEASE);
    for (int i = 0; i < N_SYNCS; i++)
        sem_post(&gate);
}

static void compile_gated(void)
{
    char why[256];
    uint32_t outcome;

    close_gate();
    outcome = caching_compile_unsettled(USUAL, why);
    ck_assert_msg(outcome == NNHAL_CACHE_COMPILED, "outcome %u: %s", outcome, why);
}

TEST(finish_does_not_wait_for_the_disk)
{
    char path[512];

    caching_init(DATA_BYTES);
    compile_gated(); /* and computes, and frees */
    ck_assert_uint_eq(caching_list(path, sizeof(path)), 2);
    ck_assert_msg(strstr(path, ".tmp"), "%s has its name already", path);
    open_gate();
    caching_settle(caching_folder);
    pthread_mutex_lock(&order_lock);
    ck_assert_str_eq(order, "d0 m0 r r ");
    pthread_mutex_unlock(&order_lock);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_done();
}
TEST_END

static void *compile_again(void *outcome)
{
    char why[256];

    *(uint32_t *)outcome = caching_compile_unsettled(USUAL, why);
    return NULL;
}

TEST(a_second_compilation_waits_for_the_writer)
{
    pthread_t thread;
    uint32_t outcome;

    caching_init(DATA_BYTES);
    compile_gated();
    ck_assert_int_eq(pthread_create(&thread, NULL, compile_again, &outcome), 0);
    open_gate();
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(outcome, NNHAL_CACHE_HIT);
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    caching_done();
}
TEST_END

/* The parent's entry is not the child's: it neither removes it nor keeps it locked. */
TEST(a_forked_child_leaves_the_entry_alone)
{
    pid_t child;

    caching_init(DATA_BYTES);
    compile_gated();
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        for (;;)
            pause();
    open_gate();
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    ck_assert_int_eq(kill(child, SIGKILL), 0);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    caching_done();
}
TEST_END

static void *open_late(void *argument)
{
    const struct timespec nap = {.tv_nsec = 50000000};

    nanosleep(&nap, NULL);
    open_gate();
    return NULL;
}

static int compile_and_exit(void *ctx)
{
    pthread_t thread;

    compile_gated();
    ck_assert_int_eq(pthread_create(&thread, NULL, open_late, NULL), 0);
    pthread_detach(thread);
    exit(0); /* not _exit() */
}

TEST(exit_waits_for_the_writer)
{
    caching_init(DATA_BYTES);
    ck_assert(WIFEXITED(caching_in_child(compile_and_exit, NULL)));
    ck_assert_uint_eq(caching_counts->n_compiled, 1);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_done();
}
TEST_END

/* The next process compiles, and the files without a name do no harm. */
static int compile_and_die(void *ctx)
{
    compile_gated();
    raise(SIGKILL);
    return 0;
}

TEST(a_process_that_is_killed_leaves_no_entry)
{
    caching_init(DATA_BYTES);
    ck_assert(WIFSIGNALED(caching_in_child(compile_and_die, NULL)));
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    EXPECT(NNHAL_CACHE_HIT, USUAL);
    caching_done();
}
TEST_END

CHECK_MAIN("caching-writer", finish_does_not_wait_for_the_disk,
           a_second_compilation_waits_for_the_writer, a_forked_child_leaves_the_entry_alone,
           exit_waits_for_the_writer, a_process_that_is_killed_leaves_no_entry)
