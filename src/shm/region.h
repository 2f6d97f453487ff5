/* SPDX-License-Identifier: Apache-2.0 */
/* region.h - one mapped file descriptor
 *
 * A region is memory that this process shares with another one: a memfd, a
 * part of any mappable file, or a dma-buf, mapped once and used by address.
 * Its descriptor, offset and size come from a peer, so that everything is
 * checked here before it is mapped: what kind of file it is, whether the range
 * lies in it, whether the file can still shrink under the mapping.
 *
 * A file that is sealed against shrinking, and a dma-buf, are safe to touch.
 * Anything else can be truncated by every process that holds it, and touching the lost
 * pages is a SIGBUS: with NN_REGION_GUARD the region is put behind the guard
 * (shm/guard.h), which lays zero pages over it and marks it broken. Without
 * the guard (an application's own memory in its own process) the signal is the
 * application's.
 *
 * The bytes may change at any time. Code that decides by them copies them first.
 *
 * Regions are counted references: sessions, prepared models and executions on
 * several threads share one. The mapping never moves while a reference lives. */
#ifndef NN_SHM_REGION_H
#define NN_SHM_REGION_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nn_region;
struct nnhal_hardware_buffer;

enum {
    NN_REGION_E_INVALID = 1,    /* malformed: kind, protection, size, range, or not a file */
    NN_REGION_E_UNMAPPABLE = 2, /* well-formed, but this process cannot map it */
};

enum {
    NN_REGION_GUARD = 1, /* what can shrink goes behind the SIGBUS guard */
};

/* What to map, as import_memory has it. kind is an enum nnhal_memory_kind.
 * ashmem and hardware_buffer_blob: prot and offset are ignored, the region is
 * readable and, if the descriptor is, writable. mmap_fd: PROT_READ and
 * PROT_WRITE, at least one of them; any offset. Hardware buffers: buffer is
 * judged against the descriptor; size is a blob's width, and 0 for the others,
 * of which all that buffer says is mapped. */
struct nn_region_params {
    uint32_t kind;
    uint32_t prot;
    uint64_t size;
    uint64_t offset;
    const struct nnhal_hardware_buffer *buffer; /* borrowed; NULL for other kinds */
};

/* nn_region_new() - n_bytes of zeroed memory in a memfd of our own, sealed
 * against shrink, grow and further seals. name is for /proc only.
 * Returns: 0, NN_REGION_E_INVALID (0 or too many bytes), -errno. */
int nn_region_new(const char *name, size_t n_bytes, struct nn_region **ret_region);

/* nn_region_import() - maps a descriptor that came from elsewhere. Consumes fd.
 * A hardware_buffer that no CPU can read, because of its layout or because its
 * descriptor cannot be mapped, is a region without data.
 * Returns: 0, NN_REGION_E_INVALID, NN_REGION_E_UNMAPPABLE, -ENOMEM, -errno. */
int nn_region_import(int fd, const struct nn_region_params *params, unsigned flags,
                     struct nn_region **ret_region);

/* nn_region_ref(), nn_region_unref() - any thread. The last unref unmaps and
 * closes; it accepts NULL and returns NULL. */
struct nn_region *nn_region_ref(struct nn_region *region);
struct nn_region *nn_region_unref(struct nn_region *region);

/* The first of nn_region_size() bytes; NULL if no CPU can read them. Borrowed
 * while a reference is held. */
void *nn_region_data(const struct nn_region *region);
size_t nn_region_size(const struct nn_region *region);

/* The descriptor; borrowed. */
int nn_region_fd(const struct nn_region *region);

bool nn_region_is_writable(const struct nn_region *region);

/* nn_region_can_shrink() - neither sealed nor a dma-buf. */
bool nn_region_can_shrink(const struct nn_region *region);

/* nn_region_may_stall() - lies in a file system where a page fault can wait
 * for another process (anything but memfd, tmpfs and dma-buf): to be touched
 * only by threads that may be lost to its owner. */
bool nn_region_may_stall(const struct nn_region *region);

/* nn_region_fillable() - how many bytes of pages this process may come to own by touching the
 * region: all of a memfd that its holders can write to, since they can also empty it; of one that
 * is sealed against that, the pages that were never filled; none of dma-bufs, and of files on a
 * disk, whose pages the kernel can drop. */
uint64_t nn_region_fillable(const struct nn_region *region);

/* nn_region_is_broken() - the guard has replaced it by zero pages: what was
 * computed from it is void. Final. */
bool nn_region_is_broken(const struct nn_region *region);

/* nn_region_begin_access(), nn_region_end_access() - around each use by the
 * CPU: makes a dma-buf coherent, and writes mapped files back after writing.
 * No-ops for memfds. Returns: 0, -errno. */
int nn_region_begin_access(struct nn_region *region, bool is_write);
int nn_region_end_access(struct nn_region *region, bool is_write);

/* nn_region_is_device_memory() - a dma-buf that a CPU can read: its contents may be elsewhere
 * before nn_region_begin_access(). */
bool nn_region_is_device_memory(const struct nn_region *region);

NN_DEFINE_CLEANUP(struct nn_region, nn_region_unref)

#endif
