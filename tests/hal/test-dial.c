/* SPDX-License-Identifier: Apache-2.0 */
/* A session over a real socket, against a stub on another thread. */
#include "codec/codec.h"
#include "hal/dial.h"

#include "base/arena.h"
#include "base/sys.h"
#include "hal/messages.h"
#include "hal/stub.h"
#include "ipc/hello.h"
#include "ipc/packet.h"
#include "ipc/sock.h"

#include "support/check-main.h"
#include "support/fds.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#define HELLO_NS UINT64_C(60000000000)

enum {
    N_LARGE = 3 << 20, /* bytes of constants: does not fit a packet */
};

/* -- a HAL that remembers ------------------------------------------------------ */

static uint32_t fake_get_supported_operations(
    struct nn_hal *hal, const struct nn_hal_get_supported_operations_args *args,
    struct nn_hal_get_supported_operations_reply *reply, struct nn_arena *arena)
{
    uint8_t *supported = nn_arena_alloc(arena, args->model.main.n_operations);

    for (uint32_t i = 0; i < args->model.main.n_operations; i++)
        supported[i] = args->model.main.operations[i].type == NNHAL_OP_ADD;
    if (args->model.operand_values.size != N_LARGE ||
        args->model.operand_values.data[N_LARGE - 1] != 99)
        return NNHAL_GENERAL_FAILURE;
    reply->n_supported = args->model.main.n_operations;
    reply->supported = supported;
    return NNHAL_NONE;
}

static uint32_t fake_import_memory(struct nn_hal *hal, const struct nn_hal_import_memory_args *args,
                                   struct nn_hal_import_memory_reply *reply, struct nn_arena *arena)
{
    struct stat status;

    if (fstat(args->fd, &status) != 0)
        return NNHAL_INVALID_ARGUMENT;
    reply->memory = status.st_ino;
    reply->copied_bytes = 48;
    return NNHAL_NONE;
}

static uint32_t fake_execute_fenced(struct nn_hal *hal,
                                    const struct nn_hal_execute_fenced_args *args,
                                    struct nn_hal_execute_fenced_reply *reply,
                                    struct nn_arena *arena)
{
    reply->callback = args->prepared_model;
    reply->sync_fence = nn_sys_memfd_create("fence", true);
    return NNHAL_NONE;
}

static uint32_t fake_free_memory(struct nn_hal *hal, const struct nn_hal_free_memory_args *args,
                                 struct nn_hal_free_memory_reply *reply, struct nn_arena *arena)
{
    reply->message = "no such memory";
    return NNHAL_INVALID_ARGUMENT;
}

static const struct nn_hal_ops fake_ops = {
    .get_supported_operations = fake_get_supported_operations,
    .import_memory = fake_import_memory,
    .execute_fenced = fake_execute_fenced,
    .free_memory = fake_free_memory,
};

/* -- a service ------------------------------------------------------------------ */

enum ending {
    GOES_ON,
    SAYS_NONSENSE,   /* a reply that is none */
    DIES,            /* instead of the reply */
    SENDS_EVENT,     /* before the reply */
    SENDS_BAD_EVENT, /* instead of the reply */
};

static struct service {
    int fd, events_fd;
    enum ending ending;
} service;

static void send_event(uint32_t number)
{
    const struct nn_hal_cache_written_event event = {.prepared_model = 5};
    struct nn_packet_header header = {.type = NN_PACKET_EVENT, .method = number};
    struct nn_codec_buffer buffer = {.bytes = NULL};
    struct nn_packet_out out;

    nn_hal_stub_event(NN_HAL_MINOR, NN_HAL_EVENT_CACHE_WRITTEN, &event, &buffer);
    out = (struct nn_packet_out){.body = buffer.bytes, .n_body_bytes = buffer.n_bytes};
    nn_packet_send(service.events_fd, header, &out, false);
    nn_codec_buffer_done(&buffer);
}

static bool serve_one(struct nn_packet *packet)
{
    struct nn_hal hal = {.ops = &fake_ops};
    struct nn_codec_message message = {.serial = packet->header.serial,
                                       .number = packet->header.method,
                                       .bytes = packet->body,
                                       .n_bytes = packet->header.n_body_bytes,
                                       .fds = packet->fds,
                                       .n_fds = packet->header.n_fds};
    struct nn_packet_header header = {.type = NN_PACKET_REPLY, .serial = packet->header.serial};
    struct nn_codec_buffer reply = {.bytes = NULL};
    struct nn_packet_out out;
    bool goes_on = nn_hal_stub_call(&hal, NN_HAL_MINOR, &message, NULL, &header.status, &reply) ==
                   0;

    packet->header.n_fds = 0; /* consumed */
    memset(packet->fds, 0xff, sizeof(packet->fds));
    if (service.ending == DIES)
        goes_on = false;
    if (service.ending == SENDS_EVENT)
        send_event(NN_HAL_EVENT_CACHE_WRITTEN);
    if (service.ending == SENDS_BAD_EVENT)
        send_event(77);
    if (service.ending == SAYS_NONSENSE)
        reply.n_bytes--;
    out = (struct nn_packet_out){
        .body = reply.bytes, .n_body_bytes = reply.n_bytes, .fds = reply.fds, .n_fds = reply.n_fds};
    if (goes_on && service.ending != SENDS_BAD_EVENT)
        goes_on = nn_packet_send(service.fd, header, &out, false) == 0;
    nn_codec_buffer_close(&reply);
    nn_codec_buffer_done(&reply);
    return goes_on;
}

static void *service_main(void *argument)
{
    struct nn_hello hello, theirs;
    struct nn_packet packet;
    bool goes_on = false;

    nn_hello_init(&hello, 30);
    if (nn_packet_recv(service.fd, 65536, false, &packet) == 0) {
        goes_on = nn_hello_check(&packet, 1, &theirs) == 0;
        service.events_fd = steal_fd(&packet.fds[0]);
        nn_packet_done(&packet);
        goes_on = goes_on && nn_hello_send(service.fd, &hello, -1) == 0;
    }
    while (goes_on && nn_packet_recv(service.fd, (size_t)1 << 28, false, &packet) == 0) {
        goes_on = serve_one(&packet);
        nn_packet_done(&packet);
    }
    closep(&service.events_fd);
    closep(&service.fd);
    return NULL;
}

/* -- the client -------------------------------------------------------------------- */

struct client {
    pthread_t thread;
    struct nn_hal *hal;
    struct nn_arena arena;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t n_written;
    bool is_dead;
};

static void hear_written(void *ctx, const struct nn_hal_cache_written_event *event)
{
    struct client *client = ctx;

    pthread_mutex_lock(&client->lock);
    client->n_written += event->prepared_model;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

static void hear_death(void *ctx)
{
    struct client *client = ctx;

    pthread_mutex_lock(&client->lock);
    client->is_dead = true;
    pthread_cond_signal(&client->changed);
    pthread_mutex_unlock(&client->lock);
}

static void client_open(struct client *client, enum ending ending)
{
    const struct nn_hal_listener listener = {
        .ctx = client, .cache_written = hear_written, .died = hear_death};
    int pair[2];

    *client = (struct client){.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    nn_arena_init(&client->arena, 0);
    ck_assert_int_eq(nn_sock_pair(pair), 0);
    service = (struct service){.fd = pair[1], .events_fd = -1, .ending = ending};
    ck_assert_int_eq(pthread_create(&client->thread, NULL, service_main, NULL), 0);
    ck_assert_int_eq(nn_dial_fd(pair[0], -1, HELLO_NS, &listener, &client->hal), 0);
}

static void client_close(struct client *client)
{
    client->hal = nn_hal_close(client->hal);
    ck_assert_int_eq(pthread_join(client->thread, NULL), 0);
    nn_arena_done(&client->arena);
}

static uint32_t free_memory(struct client *client)
{
    const struct nn_hal_free_memory_args args = {.memory = 1};
    struct nn_hal_free_memory_reply reply;

    return nn_hal_free_memory(client->hal, &args, &reply, &client->arena);
}

TEST(calls_cross_the_socket_with_what_they_carry)
{
    static const uint32_t indexes[] = {0, 1, 2};
    static const struct nnhal_operation operations[] = {
        {.type = NNHAL_OP_MUL, .n_inputs = 3, .inputs = indexes},
        {.type = NNHAL_OP_ADD, .n_outputs = 1, .outputs = indexes}};
    struct nn_hal_get_supported_operations_args model = {
        .model = {.main = {.n_operations = 2, .operations = operations}}};
    struct nn_hal_get_supported_operations_reply supported;
    struct nn_hal_import_memory_args import = {.fd = nn_sys_memfd_create("memory", true)};
    struct nn_hal_import_memory_reply imported;
    const struct nn_hal_free_memory_args free_args = {.memory = 4};
    struct nn_hal_free_memory_reply freed;
    uint8_t *values = calloc(1, N_LARGE);
    struct stat status;
    struct client client;

    client_open(&client, GOES_ON);
    values[N_LARGE - 1] = 99;
    model.model.operand_values = (struct nnhal_bytes){.size = N_LARGE, .data = values};
    ck_assert_uint_eq(
        nn_hal_get_supported_operations(client.hal, &model, &supported, &client.arena), NNHAL_NONE);
    ck_assert_uint_eq(supported.n_supported, 2);
    ck_assert_uint_eq(supported.supported[0], 0);
    ck_assert_uint_eq(supported.supported[1], 1);

    ck_assert_int_eq(fstat(import.fd, &status), 0);
    ck_assert_uint_eq(nn_hal_import_memory(client.hal, &import, &imported, &client.arena),
                      NNHAL_NONE);
    ck_assert_uint_eq(imported.memory, status.st_ino);
    ck_assert_uint_eq(imported.copied_bytes, 48);

    ck_assert_uint_eq(nn_hal_free_memory(client.hal, &free_args, &freed, &client.arena),
                      NNHAL_INVALID_ARGUMENT);
    ck_assert_str_eq(freed.message, "no such memory");
    close(import.fd);
    free(values);
    client_close(&client);
}
TEST_END

TEST(descriptors_come_back_and_none_stays)
{
    const struct nn_hal_execute_fenced_args args = {.prepared_model = 6};
    struct nn_hal_execute_fenced_reply reply;
    struct client client;
    size_t n_fds = count_fds();

    client_open(&client, GOES_ON);
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_eq(nn_hal_execute_fenced(client.hal, &args, &reply, &client.arena),
                          NNHAL_NONE);
        ck_assert_uint_eq(reply.callback, 6);
        ck_assert_int_eq(close(reply.sync_fence), 0);
    }
    client_close(&client);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(a_closed_descriptor_is_the_callers_mistake)
{
    struct nn_hal_import_memory_args import = {.fd = nn_sys_memfd_create("memory", true)};
    struct nn_hal_import_memory_reply imported;
    struct client client;

    client_open(&client, GOES_ON);
    close(import.fd);
    import.fd += 1000;
    ck_assert_uint_eq(nn_hal_import_memory(client.hal, &import, &imported, &client.arena),
                      NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(free_memory(&client), NNHAL_INVALID_ARGUMENT); /* answered: it lives */
    client_close(&client);
}
TEST_END

TEST(a_service_that_is_gone_answers_dead_object)
{
    static const enum ending endings[] = {DIES, SAYS_NONSENSE, SENDS_BAD_EVENT};

    for (size_t i = 0; i < NN_N_ELEMENTS(endings); i++) {
        struct client client;
        size_t n_fds = count_fds();

        client_open(&client, endings[i]);
        ck_assert_uint_eq(free_memory(&client), NNHAL_DEAD_OBJECT);
        ck_assert_uint_eq(free_memory(&client), NNHAL_DEAD_OBJECT);
        pthread_mutex_lock(&client.lock);
        while (!client.is_dead)
            pthread_cond_wait(&client.changed, &client.lock);
        pthread_mutex_unlock(&client.lock);
        client_close(&client);
        ck_assert_uint_eq(count_fds(), n_fds);
    }
}
TEST_END

TEST(events_reach_the_session)
{
    struct client client;

    client_open(&client, SENDS_EVENT);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(free_memory(&client), NNHAL_INVALID_ARGUMENT);
    pthread_mutex_lock(&client.lock);
    while (client.n_written < 15)
        pthread_cond_wait(&client.changed, &client.lock);
    pthread_mutex_unlock(&client.lock);
    client_close(&client);
}
TEST_END

TEST(a_path_without_a_service_is_refused)
{
    struct nn_hal *hal;
    size_t n_fds = count_fds();
    int pair[2];

    ck_assert_int_eq(nn_sock_pair(pair), 0);
    close(pair[1]);
    ck_assert_int_eq(nn_dial_fd(pair[0], -1, HELLO_NS, NULL, &hal), NN_DIAL_E_REFUSED);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

/* The transport has C structs of its own for hello and the packet's head. */
static void assert_encodes_to(const struct nn_codec_type *type, const void *value,
                              const void *bytes, size_t n_bytes)
{
    struct nn_codec_buffer buffer = {.bytes = NULL};

    ck_assert_int_eq(nn_codec_encode(type, 0, value, &buffer), 0);
    ck_assert_uint_eq(buffer.n_bytes, n_bytes);
    ck_assert_mem_eq(buffer.bytes, bytes, n_bytes);
    nn_codec_buffer_done(&buffer);
}

TEST(the_transport_says_what_is_declared)
{
    const struct nn_packet_header header = {.serial = 1,
                                            .n_body_bytes = 2,
                                            .method = 3,
                                            .status = 4,
                                            .type = 5,
                                            .flags = 6,
                                            .n_fds = 7};
    const struct nn_hal_packet_header declared_header = {.serial = 1,
                                                         .n_body_bytes = 2,
                                                         .method = 3,
                                                         .status = 4,
                                                         .type = 5,
                                                         .flags = 6,
                                                         .n_fds = 7};
    struct nn_hal_hello declared = {.magic = NN_HELLO_MAGIC,
                                    .major = NN_HAL_MAJOR,
                                    .minor = NN_HAL_MINOR,
                                    .feature_level = 30,
                                    .max_body_bytes = NNHAL_MAX_MESSAGE_BYTES,
                                    .max_calls = NN_HELLO_MAX_CALLS,
                                    .pid = getpid()};
    struct nn_hello hello;

    nn_hello_init(&hello, 30);
    memcpy(declared.build_id, hello.build_id, sizeof(declared.build_id));
    assert_encodes_to(&nn_codec_hello, &declared, &hello, sizeof(hello));
    assert_encodes_to(&nn_codec_packet_header, &declared_header, &header, sizeof(header));
    ck_assert_uint_eq(NN_PACKET_MAX_FDS, NNHAL_MAX_FDS);
    ck_assert_uint_eq(NN_PACKET_MAX_BODY_BYTES, NNHAL_MAX_MESSAGE_BYTES);
}
TEST_END

CHECK_MAIN("dial", calls_cross_the_socket_with_what_they_carry,
           descriptors_come_back_and_none_stays, a_closed_descriptor_is_the_callers_mistake,
           a_service_that_is_gone_answers_dead_object, events_reach_the_session,
           a_path_without_a_service_is_refused, the_transport_says_what_is_declared)
