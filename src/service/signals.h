/* SPDX-License-Identifier: Apache-2.0 */
/* signals.h - SIGBUS stays the host's
 *
 * A client that shrinks a file under the service makes the thread that reads it receive SIGBUS,
 * which the guard of shared memory repairs (shm/guard.h). In a thread that blocks SIGBUS the kernel
 * ends the process instead, and libraries of drivers make threads that block all signals, by the C
 * library or by system calls of their own. So the filter of system calls (seccomp-filter.h) answers
 * those that block signals, or set a signal's action, with SIGSYS, and the handler does them for their
 * caller, with these differences:
 *
 *     SIGBUS, SIGSYS   are blocked in no thread, nor while a handler runs; their actions stay, and
 *                      who sets them is told that it succeeded: libraries give up where that fails
 *     the rest         as the kernel does it, its errors included
 *
 * SIGSYS is kept for its own sake: where it is blocked or ignored, the kernel ends the process at the
 * next of these calls.
 *
 * What the filter cannot see stays: the masks that ppoll() and its like wait with, which only concern
 * handlers that run meanwhile, and what a handler of the driver's puts into the context that it
 * returns to. No library is known that blocks SIGBUS so; a driver that is hostile ends its process
 * more simply. */
#ifndef NN_SERVICE_SIGNALS_H
#define NN_SERVICE_SIGNALS_H

/* Whether the handler knows this machine's registers. ThreadSanitizer makes such calls in threads that it
 * has not prepared for a handler yet. */
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SANITIZE_THREAD__)
#define NN_SIGNALS_ARE_KEPT 1
#else
#define NN_SIGNALS_ARE_KEPT 0
#endif

/* nn_signals_keep() - installs the guard and the handler, and unblocks both signals, also in actions
 * that were set before. While the process has one thread, before the filter is loaded.
 * Returns: 0, -errno. */
int nn_signals_keep(void);

#endif
