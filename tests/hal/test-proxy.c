/* SPDX-License-Identifier: Apache-2.0 */
/* Proxy and stub back to back: what the caller of one says is what the HAL
 * behind the other hears, and the other way round. */
#include "codec/codec.h"
#include "hal/proxy.h"
#include "hal/stub.h"

#include "base/arena.h"
#include "base/sys.h"
#include "hal/values.h"
#include "support/check-main.h"
#include "support/fds.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
    N_VALUES = 6, /* of each method */
};

/* The HAL behind the stub: expects one call, gives one answer. */
static struct fake {
    struct nn_hal hal;
    uint32_t number;
    struct nn_codec_buffer expected; /* the arguments, with the caller's fds */
    const void *reply;               /* a value, or NULL: leaves it zero */
    const char *message;
    uint32_t status;
    int n_calls;
    bool is_closed;
} fake;

/* The channel between them; what the kernel does with descriptors, dup() does. */
static struct wire {
    struct nn_hal_channel channel;
    int error;                /* instead of a call */
    const uint8_t *bad_bytes; /* instead of the reply's */
    size_t n_bad_bytes;
    uint32_t bad_status; /* instead of the reply's, if not 0 */
    int n_failed;
    bool is_closed;
} wire;

static int make_fd(void)
{
    int fd = nn_sys_memfd_create("test", true);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void assert_same_file(int a, int b)
{
    struct stat stat_a, stat_b;

    ck_assert_int_eq(fstat(a, &stat_a), 0);
    ck_assert_int_eq(fstat(b, &stat_b), 0);
    ck_assert_uint_eq(stat_a.st_ino, stat_b.st_ino);
}

/* -- the fake HAL ------------------------------------------------------------ */

static uint32_t fake_call(uint32_t number, const void *args, void *reply)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[number];
    struct nn_codec_buffer heard = {.bytes = NULL};

    fake.n_calls++;
    ck_assert_uint_eq(number, fake.number);
    ck_assert_int_eq(nn_codec_encode(method->args, 0, args, &heard), 0);
    if (fake.expected.bytes) {
        ck_assert_uint_eq(heard.n_bytes, fake.expected.n_bytes);
        ck_assert_mem_eq(heard.bytes, fake.expected.bytes, heard.n_bytes);
        ck_assert_uint_eq(heard.n_fds, fake.expected.n_fds);
        for (size_t i = 0; i < heard.n_fds; i++) {
            ck_assert_int_ne(heard.fds[i], fake.expected.fds[i]);
            assert_same_file(heard.fds[i], fake.expected.fds[i]);
        }
    }
    nn_codec_buffer_done(&heard);
    if (fake.reply)
        memcpy(reply, fake.reply, method->reply->size);
    else
        *(const char **)reply = fake.message;
    return fake.status;
}

#define X(number, method)                                                                          \
    static uint32_t fake_##method(struct nn_hal *hal, const struct nn_hal_##method##_args *args,   \
                                  struct nn_hal_##method##_reply *reply, struct nn_arena *arena)   \
    {                                                                                              \
        return fake_call(number, args, reply);                                                     \
    }
NN_HAL_NUMBERED_METHODS(X)
#undef X

static void fake_close(struct nn_hal *hal)
{
    fake.is_closed = true;
}

static const struct nn_hal_ops fake_ops = {
#define X(number, method) .method = fake_##method,
    NN_HAL_NUMBERED_METHODS(X)
#undef X
        .close = fake_close,
};

/* -- the channel ------------------------------------------------------------- */

static int wire_call(struct nn_hal_channel *channel, const struct nn_codec_message *request,
                     uint32_t *ret_status, struct nn_codec_buffer *reply)
{
    struct nn_codec_message received = *request;
    int fds[NNHAL_MAX_FDS];
    int r;

    if (wire.error)
        return wire.error;
    for (size_t i = 0; i < request->n_fds; i++) {
        fds[i] = fcntl(request->fds[i], F_DUPFD_CLOEXEC, 0);
        ck_assert_int_ge(fds[i], 0);
    }
    received.fds = fds;
    r = nn_hal_stub_call(&fake.hal, channel->minor, &received, NULL, ret_status, reply);
    ck_assert_int_eq(r, 0);
    if (wire.bad_bytes) {
        reply->n_bytes = 0;
        ck_assert_int_eq(nn_codec_buffer_append(reply, wire.bad_bytes, wire.n_bad_bytes), 0);
    }
    if (wire.bad_status)
        *ret_status = wire.bad_status;
    return 0;
}

static void wire_fail(struct nn_hal_channel *channel, const char *why)
{
    ck_assert_ptr_nonnull(why);
    wire.n_failed++;
}

static void wire_close(struct nn_hal_channel *channel)
{
    wire.is_closed = true;
}

static const struct nn_hal_channel_ops wire_ops = {
    .call = wire_call, .fail = wire_fail, .close = wire_close};

static struct nn_hal *open_proxy(void)
{
    struct nn_hal *hal;

    fake = (struct fake){.hal = {.ops = &fake_ops}};
    wire = (struct wire){.channel = {.ops = &wire_ops}};
    ck_assert_int_eq(nn_hal_proxy_new(&wire.channel, &hal), 0);
    return hal;
}

static void close_proxy(struct nn_hal *hal)
{
    nn_hal_close(hal);
    ck_assert(wire.is_closed);
    nn_codec_buffer_done(&fake.expected);
}

static uint32_t call(struct nn_hal *hal, uint32_t number, const void *args, void *reply,
                     struct nn_arena *arena)
{
    fake.number = number;
    fake.n_calls = 0;
    memset(reply, 0xaa, nn_hal_methods[number].reply->size); /* the callee sets all of it */
    switch (number) {
#define X(n, method)                                                                               \
    case n:                                                                                        \
        return nn_hal_##method(hal, args, reply, arena);
        NN_HAL_NUMBERED_METHODS(X)
#undef X
    default:
        ck_abort();
    }
}

static void assert_zero_but_message(const struct nn_codec_type *type, const void *reply)
{
    for (size_t i = sizeof(const char *); i < type->size; i++)
        ck_assert_int_eq(((const char *)reply)[i], 0);
}

/* -- tests ------------------------------------------------------------------- */

/* One call with arguments and a reply made up from seed. */
static void there_and_back(struct nn_hal *hal, uint32_t number, uint64_t seed, uint32_t status)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[number];
    struct nn_arena arena, mine;
    struct values values = {.state = seed + 1, .arena = &mine, .n_elements = 3, .make_fd = make_fd};
    struct nn_codec_buffer given = {.bytes = NULL}, got = {.bytes = NULL};
    void *args, *reply, *answer;

    nn_arena_init(&arena, 0);
    nn_arena_init(&mine, 0);
    args = values_make(&values, method->args);
    answer = values_make(&values, method->reply);
    reply = nn_arena_alloc(&mine, method->reply->size);
    ck_assert_int_eq(nn_codec_encode(method->args, 0, args, &fake.expected), 0);
    ck_assert_int_eq(nn_codec_encode(method->reply, 0, answer, &given), 0);
    fake.reply = answer;
    fake.status = status;
    ck_assert_uint_eq(call(hal, number, args, reply, &arena), status);
    ck_assert_int_eq(fake.n_calls, 1);
    ck_assert_int_eq(nn_codec_encode(method->reply, 0, reply, &got), 0);
    ck_assert_uint_eq(got.n_bytes, given.n_bytes);
    ck_assert_mem_eq(got.bytes, given.bytes, got.n_bytes);
    ck_assert_uint_eq(got.n_fds,
                      given.n_fds); /* the same numbers: nothing between us copies them */
    nn_codec_buffer_close(&got);
    nn_codec_buffer_close(&fake.expected);
    nn_codec_buffer_done(&fake.expected);
    nn_codec_buffer_done(&given);
    nn_codec_buffer_done(&got);
    nn_arena_done(&mine);
    nn_arena_done(&arena);
}

TEST(every_method_reaches_the_other_side)
{
    size_t n_fds = count_fds();
    struct nn_hal *hal = open_proxy();

    for (uint32_t number = 0; number < nn_hal_n_methods; number++)
        if (nn_hal_methods[number].name)
            for (uint64_t seed = 1; seed <= N_VALUES; seed++)
                there_and_back(hal, number, seed * 1234567, NNHAL_NONE);
    there_and_back(hal, NN_HAL_METHOD_EXECUTE_SYNCHRONOUSLY, 77, NNHAL_OUTPUT_INSUFFICIENT_SIZE);
    close_proxy(hal);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(a_failure_is_its_status_and_sentence)
{
    struct nn_hal *hal = open_proxy();
    struct nn_hal_execute_fenced_args args = {.prepared_model = 3};
    struct nn_hal_execute_fenced_reply reply;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    for (uint32_t status = 1; status <= NNHAL_DEAD_OBJECT; status++) {
        fake.status = status;
        fake.message = status % 2 ? "because" : NULL;
        ck_assert_uint_eq(call(hal, NN_HAL_METHOD_EXECUTE_FENCED, &args, &reply, &arena), status);
        assert_zero_but_message(&nn_codec_execute_fenced_reply, &reply);
        if (fake.message)
            ck_assert_str_eq(reply.message, "because");
        else
            ck_assert_ptr_null(reply.message);
    }
    nn_arena_done(&arena);
    close_proxy(hal);
}
TEST_END

TEST(a_sentence_that_is_too_long_is_cut)
{
    struct nn_hal *hal = open_proxy();
    struct nn_hal_free_memory_args args = {.memory = 1};
    struct nn_hal_free_memory_reply reply;
    struct nn_arena arena;
    char sentence[3 * NNHAL_MAX_SENTENCE_BYTES] = "";

    nn_arena_init(&arena, 0);
    memset(sentence, 'x', sizeof(sentence) - 1);
    fake.message = sentence;
    for (fake.status = NNHAL_NONE; fake.status <= NNHAL_GENERAL_FAILURE; fake.status++) {
        ck_assert_uint_eq(call(hal, NN_HAL_METHOD_FREE_MEMORY, &args, &reply, &arena), fake.status);
        ck_assert_uint_eq(strlen(reply.message), NNHAL_MAX_SENTENCE_BYTES);
    }
    nn_arena_done(&arena);
    close_proxy(hal);
}
TEST_END

TEST(arguments_that_break_a_limit_are_answered_here)
{
    struct nn_hal *hal = open_proxy();
    struct nn_hal_copy_from_args args = {.n_dimensions = NNHAL_MAX_RANK + 1};
    struct nn_hal_copy_from_reply reply;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    ck_assert_uint_eq(call(hal, NN_HAL_METHOD_COPY_FROM, &args, &reply, &arena),
                      NNHAL_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(reply.message);
    ck_assert_int_eq(fake.n_calls, 0);
    ck_assert_int_eq(wire.n_failed, 0);
    nn_arena_done(&arena);
    close_proxy(hal);
}
TEST_END

TEST(errors_of_the_channel_have_their_status)
{
    static const struct {
        int error;
        uint32_t status;
    } rows[] = {
        {-EBADF, NNHAL_INVALID_ARGUMENT},
        {-EMSGSIZE, NNHAL_INVALID_ARGUMENT},
        {-ENOMEM, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT},
        {-EMFILE, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT},
        {-EPIPE, NNHAL_DEAD_OBJECT},
        {-ECHILD, NNHAL_DEAD_OBJECT},
    };
    struct nn_hal *hal = open_proxy();
    struct nn_hal_allocate_args args = {.n_dimensions = 0};
    struct nn_hal_allocate_reply reply;
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    for (size_t i = 0; i < NN_N_ELEMENTS(rows); i++) {
        wire.error = rows[i].error;
        ck_assert_uint_eq(call(hal, NN_HAL_METHOD_ALLOCATE, &args, &reply, &arena), rows[i].status);
        ck_assert_ptr_nonnull(reply.message);
        assert_zero_but_message(&nn_codec_allocate_reply, &reply);
    }
    ck_assert_int_eq(wire.n_failed, 0);
    nn_arena_done(&arena);
    close_proxy(hal);
}
TEST_END

TEST(a_reply_that_is_none_ends_the_channel)
{
    size_t n_fds = count_fds();
    struct nn_hal *hal = open_proxy();
    struct nn_hal_execute_fenced_args args = {.prepared_model = 3};
    struct nn_hal_execute_fenced_reply reply, answer = {.callback = 4};
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    fake.reply = &answer;
    answer.sync_fence = make_fd();
    wire.bad_bytes = (const uint8_t *)"\xff\xff\xff\xff\1\2\3";
    wire.n_bad_bytes = 7;
    ck_assert_uint_eq(call(hal, NN_HAL_METHOD_EXECUTE_FENCED, &args, &reply, &arena),
                      NNHAL_DEAD_OBJECT);
    assert_zero_but_message(&nn_codec_execute_fenced_reply, &reply);
    ck_assert_int_eq(wire.n_failed, 1);
    wire.bad_bytes = NULL;
    wire.bad_status = NNHAL_DEAD_OBJECT + 1;
    answer.sync_fence = make_fd();
    ck_assert_uint_eq(call(hal, NN_HAL_METHOD_EXECUTE_FENCED, &args, &reply, &arena),
                      NNHAL_DEAD_OBJECT);
    ck_assert_int_eq(wire.n_failed, 2);
    nn_arena_done(&arena);
    close_proxy(hal);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

/* -- the stub alone ----------------------------------------------------------- */

static int stub(const struct nn_codec_message *message, uint32_t *status,
                struct nn_codec_buffer *reply)
{
    *reply = (struct nn_codec_buffer){.bytes = NULL};
    return nn_hal_stub_call(&fake.hal, 0, message, NULL, status, reply);
}

TEST(a_request_that_is_none_is_a_violation)
{
    static const uint32_t numbers[] = {
        0, 22, 1000, UINT32_MAX, NN_HAL_METHOD_IMPORT_MEMORY, NN_HAL_METHOD_FREE_MEMORY};
    size_t n_fds = count_fds();
    struct nn_codec_buffer reply;
    uint32_t status;

    fake = (struct fake){.hal = {.ops = &fake_ops}};
    for (size_t i = 0; i < NN_N_ELEMENTS(numbers); i++) {
        const int fds[] = {make_fd(), make_fd()};
        const struct nn_codec_message message = {
            .number = numbers[i], .bytes = "12345678", .n_bytes = 8, .fds = fds, .n_fds = 2};

        ck_assert_int_eq(stub(&message, &status, &reply), NN_HAL_STUB_E_VIOLATION);
        ck_assert_uint_eq(reply.n_bytes, 0);
    }
    ck_assert_int_eq(fake.n_calls, 0);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

TEST(a_reply_that_breaks_a_limit_is_a_failure)
{
    size_t n_fds = count_fds();
    struct nn_hal *hal = open_proxy();
    struct nn_hal_get_device_info_args args = {.reserved = 0};
    struct nn_hal_get_device_info_reply info, bad = {.name = "x", .type = NNHAL_DEVICE_CPU};
    struct nn_arena arena;

    nn_arena_init(&arena, 0);
    fake.reply = &bad; /* without a version */
    ck_assert_uint_eq(call(hal, NN_HAL_METHOD_GET_DEVICE_INFO, &args, &info, &arena),
                      NNHAL_GENERAL_FAILURE);
    ck_assert_ptr_nonnull(info.message);
    assert_zero_but_message(&nn_codec_get_device_info_reply, &info);
    bad.version = "1";
    ck_assert_uint_eq(call(hal, NN_HAL_METHOD_GET_DEVICE_INFO, &args, &info, &arena), NNHAL_NONE);
    ck_assert_str_eq(info.version, "1");
    fake.status = 12345; /* no such status */
    ck_assert_uint_eq(call(hal, NN_HAL_METHOD_GET_DEVICE_INFO, &args, &info, &arena),
                      NNHAL_GENERAL_FAILURE);
    ck_assert_int_eq(wire.n_failed, 0);
    nn_arena_done(&arena);
    close_proxy(hal);
    ck_assert_uint_eq(count_fds(), n_fds);
}
TEST_END

/* -- events --------------------------------------------------------------------- */

static struct {
    int n_written;
    uint64_t prepared_model;
    int n_slots;
    int32_t slots[4];
} heard;

static void hear_cache_written(void *ctx, const struct nn_hal_cache_written_event *event)
{
    ck_assert_ptr_eq(ctx, &heard);
    heard.n_written++;
    heard.prepared_model = event->prepared_model;
}

static void hear_get_memories(void *ctx, const struct nn_hal_get_memories_event *event)
{
    ck_assert_ptr_eq(ctx, &heard);
    ck_assert_uint_le(event->n_slots, 4);
    heard.n_slots = (int)event->n_slots;
    memcpy(heard.slots, event->slots, event->n_slots * sizeof(int32_t));
}

static int send_event(const struct nn_hal_listener *listener, uint32_t number, const void *value,
                      size_t n_cut)
{
    struct nn_codec_buffer buffer = {.bytes = NULL};
    struct nn_codec_message message = {.number = number};
    int r;

    ck_assert_int_eq(nn_hal_stub_event(0, number, value, &buffer), 0);
    message.bytes = buffer.bytes;
    message.n_bytes = buffer.n_bytes - n_cut;
    r = nn_hal_proxy_event(listener, 0, &message);
    nn_codec_buffer_done(&buffer);
    return r;
}

TEST(events_reach_their_listener)
{
    static const int32_t slots[] = {3, 0, 9};
    const struct nn_hal_listener listener = {
        .ctx = &heard, .cache_written = hear_cache_written, .get_memories = hear_get_memories};
    const struct nn_hal_listener deaf = {.ctx = NULL};
    const struct nn_hal_cache_written_event written = {.prepared_model = 12};
    const struct nn_hal_get_memories_event wanted = {.burst = 1, .n_slots = 3, .slots = slots};
    const struct nn_hal_get_memories_event too_many = {.n_slots = NNHAL_MAX_POOLS + 1};
    const struct nn_codec_message unknown = {.number = 3};
    struct nn_codec_buffer buffer = {.bytes = NULL};

    ck_assert_int_eq(send_event(&listener, NN_HAL_EVENT_CACHE_WRITTEN, &written, 0), 0);
    ck_assert_int_eq(send_event(&deaf, NN_HAL_EVENT_CACHE_WRITTEN, &written, 0), 0);
    ck_assert_int_eq(heard.n_written, 1);
    ck_assert_uint_eq(heard.prepared_model, 12);
    ck_assert_int_eq(send_event(&listener, NN_HAL_EVENT_GET_MEMORIES, &wanted, 0), 0);
    ck_assert_int_eq(heard.n_slots, 3);
    ck_assert_mem_eq(heard.slots, slots, sizeof(slots));
    ck_assert_int_eq(send_event(&listener, NN_HAL_EVENT_GET_MEMORIES, &wanted, 1),
                     NN_HAL_PROXY_E_VIOLATION);
    ck_assert_int_eq(nn_hal_proxy_event(&listener, 0, &unknown), NN_HAL_PROXY_E_VIOLATION);
    ck_assert_int_eq(nn_hal_stub_event(0, 3, &written, &buffer), -EINVAL);
    ck_assert_int_eq(nn_hal_stub_event(0, NN_HAL_EVENT_GET_MEMORIES, &too_many, &buffer), -EINVAL);
    ck_assert_uint_eq(buffer.n_bytes, 0);
    nn_codec_buffer_done(&buffer);
}
TEST_END

CHECK_MAIN("proxy", every_method_reaches_the_other_side, a_failure_is_its_status_and_sentence,
           a_sentence_that_is_too_long_is_cut, arguments_that_break_a_limit_are_answered_here,
           errors_of_the_channel_have_their_status, a_reply_that_is_none_ends_the_channel,
           a_request_that_is_none_is_a_violation, a_reply_that_breaks_a_limit_is_a_failure,
           events_reach_their_listener)
