/* SPDX-License-Identifier: Apache-2.0 */
#include "service/root.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "host/load.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
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

/* A folder comes before what is below it. */
static int part_order(const void *a, const void *b)
{
    size_t n_a = strlen(((const struct root_part *)a)->path);
    size_t n_b = strlen(((const struct root_part *)b)->path);

    return (n_a > n_b) - (n_a < n_b);
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

/* With root_fd for the root of this process, which has one thread, for as long as it takes. */
static int open_chrooted(int root_fd, const char *path)
{
    _cleanup_(closep) int old_fd = nn_sys_openat(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0);
    _cleanup_(closep) int fd = -1;

    if (old_fd < 0)
        return nn_error_trace(old_fd);
    if (fchdir(root_fd) < 0 || chroot(".") < 0)
        return nn_error_origin(-errno);
    fd = nn_sys_openat(AT_FDCWD, path, O_PATH, 0);
    if (fchdir(old_fd) < 0 || chroot(".") < 0)
        return nn_error_origin(-ENOTRECOVERABLE);
    return fd < 0 ? nn_error_trace(fd) : steal_fd(&fd);
}

/* Links lead to where they will lead when the new root is the root. systemd refuses openat2() to
 * services that have a user of their own (DynamicUser=, by RestrictSUIDSGID=). */
static int open_within(int root_fd, const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

    if (fd < 0 && errno == ENOSYS)
        return nn_error_trace(open_chrooted(root_fd, path));
    return fd < 0 ? nn_error_origin(-errno) : (int)fd;
}

/* The folder that holds a path, and the path's last name in it; path begins with '/' and is cut
 * where names end. */
static int make_way(int root_fd, char *path, int *ret_fd, const char **ret_name)
{
    _cleanup_(closep) int at_fd = open_within(root_fd, "/");
    char *name = path + 1;

    for (char *slash; at_fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        int fd;

        *slash = '\0';
        if (*name && mkdirat(at_fd, name, 0755) < 0 && errno != EEXIST)
            return nn_error_origin(-errno);
        fd = open_within(root_fd, path);
        *slash = '/';
        close(at_fd);
        at_fd = fd;
    }
    if (at_fd < 0)
        return nn_error_trace(at_fd);
    *ret_fd = steal_fd(&at_fd);
    *ret_name = name;
    return 0;
}

/* An empty folder or file to mount on. */
static int make_place(int folder_fd, const char *name, bool is_folder)
{
    int fd;

    if (is_folder)
        return mkdirat(folder_fd, name, 0755) < 0 && errno != EEXIST ? nn_error_origin(-errno) : 0;
    fd = nn_sys_openat(folder_fd, name, O_CREAT | O_WRONLY, 0644);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? nn_error_trace(fd) : 0;
}

static bool leads_to(int root_fd, const char *path, const struct root_part *part)
{
    _cleanup_(closep) int fd = open_within(root_fd, path);
    struct stat there, wanted;

    return fd >= 0 && fstat(fd, &there) == 0 && fstat(part->tree_fd, &wanted) == 0 &&
           there.st_dev == wanted.st_dev && there.st_ino == wanted.st_ino;
}

/* Below a folder that was granted as well it is there already. */
static int part_place(int root_fd, const struct root_part *part)
{
    _cleanup_(closep) int folder_fd = -1;
    char path[PATH_MAX];
    const char *name;
    int r;

    if (part->tree_fd < 0 || leads_to(root_fd, part->real, part))
        return 0;
    snprintf(path, sizeof(path), "%s", part->real);
    r = make_way(root_fd, path, &folder_fd, &name);
    if (r == 0)
        r = make_place(folder_fd, name, part->is_folder);
    if (r == 0 && move_mount(part->tree_fd, "", folder_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
        r = nn_error_origin(-errno);
    return nn_error_trace(r);
}

/* By the path as it was granted, when all parts are in their places: the links that lead there are
 * in some of them, or are one that is made here. */
static int part_link(int root_fd, const struct root_part *part)
{
    _cleanup_(closep) int folder_fd = -1;
    char path[PATH_MAX];
    const char *name;
    int r;

    if (part->tree_fd < 0 || leads_to(root_fd, part->path, part))
        return 0;
    snprintf(path, sizeof(path), "%s", part->path);
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    r = make_way(root_fd, path, &folder_fd, &name);
    /* The way may have been all that was missing. */
    if (r == 0 && symlinkat(part->real, folder_fd, name) < 0 && errno != EEXIST)
        r = nn_error_origin(-errno);
    if (r == 0 && !leads_to(root_fd, part->path, part))
        r = nn_error_origin(-EEXIST);
    return nn_error_trace(r);
}

static int root_fill(int root_fd, const struct root_part *parts, size_t n_parts,
                     struct nn_host_why *why)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    int r;

    for (size_t i = 0; i < n_parts; i++) {
        r = part_place(root_fd, &parts[i]);
        if (r < 0)
            return nn_why(why, r, "%s cannot be mounted: %s", parts[i].real, strerror(-r));
    }
    for (size_t i = 0; i < n_parts; i++) {
        r = part_link(root_fd, &parts[i]);
        if (r < 0)
            return nn_why(why, r, "%s cannot be linked: %s", parts[i].path, strerror(-r));
    }
    if (mount_setattr(root_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
        return 0;
    r = nn_error_origin(-errno);
    return nn_why(why, r, "it cannot be made read-only: %s", strerror(-r));
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

static int root_make(const struct root_part *parts, size_t n_parts, struct nn_host_why *why)
{
    _cleanup_(closep) int root_fd = -1;
    int r = tmpfs_mount(&root_fd);

    if (r < 0)
        return nn_why(why, r, "no file system can be mounted: %s", strerror(-r));
    r = root_fill(root_fd, parts, n_parts, why);
    if (r == 0) {
        r = root_enter(root_fd);
        if (r < 0)
            nn_why(why, r, "it cannot be entered: %s", strerror(-r));
    }
    if (r < 0 && r != -ENOTRECOVERABLE && (umount2(ANCHOR, MNT_DETACH) < 0 || chdir("/") < 0))
        r = nn_error_origin(-ENOTRECOVERABLE);
    return nn_error_trace(r);
}

int nn_root_replace(const struct nn_grant_path *paths, size_t n_paths, bool *ret_is_new,
                    struct nn_host_why *why)
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
        has_all |= strcmp(parts[n_parts].real, "/") == 0;
        n_parts++;
    }
    is_missing = r == -ENOENT;
    if (r < 0)
        nn_why(why, r, "%s: %s", paths[n_parts - 1].path, strerror(-r));
    else if (has_all)
        nn_why(why, 0, "all of / was granted");
    if (r == 0 && !has_all) {
        qsort(parts, n_parts, sizeof(*parts), part_order);
        r = root_make(parts, n_parts, why);
    }
    *ret_is_new = r == 0 && !has_all;
    parts_close(parts, n_parts);
    return is_missing || r == -ENOTRECOVERABLE ? nn_error_trace(r) : 0;
}
