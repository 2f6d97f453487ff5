/* SPDX-License-Identifier: Apache-2.0 */
/* Which priority a request on its way to a session is to have. */
#include "host/desk.h"

#include "codec/codec.h"
#include "hal/messages.h"
#include "hal/stub.h"
#include "support/check-main.h"

static struct desk desk;

static uint64_t prepare(uint32_t priority)
{
    const struct nn_hal_prepare_model_args args = {
        .model = *desk_formula(&desk, DIMS(4)), .priority = priority, .deadline_ns = NNHAL_NO_TIME};
    struct nn_hal_prepare_model_reply reply;

    ck_assert_uint_eq(nn_hal_prepare_model(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    return reply.prepared_model;
}

TEST(an_execution_has_the_priority_of_its_model)
{
    const uint32_t priorities[] = {NNHAL_PRIORITY_LOW, NNHAL_PRIORITY_MEDIUM, NNHAL_PRIORITY_HIGH};
    uint64_t memory;

    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    for (size_t i = 0; i < NN_N_ELEMENTS(priorities); i++) {
        uint64_t prepared = prepare(priorities[i]), execution;

        desk_formula_request(&desk, memory, 16);
        ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
        ck_assert_uint_eq(nn_host_priority(desk.hal, prepared, 0), priorities[i]);
        ck_assert_uint_eq(nn_host_priority(desk.hal, 0, execution), priorities[i]);
        desk_free_prepared(&desk, prepared);
        ck_assert_uint_eq(nn_host_priority(desk.hal, prepared, 0), NNHAL_PRIORITY_MEDIUM);
        ck_assert_uint_eq(nn_host_priority(desk.hal, 0, execution), priorities[i]);
        ck_assert_uint_eq(nn_host_priority(desk.hal, execution, 0), NNHAL_PRIORITY_MEDIUM);
    }
    ck_assert_uint_eq(nn_host_priority(desk.hal, 0, 0), NNHAL_PRIORITY_MEDIUM);
    ck_assert_uint_eq(nn_host_priority(desk.hal, UINT64_MAX, UINT64_MAX), NNHAL_PRIORITY_MEDIUM);
    desk_close(&desk);
}
TEST_END

TEST(a_request_names_what_it_executes)
{
    const struct nn_hal_execute_synchronously_args args = {
        .prepared_model = 0x123456789, .execution = 0x987654321, .deadline_ns = NNHAL_NO_TIME};
    struct nn_codec_message message = {.number = NN_HAL_METHOD_EXECUTE_SYNCHRONOUSLY};
    struct nn_codec_buffer buffer = {.bytes = NULL};
    uint64_t prepared, execution;

    ck_assert_int_eq(nn_codec_encode(&nn_codec_execute_synchronously_args, 0, &args, &buffer), 0);
    message.bytes = buffer.bytes;
    message.n_bytes = buffer.n_bytes;
    nn_hal_stub_subject(&message, &prepared, &execution);
    ck_assert_uint_eq(prepared, args.prepared_model);
    ck_assert_uint_eq(execution, args.execution);
    message.n_bytes = 15;
    nn_hal_stub_subject(&message, &prepared, &execution);
    ck_assert_uint_eq(prepared, 0);
    ck_assert_uint_eq(execution, 0);
    message.n_bytes = buffer.n_bytes;
    message.number = NN_HAL_METHOD_CREATE_EXECUTION;
    nn_hal_stub_subject(&message, &prepared, &execution);
    ck_assert_uint_eq(prepared, 0);
    nn_codec_buffer_done(&buffer);
}
TEST_END

CHECK_MAIN("priority", an_execution_has_the_priority_of_its_model, a_request_names_what_it_executes)
