/* SPDX-License-Identifier: Apache-2.0 */
/* refuse-call.h - a system call fails, as on an older kernel or behind a container's filter
 *
 * For good, in the calling thread and what it starts: each test has a process of its own. A call that was
 * refused twice fails with the error of the last. */
#ifndef NN_TESTS_REFUSE_CALL_H
#define NN_TESTS_REFUSE_CALL_H

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* What the C library calls for these: machines that came later have no calls of the old names. */
#ifdef SYS_chmod
#define CALL_CHMOD  SYS_chmod
#define CALL_UNLINK SYS_unlink
#else
#define CALL_CHMOD  SYS_fchmodat
#define CALL_UNLINK SYS_unlinkat
#endif

/* The call of that number (SYS_...) fails with error. */
void refuse_call(long call, int error);

/* The same where its argument (0 to 5), as far as an int goes, has that value. */
void refuse_call_with(long call, unsigned argument, uint32_t value, int error);

struct refusal {
    long call; /* -1: none */
    int error;
};

extern struct refusal refused; /* to the child that follows */

/* Runs body in a child to which the call is refused. An assertion that fails there fails the test. */
void refuse_in_child(struct refusal refusal, void (*body)(void));

/* Until it ends, which has to be well. */
void await_child(pid_t pid);

#endif
