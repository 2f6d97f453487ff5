/* SPDX-License-Identifier: Apache-2.0 */
/* sharedmem.h - shared memory by descriptor, on Linux
 *
 * Android's functions, implemented with memfds. A memory is sealed against shrinking
 * and growing when it is made, so that a process that receives its descriptor can map
 * it without risking a SIGBUS. ASharedMemory_dupFromJava() needs Java and is missing.
 * Threads: any. */
#ifndef NNHAL_ANDROID_SHAREDMEM_H
#define NNHAL_ANDROID_SHAREDMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ASharedMemory_create() - makes size zeroed bytes, rounded up to whole pages. name
 * (may be NULL, at most 200 bytes) is for /proc only. The descriptor is
 * close-on-exec; the memory lives as long as a descriptor or a mapping of it.
 * Returns: the descriptor, which belongs to the caller; -1 with errno EINVAL (size
 * 0 or too large, name too long), ENOMEM, EMFILE, ENFILE. */
int ASharedMemory_create(const char *name, size_t size);

/* ASharedMemory_getSize() - the size of a memory of ASharedMemory_create(), rounded up
 * as above. Returns: 0 if fd is not such a memory. */
size_t ASharedMemory_getSize(int fd);

/* ASharedMemory_setProt() - restricts later mappings of the memory, through this and
 * every other descriptor. prot: PROT_READ, or PROT_READ | PROT_WRITE, the initial
 * protection. A protection that was removed cannot be restored. Existing mappings do
 * not change.
 * Returns: 0; -1 with errno EBADF, EINVAL (not such a memory, or an invalid
 * protection). */
int ASharedMemory_setProt(int fd, int prot);

#ifdef __cplusplus
}
#endif

#endif
