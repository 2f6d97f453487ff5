/* SPDX-License-Identifier: Apache-2.0 */
/* What a person reads under NNHAL_TRACE=wire. */
#include "codec/codec.h"
#include "codec/printer.h"

#include "base/arena.h"
#include "base/sys.h"
#include "hal/messages.h"
#include "hal/print.h"
#include "support/check-main.h"
#include "support/loopback.h"

#include <string.h>

static uint32_t fake_free_memory(struct nn_hal *hal, const struct nn_hal_free_memory_args *args,
                                 struct nn_hal_free_memory_reply *reply, struct nn_arena *arena)
{
    reply->message = "no";
    return NNHAL_INVALID_ARGUMENT;
}

static void fake_close(struct nn_hal *hal)
{
}

static const struct nn_hal_ops fake_ops = {.free_memory = fake_free_memory, .close = fake_close};
static struct nn_hal fake = {.ops = &fake_ops};

static const char *print(enum nn_hal_packet_kind packet, const struct nn_codec_message *message,
                         const void *value)
{
    static char text[1000];

    nn_hal_print_packet(packet, message, value, text, sizeof(text));
    return text;
}

TEST(calls_name_their_object)
{
    static const uint32_t indexes[] = {0, 1, 2};
    static const uint64_t pools[] = {7};
    static const uint8_t values[12];
    static const int fds[] = {4, 5};
    static const int32_t cache[] = {4}, data[] = {5};
    const struct nn_hal_prepare_model_args prepare = {
        .model = {.main = {.n_operands = 40,
                           .n_operations = 31,
                           .n_input_indexes = 3,
                           .input_indexes = indexes},
                  .n_pools = 1,
                  .pools = pools,
                  .operand_values = {.size = 12, .data = values}},
        .preference = NNHAL_SUSTAINED_SPEED,
        .priority = 77,
        .deadline_ns = NNHAL_NO_TIME,
        .n_model_cache = 1,
        .n_data_cache = 1,
        .model_cache = cache,
        .data_cache = data,
        .token = {1, 2, 3}};
    const struct nn_hal_free_burst_memory_args free_memory = {.burst = 6, .slot = -2};
    struct nn_codec_message message = {
        .serial = 7, .number = NN_HAL_METHOD_PREPARE_MODEL, .fds = fds, .n_fds = 2};

    ck_assert_str_eq(
        print(NN_HAL_PACKET_CALL, &message, &prepare),
        "device#1.prepare_model(serial=7, model={main={operands=40, operations=31, "
        "input_indexes=[0,1,2]}, pools=[7], operand_values=12 bytes, "
        "relax_computation_float32_to_float16=0}, preference=SUSTAINED_SPEED, priority=77, "
        "deadline_ns=none, model_cache=[4], data_cache=[5], token=[1,2,3,0,0,0,0,0,... 32 in all], "
        "is_deferred=0, "
        "fds=[4,5])");
    message = (struct nn_codec_message){.serial = 8, .number = NN_HAL_METHOD_FREE_BURST_MEMORY};
    ck_assert_str_eq(print(NN_HAL_PACKET_CALL, &message, &free_memory),
                     "burst#6.free_burst_memory(serial=8, slot=-2)");
}
TEST_END

TEST(replies_say_how_it_ended)
{
    const struct nn_hal_execute_synchronously_reply executed = {
        .n_output_shapes = 2, .timing = {.time_on_device_ns = 5, .time_in_driver_ns = 9}};
    const struct nn_hal_execute_synchronously_reply failed = {.message = "no \"such\"\nmodel"};
    struct nn_codec_message message = {.serial = 3, .number = NN_HAL_METHOD_EXECUTE_SYNCHRONOUSLY};

    ck_assert_str_eq(print(NN_HAL_PACKET_REPLY, &message, &executed),
                     "execute_synchronously.reply(serial=3, status=NONE, output_shapes=2, "
                     "timing={time_on_device_ns=5, time_in_driver_ns=9})");
    message.status = NNHAL_INVALID_ARGUMENT;
    ck_assert_str_eq(print(NN_HAL_PACKET_REPLY, &message, &failed),
                     "execute_synchronously.reply(serial=3, status=INVALID_ARGUMENT, "
                     "message=\"no ?such??model\")");
}
TEST_END

TEST(events_are_printed)
{
    static const int32_t slots[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const struct nn_hal_get_memories_event event = {.burst = 2, .n_slots = 9, .slots = slots};
    const struct nn_codec_message message = {.number = NN_HAL_EVENT_GET_MEMORIES};

    ck_assert_str_eq(print(NN_HAL_PACKET_EVENT, &message, &event),
                     "burst#2.get_memories(slots=[1,2,3,4,5,6,7,8,... 9 in all])");
}
TEST_END

TEST(what_does_not_fit_is_cut)
{
    const struct nnhal_timing timing = {.time_on_device_ns = 12345678901234567890u};
    char text[60];

    for (size_t n = 4; n < sizeof(text); n++) {
        memset(text, 'x', sizeof(text));
        nn_printer_add_fields(&(struct nn_printer){.text = text, .size = n, .separator = ""},
                              &nn_codec_timing, &timing, 0);
        ck_assert_uint_eq(strlen(text), n - 1);
        ck_assert_str_eq(text + n - 4, "...");
        ck_assert_int_eq(text[n], 'x');
    }
}
TEST_END

/* What NNHAL_TRACE=wire prints of one call: both ends, both ways. */
TEST(traces_show_both_ends)
{
    const struct nn_hal_free_memory_args args = {.memory = 6};
    struct nn_hal_free_memory_reply reply;
    struct nn_hal *hal = loopback_hal(&fake, NULL);
    struct nn_arena arena;
    char text[2000] = "", *line = text;
    int log = nn_sys_memfd_create("log", true), kept = dup(STDERR_FILENO);
    static const char *const expected[] = {
        "-> device#1.free_memory(serial=1, memory=6)",
        "<- device#1.free_memory(serial=1, memory=6)",
        "-> free_memory.reply(serial=1, status=INVALID_ARGUMENT, message=\"no\")",
        "<- free_memory.reply(serial=1, status=INVALID_ARGUMENT, message=\"no\")",
    };

    ck_assert_int_eq(setenv("NNHAL_TRACE", "wire", 1), 0);
    nn_arena_init(&arena, 0);
    ck_assert_int_ge(dup2(log, STDERR_FILENO), 0);
    nn_hal_free_memory(hal, &args, &reply, &arena);
    ck_assert_int_ge(dup2(kept, STDERR_FILENO), 0);
    ck_assert_int_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    for (size_t i = 0; i < NN_N_ELEMENTS(expected); i++) {
        char *end = strchr(line, '\n'), *space = strchr(line, ' ');

        ck_assert_msg(end && space, "%s", text);
        *end = '\0';
        ck_assert_uint_eq(strspn(line, "0123456789."), (size_t)(space - line)); /* the time */
        ck_assert_str_eq(space + 1, expected[i]);
        line = end + 1;
    }
    ck_assert_str_eq(line, "");
    close(log);
    close(kept);
    nn_hal_close(hal);
    nn_arena_done(&arena);
}
TEST_END

CHECK_MAIN("print", calls_name_their_object, replies_say_how_it_ended, events_are_printed,
           what_does_not_fit_is_cut, traces_show_both_ends)
