/* SPDX-License-Identifier: Apache-2.0 */
/* sharedmem.h - shared memory by descriptor, on Linux
 *
 * Android's functions over memfds. A memory is sealed against shrinking and
 * growing when it is made: whoever receives its descriptor may map it without
 * fear of a SIGBUS. (ASharedMemory_dupFromJava() needs Java and is not here.)
 * Threads: any. */
#ifndef NNHAL_ANDROID_SHAREDMEM_H
#define NNHAL_ANDROID_SHAREDMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ASharedMemory_create() - size zeroed bytes, rounded up to whole pages. name
 * (may be NULL, at most 200 bytes) is for /proc only. The descriptor is
 * close-on-exec; the memory lives as long as a descriptor or a mapping of it.
 * Returns: the descriptor, which is the caller's; -1 with errno EINVAL (size
 * 0 or too large, name too long), ENOMEM, EMFILE, ENFILE. */
int ASharedMemory_create(const char *name, size_t size);

/* ASharedMemory_getSize() - bytes of a memory of ASharedMemory_create(), rounded as
 * it rounds. Returns: 0 if fd is not such a memory. */
size_t ASharedMemory_getSize(int fd);

/* ASharedMemory_setProt() - restricts what later mappings of the memory may do, of
 * this and of every other descriptor of it. prot: PROT_READ, or PROT_READ |
 * PROT_WRITE, which is what it has at first. Protection can be taken away and
 * never given back. Mappings that exist keep what they have.
 * Returns: 0; -1 with errno EBADF, EINVAL (not such a memory, or a protection
 * that can neither be kept nor taken away). */
int ASharedMemory_setProt(int fd, int prot);

#ifdef __cplusplus
}
#endif

#endif
