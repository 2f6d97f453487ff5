/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that do not keep the rules: each is dropped with one line in the log,
 * nothing is left of it, and another client notices nothing. */
#include "service/stand.h"

#include "base/log.h"
#include "base/sys.h"
#include "hal/dial.h"
#include "ipc/hello.h"
#include "ipc/sock.h"
#include "support/check-main.h"
#include "support/fds.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

static struct stand stand;
static struct desk good; /* the client that notices nothing */
static uint64_t good_memory, good_prepared;
static int log_fd;

static void begin(void)
{
    log_fd = nn_sys_memfd_create("test-log", false);
    dup2(log_fd, STDERR_FILENO);
    nn_log_set_default(NN_LOG_WARNING);
    stand_open(&stand);
    stand_desk(&stand, &good);
    good_memory = desk_memory(&good, 4096);
    good_prepared = desk_prepare(&good, desk_formula(&good, DIMS(2, 2)));
    desk_formula_request(&good, good_memory, 16);
}

static void end(void)
{
    ck_assert_uint_eq(desk_execute(&good, good_prepared), NNHAL_NONE);
    stand_desk_close(&good);
    stand_expect_no_clients(&stand);
    stand_close(&stand);
}

static char logged[65536]; /* what count_dropped() has read */

/* The lines since the last time that tell of a dropped client. */
static size_t count_dropped(void)
{
    static off_t at;
    ssize_t n = pread(log_fd, logged, sizeof(logged) - 1, at);
    size_t n_lines = 0;

    logged[n > 0 ? n : 0] = '\0';
    at += n > 0 ? n : 0;
    for (const char *line = logged; (line = strstr(line, "dropped client")); line++)
        n_lines++;
    return n_lines;
}

/* The client was dropped, and the log says so once. */
static void expect_dropped(struct raw_client *client)
{
    raw_expect_end(client);
    raw_close(client);
    ck_assert_uint_eq(desk_execute(&good, good_prepared), NNHAL_NONE);
    ck_assert_uint_eq(count_dropped(), 1);
}

struct raw_packet {
    struct nn_packet_header header;
    uint8_t body[100000];
};

static struct raw_packet call(uint32_t method, size_t n_body_bytes)
{
    return (struct raw_packet){
        .header = {
            .serial = 1, .method = method, .type = NN_PACKET_CALL, .n_body_bytes = n_body_bytes}};
}

/* Sends a packet of n_bytes as the first one after the hello. */
static void expect_violation(const struct raw_packet *packet, size_t n_bytes, size_t n_fds)
{
    struct raw_client client;
    int fd = nn_sys_memfd_create("test-hostile", true);

    stand_connect(&stand, &client);
    raw_send(client.fd, packet, n_bytes, fd, n_fds);
    close(fd);
    expect_dropped(&client);
}

/* What the line in the log says of the client that was dropped last. */
static void expect_reason(const char *why)
{
    ck_assert_msg(strstr(logged, why), "%s: %s", why, logged);
}

TEST(packets_that_lie_about_themselves)
{
    const size_t n = sizeof(struct nn_packet_header);
    struct raw_packet packet = call(1, 0);

    begin();
    for (size_t i = 1; i < n; i += 5)
        expect_violation(&packet, i, 0);
    expect_violation(&packet, n + 1, 0);
    expect_violation(&packet, sizeof(packet), 0);
    expect_violation(&packet, NN_PACKET_MAX_BYTES + 1, 0);
    expect_violation(&packet, n, 1);
    expect_violation(&packet, n, 253);
    packet.header.n_fds = 3;
    expect_violation(&packet, n, 0);
    expect_violation(&packet, n, 2);
    packet = call(1, UINT64_MAX);
    expect_violation(&packet, n, 0);
    packet = call(1, 1 << 20);
    packet.header.flags = NN_PACKET_SEALED;
    expect_violation(&packet, n, 1); /* not sealed, and empty */
    expect_reason("a packet does not keep the rules of the wire");
    packet = call(1, NN_PACKET_MAX_BYTES); /* as large as a hello may be */
    packet.header.flags = NN_PACKET_SEALED;
    packet.header.type = NN_PACKET_HELLO;
    expect_violation(&packet, n, 1);
    packet = call(1, 0);
    packet.header.flags = 0x8000;
    expect_violation(&packet, n, 0);
    end();
}
TEST_END

TEST(packets_that_are_no_calls)
{
    const size_t n = sizeof(struct nn_packet_header);
    struct raw_packet packet;

    begin();
    /* Nothing else is wrong with them: get_device_info, 4 bytes reserved. */
    for (uint16_t type = 0; type < 10; type++) {
        packet = call(1, 4);
        packet.header.type = type;
        if (type != NN_PACKET_CALL)
            expect_violation(&packet, n + 4, 0);
    }
    packet = call(1, 4);
    packet.header.serial = 0;
    expect_violation(&packet, n + 4, 0);
    expect_reason("it sent what is no call");
    packet = call(1, sizeof(struct nn_hello)); /* a second hello */
    packet.header.type = NN_PACKET_HELLO;
    nn_hello_init((struct nn_hello *)(void *)packet.body, 30);
    packet.header.n_fds = 1;
    expect_violation(&packet, n + sizeof(struct nn_hello), 1);
    end();
}
TEST_END

TEST(calls_of_no_method_or_not_of_its_form)
{
    const size_t n = sizeof(struct nn_packet_header);
    struct raw_packet packet;
    unsigned seed = 7;

    begin();
    for (uint32_t method = 0; method < 30; method++) {
        size_t n_body_bytes = (size_t)rand_r(&seed) % 300 + 1;

        packet = call(method, n_body_bytes);
        for (size_t i = 0; i < n_body_bytes; i++)
            packet.body[i] = (uint8_t)rand_r(&seed) | 0x80; /* every count is over its limit */
        expect_violation(&packet, n + n_body_bytes, 0);
    }
    packet = call(UINT32_MAX, 0);
    expect_violation(&packet, n, 0);
    expect_reason("a request is not of the form of any method");
    end();
}
TEST_END

TEST(a_client_that_does_not_greet_properly)
{
    struct nn_hello hello;
    struct raw_packet packet;

    begin();
    for (size_t i = 0; i < 6; i++) {
        struct raw_client client;
        size_t n = i == 4 ? 20 : i == 5 ? 0 : sizeof(hello), n_fds = i == 3 ? 0 : i == 5 ? 2 : 1;
        int pair[2];

        ck_assert_int_eq(nn_sock_connect(stand.path, &client.fd), 0);
        ck_assert_int_eq(nn_sock_pair(pair), 0);
        nn_hello_init(&hello, 30);
        hello.major += i == 0;
        hello.magic += i == 1;
        packet = call(1, sizeof(hello));
        packet.header.type = i == 2 ? NN_PACKET_CALL : NN_PACKET_HELLO;
        packet.header.n_fds = i != 3;
        memcpy(packet.body, &hello, sizeof(hello));
        if (i == 5) { /* its body is said to be in a memfd, and is not */
            packet.header.flags = NN_PACKET_SEALED;
            packet.header.n_body_bytes = NN_PACKET_MAX_BYTES;
        }
        raw_send(client.fd, &packet, sizeof(packet.header) + n, pair[1], n_fds);
        client.events_fd = pair[0];
        close(pair[1]);
        expect_dropped(&client);
    }
    end();
}
TEST_END

TEST(whatever_comes_on_the_events_socket)
{
    struct raw_client client;

    begin();
    stand_connect(&stand, &client);
    raw_send(client.events_fd, "x", 1, -1, 0);
    expect_dropped(&client);
    end();
}
TEST_END

TEST(a_client_that_never_reads)
{
    struct raw_packet packet = call(1, 0); /* every call has a reply */
    struct raw_client client;
    size_t n_sent = 0;

    begin();
    packet.header.method = 1;
    packet.header.n_body_bytes = 4; /* get_device_info: reserved */
    stand_connect(&stand, &client);
    while (raw_send(client.fd, &packet, sizeof(packet.header) + 4, -1, 0)) {
        packet.header.serial++;
        ck_assert_uint_lt(++n_sent, 1000000);
    }
    expect_dropped(&client);
    end();
}
TEST_END

/* More answers than the socket holds wait in the service; all of them come when they are read. */
TEST(a_client_that_reads_late_gets_every_answer)
{
    const struct timespec late = {.tv_nsec = 300000000};
    const size_t n_calls = 400; /* the socket holds some 277; up to 256 more may wait */
    struct raw_packet packet = call(1, 4);
    struct raw_client client;
    struct nn_packet answer;

    begin();
    stand_connect(&stand, &client);
    for (size_t i = 0; i < n_calls; i++, packet.header.serial++)
        ck_assert(raw_send(client.fd, &packet, sizeof(packet.header) + 4, -1, 0));
    nanosleep(&late, NULL);
    for (size_t i = 0; i < n_calls; i++) {
        struct pollfd poll_fd = {.fd = client.fd, .events = POLLIN};

        ck_assert_int_eq(poll(&poll_fd, 1, 20000), 1);
        ck_assert_int_eq(nn_packet_recv(client.fd, NN_PACKET_MAX_BYTES, false, &answer), 0);
        ck_assert_uint_eq(answer.header.type, NN_PACKET_REPLY);
        nn_packet_done(&answer);
    }
    raw_close(&client);
    ck_assert_uint_eq(count_dropped(), 0);
    end();
}
TEST_END

TEST(descriptors_that_nobody_asked_for_are_closed)
{
    struct raw_packet packet = call(1, 4);
    struct raw_client client;
    struct nn_packet reply;
    size_t n_fds;

    begin();
    n_fds = count_fds();
    packet.header.n_fds = 1;
    for (size_t i = 0; i < 20; i++)
        expect_violation(&packet, sizeof(packet.header) + 4, 1);
    ck_assert_uint_le(count_fds(), n_fds + 100);
    /* And a client that closes in the middle of its calls is no violation. */
    packet.header.n_fds = 0;
    for (size_t i = 0; i < 20; i++) {
        stand_connect(&stand, &client);
        for (packet.header.serial = 1; packet.header.serial < 20; packet.header.serial++)
            raw_send(client.fd, &packet, sizeof(packet.header) + 4, -1, 0);
        if (i % 2) {
            ck_assert_int_eq(nn_packet_recv(client.fd, 65536, false, &reply), 0);
            nn_packet_done(&reply);
        }
        raw_close(&client);
    }
    end();
    ck_assert_uint_eq(count_dropped(), 0);
}
TEST_END

/* Everything that a client does once: a session, a memory, a model, an
 * execution. Returns the status of the first step that failed. */
static uint32_t use_once(struct desk *desk, struct nn_hal *hal, int memory_fd)
{
    struct nn_hal_import_memory_args import = {
        .kind = NNHAL_MEMORY_ASHMEM, .size = 4096, .fd = memory_fd};
    struct nn_hal_import_memory_reply imported;
    struct nn_hal_prepare_model_args prepare = {
        .preference = NNHAL_FAST_SINGLE_ANSWER,
        .priority = NNHAL_PRIORITY_MEDIUM,
        .deadline_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_prepare_model_reply prepared;
    uint32_t status;

    desk->hal = hal;
    status = nn_hal_import_memory(hal, &import, &imported, &desk->arena);
    if (status != NNHAL_NONE)
        return status;
    prepare.model = *desk_formula(desk, DIMS(2, 2));
    status = nn_hal_prepare_model(hal, &prepare, &prepared, &desk->arena);
    if (status != NNHAL_NONE)
        return status;
    desk_formula_request(desk, imported.memory, 16);
    return desk_execute(desk, prepared.prepared_model);
}

/* The n-th system call of the process fails, in the client, the service or the
 * host: nothing is left of that client. */
TEST(whichever_call_fails_nothing_is_left)
{
    int memory_fd = nn_sys_memfd_create("test-hostile", true);
    bool is_done = false;

    nn_sys_fault_errno = EMFILE;
    ck_assert_int_eq(ftruncate(memory_fd, 4096), 0);
    stand_open(&stand);
    for (long n = 1; !is_done; n++) {
        struct nn_hal *hal = NULL;
        uint32_t status = NNHAL_DEAD_OBJECT;
        struct desk desk = {.n_memories = 0};

        nn_arena_init(&desk.arena, 0);
        __atomic_store_n(&nn_sys_fault, n, __ATOMIC_RELAXED);
        if (nn_dial_socket(stand.path, NULL, &hal) == 0)
            status = use_once(&desk, hal, memory_fd);
        is_done = __atomic_exchange_n(&nn_sys_fault, 0, __ATOMIC_RELAXED) > 0;
        if (is_done)
            ck_assert_uint_eq(status, NNHAL_NONE);
        nn_hal_close(hal);
        nn_arena_done(&desk.arena);
        stand_expect_no_clients(&stand);
        ck_assert_uint_eq(count_mappings("test-hostile"), 0);
        ck_assert_int_lt(n, 1000);
    }
    stand_close(&stand);
    close(memory_fd);
}
TEST_END

CHECK_MAIN("hostile", packets_that_lie_about_themselves, packets_that_are_no_calls,
           calls_of_no_method_or_not_of_its_form, a_client_that_does_not_greet_properly,
           whatever_comes_on_the_events_socket, a_client_that_never_reads,
           a_client_that_reads_late_gets_every_answer, descriptors_that_nobody_asked_for_are_closed,
           whichever_call_fails_nothing_is_left)
