/* SPDX-License-Identifier: Apache-2.0 */
/* fail-libc.h - the n-th call of the C library that asks the kernel fails
 *
 * For programs that link with fail_libc_args. Counted are calls that layers make themselves, not by
 * base/sys: of sockets, descriptors, files and threads. What fails says ENOMEM (pthread_create: EAGAIN). */
#ifndef NN_TESTS_FAILURE_FAIL_LIBC_H
#define NN_TESTS_FAILURE_FAIL_LIBC_H

void fail_libc_arm(long n);

/* Returns: how many calls were missing to the fault; 0: it happened. */
long fail_libc_disarm(void);

#endif
