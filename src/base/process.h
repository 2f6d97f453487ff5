/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - the number that others know this process by
 *
 * In a PID namespace of its own a process has another number than outside. What
 * is told to peers and printed is the outer one. */
#ifndef NN_BASE_PROCESS_H
#define NN_BASE_PROCESS_H

#include <sys/types.h>

/* nn_process_number() - the number that was set, else getpid(). Any thread. */
pid_t nn_process_number(void);

/* nn_process_set_number() - while the process has one thread. */
void nn_process_set_number(pid_t number);

#endif
