/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the library's own threads in the application's process
 *
 * The application's signals are not for our threads: they block all but those
 * that an instruction of their own raises (a blocked one of these kills). */
#ifndef NN_BASE_THREAD_H
#define NN_BASE_THREAD_H

#include <pthread.h>

/* nn_thread_start() - a joinable thread. name (at most 15 bytes) is what ps and gdb show; it is
 * borrowed until the thread has begun. Returns: 0, -EAGAIN (no thread, or no memory). */
int nn_thread_start(const char *name, void *(*main)(void *argument), void *argument,
                    pthread_t *ret_thread);

#endif
