/* SPDX-License-Identifier: Apache-2.0 */
#include "seal.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Calls of a program that computes, and writes to what is open. What is absent fails with EPERM. */
static const char *const allowed[] = {
    "brk",          "clock_gettime", "close",       "exit",        "exit_group",
    "fstat",        "futex",         "getpid",      "getrandom",   "gettid",
    "gettimeofday", "lseek",         "madvise",     "mremap",      "munmap",
    "newfstatat",   "rseq",          "sched_yield", "sigaltstack", "sched_getaffinity",
    "write",        "writev",
};

static int allow(scmp_filter_ctx filter, const char *name, unsigned n_rules,
                 const struct scmp_arg_cmp *rules)
{
    int call = seccomp_syscall_resolve_name(name);

    /* A name that this machine does not have is below 0 and needs no rule. */
    return call < 0 ? 0 : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, n_rules, rules);
}

/* Memory that is not code; the third argument is the protection. */
static int allow_memory(scmp_filter_ctx filter)
{
    const struct scmp_arg_cmp no_code = SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
    int r = allow(filter, "mmap", 1, &no_code);

    return r ? r : allow(filter, "mprotect", 1, &no_code);
}

static bool has_seccomp(void)
{
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 || errno != EINVAL;
}

static int filter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = filter ? allow_memory(filter) : -ENOMEM;

    for (size_t i = 0; i < N(allowed) && !r; i++)
        r = allow(filter, allowed[i], 0, NULL);
    if (!r)
        r = seccomp_load(filter);
    seccomp_release(filter);
    return r;
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
#ifdef SEAL_WITHOUT_MEMORY_LIMIT
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
    if (!r && close_range(3, ~0U, 0) < 0)
        r = -errno;
    return r || !has_seccomp() ? r : filter_calls();
}
