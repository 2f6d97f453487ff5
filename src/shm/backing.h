/* SPDX-License-Identifier: Apache-2.0 */
/* backing.h - where the memory of a hardware buffer comes from
 *
 * A dma-buf where the machine has them, because every device takes one: from a
 * heap (/dev/dma_heap/system), or made of a memfd (/dev/udmabuf). Elsewhere the
 * memfd itself. Which it is, is found out each time: a device node may be there
 * and closed to this user. All are zeroed, and cannot shrink. */
#ifndef NN_SHM_BACKING_H
#define NN_SHM_BACKING_H

#include <stdint.h>

/* Values as enum nnhal_backing (nnhal/ext.h). */
enum nn_backing {
    NN_BACKING_DMA_HEAP = 0,
    NN_BACKING_UDMABUF = 1,
    NN_BACKING_MEMFD = 2,
    NN_BACKING_IMPORTED = 3, /* not of nn_backing_new() */
};

/* nn_backing_new() - a descriptor of at least n_bytes. Any thread.
 * Returns: 0, -EINVAL (0 or too many bytes), -ENOMEM, -EMFILE, -errno. */
int nn_backing_new(uint64_t n_bytes, enum nn_backing *ret_backing, int *ret_fd);

/* nn_backing_name() - "dma_heap", "udmabuf", "memfd", "imported". */
const char *nn_backing_name(enum nn_backing backing);

#endif
