/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/history.h"

#include "base/sys.h"

#include <fcntl.h>
#include <string.h>

/* As it stands in the file. */
struct history_record {
    uint64_t sum; /* of the note */
    struct nn_history_record note;
};

_Static_assert(sizeof(struct nn_history_record) == 32 + 8 + 4 + 64 + 256 + 4,
               "a record has a fixed size");

static uint64_t record_index(const struct nn_hash *key)
{
    uint64_t number;

    memcpy(&number, key->bytes, sizeof(number));
    return number % NN_HISTORY_MAX;
}

void nn_history_write(const struct nn_folder *folder, const struct nn_history_record *note)
{
    _cleanup_(closep) int fd = nn_folder_open_file(folder, "notes", O_CREAT);
    struct history_record record;

    if (fd < 0)
        return;
    memset(&record, 0, sizeof(record)); /* the padding is summed as well */
    memcpy(&record.note, note, sizeof(*note));
    record.sum = nn_hash_checksum(&record.note, sizeof(record.note));
    /* No lock: two that write at once damage one note, which its sum shows. */
    nn_sys_pwrite(fd, &record, sizeof(record), (off_t)(record_index(&note->key) * sizeof(record)));
}

/* Whether it is whole, and where it belongs. */
static bool record_is_valid(const struct history_record *record, size_t place)
{
    const struct nn_history_record *note = &record->note;

    return record->sum == nn_hash_checksum(note, sizeof(*note)) &&
           record_index(&note->key) == place && memchr(note->device, 0, sizeof(note->device)) &&
           memchr(note->why, 0, sizeof(note->why));
}

size_t nn_history_read(const struct nn_folder *folder, struct nn_history_record *ret_notes)
{
    _cleanup_(closep) int fd = nn_folder_open_file(folder, "notes", 0);
    struct history_record record;
    size_t n = 0;

    for (size_t i = 0; fd >= 0 && i < NN_HISTORY_MAX; i++)
        if (nn_sys_pread(fd, &record, sizeof(record), (off_t)(i * sizeof(record))) ==
                (ssize_t)sizeof(record) &&
            record_is_valid(&record, i))
            ret_notes[n++] = record.note;
    return n;
}

void nn_history_clear(const struct nn_folder *folder)
{
    unlinkat(folder->fd, "notes", 0);
}
