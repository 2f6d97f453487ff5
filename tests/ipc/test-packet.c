/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/packet.h"

#include "base/sanitized.h"
#include "base/sys.h"
#include "ipc/sock.h"

#include "support/check-main.h"
#include "support/fds.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MAX_BODY ((size_t)1 << 24)

static void pair(int fds[2])
{
    ck_assert_int_eq(nn_sock_pair(fds), 0);
}

static uint8_t *pattern(size_t n_bytes)
{
    uint8_t *bytes = malloc(n_bytes + 1);

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    return bytes;
}

TEST(bodies_of_all_sizes_arrive)
{
    static const size_t sizes[] = {0, 1, 100, 65503, 65504, 65505, 65536, 65537, 200000, 5000000};
    size_t n_before = count_fds();
    int fds[2];

    pair(fds);
    for (size_t i = 0; i < NN_N_ELEMENTS(sizes); i++) {
        _cleanup_(freep) uint8_t *body = pattern(sizes[i]);
        /* What describes the body and the descriptors is not the caller's to say. */
        struct nn_packet_header header = {.serial = 5 + i,
                                          .method = 7,
                                          .status = 9,
                                          .type = NN_PACKET_CALL,
                                          .flags = NN_PACKET_SEALED,
                                          .n_body_bytes = 12345,
                                          .n_fds = 3};
        struct nn_packet_out out = {.body = body, .n_body_bytes = sizes[i]};
        struct nn_packet packet;

        ck_assert_int_eq(nn_packet_send(fds[0], header, &out, true), 0);
        ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), 0);
        ck_assert_uint_eq(packet.header.serial, 5 + i);
        ck_assert_uint_eq(packet.header.method, 7);
        ck_assert_uint_eq(packet.header.status, 9);
        ck_assert_uint_eq(packet.header.type, NN_PACKET_CALL);
        ck_assert_uint_eq(packet.header.n_body_bytes, sizes[i]);
        ck_assert_uint_eq(packet.header.n_fds, 0);
        if (sizes[i] > 0)
            ck_assert_int_eq(memcmp(packet.body, body, sizes[i]), 0);
        else
            ck_assert_ptr_null(packet.body);
        nn_packet_done(&packet);
        nn_packet_done(&packet);
    }
    close(fds[0]);
    close(fds[1]);
    ck_assert_uint_eq(count_fds(), n_before);
}
TEST_END

TEST(descriptors_arrive_in_order_with_either_kind_of_body)
{
    size_t n_before = count_fds();
    int fds[2], sent[NN_PACKET_MAX_FDS + 1];

    pair(fds);
    for (size_t i = 0; i < NN_N_ELEMENTS(sent); i++) {
        sent[i] = nn_sys_memfd_create("test-packet", false);
        ck_assert_int_ge(sent[i], 0);
        ck_assert_int_eq(ftruncate(sent[i], (off_t)i + 1), 0);
    }
    for (size_t n_body = 10; n_body <= 100000; n_body *= 10000) {
        _cleanup_(freep) uint8_t *body = pattern(n_body);
        struct nn_packet_header header = {.type = NN_PACKET_REPLY};
        struct nn_packet_out out = {
            .body = body, .n_body_bytes = n_body, .fds = sent, .n_fds = NN_PACKET_MAX_FDS};
        struct nn_packet packet;
        struct stat status;

        ck_assert_int_eq(nn_packet_send(fds[0], header, &out, true), 0);
        ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), 0);
        ck_assert_uint_eq(packet.header.n_fds, 128);
        for (size_t i = 0; i < NN_PACKET_MAX_FDS; i++) {
            ck_assert_int_eq(fstat(packet.fds[i], &status), 0);
            ck_assert_int_eq(status.st_size, (off_t)i + 1);
            ck_assert_int_eq(fcntl(packet.fds[i], F_GETFD), FD_CLOEXEC);
        }
        ck_assert_int_eq(memcmp(packet.body, body, n_body), 0);
        nn_packet_done(&packet);
        ck_assert_uint_eq(NN_PACKET_MAX_BODY_BYTES, 256 << 20);
        out.n_fds = NN_PACKET_MAX_FDS + 1;
        ck_assert_int_eq(nn_packet_send(fds[0], header, &out, true), NN_PACKET_E_TOO_BIG);
    }
    for (size_t i = 0; i < NN_N_ELEMENTS(sent); i++)
        close(sent[i]);
    close(fds[0]);
    close(fds[1]);
    ck_assert_uint_eq(count_fds(), n_before);
}
TEST_END

TEST(an_empty_socket_and_a_closed_one_are_told_apart)
{
    struct nn_packet_header header = {.type = NN_PACKET_CALL};
    struct nn_packet_out out = {0};
    struct nn_packet packet;
    int fds[2], r;

    pair(fds);
    ck_assert_int_eq(nn_packet_recv(fds[0], MAX_BODY, true, &packet), NN_PACKET_E_AGAIN);
    do
        r = nn_packet_send(fds[0], header, &out, true);
    while (r == 0);
    ck_assert_int_eq(r, NN_PACKET_E_AGAIN);
    close(fds[1]);
    ck_assert_int_eq(nn_packet_send(fds[0], header, &out, true), NN_PACKET_E_CLOSED);
    ck_assert_int_eq(nn_packet_recv(fds[0], MAX_BODY, true, &packet), NN_PACKET_E_CLOSED);
    close(fds[0]);
    ck_assert_int_eq(nn_packet_recv(-1, MAX_BODY, true, &packet), -EBADF);
}
TEST_END

/* -- a sender that does not keep the rules ------------------------------------------- */

/* Sends exactly these bytes and descriptors. */
static void send_raw(int fd, const void *bytes, size_t n_bytes, const int *fds, size_t n_fds)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int) * 253)];
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    memset(room, 0, sizeof(room));
    if (n_fds > 0) {
        struct cmsghdr *cmsg;

        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * n_fds);
    }
    ck_assert_int_ge(nn_sys_sendmsg(fd, &message, MSG_DONTWAIT), 0);
}

struct raw_packet {
    struct nn_packet_header header;
    uint8_t body[100000];
};

/* What the receiver says to a packet of n_bytes with n_fds descriptors of fd. */
static int answer(const struct raw_packet *raw, size_t n_bytes, int fd, size_t n_fds)
{
    struct nn_packet packet;
    size_t n_before;
    int pair_fds[2], fds[253], r;

    for (size_t i = 0; i < n_fds; i++)
        fds[i] = fd;
    pair(pair_fds);
    n_before = count_fds();
    send_raw(pair_fds[0], raw, n_bytes, fds, n_fds);
    r = nn_packet_recv(pair_fds[1], MAX_BODY, true, &packet);
    if (r == 0)
        nn_packet_done(&packet);
    ck_assert_uint_eq(count_fds(), n_before);
    close(pair_fds[0]);
    close(pair_fds[1]);
    return r;
}

TEST(headers_that_contradict_their_packet_are_violations)
{
    const struct nn_packet_header good = {.type = NN_PACKET_CALL, .n_body_bytes = 100};
    const size_t n = sizeof(good) + 100;
    struct raw_packet raw = {.header = good};
    int fd = nn_sys_memfd_create("test-packet", false);

    ck_assert_int_eq(answer(&raw, n, -1, 0), 0);
    for (size_t i = 1; i < n; i++)
        ck_assert_int_eq(answer(&raw, i, -1, 0), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(answer(&raw, n + 1, -1, 0), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(answer(&raw, 65536 + 1, -1, 0), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(answer(&raw, 100000, -1, 0), NN_PACKET_E_VIOLATION);
    raw.header.n_body_bytes = NN_PACKET_MAX_INLINE_BYTES; /* what is left of one that was cut */
    ck_assert_int_eq(answer(&raw, 65536, -1, 0), 0);
    ck_assert_int_eq(answer(&raw, 65536 + 1, -1, 0), NN_PACKET_E_VIOLATION);
    raw.header = good;
    ck_assert_int_eq(answer(&raw, n, fd, 1), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(answer(&raw, n, fd, 253), NN_PACKET_E_VIOLATION);
    raw.header.n_fds = 2;
    ck_assert_int_eq(answer(&raw, n, fd, 2), 0);
    ck_assert_int_eq(answer(&raw, n, fd, 1), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(answer(&raw, n, fd, 3), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(answer(&raw, n, fd, 0), NN_PACKET_E_VIOLATION);
    raw.header.n_fds = NN_PACKET_MAX_FDS + 1;
    ck_assert_int_eq(answer(&raw, n, fd, NN_PACKET_MAX_FDS + 1), NN_PACKET_E_VIOLATION);
    raw.header.n_fds = UINT32_MAX;
    ck_assert_int_eq(answer(&raw, n, fd, 0), NN_PACKET_E_VIOLATION);
    raw.header = good;
    raw.header.type = 0;
    ck_assert_int_eq(answer(&raw, n, -1, 0), NN_PACKET_E_VIOLATION);
    raw.header.type = _NN_PACKET_TYPE_N;
    ck_assert_int_eq(answer(&raw, n, -1, 0), NN_PACKET_E_VIOLATION);
    raw.header = good;
    raw.header.flags = 2;
    ck_assert_int_eq(answer(&raw, n, -1, 0), NN_PACKET_E_VIOLATION);
    raw.header = good;
    raw.header.n_body_bytes = UINT64_MAX;
    ck_assert_int_eq(answer(&raw, n, -1, 0), NN_PACKET_E_VIOLATION);
    close(fd);
}
TEST_END

static int body_fd(size_t n_bytes, int seals)
{
    int fd = nn_sys_memfd_create("test-body", true);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, (off_t)n_bytes), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

/* Sealed, and not to be read. */
static int write_only_body(size_t n_bytes, int seals)
{
    int fd = body_fd(n_bytes, 0), again;
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    again = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(again, 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    close(fd);
    return again;
}

TEST(sealed_bodies_are_sealed_and_of_the_size_they_say)
{
    const int all = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    const size_t n = sizeof(struct nn_packet_header), size = 100000;
    struct raw_packet raw = {
        .header = {.type = NN_PACKET_CALL, .flags = NN_PACKET_SEALED, .n_body_bytes = size}};
    const struct {
        int fd;
        uint64_t size;
        size_t n_bytes, n_fds;
        int wanted;
    } cases[] = {
        {body_fd(size, all), size, n, 1, 0},
        {body_fd(size, all), size, n, 0, NN_PACKET_E_VIOLATION},
        {body_fd(size, all), size, n, 2, NN_PACKET_E_VIOLATION},
        {body_fd(size, all), size, n + 1, 1, NN_PACKET_E_VIOLATION},
        {body_fd(size, all), size - 1, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(size, all), size + 1, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(100, all), 100, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(0, all), 0, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(MAX_BODY + 1, all), MAX_BODY + 1, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(size, all), UINT64_MAX, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(size, F_SEAL_WRITE | F_SEAL_SHRINK), size, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(size, F_SEAL_WRITE | F_SEAL_GROW), size, n, 1, NN_PACKET_E_VIOLATION},
        {body_fd(size, F_SEAL_GROW | F_SEAL_SHRINK), size, n, 1, NN_PACKET_E_VIOLATION},
        {write_only_body(size, all), size, n, 1, NN_PACKET_E_VIOLATION},
        {open("/proc/self/exe", O_RDONLY), size, n, 1, NN_PACKET_E_VIOLATION},
        {open("/tmp", O_RDONLY | O_DIRECTORY), size, n, 1, NN_PACKET_E_VIOLATION},
    };

    for (size_t i = 0; i < NN_N_ELEMENTS(cases); i++) {
        raw.header.n_body_bytes = cases[i].size;
        ck_assert_int_eq(answer(&raw, cases[i].n_bytes, cases[i].fd, cases[i].n_fds),
                         cases[i].wanted);
        close(cases[i].fd);
    }
}
TEST_END

TEST(a_sealed_body_is_read_once)
{
    const size_t n_bytes = 100000;
    uint8_t *bytes = pattern(n_bytes);
    const struct nn_packet_out out = {.body = bytes, .n_body_bytes = n_bytes};
    struct nn_packet packet;
    const uint8_t *body;
    int fds[2];

    pair(fds);
    ck_assert_int_eq(
        nn_packet_send(fds[0], (struct nn_packet_header){.type = NN_PACKET_CALL}, &out, false), 0);
    ck_assert_int_eq(nn_packet_recv_unread(fds[1], MAX_BODY, false, &packet), 0);
    ck_assert(packet.has_unread);
    ck_assert_ptr_null(packet.body);
    ck_assert_int_eq(nn_packet_read_body(&packet), 0);
    ck_assert(!packet.has_unread);
    body = packet.body;
    ck_assert_mem_eq(body, bytes, n_bytes);
    ck_assert_int_eq(nn_packet_read_body(&packet), 0); /* there is nothing left to read */
    ck_assert_ptr_eq(packet.body, body);
    nn_packet_done(&packet);
    free(bytes);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

/* Nothing is kept of a packet, be it good or not. */
TEST(receiving_takes_no_memory_for_good)
{
    const struct nn_packet_header good = {.type = NN_PACKET_CALL, .n_body_bytes = 100};
    struct raw_packet raw = {.header = good};
    struct nn_packet packet;
    size_t n_used = 0;
    int fds[2];

    pair(fds);
    for (int i = 0; i < 100; i++) {
        if (i == 10)
            n_used = mallinfo2().uordblks;
        raw.header.n_body_bytes = i % 2 ? 100 : 0;
        send_raw(fds[0], &raw, sizeof(good) + raw.header.n_body_bytes, NULL, 0);
        ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), 0);
        nn_packet_done(&packet);
        ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), NN_PACKET_E_AGAIN);
        send_raw(fds[0], &raw, 10, NULL, 0);
        ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), NN_PACKET_E_VIOLATION);
    }
    if (!NN_IS_SANITIZED) /* they have allocators of their own, and find leaks themselves */
        ck_assert_uint_lt(mallinfo2().uordblks, n_used + NN_PACKET_MAX_INLINE_BYTES);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

TEST(an_empty_packet_is_the_end)
{
    struct nn_packet packet;
    int fds[2], fd = nn_sys_memfd_create("test-packet", false);
    size_t n_before;

    pair(fds);
    n_before = count_fds();
    send_raw(fds[0], "", 0, &fd, 1);
    ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), NN_PACKET_E_CLOSED);
    ck_assert_uint_eq(count_fds(), n_before);
    close(fds[0]);
    close(fds[1]);
    close(fd);
}
TEST_END

TEST(whichever_call_fails_nothing_is_left)
{
    _cleanup_(freep) uint8_t *body = pattern(100000);
    struct nn_packet_header header = {.type = NN_PACKET_CALL};
    int fds[2], fd = nn_sys_memfd_create("test-packet", false);
    struct nn_packet_out out = {.body = body, .n_body_bytes = 100000, .fds = &fd, .n_fds = 1};
    size_t n_before;

    pair(fds);
    n_before = count_fds();
    for (long n = 1;; n++) {
        struct nn_packet packet;
        int r, s = 1;

        nn_sys_fault_errno = ENOBUFS;
        nn_sys_fault = n;
        r = nn_packet_send(fds[0], header, &out, true);
        if (r == 0)
            s = nn_packet_recv(fds[1], MAX_BODY, true, &packet);
        if (s == 0)
            nn_packet_done(&packet);
        if (nn_sys_fault > 0) {
            ck_assert_int_eq(s, 0);
            ck_assert_int_eq(n, 4); /* memfd_create, sendmsg, recvmsg */
            break;
        }
        ck_assert(r == -ENOBUFS || s == -ENOBUFS);
        nn_sys_fault = 0;
        if (s == -ENOBUFS) {
            ck_assert_int_eq(nn_packet_recv(fds[1], MAX_BODY, true, &packet), 0);
            nn_packet_done(&packet);
        }
        ck_assert_uint_eq(count_fds(), n_before);
    }
    nn_sys_fault = 0;
    close(fd);
    close(fds[0]);
    close(fds[1]);
}
TEST_END

CHECK_MAIN("packet", bodies_of_all_sizes_arrive,
           descriptors_arrive_in_order_with_either_kind_of_body,
           an_empty_socket_and_a_closed_one_are_told_apart,
           headers_that_contradict_their_packet_are_violations,
           sealed_bodies_are_sealed_and_of_the_size_they_say, a_sealed_body_is_read_once,
           receiving_takes_no_memory_for_good, an_empty_packet_is_the_end,
           whichever_call_fails_nothing_is_left)
