/* SPDX-License-Identifier: Apache-2.0 */
#include "seal.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Calls of a program that loads libraries, reads files and computes. What is absent fails with EPERM. */
static const char *const allowed[] = {
    "access",      "arch_prctl",
    "brk",         "clock_gettime",
    "close",       "exit",
    "exit_group",  "faccessat",
    "faccessat2",  "fadvise64",
    "fstat",       "fstatfs",
    "futex",       "getcwd",
    "getdents64",  "getegid",
    "geteuid",     "getgid",
    "getpid",      "getrandom",
    "gettid",      "gettimeofday",
    "getuid",      "lseek",
    "lstat",       "madvise",
    "mmap",        "mprotect",
    "mremap",      "munmap",
    "newfstatat",  "pread64",
    "read",        "readlink",
    "readlinkat",  "readv",
    "rseq",        "sched_getaffinity",
    "sched_yield", "set_robust_list",
    "sigaltstack", "stat",
    "statfs",      "statx",
    "sysinfo",     "time",
    "uname",       "write",
    "writev",
};

static int allow(scmp_filter_ctx filter, const char *name, unsigned n_rules,
                 const struct scmp_arg_cmp *rules)
{
    int call = seccomp_syscall_resolve_name(name);

    /* A name that this machine does not have is below 0 and needs no rule. */
    return call < 0 ? 0 : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, n_rules, rules);
}

/* Files are opened for reading only; O_CREAT and O_TRUNC make or empty them even so. */
static int allow_reading(scmp_filter_ctx filter)
{
    const scmp_datum_t writes = O_ACCMODE | O_CREAT | O_TRUNC;
    int r = allow(filter, "open", 1,
                  (struct scmp_arg_cmp[]){SCMP_A1_64(SCMP_CMP_MASKED_EQ, writes, O_RDONLY)});

    return r ? r
             : allow(filter, "openat", 1,
                     (struct scmp_arg_cmp[]){SCMP_A2_64(SCMP_CMP_MASKED_EQ, writes, O_RDONLY)});
}

/* Not the commands that have signals sent to others. */
static int allow_descriptor_flags(scmp_filter_ctx filter)
{
    static const int commands[] = {F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL};
    int r = 0;

    for (size_t i = 0; i < N(commands) && !r; i++)
        r = allow(filter, "fcntl", 1,
                  (struct scmp_arg_cmp[]){
                      SCMP_A1_64(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)commands[i])});
    return r;
}

static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = filter ? allow_reading(filter) : -ENOMEM;

    if (!r)
        r = allow_descriptor_flags(filter);
    for (size_t i = 0; i < N(allowed) && !r; i++)
        r = allow(filter, allowed[i], 0, NULL);
    if (!r)
        r = seccomp_load(filter);
    seccomp_release(filter);
    return r == -EINVAL || r == -ENOSYS || r == -ECANCELED ? 0 : r;
}

static int limit(int what, rlim_t most)
{
    struct rlimit old;

    if (getrlimit(what, &old) < 0)
        return -errno;
    if (old.rlim_max < most)
        most = old.rlim_max;
    return setrlimit(what, &(struct rlimit){most, most}) < 0 ? -errno : 0;
}

/* A sanitizer's own memory is larger than any limit. */
static int limit_memory(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 0;
#else
    return limit(RLIMIT_AS, (rlim_t)4 << 30);
#endif
}

/* The signal ends the process: calls that catch or block it, or stop the clock, are not allowed. */
static int limit_time(unsigned seconds)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (signal(SIGALRM, SIG_DFL) == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0)
        return -errno;
    alarm(seconds);
    return 0;
}

int seal_process(void)
{
    int r = limit_time(60);

    if (!r)
        r = limit(RLIMIT_CORE, 0);
    if (!r)
        r = limit_memory();
    if (!r && close_range(3, ~0U, 0) < 0 && errno != ENOSYS)
        r = -errno;
    return r ? r : filter_calls();
}
