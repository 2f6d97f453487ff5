/* SPDX-License-Identifier: Apache-2.0 */
/* hardware-buffer.c - AHardwareBuffer and ASharedMemory, whose results are errnos */
#include "base/error.h"
#include "runtime/api/api.h"
#include "runtime/memory/hardware-buffer.h"
#include "runtime/memory/shared-memory.h"

#include <android/sharedmem.h>
#include <nnhal/ext.h>

#include <stddef.h>
#include <string.h>

/* -- AHardwareBuffer ----------------------------------------------------------- */

_public_ int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **outBuffer)
{
    if (!desc || !outBuffer)
        return -EINVAL;
    return nn_rt_hardware_buffer_new(desc, outBuffer);
}

_public_ void AHardwareBuffer_acquire(AHardwareBuffer *buffer)
{
    nn_rt_hardware_buffer_ref(buffer);
}

_public_ void AHardwareBuffer_release(AHardwareBuffer *buffer)
{
    nn_rt_hardware_buffer_unref(buffer);
}

_public_ void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc)
{
    const struct nnhal_hardware_buffer *layout;

    if (!buffer || !outDesc)
        return;
    layout = nn_rt_hardware_buffer_layout(buffer);
    *outDesc = (AHardwareBuffer_Desc){
        .width = layout->width,
        .height = layout->height,
        .layers = layout->layers,
        .format = layout->format,
        .usage = layout->usage,
        .stride = layout->stride,
    };
}

_public_ int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc *desc)
{
    return desc && nn_rt_hardware_buffer_check(desc) == 0;
}

/* Refused before anything is locked: the fence goes all the same. */
static int refuse_lock(int fence)
{
    closep(&fence);
    return nn_error_origin(-EINVAL);
}

/* Where a buffer of one plane, or a blob, begins. */
static uint64_t first_byte(const struct nnhal_hardware_buffer *layout)
{
    return layout->n_planes > 0 ? layout->planes[0].offset : 0;
}

_public_ int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
                                  const ARect *rect, void **outVirtualAddress)
{
    uint8_t *data = NULL;
    int r;

    if (!buffer || !outVirtualAddress || nn_rt_hardware_buffer_layout(buffer)->n_planes > 1)
        return refuse_lock(fence);
    r = nn_rt_hardware_buffer_lock(buffer, usage, fence, rect, &data);
    if (r == 0)
        *outVirtualAddress = data + first_byte(nn_rt_hardware_buffer_layout(buffer));
    return r;
}

_public_ int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
                                            const ARect *rect, void **outVirtualAddress,
                                            int32_t *outBytesPerPixel, int32_t *outBytesPerStride)
{
    const struct nnhal_buffer_plane *plane = NULL;
    int r;

    if (!outBytesPerPixel || !outBytesPerStride)
        return refuse_lock(fence);
    r = AHardwareBuffer_lock(buffer, usage, fence, rect, outVirtualAddress);
    if (r < 0)
        return r;
    if (nn_rt_hardware_buffer_layout(buffer)->n_planes > 0)
        plane = nn_rt_hardware_buffer_layout(buffer)->planes;
    *outBytesPerPixel = plane ? (int32_t)plane->pixel_bytes : -1;
    *outBytesPerStride = plane && plane->row_bytes <= INT32_MAX ? (int32_t)plane->row_bytes : -1;
    return 0;
}

static AHardwareBuffer_Planes make_planes(const struct nnhal_hardware_buffer *layout, uint8_t *data)
{
    AHardwareBuffer_Planes planes = {.planeCount = layout->n_planes};

    for (uint32_t i = 0; i < layout->n_planes; i++)
        planes.planes[i] = (AHardwareBuffer_Plane){
            .data = data + layout->planes[i].offset,
            .pixelStride = layout->planes[i].pixel_bytes,
            .rowStride = layout->planes[i].row_bytes,
        };
    return planes;
}

_public_ int AHardwareBuffer_lockPlanes(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
                                        const ARect *rect, AHardwareBuffer_Planes *outPlanes)
{
    uint8_t *data = NULL;
    int r;

    if (!buffer || !outPlanes || nn_rt_hardware_buffer_layout(buffer)->n_planes == 0)
        return refuse_lock(fence);
    r = nn_rt_hardware_buffer_lock(buffer, usage, fence, rect, &data);
    if (r < 0)
        return r;
    *outPlanes = make_planes(nn_rt_hardware_buffer_layout(buffer), data);
    return 0;
}

_public_ int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence)
{
    if (fence)
        *fence = -1;
    return buffer ? nn_rt_hardware_buffer_unlock(buffer) : -EINVAL;
}

_public_ int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer *buffer, int socketFd)
{
    return buffer ? nn_rt_hardware_buffer_send(buffer, socketFd) : -EINVAL;
}

_public_ int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer **outBuffer)
{
    return outBuffer ? nn_rt_hardware_buffer_receive(socketFd, outBuffer) : -EINVAL;
}

/* -- what Android does not tell -------------------------------------------------- */

_public_ int nnhal_hardware_buffer_import(int fd, const struct nnhal_hardware_buffer *layout,
                                          AHardwareBuffer **buffer)
{
    if (layout && buffer)
        return nn_rt_hardware_buffer_import(fd, layout, buffer);
    closep(&fd);
    return -EINVAL;
}

_public_ int nnhal_hardware_buffer_get_info(const AHardwareBuffer *buffer,
                                            struct nnhal_hardware_buffer_info *info)
{
    struct nnhal_hardware_buffer_info full;
    size_t size;

    if (!buffer || !info || info->size < offsetof(struct nnhal_hardware_buffer_info, fd))
        return -EINVAL;
    size = info->size < sizeof(full) ? info->size : sizeof(full);
    full = (struct nnhal_hardware_buffer_info){
        .size = info->size,
        .backing = nn_rt_hardware_buffer_backing(buffer),
        .fd = nn_rt_hardware_buffer_fd(buffer),
        .backing_name = nn_backing_name(nn_rt_hardware_buffer_backing(buffer)),
        .layout = nn_rt_hardware_buffer_layout(buffer),
    };
    memcpy(info, &full, size);
    return 0;
}

/* -- ASharedMemory --------------------------------------------------------------- */

static int set_errno(int r)
{
    if (r >= 0)
        return r;
    errno = -r;
    return -1;
}

_public_ int ASharedMemory_create(const char *name, size_t size)
{
    return set_errno(nn_rt_shared_memory_new(name, size));
}

_public_ size_t ASharedMemory_getSize(int fd)
{
    return nn_rt_shared_memory_size(fd);
}

_public_ int ASharedMemory_setProt(int fd, int prot)
{
    return set_errno(nn_rt_shared_memory_set_prot(fd, prot));
}
