/* SPDX-License-Identifier: Apache-2.0 */
#include "service/stand.h"

#include "base/sys.h"
#include "hal/dial.h"
#include "ipc/hello.h"
#include "ipc/sock.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

static void *service_main(void *argument)
{
    struct stand *stand = argument;

    ck_assert_int_eq(nn_service_run(stand->service), 0);
    return NULL;
}

void stand_place(struct stand *stand)
{
    snprintf(stand->folder, sizeof(stand->folder), "/tmp/nnhal-test-service-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(stand->folder));
    snprintf(stand->path, sizeof(stand->path), "%s/fake.sock", stand->folder);
}

void stand_open(struct stand *stand)
{
    stand_open_with(stand, fake_main);
}

void stand_open_with(struct stand *stand, const struct nnhal_driver *(*driver)(const char *))
{
    int fd = -1;

    fake_reset();
    if (stand->folder[0] == '\0')
        stand_place(stand);
    ck_assert_int_eq(nn_host_open_builtin(driver, NULL, NULL, &stand->host), 0);
    ck_assert_int_eq(nn_service_new(stand->host, &stand->service), 0);
    ck_assert_int_eq(nn_sock_listen(stand->path, 0600, &fd), 0);
    ck_assert_int_eq(nn_service_listen(stand->service, fd), 0);
    stand->n_fds = count_fds();
    pthread_create(&stand->thread, NULL, service_main, stand);
}

void stand_close(struct stand *stand)
{
    nn_service_stop(stand->service);
    pthread_join(stand->thread, NULL);
    nn_service_free(stand->service);
    nn_host_unref(stand->host);
    unlink(stand->path);
    ck_assert_int_eq(rmdir(stand->folder), 0);
    ck_assert_uint_eq(fake.n_opened, fake.n_closed);
    ck_assert_uint_eq(fake.n_prepared, fake.n_released);
    ck_assert_uint_eq(fake.n_executing, 0);
}

struct nn_hal *stand_dial(struct stand *stand)
{
    struct nn_hal *hal = NULL;

    ck_assert_int_eq(nn_dial_socket(stand->path, NULL, &hal), 0);
    return hal;
}

void stand_desk(struct stand *stand, struct desk *desk)
{
    memset(desk, 0, sizeof(*desk));
    desk->hal = stand_dial(stand);
    nn_arena_init(&desk->arena, 0);
}

void stand_desk_close(struct desk *desk)
{
    nn_hal_close(desk->hal);
    nn_arena_done(&desk->arena);
    for (uint32_t i = 0; i < desk->n_memories; i++)
        munmap(desk->memories[i].bytes, desk->memories[i].size);
}

void stand_connect(struct stand *stand, struct raw_client *client)
{
    struct nn_packet packet;
    struct nn_hello hello;
    int pair[2];

    ck_assert_int_eq(nn_sock_connect(stand->path, &client->fd), 0);
    ck_assert_int_eq(nn_sock_pair(pair), 0);
    client->events_fd = pair[0];
    nn_hello_init(&hello, NNHAL_FEATURE_LEVEL_8);
    ck_assert_int_eq(nn_hello_send(client->fd, &hello, pair[1]), 0);
    close(pair[1]);
    ck_assert_int_eq(nn_packet_recv(client->fd, NN_PACKET_MAX_BYTES, false, &packet), 0);
    ck_assert_int_eq(nn_hello_check(&packet, 0, &hello), 0);
    nn_packet_done(&packet);
}

void raw_close(struct raw_client *client)
{
    close(client->fd);
    close(client->events_fd);
}

bool raw_send(int fd, const void *bytes, size_t n_bytes, int passed, size_t n_fds)
{
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int) * 253)];
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = n_bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct cmsghdr *cmsg;
    ssize_t n;

    if (n_fds > 0) {
        memset(room, 0, sizeof(room));
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        cmsg = CMSG_FIRSTHDR(&message);
        cmsg->cmsg_level = SOL_SOCKET;
        cmsg->cmsg_type = SCM_RIGHTS;
        cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        for (size_t i = 0; i < n_fds; i++)
            memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &passed, sizeof(int));
    }
    n = nn_sys_sendmsg(fd, &message, 0);
    ck_assert(n >= 0 || n == -EPIPE || n == -ECONNRESET);
    return n >= 0;
}

static void expect_end_of(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    char byte;

    do
        ck_assert_int_eq(poll(&poll_fd, 1, 60000), 1);
    while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0);
}

void raw_expect_end(struct raw_client *client)
{
    expect_end_of(client->fd);
    expect_end_of(client->events_fd);
}

void stand_expect_no_clients(struct stand *stand)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    time_t end = time(NULL) + 60;
    size_t n_fds;

    /* One count is judged: a client that gave up may be accepted, and dropped, after it. */
    while ((n_fds = count_fds()) > stand->n_fds && time(NULL) < end)
        nanosleep(&pause, NULL);
    ck_assert_uint_eq(n_fds, stand->n_fds);
}
