/* SPDX-License-Identifier: Apache-2.0 */
/* hardware_buffer.h - images and bytes that devices share, on Linux
 *
 * An AHardwareBuffer is a descriptor with a layout: rows of pixels, or bytes
 * (BLOB). Where the machine has /dev/dma_heap or /dev/udmabuf it is a dma-buf,
 * which cameras, displays, GPUs and NPUs use without a copy; elsewhere it is a
 * memfd that is sealed against shrinking. nnhal_hardware_buffer_get_info()
 * (nnhal/ext.h) tells which, and nnhal_hardware_buffer_import() makes a buffer from a
 * dma-buf of another process or device.
 *
 * Numbers and structs are Android's. Results: 0, or a negative errno.
 * Threads: any function may be called from any thread; buffers are reference counted.
 * After a fork the child may use its buffers. */
#ifndef NNHAL_ANDROID_HARDWARE_BUFFER_H
#define NNHAL_ANDROID_HARDWARE_BUFFER_H

#include <android/rect.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Formats of pixels. Buffers of 8, 16, 24, 32 and 64 bits per pixel, planar YUV and
 * BLOB can be allocated; depth formats are only declared. */
enum AHardwareBuffer_Format {
    AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
    AHARDWAREBUFFER_FORMAT_R8G8B8X8_UNORM = 2,
    AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM = 3,
    AHARDWAREBUFFER_FORMAT_R5G6B5_UNORM = 4,
    AHARDWAREBUFFER_FORMAT_R16G16B16A16_FLOAT = 0x16,
    AHARDWAREBUFFER_FORMAT_BLOB = 0x21, /* width bytes; height and layers are 1 */
    AHARDWAREBUFFER_FORMAT_Y8Cb8Cr8_420 = 0x23,
    AHARDWAREBUFFER_FORMAT_R10G10B10A2_UNORM = 0x2b,
    AHARDWAREBUFFER_FORMAT_D16_UNORM = 0x30,
    AHARDWAREBUFFER_FORMAT_D24_UNORM = 0x31,
    AHARDWAREBUFFER_FORMAT_D24_UNORM_S8_UINT = 0x32,
    AHARDWAREBUFFER_FORMAT_D32_FLOAT = 0x33,
    AHARDWAREBUFFER_FORMAT_D32_FLOAT_S8_UINT = 0x34,
    AHARDWAREBUFFER_FORMAT_S8_UINT = 0x35,
    AHARDWAREBUFFER_FORMAT_YCbCr_P010 = 0x36,
    AHARDWAREBUFFER_FORMAT_R8_UNORM = 0x38,
    AHARDWAREBUFFER_FORMAT_R16_UINT = 0x39,
    AHARDWAREBUFFER_FORMAT_R16G16_UINT = 0x3a,
};

/* Uses of a buffer. */
enum AHardwareBuffer_UsageFlags {
    AHARDWAREBUFFER_USAGE_CPU_READ_NEVER = 0,
    AHARDWAREBUFFER_USAGE_CPU_READ_RARELY = 2,
    AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3,
    AHARDWAREBUFFER_USAGE_CPU_READ_MASK = 0xf,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER = 0 << 4,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY = 2 << 4,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 3 << 4,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK = 0xf << 4,
    AHARDWAREBUFFER_USAGE_GPU_SAMPLED_IMAGE = 1 << 8,
    AHARDWAREBUFFER_USAGE_GPU_FRAMEBUFFER = 1 << 9,
    AHARDWAREBUFFER_USAGE_GPU_COLOR_OUTPUT = 1 << 9,
    AHARDWAREBUFFER_USAGE_COMPOSER_OVERLAY = 1 << 11,
    AHARDWAREBUFFER_USAGE_PROTECTED_CONTENT = 1 << 14,
    AHARDWAREBUFFER_USAGE_VIDEO_ENCODE = 1 << 16,
    AHARDWAREBUFFER_USAGE_SENSOR_DIRECT_DATA = 1 << 23,
    AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 1 << 24,
    AHARDWAREBUFFER_USAGE_GPU_CUBE_MAP = 1 << 25,
    AHARDWAREBUFFER_USAGE_GPU_MIPMAP_COMPLETE = 1 << 26,
};

typedef struct AHardwareBuffer_Desc {
    uint32_t width;  /* pixels; of a BLOB: bytes */
    uint32_t height; /* rows */
    uint32_t layers; /* images, one after the other */
    uint32_t format; /* enum AHardwareBuffer_Format */
    uint64_t usage;  /* enum AHardwareBuffer_UsageFlags, together */
    uint32_t stride; /* pixels from row to row; ignored by allocate, set by describe */
    uint32_t rfu0;   /* 0 */
    uint64_t rfu1;   /* 0 */
} AHardwareBuffer_Desc;

/* One plane of a locked buffer. */
typedef struct AHardwareBuffer_Plane {
    void *data;
    uint32_t pixelStride; /* bytes from pixel to pixel */
    uint32_t rowStride;   /* bytes from row to row */
} AHardwareBuffer_Plane;

typedef struct AHardwareBuffer_Planes {
    uint32_t planeCount;
    AHardwareBuffer_Plane planes[4];
} AHardwareBuffer_Planes;

typedef struct AHardwareBuffer AHardwareBuffer;

/* AHardwareBuffer_allocate() - allocates a zeroed buffer with one reference. If the
 * usages are only CPU, sensors and GPU data, rows are tight (stride is width), so that
 * the buffer is a tensor as it is; otherwise rows begin at multiples of 64 bytes, and executions
 * copy it unless the device takes strides. The planes of YUV follow each other.
 * *outBuffer is set on success only.
 * Returns: 0; -EINVAL (a pointer is NULL; sizes, format or reserved fields are
 * malformed), -ENOTSUP (well-formed, but not on this machine), -ENOMEM, -EMFILE. */
int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **outBuffer);

/* AHardwareBuffer_acquire(), AHardwareBuffer_release() - take or drop a reference;
 * dropping the last one frees the buffer. Both accept NULL. */
void AHardwareBuffer_acquire(AHardwareBuffer *buffer);
void AHardwareBuffer_release(AHardwareBuffer *buffer);

/* AHardwareBuffer_describe() - the description of allocate, and the stride. */
void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *outDesc);

/* AHardwareBuffer_isSupported() - whether allocate accepts desc, if memory suffices.
 * Returns: 1, 0. */
int AHardwareBuffer_isSupported(const AHardwareBuffer_Desc *desc);

/* AHardwareBuffer_lock() - makes the buffer accessible to the CPU, coherently. usage:
 * CPU_READ and CPU_WRITE bits, at least one, and only bits that the buffer was
 * allocated with. The call waits for fence (-1: none) without a limit, and closes it in
 * any case. rect (may be NULL) must lie in the buffer; it is a hint.
 * Any number of readers at a time, or one writer. Every lock needs an unlock.
 * Returns: 0 with *outVirtualAddress, the first pixel of the buffer; -EINVAL (an
 * invalid usage, rect or fence, or a format of several planes), -EBUSY
 * (a lock in progress excludes this one), -EIO (the fence is in error),
 * -ENOTSUP (a CPU cannot read its layout), -errno. */
int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect,
                         void **outVirtualAddress);

/* AHardwareBuffer_lockAndGetInfo() - the same; also returns the bytes per pixel and per
 * row, -1 where a format has none. The pointers must not be NULL. */
int AHardwareBuffer_lockAndGetInfo(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
                                   const ARect *rect, void **outVirtualAddress,
                                   int32_t *outBytesPerPixel, int32_t *outBytesPerStride);

/* AHardwareBuffer_lockPlanes() - the same for formats of any number of planes. A BLOB
 * has no planes: -EINVAL. */
int AHardwareBuffer_lockPlanes(AHardwareBuffer *buffer, uint64_t usage, int32_t fence,
                               const ARect *rect, AHardwareBuffer_Planes *outPlanes);

/* AHardwareBuffer_unlock() - ends one lock. fence (may be NULL) is set to -1, because
 * writes are complete when this returns.
 * Returns: 0; -EINVAL (not locked), -errno. */
int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence);

/* AHardwareBuffer_sendHandleToUnixSocket() - sends the buffer's handle as one message.
 * Blocks as the socket does. Returns: 0; -EINVAL, -EPIPE, -EAGAIN, -errno. */
int AHardwareBuffer_sendHandleToUnixSocket(const AHardwareBuffer *buffer, int socketFd);

/* AHardwareBuffer_recvHandleFromUnixSocket() - receives a handle and makes a buffer of
 * this process that shares memory with the sender's. No sender is trusted: format,
 * sizes, stride and planes are compared with the descriptor, and a memory that the
 * sender could shrink is refused.
 * *outBuffer is set on success only.
 * Returns: 0; -EINVAL (a NULL), -EPROTO (not a handle, or one that contradicts
 * its descriptor), -EPIPE (the sender has closed), -EAGAIN, -errno. */
int AHardwareBuffer_recvHandleFromUnixSocket(int socketFd, AHardwareBuffer **outBuffer);

#ifdef __cplusplus
}
#endif

#endif
