/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/store.h"

#include <stdio.h>

enum {
    RECORD_BYTES = 256,  /* of an entry, beside key and value */
    USABLE_BYTES = 4000, /* of a page */
    SPARE_PAGES = 8,     /* that an insertion may need beside the entry's own */
    EMPTY_PAGES = 8,     /* of a database without entries */
};

/* What is there when the old entry has gone, and what is to come. */
struct room {
    const struct nn_store_row *old;
    uint64_t n_bytes;    /* of the new entry */
    uint64_t file_bytes; /* of its file */
    uint64_t n_pages;    /* that it may need in the database */
};

static bool evict_entry(struct nnhal_store *store, const struct room *room)
{
    struct nn_store_row row;

    if (!nn_store_choose_victim(store, room->old->id, &row) || !nn_store_delete(store, &row))
        return false;
    store->state.n_evictions++;
    return true;
}

/* Entries without the one that is replaced. */
static uint64_t count_others(const struct nnhal_store *store, const struct room *room)
{
    return store->state.n_entries - (room->old->id ? 1 : 0);
}

static uint64_t bytes_of_others(const struct nnhal_store *store, const struct room *room)
{
    return store->state.n_bytes - room->old->n_bytes;
}

/* Whether the state's sums can be those of the others: else no eviction would ever make room. */
static bool has_sound_sums(const struct nnhal_store *store, const struct room *room)
{
    const struct nn_store_state *state = &store->state;

    if (state->n_entries < (room->old->id ? 1 : 0) || state->n_bytes < room->old->n_bytes ||
        state->file_bytes < room->old->file_bytes)
        return false;
    return count_others(store, room) > 0 ||
           (state->n_bytes == room->old->n_bytes && state->file_bytes == room->old->file_bytes);
}

/* What the sum of the others is brought down to if the new entry does not fit; false: it is
 * refused. */
static bool choose_target(const struct nnhal_store *store, uint64_t n_bytes, uint64_t *ret_target)
{
    const uint64_t max = store->max_total_bytes;

    switch (store->capacity) {
    case NNHAL_STORE_HALVE:
        *ret_target = max / 2;
        return true;
    case NNHAL_STORE_FIT_HALVE:
        *ret_target = n_bytes <= max / 2 ? max / 2 - n_bytes : 0;
        return n_bytes <= max / 2;
    default:
        *ret_target = max - n_bytes;
        return true;
    }
}

/* -- the directory ------------------------------------------------------------------------ */

/* Pages in use and files, with the new entry. */
static bool measure_disk(struct nnhal_store *store, const struct room *room, uint64_t *ret_used,
                         uint64_t *ret_n_pages, uint64_t *ret_n_free)
{
    if (!nn_store_pages(store, ret_n_pages, ret_n_free))
        return false;
    *ret_used = (*ret_n_pages - *ret_n_free + room->n_pages) * NN_STORE_BLOCK_BYTES +
                store->state.file_bytes - room->old->file_bytes + room->file_bytes;
    return true;
}

/* Gives free pages back, as many as the new entry will not fill. */
static bool shrink_database(struct nnhal_store *store, const struct room *room, uint64_t used,
                            uint64_t n_pages, uint64_t n_free)
{
    uint64_t n_spare = n_free > room->n_pages ? n_free - room->n_pages : 0;
    char sql[64];

    if (n_spare == 0 || used + n_spare * NN_STORE_BLOCK_BYTES <= store->max_disk_bytes)
        return true;
    snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%llu)", (unsigned long long)n_spare);
    return nn_db_exec(&store->db, sql);
}

static bool evict_for_disk(struct nnhal_store *store, const struct room *room, bool *ret_fits)
{
    uint64_t used, n_pages, n_free;

    if (!measure_disk(store, room, &used, &n_pages, &n_free))
        return false;
    while (used > store->max_disk_bytes && count_others(store, room))
        if (!evict_entry(store, room) || !measure_disk(store, room, &used, &n_pages, &n_free))
            return false;
    *ret_fits = used <= store->max_disk_bytes;
    return shrink_database(store, room, used, n_pages, n_free);
}

/* -- both ------------------------------------------------------------------------------------ */

static bool evict_for_total(struct nnhal_store *store, const struct room *room, bool *ret_fits)
{
    const uint64_t max = store->max_total_bytes;
    uint64_t target;

    *ret_fits = bytes_of_others(store, room) + room->n_bytes <= max;
    if (*ret_fits || !choose_target(store, room->n_bytes, &target))
        return true;
    while (bytes_of_others(store, room) > target && count_others(store, room))
        if (!evict_entry(store, room))
            return false;
    *ret_fits = bytes_of_others(store, room) + room->n_bytes <= max;
    return true;
}

bool nn_store_evict(struct nnhal_store *store, const struct nn_store_row *old,
                    const struct nn_store_row *row, uint64_t db_bytes, bool *ret_fits)
{
    const struct room room = {
        .old = old,
        .n_bytes = row->n_bytes,
        .file_bytes = row->file_bytes,
        .n_pages = (db_bytes + RECORD_BYTES) / USABLE_BYTES + 1 + SPARE_PAGES,
    };

    if (!has_sound_sums(store, &room))
        return nn_store_declare_damaged(store);
    /* What an empty directory has no room for evicts nothing. */
    *ret_fits = room.file_bytes + (room.n_pages + EMPTY_PAGES) * NN_STORE_BLOCK_BYTES <=
                store->max_disk_bytes;
    if (!*ret_fits)
        return true;
    if (!evict_for_total(store, &room, ret_fits) ||
        (*ret_fits && !evict_for_disk(store, &room, ret_fits)))
        return false;
    return has_sound_sums(store, &room) || nn_store_declare_damaged(store);
}
