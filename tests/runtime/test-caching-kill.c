/* SPDX-License-Identifier: Apache-2.0 */
/* A process that dies while it saves, and the order in which it saves: each call
 * at the seam of base/sys.c is a moment at which it may end. */
#include "caching.h"

#include "base/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CALLS = 400, DATA_BYTES = 200000 };

/* -- every call is seen ------------------------------------------------------------------ */

/* The calls so far, a letter each, repetitions left out. */
static char calls[MOST_CALLS];
static unsigned n_calls, last_call;

/* The n_calls-th call is not made: the process ends there. */
static void note_call(char letter)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t n;

    pthread_mutex_lock(&lock);
    n = strlen(calls);
    if (++n_calls == last_call)
        raise(SIGKILL);
    if (letter && (n == 0 || calls[n - 1] != letter) && n + 1 < sizeof(calls))
        calls[n] = letter;
    pthread_mutex_unlock(&lock);
}

static bool is_token_map(int fd)
{
    char link[32], path[512];
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    return strstr(path, "/tokens-") != NULL;
}

static void on_sys_call(const char *call, int fd)
{
    static const char *const names[] = {"pwrite", "ftruncate", "fdatasync", "renameat"};
    char letter = '\0';

    for (unsigned i = 0; i < 4; i++)
        if (strcmp(call, names[i]) == 0)
            letter = i < 2 && is_token_map(fd) ? 'M' : "wtsr"[i];
    note_call(letter);
}

static void watch_calls(unsigned last)
{
    memset(calls, 0, sizeof(calls));
    n_calls = 0;
    last_call = last;
    nn_sys_observer = on_sys_call;
    nn_sys_fault = LONG_MAX;
}

static void unwatch_calls(void)
{
    nn_sys_fault = 0;
    nn_sys_observer = NULL;
    last_call = 0;
}

/* -- the order ------------------------------------------------------------------------------ */

static unsigned find_call(char letter)
{
    const char *at = strchr(calls, letter);

    ck_assert_msg(at, "no %c in %s", letter, calls);
    return (unsigned)(at - calls);
}

/* What the driver remembers is in its map before a byte of a file is written; files are whole and
 * on the disk before they get their names. At last comes a note for people (cache/history.h). */
TEST(the_map_comes_first_and_the_names_last)
{
    char path[512];

    caching_init(DATA_BYTES);
    watch_calls(0);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    unwatch_calls();
    ck_assert_str_eq(calls + find_call('w'), "wtwtsrw");
    ck_assert_uint_lt(find_call('M'), find_call('w'));
    /* And once more over what is there. */
    caching_path("-m0", path, sizeof(path));
    ck_assert_int_eq(truncate(path, 3), 0);
    watch_calls(0);
    EXPECT(NNHAL_CACHE_COMPILED, USUAL);
    unwatch_calls();
    ck_assert_str_eq(calls, "Mwtwtsrw");
    caching_done();
}
TEST_END

/* -- death ------------------------------------------------------------------------------------ */

static int save_and_die(void *ctx)
{
    char why[256];

    watch_calls(*(const unsigned *)ctx);
    caching_compile(USUAL, why);
    return n_calls >= *(const unsigned *)ctx ? 2 : 0; /* 0: there are no more calls */
}

/* The next start, and the one after it. */
static int start_again(void *ctx)
{
    char why[256];
    uint32_t outcome = caching_compile(USUAL, why);

    if (outcome != NNHAL_CACHE_HIT && outcome != NNHAL_CACHE_COMPILED)
        return 1;
    return caching_compile(USUAL, why) == NNHAL_CACHE_HIT ? 0 : 2;
}

static void spoil_entry(void)
{
    char path[512];

    caching_path("-m0", path, sizeof(path));
    ck_assert_int_eq(truncate(path, 100), 0);
}

/* Ends a save before its n-th call, for each n: with a folder and a map that are empty, or that
 * hold an entry that has to be replaced. Returns: how many calls there are. */
static unsigned die_everywhere(bool is_replaced)
{
    unsigned n = 0;
    int status;

    do {
        caching_init(DATA_BYTES);
        if (is_replaced) {
            status = caching_in_child(start_again, NULL);
            ck_assert_int_eq(status, 0);
            spoil_entry();
        }
        n++;
        status = caching_in_child(save_and_die, &n);
        ck_assert_msg(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : status == 0,
                      "call %u: status %x", n, status);
        ck_assert_msg(caching_in_child(start_again, NULL) == 0, "after call %u", n);
        caching_done();
        ck_assert_uint_lt(n, MOST_CALLS);
    } while (WIFSIGNALED(status));
    return n - 1;
}

TEST(a_first_save_may_end_at_any_call)
{
    ck_assert_uint_gt(die_everywhere(false), 15);
}
TEST_END

TEST(a_save_over_an_entry_may_end_at_any_call)
{
    ck_assert_uint_gt(die_everywhere(true), 10);
}
TEST_END

CHECK_MAIN("caching-kill", the_map_comes_first_and_the_names_last, a_first_save_may_end_at_any_call,
           a_save_over_an_entry_may_end_at_any_call)
