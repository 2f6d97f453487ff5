/* SPDX-License-Identifier: Apache-2.0 */
/* vgem.h - the few requests to a DRM device that the test makes, so that it
 * needs no package of headers */
#ifndef NN_TESTS_DMABUF_VGEM_H
#define NN_TESTS_DMABUF_VGEM_H

#include <linux/ioctl.h>
#include <stdint.h>

/* A buffer without a driver of its own: width x height pixels of bpp bits. */
struct vgem_create {
    uint32_t height, width, bpp, flags;
    uint32_t handle, pitch; /* answered, as is size */
    uint64_t size;
};

struct vgem_destroy {
    uint32_t handle;
};

/* The dma-buf of a buffer. */
struct vgem_export {
    uint32_t handle, flags;
    int32_t fd;
};

/* A fence on a buffer, which signals when it is told to, or after 10 s. */
struct vgem_attach {
    uint32_t handle, flags, fence, reserved;
};

struct vgem_signal {
    uint32_t fence, flags;
};

enum { VGEM_WRITE = 1 };

#define VGEM_CREATE  _IOWR('d', 0xb2, struct vgem_create)
#define VGEM_DESTROY _IOWR('d', 0xb4, struct vgem_destroy)
#define VGEM_EXPORT  _IOWR('d', 0x2d, struct vgem_export)
#define VGEM_ATTACH  _IOWR('d', 0x41, struct vgem_attach)
#define VGEM_SIGNAL  _IOW('d', 0x42, struct vgem_signal)

#endif
