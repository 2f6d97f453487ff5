/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/backing.h"

#include "base/arith.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <unistd.h>

const char *nn_backing_name(enum nn_backing backing)
{
    static const char *const names[] = {"dma_heap", "udmabuf", "memfd", "imported"};

    return names[backing];
}

/* Each is one way; any failure falls through to the next. */
static int from_heap(uint64_t n_bytes, int *ret_fd)
{
    struct dma_heap_allocation_data data = {.len = n_bytes, .fd_flags = O_RDWR | O_CLOEXEC};
    _cleanup_(closep) int heap = nn_sys_openat(AT_FDCWD, "/dev/dma_heap/system", O_RDONLY, 0);
    int r;

    if (heap < 0)
        return heap;
    r = nn_sys_ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &data);
    if (r < 0)
        return nn_error_trace(r);
    *ret_fd = (int)data.fd;
    return 0;
}

/* The device asks for what is sealed against shrinking, and not against writing. */
static int from_memfd(uint64_t n_bytes, int memfd, int *ret_fd)
{
    struct udmabuf_create create = {
        .memfd = (uint32_t)memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = n_bytes};
    _cleanup_(closep) int device = nn_sys_openat(AT_FDCWD, "/dev/udmabuf", O_RDWR, 0);
    int r;

    if (device < 0)
        return device;
    r = nn_sys_ioctl(device, UDMABUF_CREATE, &create);
    if (r < 0)
        return nn_error_trace(r);
    *ret_fd = r;
    return 0;
}

static int new_memfd(uint64_t n_bytes, int *ret_fd)
{
    _cleanup_(closep) int fd = nn_sys_memfd_create("nnhal-buffer", true);
    int r;

    if (fd < 0)
        return nn_error_trace(fd);
    r = nn_sys_ftruncate(fd, (off_t)n_bytes);
    if (r < 0)
        return nn_error_trace(r == -EINVAL || r == -EFBIG ? -ENOMEM : r);
    /* When it has its size, which no process can change afterwards: users need no guard. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return nn_error_origin(-errno);
    *ret_fd = steal_fd(&fd);
    return 0;
}

int nn_backing_new(uint64_t n_bytes, enum nn_backing *ret_backing, int *ret_fd)
{
    _cleanup_(closep) int memfd = -1;
    size_t n_rounded;
    int r;

    if (n_bytes == 0 || n_bytes > INT64_MAX / 2 ||
        !nn_align_up((size_t)n_bytes, (size_t)sysconf(_SC_PAGESIZE), &n_rounded))
        return nn_error_origin(-EINVAL);
    /* The first two give dma-bufs, which other devices can import; a memfd serves the CPU
     * alone. */
    *ret_backing = NN_BACKING_DMA_HEAP;
    if (from_heap(n_rounded, ret_fd) == 0)
        return 0;
    r = new_memfd(n_rounded, &memfd);
    if (r < 0)
        return nn_error_trace(r);
    *ret_backing = NN_BACKING_UDMABUF;
    if (from_memfd(n_rounded, memfd, ret_fd) == 0)
        return 0;
    *ret_backing = NN_BACKING_MEMFD;
    *ret_fd = steal_fd(&memfd);
    return 0;
}
