/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/fail-libc.h"

#include "support/countdown.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

static countdown_t countdown;

void fail_libc_arm(long n)
{
    countdown = n;
}

long fail_libc_disarm(void)
{
    return countdown_stop(&countdown);
}

static bool fails(void)
{
    if (!countdown_hits(&countdown))
        return false;
    errno = ENOMEM;
    return true;
}

/* A function in front of the C library's, which is called unless it is to fail. */
#define FRONT(type, name, parameters, arguments, failure)                                          \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails() ? (failure) : __real_##name arguments;                                      \
    }

FRONT(int, socketpair, (int family, int type, int protocol, int ret_fds[2]),
      (family, type, protocol, ret_fds), -1)
FRONT(int, socket, (int family, int type, int protocol), (family, type, protocol), -1)
FRONT(int, bind, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n), -1)
FRONT(int, listen, (int fd, int n), (fd, n), -1)
FRONT(int, accept4, (int fd, struct sockaddr *ret_address, socklen_t *ret_n, int flags),
      (fd, ret_address, ret_n, flags), -1)
FRONT(int, connect, (int fd, const struct sockaddr *address, socklen_t n), (fd, address, n), -1)
FRONT(int, getsockopt, (int fd, int level, int name, void *ret_value, socklen_t *ret_n),
      (fd, level, name, ret_value, ret_n), -1)
FRONT(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t n),
      (fd, level, name, value, n), -1)
FRONT(int, fstat64, (int fd, struct stat *ret_status), (fd, ret_status), -1)
FRONT(int, fstatat64, (int fd, const char *path, struct stat *ret_status, int flags),
      (fd, path, ret_status, flags), -1)
FRONT(int, stat64, (const char *path, struct stat *ret_status), (path, ret_status), -1)
FRONT(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
FRONT(int, chmod, (const char *path, mode_t mode), (path, mode), -1)
FRONT(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
FRONT(int, ftruncate64, (int fd, off_t n), (fd, n), -1)
FRONT(int, flock, (int fd, int what), (fd, what), -1)
FRONT(DIR *, fdopendir, (int fd), (fd), NULL)
FRONT(int, eventfd, (unsigned count, int flags), (count, flags), -1)
FRONT(int, pipe2, (int ret_fds[2], int flags), (ret_fds, flags), -1)
FRONT(int, dup2, (int from, int to), (from, to), -1)
FRONT(int, getrlimit64, (int what, struct rlimit *ret_limit), (what, ret_limit), -1)
FRONT(int, setrlimit64, (int what, const struct rlimit *limit), (what, limit), -1)
FRONT(int, pthread_create,
      (pthread_t * ret_thread, const pthread_attr_t *attributes, void *(*run)(void *), void *ctx),
      (ret_thread, attributes, run, ctx), EAGAIN)

/* Its third argument, if there is one, fits into a long. */
int __real_fcntl64(int fd, int what, ...);
int __wrap_fcntl64(int fd, int what, ...);
int __wrap_fcntl64(int fd, int what, ...)
{
    va_list arguments;
    long argument;

    va_start(arguments, what);
    argument = va_arg(arguments, long);
    va_end(arguments);
    return fails() ? -1 : __real_fcntl64(fd, what, argument);
}
