/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that give dma-bufs, which a machine that builds seldom has: they
 * are played at the seam for system calls. */
#include "shm/backing.h"
#include "shm/region.h"

#include "base/sys.h"

#include "support/check-main.h"
#include "support/fds.h"

#include <nnhal/types.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/mman.h>

/* Descriptors of the played devices, and what they were asked. */
static int heap_fd, udmabuf_fd, dma_buf_fd;
static bool has_heap, has_udmabuf;
static int refusal; /* of the ioctls */
static uint64_t n_asked;
static int seals_asked;
static uint64_t syncs[8];
static size_t n_syncs;

static int play_openat(int dir_fd, const char *path, int flags, unsigned mode)
{
    if (has_heap && !strcmp(path, "/dev/dma_heap/system"))
        return heap_fd = nn_sys_memfd_create("played-heap", true);
    if (has_udmabuf && !strcmp(path, "/dev/udmabuf"))
        return udmabuf_fd = nn_sys_memfd_create("played-udmabuf", true);
    return -ENOENT;
}

static int give_dma_buf(uint64_t n_bytes)
{
    n_asked = n_bytes;
    dma_buf_fd = nn_sys_memfd_create("played-dma-buf", true);
    ck_assert_int_eq(ftruncate(dma_buf_fd, (off_t)n_bytes), 0);
    return dma_buf_fd;
}

static int play_ioctl(int fd, unsigned long request, void *argument)
{
    if (refusal)
        return refusal;
    if (request == DMA_HEAP_IOCTL_ALLOC) {
        struct dma_heap_allocation_data *data = argument;

        ck_assert_int_eq(fd, heap_fd);
        ck_assert_uint_eq(data->fd_flags, O_RDWR | O_CLOEXEC);
        data->fd = (uint32_t)give_dma_buf(data->len);
        return 0;
    }
    if (request == UDMABUF_CREATE) {
        const struct udmabuf_create *create = argument;

        ck_assert_int_eq(fd, udmabuf_fd);
        ck_assert_uint_eq(create->flags, UDMABUF_FLAGS_CLOEXEC);
        ck_assert_uint_eq(create->offset, 0);
        seals_asked = fcntl((int)create->memfd, F_GET_SEALS);
        return give_dma_buf(create->size);
    }
    ck_assert(request == DMA_BUF_IOCTL_SYNC);
    ck_assert_uint_lt(n_syncs, 8);
    syncs[n_syncs++] = ((const struct dma_buf_sync *)argument)->flags;
    return 0;
}

static int play_inspect(int fd, struct nn_sys_file *ret_file)
{
    *ret_file = (struct nn_sys_file){NN_SYS_DMA_BUF, (uint64_t)lseek(fd, 0, SEEK_END)};
    return 0;
}

static const struct nn_sys_fakes devices = {.openat = play_openat, .ioctl = play_ioctl};
static const struct nn_sys_fakes dma_bufs = {.ioctl = play_ioctl, .inspect = play_inspect};

static enum nn_backing back(uint64_t n_bytes)
{
    enum nn_backing backing = NN_BACKING_IMPORTED;
    int fd = -1;

    ck_assert_int_eq(nn_backing_new(n_bytes, &backing, &fd), 0);
    ck_assert_int_ge(lseek(fd, 0, SEEK_END), (off_t)n_bytes);
    close(fd);
    return backing;
}

TEST(the_first_device_that_gives_memory_is_used)
{
    size_t n_fds;

    nn_sys_fakes = &devices;
    n_fds = count_fds();
    has_heap = has_udmabuf = true;
    ck_assert_int_eq(back(5000), NN_BACKING_DMA_HEAP);
    ck_assert_uint_eq(n_asked, 8192);
    has_heap = false;
    ck_assert_int_eq(back(4097), NN_BACKING_UDMABUF);
    ck_assert_uint_eq(n_asked, 8192);
    /* The device refuses what can shrink, and what cannot be written. */
    ck_assert_int_eq(seals_asked & F_SEAL_SHRINK, F_SEAL_SHRINK);
    ck_assert_int_eq(seals_asked & F_SEAL_WRITE, 0);
    has_udmabuf = false;
    ck_assert_int_eq(back(4096), NN_BACKING_MEMFD);
    has_heap = has_udmabuf = true;
    refusal = -EPERM;
    ck_assert_int_eq(back(4096), NN_BACKING_MEMFD);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(without_devices_it_is_a_memfd_that_keeps_its_size)
{
    enum nn_backing backing;
    int fd;

    nn_sys_fakes = &devices;
    ck_assert_int_eq(nn_backing_new(10000, &backing, &fd), 0);
    ck_assert_int_eq(backing, NN_BACKING_MEMFD);
    ck_assert_str_eq(nn_backing_name(backing), "memfd");
    ck_assert_int_eq(ftruncate(fd, 0), -1);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    ck_assert_int_eq(nn_backing_new(0, &backing, &fd), -EINVAL);
    ck_assert_int_eq(nn_backing_new(UINT64_MAX, &backing, &fd), -EINVAL);
    ck_assert_int_eq(nn_backing_new(UINT64_C(1) << 63, &backing, &fd), -EINVAL);
}
TEST_END

TEST(every_call_may_fail)
{
    size_t n_fds = count_fds();

    for (long n = 1;; n++) {
        enum nn_backing backing;
        int fd = -1, r;

        nn_sys_fakes = NULL;
        nn_sys_fault_errno = ENOMEM;
        nn_sys_fault = n;
        r = nn_backing_new(4096, &backing, &fd);
        if (r == 0)
            close(fd);
        else
            ck_assert_int_eq(r, -ENOMEM);
        ck_assert_uint_eq(count_fds(), n_fds);
        if (nn_sys_fault > 0)
            break;
    }
    nn_sys_fault = 0;
}
TEST_END

TEST(access_by_the_cpu_is_told_to_the_dma_buf)
{
    const struct nn_region_params params = {.kind = NNHAL_MEMORY_ASHMEM, .size = 4096};
    struct nn_region *region = NULL;

    nn_sys_fakes = &dma_bufs;
    ck_assert_int_eq(nn_region_import(give_dma_buf(4096), &params, 0, &region), 0);
    ck_assert(!nn_region_can_shrink(region));
    ck_assert(!nn_region_may_stall(region));
    ck_assert_int_eq(nn_region_begin_access(region, false), 0);
    ck_assert_int_eq(nn_region_end_access(region, false), 0);
    ck_assert_int_eq(nn_region_begin_access(region, true), 0);
    ck_assert_int_eq(nn_region_end_access(region, true), 0);
    ck_assert_uint_eq(n_syncs, 4);
    ck_assert_uint_eq(syncs[0], DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ);
    ck_assert_uint_eq(syncs[1], DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ);
    ck_assert_uint_eq(syncs[2], DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW);
    ck_assert_uint_eq(syncs[3], DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW);
    refusal = -EIO;
    ck_assert_int_eq(nn_region_begin_access(region, false), -EIO);
    nn_region_unref(region);
}
TEST_END

CHECK_MAIN("backing", the_first_device_that_gives_memory_is_used,
           without_devices_it_is_a_memfd_that_keeps_its_size, every_call_may_fail,
           access_by_the_cpu_is_told_to_the_dma_buf)
