/* SPDX-License-Identifier: Apache-2.0 */
/* The cache folders of applications, for people (nnhal/cache.h). */
#include "base/arena.h"
#include "base/error.h"
#include "cache/entry-file.h"
#include "cache/history.h"
#include "host/caching/cache-head.h"

#include <nnhal/cache.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

typedef int (*visit_fn)(void *ctx, const struct nnhal_folder_entry *entry);

/* A folder as it was found. */
struct look {
    struct nn_folder folder;
    struct nn_folder_file *files; /* sorted */
    size_t n_files;
    struct nn_history_record *notes;
    size_t n_notes;
};

/* The files of one key: [first, end) of the look's. */
struct group {
    const struct nn_folder_file *files;
    size_t n;
};

static void look_done(struct look *look)
{
    free(look->files);
    free(look->notes);
    nn_folder_close(&look->folder);
}

static int look_init(struct look *look, const char *directory)
{
    int r = nn_folder_open(directory, &look->folder);

    if (r < 0)
        return nn_error_trace(r);
    look->notes = calloc(NN_HISTORY_MAX, sizeof(*look->notes));
    if (!look->notes) {
        look_done(look);
        return nn_error_origin(-ENOMEM);
    }
    look->n_files = nn_folder_list(&look->folder, &look->files);
    look->n_notes = nn_history_read(&look->folder, look->notes);
    return 0;
}

static struct group group_at(const struct look *look, size_t first)
{
    struct group group = {.files = look->files + first};

    while (first + group.n < look->n_files &&
           memcmp(group.files[0].name, group.files[group.n].name, NN_FOLDER_KEY_CHARACTERS) == 0)
        group.n++;
    return group;
}

/* -- what is known of an entry ------------------------------------------------------------ */

static void format_key(const struct nn_hash *key, char text[65])
{
    for (size_t i = 0; i < NN_HASH_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", key->bytes[i]);
}

static void take_note(const struct nn_history_record *note, struct nnhal_folder_entry *entry)
{
    entry->outcome = note->outcome;
    snprintf(entry->device, sizeof(entry->device), "%s", note->device);
    snprintf(entry->why, sizeof(entry->why), "%.254s", note->why);
}

/* Whether the first model file, which is written last, has anything in it. */
static bool is_written(const struct group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (strcmp(group->files[i].name + NN_FOLDER_KEY_CHARACTERS, "-m0") == 0)
            return group->files[i].size > 0;
    return false;
}

static bool is_being_made(const struct group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (!nn_folder_file_is_temporary(&group->files[i]))
            return false;
    return true;
}

/* Also forgets the note, so that what is left in the end are those without an entry. */
static void entry_describe(struct look *look, const struct group *group,
                           struct nnhal_folder_entry *entry)
{
    char key[65];

    *entry = (struct nnhal_folder_entry){.n_files = (uint32_t)group->n};
    memcpy(entry->key, group->files[0].name, NN_FOLDER_KEY_CHARACTERS);
    for (size_t i = 0; i < group->n; i++) {
        entry->n_bytes += group->files[i].size;
        if (group->files[i].time_s > entry->used_s)
            entry->used_s = group->files[i].time_s;
    }
    entry->state = is_being_made(group) ? NNHAL_FOLDER_BEING_MADE
                   : is_written(group)  ? NNHAL_FOLDER_WHOLE
                                        : NNHAL_FOLDER_INCOMPLETE;
    for (size_t i = 0; i < look->n_notes; i++) {
        format_key(&look->notes[i].key, key);
        if (strcmp(key, entry->key) != 0)
            continue;
        take_note(&look->notes[i], entry);
        look->notes[i] = look->notes[--look->n_notes];
        break;
    }
}

/* -- whether it is whole -------------------------------------------------------------------- */

/* A file of the group, whole, in memory to be freed. */
static bool read_file(const struct look *look, const struct group *group, char kind,
                      uint32_t number, uint8_t **ret_bytes, uint64_t *ret_size)
{
    char name[NN_FOLDER_NAME_BYTES];
    _cleanup_(closep) int fd = -1;

    snprintf(name, sizeof(name), "%.*s-%c%u", NN_FOLDER_KEY_CHARACTERS, group->files[0].name, kind,
             number);
    fd = nn_folder_open_file(&look->folder, name, 0);
    return fd >= 0 && nn_entry_file_size(fd, ret_size) == 0 &&
           nn_entry_file_read(fd, *ret_size, ret_bytes) == 0;
}

static uint32_t count_kind(const struct group *group, char kind)
{
    uint32_t n = 0;

    for (size_t i = 0; i < group->n; i++)
        n += group->files[i].name[NN_FOLDER_KEY_CHARACTERS + 1] == kind &&
             !nn_folder_file_is_temporary(&group->files[i]);
    return n;
}

/* Buffer i of the head: those of the model files come first, the first behind the head. */
static bool file_is_right(const struct look *look, const struct group *group,
                          const struct nn_cache_head *head, uint64_t head_bytes, uint32_t i,
                          uint32_t n_model)
{
    _cleanup_(freep) uint8_t *bytes = NULL;
    bool is_data = i >= n_model;
    uint64_t size;

    if (!read_file(look, group, is_data ? 'd' : 'm', is_data ? i - n_model : i, &bytes, &size))
        return false;
    if (!is_data)
        return size == head->files[i].size + (i == 0 ? head_bytes : 0);
    return size == head->files[i].size && nn_hash_checksum(bytes, size) == head->files[i].sum;
}

static bool is_undamaged(const struct look *look, const struct group *group)
{
    _cleanup_(freep) uint8_t *bytes = NULL;
    uint32_t n_data = count_kind(group, 'd'), n_model;
    struct nn_cache_head head;
    struct nn_arena arena;
    uint64_t size, head_bytes;
    bool is_good;

    if (!read_file(look, group, 'm', 0, &bytes, &size))
        return false;
    nn_arena_init(&arena, 0);
    is_good = nn_cache_head_decode(bytes, size, &arena, &head, &head_bytes) &&
              head.n_files >= n_data;
    /* A driver without model files has one all the same, for the head. */
    n_model = is_good ? head.n_files - n_data : 0;
    is_good = is_good && count_kind(group, 'm') == (n_model ? n_model : 1);
    for (uint32_t i = 0; is_good && i < head.n_files; i++)
        is_good = file_is_right(look, group, &head, head_bytes, i, n_model);
    nn_arena_done(&arena);
    return is_good;
}

static void remove_group(const struct look *look, const struct group *group)
{
    for (size_t i = 0; i < group->n; i++)
        if (!nn_folder_file_is_temporary(&group->files[i]))
            unlinkat(look->folder.fd, group->files[i].name, 0);
}

/* -- the public functions --------------------------------------------------------------------- */

static int visit_notes(const struct look *look, visit_fn visit, void *ctx)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < look->n_notes; i++) {
        struct nnhal_folder_entry entry = {.state = NNHAL_FOLDER_NOT_THERE,
                                           .used_s = look->notes[i].time_s};

        format_key(&look->notes[i].key, entry.key);
        take_note(&look->notes[i], &entry);
        r = visit(ctx, &entry);
    }
    return r;
}

static int visit_all(const char *directory, bool must_verify, visit_fn visit, void *ctx)
{
    struct look look = {.n_files = 0};
    struct group group;
    int r = look_init(&look, directory);

    if (r < 0)
        return nn_error_trace(r);
    for (size_t first = 0; r == 0 && first < look.n_files; first += group.n) {
        struct nnhal_folder_entry entry;

        group = group_at(&look, first);
        entry_describe(&look, &group, &entry);
        if (must_verify && entry.state == NNHAL_FOLDER_WHOLE && !is_undamaged(&look, &group))
            entry.state = NNHAL_FOLDER_DAMAGED;
        if (must_verify && entry.state != NNHAL_FOLDER_WHOLE)
            remove_group(&look, &group);
        if (visit)
            r = visit(ctx, &entry);
    }
    if (r == 0 && visit)
        r = visit_notes(&look, visit, ctx);
    look_done(&look);
    return r;
}

_public_ int nnhal_folder_list(const char *directory, visit_fn visit, void *ctx)
{
    return visit_all(directory, false, visit, ctx);
}

_public_ int nnhal_folder_verify(const char *directory, visit_fn visit, void *ctx)
{
    return visit_all(directory, true, visit, ctx);
}

_public_ int nnhal_folder_clear(const char *directory)
{
    struct look look = {.n_files = 0};
    struct group group;
    int r = look_init(&look, directory);

    if (r < 0)
        return nn_error_trace(r);
    for (size_t first = 0; first < look.n_files; first += group.n) {
        group = group_at(&look, first);
        remove_group(&look, &group);
    }
    nn_history_clear(&look.folder);
    look_done(&look);
    return 0;
}
