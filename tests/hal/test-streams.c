/* SPDX-License-Identifier: Apache-2.0 */
/* Every recorded session, against what serves the HAL today: the stub and the
 * host in this process, and a service on a socket. */
#include "codec/codec.h"
#include "hal/stream.h"

#include "host/host.h"
#include "ipc/conn.h"
#include "ipc/sock.h"
#include "service/service.h"
#include "support/check-main.h"
#include "support/fds.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define HELLO_NS UINT64_C(60000000000)

static struct nn_host *open_host(void)
{
    struct nn_host_why why = {.text = ""};
    struct nn_host *host;

    ck_assert_msg(nn_host_open_module(NN_TEST_DRIVER_SAMPLE, NULL, &why, &host) == 0, "%s",
                  why.text);
    return host;
}

static int replay_to_stub(const char *path)
{
    struct nn_host *host = open_host();
    struct nn_hal_channel *channel;
    struct nn_hal *hal;
    int n_calls;

    ck_assert_int_eq(nn_host_open_session(host, NULL, &hal), 0);
    channel = loopback_channel(hal, NULL);
    n_calls = stream_replay(path, channel);
    channel->ops->close(channel);
    nn_host_unref(host);
    return n_calls;
}

/* -- a client of the version that was recorded, on a socket ------------------ */

struct client {
    struct nn_hal_channel channel;
    struct nn_conn *conn;
};

static int client_call(struct nn_hal_channel *channel, const struct nn_codec_message *request,
                       uint32_t *ret_status, struct nn_codec_buffer *reply)
{
    struct client *client = NN_CONTAINER_OF(channel, struct client, channel);
    const struct nn_packet_out out = {.body = request->bytes,
                                      .n_body_bytes = request->n_bytes,
                                      .fds = request->fds,
                                      .n_fds = request->n_fds};
    struct nn_packet packet;
    int r = nn_conn_call(client->conn, request->number, &out, &packet);

    if (r != 0)
        return r;
    *ret_status = packet.header.status;
    r = nn_codec_buffer_append(reply, packet.body, packet.header.n_body_bytes);
    for (uint32_t i = 0; i < packet.header.n_fds; i++)
        reply->fds[reply->n_fds++] = steal_fd(&packet.fds[i]);
    nn_packet_done(&packet);
    return r;
}

static const struct nn_hal_channel_ops client_ops = {.call = client_call};

static void *run_service(void *service)
{
    return (void *)(intptr_t)nn_service_run(service);
}

static int replay_to_service(const char *path)
{
    struct nn_host *host = open_host();
    struct client client = {.channel = {.ops = &client_ops}};
    struct nn_arrival arrival;
    struct nn_service *service;
    struct nn_hello hello;
    pthread_t thread;
    void *result;
    int pair[2], n_calls;

    ck_assert_int_eq(nn_service_new(host, &service), 0);
    ck_assert_int_eq(nn_sock_pair(pair), 0);
    ck_assert_int_eq(nn_arrival_init(&arrival, pair[1]), 0);
    ck_assert_int_eq(nn_service_add(service, &arrival), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, run_service, service), 0);
    nn_hello_init(&hello, NNHAL_FEATURE_LEVEL_8);
    hello.minor = stream_minor(path);
    ck_assert_int_eq(nn_conn_open(pair[0], -1, &hello, HELLO_NS, NULL, &client.conn), 0);
    ck_assert_uint_eq(nn_conn_hello(client.conn)->minor, hello.minor);
    n_calls = stream_replay(path, &client.channel);
    ck_assert(!nn_conn_is_dead(client.conn));
    nn_conn_close(client.conn);
    ck_assert_int_eq(pthread_join(thread, &result), 0);
    ck_assert_ptr_null(result);
    nn_service_free(service);
    nn_host_unref(host);
    return n_calls;
}

static void replay_all(int (*replay)(const char *path))
{
    char folder[4000], path[4300];
    size_t n_streams = 0, n_memfds = count_mappings("memfd:");
    struct dirent *entry;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%s/tests/hal/streams", getenv("NNHAL_SOURCE_ROOT"));
    dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir))) {
        if (!strstr(entry->d_name, ".bin"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        ck_assert_int_gt(replay(path), 5);
        n_streams++;
    }
    closedir(dir);
    ck_assert_uint_ge(n_streams, 5);
    ck_assert_uint_eq(count_mappings("memfd:"), n_memfds);
}

TEST(recorded_sessions_get_what_they_got_from_the_host)
{
    replay_all(replay_to_stub);
}
TEST_END

TEST(recorded_sessions_get_what_they_got_from_a_service)
{
    replay_all(replay_to_service);
}
TEST_END

CHECK_MAIN("streams", recorded_sessions_get_what_they_got_from_the_host,
           recorded_sessions_get_what_they_got_from_a_service)
