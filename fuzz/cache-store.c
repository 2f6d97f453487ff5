/* SPDX-License-Identifier: Apache-2.0 */
/* cache-store.c - any bytes in the place of a store's database: misses, and then it works
 *
 * The input is store.db. */
#include "fuzz.h"

#include <nnhal/cache.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static char folder[64], file[80];

static int visit(void *ctx, const struct nnhal_store_entry *entry)
{
    FUZZ_CHECK(entry->n_key <= sizeof(entry->key));
    return 0;
}

/* An entry that is found holds bytes that were set: the sums say so. */
static void use(struct nnhal_store *store)
{
    struct nnhal_store_stats stats = {.size = sizeof(stats)};
    char value[64];
    size_t n = 0;
    int r = nnhal_store_get(store, "key", 3, value, sizeof(value), &n);

    FUZZ_CHECK(r == 0 || r == NNHAL_STORE_E_NONE || r == NNHAL_STORE_E_TOO_SMALL);
    FUZZ_CHECK(nnhal_store_list(store, visit, NULL) == 0);
    FUZZ_CHECK(nnhal_store_verify(store, visit, NULL) == 0);
    FUZZ_CHECK(nnhal_store_set(store, "key", 3, "value", 5) == 0);
    FUZZ_CHECK(nnhal_store_get(store, "key", 3, value, sizeof(value), &n) == 0);
    FUZZ_CHECK(n == 5 && memcmp(value, "value", 5) == 0);
    FUZZ_CHECK(nnhal_store_get_stats(store, &stats) == 0 && stats.n_entries >= 1);
    FUZZ_CHECK(nnhal_store_remove(store, "key", 3) == 0);
}

static void remove_folder(void)
{
    char journal[96];

    snprintf(journal, sizeof(journal), "%s-journal", file);
    unlink(journal);
    unlink(file);
    rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct nnhal_store *store = NULL;
    int fd;

    snprintf(folder, sizeof(folder), "%s/nnhal-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/store.db", folder);
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL, 0600);
    FUZZ_CHECK(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes);
    close(fd);
    FUZZ_CHECK(nnhal_store_open(folder, NULL, &store) == 0);
    use(store);
    nnhal_store_close(store);
    remove_folder();
    return 0;
}
