/* SPDX-License-Identifier: Apache-2.0 */
#include "cache/folder.h"

#include "base/error.h"
#include "base/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    KEY_CHARACTERS = NN_FOLDER_KEY_CHARACTERS,
    NAME_BYTES = NN_FOLDER_NAME_BYTES,
    MAX_FILES = 65536,      /* looked at when room is made */
    STALE_S = 3600,         /* a temporary file whose maker must be gone */
    FIRST_NAP_NS = 1000000, /* while another process compiles */
    LONGEST_NAP_NS = 20000000,
};

/* -- the folder and its lock ------------------------------------------------------ */

int nn_folder_open(const char *path, struct nn_folder *ret_folder)
{
    int fd = nn_sys_openat(AT_FDCWD, path[0] ? path : ".", O_RDONLY | O_DIRECTORY, 0);

    if (fd < 0)
        return nn_error_trace(fd);
    *ret_folder = (struct nn_folder){.fd = fd, .lock_fd = -1};
    return 0;
}

/* A child that was forked meanwhile shares the lock as long as it has a copy of the descriptor, so
 * that closing ours is not enough. */
void nn_folder_unlock(struct nn_folder *folder)
{
    struct flock unlock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    if (folder->lock_fd >= 0)
        fcntl(folder->lock_fd, F_OFD_SETLK, &unlock);
    closep(&folder->lock_fd);
    folder->lock_fd = -1;
}

void nn_folder_close(struct nn_folder *folder)
{
    nn_folder_unlock(folder);
    closep(&folder->fd);
    folder->fd = -1;
}

/* The folder may be another's, who may have put anything into it: a link that leads elsewhere, a
 * FIFO whose opening would wait. */
static int folder_open_file(const struct nn_folder *folder, const char *name, int flags,
                            struct stat *ret_status)
{
    int fd = nn_sys_openat(folder->fd, name, flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0600);

    if (fd >= 0 && (fstat(fd, ret_status) < 0 || !S_ISREG(ret_status->st_mode) ||
                    ret_status->st_uid != geteuid())) {
        close(fd);
        return nn_error_origin(-EPERM);
    }
    return fd;
}

int nn_folder_open_file(const struct nn_folder *folder, const char *name, int flags)
{
    struct stat status;

    return folder_open_file(folder, name, flags, &status);
}

/* Naps double, so that a short compilation is noticed soon and a long one costs few wake-ups. */
static void lock_nap(uint64_t *n_ns)
{
    const struct timespec time = {.tv_nsec = (long)*n_ns};

    nanosleep(&time, NULL);
    if (*n_ns < LONGEST_NAP_NS)
        *n_ns *= 2;
}

int nn_folder_lock(struct nn_folder *folder, const struct nn_hash *key, uint64_t deadline_ns)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    uint64_t place, wait_ns = FIRST_NAP_NS;
    int fd = nn_folder_open_file(folder, "lock", O_CREAT);

    if (fd < 0)
        return nn_error_trace(fd);
    memcpy(&place, key->bytes, sizeof(place));
    /* An offset is signed, and the byte locked must not be the last that there is. */
    lock.l_start = (off_t)(place >> 2);
    /* Tried again and again instead of F_OFD_SETLKW, which has no end: the holder may be
     * stopped. */
    while (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        if ((errno != EAGAIN && errno != EACCES && errno != EINTR) ||
            nn_sys_now_ns() >= deadline_ns) {
            int r = errno == EAGAIN || errno == EACCES ? NN_FOLDER_E_BUSY : -errno;

            close(fd);
            return r;
        }
        lock_nap(&wait_ns);
    }
    folder->lock_fd = fd;
    return 0;
}

/* -- names --------------------------------------------------------------------------- */

static void format_key(const struct nn_hash *key, char *name)
{
    for (size_t i = 0; i < NN_HASH_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", key->bytes[i]);
}

static void format_name(const struct nn_entry *set, bool is_model, uint32_t i, bool is_temporary,
                        char name[NAME_BYTES])
{
    format_key(&set->key, name);
    if (is_temporary)
        snprintf(name + KEY_CHARACTERS, NAME_BYTES - KEY_CHARACTERS, "-%c%u.%llx.tmp",
                 is_model ? 'm' : 'd', i, (unsigned long long)set->temporary);
    else
        snprintf(name + KEY_CHARACTERS, NAME_BYTES - KEY_CHARACTERS, "-%c%u", is_model ? 'm' : 'd',
                 i);
}

/* -- entries -------------------------------------------------------------------------- */

void nn_entry_init(struct nn_entry *set)
{
    *set = (struct nn_entry){0};
}

/* An entry that was not committed leaves nothing behind: its files are removed by the names they
 * have had until now, which no other process uses. */
void nn_entry_done(struct nn_entry *set)
{
    char name[NAME_BYTES];

    for (uint32_t i = 0; i < set->n_model + set->n_data; i++) {
        bool is_model = i < set->n_model;
        uint32_t k = is_model ? i : i - set->n_model;

        closep(is_model ? &set->model[k] : &set->data[k]);
        if (!set->temporary)
            continue;
        format_name(set, is_model, k, true, name);
        unlinkat(set->folder->fd, name, 0);
    }
    nn_entry_init(set);
}

/* Opens the files of a set that has folder, key and temporary; what is not there is made if
 * flags say so. *ret_first is the first model file's status: nothing is looked at twice on a
 * hit's way. */
static int entry_open_files(struct nn_entry *set, uint32_t n_model, uint32_t n_data, int flags,
                            struct stat *ret_first)
{
    char name[NAME_BYTES];

    while (set->n_model < n_model || set->n_data < n_data) {
        bool is_model = set->n_model < n_model;
        uint32_t k = is_model ? set->n_model : set->n_data;
        struct stat status;
        int fd;

        format_name(set, is_model, k, set->temporary != 0, name);
        fd = folder_open_file(set->folder, name, flags, &status);
        if (fd < 0) {
            nn_entry_done(set);
            return nn_error_trace(fd);
        }
        if (is_model && k == 0)
            *ret_first = status;
        if (is_model)
            set->model[set->n_model++] = fd;
        else
            set->data[set->n_data++] = fd;
    }
    return 0;
}

int nn_entry_find(struct nn_folder *folder, const struct nn_hash *key, uint32_t n_model,
                  uint32_t n_data, struct nn_entry *ret_set)
{
    struct stat first = {0};

    *ret_set = (struct nn_entry){.folder = folder, .key = *key};
    if (entry_open_files(ret_set, n_model, n_data, 0, &first) < 0)
        return NN_FOLDER_E_NONE;
    if (first.st_size == 0) { /* its maker died before it was whole */
        nn_entry_done(ret_set);
        return NN_FOLDER_E_NONE;
    }
    ret_set->inode = first.st_ino;
    futimens(ret_set->model[0], NULL); /* used now: the entry used longest ago goes first */
    return 0;
}

int nn_entry_create(struct nn_folder *folder, const struct nn_hash *key, uint32_t n_model,
                    uint32_t n_data, struct nn_entry *ret_set)
{
    static uint32_t last;
    uint64_t number = ((uint64_t)getpid() << 32) | __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    struct stat first;

    *ret_set = (struct nn_entry){.folder = folder, .key = *key, .temporary = number};
    return nn_error_trace(
        entry_open_files(ret_set, n_model, n_data, O_CREAT | O_EXCL | O_TRUNC, &first));
}

bool nn_entry_is_written(const struct nn_entry *set)
{
    struct stat status;

    return set->n_model && fstat(set->model[0], &status) == 0 && status.st_size > 0;
}

/* -- room --------------------------------------------------------------------------------- */

static bool is_entry_name(const char *name)
{
    return strlen(name) < NAME_BYTES && strspn(name, "0123456789abcdef") == KEY_CHARACTERS &&
           name[KEY_CHARACTERS] == '-';
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct nn_folder_file *)a)->name,
                  ((const struct nn_folder_file *)b)->name);
}

size_t nn_folder_list(const struct nn_folder *folder, struct nn_folder_file **ret_files)
{
    int fd = nn_sys_openat(folder->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct nn_folder_file *files = NULL;
    struct dirent *entry;
    size_t n = 0;

    if (fd >= 0 && !dir)
        close(fd);
    while (dir && n < MAX_FILES && (entry = readdir(dir))) {
        size_t n_name = strlen(entry->d_name) + 1;
        struct stat status;
        struct nn_folder_file *grown;

        /* Names that are not ours are left alone: the folder is the application's. */
        if (n_name > sizeof(files->name) || !is_entry_name(entry->d_name) ||
            fstatat(folder->fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        grown = (n & (n - 1)) ? files : realloc(files, (n ? 2 * n : 1) * sizeof(*files));
        if (!grown)
            break;
        files = grown;
        memcpy(files[n].name, entry->d_name, n_name);
        files[n].size = (uint64_t)status.st_size;
        files[n++].time_s = status.st_mtime;
    }
    if (dir)
        closedir(dir);
    if (n)
        qsort(files, n, sizeof(*files), by_key);
    *ret_files = files;
    return n;
}

bool nn_folder_file_is_temporary(const struct nn_folder_file *file)
{
    const char *end = strrchr(file->name, '.');

    return end && strcmp(end, ".tmp") == 0;
}

static bool is_stale(const struct nn_folder_file *file)
{
    return nn_folder_file_is_temporary(file) && file->time_s + STALE_S < time(NULL);
}

/* The entry whose files were all used least recently: [*ret_first, *ret_end). */
static void find_oldest(const struct nn_folder_file *files, size_t n, size_t *ret_first,
                        size_t *ret_end)
{
    int64_t oldest = INT64_MAX;
    size_t end;

    for (size_t first = 0; first < n; first = end) {
        int64_t newest = INT64_MIN;

        for (end = first; end < n && !memcmp(files[end].name, files[first].name, KEY_CHARACTERS);
             end++)
            if (files[end].size && files[end].time_s > newest)
                newest = files[end].time_s;
        if (newest != INT64_MIN && newest < oldest) {
            oldest = newest;
            *ret_first = first;
            *ret_end = end;
        }
    }
}

/* Removes the oldest entries until the rest has at most max_bytes; never the one called own. */
static void folder_evict(const struct nn_folder *folder, const struct nn_hash *own,
                         uint64_t max_bytes)
{
    struct nn_folder_file *files;
    size_t n = nn_folder_list(folder, &files);
    char own_name[KEY_CHARACTERS + 1];
    uint64_t sum = 0;

    format_key(own, own_name);
    for (size_t i = 0; i < n; i++) {
        if (is_stale(&files[i])) {
            unlinkat(folder->fd, files[i].name, 0);
            files[i].size = 0;
        }
        sum += files[i].size;
        if (!memcmp(files[i].name, own_name, KEY_CHARACTERS))
            files[i].size = 0; /* counted, not to be found below */
    }
    /* Whole entries, because one with a file missing could only be refused. */
    while (sum > max_bytes) {
        size_t first = n, end = n;

        find_oldest(files, n, &first, &end);
        if (first == end)
            break;
        for (size_t i = first; i < end; i++) {
            unlinkat(folder->fd, files[i].name, 0);
            sum -= files[i].size;
            files[i].size = 0;
        }
    }
    free(files);
}

/* -- keeping ------------------------------------------------------------------------------- */

static int entry_commit_file(struct nn_entry *set, bool is_model, uint32_t k)
{
    char from[NAME_BYTES], to[NAME_BYTES];

    format_name(set, is_model, k, true, from);
    format_name(set, is_model, k, false, to);
    return nn_error_trace(nn_sys_renameat(set->folder->fd, from, to));
}

bool nn_entry_is_removed(const struct nn_entry *set)
{
    struct stat status;

    return set->n_model && fstat(set->model[0], &status) == 0 && status.st_nlink == 0;
}

int nn_entry_sync(const struct nn_entry *set)
{
    int r = 0;

    /* In the order of the names: after a power cut what has a name is on the disk. */
    for (uint32_t i = 0; r == 0 && i < set->n_data; i++)
        r = nn_sys_fdatasync(set->data[i]);
    for (uint32_t i = set->n_model; r == 0 && i-- > 0;)
        r = nn_sys_fdatasync(set->model[i]);
    return nn_error_trace(r);
}

/* The first model file comes last: with it the entry is there. A crash between two renames leaves
 * files of two versions, which the driver's hash refuses. */
int nn_entry_commit(struct nn_entry *set, uint64_t max_bytes)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < set->n_data; i++)
        r = entry_commit_file(set, false, i);
    for (uint32_t i = set->n_model; r == 0 && i-- > 0;)
        r = entry_commit_file(set, true, i);
    if (r < 0)
        return nn_error_trace(r);
    set->temporary = 0;
    folder_evict(set->folder, &set->key, max_bytes);
    return 0;
}
