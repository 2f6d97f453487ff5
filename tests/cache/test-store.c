/* SPDX-License-Identifier: Apache-2.0 */
#include "temp-folder.h"
#include "support/check-main.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[TEMP_FOLDER_BYTES];
static uint8_t bytes[1 << 20];
static uint8_t wanted[1 << 20];

/* An entry counts 1 byte of key and size - 1 of value. */
static int set(struct nnhal_store *store, char key, size_t size)
{
    make_value((uint32_t)key, wanted, size - 1);
    return nnhal_store_set(store, &key, 1, wanted, size - 1);
}

static bool has(struct nnhal_store *store, char key, size_t size)
{
    size_t n = 0;
    int r = nnhal_store_get(store, &key, 1, bytes, sizeof(bytes), &n);

    ck_assert(r == 0 || r == NNHAL_STORE_E_NONE);
    if (r != 0)
        return false;
    make_value((uint32_t)key, wanted, size - 1);
    ck_assert_uint_eq(n, size - 1);
    ck_assert_mem_eq(bytes, wanted, n);
    return true;
}

/* -- the rules ------------------------------------------------------------------------ */

struct step {
    char key;
    size_t size; /* 0: get it; -1 cannot be: sizes count the key */
    int result;
};

struct rule {
    const char *name;
    uint32_t capacity;
    uint64_t max_total_bytes;
    struct step steps[8];
    const char *left; /* keys that are there in the end, in order of their last use */
};

static const struct rule rules[] = {
    {"what fits evicts nothing", NNHAL_STORE_FIT, 100, {{'a', 50, 0}, {'b', 50, 0}}, "ab"},
    {"FIT makes just the room that is needed",
     NNHAL_STORE_FIT,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 30, 0}, {'d', 40, 0}},
     "bcd"},
    {"a get makes an entry the newest",
     NNHAL_STORE_FIT,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 30, 0}, {'a', 0, 0}, {'d', 40, 0}},
     "cad"},
    {"a set makes an entry the newest",
     NNHAL_STORE_FIT,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 30, 0}, {'a', 31, 0}, {'d', 30, 0}},
     "cad"},
    {"FIT evicts everything for one that needs it all",
     NNHAL_STORE_FIT,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 100, 0}},
     "c"},
    {"more than the total is refused and changes nothing",
     NNHAL_STORE_FIT,
     100,
     {{'a', 30, 0}, {'b', 101, NNHAL_STORE_E_TOO_LARGE}, {'a', 101, NNHAL_STORE_E_TOO_LARGE}},
     "a"},
    {"HALVE brings the others down to half",
     NNHAL_STORE_HALVE,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 30, 0}, {'d', 20, 0}},
     "cd"},
    {"HALVE stops at half exactly",
     NNHAL_STORE_HALVE,
     100,
     {{'a', 50, 0}, {'b', 20, 0}, {'c', 30, 0}, {'d', 50, 0}},
     "bcd"},
    {"HALVE refuses what does not fit beside half",
     NNHAL_STORE_HALVE,
     100,
     {{'a', 50, 0}, {'b', 20, 0}, {'c', 30, 0}, {'d', 51, NNHAL_STORE_E_TOO_LARGE}},
     "bc"},
    {"FIT_HALVE leaves half in all",
     NNHAL_STORE_FIT_HALVE,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 20, 0}, {'d', 30, 0}},
     "cd"},
    {"FIT_HALVE refuses more than half, and evicts nothing for it",
     NNHAL_STORE_FIT_HALVE,
     100,
     {{'a', 30, 0}, {'b', 30, 0}, {'c', 51, NNHAL_STORE_E_TOO_LARGE}},
     "ab"},
    {"FIT_HALVE takes more than half where there is room",
     NNHAL_STORE_FIT_HALVE,
     100,
     {{'a', 30, 0}, {'b', 70, 0}},
     "ab"},
    {"a replaced entry's bytes count no more",
     NNHAL_STORE_FIT,
     2000000, /* in files, which nearly fill the share of the disk */
     {{'a', 800000, 0}, {'b', 800000, 0}, {'a', 1000000, 0}},
     "ba"},
    {"a replacement that grows evicts others",
     NNHAL_STORE_FIT,
     100,
     {{'a', 40, 0}, {'b', 40, 0}, {'a', 61, 0}},
     "a"},
    {"a value of no bytes is none",
     NNHAL_STORE_FIT,
     100,
     {{'a', 40, 0}, {'a', 1, NNHAL_STORE_E_TOO_LARGE}},
     "a"},
};

struct keys {
    char text[16];
    size_t n;
};

static int add_key(void *ctx, const struct nnhal_store_entry *entry)
{
    struct keys *keys = ctx;

    ck_assert_uint_eq(entry->key_bytes, 1);
    ck_assert_uint_lt(keys->n, sizeof(keys->text) - 1);
    keys->text[keys->n++] = (char)entry->key[0];
    return 0;
}

TEST(the_rules_of_nncache)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const struct rule *rule = &rules[i];
        struct nnhal_store *store;
        struct keys keys = {.n = 0};
        size_t n = 0;

        temp_folder_new(path);
        store = temp_folder_open_store(path, rule->max_total_bytes, NNHAL_STORE_LRU,
                                       rule->capacity);
        for (size_t k = 0; k < 8 && rule->steps[k].key; k++) {
            const struct step *step = &rule->steps[k];
            int r = step->size ? set(store, step->key, step->size)
                               : nnhal_store_get(store, &step->key, 1, bytes, sizeof(bytes), &n);

            ck_assert_msg(r == step->result, "%s: step %zu was %d", rule->name, k, r);
        }
        ck_assert_int_eq(nnhal_store_list(store, add_key, &keys), 0);
        ck_assert_msg(strcmp(keys.text, rule->left) == 0, "%s: %s is left, not %s", rule->name,
                      keys.text, rule->left);
        nnhal_store_close(store);
        temp_folder_free(path);
    }
}
TEST_END

TEST(limits_of_key_and_value)
{
    const struct nnhal_store_options options = {
        .size = sizeof(options), .max_key_bytes = 10, .max_value_bytes = 20, .max_total_bytes = 25};
    struct nnhal_store *store;

    temp_folder_new(path);
    ck_assert_int_eq(nnhal_store_open(path, &options, &store), 0);
    ck_assert_int_eq(nnhal_store_set(store, wanted, 10, wanted, 15), 0);
    ck_assert_int_eq(nnhal_store_set(store, wanted, 10, wanted, 16), NNHAL_STORE_E_TOO_LARGE);
    ck_assert_int_eq(nnhal_store_set(store, wanted, 11, wanted, 1), NNHAL_STORE_E_TOO_LARGE);
    ck_assert_int_eq(nnhal_store_set(store, wanted, 1, wanted, 21), NNHAL_STORE_E_TOO_LARGE);
    ck_assert_int_eq(nnhal_store_set(store, wanted, 0, wanted, 1), NNHAL_STORE_E_TOO_LARGE);
    ck_assert_int_eq(nnhal_store_set(store, wanted, 5, wanted, 20), 0);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

TEST(random_selection_keeps_within_the_total)
{
    bool oldest_stayed = false;
    struct nnhal_store *store;

    temp_folder_new(path);
    for (int round = 0; round < 8; round++) {
        size_t n = 0;

        store = temp_folder_open_store(path, 100, NNHAL_STORE_RANDOM, NNHAL_STORE_FIT);
        ck_assert_int_eq(nnhal_store_clear(store), 0);
        for (char key = 'a'; key < 'k'; key++)
            ck_assert_int_eq(set(store, key, 10), 0);
        ck_assert_int_eq(set(store, 'z', 50), 0);
        for (char key = 'a'; key < 'k'; key++)
            n += has(store, key, 10);
        ck_assert_uint_eq(n, 5);
        oldest_stayed = oldest_stayed || has(store, 'a', 10);
        nnhal_store_close(store);
    }
    ck_assert(oldest_stayed); /* but once in 256 runs of this test */
    temp_folder_free(path);
}
TEST_END

/* -- values --------------------------------------------------------------------------- */

TEST(values_of_every_size_come_back)
{
    static const size_t sizes[] = {2, 100, 65536, 65537, 65538, 300000, 1 << 20};
    struct nnhal_store *store;

    temp_folder_new(path);
    for (int again = 0; again < 2; again++) {
        store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            char key = (char)('a' + i);

            if (!again)
                ck_assert_int_eq(set(store, key, sizes[i]), 0);
            ck_assert(has(store, key, sizes[i]));
        }
        ck_assert(!has(store, 'z', 2));
        nnhal_store_close(store); /* the second time it is another process, as it were */
    }
    temp_folder_free(path);
}
TEST_END

/* No further descriptor can be opened; *ret_before is what there may be again. */
static void use_up_descriptors(struct rlimit *ret_before)
{
    struct rlimit none;
    int fd = fcntl(0, F_DUPFD_CLOEXEC, 0); /* all below are taken */

    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, ret_before), 0);
    none = *ret_before;
    none.rlim_cur = (rlim_t)fd;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
}

TEST(a_value_that_cannot_be_opened_for_now_stays)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store;
    struct rlimit before;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100000), 0);
    use_up_descriptors(&before);
    ck_assert_int_eq(nnhal_store_verify(store, NULL, NULL), -ENOMEM);
    ck_assert(!has(store, 'a', 100000));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert(has(store, 'a', 100000));
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_damaged, 0);
    ck_assert_uint_eq(stats.n_misses, 1);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

TEST(a_buffer_that_is_too_small_is_not_touched)
{
    struct nnhal_store *store;
    uint8_t small[10] = {7};
    size_t n = 0;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 12), 0);
    ck_assert_int_eq(set(store, 'b', 100000), 0);
    ck_assert_int_eq(nnhal_store_get(store, "a", 1, small, sizeof(small), &n),
                     NNHAL_STORE_E_TOO_SMALL);
    ck_assert_uint_eq(n, 11);
    ck_assert_uint_eq(small[0], 7);
    ck_assert_int_eq(nnhal_store_get(store, "b", 1, NULL, 0, &n), NNHAL_STORE_E_TOO_SMALL);
    ck_assert_uint_eq(n, 99999);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

static void *count_allocation(void *ctx, size_t n_bytes)
{
    ++*(int *)ctx;
    return malloc(n_bytes);
}

static void count_release(void *ctx, void *block)
{
    --*(int *)ctx;
    free(block);
}

static void *allocate_nothing(void *ctx, size_t n_bytes)
{
    return NULL;
}

TEST(values_in_memory_of_an_allocator)
{
    int n_blocks = 0;
    const struct nnhal_store_allocator own = {&n_blocks, count_allocation, count_release};
    const struct nnhal_store_allocator none = {NULL, allocate_nothing, count_release};
    struct nnhal_store *store;
    void *value = NULL;
    size_t n = 0;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100001), 0);
    ck_assert_int_eq(nnhal_store_get_allocated(store, "a", 1, &own, &value, &n), 0);
    ck_assert_uint_eq(n, 100000);
    ck_assert_mem_eq(value, wanted, n);
    ck_assert_int_eq(n_blocks, 1);
    count_release(&n_blocks, value);
    ck_assert_int_eq(nnhal_store_get_allocated(store, "a", 1, NULL, &value, &n), 0);
    free(value);
    ck_assert_int_eq(nnhal_store_get_allocated(store, "b", 1, &own, &value, &n),
                     NNHAL_STORE_E_NONE);
    ck_assert_int_eq(n_blocks, 0);
    ck_assert_int_eq(nnhal_store_get_allocated(store, "a", 1, &none, &value, &n), -ENOMEM);
    ck_assert(has(store, 'a', 100001));
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

TEST(a_value_in_parts)
{
    const struct nnhal_store_part parts[] = {{"ab", 2}, {NULL, 0}, {wanted, 100000}, {"c", 1}};
    struct nnhal_store *store;
    size_t n = 0;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    make_value(3, wanted, 100000);
    for (size_t n_parts = 1; n_parts <= 4; n_parts++) {
        ck_assert_int_eq(nnhal_store_set_parts(store, "k", 1, parts, n_parts), 0);
        ck_assert_int_eq(nnhal_store_get(store, "k", 1, bytes, sizeof(bytes), &n), 0);
        ck_assert_uint_eq(n, n_parts < 3 ? 2 : n_parts == 3 ? 100002 : 100003);
        ck_assert_mem_eq(bytes, "ab", 2);
        if (n_parts >= 3)
            ck_assert_mem_eq(bytes + 2, wanted, 100000);
    }
    ck_assert_int_eq(nnhal_store_set_parts(store, "k", 1, parts, 0), NNHAL_STORE_E_TOO_LARGE);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

TEST(remove_clear_and_statistics)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store;
    char **names;
    size_t n;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 200000, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100), 0);
    ck_assert_int_eq(set(store, 'b', 100000), 0);
    ck_assert(has(store, 'b', 100000));
    ck_assert(!has(store, 'c', 1));
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_entries, 2);
    ck_assert_uint_eq(stats.n_bytes, 100100);
    ck_assert_uint_eq(stats.n_hits, 1);
    ck_assert_uint_eq(stats.n_misses, 1);
    ck_assert_uint_eq(stats.n_sets, 2);
    ck_assert_uint_eq(stats.n_evictions, 0);
    ck_assert_uint_eq(stats.disk_bytes, temp_folder_disk_bytes(path));
    ck_assert_int_eq(set(store, 'c', 150000), 0);
    ck_assert_int_eq(nnhal_store_remove(store, "b", 1), NNHAL_STORE_E_NONE);
    ck_assert_int_eq(nnhal_store_remove(store, "c", 1), 0);
    ck_assert_int_eq(nnhal_store_remove(store, "c", 1), NNHAL_STORE_E_NONE);
    ck_assert_int_eq(set(store, 'd', 100000), 0);
    ck_assert(has(store, 'd', 100000));
    ck_assert(!has(store, 'b', 100000));
    nnhal_store_close(store);

    /* The counts survive, those of the last gets, too. */
    store = temp_folder_open_store(path, 200000, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(nnhal_store_clear(store), 0);
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_hits, 2);
    ck_assert_uint_eq(stats.n_misses, 2);
    ck_assert_uint_eq(stats.n_entries, 0);
    ck_assert_uint_eq(stats.n_bytes, 0);
    ck_assert_uint_eq(stats.n_sets, 4);
    ck_assert_uint_eq(stats.n_evictions, 2);
    ck_assert_uint_eq(stats.n_damaged, 0);
    n = temp_folder_list(path, &names);
    ck_assert_uint_le(n, 2); /* store.db and its journal */
    temp_folder_list_done(names, n);
    stats.size = sizeof(size_t);
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), -EINVAL);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

/* Ten times the limit in distinct entries, of sizes that are not kind. */
static void fill_ten_times(uint64_t limit, size_t size, uint32_t selection, uint32_t capacity)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store;
    uint64_t sum = 0;
    uint32_t number = 0;

    temp_folder_new(path);
    store = temp_folder_open_store(path, limit, selection, capacity);
    while (sum < 10 * limit) {
        size_t n = size / 2 + (number * 7919) % size;

        make_value(number, bytes, 64);
        ck_assert_int_eq(nnhal_store_set(store, &number, sizeof(number), bytes, n), 0);
        sum += sizeof(number) + n;
        if (++number % 16 == 0 || size > 10000)
            ck_assert_uint_le(temp_folder_disk_bytes(path), limit);
    }
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_le(stats.n_bytes, limit);
    ck_assert_uint_ge(stats.n_bytes, limit / 4);
    ck_assert_uint_le(temp_folder_disk_bytes(path), limit);
    nnhal_store_close(store);
    ck_assert_uint_le(temp_folder_disk_bytes(path), limit);
    temp_folder_free(path);
}

TEST(ten_times_the_limit_stays_below_it_on_the_disk)
{
    fill_ten_times(2 << 20, 3000, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    fill_ten_times(1 << 20, 20000, NNHAL_STORE_RANDOM, NNHAL_STORE_FIT_HALVE);
    fill_ten_times(4 << 20, 100000, NNHAL_STORE_LRU, NNHAL_STORE_HALVE);
    fill_ten_times(4 << 20, 400000, NNHAL_STORE_RANDOM, NNHAL_STORE_FIT);
}
TEST_END

/* -- folders and files of others ------------------------------------------------------- */

TEST(folders_that_are_refused)
{
    const struct nnhal_store_options existing = {.size = sizeof(existing),
                                                 .flags = NNHAL_STORE_EXISTING};
    const struct nnhal_store_options bad_policy = {.size = sizeof(bad_policy), .capacity = 3};
    const struct nnhal_store_options bad_flags = {.size = sizeof(bad_flags), .flags = 8};
    struct nnhal_store *store = NULL;
    char inside[TEMP_FOLDER_BYTES + 16];

    temp_folder_new(path);
    ck_assert_int_eq(nnhal_store_open(path, &bad_policy, &store), -EINVAL);
    ck_assert_int_eq(nnhal_store_open(path, &bad_flags, &store), -EINVAL);
    ck_assert_int_eq(nnhal_store_open(path, &existing, &store), -ENOENT);
    ck_assert_int_eq(chmod(path, 0777), 0);
    ck_assert_int_eq(nnhal_store_open(path, NULL, &store), -EPERM);
    ck_assert_int_eq(chmod(path, 0700), 0);
    snprintf(inside, sizeof(inside), "%s/file", path);
    close(open(inside, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(nnhal_store_open(inside, NULL, &store), -ENOTDIR);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 12345, (gid_t)-1), 0);
        ck_assert_int_eq(nnhal_store_open(path, NULL, &store), -EPERM);
        ck_assert_int_eq(chown(path, 0, (gid_t)-1), 0);
    } else {
        puts("not root: a folder of another user was not tried");
    }
    ck_assert_ptr_null(store);
    temp_folder_free(path);
}
TEST_END

TEST(links_and_foreign_files_are_replaced)
{
    char database[TEMP_FOLDER_BYTES + 16], target[TEMP_FOLDER_BYTES + 16],
        link[TEMP_FOLDER_BYTES + 16];
    char other[TEMP_FOLDER_BYTES];
    struct nnhal_store *store;
    struct stat status;

    temp_folder_new(path);
    temp_folder_new(other);
    snprintf(database, sizeof(database), "%s/store.db", path);
    snprintf(target, sizeof(target), "%s/precious", other);
    snprintf(link, sizeof(link), "%s/link", other);
    close(open(target, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(symlink(target, database), 0);
    ck_assert_int_eq(symlink(path, link), 0);

    /* A link that leads to the folder is the user's own affair. */
    store = temp_folder_open_store(link, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 10), 0);
    ck_assert(has(store, 'a', 10));
    nnhal_store_close(store);
    ck_assert_int_eq(lstat(database, &status), 0);
    ck_assert(S_ISREG(status.st_mode));
    ck_assert_uint_eq(status.st_mode & 0777, 0600);
    ck_assert_int_eq(stat(target, &status), 0);
    ck_assert_int_eq(status.st_size, 0);

    if (geteuid() == 0) {
        ck_assert_int_eq(chown(database, 12345, (gid_t)-1), 0);
        store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
        ck_assert(!has(store, 'a', 10));
        ck_assert_int_eq(set(store, 'a', 10), 0);
        nnhal_store_close(store);
        ck_assert_int_eq(stat(database, &status), 0);
        ck_assert_uint_eq(status.st_uid, 0);
    } else {
        puts("not root: a file of another user was not tried");
    }
    temp_folder_free(path);
    temp_folder_free(other);
}
TEST_END

TEST(a_link_in_the_place_of_a_value_is_not_followed)
{
    char target[TEMP_FOLDER_BYTES], file[TEMP_FOLDER_BYTES + 300], copy[TEMP_FOLDER_BYTES + 16];
    struct nnhal_store *store;
    char **names;
    size_t n;

    temp_folder_new(path);
    temp_folder_new(target);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100000), 0);
    n = temp_folder_list(path, &names);
    ck_assert_uint_ge(n, 2);
    ck_assert_int_eq(names[n - 1][0], 'v');
    snprintf(file, sizeof(file), "%s/%s", path, names[n - 1]);
    snprintf(copy, sizeof(copy), "%s/copy", target);
    temp_folder_list_done(names, n);
    ck_assert_int_eq(rename(file, copy), 0);
    ck_assert_int_eq(symlink(copy, file), 0);
    ck_assert(!has(store, 'a', 100000));
    ck_assert_int_eq(set(store, 'a', 100000), 0);
    ck_assert(has(store, 'a', 100000));
    nnhal_store_close(store);
    temp_folder_free(path);
    temp_folder_free(target);
}
TEST_END

TEST(a_folder_that_vanishes_is_made_again)
{
    struct nnhal_store *store;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100), 0);
    ck_assert_int_eq(set(store, 'b', 100000), 0);
    temp_folder_free(path);
    ck_assert(!has(store, 'a', 100));
    ck_assert(!has(store, 'b', 100000));
    ck_assert_int_eq(set(store, 'b', 100000), 0);
    ck_assert(has(store, 'b', 100000));
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

TEST(what_a_dead_process_left_is_removed)
{
    char file[TEMP_FOLDER_BYTES + 64], **names;
    struct nnhal_store *store;
    size_t n;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100000), 0);
    nnhal_store_close(store);
    snprintf(file, sizeof(file), "%s/v-0123456789abcdef.tmp", path);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    snprintf(file, sizeof(file), "%s/v-0123456789abcdef", path);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    snprintf(file, sizeof(file), "%s/v-mine", path);
    close(open(file, O_CREAT | O_WRONLY, 0600));
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert(has(store, 'a', 100000));
    ck_assert_int_eq(access(file, F_OK), 0); /* what is not ours stays */
    n = temp_folder_list(path, &names);
    for (size_t i = 0; i < n; i++)
        ck_assert_ptr_null(strstr(names[i], "0123456789abcdef"));
    temp_folder_list_done(names, n);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

/* -- disks that are full or cannot be written ------------------------------------------- */

/* A tmpfs of n_bytes at path, for this process alone. */
static bool mount_small(size_t n_bytes)
{
    char options[64];

    snprintf(options, sizeof(options), "size=%zu,mode=700", n_bytes);
    return (unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", path, "tmpfs", 0, options) == 0;
}

static void fill_disk(void)
{
    struct nnhal_store *store = temp_folder_open_store(path, 8 << 20, NNHAL_STORE_LRU,
                                                       NNHAL_STORE_FIT);
    char key = 'a';
    int r = 0;

    while (r == 0 && key < 'z')
        r = set(store, key++, 100000);
    ck_assert_int_eq(r, -ENOSPC);
    ck_assert(has(store, 'a', 100000));
    ck_assert_int_eq(nnhal_store_remove(store, "a", 1), 0);
    ck_assert_int_eq(set(store, 'y', 90000), 0);
    ck_assert(has(store, 'y', 90000));
    /* And full of small ones. */
    for (int i = 0; i < 2000 && r != -ENOSPC; i++)
        r = nnhal_store_set(store, &i, sizeof(i), wanted, 2000);
    ck_assert_int_eq(r, -ENOSPC);
    ck_assert(has(store, 'y', 90000));
    nnhal_store_close(store);
    store = temp_folder_open_store(path, 8 << 20, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert(has(store, 'y', 90000));
    ck_assert_int_eq(nnhal_store_clear(store), 0);
    ck_assert_int_eq(set(store, 'a', 100000), 0);
    nnhal_store_close(store);
}

static void refuse_to_write(void)
{
    struct nnhal_store *store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    int r;

    ck_assert_int_eq(set(store, 'a', 100), 0);
    ck_assert_int_eq(mount("none", path, NULL, MS_REMOUNT | MS_RDONLY, NULL), -1);
    nnhal_store_close(store);
    ck_assert_int_eq(mount("none", path, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    r = nnhal_store_open(path, NULL, &store);
    ck_assert_msg(r == -EROFS || r == -EACCES, "opened with %d", r);
}

TEST(a_full_disk_and_one_that_cannot_be_written)
{
    int status;
    pid_t pid;

    for (int i = 0; i < 2; i++) {
        temp_folder_new(path);
        pid = fork();
        if (pid == 0) {
            if (!mount_small(1 << 20))
                _exit(77);
            i == 0 ? fill_disk() : refuse_to_write();
            _exit(0);
        }
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            puts("SKIPPED: this user may not mount a small disk");
        else
            ck_assert_int_eq(status, 0);
        temp_folder_free(path);
    }
}
TEST_END

/* -- damage ------------------------------------------------------------------------------ */

static void overwrite(const char *file, off_t offset)
{
    int fd = open(file, O_WRONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, "!", 1, offset), 1);
    close(fd);
}

static int count_damaged(void *ctx, const struct nnhal_store_entry *entry)
{
    *(int *)ctx += (int)entry->is_damaged;
    return 0;
}

TEST(verify_finds_and_removes_what_is_damaged)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    char file[TEMP_FOLDER_BYTES + 300], **names;
    struct nnhal_store *store;
    int n_damaged = 0;
    size_t n;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    for (char key = 'a'; key < 'e'; key++)
        ck_assert_int_eq(set(store, key, 100000), 0);
    ck_assert_int_eq(set(store, 'e', 1000), 0);
    n = temp_folder_list(path, &names);
    ck_assert_uint_ge(n, 5);
    snprintf(file, sizeof(file), "%s/%s", path, names[n - 4]);
    overwrite(file, 5000);
    snprintf(file, sizeof(file), "%s/%s", path, names[n - 3]);
    ck_assert_int_eq(truncate(file, 7), 0);
    snprintf(file, sizeof(file), "%s/%s", path, names[n - 2]);
    ck_assert_int_eq(unlink(file), 0);
    temp_folder_list_done(names, n);
    ck_assert_int_eq(nnhal_store_verify(store, count_damaged, &n_damaged), 0);
    ck_assert_int_eq(n_damaged, 3);
    n_damaged = 0;
    ck_assert_int_eq(nnhal_store_verify(store, count_damaged, &n_damaged), 0);
    ck_assert_int_eq(n_damaged, 0);
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_entries, 2);
    ck_assert_uint_eq(stats.n_damaged, 3);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

TEST(a_database_that_is_none_is_replaced)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    char file[TEMP_FOLDER_BYTES + 16], **names;
    struct nnhal_store *store;
    size_t n;

    temp_folder_new(path);
    snprintf(file, sizeof(file), "%s/store.db", path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100000), 0);
    overwrite(file, 3);
    /* While it is open, and when it is opened. */
    has(store, 'a', 100000);
    ck_assert_int_eq(set(store, 'b', 100), 0);
    nnhal_store_close(store);
    overwrite(file, 3);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert(!has(store, 'a', 100000));
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_entries, 0);
    ck_assert_uint_ge(stats.n_damaged, 1);
    n = temp_folder_list(path, &names);
    ck_assert_uint_le(n, 2); /* no value whose row is gone */
    temp_folder_list_done(names, n);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

/* SQLite takes one of a later version for one that it must not write. */
TEST(a_database_that_forbids_to_write_is_replaced)
{
    char file[TEMP_FOLDER_BYTES + 16];
    struct nnhal_store *store;

    temp_folder_new(path);
    snprintf(file, sizeof(file), "%s/store.db", path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100), 0);
    nnhal_store_close(store);
    overwrite(file, 18);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert(!has(store, 'a', 100));
    ck_assert_int_eq(set(store, 'a', 100), 0);
    ck_assert(has(store, 'a', 100));
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

/* -- forks ------------------------------------------------------------------------------ */

TEST(a_child_is_refused_and_opens_its_own)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store, *own;
    int status;
    size_t n;
    pid_t pid;

    temp_folder_new(path);
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(set(store, 'a', 100), 0);
    pid = fork();
    if (pid == 0) {
        ck_assert_int_eq(set(store, 'a', 10), NNHAL_STORE_E_FORKED);
        ck_assert_int_eq(nnhal_store_get(store, "a", 1, bytes, 100, &n), NNHAL_STORE_E_FORKED);
        ck_assert_int_eq(nnhal_store_clear(store), NNHAL_STORE_E_FORKED);
        ck_assert_int_eq(nnhal_store_get_stats(store, &stats), NNHAL_STORE_E_FORKED);
        own = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
        ck_assert(has(own, 'a', 100));
        ck_assert_int_eq(set(own, 'b', 100), 0);
        nnhal_store_close(own);
        nnhal_store_close(store);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert(has(store, 'a', 100));
    ck_assert(has(store, 'b', 100));
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("store", the_rules_of_nncache, limits_of_key_and_value,
           random_selection_keeps_within_the_total, values_of_every_size_come_back,
           a_value_that_cannot_be_opened_for_now_stays, a_buffer_that_is_too_small_is_not_touched,
           values_in_memory_of_an_allocator, a_value_in_parts, remove_clear_and_statistics,
           ten_times_the_limit_stays_below_it_on_the_disk, folders_that_are_refused,
           links_and_foreign_files_are_replaced, a_link_in_the_place_of_a_value_is_not_followed,
           a_folder_that_vanishes_is_made_again, what_a_dead_process_left_is_removed,
           a_full_disk_and_one_that_cannot_be_written, verify_finds_and_removes_what_is_damaged,
           a_database_that_is_none_is_replaced, a_database_that_forbids_to_write_is_replaced,
           a_child_is_refused_and_opens_its_own)
