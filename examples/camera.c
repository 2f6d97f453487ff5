/* SPDX-License-Identifier: Apache-2.0 */
/* camera.c - frames of a camera to a driver, without a copy
 *
 *     camera [/dev/video0]
 *
 * V4L2 exports its buffers as dma-bufs; each becomes a hardware buffer, once, and
 * is given back to the camera when its frame was looked at. The camera must be
 * able to give 224 x 224 pixels of RGB. */
#include "color.h"

#include <nnhal/ext.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { N_BUFFERS = 4, N_FRAMES = 100 };

struct camera {
    int fd;
    uint32_t row_bytes;
    uint32_t image_bytes;
    uint32_t n_buffers;
    ANeuralNetworksMemory *memories[N_BUFFERS];
};

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return -1;
}

static int set_format(struct camera *camera)
{
    struct v4l2_format format = {
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
        .fmt.pix = {.width = COLOR_SIDE,
                    .height = COLOR_SIDE,
                    .pixelformat = V4L2_PIX_FMT_RGB24,
                    .field = V4L2_FIELD_NONE},
    };

    if (ioctl(camera->fd, VIDIOC_S_FMT, &format) < 0)
        return fail("VIDIOC_S_FMT");
    if (format.fmt.pix.width != COLOR_SIDE || format.fmt.pix.height != COLOR_SIDE ||
        format.fmt.pix.pixelformat != V4L2_PIX_FMT_RGB24) {
        errno = ENOTSUP;
        return fail("224 x 224 pixels of RGB");
    }
    camera->row_bytes = format.fmt.pix.bytesperline;
    camera->image_bytes = format.fmt.pix.sizeimage;
    return 0;
}

/* Buffer i as a memory. */
static int import_buffer(struct camera *camera, uint32_t i)
{
    struct v4l2_exportbuffer export = {
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .index = i, .flags = O_RDWR | O_CLOEXEC};
    const struct nnhal_buffer_plane plane = {.row_bytes = camera->row_bytes, .pixel_bytes = 3};
    const struct nnhal_hardware_buffer layout = {
        .format = AHARDWAREBUFFER_FORMAT_R8G8B8_UNORM,
        .width = COLOR_SIDE,
        .height = COLOR_SIDE,
        .layers = 1,
        .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN,
        .size = camera->image_bytes,
        .stride = camera->row_bytes / 3,
        .n_planes = 1,
        .planes = &plane,
    };
    AHardwareBuffer *buffer = NULL;
    int r;

    if (ioctl(camera->fd, VIDIOC_EXPBUF, &export) < 0)
        return fail("VIDIOC_EXPBUF");
    r = nnhal_hardware_buffer_import(export.fd, &layout, &buffer);
    if (r < 0) {
        errno = -r;
        return fail("the camera's dma-buf");
    }
    r = ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &camera->memories[i]);
    AHardwareBuffer_release(buffer);
    return r == ANEURALNETWORKS_NO_ERROR ? 0 : -1;
}

static int queue(struct camera *camera, uint32_t i)
{
    struct v4l2_buffer buffer = {
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP, .index = i};

    return ioctl(camera->fd, VIDIOC_QBUF, &buffer) < 0 ? fail("VIDIOC_QBUF") : 0;
}

static int start(struct camera *camera)
{
    struct v4l2_requestbuffers request = {
        .count = N_BUFFERS, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP};
    enum v4l2_buf_type type = V4L2_BUF_TYPE_VIDEO_CAPTURE;

    if (set_format(camera) < 0)
        return -1;
    if (ioctl(camera->fd, VIDIOC_REQBUFS, &request) < 0)
        return fail("VIDIOC_REQBUFS");
    camera->n_buffers = request.count < N_BUFFERS ? request.count : N_BUFFERS;
    for (uint32_t i = 0; i < camera->n_buffers; i++)
        if (import_buffer(camera, i) < 0 || queue(camera, i) < 0)
            return -1;
    return ioctl(camera->fd, VIDIOC_STREAMON, &type) < 0 ? fail("VIDIOC_STREAMON") : 0;
}

static int look(struct camera *camera, ANeuralNetworksCompilation *compilation)
{
    for (int n = 0; n < N_FRAMES; n++) {
        struct v4l2_buffer buffer = {.type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
                                     .memory = V4L2_MEMORY_MMAP};
        uint8_t color[3];

        if (ioctl(camera->fd, VIDIOC_DQBUF, &buffer) < 0)
            return fail("VIDIOC_DQBUF");
        if (buffer.index >= camera->n_buffers ||
            !color_of(compilation, camera->memories[buffer.index], 0, color))
            return -1;
        printf("frame %d: %3u %3u %3u\n", n, color[0], color[1], color[2]);
        if (queue(camera, buffer.index) < 0)
            return -1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "/dev/video0";
    struct camera camera = {.fd = open(path, O_RDWR | O_CLOEXEC)};
    ANeuralNetworksCompilation *compilation;
    int r;

    if (camera.fd < 0)
        return fail(path) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    compilation = color_compile();
    r = compilation ? start(&camera) : -1;
    if (r == 0)
        r = look(&camera, compilation);
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        ANeuralNetworksMemory_free(camera.memories[i]);
    ANeuralNetworksCompilation_free(compilation);
    close(camera.fd);
    return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
