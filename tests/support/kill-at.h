/* SPDX-License-Identifier: Apache-2.0 */
/* kill-at.h - a process that is killed at its n-th system call on files
 *
 * Linked into a program, it takes the place of the C library's functions that open, read, write,
 * sync, lock, rename and remove files, for the program and for the libraries that it uses (SQLite).
 * They count, and do what they always do. */
#ifndef NN_TESTS_SUPPORT_KILL_AT_H
#define NN_TESTS_SUPPORT_KILL_AT_H

/* When > 0, it is counted down by each such call on any thread; the one that brings it to 0 is not made:
 * the process ends with SIGKILL. A write writes half of its bytes first if kill_at_half. */
extern long kill_at;
extern int kill_at_half;

/* Milliseconds that a sync takes longer: a slow disk, everywhere. */
extern int kill_at_sync_ms;

/* kill_at_calls() - how many such calls there were. */
long kill_at_calls(void);

#endif
