/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a store, for people: statistics, the list of entries, and whether they are whole. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "cache/store.h"

#include <stddef.h>
#include <string.h>

/* -- statistics ------------------------------------------------------------------------- */

static bool take_stats(struct nnhal_store *store, void *ctx)
{
    struct nnhal_store_stats *stats = ctx;
    const struct nn_store_state *state = &store->state;
    uint64_t n_pages, n_free;

    if (!nn_store_pages(store, &n_pages, &n_free))
        return false;
    *stats = (struct nnhal_store_stats){
        .n_entries = state->n_entries,
        .n_bytes = state->n_bytes,
        .disk_bytes = n_pages * NN_STORE_BLOCK_BYTES + state->file_bytes,
        .n_hits = state->n_hits,
        .n_misses = state->n_misses,
        .n_sets = state->n_sets,
        .n_evictions = state->n_evictions,
        .n_damaged = state->n_damaged,
    };
    return true;
}

_public_ int nnhal_store_get_stats(struct nnhal_store *store, struct nnhal_store_stats *stats)
{
    const size_t first = offsetof(struct nnhal_store_stats, n_entries);
    struct nnhal_store_stats all = {0};
    size_t size = stats->size;
    int r;

    if (size < first + sizeof(stats->n_entries))
        return nn_error_origin(-EINVAL);
    nn_db_lock();
    r = nn_store_transact(store, take_stats, &all);
    nn_db_unlock();
    if (r != 0)
        return r;
    if (size > sizeof(all))
        size = sizeof(all);
    memcpy((char *)stats + first, (const char *)&all + first, size - first);
    return 0;
}

/* -- lists ------------------------------------------------------------------------------ */

struct listing {
    bool is_checked;
    struct nn_store_rows rows;
};

static void listing_done(struct listing *listing)
{
    free(listing->rows.entries);
    free(listing->rows.ids);
    listing->rows = (struct nn_store_rows){0};
}

static bool take_list(struct nnhal_store *store, void *ctx)
{
    struct listing *listing = ctx;

    listing_done(listing); /* of a database that has been replaced */
    return (!listing->is_checked || nn_store_check(store)) &&
           nn_store_list_rows(store, &listing->rows);
}

static int list_entries(struct nnhal_store *store, struct listing *listing)
{
    int r;

    nn_db_lock();
    r = nn_store_transact(store, take_list, listing);
    nn_db_unlock();
    return r;
}

_public_ int nnhal_store_list(struct nnhal_store *store, nnhal_store_visit visit, void *ctx)
{
    _cleanup_(listing_done) struct listing listing = {.is_checked = false};
    int r = list_entries(store, &listing);

    for (size_t i = 0; r == 0 && i < listing.rows.n; i++)
        r = visit(ctx, &listing.rows.entries[i]);
    return r;
}

/* -- verifying -------------------------------------------------------------------------- */

struct verification {
    int64_t id;
    bool is_gone;
    bool is_damaged;
};

/* *ret_is_intact: whether the value is what was set. Returns: false if there is no memory to look
 * at it. */
static bool found_check(struct nnhal_store *store, const struct nn_store_found *found,
                        bool *ret_is_intact)
{
    uint64_t n_value = found->row.n_bytes - found->n_key;
    _cleanup_(freep) uint8_t *read = NULL;
    const uint8_t *value = found->value;

    *ret_is_intact = false;
    if (!value && found->fd < 0)
        return true;
    if (!value) {
        value = read = malloc((size_t)n_value);
        if (!read) {
            store->db.failure = SQLITE_NOMEM;
            return false;
        }
        if (nn_sys_pread(found->fd, read, (size_t)n_value, 0) != (ssize_t)n_value)
            return true;
    }
    *ret_is_intact = nn_store_is_intact(found->key, found->n_key, value, n_value, &found->row.hash);
    return true;
}

/* Removes an entry that is not what was set. The whole database is locked meanwhile: no process can
 * replace it in between. */
static bool verify_entry(struct nnhal_store *store, void *ctx)
{
    struct verification *verification = ctx;
    struct nn_store_found found;
    bool is_good = nn_store_find_id(store, verification->id, &found), is_intact = true;

    if (is_good && nn_store_found_is_unreadable(&found)) {
        store->db.failure = SQLITE_NOMEM;
        is_good = false;
    }
    if (is_good && found.row.id)
        is_good = found_check(store, &found, &is_intact);
    verification->is_gone = is_good && !found.row.id;
    verification->is_damaged = is_good && !is_intact;
    if (verification->is_damaged) {
        store->state.n_damaged++;
        is_good = nn_store_delete(store, &found.row);
    }
    nn_store_found_done(&found);
    return is_good;
}

_public_ int nnhal_store_verify(struct nnhal_store *store, nnhal_store_visit visit, void *ctx)
{
    _cleanup_(listing_done) struct listing listing = {.is_checked = true};
    const struct nn_store_rows *rows = &listing.rows;
    int r = list_entries(store, &listing);

    for (size_t i = 0; r == 0 && i < rows->n; i++) {
        struct verification verification = {.id = rows->ids[i]};

        nn_db_lock();
        r = nn_store_transact(store, verify_entry, &verification);
        nn_db_unlock();
        rows->entries[i].is_damaged = verification.is_damaged;
        if (r == 0 && visit && !verification.is_gone)
            r = visit(ctx, &rows->entries[i]);
    }
    return r;
}
