/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/sock.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "base/variable.h"
#include "base/wait-limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
    BACKLOG = 64,
    MIN_CONNECT_US = 1000,
    CONNECT_TIMEOUT_S = 2, /* a service that does not accept does not hold its clients */
};

int nn_sock_pair(int ret_fds[2])
{
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_fds) < 0)
        return nn_error_origin(-errno);
    return 0;
}

static int make_address(const char *path, struct sockaddr_un *address)
{
    size_t n = strlen(path);

    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (n == 0 || n >= sizeof(address->sun_path))
        return NN_SOCK_E_BAD_PATH;
    memcpy(address->sun_path, path, n);
    return 0;
}

static int new_socket(int *ret_fd)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return nn_error_origin(-errno);
    *ret_fd = fd;
    return 0;
}

/* Only we and root may put something into the socket's folder. */
static int check_folder(const char *path)
{
    _cleanup_(freep) char *folder = strdup(path);
    struct stat status;
    char *slash;

    if (!folder)
        return nn_error_origin(-ENOMEM);
    slash = strrchr(folder, '/');
    if (!slash)
        return NN_SOCK_E_BAD_PATH;
    *(slash == folder ? slash + 1 : slash) = '\0';
    if (stat(folder, &status) < 0)
        return nn_error_origin(-errno);
    /* Another user who may write here could replace the socket and receive the tensors of
     * our clients. */
    if (!S_ISDIR(status.st_mode) || (status.st_uid != 0 && status.st_uid != geteuid()) ||
        (status.st_mode & (S_IWGRP | S_IWOTH)))
        return NN_SOCK_E_UNTRUSTED;
    return 0;
}

/* Makes room for our socket: removes the one of a service that is dead. */
static int clear_path(const char *path, const struct sockaddr_un *address)
{
    _cleanup_(closep) int fd = -1;
    struct stat status;
    int r;

    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0 : nn_error_origin(-errno);
    /* What is no socket was not left by a service: a mistyped path must not cost a file. */
    if (!S_ISSOCK(status.st_mode))
        return NN_SOCK_E_UNTRUSTED;
    r = new_socket(&fd);
    if (r < 0)
        return nn_error_trace(r);
    /* A service that is stopped accepts no connection: once its backlog is full, connect() would
     * wait for it. That it exists is all that has to be known. */
    if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
        return nn_error_origin(-errno);
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
        return NN_SOCK_E_BUSY;
    /* Only a refusal proves that no process listens; other errors may come from a service
     * that lives. */
    if (errno != ECONNREFUSED)
        return NN_SOCK_E_UNTRUSTED;
    if (unlink(path) < 0 && errno != ENOENT)
        return nn_error_origin(-errno);
    return 0;
}

int nn_sock_listen(const char *path, mode_t mode, int *ret_fd)
{
    _cleanup_(closep) int fd = -1;
    struct sockaddr_un address;
    int r = make_address(path, &address);

    if (r == 0)
        r = check_folder(path);
    if (r == 0)
        r = clear_path(path, &address);
    if (r == 0)
        r = new_socket(&fd);
    if (r != 0)
        return r;
    /* The mode before bind keeps others out until chmod has set it exactly. */
    if (fchmod(fd, mode) < 0)
        return nn_error_origin(-errno);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == EADDRINUSE ? NN_SOCK_E_BUSY : nn_error_origin(-errno);
    if (chmod(path, mode) < 0 || listen(fd, BACKLOG) < 0 ||
        fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0) {
        r = nn_error_origin(-errno);
        unlink(path);
        return r;
    }
    *ret_fd = steal_fd(&fd);
    return 0;
}

int nn_sock_accept(int fd, int *ret_fd)
{
    int client;

    do
        client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    while (client < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (client < 0)
        return errno == EAGAIN ? NN_SOCK_E_ABSENT : nn_error_origin(-errno);
    *ret_fd = client;
    return 0;
}

static bool is_trusted(uid_t uid)
{
    const char *configured = nn_variable_get(NN_VARIABLE_SERVICE_UID);
    char *end;
    unsigned long value;

    if (uid == 0 || uid == geteuid())
        return true;
    if (!configured || *configured == '\0')
        return false;
    value = strtoul(configured, &end, 10);
    return *end == '\0' && value == uid;
}

/* A backlog that is full is waited for; a timeout of 0 would mean none. */
static struct timeval connect_timeout(void)
{
    uint64_t limit_ns = nn_wait_limit_get(), now_ns = nn_sys_now_ns(), left_us = 0;

    if (limit_ns == NN_WAIT_UNLIMITED)
        return (struct timeval){.tv_sec = CONNECT_TIMEOUT_S};
    if (limit_ns > now_ns)
        left_us = (limit_ns - now_ns) / 1000;
    if (left_us < MIN_CONNECT_US)
        left_us = MIN_CONNECT_US;
    if (left_us > CONNECT_TIMEOUT_S * UINT64_C(1000000))
        left_us = CONNECT_TIMEOUT_S * UINT64_C(1000000);
    return (struct timeval){.tv_sec = (time_t)(left_us / 1000000),
                            .tv_usec = (suseconds_t)(left_us % 1000000)};
}

int nn_sock_connect(const char *path, int *ret_fd)
{
    _cleanup_(closep) int fd = -1;
    struct timeval timeout = connect_timeout(), none = {0};
    struct nn_sock_credentials credentials;
    struct sockaddr_un address;
    int r = make_address(path, &address);

    if (r == 0)
        r = new_socket(&fd);
    if (r != 0)
        return r;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        if (errno == EINTR)
            continue;
        /* EAGAIN: the time ran out while the backlog was full. */
        if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR || errno == EAGAIN)
            return NN_SOCK_E_ABSENT;
        if (errno == EPROTOTYPE)
            return NN_SOCK_E_UNTRUSTED;
        return nn_error_origin(-errno);
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof(none));
    r = nn_sock_credentials(fd, &credentials);
    if (r < 0)
        return nn_error_trace(r);
    /* The other end is about to get tensors and descriptors: the kernel says which user it
     * has, which a path alone does not prove. */
    if (!is_trusted(credentials.uid))
        return NN_SOCK_E_UNTRUSTED;
    *ret_fd = steal_fd(&fd);
    return 0;
}

int nn_sock_credentials(int fd, struct nn_sock_credentials *ret_credentials)
{
    struct ucred credentials;
    socklen_t n = sizeof(credentials);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &n) < 0)
        return nn_error_origin(-errno);
    *ret_credentials = (struct nn_sock_credentials){
        .uid = credentials.uid,
        .gid = credentials.gid,
        .pid = credentials.pid,
    };
    return 0;
}

int nn_sock_pidfd(int fd, int *ret_pidfd)
{
    struct nn_sock_credentials credentials;
    socklen_t n = sizeof(int);
    int pidfd = -1, r;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) == 0) {
        *ret_pidfd = pidfd;
        return 0;
    }
    /* Which of them a dead peer gives depends on the version of the kernel. */
    if (errno == ESRCH || errno == EINVAL || errno == ENODATA)
        return NN_SOCK_E_ABSENT;
    if (errno != ENOPROTOOPT)
        return nn_error_origin(-errno);
    /* Before Linux 6.5. The number may be another process's by now: then we
     * watch the wrong one, and still see the socket's end. */
    r = nn_sock_credentials(fd, &credentials);
    if (r < 0)
        return nn_error_trace(r);
    if (credentials.pid <= 0)
        return NN_SOCK_E_ABSENT;
    pidfd = (int)syscall(SYS_pidfd_open, credentials.pid, 0);
    if (pidfd < 0)
        return errno == ESRCH ? NN_SOCK_E_ABSENT : nn_error_origin(-errno);
    *ret_pidfd = pidfd;
    return 0;
}
