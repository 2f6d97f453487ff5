/* SPDX-License-Identifier: Apache-2.0 */
#include "service/namespaces.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* -- the user namespace ----------------------------------------------------------------------- */

static int write_line(const char *path, const char *line)
{
    _cleanup_(closep) int fd = nn_sys_openat(AT_FDCWD, path, O_WRONLY, 0);

    if (fd < 0)
        return nn_error_trace(fd);
    /* In one piece, as the kernel demands of these files. */
    if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
        return nn_error_origin(-errno);
    return 0;
}

/* The user and the group stay who they are; there are no others. */
static int map_identity(uid_t uid, gid_t gid)
{
    char line[64];
    int r = write_line("/proc/self/setgroups", "deny");

    snprintf(line, sizeof(line), "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (r == 0)
        r = write_line("/proc/self/uid_map", line);
    snprintf(line, sizeof(line), "%u %u 1", (unsigned)gid, (unsigned)gid);
    if (r == 0)
        r = write_line("/proc/self/gid_map", line);
    return nn_error_trace(r);
}

/* For the children of this process. Root keeps the users of all its clients. */
static int namespaces_enter(void)
{
    const uid_t uid = geteuid();
    const gid_t gid = getegid();

    if (nn_sys_fakes && nn_sys_fakes->has_no_namespaces)
        return nn_error_origin(-ENOSYS);
    if (unshare(CLONE_NEWPID | CLONE_NEWNS | (uid == 0 ? 0 : CLONE_NEWUSER)) < 0)
        return nn_error_origin(-errno);
    /* A second wall, which settings may refuse alone: seccomp allows no socket of a network. */
    unshare(CLONE_NEWNET);
    return uid == 0 ? 0 : nn_error_trace(map_identity(uid, gid));
}

/* -- the processes ------------------------------------------------------------------------------ */

struct fork_pipes {
    int told[2]; /* by the middle: the child's number, or why there is none */
    int go[2];   /* from the caller to the child: the same number */
};

static void pipes_close(struct fork_pipes *pipes)
{
    closep(&pipes->told[0]);
    closep(&pipes->told[1]);
    closep(&pipes->go[0]);
    closep(&pipes->go[1]);
}

static bool read_number(int fd, int32_t *ret_number)
{
    ssize_t n;

    while ((n = read(fd, ret_number, sizeof(*ret_number))) < 0 && errno == EINTR)
        ;
    return n == (ssize_t)sizeof(*ret_number);
}

static bool write_number(int fd, int32_t number)
{
    return write(fd, &number, sizeof(number)) == (ssize_t)sizeof(number);
}

/* Returns in the child alone. */
static void run_middle(const struct fork_pipes *pipes)
{
    int32_t number = namespaces_enter();

    if (number == 0) {
        number = fork();
        if (number == 0)
            return;
        if (number < 0)
            number = -errno;
    }
    _exit(write_number(pipes->told[1], number) ? 0 : 1);
}

/* The caller is the parent of what its children leave behind, until the middle has ended. */
static int fork_apart(struct fork_pipes *pipes, struct nn_namespaces *namespaces)
{
    int was_subreaper = 0;
    int32_t number = -EIO;
    pid_t middle;

    if (prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper, 0, 0, 0) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return nn_error_origin(-errno);
    middle = fork();
    if (middle == 0) {
        run_middle(pipes);
        closep(&pipes->go[1]);
        pipes->go[1] = -1;
        /* By then the middle has ended, or else the caller. */
        if (!read_number(pipes->go[0], &number))
            _exit(1);
        namespaces->pid = number;
        return 0;
    }
    closep(&pipes->told[1]);
    pipes->told[1] = -1;
    if (middle > 0) {
        read_number(pipes->told[0], &number);
        while (waitpid(middle, NULL, 0) < 0 && errno == EINTR)
            ;
    } else {
        number = -errno;
    }
    prctl(PR_SET_CHILD_SUBREAPER, was_subreaper, 0, 0, 0);
    if (number < 0)
        return nn_error_origin(number);
    namespaces->pid = number;
    return write_number(pipes->go[1], number) ? 1 : nn_error_origin(-EIO);
}

int nn_namespaces_fork(struct nn_namespaces *ret_namespaces)
{
    struct fork_pipes pipes = {{-1, -1}, {-1, -1}};
    int r = 0;

    *ret_namespaces = (struct nn_namespaces){.are_own = true};
    if (pipe2(pipes.told, O_CLOEXEC) < 0 || pipe2(pipes.go, O_CLOEXEC) < 0)
        r = nn_error_origin(-errno);
    if (r == 0)
        r = fork_apart(&pipes, ret_namespaces);
    pipes_close(&pipes);
    if (r >= 0)
        return r;
    *ret_namespaces = (struct nn_namespaces){.error = r, .pid = fork()};
    if (ret_namespaces->pid < 0)
        return nn_error_origin(-errno);
    return ret_namespaces->pid > 0;
}
