/* SPDX-License-Identifier: Apache-2.0 */
#include "service/line.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

union line_room {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(NN_LINE_MAX_FDS * sizeof(int))];
};

int nn_line_send(int line_fd, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds,
                 int flags)
{
    union line_room room;
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t n;

    assert(n_fds <= NN_LINE_MAX_FDS);
    if (n_fds > 0) {
        struct cmsghdr *cmsg;

        memset(&room, 0, sizeof(room));
        message.msg_control = room.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
        memcpy(CMSG_DATA(cmsg), fds, n_fds * sizeof(int));
    }
    n = nn_sys_sendmsg(line_fd, &message, flags);
    return n < 0 ? nn_error_trace((int)n) : 0;
}

/* Takes what came with a message. The room may hold more than n_max for its alignment. */
static void take_fds(struct msghdr *message, int *ret_fds, size_t n_max)
{
    struct cmsghdr *cmsg = message->msg_controllen ? CMSG_FIRSTHDR(message) : NULL;
    size_t n = cmsg && cmsg->cmsg_type == SCM_RIGHTS ? (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                                                     : 0;

    for (size_t i = 0; i < n; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
        if (i < n_max)
            ret_fds[i] = fd;
        else
            closep(&fd);
    }
}

int nn_line_receive(int line_fd, void *bytes, size_t n_bytes, int *ret_fds, size_t n_max, int flags)
{
    union line_room room;
    struct iovec part = {.iov_base = bytes, .iov_len = n_bytes};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = n_max ? room.bytes : NULL,
        .msg_controllen = n_max ? CMSG_SPACE(n_max * sizeof(int)) : 0,
    };
    ssize_t n;

    assert(n_max <= NN_LINE_MAX_FDS);
    for (size_t i = 0; i < n_max; i++)
        ret_fds[i] = -1;
    n = nn_sys_recvmsg(line_fd, &message, flags);
    if (n < 0)
        return nn_error_trace((int)n);
    take_fds(&message, ret_fds, n_max);
    if (n == (ssize_t)n_bytes)
        return 0;
    for (size_t i = 0; i < n_max; i++) {
        closep(&ret_fds[i]);
        ret_fds[i] = -1;
    }
    return nn_error_origin(-EPIPE);
}
