/* SPDX-License-Identifier: Apache-2.0 */
/* cache-entry.c - the first model file of an entry: read whole, of any content, and its head
 * taken apart
 *
 * The input is the file. What a head says is inside of it, and a head that is made from what was
 * read says the same. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "cache/entry-file.h"
#include "host/caching/cache-head.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void judge(const struct nn_cache_head *head, struct nn_arena *arena)
{
    const uint8_t *encoded;
    struct nn_cache_head again;
    uint64_t n_encoded, n_again;

    FUZZ_CHECK(nn_cache_head_encode(head, arena, &encoded, &n_encoded) == 0);
    FUZZ_CHECK(n_encoded % 64 == 0);
    FUZZ_CHECK(nn_cache_head_decode(encoded, n_encoded, arena, &again, &n_again));
    FUZZ_CHECK(n_again == n_encoded && again.n_files == head->n_files &&
               again.priority == head->priority && again.io.n_inputs == head->io.n_inputs &&
               again.io.n_outputs == head->io.n_outputs);
    FUZZ_CHECK(head->n_files == 0 ||
               memcmp(again.files, head->files, head->n_files * sizeof(*head->files)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const struct nn_hash_part part = {bytes, n_bytes};
    _cleanup_(freep) uint8_t *read = NULL;
    _cleanup_(closep) int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct nn_cache_head head;
    struct nn_arena arena;
    uint64_t size = 0, head_bytes = 0;

    FUZZ_CHECK(fd >= 0 && nn_entry_file_is_writable(fd));
    FUZZ_CHECK(lseek(fd, 3, SEEK_SET) == 3); /* an offset means nothing */
    FUZZ_CHECK(nn_entry_file_write(fd, &part, 1) == 0);
    FUZZ_CHECK(nn_entry_file_size(fd, &size) == 0 && size == n_bytes);
    FUZZ_CHECK(nn_entry_file_read(fd, size + 1, &read) == NN_ENTRY_FILE_E_UNUSABLE);
    FUZZ_CHECK(nn_entry_file_read(fd, size, &read) == 0);
    FUZZ_CHECK(n_bytes == 0 || memcmp(read, bytes, n_bytes) == 0);
    nn_arena_init(&arena, 0);
    if (nn_cache_head_decode(read, size, &arena, &head, &head_bytes)) {
        FUZZ_CHECK(head_bytes <= n_bytes);
        judge(&head, &arena);
    }
    nn_arena_done(&arena);
    return 0;
}
