/* SPDX-License-Identifier: Apache-2.0 */
/* A process that uses a store is killed at each of its system calls; several use it at once. */
#include "temp-folder.h"
#include "support/check-main.h"
#include "support/kill-at.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LIMIT = 1 << 20,
    LARGE = 300000,
    SMALL = 1000,
    SYNC_MS = 10,
    N_TURNS = 14,
    N_PROCESSES = 6,
    N_WRITERS = 8,
};

static char path[TEMP_FOLDER_BYTES];
static uint8_t bytes[LARGE], wanted[LARGE];

/* The value of a key in its version: the first byte tells which. */
static int set(struct nnhal_store *store, char key, uint8_t version, size_t n)
{
    make_value((uint32_t)key * 256u + version, wanted, n);
    wanted[0] = version;
    return nnhal_store_set(store, &key, 1, wanted, n);
}

/* Returns: the version that is there, whole; -1 if there is none. */
static int version_of(struct nnhal_store *store, char key)
{
    size_t n = 0;
    int r = nnhal_store_get(store, &key, 1, bytes, sizeof(bytes), &n);

    ck_assert(r == 0 || r == NNHAL_STORE_E_NONE);
    if (r != 0)
        return -1;
    ck_assert(n == LARGE || n == SMALL);
    make_value((uint32_t)key * 256u + bytes[0], wanted, n);
    wanted[0] = bytes[0];
    ck_assert_mem_eq(bytes, wanted, n);
    return bytes[0];
}

static struct nnhal_store *open_store(void)
{
    return temp_folder_open_store(path, LIMIT, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
}

/* -- killed ----------------------------------------------------------------------------- */

struct deed {
    const char *name;
    void (*act)(struct nnhal_store *store);
    bool is_from_opening; /* killed while it opens the store, too */
};

static void set_small(struct nnhal_store *store)
{
    ck_assert_int_eq(set(store, 's', 2, SMALL), 0);
}

static void set_large(struct nnhal_store *store)
{
    ck_assert_int_eq(set(store, 'a', 2, LARGE), 0);
}

/* For which the least recently used one goes. */
static void set_another(struct nnhal_store *store)
{
    ck_assert_int_eq(set(store, 'd', 2, LARGE), 0);
}

static void remove_large(struct nnhal_store *store)
{
    ck_assert_int_eq(nnhal_store_remove(store, "a", 1), 0);
}

static void clear(struct nnhal_store *store)
{
    ck_assert_int_eq(nnhal_store_clear(store), 0);
}

static void get(struct nnhal_store *store)
{
    ck_assert_int_eq(version_of(store, 'a'), 1);
}

static void prepare(void)
{
    struct nnhal_store *store;

    temp_folder_new(path);
    store = open_store();
    for (char key = 'a'; key < 'd'; key++)
        ck_assert_int_eq(set(store, key, 1, LARGE), 0);
    ck_assert_int_eq(set(store, 's', 1, SMALL), 0);
    ck_assert_int_ge(version_of(store, 'a'), 1);
    nnhal_store_close(store);
}

/* In a child. Returns: whether it was killed; *ret_is_done: the deed had returned by then. */
static bool do_and_die(const struct deed *deed, long at, bool *ret_is_done)
{
    int ends[2], status;
    char done = 0;
    pid_t pid;

    ck_assert_int_eq(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        struct nnhal_store *store;

        kill_at = deed->is_from_opening ? at : 0;
        store = open_store();
        kill_at = deed->is_from_opening ? kill_at : at;
        deed->act(store);
        if (write(ends[1], "!", 1) != 1)
            _exit(1);
        nnhal_store_close(store);
        kill_at = 0;
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    *ret_is_done = read(ends[0], &done, 1) == 1;
    close(ends[0]);
    ck_assert_msg(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : status == 0,
                  "%s, call %ld: the child ended with %d", deed->name, at, status);
    return WIFSIGNALED(status);
}

static int count_bad(void *ctx, const struct nnhal_store_entry *entry)
{
    *(int *)ctx += (int)entry->is_damaged;
    return 0;
}

static int count_files(void *ctx, const struct nnhal_store_entry *entry)
{
    *(size_t *)ctx += entry->file != 0;
    return 0;
}

static size_t files_there(void)
{
    char **names;
    size_t n = temp_folder_list(path, &names), n_values = 0;

    for (size_t i = 0; i < n; i++)
        n_values += strncmp(names[i], "v-", 2) == 0;
    temp_folder_list_done(names, n);
    return n_values;
}

/* What the next process finds. */
static void judge(const struct deed *deed, bool is_done)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store = open_store();
    size_t n_files = 0;
    int n_bad = 0, version;

    ck_assert_int_eq(nnhal_store_verify(store, count_bad, &n_bad), 0);
    ck_assert_int_eq(n_bad, 0);
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_damaged, 0);
    ck_assert_int_eq(nnhal_store_list(store, count_files, &n_files), 0);
    ck_assert_uint_eq(n_files, files_there());
    ck_assert_uint_le(temp_folder_disk_bytes(path), LIMIT);

    version = version_of(store, 's');
    if (deed->act == set_small)
        ck_assert_int_ge(version, is_done ? 2 : 1);
    else if (deed->act == clear)
        ck_assert_int_eq(version, is_done ? -1 : version);
    else
        ck_assert_int_eq(version, 1);
    version = version_of(store, 'a');
    if (deed->act == set_large && is_done)
        ck_assert_int_eq(version, 2);
    if (deed->act == remove_large && is_done)
        ck_assert_int_eq(version, -1);
    if (deed->act == set_another && is_done)
        ck_assert_int_eq(version_of(store, 'd'), 2);
    ck_assert_int_eq(set(store, 'e', 3, LARGE), 0);
    ck_assert_int_eq(version_of(store, 'e'), 3);
    nnhal_store_close(store);
}

/* The child is killed at its first system call, then at its second, until it is killed no more. A write
 * that is the last call is cut in half or not: both if rounds are asked for, else in turn. */
static void kill_at_each_call(const struct deed *deed)
{
    bool are_both = getenv("NN_TEST_ROUNDS") != NULL, is_killed = true, is_done;
    long at = 0;

    while (is_killed) {
        at++;
        for (int half = 0; half < 2; half++) {
            if (!are_both && half != at % 2)
                continue;
            kill_at_half = half;
            prepare();
            is_killed = do_and_die(deed, at, &is_done);
            judge(deed, is_done);
            temp_folder_free(path);
        }
    }
    printf("%s: %ld system calls\n", deed->name, at - 1);
    ck_assert_int_gt(at, 5);
}

TEST(killed_while_a_small_value_is_replaced)
{
    kill_at_each_call(&(struct deed){"replace a small value", set_small, false});
}
TEST_END

TEST(killed_while_a_large_value_is_replaced)
{
    kill_at_each_call(&(struct deed){"replace a large value", set_large, false});
}
TEST_END

TEST(killed_while_a_value_is_set_for_which_another_goes)
{
    kill_at_each_call(
        &(struct deed){"set a large value for which another goes", set_another, true});
}
TEST_END

TEST(killed_while_a_value_is_removed)
{
    kill_at_each_call(&(struct deed){"remove", remove_large, false});
}
TEST_END

TEST(killed_while_all_is_cleared)
{
    kill_at_each_call(&(struct deed){"clear", clear, false});
}
TEST_END

TEST(killed_while_a_store_is_opened_and_read)
{
    kill_at_each_call(&(struct deed){"open, get and close", get, true});
}
TEST_END

/* -- several at once --------------------------------------------------------------------- */

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void use_at_random(uint32_t seed, unsigned n_steps)
{
    struct nnhal_store *store = open_store();
    uint32_t state = seed;

    for (unsigned i = 0; i < n_steps; i++) {
        char key = (char)('a' + next(&state) % 8);
        uint32_t what = next(&state) % 100;

        if (what < 40) {
            version_of(store, key);
        } else if (what < 85) {
            ck_assert_int_eq(set(store, key, (uint8_t)next(&state), what < 60 ? LARGE : SMALL), 0);
        } else if (what < 95) {
            int r = nnhal_store_remove(store, &key, 1);

            ck_assert(r == 0 || r == NNHAL_STORE_E_NONE);
        } else {
            nnhal_store_close(store);
            store = open_store();
        }
    }
    nnhal_store_close(store);
}

static unsigned rounds(void)
{
    const char *text = getenv("NN_TEST_ROUNDS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

/* Some of them are killed now and then. */
static void run_processes(uint32_t seed, bool are_killed)
{
    pid_t pids[N_PROCESSES];
    int status;

    for (uint32_t i = 0; i < N_PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            kill_at = are_killed && i % 2 ? 50 + (long)(seed * 7919 + i * 104729) % 2000 : 0;
            use_at_random(seed * N_PROCESSES + i, 60);
            kill_at = 0;
            _exit(0);
        }
    }
    for (uint32_t i = 0; i < N_PROCESSES; i++) {
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert(status == 0 || (are_killed && WIFSIGNALED(status)));
    }
}

static void judge_all(void)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store = open_store();
    size_t n_files = 0;
    int n_bad = 0;

    ck_assert_int_eq(nnhal_store_verify(store, count_bad, &n_bad), 0);
    ck_assert_int_eq(n_bad, 0);
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_damaged, 0);
    ck_assert_uint_le(stats.n_bytes, LIMIT);
    ck_assert_int_eq(nnhal_store_list(store, count_files, &n_files), 0);
    ck_assert_uint_eq(n_files, files_there());
    nnhal_store_close(store);
}

TEST(several_processes_at_once)
{
    for (uint32_t round = 0; round < rounds(); round++) {
        temp_folder_new(path);
        run_processes(round, false);
        judge_all();
        temp_folder_free(path);
    }
}
TEST_END

TEST(several_processes_of_which_some_are_killed)
{
    for (uint32_t round = 0; round < 2 * rounds(); round++) {
        temp_folder_new(path);
        run_processes(round, true);
        judge_all();
        temp_folder_free(path);
    }
}
TEST_END

/* Returns: in how many of its turns a writer found the database taken. */
static int write_turns(char key)
{
    struct nnhal_store *store = open_store();
    int n_busy = 0;

    kill_at_sync_ms = SYNC_MS;
    for (unsigned i = 0; i < N_TURNS; i++) {
        int r = set(store, key, (uint8_t)i, SMALL);

        ck_assert(r == 0 || r == -EBUSY);
        n_busy += r != 0;
    }
    nnhal_store_close(store);
    return n_busy;
}

/* One that writes again at once must not always be before those that look now and then: all of them
 * together take longer than any waits. */
TEST(writers_take_turns)
{
    int status, n_busy = 0;

    temp_folder_new(path);
    nnhal_store_close(open_store());
    for (char i = 0; i < N_WRITERS; i++)
        if (fork() == 0)
            _exit(write_turns((char)('a' + i)));
    for (int i = 0; i < N_WRITERS; i++) {
        wait(&status);
        ck_assert(WIFEXITED(status));
        n_busy += WEXITSTATUS(status);
    }
    ck_assert_int_eq(n_busy, 0);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("store-kill", killed_while_a_small_value_is_replaced,
           killed_while_a_large_value_is_replaced,
           killed_while_a_value_is_set_for_which_another_goes, killed_while_a_value_is_removed,
           killed_while_all_is_cleared, killed_while_a_store_is_opened_and_read,
           several_processes_at_once, several_processes_of_which_some_are_killed,
           writers_take_turns)
