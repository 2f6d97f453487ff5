/* SPDX-License-Identifier: Apache-2.0 */
#include "service/landlock.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

/* What later versions added to the header. */
#define ACCESS_FS_TRUNCATE  (UINT64_C(1) << 14) /* version 3 */
#define ACCESS_FS_IOCTL_DEV (UINT64_C(1) << 15) /* version 5 */
#define ACCESS_NET_ALL      UINT64_C(3)         /* version 4: bind and connect TCP */
#define SCOPE_ALL           UINT64_C(3)         /* version 6: abstract sockets, signals */

#define ACCESS_FS_VERSION_1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define ACCESS_READ         (UINT64_C(0) | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_DEVICE                                                                              \
    (UINT64_C(0) | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                  \
     ACCESS_FS_IOCTL_DEV)
/* Rights that make sense for what is no folder; the kernel refuses others. */
#define ACCESS_OF_FILES                                                                            \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |   \
     ACCESS_FS_TRUNCATE | ACCESS_FS_IOCTL_DEV)

/* struct landlock_ruleset_attr as of version 6. */
struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

int nn_landlock_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int had = version > 0 ? (int)version : 0;
    int faked = nn_sys_fakes && nn_sys_fakes->landlock_version ? nn_sys_fakes->landlock_version()
                                                               : had;

    return faked < had ? faked : had;
}

/* The kernel refuses a ruleset with rights that it does not know, instead of ignoring them. */
static uint64_t known_fs(int version)
{
    uint64_t access = ACCESS_FS_VERSION_1;

    if (version >= 2)
        access |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        access |= ACCESS_FS_TRUNCATE;
    if (version >= 5)
        access |= ACCESS_FS_IOCTL_DEV;
    return access;
}

static int new_ruleset(int version, int *ret_fd)
{
    struct ruleset ruleset = {
        .handled_access_fs = known_fs(version),
        .handled_access_net = version >= 4 ? ACCESS_NET_ALL : 0,
        .scoped = version >= 6 ? SCOPE_ALL : 0,
    };
    size_t size = version >= 6   ? sizeof(ruleset)
                  : version >= 4 ? offsetof(struct ruleset, scoped)
                                 : offsetof(struct ruleset, handled_access_net);
    long fd = syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);

    if (fd < 0)
        return nn_error_origin(-errno);
    *ret_fd = (int)fd;
    return 0;
}

static int add_rule(int ruleset_fd, int version, const struct nn_grant_path *rule)
{
    static const uint64_t accesses[] = {
        [NN_GRANT_READ] = ACCESS_READ,
        [NN_GRANT_DEVICE] = ACCESS_DEVICE,
    };
    struct landlock_path_beneath_attr beneath = {
        .allowed_access = accesses[rule->access] & known_fs(version),
    };
    _cleanup_(closep) int fd = nn_sys_openat(AT_FDCWD, rule->path, O_PATH, 0);
    _cleanup_(closep) int folder = -1;

    /* Not every machine has each of the readable paths; a device node that a driver
     * declared and that is absent is a failure, because the driver could not work. */
    if (fd < 0)
        return fd == -ENOENT && rule->access == NN_GRANT_READ ? 0 : nn_error_trace(fd);
    folder = nn_sys_openat(AT_FDCWD, rule->path, O_PATH | O_DIRECTORY, 0);
    if (folder < 0)
        beneath.allowed_access &= ACCESS_OF_FILES;
    beneath.parent_fd = fd;
    if (syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) < 0)
        return nn_error_origin(-errno);
    return 0;
}

int nn_landlock_close(int version, const struct nn_grant_path *rules, size_t n_rules)
{
    _cleanup_(closep) int fd = -1;
    int r = new_ruleset(version, &fd);

    for (size_t i = 0; r == 0 && i < n_rules; i++)
        r = add_rule(fd, version, &rules[i]);
    if (r < 0)
        return nn_error_trace(r);
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return nn_error_origin(-errno);
    return 0;
}
