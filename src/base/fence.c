/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fence.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>

#define NS_PER_MS UINT64_C(1000000)

int nn_fence_new(int *ret_signaller, int *ret_fence)
{
    int ends[2];
    char byte = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        return nn_error_origin(-errno);
    if (send(ends[1], &byte, 1, MSG_NOSIGNAL) != 1) {
        int r = -errno;

        close(ends[0]);
        close(ends[1]);
        return nn_error_origin(r);
    }
    *ret_signaller = ends[0];
    *ret_fence = ends[1];
    return 0;
}

void nn_fence_signal(int signaller)
{
    char byte;

    /* Neither can block nor fail in a way that matters: if the fence's side is
     * gone there is no waiter. */
    (void)!recv(signaller, &byte, 1, 0);
    (void)!send(signaller, &byte, 1, MSG_NOSIGNAL);
    close(signaller);
}

static int fence_state(short revents)
{
    if (revents & POLLNVAL)
        return NN_FENCE_E_INVALID;
    if (revents & POLLERR)
        return NN_FENCE_E_ERROR;
    if (revents & POLLIN)
        return 0;
    /* A hang-up without a byte: the other end took ours and wrote nothing. */
    return revents & POLLHUP ? NN_FENCE_E_ERROR : NN_FENCE_E_ACTIVE;
}

static int timeout_ms(uint64_t deadline_ns)
{
    uint64_t now_ns, left_ms;

    if (deadline_ns == UINT64_MAX)
        return -1;
    now_ns = nn_sys_now_ns();
    if (now_ns >= deadline_ns)
        return 0;
    /* Rounded up: a poll that ends too early would repeat without waiting until the
     * deadline. */
    left_ms = (deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

int nn_fence_wait(int fence, uint64_t deadline_ns)
{
    struct pollfd fd = {.fd = fence, .events = POLLIN};
    int n, timeout;

    if (fence < 0)
        return NN_FENCE_E_INVALID;
    do {
        timeout = timeout_ms(deadline_ns);
        n = poll(&fd, 1, timeout);
        if (n > 0)
            return fence_state(fd.revents);
        if (n < 0 && errno != EINTR)
            return NN_FENCE_E_INVALID;
    } while (n < 0 || timeout != 0);
    return NN_FENCE_E_ACTIVE;
}

int nn_fence_check(int fence)
{
    return nn_fence_wait(fence, 0);
}
