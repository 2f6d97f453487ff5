/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/conn.h"

#include "base/sys.h"
#include "base/wait-limit.h"
#include "ipc/sock.h"

#include "support/check-main.h"
#include "support/fds.h"
#include "support/lateness.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
    METHOD_ECHO = 1,       /* answered with its body, and its descriptors */
    METHOD_HOLD = 2,       /* answered when METHOD_RELEASE comes, in reverse order */
    METHOD_RELEASE = 3,    /* answered before those that are held */
    METHOD_EVENT = 4,      /* an event with the body, then the reply */
    METHOD_DIE = 5,        /* both sockets are closed */
    METHOD_BAD_SERIAL = 6, /* a reply to no call */
    METHOD_BAD_TYPE = 7,   /* a hello instead of a reply */
    METHOD_BAD_BYTES = 8,  /* a packet that is cut */
    METHOD_BAD_EVENT = 9,  /* a reply on the events socket */
    METHOD_NEVER = 10,     /* not answered */
};

#define HELLO_NS UINT64_C(60000000000)

/* A service that does what the methods above say, on a thread or in a child. */
struct fake {
    int fd, events_fd;
    uint64_t held[128];
    size_t n_held;
};

static bool send_packet(int fd, enum nn_packet_type type, uint64_t serial, uint32_t method,
                        const struct nn_packet *packet)
{
    struct nn_packet_header header = {
        .type = (uint16_t)type, .serial = serial, .method = method, .status = 77};
    struct nn_packet_out out = {0};

    if (packet) {
        out = (struct nn_packet_out){.body = packet->body,
                                     .n_body_bytes = (size_t)packet->header.n_body_bytes,
                                     .fds = packet->fds,
                                     .n_fds = packet->header.n_fds};
    }
    return nn_packet_send(fd, header, &out, false) == 0;
}

static bool release(struct fake *fake, uint64_t serial)
{
    bool is_good = send_packet(fake->fd, NN_PACKET_REPLY, serial, 0, NULL);

    while (fake->n_held > 0)
        is_good &= send_packet(fake->fd, NN_PACKET_REPLY, fake->held[--fake->n_held], 0, NULL);
    return is_good;
}

/* Returns whether the service goes on. */
static bool serve_one(struct fake *fake, const struct nn_packet *packet)
{
    uint64_t serial = packet->header.serial;

    switch (packet->header.method) {
    case METHOD_ECHO:
        return send_packet(fake->fd, NN_PACKET_REPLY, serial, 0, packet);
    case METHOD_HOLD:
        fake->held[fake->n_held] = serial;
        __atomic_store_n(&fake->n_held, fake->n_held + 1, __ATOMIC_RELAXED);
        return true;
    case METHOD_RELEASE:
        return release(fake, serial);
    case METHOD_EVENT:
        return send_packet(fake->events_fd, NN_PACKET_EVENT, 0, 55, packet) &&
               send_packet(fake->fd, NN_PACKET_REPLY, serial, 0, NULL);
    case METHOD_BAD_SERIAL:
        return send_packet(fake->fd, NN_PACKET_REPLY, serial + 1000, 0, NULL);
    case METHOD_BAD_TYPE:
        return send_packet(fake->fd, NN_PACKET_HELLO, serial, 0, NULL);
    case METHOD_BAD_BYTES:
        return send(fake->fd, "12345", 5, MSG_NOSIGNAL) > 0;
    case METHOD_BAD_EVENT:
        return send_packet(fake->events_fd, NN_PACKET_REPLY, serial, 0, NULL);
    default:
        return packet->header.method == METHOD_NEVER;
    }
}

static void *fake_main(void *argument)
{
    struct fake *fake = argument;
    struct nn_hello hello, theirs;
    struct nn_packet packet;
    bool goes_on;

    nn_hello_init(&hello, 30);
    hello.max_calls = 8;
    if (nn_packet_recv(fake->fd, 65536, false, &packet) == 0 &&
        nn_hello_check(&packet, 1, &theirs) == 0) {
        fake->events_fd = steal_fd(&packet.fds[0]);
        nn_packet_done(&packet);
        goes_on = nn_hello_send(fake->fd, &hello, -1) == 0;
        while (goes_on && nn_packet_recv(fake->fd, (size_t)1 << 24, false, &packet) == 0) {
            goes_on = serve_one(fake, &packet);
            nn_packet_done(&packet);
        }
    }
    closep(&fake->events_fd);
    closep(&fake->fd);
    return NULL;
}

/* What the listener saw. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n_events, n_died;
    char text[64];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int on_event(void *ctx, uint16_t minor, struct nn_packet *packet)
{
    pthread_mutex_lock(&seen.lock);
    seen.n_events++;
    if (packet->header.n_body_bytes < sizeof(seen.text))
        memcpy(seen.text, packet->body, (size_t)packet->header.n_body_bytes);
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
    return strcmp(seen.text, "refuse") == 0 ? NN_PACKET_E_VIOLATION : 0;
}

static void on_died(void *ctx)
{
    pthread_mutex_lock(&seen.lock);
    seen.n_died++;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static const struct nn_conn_listener listener = {.event = on_event, .died = on_died};

static void wait_for(const size_t *count, size_t n)
{
    pthread_mutex_lock(&seen.lock);
    while (__atomic_load_n(count, __ATOMIC_RELAXED) < n)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

/* A connection to a fake on a thread, and what the process held before. */
struct setup {
    size_t n_fds;
    struct fake fake;
    struct nn_conn *conn;
    pthread_t thread;
};

static void start(struct setup *setup)
{
    struct nn_hello hello;
    int fds[2];

    setup->n_fds = count_fds();
    ck_assert_int_eq(nn_sock_pair(fds), 0);
    setup->fake = (struct fake){.fd = fds[1], .events_fd = -1};
    pthread_create(&setup->thread, NULL, fake_main, &setup->fake);
    nn_hello_init(&hello, 1000008);
    ck_assert_int_eq(nn_conn_open(fds[0], -1, &hello, HELLO_NS, &listener, &setup->conn), 0);
}

static void stop(struct setup *setup)
{
    setup->conn = nn_conn_close(setup->conn);
    pthread_join(setup->thread, NULL);
    ck_assert_uint_eq(count_fds(), setup->n_fds);
}

static int call(struct nn_conn *conn, uint32_t method, const char *text)
{
    struct nn_packet_out out = {.body = text, .n_body_bytes = strlen(text)};
    struct nn_packet reply;
    int r = nn_conn_call(conn, method, &out, &reply);

    if (r == 0) {
        ck_assert_uint_eq(reply.header.status, 77);
        if (method == METHOD_ECHO)
            ck_assert_int_eq(memcmp(reply.body, text, strlen(text)), 0);
        nn_packet_done(&reply);
    }
    return r;
}

TEST(calls_are_answered_and_both_speak_the_lower)
{
    struct setup setup;

    start(&setup);
    ck_assert_int_eq(nn_conn_hello(setup.conn)->feature_level, 30);
    ck_assert_uint_eq(nn_conn_hello(setup.conn)->max_calls, 8);
    ck_assert_int_eq(nn_conn_hello(setup.conn)->pid, getpid());
    for (size_t i = 0; i < 100; i++)
        ck_assert_int_eq(call(setup.conn, METHOD_ECHO, "hello"), 0);
    ck_assert_int_eq(call(setup.conn, METHOD_EVENT, "an event"), 0);
    wait_for(&seen.n_events, 1);
    ck_assert_str_eq(seen.text, "an event");
    ck_assert(!nn_conn_is_dead(setup.conn));
    stop(&setup);
    ck_assert_uint_eq(seen.n_died, 0);
}
TEST_END

TEST(big_messages_and_descriptors_go_both_ways)
{
    _cleanup_(freep) char *body = calloc(1, 1 << 20);
    struct setup setup;
    struct nn_packet reply;
    struct nn_packet_out out = {.body = body, .n_body_bytes = 1 << 20, .n_fds = 2};
    int fds[2] = {0, 1};

    out.fds = fds;
    body[777777] = 5;
    start(&setup);
    ck_assert_int_eq(nn_conn_call(setup.conn, METHOD_ECHO, &out, &reply), 0);
    ck_assert_uint_eq(reply.header.n_fds, 2);
    ck_assert_int_eq(memcmp(reply.body, body, 1 << 20), 0);
    nn_packet_done(&reply);
    fds[1] = 9999;
    ck_assert_int_eq(nn_conn_call(setup.conn, METHOD_ECHO, &out, &reply), -EBADF);
    out.n_fds = 0;
    out.n_body_bytes = NN_PACKET_MAX_BODY_BYTES + 1;
    ck_assert_int_eq(nn_conn_call(setup.conn, METHOD_ECHO, &out, &reply), NN_CONN_E_TOO_BIG);
    ck_assert_int_eq(call(setup.conn, METHOD_ECHO, "still here"), 0);
    stop(&setup);
}
TEST_END

struct caller {
    pthread_t thread;
    struct nn_conn *conn;
    uint32_t method;
    size_t n_calls;
    int result;
};

static void *caller_main(void *argument)
{
    struct caller *caller = argument;

    for (size_t i = 0; i < caller->n_calls && caller->result == 0; i++)
        caller->result = call(caller->conn, caller->method, "x");
    return NULL;
}

static void start_callers(struct caller *callers, size_t n, struct nn_conn *conn, uint32_t method,
                          size_t n_calls)
{
    for (size_t i = 0; i < n; i++) {
        callers[i] = (struct caller){.conn = conn, .method = method, .n_calls = n_calls};
        pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]);
    }
}

static void join_callers(struct caller *callers, size_t n, int wanted)
{
    for (size_t i = 0; i < n; i++) {
        pthread_join(callers[i].thread, NULL);
        ck_assert_int_eq(callers[i].result, wanted);
    }
}

TEST(many_threads_call_at_once)
{
    struct caller callers[20];
    struct setup setup;

    start(&setup);
    start_callers(callers, 20, setup.conn, METHOD_ECHO, 200);
    join_callers(callers, 20, 0);
    stop(&setup);
}
TEST_END

static void wait_held(struct setup *setup, size_t n)
{
    while (__atomic_load_n(&setup->fake.n_held, __ATOMIC_RELAXED) < n)
        sched_yield();
}

TEST(replies_in_another_order_find_their_callers)
{
    struct caller callers[7];
    struct setup setup;

    start(&setup);
    for (size_t round = 0; round < 20; round++) {
        start_callers(callers, 7, setup.conn, METHOD_HOLD, 1);
        wait_held(&setup, 7);
        ck_assert_int_eq(call(setup.conn, METHOD_RELEASE, ""), 0);
        join_callers(callers, 7, 0);
    }
    stop(&setup);
}
TEST_END

TEST(death_ends_every_call_and_is_told_once)
{
    static const uint32_t ways[] = {METHOD_DIE, METHOD_BAD_SERIAL, METHOD_BAD_TYPE,
                                    METHOD_BAD_BYTES, METHOD_BAD_EVENT};

    for (size_t i = 0; i < NN_N_ELEMENTS(ways); i++) {
        struct caller callers[12];
        struct setup setup;

        seen.n_died = 0;
        start(&setup);
        /* Eight are in flight, of which one kills; four wait for room. */
        start_callers(callers, 7, setup.conn, METHOD_NEVER, 1);
        start_callers(callers + 7, 5, setup.conn, ways[i], 1);
        join_callers(callers, 12, NN_CONN_E_DEAD);
        ck_assert(nn_conn_is_dead(setup.conn));
        ck_assert_int_eq(call(setup.conn, METHOD_ECHO, "late"), NN_CONN_E_DEAD);
        wait_for(&seen.n_died, 1);
        stop(&setup);
        ck_assert_uint_eq(seen.n_died, 1);
    }
}
TEST_END

TEST(an_event_that_cannot_be_understood_kills)
{
    struct setup setup;

    start(&setup);
    call(setup.conn, METHOD_EVENT, "refuse");
    wait_for(&seen.n_died, 1);
    ck_assert(nn_conn_is_dead(setup.conn));
    stop(&setup);
}
TEST_END

TEST(closing_ends_the_calls_of_others)
{
    struct caller callers[12];
    struct setup setup;

    start(&setup);
    start_callers(callers, 12, setup.conn, METHOD_HOLD, 1);
    wait_held(&setup, 8);
    nn_conn_kill(setup.conn);
    join_callers(callers, 12, NN_CONN_E_DEAD);
    stop(&setup);
}
TEST_END

static int open_to(int fd, int pidfd, uint64_t timeout_ns)
{
    struct nn_conn *conn = NULL;
    struct nn_hello hello;

    nn_hello_init(&hello, 1000008);
    return nn_conn_open(fd, pidfd, &hello, timeout_ns, &listener, &conn);
}

TEST(a_peer_without_a_hello_is_refused)
{
    static const size_t sizes[] = {0, 10, sizeof(struct nn_hello) - 1, sizeof(struct nn_hello)};
    size_t n_fds = count_fds();
    struct nn_hello hello;
    int fds[2];

    ck_assert_int_eq(nn_sock_pair(fds), 0);
    ck_assert_int_eq(open_to(fds[0], -1, 1000000), NN_CONN_E_REFUSED); /* silence */
    close(fds[1]);
    ck_assert_int_eq(nn_sock_pair(fds), 0);
    close(fds[1]);
    ck_assert_int_eq(open_to(fds[0], -1, HELLO_NS), NN_CONN_E_REFUSED); /* gone */
    for (size_t i = 0; i < 6; i++) {
        struct nn_packet_header header = {.type = NN_PACKET_HELLO};
        struct nn_packet_out out = {.body = &hello, .n_body_bytes = sizes[i < 4 ? i : 3]};

        nn_hello_init(&hello, 30);
        hello.magic += i == 3;
        hello.major += i == 4;
        hello.max_calls = i == 5 ? 0 : 5;
        ck_assert_int_eq(nn_sock_pair(fds), 0);
        ck_assert_int_eq(nn_packet_send(fds[1], header, &out, true), 0);
        ck_assert_int_eq(open_to(fds[0], -1, HELLO_NS), NN_CONN_E_REFUSED);
        close(fds[1]);
    }
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(a_later_minor_may_say_more)
{
    struct {
        struct nn_hello hello;
        char more[40];
    } later = {.more = "more"};
    struct nn_packet_header header = {.type = NN_PACKET_HELLO};
    struct nn_packet_out out = {.body = &later, .n_body_bytes = sizeof(later)};
    struct nn_conn *conn = NULL;
    struct nn_hello hello;
    int fds[2];

    nn_hello_init(&later.hello, 30);
    later.hello.minor = 9;
    ck_assert_int_eq(nn_sock_pair(fds), 0);
    ck_assert_int_eq(nn_packet_send(fds[1], header, &out, true), 0);
    nn_hello_init(&hello, 30);
    ck_assert_int_eq(nn_conn_open(fds[0], -1, &hello, HELLO_NS, NULL, &conn), 0);
    ck_assert_uint_eq(nn_conn_hello(conn)->minor, NN_HELLO_MINOR);
    nn_conn_close(conn);
    close(fds[1]);
}
TEST_END

static size_t n_brief, n_late;

/* A call within 100 ms, and how it ended: 50 ms later at most. */
static int call_briefly(struct nn_conn *conn, uint32_t method)
{
    uint64_t begin_ns = nn_sys_now_ns();
    uint64_t limit_ns = nn_wait_limit_narrow(begin_ns + 100000000);
    int r = call(conn, method, "brief");
    uint64_t took_ns;

    nn_wait_limit_restore(limit_ns);
    took_ns = nn_sys_now_ns() - begin_ns;
    ck_assert_uint_lt(took_ns, UINT64_C(2000000000));
    n_brief++;
    n_late += took_ns > 150000000 + late_ns();
    return r;
}

TEST(a_call_is_left_after_its_limit_and_its_reply_is_dropped)
{
    struct setup setup;

    start(&setup);
    /* One place of eight stays for the call that releases. */
    for (size_t i = 0; i < 7; i++)
        ck_assert_int_eq(call_briefly(setup.conn, METHOD_HOLD), NN_CONN_E_LATE);
    ck_assert_int_eq(call(setup.conn, METHOD_RELEASE, ""), 0);
    for (size_t i = 0; i < 20; i++)
        ck_assert_int_eq(call(setup.conn, METHOD_ECHO, "after"), 0);
    /* Without room nothing is sent. */
    for (size_t i = 0; i < 9; i++)
        ck_assert_int_eq(call_briefly(setup.conn, METHOD_NEVER), NN_CONN_E_LATE);
    ck_assert(!nn_conn_is_dead(setup.conn));
    ck_assert_uint_lt(2 * n_late, n_brief); /* of a busy machine some are */
    stop(&setup);
}
TEST_END

static void *answer_pings(void *argument)
{
    const int *events_fd = argument;
    struct nn_packet packet;

    while (nn_packet_recv(*events_fd, 65536, false, &packet) == 0) {
        bool is_good = packet.header.type == NN_PACKET_PING &&
                       send_packet(*events_fd, NN_PACKET_PONG, 0, 0, NULL);

        nn_packet_done(&packet);
        if (!is_good)
            break;
    }
    return NULL;
}

/* Two services do not answer a call; one of them answers pings. */
TEST(silence_is_the_end_and_pongs_are_not)
{
    struct caller silent, answered;
    struct setup mute = {0}, busy = {0};
    pthread_t ponger;
    int events_fd;

    start(&mute);
    start(&busy);
    events_fd = dup(busy.fake.events_fd);
    pthread_create(&ponger, NULL, answer_pings, &events_fd);
    start_callers(&answered, 1, busy.conn, METHOD_HOLD, 1);
    start_callers(&silent, 1, mute.conn, METHOD_NEVER, 1);
    join_callers(&silent, 1, NN_CONN_E_DEAD);
    ck_assert(nn_conn_is_silent(mute.conn));
    wait_held(&busy, 1);
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    ck_assert_int_eq(call(busy.conn, METHOD_RELEASE, ""), 0);
    join_callers(&answered, 1, 0);
    ck_assert(!nn_conn_is_dead(busy.conn));
    busy.conn = nn_conn_close(busy.conn);
    pthread_join(ponger, NULL);
    close(events_fd);
    pthread_join(busy.thread, NULL);
    mute.conn = nn_conn_close(mute.conn);
    pthread_join(mute.thread, NULL);
}
TEST_END

/* A service in a process of its own: greets, leaves a forked child that keeps
 * the sockets open, tells its number, and waits to be killed. */
__attribute__((__noreturn__)) static void be_service_with_heir(int fd, int number_fd)
{
    struct nn_hello hello;
    struct nn_packet packet;
    pid_t heir;

    nn_hello_init(&hello, 30);
    if (nn_packet_recv(fd, 65536, false, &packet) != 0)
        _exit(1);
    heir = fork();
    if (heir != 0 && (write(number_fd, &heir, sizeof(heir)) != sizeof(heir) ||
                      nn_hello_send(fd, &hello, -1) != 0))
        _exit(1);
    for (;;)
        pause();
}

TEST(a_dead_service_is_seen_though_its_child_keeps_the_sockets)
{
    struct nn_conn *conn = NULL;
    struct nn_hello hello;
    struct caller callers[3];
    int fds[2], numbers[2], pidfd;
    pid_t pid, heir;

    ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* for the heir */
    ck_assert_int_eq(nn_sock_pair(fds), 0);
    ck_assert_int_eq(pipe(numbers), 0);
    pid = fork();
    if (pid == 0)
        be_service_with_heir(fds[1], numbers[1]);
    close(fds[1]);
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ck_assert_int_ge(pidfd, 0);
    nn_hello_init(&hello, 30);
    ck_assert_int_eq(nn_conn_open(fds[0], pidfd, &hello, HELLO_NS, &listener, &conn), 0);
    ck_assert_int_eq(read(numbers[0], &heir, sizeof(heir)), sizeof(heir));
    start_callers(callers, 3, conn, METHOD_NEVER, 1);
    kill(pid, SIGKILL);
    join_callers(callers, 3, NN_CONN_E_DEAD);
    wait_for(&seen.n_died, 1);
    nn_conn_close(conn);
    ck_assert_int_eq(waitpid(pid, NULL, 0), -1); /* the connection has reaped it */
    kill(heir, SIGKILL);
    ck_assert_int_eq(waitpid(heir, NULL, 0), heir);
}
TEST_END

static bool has_no_eventfds;

/* Of this program, in front of the C library's. */
int eventfd(unsigned initial, int flags)
{
    if (has_no_eventfds) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_eventfd2, initial, flags);
}

TEST(a_process_that_has_said_hello_ends_with_an_opening_that_fails)
{
    size_t n_fds = count_fds();
    int fds[2], pidfd, status;
    pid_t pid;

    ck_assert_int_eq(nn_sock_pair(fds), 0);
    pid = fork();
    if (pid == 0) {
        struct fake fake = {.fd = fds[1], .events_fd = -1};

        fake_main(&fake);
        for (;;)
            pause();
    }
    close(fds[1]);
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    ck_assert_int_ge(pidfd, 0);
    has_no_eventfds = true;
    ck_assert_int_eq(open_to(fds[0], pidfd, HELLO_NS), -EMFILE);
    has_no_eventfds = false;
    if (waitpid(pid, &status, 0) == pid) /* else the connection has reaped it */
        ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    ck_assert_int_lt(kill(pid, 0), 0);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(after_fork_the_connection_is_dead_in_the_child_and_lives_in_the_parent)
{
    struct setup setup;
    int status;
    pid_t pid;

#ifdef __SANITIZE_ADDRESS__
    return; /* its allocator's lock may be taken by the other thread for ever */
#endif
    start(&setup);
    pid = fork();
    if (pid == 0) {
        bool good = nn_conn_is_dead(setup.conn) &&
                    call(setup.conn, METHOD_ECHO, "x") == NN_CONN_E_DEAD;

        nn_conn_kill(setup.conn);
        nn_conn_close(setup.conn);
        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(call(setup.conn, METHOD_ECHO, "alive"), 0);
    stop(&setup);
}
TEST_END

/* The fake's thread makes system calls too: whichever side fails, both end. */
TEST(whichever_call_fails_nothing_is_left)
{
    bool is_done = false;

    for (long n = 1; !is_done; n++) {
        struct fake fake = {.events_fd = -1};
        size_t n_fds = count_fds();
        struct nn_conn *conn = NULL;
        struct nn_hello hello;
        pthread_t thread;
        int fds[2], r;

        ck_assert_int_eq(nn_sock_pair(fds), 0);
        fake.fd = fds[1];
        nn_sys_fault_errno = EMFILE;
        __atomic_store_n(&nn_sys_fault, n, __ATOMIC_RELAXED);
        pthread_create(&thread, NULL, fake_main, &fake);
        nn_hello_init(&hello, 30);
        r = nn_conn_open(fds[0], -1, &hello, HELLO_NS, &listener, &conn);
        for (size_t i = 0; r == 0 && i < 3; i++)
            r = call(conn, METHOD_ECHO, "x");
        is_done = r == 0 && __atomic_exchange_n(&nn_sys_fault, 0, __ATOMIC_RELAXED) > 0;
        nn_conn_close(conn);
        pthread_join(thread, NULL);
        ck_assert_uint_eq(count_fds(), n_fds);
        ck_assert_int_lt(n, 1000);
    }
}
TEST_END

CHECK_MAIN("conn", calls_are_answered_and_both_speak_the_lower,
           big_messages_and_descriptors_go_both_ways, many_threads_call_at_once,
           replies_in_another_order_find_their_callers, death_ends_every_call_and_is_told_once,
           an_event_that_cannot_be_understood_kills, closing_ends_the_calls_of_others,
           a_peer_without_a_hello_is_refused, a_later_minor_may_say_more,
           a_dead_service_is_seen_though_its_child_keeps_the_sockets,
           a_call_is_left_after_its_limit_and_its_reply_is_dropped,
           silence_is_the_end_and_pongs_are_not,
           a_process_that_has_said_hello_ends_with_an_opening_that_fails,
           after_fork_the_connection_is_dead_in_the_child_and_lives_in_the_parent,
           whichever_call_fails_nothing_is_left)
