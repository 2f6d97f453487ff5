/* SPDX-License-Identifier: Apache-2.0 */
/* Random uses of a store, beside a model of nncache's rules in memory. */
#include "temp-folder.h"
#include "support/check-main.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    N_KEYS = 24,
    MAX_VALUE = 100000,
    N_STEPS = 120,
};

/* What the model knows of a key: nothing but sizes and the order of uses. */
struct entry {
    bool is_there;
    uint32_t version; /* of the value */
    uint64_t n_bytes; /* with the key */
    uint64_t used;
};

struct model {
    uint64_t max_bytes;
    uint32_t capacity;
    uint64_t clock;
    struct entry entries[N_KEYS];
};

static uint8_t wanted[MAX_VALUE], found[MAX_VALUE];

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* -- the model -------------------------------------------------------------------------- */

/* Without the key that is set. */
static uint64_t others(const struct model *model, uint32_t but_not)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < N_KEYS; i++)
        if (i != but_not && model->entries[i].is_there)
            sum += model->entries[i].n_bytes;
    return sum;
}

static void evict_oldest(struct model *model, uint32_t but_not)
{
    struct entry *oldest = NULL;

    for (uint32_t i = 0; i < N_KEYS; i++) {
        struct entry *entry = &model->entries[i];

        if (i != but_not && entry->is_there && (!oldest || entry->used < oldest->used))
            oldest = entry;
    }
    oldest->is_there = false;
}

/* Returns: what nnhal_store_set() must return. */
static int model_set(struct model *model, uint32_t key, uint32_t version, uint64_t n_bytes)
{
    const uint64_t max = model->max_bytes;
    bool has_evicted = false;
    uint64_t target;

    if (n_bytes > max)
        return NNHAL_STORE_E_TOO_LARGE;
    if (others(model, key) + n_bytes > max) {
        if (model->capacity == NNHAL_STORE_FIT_HALVE && n_bytes > max / 2)
            return NNHAL_STORE_E_TOO_LARGE;
        target = model->capacity == NNHAL_STORE_FIT     ? max - n_bytes
                 : model->capacity == NNHAL_STORE_HALVE ? max / 2
                                                        : max / 2 - n_bytes;
        while (others(model, key) > target) {
            evict_oldest(model, key);
            has_evicted = true;
        }
        if (others(model, key) + n_bytes > max) {
            model->entries[key].is_there = model->entries[key].is_there && !has_evicted;
            return NNHAL_STORE_E_TOO_LARGE;
        }
    }
    model->entries[key] = (struct entry){true, version, n_bytes, ++model->clock};
    return 0;
}

/* -- the same to both ----------------------------------------------------------------- */

static size_t make_key(uint32_t key, char name[32])
{
    return (size_t)snprintf(name, 32, "key-%0*u", (int)(1 + key % 9), key);
}

/* Sizes small, middling, and beyond what lies in the database. */
static size_t random_size(uint32_t *state)
{
    switch (next(state) % 4) {
    case 0:
        return 1 + next(state) % 100;
    case 1:
        return 1 + next(state) % 5000;
    case 2:
        return 1 + next(state) % 65536;
    default:
        return 60000 + next(state) % (MAX_VALUE - 60000);
    }
}

static void set_both(struct nnhal_store *store, struct model *model, uint32_t key, uint32_t version,
                     size_t n)
{
    char name[32];
    size_t n_key = make_key(key, name);

    make_value(version, wanted, n);
    ck_assert_int_eq(nnhal_store_set(store, name, n_key, wanted, n),
                     model_set(model, key, version, n_key + n));
}

static void get_both(struct nnhal_store *store, struct model *model, uint32_t key)
{
    struct entry *entry = &model->entries[key];
    char name[32];
    size_t n_key = make_key(key, name), n = 0;
    int r = nnhal_store_get(store, name, n_key, found, sizeof(found), &n);

    ck_assert_int_eq(r, entry->is_there ? 0 : NNHAL_STORE_E_NONE);
    if (r != 0)
        return;
    entry->used = ++model->clock;
    ck_assert_uint_eq(n, entry->n_bytes - n_key);
    make_value(entry->version, wanted, n);
    ck_assert_mem_eq(found, wanted, n);
}

static void remove_both(struct nnhal_store *store, struct model *model, uint32_t key)
{
    char name[32];
    size_t n_key = make_key(key, name);

    ck_assert_int_eq(nnhal_store_remove(store, name, n_key),
                     model->entries[key].is_there ? 0 : NNHAL_STORE_E_NONE);
    model->entries[key].is_there = false;
}

static void compare(struct nnhal_store *store, const struct model *model)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    uint64_t n_entries = 0;

    for (uint32_t i = 0; i < N_KEYS; i++)
        n_entries += model->entries[i].is_there;
    ck_assert_int_eq(nnhal_store_get_stats(store, &stats), 0);
    ck_assert_uint_eq(stats.n_entries, n_entries);
    ck_assert_uint_eq(stats.n_bytes, others(model, N_KEYS));
}

static void run(uint32_t seed)
{
    uint32_t state = seed * 2654435761u;
    struct model model = {.max_bytes = 20000 + next(&state) % 500000, .capacity = seed % 3};
    struct nnhal_store *store;
    char path[TEMP_FOLDER_BYTES];

    temp_folder_new(path);
    store = temp_folder_open_store(path, model.max_bytes, NNHAL_STORE_LRU, model.capacity);
    for (uint32_t step = 0; step < N_STEPS; step++) {
        uint32_t key = next(&state) % N_KEYS, what = next(&state) % 100;

        if (what < 45) {
            set_both(store, &model, key, seed * N_STEPS + step, random_size(&state));
        } else if (what < 85) {
            get_both(store, &model, key);
        } else if (what < 92) {
            remove_both(store, &model, key);
        } else if (what < 98) {
            nnhal_store_close(store);
            store = temp_folder_open_store(path, model.max_bytes, NNHAL_STORE_LRU, model.capacity);
        } else if (what < 99) {
            ck_assert_int_eq(nnhal_store_clear(store), 0);
            memset(model.entries, 0, sizeof(model.entries));
        }
        compare(store, &model);
    }
    for (uint32_t key = 0; key < N_KEYS; key++)
        get_both(store, &model, key);
    nnhal_store_close(store);
    temp_folder_free(path);
}

TEST(a_store_does_what_its_model_does)
{
    const char *text = getenv("NN_TEST_ROUNDS");
    uint32_t n = text ? (uint32_t)strtoul(text, NULL, 10) : 60;

    for (uint32_t seed = 0; seed < n; seed++)
        run(seed);
}
TEST_END

CHECK_MAIN("prop-store", a_store_does_what_its_model_does)
