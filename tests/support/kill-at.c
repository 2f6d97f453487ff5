/* SPDX-License-Identifier: Apache-2.0 */
#include "kill-at.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

long kill_at;
int kill_at_half;
int kill_at_sync_ms;
static long n_calls;

long kill_at_calls(void)
{
    return __atomic_load_n(&n_calls, __ATOMIC_RELAXED);
}

/* Whether this is the call. */
static int is_last(void)
{
    __atomic_add_fetch(&n_calls, 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&kill_at, __ATOMIC_RELAXED) > 0 &&
           __atomic_sub_fetch(&kill_at, 1, __ATOMIC_RELAXED) == 0;
}

static void count(void)
{
    if (is_last())
        kill(getpid(), SIGKILL);
}

/* A function of the C library under its own name, which the headers may have given to another. */
#define SEAM(name) __asm__(#name) __attribute__((__visibility__("default"), __used__))

int seam_open(const char *path, int flags, ...) SEAM(open64);
int seam_openat(int folder, const char *path, int flags, ...) SEAM(openat64);
int seam_close(int fd) SEAM(close);
int seam_fcntl(int fd, int command, ...) SEAM(fcntl64);
int seam_flock(int fd, int operation) SEAM(flock);
ssize_t seam_pread(int fd, void *bytes, size_t n, off_t offset) SEAM(pread64);
ssize_t seam_pwrite(int fd, const void *bytes, size_t n, off_t offset) SEAM(pwrite64);
int seam_ftruncate(int fd, off_t size) SEAM(ftruncate64);
int seam_fsync(int fd) SEAM(fsync);
int seam_fdatasync(int fd) SEAM(fdatasync);
int seam_unlink(const char *path) SEAM(unlink);
int seam_unlinkat(int folder, const char *path, int flags) SEAM(unlinkat);
int seam_renameat(int from, const char *path, int to, const char *target) SEAM(renameat);

int seam_openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    unsigned mode;

    va_start(arguments, flags);
    mode = va_arg(arguments, unsigned);
    va_end(arguments);
    count();
    return (int)syscall(SYS_openat, folder, path, flags, mode);
}

int seam_open(const char *path, int flags, ...)
{
    va_list arguments;
    unsigned mode;

    va_start(arguments, flags);
    mode = va_arg(arguments, unsigned);
    va_end(arguments);
    return seam_openat(AT_FDCWD, path, flags, mode);
}

int seam_close(int fd)
{
    count();
    return (int)syscall(SYS_close, fd);
}

int seam_fcntl(int fd, int command, ...)
{
    va_list arguments;
    long argument;

    va_start(arguments, command);
    argument = va_arg(arguments, long);
    va_end(arguments);
    count();
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int seam_flock(int fd, int operation)
{
    count();
    return (int)syscall(SYS_flock, fd, operation);
}

ssize_t seam_pread(int fd, void *bytes, size_t n, off_t offset)
{
    count();
    return syscall(SYS_pread64, fd, bytes, n, offset);
}

ssize_t seam_pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    if (is_last()) {
        if (kill_at_half)
            syscall(SYS_pwrite64, fd, bytes, n / 2, offset);
        kill(getpid(), SIGKILL);
    }
    return syscall(SYS_pwrite64, fd, bytes, n, offset);
}

int seam_ftruncate(int fd, off_t size)
{
    count();
    return (int)syscall(SYS_ftruncate, fd, size);
}

static void wait_for_disk(void)
{
    const struct timespec time = {.tv_nsec = kill_at_sync_ms * 1000000L};

    if (kill_at_sync_ms)
        nanosleep(&time, NULL);
}

int seam_fsync(int fd)
{
    count();
    wait_for_disk();
    return (int)syscall(SYS_fsync, fd);
}

int seam_fdatasync(int fd)
{
    count();
    wait_for_disk();
    return (int)syscall(SYS_fdatasync, fd);
}

int seam_unlinkat(int folder, const char *path, int flags)
{
    count();
    return (int)syscall(SYS_unlinkat, folder, path, flags);
}

int seam_unlink(const char *path)
{
    return seam_unlinkat(AT_FDCWD, path, 0);
}

int seam_renameat(int from, const char *path, int to, const char *target)
{
    count();
    return (int)syscall(SYS_renameat2, from, path, to, target, 0);
}
