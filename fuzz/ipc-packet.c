/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, with any descriptors, as a packet on a socket: it is received
 * whole or refused, and no descriptor stays either way.
 * The first byte: 1 a sealed memfd comes first, 2 one that lacks seals, 4 one
 * that cannot be read; its upper half: how many more descriptors. The next 32
 * bytes are the header; with a memfd the rest is repeated in it up to the size
 * that the header declares. */
#include "fuzz.h"

#include "base/sys.h"
#include "ipc/packet.h"
#include "ipc/sock.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum {
    IS_SEALED = 1,
    IS_OPEN = 2,
    IS_WRITE_ONLY = 4,
    MAX_BODY_BYTES = 200000, /* of a memfd */
    MAX_FDS = 16,
};

static int make_body(uint8_t flags, const uint8_t *bytes, size_t n_bytes, uint64_t declared)
{
    int fd = nn_sys_memfd_create("body", true), other;
    char path[64];

    FUZZ_CHECK(fd >= 0);
    if (declared <= MAX_BODY_BYTES) {
        FUZZ_CHECK(ftruncate(fd, (off_t)declared) == 0);
        n_bytes = n_bytes < declared ? n_bytes : declared;
    }
    FUZZ_CHECK(pwrite(fd, bytes, n_bytes, 0) == (ssize_t)n_bytes);
    if (flags & IS_WRITE_ONLY) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        other = open(path, O_WRONLY | O_CLOEXEC);
        FUZZ_CHECK(other >= 0);
        close(fd);
        fd = other;
    }
    if (!(flags & IS_OPEN))
        FUZZ_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW) == 0);
    return fd;
}

/* Puts the input on the socket as it is. */
static void send_raw(int socket, const uint8_t *bytes, size_t n_bytes, const int *fds, size_t n_fds)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * (MAX_FDS + 1))];
        struct cmsghdr alignment;
    } control = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (n_fds) {
        struct cmsghdr *cmsg;

        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_LEN(sizeof(int) * n_fds);
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n_fds);
    }
    nn_sys_sendmsg(socket, &message, MSG_DONTWAIT);
}

static void receive(int socket)
{
    struct nn_packet packet;
    int r = nn_packet_recv(socket, MAX_BODY_BYTES, true, &packet);

    FUZZ_CHECK(r >= 0);
    if (r != 0)
        return;
    FUZZ_CHECK(packet.header.n_fds <= NN_PACKET_MAX_FDS);
    FUZZ_CHECK(packet.header.n_body_bytes <= MAX_BODY_BYTES);
    FUZZ_CHECK(!packet.body == !packet.header.n_body_bytes);
    for (uint32_t i = 0; i < packet.header.n_fds; i++)
        FUZZ_CHECK(fcntl(packet.fds[i], F_GETFD) == FD_CLOEXEC);
    for (uint64_t i = 0; i < packet.header.n_body_bytes; i++)
        FUZZ_CHECK(packet.body[i] + 1); /* all of it can be read */
    nn_packet_done(&packet);
}

static int first_free_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    FUZZ_CHECK(fd >= 0);
    close(fd);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    int pair[2], fds[MAX_FDS + 1], before = first_free_fd();
    struct nn_packet_header header = {.serial = 0};
    size_t n_fds = 0, n_sent;
    uint8_t flags;

    if (n_bytes < 1)
        return 0;
    flags = *bytes++;
    n_bytes--;
    n_sent = n_bytes;
    memcpy(&header, bytes, n_bytes < sizeof(header) ? n_bytes : sizeof(header));
    FUZZ_CHECK(nn_sock_pair(pair) == 0);
    if (flags & (IS_SEALED | IS_OPEN | IS_WRITE_ONLY)) {
        fds[n_fds++] = make_body(flags, bytes, n_bytes, header.n_body_bytes);
        n_sent = n_bytes < sizeof(header) ? n_bytes : sizeof(header);
    }
    for (int i = 0; i < flags >> 4; i++)
        fds[n_fds++] = nn_sys_memfd_create("other", true);
    send_raw(pair[0], bytes, n_sent, fds, n_fds);
    for (size_t i = 0; i < n_fds; i++)
        close(fds[i]);
    receive(pair[1]);
    close(pair[0]);
    close(pair[1]);
    FUZZ_CHECK(first_free_fd() == before);
    return 0;
}
