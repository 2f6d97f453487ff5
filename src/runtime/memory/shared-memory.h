/* SPDX-License-Identifier: Apache-2.0 */
/* shared-memory.h - what ASharedMemory is: a memfd that cannot shrink or grow
 *
 * F_SEAL_SEAL is left out, so that the right to write can still be taken away.
 * Threads: any. */
#ifndef NN_RUNTIME_MEMORY_SHARED_MEMORY_H
#define NN_RUNTIME_MEMORY_SHARED_MEMORY_H

#include <stddef.h>

/* nn_rt_shared_memory_new() - Returns: the descriptor, -EINVAL, -ENOMEM, -errno. */
int nn_rt_shared_memory_new(const char *name, size_t n_bytes);

/* nn_rt_shared_memory_size() - Returns: bytes; 0 if fd is no shared memory that keeps its size. */
size_t nn_rt_shared_memory_size(int fd);

/* nn_rt_shared_memory_set_prot() - Returns: 0, -EBADF, -EINVAL. */
int nn_rt_shared_memory_set_prot(int fd, int prot);

#endif
