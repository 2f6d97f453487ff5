/* SPDX-License-Identifier: Apache-2.0 */
#include "service/activation.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#ifdef NN_WITH_LIBSYSTEMD
#include <systemd/sd-daemon.h>
#endif

enum { FIRST_FD = 3 };

int nn_activation_take(int *ret_fd, bool *ret_is_listening)
{
    const char *pid = secure_getenv("LISTEN_PID"), *n_fds = secure_getenv("LISTEN_FDS");
    int type = 0, listens = 0, flags;
    socklen_t n = sizeof(type), m = sizeof(listens);
    char own_pid[16];

    snprintf(own_pid, sizeof(own_pid), "%d", (int)getpid());
    /* Another pid: the variables were meant for a parent of this process and were
     * inherited. */
    if (!pid || !n_fds || strcmp(pid, own_pid) != 0)
        return NN_ACTIVATION_E_ABSENT;
    if (strcmp(n_fds, "1") != 0 || getsockopt(FIRST_FD, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ||
        type != SOCK_SEQPACKET || getsockopt(FIRST_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &m) < 0)
        return nn_error_origin(-EINVAL);
    flags = fcntl(FIRST_FD, F_GETFL);
    fcntl(FIRST_FD, F_SETFD, FD_CLOEXEC);
    /* A client may have gone between poll and accept: a listening socket that blocked would
     * then hold the loop, and with it all clients. */
    fcntl(FIRST_FD, F_SETFL, listens ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    *ret_fd = FIRST_FD;
    *ret_is_listening = listens != 0;
    return 0;
}

#ifdef NN_WITH_LIBSYSTEMD

void nn_activation_notify(const char *state)
{
    sd_notify(0, state);
}

#else

void nn_activation_notify(const char *state)
{
    const char *path = secure_getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct iovec part = {.iov_base = (void *)(uintptr_t)state, .iov_len = strlen(state)};
    struct msghdr message = {.msg_name = &address, .msg_iov = &part, .msg_iovlen = 1};
    _cleanup_(closep) int fd = -1;
    size_t n = path ? strlen(path) : 0;

    if (n == 0 || n >= sizeof(address.sun_path))
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    memcpy(address.sun_path, path, n);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0';
    message.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    /* A failure is left to the service manager, which reports a service that never became
     * ready. */
    nn_sys_sendmsg(fd, &message, MSG_DONTWAIT);
}

#endif
