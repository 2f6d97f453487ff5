/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/region.h"

#include "base/arith.h"
#include "base/error.h"
#include "base/sys.h"
#include "shm/guard.h"
#include "shm/plane-layout.h"

#include <android/hardware_buffer.h>
#include <nnhal/types.h>

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

struct nn_region {
    unsigned n_refs;
    int fd;
    void *mapping; /* whole pages; NULL: not mapped yet */
    size_t mapping_bytes;
    size_t slop; /* bytes between the mapping's and the region's beginning */
    size_t size;
    int prot;
    bool is_dma_buf;
    bool is_sealed;    /* against shrinking */
    bool is_immutable; /* sealed against every write */
    bool may_stall;
    bool is_guarded;
    uint32_t guard_record; /* of the guard */
    uint32_t broken;       /* written by the guard's handler */
};

/* What the descriptor is: a file, a memfd, a dma-buf, and how large. */
static int region_inspect(struct nn_region *region, uint64_t *ret_file_size)
{
    struct nn_sys_file file;
    /* Before the size: what is sealed by now cannot become smaller than that, while
     * a size that was read first may be from before the file was cut and sealed. */
    int seals = fcntl(region->fd, F_GET_SEALS), r;

    r = nn_sys_inspect(region->fd, &file);
    if (r < 0)
        return r == -EBADF ? NN_REGION_E_INVALID : nn_error_trace(r);
    *ret_file_size = file.n_bytes;
    region->is_dma_buf = file.kind == NN_SYS_DMA_BUF;
    if (region->is_dma_buf)
        return 0;
    if (file.kind == NN_SYS_OTHER)
        return NN_REGION_E_INVALID;
    /* A hole that is punched into it may never be filled again, regardless of its seals, and
     * parts of it cannot be mapped over by a guard. */
    if (file.kind == NN_SYS_HUGE)
        return NN_REGION_E_UNMAPPABLE;
    if (seals > 0) {
        region->is_sealed = (seals & F_SEAL_SHRINK) != 0;
        region->is_immutable = (seals & F_SEAL_WRITE) != 0;
        if (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE))
            region->prot &= ~PROT_WRITE;
    }
    region->may_stall = file.kind == NN_SYS_STALLING_FILE;
    return 0;
}

static bool is_buffer(uint32_t kind)
{
    return kind == NNHAL_MEMORY_HARDWARE_BUFFER_BLOB || kind == NNHAL_MEMORY_HARDWARE_BUFFER;
}

/* The protection that the kind and the descriptor allow; the offset that it has. */
static int check_params(struct nn_region *region, const struct nn_region_params *params,
                        uint64_t *ret_offset)
{
    int flags = fcntl(region->fd, F_GETFL);
    uint64_t end;

    if (flags < 0 || (flags & O_PATH))
        return NN_REGION_E_INVALID;
    *ret_offset = 0;
    switch (params->kind) {
    case NNHAL_MEMORY_HARDWARE_BUFFER_BLOB:
    case NNHAL_MEMORY_HARDWARE_BUFFER:
    case NNHAL_MEMORY_ASHMEM:
        region->prot = PROT_READ | ((flags & O_ACCMODE) == O_RDWR ? PROT_WRITE : 0);
        break;
    case NNHAL_MEMORY_MMAP_FD:
        if (params->prot == 0 || (params->prot & ~(uint32_t)(PROT_READ | PROT_WRITE)))
            return NN_REGION_E_INVALID;
        /* Writable pages are readable on every machine that we know. */
        region->prot = (int)params->prot | PROT_READ;
        *ret_offset = params->offset;
        break;
    default:
        return NN_REGION_E_INVALID;
    }
    if (!params->buffer && is_buffer(params->kind))
        return NN_REGION_E_INVALID;
    if (params->kind == NNHAL_MEMORY_HARDWARE_BUFFER)
        return params->size == 0 ? 0 : NN_REGION_E_INVALID;
    /* off_t is signed; half of the address space leaves room for rounding up to pages. */
    if (params->size == 0 || !nn_add_u64(*ret_offset, params->size, &end) || end > INT64_MAX ||
        params->size > SIZE_MAX / 2)
        return NN_REGION_E_INVALID;
    return 0;
}

/* How many bytes of the file the region has, once it is known how large that is. */
static int check_size(struct nn_region *region, const struct nn_region_params *params,
                      uint64_t offset, uint64_t file_size)
{
    const struct nnhal_hardware_buffer *buffer = params->buffer;
    bool is_blob = params->kind == NNHAL_MEMORY_HARDWARE_BUFFER_BLOB;

    if (is_buffer(params->kind)) {
        if (nn_plane_layout_check(buffer, file_size) != 0 || buffer->size > SIZE_MAX / 2 ||
            is_blob != (buffer->format == AHARDWAREBUFFER_FORMAT_BLOB) ||
            (is_blob && params->size != buffer->width))
            return NN_REGION_E_INVALID;
        region->size = is_blob ? buffer->width : (size_t)buffer->size;
        return 0;
    }
    region->size = (size_t)params->size;
    return nn_range_fits(offset, params->size, file_size) ? 0 : NN_REGION_E_INVALID;
}

/* Maps size bytes at offset, from the beginning of the page that it lies in. */
static int region_map(struct nn_region *region, uint64_t offset)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    void *address = NULL;
    size_t n_bytes;
    int r;

    region->slop = (size_t)(offset % page);
    if (!nn_add_size(region->size, region->slop, &n_bytes) ||
        !nn_align_up(n_bytes, (size_t)page, &n_bytes))
        return NN_REGION_E_INVALID;
    /* Before Linux 6.7 what is sealed against writing cannot be mapped shared,
     * not even to read; it cannot change, so that private is the same. */
    r = nn_sys_mmap(n_bytes, region->prot, region->is_immutable ? MAP_PRIVATE : MAP_SHARED,
                    region->fd, (off_t)(offset - region->slop), &address);
    switch (r) {
    case 0:
        region->mapping = address;
        region->mapping_bytes = n_bytes;
        return 0;
    case -EACCES:
    case -EPERM:
    case -ENODEV:
    case -EINVAL:
        return NN_REGION_E_UNMAPPABLE;
    default:
        return nn_error_trace(r);
    }
}

static struct nn_region *region_alloc(int fd)
{
    struct nn_region *region = calloc(1, sizeof(*region));

    if (!region) {
        closep(&fd);
        return NULL;
    }
    region->n_refs = 1;
    region->fd = fd;
    return region;
}

int nn_region_import(int fd, const struct nn_region_params *params, unsigned flags,
                     struct nn_region **ret_region)
{
    _cleanup_(nn_region_unrefp) struct nn_region *region = region_alloc(fd);
    uint64_t offset, file_size;
    int r;

    if (!region)
        return nn_error_origin(-ENOMEM);
    r = check_params(region, params, &offset);
    if (r != 0)
        return r;
    r = region_inspect(region, &file_size);
    if (r != 0)
        return r;
    if (params->kind == NNHAL_MEMORY_MMAP_FD && (params->prot & PROT_WRITE) &&
        !(region->prot & PROT_WRITE))
        return NN_REGION_E_UNMAPPABLE; /* asked for, and sealed away */
    r = check_size(region, params, offset, file_size);
    if (r != 0)
        return r;
    /* Pixels in an order that is a device's own are of no use to the CPU: only the
     * descriptor is kept, for the driver that imports it. */
    if (params->kind != NNHAL_MEMORY_HARDWARE_BUFFER || nn_plane_layout_is_linear(params->buffer)) {
        r = region_map(region, offset);
        if (r == NN_REGION_E_UNMAPPABLE && params->kind == NNHAL_MEMORY_HARDWARE_BUFFER)
            r = 0; /* a device may still read it */
        if (r != 0)
            return r;
    }
    if (region->mapping && (flags & NN_REGION_GUARD) && nn_region_can_shrink(region)) {
        r = nn_guard_install();
        if (r == 0)
            r = nn_guard_add(region->mapping, region->mapping_bytes, region->prot, &region->broken,
                             &region->guard_record);
        if (r < 0)
            return nn_error_trace(r);
        region->is_guarded = true;
    }
    *ret_region = steal_ptr(&region);
    return 0;
}

int nn_region_new(const char *name, size_t n_bytes, struct nn_region **ret_region)
{
    struct nn_region_params params = {.kind = NNHAL_MEMORY_ASHMEM, .size = n_bytes};
    _cleanup_(closep) int fd = -1;

    if (n_bytes == 0 || n_bytes > INT64_MAX)
        return NN_REGION_E_INVALID;
    fd = nn_sys_memfd_create(name, true);
    if (fd < 0)
        return nn_error_trace(fd);
    if (ftruncate(fd, (off_t)n_bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return nn_error_origin(errno == EINVAL ? -ENOMEM : -errno);
    return nn_region_import(steal_fd(&fd), &params, 0, ret_region);
}

struct nn_region *nn_region_ref(struct nn_region *region)
{
    __atomic_add_fetch(&region->n_refs, 1, __ATOMIC_RELAXED);
    return region;
}

struct nn_region *nn_region_unref(struct nn_region *region)
{
    /* Release: what this thread did with the memory is done before the thread
     * that acquires the last reference unmaps it. */
    if (!region || __atomic_sub_fetch(&region->n_refs, 1, __ATOMIC_ACQ_REL) > 0)
        return NULL;
    if (region->is_guarded)
        nn_guard_remove(region->guard_record);
    if (region->mapping)
        nn_sys_munmap(region->mapping, region->mapping_bytes);
    closep(&region->fd);
    free(region);
    return NULL;
}

void *nn_region_data(const struct nn_region *region)
{
    return region->mapping ? (char *)region->mapping + region->slop : NULL;
}

size_t nn_region_size(const struct nn_region *region)
{
    return region->size;
}

int nn_region_fd(const struct nn_region *region)
{
    return region->fd;
}

bool nn_region_is_writable(const struct nn_region *region)
{
    return (region->prot & PROT_WRITE) != 0;
}

bool nn_region_can_shrink(const struct nn_region *region)
{
    return !region->is_sealed && !region->is_dma_buf;
}

bool nn_region_may_stall(const struct nn_region *region)
{
    return region->may_stall;
}

uint64_t nn_region_fillable(const struct nn_region *region)
{
    struct stat status;
    uint64_t n_filled;

    if (!region->mapping || region->is_dma_buf || region->may_stall)
        return 0;
    if (!region->is_immutable || fstat(region->fd, &status) < 0)
        return region->mapping_bytes;
    n_filled = (uint64_t)status.st_blocks * 512;
    /* Which pages they are is not known: those of the region may be all that are missing. */
    if (n_filled >= (uint64_t)status.st_size)
        return 0;
    return (uint64_t)status.st_size - n_filled < region->mapping_bytes
               ? (uint64_t)status.st_size - n_filled
               : region->mapping_bytes;
}

bool nn_region_is_broken(const struct nn_region *region)
{
    return __atomic_load_n(&region->broken, __ATOMIC_SEQ_CST) != 0;
}

static int sync_dma_buf(const struct nn_region *region, uint64_t flags)
{
    struct dma_buf_sync sync = {.flags = flags};
    int r;

    do
        r = nn_sys_ioctl(region->fd, DMA_BUF_IOCTL_SYNC, &sync);
    /* The kernel asks for a repetition: the wait for the device was interrupted. */
    while (r == -EAGAIN);
    return nn_error_trace(r);
}

bool nn_region_is_device_memory(const struct nn_region *region)
{
    return region->is_dma_buf && region->mapping;
}

int nn_region_begin_access(struct nn_region *region, bool is_write)
{
    if (!nn_region_is_device_memory(region))
        return 0;
    return sync_dma_buf(region, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ |
                                    (is_write ? DMA_BUF_SYNC_WRITE : 0U));
}

int nn_region_end_access(struct nn_region *region, bool is_write)
{
    if (!region->mapping)
        return 0;
    if (region->is_dma_buf)
        return sync_dma_buf(region, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ |
                                        (is_write ? DMA_BUF_SYNC_WRITE : 0U));
    /* Written back while the call is in progress: of a later failure of the file's server
     * no reply could tell. */
    if (is_write && region->may_stall && !nn_region_is_broken(region) &&
        msync(region->mapping, region->mapping_bytes, MS_SYNC) < 0)
        return nn_error_origin(-errno);
    return 0;
}
