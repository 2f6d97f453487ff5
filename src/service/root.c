/* SPDX-License-Identifier: Apache-2.0 */
#include "service/root.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Where the new root is mounted until it is the root: a folder that every machine has. What lies
 * below was opened before. */
#define ANCHOR "/usr"

/* A path of the machine, opened while all of it can be seen. */
struct root_part {
    const char *path;
    char real[PATH_MAX]; /* without links */
    bool is_folder;
    int tree_fd; /* a copy of the mounts there; -1: the path is absent */
};

/* -- what is taken along --------------------------------------------------------------------- */

static int part_open(struct root_part *part, const struct nn_grant_path *grant)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_NOSUID | (grant->access == NN_GRANT_READ ? MOUNT_ATTR_RDONLY : 0),
    };
    struct stat status;

    part->path = grant->path;
    part->tree_fd = -1;
    if (!realpath(grant->path, part->real) || stat(part->real, &status) < 0)
        return grant->access == NN_GRANT_READ ? 0 : nn_error_origin(-errno);
    part->is_folder = S_ISDIR(status.st_mode);
    part->tree_fd = open_tree(AT_FDCWD, part->real,
                              OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (part->tree_fd < 0 ||
        mount_setattr(part->tree_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
        return nn_error_origin(-errno);
    return 0;
}

static void parts_close(struct root_part *parts, size_t n_parts)
{
    for (size_t i = 0; i < n_parts; i++)
        closep(&parts[i].tree_fd);
    free(parts);
}

/* -- the new root ------------------------------------------------------------------------------ */

static int tmpfs_mount(int *ret_fd)
{
    _cleanup_(closep) int form_fd = fsopen("tmpfs", FSOPEN_CLOEXEC);

    if (form_fd < 0 || fsconfig(form_fd, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
        fsconfig(form_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return nn_error_origin(-errno);
    *ret_fd = fsmount(form_fd, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    if (*ret_fd < 0)
        return nn_error_origin(-errno);
    /* Nothing that is mounted here arrives outside. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        move_mount(*ret_fd, "", AT_FDCWD, ANCHOR, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        return nn_error_origin(-errno);
    return 0;
}

/* The folders on the way to a path, which begins with '/'. */
static int make_way(int root_fd, const char *path)
{
    char way[PATH_MAX];

    snprintf(way, sizeof(way), "%s", path + 1);
    for (char *slash = way; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdirat(root_fd, way, 0755) < 0 && errno != EEXIST && errno != EROFS)
            return nn_error_origin(-errno);
        *slash = '/';
    }
    return 0;
}

/* An empty folder or file to mount on. */
static int make_place(int root_fd, const struct root_part *part)
{
    int fd, r = make_way(root_fd, part->real);

    if (r < 0)
        return nn_error_trace(r);
    if (part->is_folder)
        return mkdirat(root_fd, part->real + 1, 0755) < 0 && errno != EEXIST
                   ? nn_error_origin(-errno)
                   : 0;
    fd = nn_sys_openat(root_fd, part->real + 1, O_CREAT | O_WRONLY, 0644);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? nn_error_trace(fd) : 0;
}

/* Below a folder that was granted as well it is there already. */
static bool part_is_there(int root_fd, const struct root_part *part)
{
    struct stat there, wanted;

    return fstatat(root_fd, part->real + 1, &there, 0) == 0 && fstat(part->tree_fd, &wanted) == 0 &&
           there.st_dev == wanted.st_dev && there.st_ino == wanted.st_ino;
}

static int part_place(int root_fd, const struct root_part *part)
{
    int r = 0;

    if (part->tree_fd < 0)
        return 0;
    if (!part_is_there(root_fd, part)) {
        r = make_place(root_fd, part);
        if (r == 0 &&
            move_mount(part->tree_fd, "", root_fd, part->real + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
            r = nn_error_origin(-errno);
    }
    if (r < 0 || strcmp(part->path, part->real) == 0)
        return nn_error_trace(r);
    r = make_way(root_fd, part->path);
    /* Not made where a folder of the way is read-only: then the link itself is there. */
    if (r == 0 && symlinkat(part->real, root_fd, part->path + 1) < 0 && errno != EEXIST &&
        errno != EROFS)
        r = nn_error_origin(-errno);
    return nn_error_trace(r);
}

static int root_fill(int root_fd, const struct root_part *parts, size_t n_parts)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_parts; i++)
        r = part_place(root_fd, &parts[i]);
    if (r == 0 && mount_setattr(root_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
        r = nn_error_origin(-errno);
    return nn_error_trace(r);
}

/* The old root lies on the new one after the first call, and is gone after the second. */
static int root_enter(int root_fd)
{
    if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return nn_error_origin(-errno);
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return nn_error_origin(-ENOTRECOVERABLE);
    return 0;
}

static int root_make(const struct root_part *parts, size_t n_parts)
{
    _cleanup_(closep) int root_fd = -1;
    int r = tmpfs_mount(&root_fd);

    if (r < 0)
        return nn_error_trace(r);
    r = root_fill(root_fd, parts, n_parts);
    if (r == 0)
        r = root_enter(root_fd);
    if (r < 0 && r != -ENOTRECOVERABLE && (umount2(ANCHOR, MNT_DETACH) < 0 || chdir("/") < 0))
        r = nn_error_origin(-ENOTRECOVERABLE);
    return nn_error_trace(r);
}

int nn_root_replace(const struct nn_grant_path *paths, size_t n_paths, bool *ret_is_new)
{
    struct root_part *parts = calloc(n_paths, sizeof(*parts));
    bool has_all = false, is_missing;
    size_t n_parts = 0;
    int r = 0;

    *ret_is_new = false;
    if (!parts)
        return nn_error_origin(-ENOMEM);
    while (r == 0 && n_parts < n_paths) {
        r = part_open(&parts[n_parts], &paths[n_parts]);
        /* Who is granted all needs no other root. */
        has_all |= strcmp(parts[n_parts].real, "/") == 0;
        n_parts++;
    }
    is_missing = r == -ENOENT;
    if (r == 0 && !has_all) {
        r = root_make(parts, n_parts);
        *ret_is_new = r == 0;
    }
    parts_close(parts, n_parts);
    return is_missing || r == -ENOTRECOVERABLE ? nn_error_trace(r) : 0;
}
