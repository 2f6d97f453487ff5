/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/token-map.h"

#include "base/error.h"
#include "base/sys.h"
#include "cache/folder.h"
#include "cache/own-folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAGIC           UINT64_C(0x70616d6b6f746e6e) /* "nntokmap" */
#define LONGEST_WAIT_NS UINT64_C(1000000000) /* a put takes microseconds: that one stopped */
#define NAP_NS          100000

enum {
    VERSION = 1,
    KEPT_EPOCHS = 3,   /* maps of other builds */
    EPOCH_BYTES = 8,   /* of the hash, in the file's name */
    MAX_EPOCHS = 1024, /* looked at in one folder */
    N_SETS = 1024,
    SET_RECORDS = 32,
    SET_BYTES = 4096,
    NAME_BYTES = 2 * EPOCH_BYTES + 16,
};

struct map_header {
    uint64_t magic;
    uint32_t version;
    uint32_t n_sets;
    struct nn_hash epoch;
    uint64_t sum; /* of what is before it */
};

struct map_record {
    uint8_t token[NNHAL_CACHE_TOKEN_BYTES];
    struct nn_hash current;
    struct nn_hash next;
    uint64_t age; /* within its set: the newest has the highest; 0: free */
    uint32_t uid;
    uint32_t place; /* in the file: one that was moved elsewhere is damaged */
    uint64_t sum;   /* of what is before it */
    uint64_t reserved;
};

_Static_assert(sizeof(struct map_record) * SET_RECORDS == SET_BYTES, "a set is a block");
_Static_assert(sizeof(struct map_header) == 56 && sizeof(struct map_header) <= SET_BYTES,
               "the header has a block");

struct nn_token_map {
    char *folder; /* NULL: the map was adopted */
    char name[NAME_BYTES];
    struct nn_hash epoch;
    pthread_mutex_t put_lock; /* threads share the descriptor, and with it the lock on the file */
    int fd;                   /* keeps its number when another file is opened: gets take no lock */
    pid_t pid;
};

struct map_set {
    uint32_t number;
    uint32_t n_damaged;
    struct map_record records[SET_RECORDS];
};

/* -- maps of other builds ---------------------------------------------------------- */

struct old_map {
    char *name;
    time_t time;
};

static int compare_age(const void *a, const void *b)
{
    const struct old_map *x = a, *y = b;

    return (x->time < y->time) - (x->time > y->time); /* newest first */
}

/* Removes what builds that are gone have left, in any format: all but the newest few. Only where a
 * map is made, because a folder is slow to read beside a hit. */
static void forget_old(const struct nn_folder *folder, const char *own)
{
    int fd = nn_sys_openat(folder->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct old_map old[MAX_EPOCHS];
    struct dirent *entry;
    struct stat status;
    size_t n = 0;

    if (fd >= 0 && !dir)
        close(fd);
    while (dir && n < MAX_EPOCHS && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, "tokens-", 7) != 0 || strcmp(entry->d_name, own) == 0 ||
            fstatat(folder->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        old[n] = (struct old_map){.name = strdup(entry->d_name), .time = status.st_mtime};
        n += old[n].name != NULL;
    }
    if (n)
        qsort(old, n, sizeof(*old), compare_age);
    for (size_t i = 0; i < n; i++) {
        if (i >= KEPT_EPOCHS)
            unlinkat(folder->fd, old[i].name, 0);
        free(old[i].name);
    }
    if (dir)
        closedir(dir);
}

/* -- locks --------------------------------------------------------------------------- */

static struct flock lock_range(short type, uint32_t block)
{
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)block * SET_BYTES,
                          .l_len = SET_BYTES};
}

/* Against other processes. One that was stopped while it held the lock must not stop this one: hence
 * a limit instead of F_OFD_SETLKW. */
static int block_lock(int fd, uint32_t block)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    struct flock lock = lock_range(F_WRLCK, block);
    uint64_t deadline_ns = 0;

    while (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return nn_error_origin(-errno);
        if (!deadline_ns)
            deadline_ns = nn_sys_now_ns() + LONGEST_WAIT_NS;
        else if (nn_sys_now_ns() >= deadline_ns)
            return nn_error_origin(-EBUSY);
        nanosleep(&nap, NULL);
    }
    return 0;
}

/* Not left to close(): a child that was forked meanwhile has the descriptor, too. */
static void block_unlock(int fd, uint32_t block)
{
    struct flock lock = lock_range(F_UNLCK, block);

    fcntl(fd, F_OFD_SETLK, &lock);
}

/* -- the file ------------------------------------------------------------------------ */

static struct map_header make_header(const struct nn_token_map *map)
{
    struct map_header header = {
        .magic = MAGIC, .version = VERSION, .n_sets = N_SETS, .epoch = map->epoch};

    header.sum = nn_hash_checksum(&header, offsetof(struct map_header, sum));
    return header;
}

static bool has_header(const struct nn_token_map *map, int fd)
{
    const struct map_header wanted = make_header(map);
    struct map_header found;

    return nn_sys_pread(fd, &found, sizeof(found), 0) == (ssize_t)sizeof(found) &&
           memcmp(&found, &wanted, sizeof(found)) == 0;
}

/* A file that is new or damaged becomes an empty map in place: processes that have it open go on
 * with the same file. Looked at again under the lock, as another may have done it meanwhile. */
static int file_init(const struct nn_token_map *map, const struct nn_folder *folder, int fd)
{
    const struct map_header header = make_header(map);
    int r = block_lock(fd, 0);

    if (r < 0)
        return nn_error_trace(r);
    if (!has_header(map, fd)) {
        r = nn_sys_ftruncate(fd, 0);
        if (r == 0)
            r = nn_sys_pwrite(fd, &header, sizeof(header), 0);
        forget_old(folder, map->name);
    }
    block_unlock(fd, 0);
    return nn_error_trace(r);
}

/* What is no ordinary file of ours (a link, another user's) is replaced. */
static int file_open(const struct nn_token_map *map, const struct nn_folder *folder)
{
    int fd = nn_folder_open_file(folder, map->name, O_CREAT);

    if (fd == -EROFS || fd == -EACCES) /* good for gets */
        return nn_sys_openat(folder->fd, map->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd != -EPERM && fd != -ELOOP)
        return fd;
    if (unlinkat(folder->fd, map->name, 0) < 0)
        return nn_error_origin(-errno);
    return nn_folder_open_file(folder, map->name, O_CREAT);
}

/* Returns: a descriptor, -errno. */
static int map_open_file(const struct nn_token_map *map)
{
    struct nn_folder folder;
    int fd, r = nn_own_folder_make(map->folder);

    if (r == 0)
        r = nn_folder_open(map->folder, &folder);
    if (r < 0)
        return nn_error_trace(r);
    fd = file_open(map, &folder);
    if (fd >= 0 && !has_header(map, fd))
        r = file_init(map, &folder, fd);
    nn_folder_close(&folder);
    if (fd >= 0 && r < 0)
        close(fd);
    return r < 0 ? nn_error_trace(r) : fd;
}

static int map_new(const struct nn_hash *epoch, struct nn_token_map **ret)
{
    struct nn_token_map *map = calloc(1, sizeof(*map));
    size_t n;

    if (!map)
        return nn_error_origin(-ENOMEM);
    pthread_mutex_init(&map->put_lock, NULL);
    map->fd = -1;
    map->pid = getpid();
    map->epoch = *epoch;
    n = (size_t)snprintf(map->name, sizeof(map->name), "tokens-");
    for (size_t i = 0; i < EPOCH_BYTES; i++)
        n += (size_t)snprintf(map->name + n, sizeof(map->name) - n, "%02x", epoch->bytes[i]);
    snprintf(map->name + n, sizeof(map->name) - n, ".map");
    *ret = map;
    return 0;
}

int nn_token_map_open(const char *folder, const struct nn_hash *epoch, struct nn_token_map **ret)
{
    _cleanup_(nn_token_map_freep) struct nn_token_map *map = NULL;
    int r = map_new(epoch, &map);

    if (r < 0)
        return nn_error_trace(r);
    map->folder = strdup(folder);
    if (!map->folder)
        return nn_error_origin(-ENOMEM);
    map->fd = map_open_file(map);
    if (map->fd == -ENOMEM)
        return nn_error_trace(map->fd);
    if (map->fd < 0)
        return nn_error_origin(-EIO);
    *ret = steal_ptr(&map);
    return 0;
}

int nn_token_map_adopt(int fd, const struct nn_hash *epoch, struct nn_token_map **ret)
{
    struct nn_token_map *map = NULL;
    int r = map_new(epoch, &map);

    if (r == 0 && !has_header(map, fd)) {
        nn_token_map_free(map);
        r = nn_error_origin(-EIO);
    }
    if (r < 0) {
        closep(&fd);
        return nn_error_trace(r);
    }
    map->fd = fd;
    *ret = map;
    return 0;
}

int nn_token_map_take_fd(struct nn_token_map *map)
{
    return steal_fd(&map->fd);
}

struct nn_token_map *nn_token_map_free(struct nn_token_map *map)
{
    if (!map)
        return NULL;
    closep(&map->fd);
    pthread_mutex_destroy(&map->put_lock);
    free(map->folder);
    free(map);
    return NULL;
}

/* Under put_lock. A file that was removed, perhaps with its folder, is made anew. Where that fails, or
 * the map was adopted, the one that is open goes on. Returns: whether there is another. */
static bool map_refresh(struct nn_token_map *map)
{
    struct stat status;
    int fd;

    if (!map->folder || fstat(map->fd, &status) < 0 || status.st_nlink > 0)
        return false;
    fd = map_open_file(map);
    if (fd < 0)
        return false;
    dup3(fd, map->fd, O_CLOEXEC);
    close(fd);
    return true;
}

/* -- sets ---------------------------------------------------------------------------- */

static uint32_t set_number(uint32_t uid, const uint8_t *token)
{
    uint8_t key[sizeof(uid) + NNHAL_CACHE_TOKEN_BYTES];

    memcpy(key, &uid, sizeof(uid));
    memcpy(key + sizeof(uid), token, NNHAL_CACHE_TOKEN_BYTES);
    return (uint32_t)(nn_hash_checksum(key, sizeof(key)) % N_SETS);
}

static bool record_is_intact(const struct map_record *record, uint32_t place)
{
    return record->place == place &&
           record->sum == nn_hash_checksum(record, offsetof(struct map_record, sum));
}

/* What was never written is zero, and so is what a shorter file has not. */
static void set_read(const struct nn_token_map *map, uint32_t number, struct map_set *ret_set)
{
    off_t offset = (off_t)(number + 1) * SET_BYTES;

    memset(ret_set, 0, sizeof(*ret_set));
    ret_set->number = number;
    nn_sys_pread(map->fd, ret_set->records, SET_BYTES, offset);
    for (uint32_t i = 0; i < SET_RECORDS; i++) {
        struct map_record *record = &ret_set->records[i];

        if (record_is_intact(record, number * SET_RECORDS + i))
            continue;
        ret_set->n_damaged += record->sum != 0;
        record->age = 0;
    }
}

static struct map_record *set_find(struct map_set *set, uint32_t uid, const uint8_t *token)
{
    for (uint32_t i = 0; i < SET_RECORDS; i++) {
        struct map_record *record = &set->records[i];

        if (record->age && record->uid == uid &&
            memcmp(record->token, token, sizeof(record->token)) == 0)
            return record;
    }
    return NULL;
}

/* Records of a user once putter has one more. Of users with as many, the putter counts as more. */
static uint32_t user_weight(const struct map_set *set, uint32_t uid, uint32_t putter)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < SET_RECORDS; i++)
        n += set->records[i].uid == uid;
    return 2 * n + (uid == putter ? 3 : 0);
}

/* Where a new record goes: a free one, else the oldest of the user who has most. */
static struct map_record *set_choose(struct map_set *set, uint32_t putter)
{
    struct map_record *chosen = NULL;
    uint32_t most = 0;

    for (uint32_t i = 0; i < SET_RECORDS; i++) {
        struct map_record *record = &set->records[i];
        uint32_t weight = user_weight(set, record->uid, putter);

        if (!record->age)
            return record;
        if (weight > most || (weight == most && record->age < chosen->age)) {
            chosen = record;
            most = weight;
        }
    }
    return chosen;
}

/* An age that is as high as can be was not made here: then the order is lost, nothing else. */
static uint64_t set_next_age(const struct map_set *set)
{
    uint64_t age = 0;

    for (uint32_t i = 0; i < SET_RECORDS; i++)
        if (set->records[i].age > age)
            age = set->records[i].age;
    return age < UINT64_MAX ? age + 1 : age;
}

/* -- tokens -------------------------------------------------------------------------- */

static int set_put(const struct nn_token_map *map, uint32_t uid, const uint8_t *token,
                   const struct nn_hash *hash, bool is_next)
{
    struct map_set set;
    struct map_record *record;
    uint64_t age;
    off_t offset;

    set_read(map, set_number(uid, token), &set);
    age = set_next_age(&set);
    record = set_find(&set, uid, token);
    if (!record) {
        record = set_choose(&set, uid);
        *record = (struct map_record){.uid = uid, .current = *hash};
        memcpy(record->token, token, sizeof(record->token));
    }
    if (!is_next)
        record->current = *hash;
    record->next = *hash;
    record->age = age;
    record->place = set.number * SET_RECORDS + (uint32_t)(record - set.records);
    record->sum = nn_hash_checksum(record, offsetof(struct map_record, sum));
    offset = (off_t)SET_BYTES + (off_t)record->place * (off_t)sizeof(*record);
    return nn_error_trace(nn_sys_pwrite(map->fd, record, sizeof(*record), offset));
}

static int map_put(struct nn_token_map *map, uint32_t uid, const uint8_t *token,
                   const struct nn_hash *hash, bool is_next)
{
    uint32_t block = set_number(uid, token) + 1;
    int r;

    if (map->pid != getpid())
        return nn_error_origin(-EIO);
    pthread_mutex_lock(&map->put_lock);
    map_refresh(map);
    r = block_lock(map->fd, block);
    if (r == 0) {
        r = set_put(map, uid, token, hash, is_next);
        block_unlock(map->fd, block);
    }
    pthread_mutex_unlock(&map->put_lock);
    return r < 0 ? nn_error_origin(-EIO) : 0;
}

int nn_token_map_put(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash)
{
    return map_put(map, uid, token, hash, false);
}

int nn_token_map_put_next(struct nn_token_map *map, uint32_t uid,
                          const uint8_t token[NNHAL_CACHE_TOKEN_BYTES], const struct nn_hash *hash)
{
    return map_put(map, uid, token, hash, true);
}

/* A record that is damaged may be one that another is writing at the moment: it is read again under
 * the lock. So is a file that was replaced. */
static struct map_record *set_find_again(struct nn_token_map *map, struct map_set *set,
                                         uint32_t uid, const uint8_t *token)
{
    bool is_replaced, is_locked = false;

    pthread_mutex_lock(&map->put_lock);
    is_replaced = map_refresh(map);
    if (set->n_damaged)
        is_locked = block_lock(map->fd, set->number + 1) == 0;
    if (is_replaced || is_locked)
        set_read(map, set->number, set);
    if (is_locked)
        block_unlock(map->fd, set->number + 1);
    pthread_mutex_unlock(&map->put_lock);
    return set_find(set, uid, token);
}

int nn_token_map_get(struct nn_token_map *map, uint32_t uid,
                     const uint8_t token[NNHAL_CACHE_TOKEN_BYTES],
                     struct nn_token_hashes *ret_hashes)
{
    struct map_set set;
    const struct map_record *record;

    if (map->pid != getpid())
        return NN_TOKEN_MAP_E_NONE;
    set_read(map, set_number(uid, token), &set);
    record = set_find(&set, uid, token);
    if (!record)
        record = set_find_again(map, &set, uid, token);
    if (!record)
        return NN_TOKEN_MAP_E_NONE;
    *ret_hashes = (struct nn_token_hashes){record->current, record->next};
    return 0;
}
