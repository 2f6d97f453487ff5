/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - a shrinking file does not kill the service
 *
 * Touching a page that lies beyond the end of its file raises SIGBUS. In a
 * service the file is a client's, so that any client could end it by
 * truncating what it shared. The guard is a process-wide handler with a table
 * of address ranges: a fault inside one lays private zero pages over the whole
 * range, sets its broken flag, and the faulting instruction goes on. It never
 * jumps. A fault at any other address goes to the handler that was there
 * before, or kills the process as it would have.
 *
 * Only services install it: never in an application's process.
 * The handler takes no lock: records are published under a sequence counter, and
 * a record that is being changed never belongs to the faulting address, because
 * every access to a range holds its region.
 * Threads that touch guarded memory must not block SIGBUS. */
#ifndef NN_SHM_GUARD_H
#define NN_SHM_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* nn_guard_install() - installs the handler; more than once is once.
 * Returns: 0, -errno. */
int nn_guard_install(void);

/* nn_guard_is_installed() - whether ranges are looked after in this process. */
bool nn_guard_is_installed(void);

/* nn_guard_add() - looks after n_bytes at address (both whole pages), mapped
 * with prot. The handler sets *broken to 1 before it changes the mapping, so
 * that a reader of a zero of its making finds the flag set. Any thread.
 * Returns: 0, -ENOMEM. */
int nn_guard_add(void *address, size_t n_bytes, int prot, uint32_t *broken, uint32_t *ret_record);

/* nn_guard_remove() - forgets a range, before it is unmapped. Any thread. */
void nn_guard_remove(uint32_t record);

#endif
