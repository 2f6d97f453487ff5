/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a store and of a token map, damaged at random: what was in them may be lost, but
 * nothing wrong comes out, no process crashes, and they can be used on. */
#include "cache/token-map.h"
#include "temp-folder.h"
#include "support/check-main.h"
#include "support/kill-at.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    N_SMALL = 40,
    N_LARGE = 4,
    SMALL = 700,
    LARGE = 70000,
    N_TOKENS = 40,
    MAX_TRIES = 3,
    MAX_FILE_BYTES = 5 << 20, /* a token map has 4 MiB and a header */
};

static uint8_t wanted[LARGE], found[LARGE];
static uint8_t file_bytes[MAX_FILE_BYTES + 4096];

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static unsigned rounds(void)
{
    const char *text = getenv("NN_TEST_ROUNDS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 100;
}

/* -- files ------------------------------------------------------------------------------ */

static size_t read_all(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t n;

    ck_assert_int_ge(fd, 0);
    n = read(fd, file_bytes, MAX_FILE_BYTES);
    ck_assert_int_ge(n, 0);
    close(fd);
    return (size_t)n;
}

static void write_all(const char *path, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, file_bytes, n), (ssize_t)n);
    close(fd);
}

static void copy_folder(const char *from, const char *to)
{
    char source[512], target[512], **names;
    size_t n = temp_folder_list(from, &names);

    for (size_t i = 0; i < n; i++) {
        snprintf(source, sizeof(source), "%s/%s", from, names[i]);
        snprintf(target, sizeof(target), "%s/%s", to, names[i]);
        write_all(target, read_all(source));
    }
    temp_folder_list_done(names, n);
}

/* Some bytes, anywhere, or most of all in the first page. */
static size_t place_in(uint32_t *state, size_t n)
{
    size_t reach = next(state) % 3 == 0 && n > 4096 ? 4096 : n;

    return reach ? next(state) % reach : 0;
}

static void fill(uint32_t *state, size_t at, size_t n, bool is_zero)
{
    for (size_t i = 0; i < n; i++)
        file_bytes[at + i] = is_zero ? 0 : (uint8_t)next(state);
}

/* One damage to the n bytes of a file. Returns: its new size. */
static size_t spoil(uint32_t *state, size_t n)
{
    uint32_t what = next(state) % 6;
    size_t at = place_in(state, n), length = 1 + next(state) % 600;

    if (n == 0)
        what = 4;
    if (length > n - at)
        length = n - at;
    switch (what) {
    case 0: /* bits */
        for (uint32_t i = next(state) % 8 + 1; i > 0; i--)
            file_bytes[place_in(state, n)] ^= (uint8_t)(1u << next(state) % 8);
        return n;
    case 1:
    case 2:
        fill(state, at, length, what == 1);
        return n;
    case 3:
        return at;
    case 4:
        length = 1 + next(state) % 4096;
        fill(state, n, length, false);
        return n + length;
    default: /* a piece in the place of another */
        memmove(file_bytes + place_in(state, n - length + 1), file_bytes + at, length);
        return n;
    }
}

/* One to three of the files in a folder. */
static void damage(const char *path, uint32_t *state)
{
    char **names, file[512];
    size_t n = temp_folder_list(path, &names);

    for (uint32_t times = next(state) % 3 + 1; n && times > 0; times--) {
        snprintf(file, sizeof(file), "%s/%s", path, names[next(state) % n]);
        if (access(file, F_OK) < 0)
            continue;
        if (next(state) % 16 == 0)
            unlink(file);
        else
            write_all(file, spoil(state, read_all(file)));
    }
    temp_folder_list_done(names, n);
}

/* In a process of its own, so that a crash fails the test. */
static void in_child(void (*use)(const char *path, uint32_t seed), const char *path, uint32_t seed)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        use(path, seed);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "damage %u: the process ended with %d", seed, status);
}

/* -- the store ---------------------------------------------------------------------------- */

static size_t size_of(uint32_t key)
{
    return key < N_SMALL ? SMALL : LARGE;
}

static void set(struct nnhal_store *store, uint32_t key)
{
    make_value(key, wanted, size_of(key));
    ck_assert_int_eq(nnhal_store_set(store, &key, sizeof(key), wanted, size_of(key)), 0);
}

/* Returns: whether it is there; it is right then. */
static bool get(struct nnhal_store *store, uint32_t key)
{
    size_t n = 0;
    int r = nnhal_store_get(store, &key, sizeof(key), found, sizeof(found), &n);

    ck_assert(r == 0 || r == NNHAL_STORE_E_NONE);
    if (r != 0)
        return false;
    make_value(key, wanted, size_of(key));
    ck_assert_uint_eq(n, size_of(key));
    ck_assert_mem_eq(found, wanted, n);
    return true;
}

static size_t get_all(struct nnhal_store *store)
{
    size_t n = 0;

    for (uint32_t key = 0; key < N_SMALL + N_LARGE; key++)
        n += get(store, key);
    return n;
}

/* Damage that is found later loses what was set before: it is found once. */
static void use_on(struct nnhal_store *store)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    unsigned n_tries = 0;

    get_all(store);
    do {
        ck_assert_uint_lt(n_tries++, MAX_TRIES);
        for (uint32_t key = 0; key < N_SMALL + N_LARGE; key++)
            set(store, key);
        ck_assert_int_eq(nnhal_store_verify(store, NULL, NULL), 0);
        ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    } while (stats.n_entries < N_SMALL + N_LARGE || get_all(store) < N_SMALL + N_LARGE);
    ck_assert_int_eq(nnhal_store_clear(store), 0);
}

static void open_and_use(const char *path, uint32_t seed)
{
    struct nnhal_store *store = temp_folder_open_store(path, 4 << 20, NNHAL_STORE_LRU,
                                                       NNHAL_STORE_FIT);

    use_on(store);
    nnhal_store_close(store);
}

static void damage_while_open(const char *path, uint32_t seed)
{
    struct nnhal_store *store = temp_folder_open_store(path, 4 << 20, NNHAL_STORE_LRU,
                                                       NNHAL_STORE_FIT);
    uint32_t state = seed;

    get(store, 3);
    damage(path, &state);
    use_on(store);
    nnhal_store_close(store);
}

static void fill_store(const char *path, uint32_t seed)
{
    struct nnhal_store *store = temp_folder_open_store(path, 4 << 20, NNHAL_STORE_LRU,
                                                       NNHAL_STORE_FIT);

    for (uint32_t key = 0; key < N_SMALL + N_LARGE; key++)
        set(store, key);
    nnhal_store_close(store);
}

/* Leaves a journal that must be rolled back. */
static void fill_and_die(const char *path)
{
    char journal[TEMP_FOLDER_BYTES + 32];
    struct stat status;
    int ended;

    snprintf(journal, sizeof(journal), "%s/store.db-journal", path);
    fill_store(path, 0);
    for (long at = 10; stat(journal, &status) < 0 || status.st_size < 4096; at++) {
        pid_t pid = fork();

        ck_assert_int_lt(at, 200);
        if (pid == 0) {
            struct nnhal_store *store = temp_folder_open_store(path, 4 << 20, 0, 0);

            kill_at = at;
            nnhal_store_clear(store);
            _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &ended, 0), pid);
    }
}

TEST(a_damaged_store_misses)
{
    char whole[TEMP_FOLDER_BYTES], cut[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES];

    temp_folder_new(whole);
    temp_folder_new(cut);
    fill_store(whole, 0);
    fill_and_die(cut);
    for (uint32_t seed = 0; seed < rounds(); seed++) {
        uint32_t state = seed;

        temp_folder_new(path);
        copy_folder(seed % 4 == 1 ? cut : whole, path);
        if (seed % 4 == 3) {
            in_child(damage_while_open, path, seed);
        } else {
            damage(path, &state);
            in_child(open_and_use, path, seed);
        }
        temp_folder_free(path);
    }
    temp_folder_free(whole);
    temp_folder_free(cut);
}
TEST_END

/* -- the token map ------------------------------------------------------------------------- */

static struct nn_hash hash_of(uint32_t number)
{
    struct nn_hash hash;

    make_value(number, hash.bytes, sizeof(hash.bytes));
    return hash;
}

static struct nn_token_map *open_map(const char *path)
{
    const struct nn_hash epoch = hash_of(77);
    struct nn_token_map *map = NULL;

    ck_assert_int_eq(nn_token_map_open(path, &epoch, &map), 0);
    return map;
}

static void put_tokens(struct nn_token_map *map)
{
    for (uint32_t i = 0; i < N_TOKENS; i++) {
        const struct nn_hash token = hash_of(1000 + i), hash = hash_of(i);

        ck_assert_int_eq(nn_token_map_put(map, i % 3, token.bytes, &hash), 0);
    }
}

static size_t get_tokens(struct nn_token_map *map)
{
    struct nn_token_hashes hashes;
    struct nn_hash right;
    size_t n = 0;

    for (uint32_t i = 0; i < N_TOKENS; i++) {
        const struct nn_hash token = hash_of(1000 + i);

        right = hash_of(i);
        if (nn_token_map_get(map, i % 3, token.bytes, &hashes) != 0)
            continue;
        ck_assert_mem_eq(&hashes.current, &right, sizeof(right));
        ck_assert_mem_eq(&hashes.next, &right, sizeof(right));
        n++;
    }
    return n;
}

/* What has just been put is there. */
static void use_map_on(struct nn_token_map *map)
{
    struct nn_token_hashes hashes;

    get_tokens(map);
    for (uint32_t i = 0; i < N_TOKENS; i++) {
        const struct nn_hash token = hash_of(1000 + i), hash = hash_of(i);

        ck_assert_int_eq(nn_token_map_put(map, i % 3, token.bytes, &hash), 0);
        ck_assert_int_eq(nn_token_map_get(map, i % 3, token.bytes, &hashes), 0);
        ck_assert_mem_eq(&hashes.current, &hash, sizeof(hash));
    }
    get_tokens(map);
}

static void use_map(const char *path, uint32_t seed)
{
    struct nn_token_map *map = open_map(path);

    use_map_on(map);
    nn_token_map_free(map);
}

static void damage_map_while_open(const char *path, uint32_t seed)
{
    struct nn_token_map *map = open_map(path);
    uint32_t state = seed;

    ck_assert_uint_eq(get_tokens(map), N_TOKENS);
    damage(path, &state);
    use_map_on(map);
    nn_token_map_free(map);
}

TEST(a_damaged_token_map_knows_less)
{
    char whole[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES];
    struct nn_token_map *map;

    temp_folder_new(whole);
    map = open_map(whole);
    put_tokens(map);
    nn_token_map_free(map);
    for (uint32_t seed = 0; seed < rounds(); seed++) {
        uint32_t state = seed;

        temp_folder_new(path);
        copy_folder(whole, path);
        if (seed % 4 == 3) {
            in_child(damage_map_while_open, path, seed);
        } else {
            damage(path, &state);
            in_child(use_map, path, seed);
        }
        temp_folder_free(path);
    }
    temp_folder_free(whole);
}
TEST_END

TEST(a_token_map_does_not_go_with_a_fork)
{
    char path[TEMP_FOLDER_BYTES];
    struct nn_token_map *map;
    int status;
    pid_t pid;

    temp_folder_new(path);
    map = open_map(path);
    put_tokens(map);
    pid = fork();
    if (pid == 0) {
        struct nn_token_map *own;

        ck_assert_uint_eq(get_tokens(map), 0);
        own = open_map(path);
        ck_assert_uint_eq(get_tokens(own), N_TOKENS);
        nn_token_map_free(own);
        nn_token_map_free(map);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(get_tokens(map), N_TOKENS);
    nn_token_map_free(map);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("damage", a_damaged_store_misses, a_damaged_token_map_knows_less,
           a_token_map_does_not_go_with_a_fork)
