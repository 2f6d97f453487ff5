/* SPDX-License-Identifier: Apache-2.0 */
/* hardware-buffer-socket.c - hardware buffers from process to process
 *
 * One message of fixed size with one descriptor. The receiver trusts none of it:
 * the numbers are checked against the descriptor as those of any other client
 * are, in nn_region_import(). */
#include "base/error.h"
#include "base/sys.h"
#include "runtime/memory/hardware-buffer.h"

#include <assert.h>
#include <string.h>

#define MAGIC   UINT32_C(0x42486e6e) /* "nnHB" */
#define VERSION 1

struct handle_plane {
    uint64_t offset;
    uint32_t row_bytes;
    uint32_t pixel_bytes;
};

struct handle {
    uint32_t magic;
    uint32_t version;
    uint32_t format;
    uint32_t width;
    uint32_t height;
    uint32_t layers;
    uint64_t usage;
    uint64_t modifier;
    uint64_t size;
    uint32_t stride;
    uint32_t n_planes;
    struct handle_plane planes[NNHAL_MAX_PLANES];
};

_Static_assert(sizeof(struct handle) == 56 + 16 * NNHAL_MAX_PLANES, "no padding crosses processes");

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static struct handle handle_pack(const struct nnhal_hardware_buffer *buffer)
{
    struct handle handle = {
        .magic = MAGIC,
        .version = VERSION,
        .format = buffer->format,
        .width = buffer->width,
        .height = buffer->height,
        .layers = buffer->layers,
        .usage = buffer->usage,
        .modifier = buffer->modifier,
        .size = buffer->size,
        .stride = buffer->stride,
        .n_planes = buffer->n_planes,
    };

    for (uint32_t i = 0; i < buffer->n_planes; i++)
        handle.planes[i] = (struct handle_plane){
            buffer->planes[i].offset, buffer->planes[i].row_bytes, buffer->planes[i].pixel_bytes};
    return handle;
}

/* The numbers of handle; planes has room for all. */
static int handle_unpack(const struct handle *handle, struct nnhal_buffer_plane *planes,
                         struct nnhal_hardware_buffer *ret_buffer)
{
    if (handle->magic != MAGIC || handle->version != VERSION || handle->n_planes > NNHAL_MAX_PLANES)
        return nn_error_origin(-EPROTO);
    for (uint32_t i = 0; i < handle->n_planes; i++)
        planes[i] = (struct nnhal_buffer_plane){
            handle->planes[i].offset, handle->planes[i].row_bytes, handle->planes[i].pixel_bytes};
    *ret_buffer = (struct nnhal_hardware_buffer){
        .format = handle->format,
        .width = handle->width,
        .height = handle->height,
        .layers = handle->layers,
        .usage = handle->usage,
        .modifier = handle->modifier,
        .size = handle->size,
        .stride = handle->stride,
        .n_planes = handle->n_planes,
        .planes = planes,
    };
    return 0;
}

int nn_rt_hardware_buffer_send(const AHardwareBuffer *buffer, int socket)
{
    struct handle handle = handle_pack(nn_rt_hardware_buffer_layout(buffer));
    struct iovec part = {.iov_base = &handle, .iov_len = sizeof(handle)};
    union control control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof(control.bytes),
    };
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
    int fd = nn_rt_hardware_buffer_fd(buffer);
    ssize_t n;

    cmsg->cmsg_level = SOL_SOCKET;
    cmsg->cmsg_type = SCM_RIGHTS;
    cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
    n = nn_sys_sendmsg(socket, &message, 0);
    if (n < 0)
        return nn_error_trace((int)n);
    /* A stream that is full may have taken a part: the rest can only be garbage. */
    return n == sizeof(handle) ? 0 : nn_error_origin(-EIO);
}

/* The one descriptor of a message, which is the caller's from then on; -1: none. */
static int message_take_fd(struct msghdr *message)
{
    struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS) {
        assert(cmsg->cmsg_len == CMSG_LEN(sizeof(fd))); /* what controllen leaves room for */
        memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
    }
    return fd;
}

int nn_rt_hardware_buffer_receive(int socket, AHardwareBuffer **ret_buffer)
{
    struct nnhal_buffer_plane planes[NNHAL_MAX_PLANES];
    struct nnhal_hardware_buffer buffer;
    struct handle handle;
    struct iovec part = {.iov_base = &handle, .iov_len = sizeof(handle)};
    union control control;
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        /* Not sizeof: the padding at its end would be room for one more. */
        .msg_controllen = CMSG_LEN(sizeof(int)),
    };
    _cleanup_(closep) int fd = -1;
    ssize_t n = nn_sys_recvmsg(socket, &message, MSG_WAITALL);
    int r;

    if (n < 0)
        return nn_error_trace((int)n);
    fd = message_take_fd(&message);
    if (n == 0)
        return nn_error_origin(-EPIPE);
    if (n != sizeof(handle) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || fd < 0)
        return nn_error_origin(-EPROTO);
    r = handle_unpack(&handle, planes, &buffer);
    if (r < 0)
        return nn_error_trace(r);
    r = nn_rt_hardware_buffer_import(steal_fd(&fd), &buffer, ret_buffer);
    return nn_error_trace(r == -EINVAL || r == -EPERM ? -EPROTO : r);
}
