/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp-filter.h - which system calls a driver's process may make
 *
 * A list of those of a service and those that the driver declared; others fail
 * with EPERM. No socket, no exec, no ptrace, no new process. Limits, CPUs,
 * priority and signals: only of the calling thread (0) and the process, also
 * where a driver declares those calls; in a PID namespace of its own, where no
 * other process can be named, limits, CPUs and priority of each of its threads. What blocks
 * signals is done for its caller by signals.h. For all threads of the process. */
#ifndef NN_SERVICE_SECCOMP_FILTER_H
#define NN_SERVICE_SECCOMP_FILTER_H

#include "service/grants.h"

/* nn_seccomp_is_there() - whether the kernel has it. */
bool nn_seccomp_is_there(void);

/* nn_seccomp_close() - before the driver is loaded: files can be opened, code mapped. is_alone: the
 * process is in a PID namespace of its own.
 * Returns: 0, -EINVAL (a declared call that this machine does not know), -errno. */
int nn_seccomp_close(const struct nn_grants *grants, bool is_alone);

/* nn_seccomp_tighten() - when the driver is open: no more filters, no files by path and no
 * executable memory, unless it may. It is tried. Returns: 0, -EPERM (another filter answers in place
 * of this one), -errno. */
int nn_seccomp_tighten(bool may_open, bool may_make_code);

#endif
