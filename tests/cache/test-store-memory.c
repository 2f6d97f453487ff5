/* SPDX-License-Identifier: Apache-2.0 */
/* A store while memory is short: each call succeeds or says so, and nothing is taken for damaged
 * because it could not be read. */
#include "temp-folder.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"

#include <errno.h>
#include <string.h>

enum { SMALL = 3000, LARGE = 100000 };

static char path[TEMP_FOLDER_BYTES];
static uint8_t wanted[LARGE], found[LARGE];

static int add_entry(void *ctx, const struct nnhal_store_entry *entry)
{
    *(int *)ctx += entry->is_damaged ? 1000 : 1;
    return 0;
}

struct work {
    struct nnhal_store *store;
    int results[4]; /* of each call */
    size_t n_small, n_large;
    int n_listed;
};

/* Reads what is there in every way. */
static void read_all(struct work *work)
{
    struct nnhal_store *store = work->store;

    work->n_small = work->n_large = 0;
    work->n_listed = 0;
    work->results[0] = nnhal_store_get(store, "s", 1, found, sizeof(found), &work->n_small);
    work->results[1] = nnhal_store_get(store, "l", 1, found, sizeof(found), &work->n_large);
    work->results[2] = nnhal_store_list(store, add_entry, &work->n_listed);
    work->results[3] = nnhal_store_verify(store, add_entry, &work->n_listed);
}

TEST(reading_without_memory_loses_nothing)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct work work;
    bool is_done = false;

    temp_folder_new(path);
    make_value(1, wanted, sizeof(wanted));
    work.store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(nnhal_store_set(work.store, "s", 1, wanted, SMALL), 0);
    ck_assert_int_eq(nnhal_store_set(work.store, "l", 1, wanted, LARGE), 0);
    for (long n = 1; !is_done; n++) {
        fail_alloc_arm(n);
        read_all(&work);
        is_done = fail_alloc_disarm() > 0;
        for (size_t i = 0; i < 4; i++)
            ck_assert_msg(work.results[i] == 0 || work.results[i] == -ENOMEM ||
                              (i < 2 && work.results[i] == NNHAL_STORE_E_NONE),
                          "allocation %ld: call %zu was %d", n, i, work.results[i]);
        ck_assert_int_lt(work.n_listed, 1000);
        read_all(&work);
        ck_assert_msg(work.results[0] == 0 && work.n_small == SMALL, "allocation %ld", n);
        ck_assert_msg(work.results[1] == 0 && work.n_large == LARGE, "allocation %ld", n);
        ck_assert_mem_eq(found, wanted, LARGE);
        ck_assert_int_eq(work.n_listed, 4);
        ck_assert_int_lt(n, 1000);
    }
    ck_assert_int_eq(nnhal_store_get_stats(work.store, &stats), 0);
    ck_assert_uint_eq(stats.n_damaged, 0);
    nnhal_store_close(work.store);
    temp_folder_free(path);
}
TEST_END

/* An entry is there with its old value or its new one. */
TEST(writing_without_memory_keeps_one_value)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    struct nnhal_store *store;
    bool is_done = false;
    size_t n_found = 0;

    temp_folder_new(path);
    make_value(2, wanted, sizeof(wanted));
    store = temp_folder_open_store(path, 0, NNHAL_STORE_LRU, NNHAL_STORE_FIT);
    ck_assert_int_eq(nnhal_store_set(store, "k", 1, wanted, LARGE), 0);
    for (long n = 1; !is_done; n++) {
        size_t size = n % 2 ? SMALL : LARGE;
        int r;

        fail_alloc_arm(n);
        r = nnhal_store_set(store, "k", 1, wanted, size);
        is_done = fail_alloc_disarm() > 0;
        ck_assert_msg(r == (is_done ? 0 : r) && (r == 0 || r == -ENOMEM), "allocation %ld: %d", n,
                      r);
        ck_assert_int_eq(nnhal_store_get(store, "k", 1, found, sizeof(found), &n_found), 0);
        ck_assert(r != 0 || n_found == size);
        ck_assert(n_found == SMALL || n_found == LARGE);
        ck_assert_mem_eq(found, wanted, n_found);
        ck_assert_int_lt(n, 1000);
    }
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_damaged, 0);
    ck_assert_uint_eq(stats.n_entries, 1);
    nnhal_store_close(store);
    temp_folder_free(path);
}
TEST_END

CHECK_MAIN("store-memory", reading_without_memory_loses_nothing,
           writing_without_memory_keeps_one_value)
