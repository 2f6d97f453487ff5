/* SPDX-License-Identifier: Apache-2.0 */
#include "service/seccomp-filter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"
#include "service/signals.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* What a service needs once it is open: memory, threads, time, and the
 * descriptors that it has. Names that the machine does not know are skipped. */
static const char *const allowed_calls[] = {
    /* memory */
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "msync",
    "mincore",
    "brk",
    "membarrier",
    "memfd_create",
    "get_mempolicy",
    "set_mempolicy",
    "mbind",
    /* threads and their end */
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "set_tid_address",
    "gettid",
    "exit",
    "exit_group",
    "futex",
    "futex_waitv",
    "futex_wait",
    "futex_wake",
    "futex_requeue",
    "sched_yield",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "getpriority",
    "arch_prctl",
    "restart_syscall",
    /* signals of its own */
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "sigaltstack",
    "signalfd4",
    "setitimer",
    "alarm",
    "pause",
    /* time */
    "nanosleep",
    "clock_nanosleep",
    "clock_gettime",
    "clock_getres",
    "gettimeofday",
    "time",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "times",
    /* descriptors that it has */
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "lseek",
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "fcntl",
    "fstat",
    "newfstatat",
    "statx",
    "fstatfs",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "flock",
    "fadvise64",
    "copy_file_range",
    "ioctl",
    "getdents64",
    "eventfd2",
    "pipe2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    /* sockets that it has */
    "sendmsg",
    "recvmsg",
    "sendto",
    "recvfrom",
    "shutdown",
    "accept",
    "accept4",
    "getsockopt",
    "setsockopt",
    "getsockname",
    "getpeername",
    "pidfd_open",
    /* who and where it is */
    "getpid",
    "getppid",
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getgroups",
    "getcpu",
    "uname",
    "sysinfo",
    "getrlimit",
    "getrusage",
    "getrandom",
    "getcwd",
    /* more filters: until the driver is open (nn_seccomp_tighten()) */
    "seccomp",
};

/* Files by path: Landlock or a root of its own says which; without both, until the driver is open.
 * Not chmod, chown or utimensat: Landlock has no say in those, and a private child is its
 * application's user. */
static const char *const path_calls[] = {
    "openat", "open",     "access",     "faccessat", "faccessat2", "stat",
    "lstat",  "readlink", "readlinkat", "statfs",    "unlink",     "unlinkat",
    "rename", "renameat", "renameat2",  "mkdir",     "mkdirat",    "rmdir",
};

/* What the kernel takes for an int is compared as one: the upper half of the register is the
 * caller's to choose. */
#define ANY_BIT    UINT32_MAX
#define IS(value)  SCMP_CMP_MASKED_EQ, ANY_BIT, (scmp_datum_t)(value)
#define TYPE_BITS  (ANY_BIT & ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
#define PAIR(type) SCMP_CMP_MASKED_EQ, TYPE_BITS, (scmp_datum_t)(type)

/* A call that is allowed with certain arguments only, one rule each. */
struct limited_call {
    const char *name;
    unsigned n_arguments;
    struct scmp_arg_cmp arguments[2];
};

static int limited_allow(scmp_filter_ctx filter, const struct limited_call *calls, size_t n_calls)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n_calls; i++)
        r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW,
                                   seccomp_syscall_resolve_name(calls[i].name),
                                   calls[i].n_arguments, calls[i].arguments);
    return nn_error_trace(r);
}

/* Of any process, which is a thread of this one where no other can be named. */
static int allow_settings(scmp_filter_ctx filter)
{
    const struct limited_call calls[] = {
        {"prlimit64", 0, {{0}}},
        {"sched_setaffinity", 0, {{0}}},
        {"setpriority", 1, {{0, IS(PRIO_PROCESS)}}}, /* lower only */
    };

    return nn_error_trace(limited_allow(filter, calls, NN_N_ELEMENTS(calls)));
}

/* Of the caller or this process. The threads of this process have numbers of their own, which a
 * filter cannot know: each of them names itself with 0. */
static int allow_own_settings(scmp_filter_ctx filter)
{
    const pid_t own = getpid();
    const struct limited_call calls[] = {
        {"prlimit64", 1, {{0, IS(0)}}},
        {"prlimit64", 1, {{0, IS(own)}}},
        {"sched_setaffinity", 1, {{0, IS(0)}}},
        {"sched_setaffinity", 1, {{0, IS(own)}}},
        {"setpriority", 2, {{0, IS(PRIO_PROCESS)}, {1, IS(0)}}}, /* lower only */
        {"setpriority", 2, {{0, IS(PRIO_PROCESS)}, {1, IS(own)}}},
    };

    return nn_error_trace(limited_allow(filter, calls, NN_N_ELEMENTS(calls)));
}

static int allow_some(scmp_filter_ctx filter, bool is_alone)
{
    const pid_t own = getpid();
    const struct limited_call calls[] = {
        /* A pair of streams or packets reaches no other process. One of datagrams could be
         * sent to any socket by its path; socket() is refused for every family. */
        {"socketpair", 2, {{0, IS(AF_UNIX)}, {1, PAIR(SOCK_STREAM)}}},
        {"socketpair", 2, {{0, IS(AF_UNIX)}, {1, PAIR(SOCK_SEQPACKET)}}},
        {"kill", 1, {{0, IS(own)}}}, /* not 0: the group has other processes */
        {"tgkill", 1, {{0, IS(own)}}},
        {"prctl", 1, {{0, IS(PR_SET_NAME)}}},
        {"prctl", 1, {{0, IS(PR_GET_NAME)}}},
        {"process_vm_readv", 1, {{0, IS(own)}}}, /* signals.c */
        {"clone", 1, {{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD}}},
    };
    int r = limited_allow(filter, calls, NN_N_ELEMENTS(calls));

    if (r == 0)
        r = is_alone ? allow_settings(filter) : allow_own_settings(filter);
    /* clone3, whose flags a filter cannot see, is "unknown", so that the C library falls
     * back to clone, which makes threads only. */
    if (r == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    return nn_error_trace(r);
}

/* Calls that stay limited where a driver declares them. */
static bool call_is_limited(const char *name)
{
    static const char *const names[] = {
        "socketpair", "kill",  "tgkill", "prlimit64",         "setpriority",
        "prctl",      "clone", "clone3", "sched_setaffinity", "process_vm_readv"};

    for (size_t i = 0; i < NN_N_ELEMENTS(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int filter_allow(scmp_filter_ctx filter, const char *name, bool is_declared)
{
    int number = seccomp_syscall_resolve_name(name);

    /* Those of other machines have numbers below 0, for which rules are accepted and do nothing. */
    if (number < 0)
        return is_declared ? nn_error_origin(-EINVAL) : 0;
    if (call_is_limited(name))
        return 0;
    return nn_error_trace(seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0));
}

static int allow_all(scmp_filter_ctx filter, const char *const *names, size_t n_names,
                     bool are_declared)
{
    for (size_t i = 0; i < n_names; i++) {
        int r = filter_allow(filter, names[i], are_declared);

        /* Allowed already; no different from the default. */
        if (r < 0 && r != -EEXIST && r != -EACCES)
            return nn_error_trace(r);
    }
    return 0;
}

static int fill_allowed(scmp_filter_ctx filter, const struct nn_grants *grants, bool is_alone)
{
    int r = allow_some(filter, is_alone);

    if (r == 0)
        r = allow_all(filter, allowed_calls, NN_N_ELEMENTS(allowed_calls), false);
    if (r == 0)
        r = allow_all(filter, path_calls, NN_N_ELEMENTS(path_calls), false);
    if (r == 0)
        r = allow_all(filter, grants->calls, grants->n_calls, true);
    return nn_error_trace(r);
}

/* Commands of sockets: SIOCSPGRP, FIOSETOWN, and what asks for the machine's network, also one
 * that was passed from another network namespace; those of wireless networks (from
 * SIOCIWFIRST on). */
#define IOCTL_TYPE 0xff00

/* Commands that reach other processes through a descriptor: they type into its terminal, or
 * have the kernel send a signal of choice to a process of choice. */
static int fill_refused(scmp_filter_ctx filter)
{
    static const unsigned types[] = {SIOCSPGRP & IOCTL_TYPE, 0x8b00};
    static const unsigned ioctls[] = {TIOCSTI, TIOCLINUX};
    static const int fcntls[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};
    /* A socket that is bound to an interface of a number tells its name. */
    static const int binders[] = {SO_BINDTODEVICE, SO_BINDTOIFINDEX};
    int r = 0;

    for (size_t i = 0; r == 0 && i < NN_N_ELEMENTS(types); i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             (struct scmp_arg_cmp){1, SCMP_CMP_MASKED_EQ, IOCTL_TYPE, types[i]});
    for (size_t i = 0; r == 0 && i < NN_N_ELEMENTS(binders); i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setsockopt), 1,
                             (struct scmp_arg_cmp){2, IS(binders[i])});
    for (size_t i = 0; r == 0 && i < NN_N_ELEMENTS(ioctls); i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             (struct scmp_arg_cmp){1, IS(ioctls[i])});
    for (size_t i = 0; r == 0 && i < NN_N_ELEMENTS(fcntls); i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1,
                             (struct scmp_arg_cmp){1, IS(fcntls[i])});
    return nn_error_trace(r);
}

/* Blocking signals and setting an action, which signals.c does; a NULL that it would have to do
 * nothing for asks only. */
static int fill_trapped(scmp_filter_ctx filter)
{
    static const int ways[] = {SIG_BLOCK, SIG_SETMASK};
    int r = 0;

    for (size_t i = 0; NN_SIGNALS_ARE_KEPT && r == 0 && i < NN_N_ELEMENTS(ways); i++)
        r = seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(rt_sigprocmask), 2,
                             (struct scmp_arg_cmp){0, IS(ways[i])},
                             (struct scmp_arg_cmp){1, SCMP_CMP_NE, 0});
    if (NN_SIGNALS_ARE_KEPT && r == 0)
        r = seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(rt_sigaction), 2,
                             (struct scmp_arg_cmp){1, SCMP_CMP_NE, 0},
                             (struct scmp_arg_cmp){5, SCMP_CMP_NE, NN_SYS_ACTION_KEY});
    return nn_error_trace(r);
}

bool nn_seccomp_is_there(void)
{
    uint32_t action = SECCOMP_RET_ERRNO;

    if (nn_sys_fakes && nn_sys_fakes->has_no_seccomp)
        return false;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int new_filter(uint32_t standard, scmp_filter_ctx *ret_filter)
{
    scmp_filter_ctx filter = seccomp_init(standard);
    int r;

    if (!filter)
        return nn_error_origin(-ENOMEM);
    /* For every thread of the process; calls of another architecture end no process. */
    r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (r == 0)
        r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    if (r < 0)
        seccomp_release(filter);
    else
        *ret_filter = filter;
    return nn_error_trace(r);
}

/* Two filters, of which the kernel obeys the stricter: in a list of what is allowed a rule
 * cannot say "all commands but these". */
int nn_seccomp_close(const struct nn_grants *grants, bool is_alone)
{
    scmp_filter_ctx refused = NULL, allowed = NULL;
    int r = new_filter(SCMP_ACT_ALLOW, &refused);

    if (r == 0)
        r = new_filter(SCMP_ACT_ERRNO(EPERM), &allowed);
    if (r == 0)
        r = fill_refused(refused);
    if (r == 0)
        r = fill_trapped(refused);
    if (r == 0)
        r = fill_allowed(allowed, grants, is_alone);
    if (r == 0)
        r = nn_signals_keep();
    if (r == 0)
        r = seccomp_load(refused);
    if (r == 0)
        r = seccomp_load(allowed);
    seccomp_release(refused);
    seccomp_release(allowed);
    return nn_error_trace(r);
}

static int refuse_all(scmp_filter_ctx filter, const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        int r = number < 0 ? 0 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);

        if (r < 0)
            return nn_error_trace(r);
    }
    return 0;
}

static int refuse_code(scmp_filter_ctx filter)
{
    static const char *const names[] = {"mmap", "mprotect", "pkey_mprotect"};
    int r = 0;

    for (size_t i = 0; r == 0 && i < NN_N_ELEMENTS(names); i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), seccomp_syscall_resolve_name(names[i]),
                             1, (struct scmp_arg_cmp){2, SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC});
    return nn_error_trace(r);
}

static bool is_refused(long r)
{
    return r < 0 && errno == EPERM;
}

/* Filters of a driver, which it could install until now, may answer in place of those that are
 * loaded, and of the loading. */
static bool is_tight(bool may_open, bool may_make_code)
{
    uint32_t action = SECCOMP_RET_ERRNO;
    void *code;

    if (!is_refused(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action)))
        return false;
    if (!may_open && !is_refused(open("/", O_PATH | O_CLOEXEC)))
        return false;
    return may_make_code ||
           nn_sys_mmap(1, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, &code) == -EPERM;
}

int nn_seccomp_tighten(bool may_open, bool may_make_code)
{
    static const char *const filters[] = {"seccomp"};
    scmp_filter_ctx filter = NULL;
    int r = new_filter(SCMP_ACT_ALLOW, &filter);

    /* It is set, and prctl() is refused. */
    if (r == 0)
        r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
    if (r == 0)
        r = refuse_all(filter, filters, NN_N_ELEMENTS(filters));
    if (r == 0 && !may_open)
        r = refuse_all(filter, path_calls, NN_N_ELEMENTS(path_calls));
    if (r == 0 && !may_make_code)
        r = refuse_code(filter);
    if (r == 0)
        r = seccomp_load(filter);
    seccomp_release(filter);
    if (r == 0 && !is_tight(may_open, may_make_code))
        r = nn_error_origin(-EPERM);
    return nn_error_trace(r);
}
