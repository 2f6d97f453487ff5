/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "cache/entry-file.h"
#include "cache/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAME_BYTES = 32,
    NUMBER_DIGITS = 16,
    MAX_TRIES = 100,
    TRY_US = 1000,
};

static void put_name(int64_t id, bool is_temporary, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "v-%016llx%s", (unsigned long long)id, is_temporary ? ".tmp" : "");
}

/* Whether name is one that put_name() makes. */
static bool parse_name(const char *name, int64_t *ret_id, bool *ret_is_temporary)
{
    char again[NAME_BYTES], *end;

    if (strncmp(name, "v-", 2) != 0 || strlen(name) < 2 + NUMBER_DIGITS)
        return false;
    *ret_id = (int64_t)strtoull(name + 2, &end, 16);
    *ret_is_temporary = *end != '\0';
    put_name(*ret_id, *ret_is_temporary, again);
    return strcmp(name, again) == 0;
}

int nn_store_folder_open(struct nnhal_store *store)
{
    int fd = nn_sys_openat(AT_FDCWD, store->db.folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

    if (fd < 0)
        return nn_error_trace(fd);
    closep(&store->folder_fd);
    store->folder_fd = fd;
    return 0;
}

/* Locks a file that this process has just made.
 * Returns: whether it still has its name: between the two steps a sweep of another process takes
 * it for one whose maker is dead, and removes it. */
static bool lock_temporary(int fd)
{
    struct stat status;

    /* Where files cannot be locked no sweep takes one. */
    return (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) && fstat(fd, &status) == 0 &&
           status.st_nlink > 0;
}

/* Each try loses against one sweep at most; a folder is swept when it is opened. */
static int make_temporary(struct nnhal_store *store, const char *name)
{
    for (unsigned n = 0; n < MAX_TRIES; n++) {
        int fd = nn_sys_openat(store->folder_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
                               0600);

        if (fd >= 0 && lock_temporary(fd))
            return fd;
        if (fd >= 0)
            close(fd);
        else if (fd != -EEXIST) /* its sweeper has yet to remove it */
            return nn_error_trace(fd);
        usleep(TRY_US);
    }
    return nn_error_origin(-EBUSY);
}

int nn_store_file_write(struct nnhal_store *store, int64_t id, const struct nn_hash_part *parts,
                        size_t n_parts, int *ret_fd)
{
    char name[NAME_BYTES];
    int fd, r;

    put_name(id, true, name);
    fd = make_temporary(store, name);
    if (fd < 0)
        return nn_error_trace(fd);
    r = nn_entry_file_write(fd, parts, n_parts);
    if (r < 0) {
        unlinkat(store->folder_fd, name, 0);
        close(fd);
        return nn_error_trace(r);
    }
    *ret_fd = fd;
    return 0;
}

int nn_store_file_commit(struct nnhal_store *store, int64_t id)
{
    char from[NAME_BYTES], to[NAME_BYTES];

    put_name(id, true, from);
    put_name(id, false, to);
    return nn_error_trace(nn_sys_renameat(store->folder_fd, from, to));
}

void nn_store_file_remove(struct nnhal_store *store, int64_t id)
{
    char name[NAME_BYTES];

    for (int is_temporary = 0; is_temporary < 2; is_temporary++) {
        put_name(id, is_temporary, name);
        unlinkat(store->folder_fd, name, 0);
    }
}

int nn_store_file_open(struct nnhal_store *store, int64_t id, uint64_t n_bytes)
{
    char name[NAME_BYTES];
    struct stat status;
    int fd;

    put_name(id, false, name);
    fd = nn_sys_openat(store->folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return nn_error_trace(fd);
    /* Its size is checked before memory for it is taken: the row may be damaged, or the file. */
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        (uint64_t)status.st_size != n_bytes) {
        close(fd);
        return nn_error_origin(-EPERM);
    }
    return fd;
}

bool nn_store_found_is_unreadable(const struct nn_store_found *found)
{
    return found->fd == -EMFILE || found->fd == -ENFILE || found->fd == -ENOMEM;
}

/* A temporary file whose maker is alive is locked. The lock is held until the name is gone, so that
 * a maker that gets it knows whether it still has one. */
static void remove_abandoned(const struct nnhal_store *store, const char *name)
{
    _cleanup_(closep) int fd = nn_sys_openat(store->folder_fd, name,
                                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM) /* it may have a maker */
        return;
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0)
        return;
    unlinkat(store->folder_fd, name, 0);
}

void nn_store_sweep(struct nnhal_store *store, bool (*has)(struct nnhal_store *store, int64_t id))
{
    int fd = nn_sys_openat(store->folder_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool is_temporary;
    int64_t id;

    if (fd >= 0 && !dir)
        close(fd);
    while (dir && (entry = readdir(dir))) {
        if (!parse_name(entry->d_name, &id, &is_temporary))
            continue;
        if (is_temporary)
            remove_abandoned(store, entry->d_name);
        else if (!has(store, id))
            unlinkat(store->folder_fd, entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
}
