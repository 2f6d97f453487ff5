/* SPDX-License-Identifier: Apache-2.0 */
/* token-map.c - a map of tokens whose file is changed anywhere: a token is unknown or has the hash
 * that was put, and what is put afterwards is there
 *
 * The input: changes of 8 bytes, each to the header or to a set that has records: write two bytes,
 * cut the file, move a record, write zeroes. */
#include "fuzz.h"

#include "cache/token-map.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK_BYTES = 4096,
    RECORD_BYTES = 128,
    N_TOKENS = 4,
    MAX_CHANGES = 64,
};

struct change {
    uint8_t what;
    uint8_t block;
    uint16_t offset;
    uint16_t value;
    uint16_t length;
};

static const struct nn_hash epoch = {.bytes = {1, 2, 3}};
static char folder[64];
static off_t blocks[N_TOKENS + 1]; /* the header's, and those that have records */
static uint32_t n_blocks;

static void make_token(uint8_t number, uint8_t token[NNHAL_CACHE_TOKEN_BYTES])
{
    memset(token, number, NNHAL_CACHE_TOKEN_BYTES);
}

static struct nn_hash make_hash(uint8_t number)
{
    struct nn_hash hash;

    memset(&hash, number + 100, sizeof(hash));
    return hash;
}

static int file_open(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int fd = -1;

    FUZZ_CHECK(dir);
    while (fd < 0 && (entry = readdir(dir)))
        if (strncmp(entry->d_name, "tokens-", 7) == 0)
            fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);
    closedir(dir);
    FUZZ_CHECK(fd >= 0);
    return fd;
}

static void folder_remove(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* Blocks with something in them, once: the places depend on user and token alone. */
static void blocks_find(int fd)
{
    static const uint8_t nothing[BLOCK_BYTES];
    uint8_t block[BLOCK_BYTES];
    off_t at = 0;

    for (; n_blocks < N_TOKENS + 1 && pread(fd, block, sizeof(block), at) > 0; at += BLOCK_BYTES)
        if (memcmp(block, nothing, sizeof(block)) != 0)
            blocks[n_blocks++] = at;
    FUZZ_CHECK(n_blocks >= 2);
}

static void file_change(int fd, const struct change *change)
{
    static const uint8_t nothing[BLOCK_BYTES];
    off_t block = blocks[change->block % n_blocks];
    off_t at = block + change->offset % (BLOCK_BYTES - 2);
    uint8_t record[RECORD_BYTES];

    switch (change->what % 4) {
    case 0:
        FUZZ_CHECK(pwrite(fd, &change->value, 2, at) == 2);
        break;
    case 1:
        FUZZ_CHECK(ftruncate(fd, at) == 0);
        break;
    case 2:
        at = block + change->offset % (BLOCK_BYTES / RECORD_BYTES) * RECORD_BYTES;
        if (pread(fd, record, sizeof(record), at) == (ssize_t)sizeof(record))
            FUZZ_CHECK(pwrite(fd, record, sizeof(record),
                              blocks[change->value % n_blocks] +
                                  change->length % (BLOCK_BYTES / RECORD_BYTES) * RECORD_BYTES) >
                       0);
        break;
    default:
        FUZZ_CHECK(pwrite(fd, nothing, change->length % BLOCK_BYTES + 1u, at) > 0);
        break;
    }
}

static void put_all(struct nn_token_map *map)
{
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES];

    for (uint8_t i = 0; i < N_TOKENS; i++) {
        struct nn_hash hash = make_hash(i);

        make_token(i, token);
        FUZZ_CHECK(nn_token_map_put(map, i, token, &hash) == 0);
    }
}

/* Each is what was put; all are there, if they must. */
static void get_all(struct nn_token_map *map, bool must)
{
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES];

    for (uint8_t i = 0; i < N_TOKENS; i++) {
        struct nn_hash hash = make_hash(i);
        struct nn_token_hashes found;
        int r;

        make_token(i, token);
        r = nn_token_map_get(map, i, token, &found);
        FUZZ_CHECK(r == 0 || (r == NN_TOKEN_MAP_E_NONE && !must));
        FUZZ_CHECK(r != 0 || memcmp(&found.current, &hash, sizeof(hash)) == 0);
        FUZZ_CHECK(r != 0 || memcmp(&found.next, &hash, sizeof(hash)) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct nn_token_map *map, *other;
    struct change change;
    int fd;

    snprintf(folder, sizeof(folder), "%s/nnhal-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    FUZZ_CHECK(mkdtemp(folder));
    FUZZ_CHECK(nn_token_map_open(folder, &epoch, &map) == 0);
    put_all(map);
    get_all(map, true);
    fd = file_open();
    if (n_blocks == 0)
        blocks_find(fd);
    for (size_t i = 0; i < MAX_CHANGES && n_bytes >= sizeof(change); i++) {
        memcpy(&change, bytes, sizeof(change));
        file_change(fd, &change);
        bytes += sizeof(change);
        n_bytes -= sizeof(change);
    }
    close(fd);
    get_all(map, false);
    FUZZ_CHECK(nn_token_map_open(folder, &epoch, &other) == 0);
    get_all(other, false);
    put_all(other);
    get_all(other, true);
    nn_token_map_free(other);
    nn_token_map_free(map);
    folder_remove();
    return 0;
}
