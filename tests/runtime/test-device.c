/* SPDX-License-Identifier: Apache-2.0 */
/* A device whose process is started, answers, and dies before it is used: a service on a thread of
 * the test, whose connections are cut at that moment. */
#include "runtime/device.h"

#include "base/sys.h"
#include "base/wait-limit.h"
#include "host/session.h"
#include "ipc/sock.h"
#include "runtime/session.h"
#include "service/service.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <android/NeuralNetworks.h>

#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_ATTEMPTS = 20, /* then no more is cut: a loop without end would not end the test */
    NAP_MS = 50,
};

static char folder[64], path[100];
static int listen_fd;
static struct nn_host *host;
static struct nn_service *service; /* of the connection that there is; NULL: none */
static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t n_connections; /* atomic */
static sem_t is_connected, may_serve, has_ended;
static ANeuralNetworksDevice *device;

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = NAP_MS * 1000000L}, NULL);
}

static void set_service(struct nn_service *value)
{
    pthread_mutex_lock(&service_lock);
    service = value;
    pthread_mutex_unlock(&service_lock);
}

/* It may have ended already, if its client has left. */
static void cut(void)
{
    pthread_mutex_lock(&service_lock);
    if (service)
        nn_service_stop(service);
    pthread_mutex_unlock(&service_lock);
    sem_wait(&has_ended);
}

static void serve_one(int fd)
{
    struct nn_arrival arrival;
    struct nn_service *own;

    ck_assert_int_eq(nn_service_new(host, &own), 0);
    ck_assert_int_eq(nn_arrival_init(&arrival, fd), 0);
    ck_assert_int_eq(nn_service_add(own, &arrival), 0);
    set_service(own);
    sem_post(&is_connected);
    sem_wait(&may_serve);
    ck_assert_int_eq(nn_service_run(own), 0);
    set_service(NULL);
    nn_service_free(own);
    sem_post(&has_ended);
}

/* Until the listening socket is shut down. */
static void *server_main(void *argument)
{
    struct pollfd socket = {.fd = listen_fd, .events = POLLIN};
    int fd = -1;

    while (poll(&socket, 1, -1) == 1 && nn_sock_accept(listen_fd, &fd) == 0) {
        __atomic_add_fetch(&n_connections, 1, __ATOMIC_SEQ_CST);
        serve_one(fd);
    }
    return argument;
}

/* Each attempt: it is answered, and cut while the caller cannot go on. */
static void *cutter_main(void *argument)
{
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        sem_wait(&is_connected);
        pthread_mutex_lock(&device->lock);
        sem_post(&may_serve);
        nap(); /* the caller has its answer, and wants the lock */
        cut();
        nap(); /* the end is known */
        pthread_mutex_unlock(&device->lock);
    }
    for (;;) {
        sem_wait(&is_connected);
        sem_post(&may_serve);
    }
    return argument;
}

static void begin_serving(void)
{
    pthread_t thread;

    setenv("NNHAL_RECOVERY", "off", 1);
    fake_reset();
    sem_init(&is_connected, 0, 0);
    sem_init(&may_serve, 0, 1);
    sem_init(&has_ended, 0, 0);
    snprintf(folder, sizeof(folder), "/tmp/nnhal-device-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/fake.sock", folder);
    ck_assert_int_eq(nn_sock_listen(path, 0600, &listen_fd), 0);
    ck_assert_int_eq(nn_host_open_builtin(fake_main, NULL, NULL, &host), 0);
    pthread_create(&thread, NULL, server_main, NULL);
}

/* There is a device, and its process has died. */
static void begin(void)
{
    struct nn_why why = {0};
    pthread_t thread;

    begin_serving();
    ck_assert_int_eq(nn_rt_device_open(NNHAL_WAY_SERVICE, "fake", path, NULL, &why, &device), 0);
    sem_wait(&is_connected);
    cut();
    while (nn_rt_session_is_alive(device->session))
        nap();
    pthread_create(&thread, NULL, cutter_main, NULL);
}

/* The threads end with the process, as each test has one of its own. */
static void end(void)
{
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

TEST(without_recovery_one_attempt_is_made_though_it_dies_at_once)
{
    struct nn_rt_session *session = NULL;
    struct nn_why why = {0};
    int r;

    begin();
    r = nn_rt_device_get_session(device, &why, &session);
    /* Where this machine is so slow that the end is not known yet there is a session. */
    ck_assert(r == ANEURALNETWORKS_DEAD_OBJECT || (r == 0 && session));
    ck_assert_msg(r == 0 || strstr(why.text, "died as soon as"), "%s", why.text);
    ck_assert_uint_eq(__atomic_load_n(&n_connections, __ATOMIC_SEQ_CST), 2);
    end();
}
TEST_END

TEST(who_waits_for_it_waits_until_the_limit)
{
    struct nn_why why = {0};
    uint64_t limit_ns;
    int r;

    begin();
    limit_ns = nn_wait_limit_narrow(nn_sys_now_ns() + 6 * NAP_MS * UINT64_C(1000000));
    r = nn_rt_device_wait(device, &why);
    nn_wait_limit_restore(limit_ns);
    ck_assert(r == ANEURALNETWORKS_DEAD_OBJECT || r == 0);
    ck_assert_uint_lt(__atomic_load_n(&n_connections, __ATOMIC_SEQ_CST), 1 + MAX_ATTEMPTS);
    end();
}
TEST_END

/* How opening a device ends whose service says this of itself. */
static int open_with(const char *name, const char *version, struct nn_why *why)
{
    int r;

    host->driver.name = name;
    host->driver.version = version;
    sem_post(&may_serve);
    device = NULL;
    r = nn_rt_device_open(NNHAL_WAY_SERVICE, "fake", path, NULL, why, &device);
    nn_rt_device_free(device);
    sem_wait(&has_ended);
    return r;
}

TEST(a_service_that_lies_about_what_it_is_called_is_no_device)
{
    enum { N_NAMES = 7, N_VERSIONS = 4 };
    static const char *const names[N_NAMES] = {"$(id)",    "a b", "A",   ".hidden",
                                               "a\033[2J", "a\n", "\xff"};
    static const char *const versions[N_VERSIONS] = {"1\033]0;title\a", "1\n2", "\xc2\x9b", ""};
    struct nn_why why = {0};

    begin_serving();
    ck_assert_int_eq(open_with("a-name_1.2", "v1.0 (of 2026)", &why), 0);
    for (size_t i = 0; i < N_NAMES; i++) {
        ck_assert_int_eq(open_with(names[i], "1", &why), -EPROTO);
        ck_assert_msg(strstr(why.text, "its name is not of [a-z0-9_.-]"), "%s", why.text);
    }
    for (size_t i = 0; i < N_VERSIONS; i++) {
        ck_assert_int_eq(open_with("fake", versions[i], &why), -EPROTO);
        ck_assert_msg(strstr(why.text, "its version is not of printable ASCII"), "%s", why.text);
    }
    end();
}
TEST_END

CHECK_MAIN("device", a_service_that_lies_about_what_it_is_called_is_no_device,
           without_recovery_one_attempt_is_made_though_it_dies_at_once,
           who_waits_for_it_waits_until_the_limit)
