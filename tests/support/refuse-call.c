/* SPDX-License-Identifier: Apache-2.0 */
#include "support/refuse-call.h"

#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Goes on, or skips so many. */
#define IF(value, n_skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n_skipped)
#define RETURN(value)        BPF_STMT(BPF_RET | BPF_K, value)

struct refusal refused;

static void install(struct sock_filter *filter, unsigned short n)
{
    const struct sock_fprog program = {.len = n, .filter = filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        abort();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return;
    if (errno != EINVAL)
        abort();
    puts("SKIPPED: no system call can be made to fail, this kernel (or emulator) has no filters");
    fflush(stdout);
    _exit(0); /* of the child that the call was to fail in */
}

void refuse_call(long call, int error)
{
    struct sock_filter filter[] = {
        LOAD(nr),
        IF((uint32_t)call, 1),
        RETURN(SECCOMP_RET_ERRNO | (uint32_t)error),
        RETURN(SECCOMP_RET_ALLOW),
    };

    install(filter, sizeof(filter) / sizeof(filter[0]));
}

void refuse_call_with(long call, unsigned argument, uint32_t value, int error)
{
    struct sock_filter filter[] = {
        LOAD(nr),
        IF((uint32_t)call, 3),
        LOAD(args[argument]),
        IF(value, 1),
        RETURN(SECCOMP_RET_ERRNO | (uint32_t)error),
        RETURN(SECCOMP_RET_ALLOW),
    };

    install(filter, sizeof(filter) / sizeof(filter[0]));
}

void await_child(pid_t pid)
{
    int status;

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "where call %ld fails with \"%s\" the child ended with %#x",
                  refused.call, strerror(refused.error), (unsigned)status);
}

void refuse_in_child(struct refusal refusal, void (*body)(void))
{
    pid_t pid;

    refused = refusal;
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        if (refusal.call >= 0)
            refuse_call(refusal.call, refusal.error);
        body();
        _exit(0);
    }
    await_child(pid);
}
