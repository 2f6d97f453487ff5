/* SPDX-License-Identifier: Apache-2.0 */
/* fail-library.h - the n-th call into SQLite or libseccomp fails
 *
 * For programs that link with fail_library_args. What fails in such a call: SQLite says that the disk
 * failed (or, with the other kind, that there is no memory), a blob of a column is NULL, libseccomp
 * says EFAULT or gives no filter. SHA256_Init() and its like (libcrypto) neither allocate nor fail:
 * they are counted. */
#ifndef NN_TESTS_FAILURE_FAIL_LIBRARY_H
#define NN_TESTS_FAILURE_FAIL_LIBRARY_H

void fail_library_arm(long n, int sqlite_code);

/* Returns: how many calls were missing to the fault; 0: it happened. */
long fail_library_disarm(void);

/* fail_library_count() - calls into SQLite, libseccomp and libcrypto since the program began, of this
 * process. */
long fail_library_count(void);

#endif
