/* SPDX-License-Identifier: Apache-2.0 */
#include "attack/raider.h"

#include "attack/grammar.h"
#include "base/arena.h"
#include "base/sys.h"
#include "hal/messages.h"
#include "host/desk.h"
#include "ipc/hello.h"
#include "ipc/sock.h"
#include "service/stand.h"
#include "shm/ring.h"

#include <check.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MINOR = NN_HELLO_MINOR,
    CALLS = 48, /* of a connection, at most */
    IDS = 6,    /* that are remembered, of each sort */
    ANSWER_MS = 50,
    DEADLINE_NS = 20000000,
    QUEUE_BYTES = 4096,
};

static const char *const sorts[] = {"memory", "prepared_model", "execution",
                                    "buffer", "burst",          "callback"};

#define SORTS (sizeof(sorts) / sizeof(sorts[0]))

struct raider {
    struct raider_count *count;
    struct raw_client link;
    struct values values;
    struct nn_arena arena;
    struct desk desk; /* for its model and its request */
    uint64_t ids[SORTS][IDS];
    uint32_t n_ids[SORTS];
    uint64_t serial;
    int queue_fd; /* of the last burst */
};

static uint32_t below(struct raider *raider, uint32_t n)
{
    return grammar_below(&raider->values, n);
}

/* -- ids -------------------------------------------------------------------------------------- */

static size_t sort_of(const char *name)
{
    for (size_t i = 0; i < SORTS; i++)
        if (!strncmp(name, sorts[i], strlen(sorts[i])))
            return i;
    return !strcmp(name, "pools") ? 0 : SORTS;
}

static uint64_t any_id(struct raider *raider, size_t sort)
{
    uint32_t n = raider->n_ids[sort] < IDS ? raider->n_ids[sort] : IDS;

    return n ? raider->ids[sort][below(raider, n)] : 0;
}

static void note_ids(struct raider *raider, const struct nn_codec_type *type,
                     const struct nn_codec_buffer *reply)
{
    struct grammar_spot spots[GRAMMAR_SPOTS];
    size_t n = grammar_scan(type, MINOR, reply, spots);

    for (size_t i = 0; i < n; i++) {
        size_t sort = sort_of(spots[i].field->name);

        if (spots[i].field->kind == NN_CODEC_ID && sort < SORTS)
            raider->ids[sort][raider->n_ids[sort]++ % IDS] = grammar_read(reply, &spots[i]);
    }
}

/* Ids that were made up become ids that there are, but for some. */
static void use_ids(struct raider *raider, const struct nn_codec_type *type,
                    struct nn_codec_buffer *message)
{
    struct grammar_spot spots[GRAMMAR_SPOTS];
    size_t n = grammar_scan(type, MINOR, message, spots);

    for (size_t i = 0; i < n; i++) {
        size_t sort = sort_of(spots[i].field->name);

        if (spots[i].field->kind == NN_CODEC_ID && sort < SORTS && below(raider, 8))
            grammar_write(message, &spots[i], any_id(raider, sort));
    }
}

/* -- calls that are right ----------------------------------------------------------------------- */

static const struct nnhal_model *any_model(struct raider *raider)
{
    static const uint32_t open[] = {0, 3};

    switch (below(raider, 4)) {
    case 0:
        return desk_formula(&raider->desk, 2, open);
    case 1:
        return desk_sum(&raider->desk, NNHAL_TENSOR_QUANT8_ASYMM + below(raider, 10), DIMS(4));
    case 2:
        maker_make_full(&raider->desk.maker);
        raider->desk.maker.pools[0] = any_id(raider, 0);
        return maker_bind(&raider->desk.maker);
    default:
        return desk_formula(&raider->desk, DIMS(2, 2));
    }
}

static struct nnhal_request any_request(struct raider *raider)
{
    desk_formula_request(&raider->desk, any_id(raider, 0), 16);
    return raider->desk.request;
}

static void fill_import(struct raider *raider, struct nn_hal_import_memory_args *args)
{
    *args = (struct nn_hal_import_memory_args){.kind = below(raider, 2) ? NNHAL_MEMORY_ASHMEM
                                                                        : NNHAL_MEMORY_MMAP_FD,
                                               .size = 4096,
                                               .fd = grammar_make_fd()};
    args->prot = args->kind == NNHAL_MEMORY_MMAP_FD ? 3 : 0;
}

static void fill_prepare(struct raider *raider, struct nn_hal_prepare_model_args *args)
{
    *args = (struct nn_hal_prepare_model_args){
        .model = *any_model(raider),
        .preference = below(raider, 3),
        .priority = below(raider, 3),
        .deadline_ns = nn_sys_now_ns() + DEADLINE_NS,
    };
}

static void fill_execute(struct raider *raider, struct nn_hal_execute_synchronously_args *args)
{
    *args = (struct nn_hal_execute_synchronously_args){
        .prepared_model = any_id(raider, 1),
        .request = any_request(raider),
        .measure = below(raider, 2),
        .deadline_ns = nn_sys_now_ns() + DEADLINE_NS,
        .loop_timeout_ns = NNHAL_NO_TIME,
    };
}

static void fill_fenced(struct raider *raider, struct nn_hal_execute_fenced_args *args)
{
    int32_t *fds = nn_arena_new_n(&raider->arena, int32_t, 2);

    fds[0] = grammar_make_fd();
    fds[1] = -1;
    *args = (struct nn_hal_execute_fenced_args){
        .prepared_model = any_id(raider, 1),
        .request = any_request(raider),
        .deadline_ns = nn_sys_now_ns() + DEADLINE_NS,
        .loop_timeout_ns = NNHAL_NO_TIME,
        .timeout_after_fence_ns = DEADLINE_NS,
        .n_wait_for = below(raider, 3),
        .wait_for = fds,
    };
    if (!args->n_wait_for)
        close(fds[0]);
}

static void fill_allocate(struct raider *raider, struct nn_hal_allocate_args *args)
{
    uint64_t *prepared = nn_arena_new(&raider->arena, uint64_t);
    struct nnhal_buffer_role *role = nn_arena_new(&raider->arena, struct nnhal_buffer_role);

    *prepared = any_id(raider, 1);
    *role = (struct nnhal_buffer_role){.io_index = below(raider, 2), .frequency = 0.5f};
    *args = (struct nn_hal_allocate_args){
        .n_prepared_models = 1,
        .prepared_models = prepared,
        .n_input_roles = 1,
        .input_roles = role,
    };
}

static struct nn_hal_queue_descriptor make_queue(uint32_t n_elements, uint32_t element_size)
{
    struct nnhal_fmq_descriptor of;
    struct nn_ring *ring = NULL;

    ck_assert_int_eq(nn_ring_new(n_elements, element_size, NNHAL_FMQ_SYNCHRONIZED, NULL, &ring), 0);
    nn_ring_descriptor(ring, &of);
    of.fd = dup(of.fd);
    nn_ring_free(ring);
    return (struct nn_hal_queue_descriptor){of.n_elements, of.element_size, of.flavour, of.fd};
}

static void fill_burst(struct raider *raider, struct nn_hal_configure_execution_burst_args *args)
{
    *args = (struct nn_hal_configure_execution_burst_args){
        .prepared_model = any_id(raider, 1),
        .requests = make_queue(64, sizeof(struct nnhal_fmq_request_datum)),
        .results = make_queue(64, sizeof(struct nnhal_fmq_result_datum)),
    };
    close(raider->queue_fd);
    raider->queue_fd = dup(args->requests.fd);
}

/* The arguments of a method: those that matter as they should be, the others anything. */
static void *make_args(struct raider *raider, uint32_t method)
{
    const struct nn_codec_type *type = nn_hal_methods[method].args;
    void *args = nn_arena_alloc(&raider->arena, type->size);

    switch (method) {
    case NN_HAL_METHOD_IMPORT_MEMORY:
        fill_import(raider, args);
        return args;
    case NN_HAL_METHOD_GET_SUPPORTED_OPERATIONS:
        ((struct nn_hal_get_supported_operations_args *)args)->model = *any_model(raider);
        return args;
    case NN_HAL_METHOD_PREPARE_MODEL:
        fill_prepare(raider, args);
        return args;
    case NN_HAL_METHOD_CREATE_EXECUTION:
        ((struct nn_hal_create_execution_args *)args)->request = any_request(raider);
        ((struct nn_hal_create_execution_args *)args)->prepared_model = any_id(raider, 1);
        ((struct nn_hal_create_execution_args *)args)->loop_timeout_ns = NNHAL_NO_TIME;
        return args;
    case NN_HAL_METHOD_EXECUTE_SYNCHRONOUSLY:
        fill_execute(raider, args);
        return args;
    case NN_HAL_METHOD_EXECUTE_FENCED:
        fill_fenced(raider, args);
        return args;
    case NN_HAL_METHOD_ALLOCATE:
        fill_allocate(raider, args);
        return args;
    case NN_HAL_METHOD_CONFIGURE_EXECUTION_BURST:
        fill_burst(raider, args);
        return args;
    default:
        return values_make(&raider->values, type);
    }
}

/* -- the queue ------------------------------------------------------------------------------------ */

/* Words and elements of the last burst's requests, while the service reads them. */
static void scribble(struct raider *raider)
{
    static const uint16_t words[] = {0, 16, 18, 32, 48, 49, 64, 65, 66, 67};
    uint32_t *bytes;

    if (raider->queue_fd < 0)
        return;
    bytes = mmap(NULL, QUEUE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, raider->queue_fd, 0);
    if (bytes == MAP_FAILED)
        return;
    for (int i = 0; i < 64; i++) {
        uint32_t at = below(raider, 3) ? words[below(raider, 10)]
                                       : below(raider, QUEUE_BYTES / sizeof(*bytes));

        __atomic_store_n(&bytes[at], (uint32_t)values_number(&raider->values) >> below(raider, 32),
                         __ATOMIC_SEQ_CST);
        nn_sys_futex_wake(&bytes[48], 1, true);
    }
    munmap(bytes, QUEUE_BYTES);
}

/* -- packets ---------------------------------------------------------------------------------------- */

/* Returns whether the connection goes on. */
static bool send_message(struct raider *raider, uint32_t method,
                         const struct nn_codec_buffer *message)
{
    const struct nn_packet_out out = {.body = message->bytes,
                                      .n_body_bytes = message->n_bytes,
                                      .fds = message->fds,
                                      .n_fds = message->n_fds};
    struct nn_packet_header header = {
        .serial = ++raider->serial, .method = method, .type = NN_PACKET_CALL};
    int r;

    if (!below(raider, 200))
        header.type = (uint16_t)below(raider, 9);
    if (!below(raider, 200))
        header.serial = values_number(&raider->values);
    r = nn_packet_send(raider->link.fd, header, &out, true);
    return r == 0;
}

/* A head that lies about what follows. */
static bool send_lie(struct raider *raider, uint32_t method, const struct nn_codec_buffer *message)
{
    struct {
        struct nn_packet_header header;
        uint8_t body[1024];
    } packet;
    size_t n = message->n_bytes < sizeof(packet.body) ? message->n_bytes : sizeof(packet.body);
    uint8_t *bytes = (void *)&packet;

    packet.header = (struct nn_packet_header){.serial = ++raider->serial,
                                              .n_body_bytes = n,
                                              .method = method,
                                              .type = NN_PACKET_CALL,
                                              .n_fds = (uint32_t)(message->n_fds > 0)};
    memcpy(packet.body, message->bytes, n);
    bytes[below(raider, sizeof(packet.header))] ^= (uint8_t)(1 << below(raider, 8));
    n += sizeof(packet.header);
    if (!below(raider, 4))
        n = 1 + below(raider, (uint32_t)n);
    return raw_send(raider->link.fd, &packet, n, message->n_fds ? message->fds[0] : -1,
                    message->n_fds ? 1 + (size_t)!below(raider, 4) : 0);
}

/* Reads what has come. Returns whether the connection goes on. */
static bool read_reply(struct raider *raider, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = raider->link.fd, .events = POLLIN};
    struct nn_packet packet;
    struct nn_codec_buffer reply;
    int r;

    if (poll(&poll_fd, 1, timeout_ms) <= 0)
        return true;
    r = nn_packet_recv(raider->link.fd, 1 << 20, true, &packet);
    if (r != 0)
        return r == NN_PACKET_E_AGAIN;
    /* What a service answers keeps the rules, no matter what it was asked. */
    ck_assert_uint_eq(packet.header.type, NN_PACKET_REPLY);
    ck_assert_uint_lt(packet.header.method, nn_hal_n_methods);
    raider->count->n_replies++;
    reply = (struct nn_codec_buffer){
        .bytes = packet.body, .n_bytes = packet.header.n_body_bytes, .n_fds = packet.header.n_fds};
    memcpy(reply.fds, packet.fds, sizeof(reply.fds));
    if (packet.header.status == NNHAL_NONE) {
        raider->count->n_done++;
        ck_assert(grammar_fits(nn_hal_methods[packet.header.method].reply, MINOR, &reply));
        note_ids(raider, nn_hal_methods[packet.header.method].reply, &reply);
    }
    nn_packet_done(&packet);
    return true;
}

/* -- a connection ----------------------------------------------------------------------------------- */

static uint32_t any_method(struct raider *raider)
{
    if (!raider->n_ids[0] && below(raider, 8))
        return NN_HAL_METHOD_IMPORT_MEMORY;
    if (!raider->n_ids[1] && below(raider, 8))
        return NN_HAL_METHOD_PREPARE_MODEL;
    return 1 + below(raider, (uint32_t)nn_hal_n_methods - 1);
}

/* Returns whether the connection goes on. */
static bool make_call(struct raider *raider)
{
    uint32_t method = any_method(raider), n = below(raider, 3) ? 0 : 1 + below(raider, 2);
    const struct nn_codec_type *type = nn_hal_methods[method].args;
    struct nn_codec_buffer message = {.bytes = NULL};
    bool goes_on;

    if (nn_codec_encode(type, MINOR, make_args(raider, method), &message) != 0)
        nn_codec_buffer_append(&message, "nothing", 7);
    else
        use_ids(raider, type, &message);
    for (uint32_t i = 0; i < n; i++)
        grammar_spoil(&raider->values, type, MINOR, &message);
    raider->count->n_calls++;
    raider->count->n_spoilt += n > 0;
    goes_on = below(raider, 100) ? send_message(raider, method, &message)
                                 : send_lie(raider, method, &message);
    nn_codec_buffer_close(&message);
    nn_codec_buffer_done(&message);
    if (goes_on && below(raider, 6))
        goes_on = read_reply(raider, ANSWER_MS);
    if (method == NN_HAL_METHOD_CONFIGURE_EXECUTION_BURST)
        scribble(raider);
    nn_arena_reset(&raider->arena);
    return goes_on;
}

/* Returns whether there is a connection. */
static bool greet(struct raider *raider, const char *path)
{
    const struct timeval patience = {.tv_sec = 10};
    struct nn_packet packet;
    struct nn_hello hello;
    int pair[2], r;

    if (nn_sock_connect(path, &raider->link.fd) != 0)
        return false;
    setsockopt(raider->link.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(raider->link.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    ck_assert_int_eq(nn_sock_pair(pair), 0);
    raider->link.events_fd = pair[0];
    nn_hello_init(&hello, NNHAL_FEATURE_LEVEL_8);
    if (!below(raider, 16))
        ((uint8_t *)&hello)[below(raider, 28)] ^= (uint8_t)(1 << below(raider, 8));
    r = nn_hello_send(raider->link.fd, &hello, pair[1]);
    close(pair[1]);
    if (r == 0 && nn_packet_recv(raider->link.fd, NN_PACKET_MAX_BYTES, false, &packet) == 0) {
        nn_packet_done(&packet);
        return true;
    }
    raw_close(&raider->link);
    return false;
}

void raider_connect_once(const char *path, uint64_t seed, struct raider_count *count)
{
    static struct raider raider; /* too large for a stack */
    uint32_t n_calls;
    bool goes_on = true;

    raider = (struct raider){.count = count, .queue_fd = -1};
    raider.values = (struct values){.state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1,
                                    .arena = &raider.arena,
                                    .make_fd = grammar_make_fd,
                                    .minor = MINOR,
                                    .n_elements = 3};
    nn_arena_init(&raider.arena, 0);
    for (int i = 0; i < 8; i++)
        values_number(&raider.values);
    if (greet(&raider, path)) {
        n_calls = 1 + below(&raider, CALLS);
        for (uint32_t i = 0; i < n_calls && goes_on; i++)
            goes_on = make_call(&raider);
        if (goes_on && !below(&raider, 32))
            raw_send(raider.link.events_fd, "anything", 1 + below(&raider, 8), -1, 0);
        count->n_ended += !goes_on;
        raw_close(&raider.link);
    } else {
        count->n_ended++;
    }
    close(raider.queue_fd);
    nn_arena_done(&raider.arena);
}
