/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation fails, in proxy, stub or codec, for every method: the
 * call ends with a status that says so, no descriptor stays, and the next call
 * is answered. */
#include "base/arena.h"
#include "base/sys.h"
#include "codec/codec.h"
#include "hal/proxy.h"
#include "hal/stub.h"
#include "hal/values.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"
#include "support/fds.h"
#include "support/loopback.h"

#include <string.h>

/* -- a HAL that gives a made-up reply, with descriptors of its own ------------ */

static const void *answer;

static void fake_reply(uint32_t number, void *reply)
{
    const struct nn_codec_type *type = nn_hal_methods[number].reply;

    memcpy(reply, answer, type->size);
    for (size_t i = 0; i < type->n_fields; i++) {
        int32_t *fd = (int32_t *)(void *)((char *)reply + type->fields[i].offset);

        if (type->fields[i].kind == NN_CODEC_FD && *fd >= 0)
            *fd = nn_sys_memfd_create("reply", true);
    }
}

#define X(number, method)                                                                          \
    static uint32_t fake_##method(struct nn_hal *hal, const struct nn_hal_##method##_args *args,   \
                                  struct nn_hal_##method##_reply *reply, struct nn_arena *arena)   \
    {                                                                                              \
        fake_reply(number, reply);                                                                 \
        return NNHAL_NONE;                                                                         \
    }
NN_HAL_NUMBERED_METHODS(X)
#undef X

static void fake_close(struct nn_hal *hal)
{
}

static const struct nn_hal_ops fake_ops = {
#define X(number, method) .method = fake_##method,
    NN_HAL_NUMBERED_METHODS(X)
#undef X
        .close = fake_close,
};

static uint32_t call(struct nn_hal *hal, uint32_t number, const void *args, void *reply,
                     struct nn_arena *arena)
{
    switch (number) {
#define X(n, method)                                                                               \
    case n:                                                                                        \
        return nn_hal_##method(hal, args, reply, arena);
        NN_HAL_NUMBERED_METHODS(X)
#undef X
    default:
        return NNHAL_GENERAL_FAILURE;
    }
}

/* -- one method, as often as it allocates ---------------------------------------- */

static int make_fd(void)
{
    return nn_sys_memfd_create("argument", true);
}

static void close_fds_of(const struct nn_codec_type *type, const void *value)
{
    struct nn_codec_buffer buffer = {.bytes = NULL};

    ck_assert_int_eq(nn_codec_encode(type, 0, value, &buffer), 0);
    nn_codec_buffer_close(&buffer);
    nn_codec_buffer_done(&buffer);
}

/* Returns: how many faults there were. */
static long fail_everywhere(struct nn_hal *hal, uint32_t number, const void *args, void *reply)
{
    const struct nn_hal_method_type *method = &nn_hal_methods[number];
    size_t n_fds = count_fds();
    struct nn_arena arena;
    long n = 0;
    uint32_t status;
    bool is_over, frees_earlier;

    do {
        nn_arena_init(&arena, 0);
        fail_alloc_arm(++n);
        status = call(hal, number, args, reply, &arena);
        is_over = fail_alloc_disarm();
        if (status == NNHAL_NONE)
            close_fds_of(method->reply, reply);
        nn_arena_done(&arena);
        /* Before a call that frees, one that failed earlier is made again: the fault may be its. */
        frees_earlier = n > 1 && strncmp(method->name, "free_", 5) == 0 && status == NNHAL_NONE;
        ck_assert_msg(is_over ? status == NNHAL_NONE
                              : status == NNHAL_RESOURCE_EXHAUSTED_TRANSIENT || frees_earlier,
                      "%s, allocation %ld: status %u", method->name, n, status);
        ck_assert_uint_eq(count_fds(), n_fds);
    } while (!is_over);
    return n - 1;
}

TEST(every_method_survives_every_failed_allocation)
{
    struct nn_hal fake = {.ops = &fake_ops};
    struct nn_hal *hal = loopback_hal(&fake, NULL);

    for (uint32_t number = 0; number < nn_hal_n_methods; number++) {
        const struct nn_hal_method_type *method = &nn_hal_methods[number];
        struct nn_arena arena;
        struct values values = {
            .state = number + 1, .arena = &arena, .n_elements = 3, .make_fd = make_fd};
        void *args;

        if (!method->name)
            continue;
        nn_arena_init(&arena, 0);
        args = values_make(&values, method->args);
        values.make_fd = NULL; /* the fake makes them, for each call */
        answer = values_make(&values, method->reply);
        ck_assert_int_ge(
            fail_everywhere(hal, number, args, nn_arena_alloc(&arena, method->reply->size)), 2);
        close_fds_of(method->args, args);
        nn_arena_done(&arena);
    }
    nn_hal_close(hal);
}
TEST_END

TEST(a_proxy_that_cannot_be_made_closes_its_channel)
{
    struct nn_hal fake = {.ops = &fake_ops};
    struct nn_hal_channel *channel = loopback_channel(&fake, NULL);
    struct nn_hal *hal = NULL;
    int r;

    fail_alloc_arm(1);
    r = nn_hal_proxy_new(channel, &hal); /* frees channel: else a leak */
    fail_alloc_disarm();
    ck_assert_int_eq(r, -ENOMEM);
    ck_assert_ptr_null(hal);
}
TEST_END

TEST(events_survive_too)
{
    static const int32_t slots[40];
    const struct nn_hal_get_memories_event event = {.burst = 1, .n_slots = 40, .slots = slots};
    const struct nn_hal_listener listener = {.ctx = NULL};
    struct nn_codec_buffer buffer = {.bytes = NULL};
    struct nn_codec_message message = {.number = NN_HAL_EVENT_GET_MEMORIES};
    int r;

    fail_alloc_arm(1);
    r = nn_hal_stub_event(0, NN_HAL_EVENT_GET_MEMORIES, &event, &buffer);
    fail_alloc_disarm();
    ck_assert_int_eq(r, -ENOMEM);
    ck_assert_int_eq(nn_hal_stub_event(0, NN_HAL_EVENT_GET_MEMORIES, &event, &buffer), 0);
    message.bytes = buffer.bytes;
    message.n_bytes = buffer.n_bytes;
    fail_alloc_arm(1);
    r = nn_hal_proxy_event(&listener, 0, &message);
    fail_alloc_disarm();
    ck_assert_int_eq(r, -ENOMEM);
    ck_assert_int_eq(nn_hal_proxy_event(&listener, 0, &message), 0);
    nn_codec_buffer_done(&buffer);
}
TEST_END

CHECK_MAIN("faults", every_method_survives_every_failed_allocation,
           a_proxy_that_cannot_be_made_closes_its_channel, events_survive_too)
