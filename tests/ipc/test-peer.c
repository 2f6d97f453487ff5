/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/peer.h"

#include "base/sys.h"
#include "ipc/sock.h"

#include "support/check-main.h"
#include "support/fds.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* A peer and the client's ends of its two sockets. */
struct setup {
    size_t n_fds;
    int client_fd, client_events_fd, wake_fd;
    struct nn_peer *peer;
};

static void start(struct setup *setup)
{
    int fds[2], events[2];
    struct nn_packet packet;
    struct nn_hello hello;

    setup->n_fds = count_fds();
    setup->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ck_assert_int_eq(nn_sock_pair(fds), 0);
    ck_assert_int_eq(nn_sock_pair(events), 0);
    setup->client_fd = fds[0];
    setup->client_events_fd = events[0];
    ck_assert_int_eq(nn_peer_new(fds[1], setup->wake_fd, &setup->peer), 0);
    nn_hello_init(&hello, 1000008);
    hello.max_calls = 3;
    ck_assert_int_eq(nn_hello_send(fds[0], &hello, events[1]), 0);
    close(events[1]);
    ck_assert_int_eq(nn_peer_recv(setup->peer, 65536, &packet), 0);
    nn_hello_init(&hello, 30);
    ck_assert_int_eq(nn_peer_answer_hello(setup->peer, &packet, &hello), 0);
    nn_packet_done(&packet);
    ck_assert_int_eq(hello.feature_level, 30);
    ck_assert_uint_eq(hello.max_calls, 3);
    ck_assert_int_eq(nn_packet_recv(fds[0], 65536, true, &packet), 0);
    ck_assert_int_eq(nn_hello_check(&packet, 0, &hello), 0);
    nn_packet_done(&packet);
}

static void stop(struct setup *setup)
{
    nn_peer_free(setup->peer);
    close(setup->client_fd);
    close(setup->client_events_fd);
    close(setup->wake_fd);
    ck_assert_uint_eq(count_fds(), setup->n_fds);
}

static int send_number(struct setup *setup, bool is_event, uint64_t serial, const void *body,
                       size_t n_bytes, int fd)
{
    struct nn_packet_header header = {.serial = serial,
                                      .type = is_event ? NN_PACKET_EVENT : NN_PACKET_REPLY};
    struct nn_packet_out out = {
        .body = body, .n_body_bytes = n_bytes, .fds = &fd, .n_fds = fd >= 0};

    return nn_peer_send(setup->peer, is_event, header, &out);
}

TEST(what_does_not_fit_is_queued_and_comes_in_order)
{
    static char body[60000];
    struct setup setup;
    struct nn_packet packet;
    uint64_t n_sent = 0, n_received = 0, word;

    start(&setup);
    while (!nn_peer_wants_write(setup.peer, false))
        ck_assert_int_eq(send_number(&setup, false, ++n_sent, body, sizeof(body), setup.client_fd),
                         0);
    ck_assert_int_eq(read(setup.wake_fd, &word, sizeof(word)), sizeof(word));
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(send_number(&setup, false, ++n_sent, body, 10, setup.client_fd), 0);
    /* The events socket is another one, and free. */
    ck_assert_int_eq(send_number(&setup, true, 0, body, 10, -1), 0);
    ck_assert(!nn_peer_wants_write(setup.peer, true));
    while (n_received < n_sent) {
        while (nn_packet_recv(setup.client_fd, 65536, true, &packet) == 0) {
            ck_assert_uint_eq(packet.header.serial, ++n_received);
            ck_assert_uint_eq(packet.header.n_fds, 1);
            nn_packet_done(&packet);
        }
        ck_assert_int_eq(nn_peer_flush(setup.peer), 0);
    }
    ck_assert(!nn_peer_wants_write(setup.peer, false));
    stop(&setup);
}
TEST_END

TEST(a_client_that_never_reads_is_ended)
{
    static char body[60000];
    struct setup setup;
    size_t n = 0;
    int r;

    start(&setup);
    do
        r = send_number(&setup, false, ++n, body, sizeof(body), setup.client_fd);
    while (r == 0 && n < 10000);
    ck_assert_int_eq(r, NN_PEER_E_FULL);
    ck_assert_uint_eq(NN_PEER_MAX_QUEUED_BYTES, 4 << 20);
    ck_assert_uint_eq(NN_PEER_MAX_QUEUED_PACKETS, 256);
    ck_assert_uint_lt(n * sizeof(body), NN_PEER_MAX_QUEUED_BYTES + 1000000);
    ck_assert(nn_peer_has_ended(setup.peer));
    ck_assert_int_eq(send_number(&setup, false, 1, body, 1, -1), NN_PEER_E_ENDED);
    ck_assert_int_eq(send_number(&setup, true, 1, body, 1, -1), NN_PEER_E_ENDED);
    ck_assert_int_eq(nn_peer_flush(setup.peer), NN_PEER_E_ENDED);
    stop(&setup);
}
TEST_END

/* -- what was not read is charged ------------------------------------------------------- */

struct purse {
    size_t n_bytes, n_fds, max_bytes;
};

static int purse_charge(void *ctx, size_t n_bytes, size_t n_fds)
{
    struct purse *purse = ctx;

    if (purse->n_bytes + n_bytes > purse->max_bytes)
        return -EDQUOT;
    purse->n_bytes += n_bytes;
    purse->n_fds += n_fds;
    return 0;
}

static void purse_uncharge(void *ctx, size_t n_bytes, size_t n_fds)
{
    struct purse *purse = ctx;

    ck_assert_uint_ge(purse->n_bytes, n_bytes);
    ck_assert_uint_ge(purse->n_fds, n_fds);
    purse->n_bytes -= n_bytes;
    purse->n_fds -= n_fds;
}

static void read_all(struct setup *setup, uint64_t n)
{
    struct nn_packet packet;

    while (n > 0) {
        while (nn_packet_recv(setup->client_fd, 1 << 20, true, &packet) == 0) {
            nn_packet_done(&packet);
            n--;
        }
        ck_assert_int_eq(nn_peer_flush(setup->peer), 0);
    }
    nn_peer_settle(setup->peer);
}

/* Bodies in the socket, as files, and after that in the queue. */
TEST(what_a_client_has_not_read_is_charged_until_it_reads)
{
    static char large[200000];
    struct purse purse = {.max_bytes = SIZE_MAX};
    struct setup setup;
    uint64_t n = 0;

    start(&setup);
    nn_peer_charge_to(setup.peer, &(struct nn_peer_account){purse_charge, purse_uncharge, &purse});
    while (!nn_peer_wants_write(setup.peer, false)) {
        ck_assert_int_eq(send_number(&setup, false, ++n, large, sizeof(large), setup.client_fd), 0);
        ck_assert_uint_ge(purse.n_bytes, n * sizeof(large));
        ck_assert_uint_ge(purse.n_fds, n);
    }
    read_all(&setup, n);
    ck_assert_uint_eq(purse.n_bytes, 0);
    ck_assert_uint_eq(purse.n_fds, 0);
    /* Once more, and the end gives it back. */
    for (n = 0; n < 5; n++)
        ck_assert_int_eq(send_number(&setup, false, 1, large, sizeof(large), -1), 0);
    ck_assert_uint_ge(purse.n_bytes, 5 * sizeof(large));
    nn_peer_end(setup.peer);
    ck_assert_uint_eq(purse.n_bytes, 0);
    ck_assert_uint_eq(purse.n_fds, 0);
    stop(&setup);
}
TEST_END

TEST(a_client_that_cannot_pay_is_ended)
{
    static char large[200000];
    struct purse purse = {.max_bytes = 1000000};
    struct setup setup;
    int r = 0;

    for (int i = 0; i < 2; i++) {
        size_t n_bytes = i == 0 ? 60000 : sizeof(large);

        start(&setup);
        nn_peer_charge_to(setup.peer,
                          &(struct nn_peer_account){purse_charge, purse_uncharge, &purse});
        for (int n = 0; r == 0 && n < 30; n++)
            r = send_number(&setup, false, 1, large, n_bytes, -1);
        ck_assert_int_eq(r, NN_PEER_E_FULL);
        ck_assert(nn_peer_has_ended(setup.peer));
        ck_assert_uint_eq(purse.n_bytes, 0);
        stop(&setup);
        r = 0;
    }
}
TEST_END

/* While a queued body is sent there are two of it: who can pay for one is told so. */
TEST(a_client_that_cannot_pay_for_sending_is_ended)
{
    static char large[200000];
    struct purse purse = {.max_bytes = SIZE_MAX};
    struct setup setup;
    struct nn_packet packet;
    int r = 0;

    start(&setup);
    nn_peer_charge_to(setup.peer, &(struct nn_peer_account){purse_charge, purse_uncharge, &purse});
    while (!nn_peer_wants_write(setup.peer, false))
        ck_assert_int_eq(send_number(&setup, false, 1, large, 60000, -1), 0);
    ck_assert_int_eq(send_number(&setup, false, 1, large, sizeof(large), -1), 0);
    purse.max_bytes = purse.n_bytes + 1000;
    while (r == 0 && nn_packet_recv(setup.client_fd, 1 << 20, true, &packet) == 0) {
        nn_packet_done(&packet);
        r = nn_peer_flush(setup.peer);
    }
    ck_assert_int_eq(r, NN_PEER_E_FULL);
    ck_assert(nn_peer_has_ended(setup.peer));
    ck_assert_uint_eq(purse.n_bytes, 0);
    stop(&setup);
}
TEST_END

TEST(many_small_packets_are_bounded_too)
{
    struct setup setup;
    size_t n = 0;
    int r;

    start(&setup);
    do
        r = send_number(&setup, true, ++n, NULL, 0, -1);
    while (r == 0 && n < 10000);
    ck_assert_int_eq(r, NN_PEER_E_FULL);
    stop(&setup);
}
TEST_END

TEST(a_client_that_is_gone_ends_the_peer)
{
    struct setup setup;

    start(&setup);
    shutdown(setup.client_fd, SHUT_RDWR);
    ck_assert_int_eq(send_number(&setup, false, 1, "x", 1, -1), NN_PEER_E_ENDED);
    ck_assert(nn_peer_has_ended(setup.peer));
    stop(&setup);
}
TEST_END

TEST(ending_wakes_the_loop_and_tells_the_client)
{
    struct setup setup;
    struct nn_packet packet;
    uint64_t word;

    start(&setup);
    nn_peer_end(setup.peer);
    ck_assert_int_eq(read(setup.wake_fd, &word, sizeof(word)), sizeof(word));
    ck_assert_int_eq(nn_packet_recv(setup.client_fd, 65536, true, &packet), NN_PACKET_E_CLOSED);
    ck_assert_int_eq(nn_packet_recv(setup.client_events_fd, 65536, true, &packet),
                     NN_PACKET_E_CLOSED);
    stop(&setup);
}
TEST_END

/* What a peer says to a hello with these descriptors. */
static int greet(const struct nn_hello *said, const int *fds, size_t n_fds)
{
    struct nn_packet_header header = {.type = NN_PACKET_HELLO};
    struct nn_packet_out out = {
        .body = said, .n_body_bytes = sizeof(*said), .fds = fds, .n_fds = n_fds};
    _cleanup_(nn_peer_freep) struct nn_peer *peer = NULL;
    struct nn_packet packet;
    struct nn_hello hello;
    int pair[2], r;

    ck_assert_int_eq(nn_sock_pair(pair), 0);
    ck_assert_int_eq(nn_packet_send(pair[0], header, &out, true), 0);
    ck_assert_int_eq(nn_peer_new(pair[1], -1, &peer), 0);
    ck_assert_int_eq(nn_peer_recv(peer, 65536, &packet), 0);
    nn_hello_init(&hello, 30);
    r = nn_peer_answer_hello(peer, &packet, &hello);
    nn_packet_done(&packet);
    close(pair[0]);
    return r;
}

TEST(a_hello_without_a_proper_events_socket_is_a_violation)
{
    struct nn_hello hello, bad;
    int events[2], stream[2], pipe_fds[2], fd = nn_sys_memfd_create("test-peer", false);
    size_t n_fds;

    ck_assert_int_eq(nn_sock_pair(events), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, stream), 0);
    ck_assert_int_eq(pipe(pipe_fds), 0);
    n_fds = count_fds();
    nn_hello_init(&hello, 30);
    ck_assert_int_eq(greet(&hello, NULL, 0), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(greet(&hello, events, 2), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(greet(&hello, stream, 1), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(greet(&hello, pipe_fds, 1), NN_PACKET_E_VIOLATION);
    ck_assert_int_eq(greet(&hello, &fd, 1), NN_PACKET_E_VIOLATION);
    bad = hello;
    bad.magic ^= 1;
    ck_assert_int_eq(greet(&bad, events, 1), NN_PACKET_E_VIOLATION);
    bad = hello;
    bad.major++;
    ck_assert_int_eq(greet(&bad, events, 1), NN_PACKET_E_VIOLATION);
    bad = hello;
    bad.max_body_bytes = 10;
    ck_assert_int_eq(greet(&bad, events, 1), NN_PACKET_E_VIOLATION);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

CHECK_MAIN("peer", what_does_not_fit_is_queued_and_comes_in_order,
           a_client_that_never_reads_is_ended, what_a_client_has_not_read_is_charged_until_it_reads,
           a_client_that_cannot_pay_is_ended, a_client_that_cannot_pay_for_sending_is_ended,
           many_small_packets_are_bounded_too, a_client_that_is_gone_ends_the_peer,
           ending_wakes_the_loop_and_tells_the_client,
           a_hello_without_a_proper_events_socket_is_a_violation)
