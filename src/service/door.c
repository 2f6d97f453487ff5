/* SPDX-License-Identifier: Apache-2.0 */
#include "service/door.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "service/line.h"

#include <sys/socket.h>

enum { ROOM_BYTES = 16 << 10 }; /* of the kernel's: some ten arrivals */

int nn_arrival_init(struct nn_arrival *arrival, int fd)
{
    int r = nn_sock_credentials(fd, &arrival->client);

    arrival->fd = fd;
    arrival->pidfd = -1;
    if (r == 0)
        /* One that cannot be watched is seen by its sockets alone. */
        r = nn_sock_pidfd(fd, &arrival->pidfd);
    if (r >= 0)
        return 0;
    nn_arrival_done(arrival);
    return nn_error_trace(r);
}

void nn_arrival_done(struct nn_arrival *arrival)
{
    closep(&arrival->fd);
    closep(&arrival->pidfd);
    arrival->fd = arrival->pidfd = -1;
}

int nn_door_pair(int ret_fds[2])
{
    const int n_bytes = ROOM_BYTES;
    int r = nn_sock_pair(ret_fds);

    if (r == 0)
        setsockopt(ret_fds[0], SOL_SOCKET, SO_SNDBUF, &n_bytes, sizeof(n_bytes));
    return nn_error_trace(r);
}

int nn_door_accept(int fd, struct nn_arrival *ret_arrival)
{
    int client_fd = -1, r = nn_sock_accept(fd, &client_fd);

    if (r == 0)
        r = nn_arrival_init(ret_arrival, client_fd);
    else if (r > 0)
        return NN_DOOR_E_ABSENT;
    return nn_error_trace(r);
}

int nn_door_pass(int fd, const struct nn_arrival *arrival)
{
    const int fds[] = {arrival->fd, arrival->pidfd};
    int r = nn_line_send(fd, &arrival->client, sizeof(arrival->client), fds,
                         arrival->pidfd >= 0 ? 2 : 1, MSG_DONTWAIT);

    /* Descriptors on their way are counted as this user's, by the kernel: as full. */
    if (r == -EAGAIN || r == -ETOOMANYREFS)
        return NN_DOOR_E_FULL;
    return nn_error_trace(r);
}

int nn_door_receive(int fd, struct nn_arrival *ret_arrival)
{
    int fds[2];
    int r = nn_line_receive(fd, &ret_arrival->client, sizeof(ret_arrival->client), fds,
                            NN_N_ELEMENTS(fds), MSG_DONTWAIT);

    if (r < 0)
        return r == -EAGAIN ? NN_DOOR_E_ABSENT : nn_error_trace(r);
    ret_arrival->fd = fds[0];
    ret_arrival->pidfd = fds[1];
    /* Out of descriptors here: what did not fit was dropped. */
    return fds[0] >= 0 ? 0 : nn_error_origin(-EMFILE);
}
