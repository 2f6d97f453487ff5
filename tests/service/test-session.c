/* SPDX-License-Identifier: Apache-2.0 */
/* One client of a service, step by step on the test's own thread: what is read and when, what is
 * answered, and why it is dropped. */
#include "service/session.h"

#include "base/log.h"
#include "base/sys.h"
#include "ipc/hello.h"
#include "ipc/sock.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/eventfd.h>

enum {
    PATIENCE_MS = 20000, /* of a step that must come */
    READS_PER_STEP = 16, /* of the service */
    INFO_BYTES = 4,      /* of a call of get_device_info */
};

static struct nn_service_session_context context;
static struct nn_service_session *session;
static int client_fd, events_fd; /* the client's ends */
static uint64_t last_serial;
static int log_fd;

/* -- the service around it ------------------------------------------------------------------- */

/* A service with one thread for calls. */
static void begin(const struct nn_service_quota_limits *limits)
{
    log_fd = nn_sys_memfd_create("test-log", false);
    dup2(log_fd, STDERR_FILENO);
    nn_log_set_default(NN_LOG_WARNING);
    fake_reset();
    context.limits = context.uid_limits = NN_HOST_DEFAULT_LIMITS;
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &context.host), 0);
    ck_assert_int_eq(nn_service_quota_new(limits, &context.quota), 0);
    ck_assert_int_eq(nn_jobs_new("test-call", 1, 256, &context.workers), 0);
    ck_assert_int_eq(nn_jobs_new("test-close", 1, 16, &context.closers), 0);
    context.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static const struct nn_service_quota_limits roomy = {
    .n_connections = 4,
    .n_connections_per_user = 4,
    .n_bytes_per_user = 1 << 20,
    .n_fds_per_user = 100,
};

/* Whether the loop is woken, now or soon. */
static bool is_woken(void)
{
    struct pollfd wake = {.fd = context.wake_fd, .events = POLLIN};
    uint64_t word;

    return poll(&wake, 1, PATIENCE_MS) == 1 && read(context.wake_fd, &word, sizeof(word)) > 0;
}

/* Every session wakes the loop when it is freed. */
static void expect_sessions(size_t n)
{
    while (__atomic_load_n(&context.n_sessions, __ATOMIC_SEQ_CST) > n)
        ck_assert(is_woken());
    ck_assert_uint_eq(context.n_sessions, n);
}

static void end(void)
{
    close(client_fd);
    close(events_fd);
    expect_sessions(0);
    nn_jobs_free(context.workers);
    nn_jobs_free(context.closers);
    nn_service_quota_free(context.quota);
    nn_host_unref(context.host);
    close(context.wake_fd);
}

/* Whether the one line that is logged has these words. */
static bool log_says(const char *words)
{
    char text[1024] = "";

    ck_assert_int_ge(pread(log_fd, text, sizeof(text) - 1, 0), 0);
    return strstr(text, words) && strchr(text, '\n') == strrchr(text, '\n');
}

/* -- the client -------------------------------------------------------------------------------- */

static int connect_client(struct nn_service_session **ret_session, int *ret_fd)
{
    struct nn_arrival arrival;
    int pair[2];

    ck_assert_int_eq(nn_sock_pair(pair), 0);
    *ret_fd = pair[1];
    ck_assert_int_eq(nn_arrival_init(&arrival, pair[0]), 0);
    return nn_service_session_new(&context, &arrival, 7, ret_session);
}

static bool comes(int fd, struct nn_packet *ret_packet)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    return poll(&poll_fd, 1, PATIENCE_MS) == 1 &&
           nn_packet_recv(fd, NN_PACKET_MAX_BYTES, true, ret_packet) == 0;
}

static int step(void)
{
    struct pollfd fds[NN_SESSION_N_FDS];

    nn_service_session_poll(session, fds);
    ck_assert_int_ge(poll(fds, NN_SESSION_N_FDS, 0), 0);
    return nn_service_session_step(session, fds, nn_sys_now_ns());
}

static void greet(uint32_t max_calls)
{
    struct nn_packet packet;
    struct nn_hello hello;
    int pair[2];

    ck_assert_int_eq(connect_client(&session, &client_fd), 0);
    ck_assert_int_eq(nn_sock_pair(pair), 0);
    nn_hello_init(&hello, NNHAL_FEATURE_LEVEL_8);
    hello.max_calls = max_calls;
    ck_assert_int_eq(nn_hello_send(client_fd, &hello, pair[1]), 0);
    close(pair[1]);
    events_fd = pair[0];
    ck_assert_int_eq(step(), 0);
    ck_assert(comes(client_fd, &packet));
    nn_packet_done(&packet);
}

static void send_packet(int fd, struct nn_packet_header header, size_t n_body_bytes, int passed)
{
    static const uint8_t zeros[16];
    const struct nn_packet_out out = {
        .body = zeros, .n_body_bytes = n_body_bytes, .fds = &passed, .n_fds = passed >= 0};

    ck_assert_int_eq(nn_packet_send(fd, header, &out, true), 0);
}

static void send_calls(size_t n)
{
    for (size_t i = 0; i < n; i++)
        send_packet(
            client_fd,
            (struct nn_packet_header){.serial = ++last_serial, .method = 1, .type = NN_PACKET_CALL},
            INFO_BYTES, -1);
}

static void expect_replies(size_t n)
{
    struct nn_packet packet;

    for (size_t i = 0; i < n; i++) {
        ck_assert(comes(client_fd, &packet));
        ck_assert_uint_eq(packet.header.type, NN_PACKET_REPLY);
        nn_packet_done(&packet);
    }
}

static bool wants_calls(void)
{
    struct pollfd fds[NN_SESSION_N_FDS];

    nn_service_session_poll(session, fds);
    return fds[0].events & POLLIN;
}

/* The worker is held up by a job of another user. */
static sem_t is_held, is_released;

static void hold(struct nn_job *job)
{
    (void)job;
    sem_post(&is_held);
    sem_wait(&is_released);
}

static struct nn_job holder = {.user = 1, .owner = 1, .run = hold, .cancel = hold};

static void hold_worker(void)
{
    sem_init(&is_held, 0, 0);
    sem_init(&is_released, 0, 0);
    ck_assert_int_eq(nn_jobs_submit(context.workers, &holder), 0);
    sem_wait(&is_held);
}

/* -- connections --------------------------------------------------------------------------------- */

TEST(a_connection_too_many_is_refused_and_closed)
{
    struct nn_service_quota_limits limits = roomy;
    struct nn_service_session *second = NULL;
    struct pollfd refused = {.events = POLLIN};

    limits.n_connections_per_user = 1;
    begin(&limits);
    greet(8);
    ck_assert_int_eq(connect_client(&second, &refused.fd), NN_SESSION_E_FULL);
    ck_assert_ptr_null(second);
    expect_sessions(1);
    ck_assert_int_eq(poll(&refused, 1, PATIENCE_MS), 1);
    ck_assert(refused.revents & POLLHUP);
    close(refused.fd);
    send_calls(1);
    ck_assert_int_eq(step(), 0);
    expect_replies(1);
    nn_service_session_end(session);
    end();
}
TEST_END

TEST(who_says_no_hello_is_dropped_in_time)
{
    struct pollfd fds[NN_SESSION_N_FDS] = {0};
    uint64_t now_ns = nn_sys_now_ns(), deadline_ns;

    begin(&roomy);
    ck_assert_int_eq(connect_client(&session, &client_fd), 0);
    deadline_ns = nn_service_session_deadline(session);
    ck_assert_uint_ge(deadline_ns, now_ns + UINT64_C(30000000000));
    ck_assert_int_eq(nn_service_session_step(session, fds, deadline_ns - 1), 0);
    ck_assert_int_eq(nn_service_session_step(session, fds, deadline_ns), NN_SESSION_E_ENDED);
    ck_assert(log_says("it did not say hello"));
    nn_service_session_end(session);
    events_fd = -1;
    end();
}
TEST_END

TEST(who_has_said_hello_has_time)
{
    struct pollfd fds[NN_SESSION_N_FDS] = {0};

    begin(&roomy);
    greet(8);
    ck_assert_uint_eq(nn_service_session_deadline(session), NNHAL_NO_TIME);
    ck_assert_int_eq(nn_service_session_step(session, fds, UINT64_MAX - 1), 0);
    nn_service_session_end(session);
    end();
}
TEST_END

/* -- what is read ------------------------------------------------------------------------------ */

TEST(a_step_reads_some_packets_and_leaves_the_rest)
{
    struct nn_packet packet;

    begin(&roomy);
    greet(64);
    send_calls(READS_PER_STEP + 4);
    ck_assert_int_eq(step(), 0);
    expect_replies(READS_PER_STEP);
    ck_assert_int_eq(nn_packet_recv(client_fd, NN_PACKET_MAX_BYTES, true, &packet),
                     NN_PACKET_E_AGAIN);
    ck_assert_int_eq(step(), 0);
    expect_replies(4);
    nn_service_session_end(session);
    end();
}
TEST_END

/* Until a call is over, of which the loop is told. */
static void expect_pause_after(size_t n_calls)
{
    hold_worker();
    send_calls(n_calls + 1);
    ck_assert_int_eq(step(), 0);
    ck_assert(!wants_calls());
    ck_assert_uint_eq(context.is_paused, 1);
    ck_assert_int_eq(step(), 0);
    sem_post(&is_released);
    expect_replies(n_calls);
    while (!wants_calls())
        ck_assert(is_woken());
    ck_assert_int_eq(step(), 0);
    expect_replies(1);
    nn_service_session_end(session);
    end();
}

TEST(no_more_calls_are_read_than_the_hellos_agree_on)
{
    begin(&roomy);
    greet(3);
    expect_pause_after(3);
}
TEST_END

TEST(no_more_bytes_are_read_than_a_user_may_have_waiting)
{
    struct nn_service_quota_limits limits = roomy;

    limits.n_bytes_per_user = 2 * INFO_BYTES;
    begin(&limits);
    greet(64);
    expect_pause_after(2);
}
TEST_END

/* It is not read from: that its socket hangs up is all that is seen. */
TEST(a_client_that_closes_its_socket_while_it_waits_has_ended)
{
    begin(&roomy);
    greet(1);
    hold_worker();
    send_calls(1);
    ck_assert_int_eq(step(), 0);
    ck_assert(!wants_calls());
    close(client_fd);
    client_fd = -1;
    ck_assert_int_eq(step(), NN_SESSION_E_ENDED);
    nn_service_session_end(session);
    sem_post(&is_released);
    end();
}
TEST_END

TEST(an_ended_client_leaves_the_queue_at_once)
{
    begin(&roomy);
    greet(8);
    hold_worker();
    send_calls(4);
    ck_assert_int_eq(step(), 0);
    nn_service_session_end(session);
    expect_sessions(0); /* though no thread was free for its calls */
    sem_post(&is_released);
    end();
}
TEST_END

/* -- the events socket ---------------------------------------------------------------------- */

static void ping(void)
{
    send_packet(events_fd, (struct nn_packet_header){.type = NN_PACKET_PING}, 0, -1);
}

static void expect_pongs(size_t n)
{
    struct nn_packet packet;

    for (size_t i = 0; i < n; i++) {
        ck_assert(comes(events_fd, &packet));
        ck_assert_uint_eq(packet.header.type, NN_PACKET_PONG);
        nn_packet_done(&packet);
    }
}

TEST(pings_are_answered_while_calls_wait)
{
    begin(&roomy);
    greet(8);
    hold_worker();
    send_calls(1);
    for (int i = 0; i < 3; i++) {
        ping();
        ck_assert_int_eq(step(), 0);
        expect_pongs(1);
    }
    sem_post(&is_released);
    expect_replies(1);
    nn_service_session_end(session);
    end();
}
TEST_END

TEST(a_step_answers_some_pings_and_leaves_the_rest)
{
    struct nn_packet packet;

    begin(&roomy);
    greet(8);
    for (int i = 0; i < READS_PER_STEP + 4; i++)
        ping();
    ck_assert_int_eq(step(), 0);
    expect_pongs(READS_PER_STEP);
    ck_assert_int_eq(nn_packet_recv(events_fd, NN_PACKET_MAX_BYTES, true, &packet),
                     NN_PACKET_E_AGAIN);
    ck_assert_int_eq(step(), 0);
    expect_pongs(4);
    nn_service_session_end(session);
    end();
}
TEST_END

TEST(nothing_but_pings_comes_on_the_events_socket)
{
    static const struct {
        uint16_t type;
        size_t n_body_bytes;
        int passed;
    } cases[] = {
        {NN_PACKET_PING, 4, -1}, {NN_PACKET_PING, 0, STDIN_FILENO}, {NN_PACKET_PONG, 0, -1},
        {NN_PACKET_CALL, 0, -1}, {NN_PACKET_CALL, INFO_BYTES, -1},
    };

    begin(&roomy);
    for (size_t i = 0; i < NN_N_ELEMENTS(cases); i++) {
        ck_assert_int_eq(ftruncate(log_fd, 0), 0);
        ck_assert_int_eq((int)lseek(log_fd, 0, SEEK_SET), 0);
        greet(8);
        send_packet(events_fd, (struct nn_packet_header){.type = cases[i].type},
                    cases[i].n_body_bytes, cases[i].passed);
        ck_assert_int_eq(step(), NN_SESSION_E_ENDED);
        ck_assert(log_says("it sent something on its events socket"));
        nn_service_session_end(session);
        close(client_fd);
        close(events_fd);
        expect_sessions(0);
    }
    client_fd = events_fd = -1;
    end();
}
TEST_END

/* More than the socket and the queue behind it hold. */
TEST(who_does_not_read_pongs_is_dropped)
{
    size_t n = 0;

    begin(&roomy);
    greet(8);
    do {
        ping();
        ck_assert_uint_lt(++n, 100000);
    } while (step() == 0);
    ck_assert(log_says("it does not read its events"));
    nn_service_session_end(session);
    end();
}
TEST_END

CHECK_MAIN("service-session", a_connection_too_many_is_refused_and_closed,
           who_says_no_hello_is_dropped_in_time, who_has_said_hello_has_time,
           a_step_reads_some_packets_and_leaves_the_rest,
           no_more_calls_are_read_than_the_hellos_agree_on,
           no_more_bytes_are_read_than_a_user_may_have_waiting,
           a_client_that_closes_its_socket_while_it_waits_has_ended,
           an_ended_client_leaves_the_queue_at_once, pings_are_answered_while_calls_wait,
           a_step_answers_some_pings_and_leaves_the_rest,
           nothing_but_pings_comes_on_the_events_socket, who_does_not_read_pongs_is_dropped)
