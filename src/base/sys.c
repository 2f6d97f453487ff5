/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

long nn_sys_fault;
int nn_sys_fault_errno = EMFILE;
void (*nn_sys_observer)(const char *call, int fd);
const struct nn_sys_fakes *nn_sys_fakes;

/* Counts one call down. Returns: 0, or what the call is to fail with. */
static int sys_fault(const char *call, int fd)
{
    if (__builtin_expect(__atomic_load_n(&nn_sys_fault, __ATOMIC_RELAXED) <= 0, 1))
        return 0;
    if (nn_sys_observer)
        nn_sys_observer(call, fd);
    if (__atomic_sub_fetch(&nn_sys_fault, 1, __ATOMIC_RELAXED) != 0)
        return 0;
    return nn_error_origin(-nn_sys_fault_errno);
}

ssize_t nn_sys_recvmsg(int fd, struct msghdr *message, int flags)
{
    ssize_t n;
    int r = sys_fault("recvmsg", fd);

    if (r < 0)
        return r;
    do
        /* Close-on-exec at once: another thread may fork and exec before a second call
         * could set it. */
        n = recvmsg(fd, message, flags | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    return n < 0 ? nn_error_origin(-errno) : n;
}

ssize_t nn_sys_sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t n;
    int r = sys_fault("sendmsg", fd);

    if (r < 0)
        return r;
    do
        /* A service that died must not end the application by SIGPIPE. */
        n = sendmsg(fd, message, flags | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? nn_error_origin(-errno) : n;
}

int nn_sys_mmap(size_t n_bytes, int prot, int flags, int fd, off_t offset, void **ret_address)
{
    void *address;
    int r = sys_fault("mmap", fd);

    if (r < 0)
        return r;
    /* With MAP_FIXED *ret_address is where; without it a hint that does no harm. */
    address = mmap(flags & MAP_FIXED ? *ret_address : NULL, n_bytes, prot, flags, fd, offset);
    if (address == MAP_FAILED)
        return nn_error_origin(-errno);
    *ret_address = address;
    return 0;
}

int nn_sys_munmap(void *address, size_t n_bytes)
{
    return munmap(address, n_bytes) < 0 ? nn_error_origin(-errno) : 0;
}

int nn_sys_memfd_create(const char *name, bool sealable)
{
    unsigned flags = MFD_CLOEXEC | (sealable ? MFD_ALLOW_SEALING : 0U);
    int fd, r = sys_fault("memfd_create", -1);

    if (r < 0)
        return r;
    /* Tensors are never code; some systems warn about, or refuse, a memfd that could be
     * executed. */
    fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create(name, flags);
    return fd < 0 ? nn_error_origin(-errno) : fd;
}

int nn_sys_openat(int dir_fd, const char *path, int flags, unsigned mode)
{
    int fd, r = sys_fault("openat", dir_fd);

    if (r < 0)
        return r;
    if (nn_sys_fakes && nn_sys_fakes->openat)
        return nn_sys_fakes->openat(dir_fd, path, flags, mode);
    do
        fd = openat(dir_fd, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd < 0 ? nn_error_origin(-errno) : fd;
}

int nn_sys_ioctl(int fd, unsigned long request, void *argument)
{
    int r = sys_fault("ioctl", fd);

    if (r < 0)
        return r;
    if (nn_sys_fakes && nn_sys_fakes->ioctl)
        return nn_sys_fakes->ioctl(fd, request, argument);
    do
        r = ioctl(fd, request, argument);
    while (r < 0 && errno == EINTR);
    return r < 0 ? nn_error_origin(-errno) : r;
}

/* A dma-buf has no type in its mode, and its file system answers by itself; the
 * size of one is where it ends. */
static int inspect_anonymous(int fd, struct nn_sys_file *ret_file)
{
    struct statfs system;
    off_t end;

    if (fstatfs(fd, &system) < 0)
        return nn_error_origin(-errno);
    if (system.f_type != DMA_BUF_MAGIC)
        return 0;
    end = lseek(fd, 0, SEEK_END);
    if (end < 0)
        return nn_error_origin(-errno);
    *ret_file = (struct nn_sys_file){NN_SYS_DMA_BUF, (uint64_t)end};
    return 0;
}

/* Both have seals. */
static enum nn_sys_file_kind inspect_sealable(int fd)
{
    struct statfs system;

    return fstatfs(fd, &system) == 0 && system.f_type == HUGETLBFS_MAGIC ? NN_SYS_HUGE
                                                                         : NN_SYS_SHARED;
}

/* fstat() of a file may ask the file system's server; seals are answered by shared
 * memory alone, and by the kernel. */
int nn_sys_inspect(int fd, struct nn_sys_file *ret_file)
{
    struct statx status;

    if (nn_sys_fakes && nn_sys_fakes->inspect)
        return nn_sys_fakes->inspect(fd, ret_file);
    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &status) < 0)
        return nn_error_origin(-errno);
    *ret_file = (struct nn_sys_file){NN_SYS_OTHER, 0};
    if ((status.stx_mode & S_IFMT) == 0)
        return inspect_anonymous(fd, ret_file);
    if (!S_ISREG(status.stx_mode))
        return 0;
    ret_file->kind = fcntl(fd, F_GET_SEALS) >= 0 ? inspect_sealable(fd) : NN_SYS_STALLING_FILE;
    ret_file->n_bytes = status.stx_size;
    return 0;
}

/* One transfer of a file moves at most 2 GiB, so both go on until all is moved. */
ssize_t nn_sys_pread(int fd, void *bytes, size_t n_bytes, off_t offset)
{
    size_t done = 0;
    int r = sys_fault("pread", fd);

    if (r < 0)
        return r;
    while (done < n_bytes) {
        ssize_t n = pread(fd, (char *)bytes + done, n_bytes - done, offset + (off_t)done);

        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            return nn_error_origin(-errno);
    }
    return (ssize_t)done;
}

int nn_sys_pwrite(int fd, const void *bytes, size_t n_bytes, off_t offset)
{
    size_t done = 0;
    int r = sys_fault("pwrite", fd);

    if (r < 0)
        return r;
    while (done < n_bytes) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, n_bytes - done, offset + (off_t)done);

        if (n == 0)
            return nn_error_origin(-EIO);
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            return nn_error_origin(-errno);
    }
    return 0;
}

int nn_sys_ftruncate(int fd, off_t n_bytes)
{
    int r = sys_fault("ftruncate", fd);

    if (r < 0)
        return r;
    do
        r = ftruncate(fd, n_bytes);
    while (r < 0 && errno == EINTR);
    return r < 0 ? nn_error_origin(-errno) : 0;
}

int nn_sys_fdatasync(int fd)
{
    int r = sys_fault("fdatasync", fd);

    if (r < 0)
        return r;
    return fdatasync(fd) < 0 ? nn_error_origin(-errno) : 0;
}

int nn_sys_renameat(int dir_fd, const char *from, const char *to)
{
    int r = sys_fault("renameat", dir_fd);

    if (r < 0)
        return r;
    return renameat(dir_fd, from, dir_fd, to) < 0 ? nn_error_origin(-errno) : 0;
}

int nn_sys_getrandom(void *bytes, size_t n_bytes)
{
    ssize_t n;
    int r = sys_fault("getrandom", -1);

    if (r < 0)
        return r;
    do /* up to 256 bytes come whole, once the kernel has any */
        n = getrandom(bytes, n_bytes, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 ? nn_error_origin(-errno) : 0;
}

/* FUTEX_WAIT_BITSET takes an absolute time, so that an interrupted wait does
 * not begin again from its whole length. */
int nn_sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t deadline_ns, bool is_shared)
{
    int op = FUTEX_WAIT_BITSET | (is_shared ? 0 : FUTEX_PRIVATE_FLAG);
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / 1000000000U),
        .tv_nsec = (long)(deadline_ns % 1000000000U),
    };
    long r = sys_fault("futex_wait", -1);

    if (r < 0)
        return (int)r;
    do
        r = syscall(SYS_futex, word, op, expected, deadline_ns == UINT64_MAX ? NULL : &deadline,
                    NULL, FUTEX_BITSET_MATCH_ANY);
    while (r < 0 && errno == EINTR);
    return r < 0 ? nn_error_origin(-errno) : 0;
}

int nn_sys_futex_waitv(const struct nn_sys_futex *futexes, size_t n_futexes, uint64_t deadline_ns)
{
    struct futex_waitv waiters[NN_SYS_MAX_FUTEXES] = {0};
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / 1000000000U),
        .tv_nsec = (long)(deadline_ns % 1000000000U),
    };
    long r = sys_fault("futex_waitv", -1);

    if (r < 0)
        return (int)r;
    if (n_futexes > NN_SYS_MAX_FUTEXES)
        return nn_error_origin(-EINVAL);
    for (size_t i = 0; i < n_futexes; i++) {
        waiters[i].val = futexes[i].expected;
        waiters[i].uaddr = (uintptr_t)futexes[i].word;
        waiters[i].flags = FUTEX_32 | (futexes[i].is_shared ? 0 : FUTEX_PRIVATE_FLAG);
    }
    do
        r = syscall(SYS_futex_waitv, waiters, n_futexes, 0,
                    deadline_ns == UINT64_MAX ? NULL : &deadline, CLOCK_MONOTONIC);
    while (r < 0 && errno == EINTR);
    return r < 0 ? nn_error_origin(-errno) : 0;
}

int nn_sys_futex_wake(const uint32_t *word, int n_waiters, bool is_shared)
{
    int op = FUTEX_WAKE | (is_shared ? 0 : FUTEX_PRIVATE_FLAG);
    long r = syscall(SYS_futex, word, op, n_waiters, NULL, NULL, 0);

    return r < 0 ? nn_error_origin(-errno) : (int)r;
}

void nn_sys_wake(int fd)
{
    const uint64_t one = 1;
    int saved = errno;

    (void)!write(fd, &one, sizeof(one));
    errno = saved;
}

void nn_sys_wake_drain(int fd)
{
    uint64_t word;
    int saved = errno;

    (void)!read(fd, &word, sizeof(word));
    errno = saved;
}

int nn_sys_sigaction(int number, const struct nn_sys_action *action, struct nn_sys_action *ret_old)
{
    int saved = errno, r = 0;

    if (syscall(SYS_rt_sigaction, number, action, ret_old, sizeof(ret_old->mask), 0,
                NN_SYS_ACTION_KEY) < 0)
        r = -errno;
    errno = saved;
    return r;
}

uint64_t nn_sys_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
