/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/cage.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Where groups of one version lie, and how their limits are called. The last one of limits that
 * must not be missing comes first; the other keeps what is inside from being swapped out. */
struct version {
    const char *mount, *controllers; /* what /proc/self/cgroup calls it */
    const char *limit, *swap, *swap_value;
};

static const struct version versions[] = {
    {"/sys/fs/cgroup", "", "memory.max", "memory.swap.max", "0"},
    {"/sys/fs/cgroup/unified", "", "memory.max", "memory.swap.max", "0"},
    {"/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.swappiness", "0"},
};

static bool put(const char *folder, const char *name, const char *value)
{
    char path[600];
    int fd;
    bool is_written;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    is_written = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    if (fd >= 0)
        close(fd);
    return is_written;
}

/* The group of this process; the mount's root where the file names one that is not seen here. */
static bool find_home(const struct version *version, char *home, size_t n_home)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[512];
    bool is_found = false;

    while (file && !is_found && fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        is_found = strcmp(controllers + 1, version->controllers) == 0;
        if (is_found)
            snprintf(home, n_home, "%s%s", version->mount, strcmp(group, "/") ? group : "");
    }
    if (file)
        fclose(file);
    if (is_found && access(home, X_OK) < 0)
        snprintf(home, n_home, "%s", version->mount);
    return is_found;
}

/* Version 2 gives controllers to groups beside one that has processes, version 1 to any. */
static bool cage_make(struct cage *cage, const struct version *version, uint64_t n_bytes)
{
    char parent[512], value[32];
    char *last;

    if (!find_home(version, cage->home, sizeof(cage->home)))
        return false;
    snprintf(parent, sizeof(parent), "%s", cage->home);
    last = strrchr(parent, '/');
    if (!*version->controllers && strcmp(parent, version->mount) != 0)
        *last = '\0';
    snprintf(cage->path, sizeof(cage->path), "%.400s/nnhal-test-%d", parent, (int)getpid());
    if (mkdir(cage->path, 0755) < 0)
        return false;
    snprintf(value, sizeof(value), "%llu", (unsigned long long)n_bytes);
    put(cage->path, version->swap, version->swap_value);
    snprintf(parent, sizeof(parent), "%d", (int)getpid());
    if (put(cage->path, version->limit, value) && put(cage->path, "cgroup.procs", parent))
        return true;
    rmdir(cage->path);
    return false;
}

bool cage_enter(struct cage *cage, uint64_t n_bytes, char why[256])
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        errno = 0;
        if (cage_make(cage, &versions[i], n_bytes))
            return true;
    }
    snprintf(why, 256, "no control group for memory can be made (%s)", strerror(errno));
    return false;
}

void cage_leave(struct cage *cage)
{
    char pid[32];

    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    ck_assert(put(cage->home, "cgroup.procs", pid));
}

/* A group is busy for a moment after its last process. */
void cage_done(struct cage *cage)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < 500 && rmdir(cage->path) < 0 && errno == EBUSY; i++)
        nanosleep(&pause, NULL);
    ck_assert_int_lt(access(cage->path, F_OK), 0);
}
