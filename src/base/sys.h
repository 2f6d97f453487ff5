/* SPDX-License-Identifier: Apache-2.0 */
/* sys.h - the system calls that move memory, descriptors, packets and files
 *
 * recvmsg, sendmsg, mmap, futex, memfd_create, openat and the ioctls of devices
 * are called here and nowhere else; so are the calls that write files of the
 * cache. This is also the seam where tests make the n-th call fail, or watch the
 * calls: nn_sys_fault, compiled in everywhere, costs one load when it is off.
 * Every function returns >= 0 or -errno; EINTR is retried. New descriptors are
 * close-on-exec. */
#ifndef NN_BASE_SYS_H
#define NN_BASE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* When > 0 it is counted down by each call on any thread; the call that
 * brings it to 0 fails with nn_sys_fault_errno. Until then nn_sys_observer, if
 * there is one, is told of each call before it is made: its name, and the
 * descriptor that it is for (-1: none). Tests only. */
extern long nn_sys_fault;
extern int nn_sys_fault_errno;
extern void (*nn_sys_observer)(const char *call, int fd);

/* Devices and features that a machine may not have: where set, called instead of the system.
 * Tests only. They answer as the functions of their names do. */
struct nn_sys_file;
struct nn_sys_fakes {
    int (*openat)(int dir_fd, const char *path, int flags, unsigned mode);
    int (*ioctl)(int fd, unsigned long request, void *argument);
    int (*inspect)(int fd, struct nn_sys_file *ret_file);
    int (*landlock_version)(void); /* 0: there is none; what the kernel has at most */
    bool has_no_namespaces, has_no_seccomp;
};
extern const struct nn_sys_fakes *nn_sys_fakes;

ssize_t nn_sys_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t nn_sys_sendmsg(int fd, const struct msghdr *message, int flags); /* MSG_NOSIGNAL added */
/* With MAP_FIXED in flags, *ret_address is where. */
int nn_sys_mmap(size_t n_bytes, int prot, int flags, int fd, off_t offset, void **ret_address);
int nn_sys_munmap(void *address, size_t n_bytes);
int nn_sys_memfd_create(const char *name, bool sealable);
int nn_sys_openat(int dir_fd, const char *path, int flags, unsigned mode);

int nn_sys_ioctl(int fd, unsigned long request, void *argument);

/* What kind of file a descriptor is, as far as memory is concerned. */
enum nn_sys_file_kind {
    NN_SYS_OTHER,  /* no memory: a directory, a socket, a device.. */
    NN_SYS_SHARED, /* a memfd, or a file of tmpfs */
    NN_SYS_HUGE,   /* the same of hugetlbfs: seals do not keep its pages */
    NN_SYS_DMA_BUF,
    NN_SYS_STALLING_FILE, /* another file: touching it may wait for its file system's server */
};

struct nn_sys_file {
    enum nn_sys_file_kind kind;
    uint64_t n_bytes;
};

/* nn_sys_inspect() - looks at a descriptor without asking the server of its file
 * system, which might not answer. Returns: 0, -EBADF, -errno. */
int nn_sys_inspect(int fd, struct nn_sys_file *ret_file);

/* All n_bytes, unless the file ends before: pread returns what there was. */
ssize_t nn_sys_pread(int fd, void *bytes, size_t n_bytes, off_t offset);
int nn_sys_pwrite(int fd, const void *bytes, size_t n_bytes, off_t offset);
int nn_sys_ftruncate(int fd, off_t n_bytes);
int nn_sys_fdatasync(int fd);
int nn_sys_renameat(int dir_fd, const char *from, const char *to);

/* nn_sys_getrandom() - n_bytes (at most 256) that cannot be guessed. */
int nn_sys_getrandom(void *bytes, size_t n_bytes);

/* nn_sys_futex_wait() - waits on *word while it holds expected; deadline on
 * CLOCK_MONOTONIC, UINT64_MAX: none. is_shared: between processes.
 * Returns: 0 (woken, or spuriously), -EAGAIN (the word differs), -ETIMEDOUT. */
int nn_sys_futex_wait(const uint32_t *word, uint32_t expected, uint64_t deadline_ns,
                      bool is_shared);
/* nn_sys_futex_waitv() - waits while each of the words (at most
 * NN_SYS_MAX_FUTEXES) holds what is expected of it: any wake or change ends it.
 * Returns: 0 (woken, or spuriously), -EAGAIN (a word differs), -ETIMEDOUT,
 * -ENOSYS (before Linux 5.16). */
#define NN_SYS_MAX_FUTEXES 4
struct nn_sys_futex {
    const uint32_t *word;
    uint32_t expected;
    bool is_shared;
};
int nn_sys_futex_waitv(const struct nn_sys_futex *futexes, size_t n_futexes, uint64_t deadline_ns);

int nn_sys_futex_wake(const uint32_t *word, int n_waiters, bool is_shared);

/* nn_sys_wake() - wakes who polls an eventfd that does not block; nn_sys_wake_drain() - until the next
 * time. Neither is interrupted or fails: a counter that is full or empty has the same effect. In a
 * signal handler, too; errno stays. */
void nn_sys_wake(int fd);
void nn_sys_wake_drain(int fd);

/* A signal's action as the kernel has it on x86-64 and aarch64; one of zeroes is the default action on
 * any machine. */
struct nn_sys_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask; /* bit 0: signal 1 */
};

/* Passed where rt_sigaction has no argument: a filter that traps the call lets it by
 * (service/signals.h). Against mistakes, no secret. */
#define NN_SYS_ACTION_KEY UINT64_C(0x6e6e68616c6b6579)

/* nn_sys_sigaction() - sets a signal's action, also behind a filter that keeps others from it. Either
 * pointer may be NULL. In a signal handler, too; never made to fail. The key may stay in a register:
 * outside of handlers, whose registers are dropped, before there is a filter only.
 * Returns: 0, -EINVAL, -EFAULT. */
int nn_sys_sigaction(int number, const struct nn_sys_action *action, struct nn_sys_action *ret_old);

/* nn_sys_now_ns() - CLOCK_MONOTONIC. */
uint64_t nn_sys_now_ns(void);

#endif
