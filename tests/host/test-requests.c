/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule of requests, broken one at a time, through each method that takes
 * a request: the same status everywhere, and nothing but a sentence comes back. */
#include "host/desk.h"

#include "base/fence.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <fcntl.h>
#include <sys/mman.h>

static struct desk desk;
static uint64_t memory, prepared;

/* x, y and z of [2,3]: 24 bytes each. */
static void begin(void)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 3)));
    desk_formula_request(&desk, memory, 24);
}

static void await(int fence)
{
    ck_assert_int_eq(nn_fence_wait(fence, UINT64_MAX), 0);
    close(fence);
}

static uint32_t execute_fenced(void)
{
    const struct nn_hal_execute_fenced_args args = {
        .prepared_model = prepared,
        .request = desk.request,
        .measure = desk.measure,
        .deadline_ns = NNHAL_NO_TIME,
        .loop_timeout_ns = NNHAL_NO_TIME,
        .timeout_after_fence_ns = NNHAL_NO_TIME,
    };
    struct nn_hal_execute_fenced_reply reply;
    uint32_t status = nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena);

    if (status != NNHAL_NONE)
        desk_expect_failure(reply);
    else
        await(reply.sync_fence);
    return status;
}

/* The request as it stands has this status, whichever way it is executed. */
static void expect(uint32_t status)
{
    uint32_t n_executed = fake.n_executed;
    uint64_t execution;

    ck_assert_uint_eq(desk_execute(&desk, prepared), status);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), status);
    if (status == NNHAL_NONE)
        desk_free_execution(&desk, execution);
    else
        ck_assert_uint_eq(fake.n_executed, n_executed);
    ck_assert_uint_eq(execute_fenced(), status);
}

/* The same, and the request is whole again afterwards. */
static void expect_invalid(void)
{
    expect(NNHAL_INVALID_ARGUMENT);
    desk_formula_request(&desk, memory, 24);
}

TEST(a_good_request_is_executed_every_way)
{
    begin();
    expect(NNHAL_NONE);
    desk_close(&desk);
    ck_assert_uint_eq(fake.n_executed, 2);
}
TEST_END

TEST(counts_equal_the_models)
{
    begin();
    for (uint32_t n = 0; n < 4; n++) {
        if (n == 2)
            continue;
        desk.request.n_inputs = n;
        desk.inputs[2] = desk.inputs[1];
        expect_invalid();
    }
    desk.request.n_outputs = 0;
    expect_invalid();
    desk.request.n_outputs = 2;
    desk.outputs[1] = desk.outputs[0];
    desk.outputs[1].location.offset = 1000;
    expect_invalid();
    desk_close(&desk);
}
TEST_END

TEST(an_omitted_argument_says_nothing_else)
{
    begin();
    desk.inputs[1].has_no_value = 1;
    expect_invalid();
    desk.inputs[1] = (struct nnhal_request_argument){
        .has_no_value = 1, .n_dimensions = 2, .dimensions = (const uint32_t[]){2, 3}};
    expect_invalid();
    desk.inputs[1] = (struct nnhal_request_argument){.has_no_value = 2};
    expect_invalid();
    desk.outputs[0] = (struct nnhal_request_argument){.has_no_value = 1,
                                                      .location = {.pool_index = 1}};
    expect_invalid();
    desk_close(&desk);
}
TEST_END

TEST(places_lie_in_their_pools)
{
    struct nnhal_data_location *location = &desk.inputs[0].location;

    begin();
    location->pool_index = 1;
    expect_invalid();
    location->pool_index = UINT32_MAX;
    expect_invalid();
    location->offset = 4096 - 23;
    expect_invalid();
    location->offset = UINT64_MAX - 8;
    expect_invalid();
    location->length = UINT64_MAX;
    expect_invalid();
    location->offset = 4096 - 24;
    location->padding = 1;
    expect_invalid();
    location->padding = UINT64_MAX;
    expect_invalid();
    desk.outputs[0].location.offset = 4096 - 23;
    expect_invalid();
    desk.outputs[0].location.offset = 4096 - 24;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(lengths_are_exact)
{
    const uint64_t lengths[] = {0, 1, 23, 25, 48};

    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(lengths); i++) {
        desk.inputs[0].location.length = lengths[i];
        expect_invalid();
        desk.outputs[0].location.length = lengths[i];
        expect_invalid();
    }
    desk_close(&desk);
}
TEST_END

TEST(dimensions_agree_with_the_model)
{
    const uint32_t bad[][3] = {{3, 2}, {2, 3, 1}, {2, 4}, {6}, {0, 0}};
    const uint32_t ranks[] = {2, 3, 2, 1, 2};

    begin();
    for (size_t i = 0; i + 1 < NN_N_ELEMENTS(ranks); i++) {
        desk.inputs[1].n_dimensions = ranks[i];
        desk.inputs[1].dimensions = bad[i];
        expect_invalid();
        desk.outputs[0].n_dimensions = ranks[i];
        desk.outputs[0].dimensions = bad[i];
        expect_invalid();
    }
    desk.inputs[1].n_dimensions = NNHAL_MAX_RANK + 1;
    desk.inputs[1].dimensions = desk.dimensions[0];
    expect_invalid();
    /* The model knows all of them: 0 takes nothing back. */
    desk.inputs[1].n_dimensions = 2;
    desk.inputs[1].dimensions = bad[4];
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(inputs_must_end_fully_specified)
{
    begin();
    desk_free_prepared(&desk, prepared);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(0, 3)));
    expect(NNHAL_INVALID_ARGUMENT);
    desk_begin(&desk);
    desk_input(&desk, DIMS(0, 3), memory, 0, 24);
    desk_input(&desk, DIMS(2, 3), memory, 24, 24);
    desk_output(&desk, DIMS(2, 3), memory, 48, 24);
    expect(NNHAL_INVALID_ARGUMENT);
    desk.inputs[0].dimensions = desk.inputs[1].dimensions;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(outputs_may_stay_open_unless_fenced)
{
    uint64_t execution;

    begin();
    desk_free_prepared(&desk, prepared);
    prepared = desk_prepare(&desk, desk_formula(&desk, 0, NULL));
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 3), memory, 0, 24);
    desk_input(&desk, DIMS(2, 3), memory, 24, 24);
    desk_output(&desk, 0, NULL, memory, 48, 100);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(desk.reply.output_shapes[0].n_dimensions, 2);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    ck_assert_uint_eq(execute_fenced(), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(outputs_overlap_nothing)
{
    uint64_t offsets[] = {0, 23, 24, 47};

    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(offsets); i++) {
        desk.outputs[0].location.offset = offsets[i];
        expect_invalid();
    }
    /* The same memory by another pool is the same memory. */
    desk.pools[1] = desk.pools[0];
    desk.request.n_pools = 2;
    desk.outputs[0].location = (struct nnhal_data_location){.pool_index = 1, .length = 24};
    expect_invalid();
    /* Inputs may. */
    desk.inputs[1].location.offset = 0;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(pools_are_memories_of_this_session)
{
    struct nn_hal *other;
    uint64_t foreign;
    int fd;

    begin();
    desk.pools[0].memory = 0;
    expect_invalid();
    desk.pools[0].token = 1;
    expect_invalid();
    desk.pools[0] = (struct nnhal_request_pool){.token = 1};
    desk.inputs[0].location = desk.inputs[1].location = desk.outputs[0].location =
        (struct nnhal_data_location){.pool_index = 0};
    expect_invalid();
    desk.pools[0].memory = prepared;
    expect_invalid();
    desk.pools[0].memory = UINT64_MAX;
    expect_invalid();
    desk.request.n_pools = NNHAL_MAX_POOLS + 1;
    expect_invalid();
    desk.request.pools = NULL;
    expect_invalid();

    /* Another session's id is nothing here. */
    ck_assert_int_eq(nn_host_open_session(desk.host, NULL, &other), 0);
    fd = memfd_create("other", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    for (int i = 0; i < 3; i++) {
        struct desk second = {.hal = other};

        ck_assert_uint_eq(desk_import(&second, fd, NNHAL_MEMORY_ASHMEM, 0, 4096, 0, &foreign),
                          NNHAL_NONE);
        nn_arena_done(&second.arena);
    }
    close(fd);
    ck_assert_uint_gt(foreign, prepared);
    desk.pools[0].memory = foreign;
    expect_invalid();
    nn_hal_close(other);
    desk_close(&desk);
}
TEST_END

TEST(a_freed_memory_is_gone_for_new_requests)
{
    struct nn_hal_free_memory_args args;
    struct nn_hal_free_memory_reply reply;
    uint64_t execution;

    begin();
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    args.memory = memory;
    for (int i = 0; i < 2; i++)
        ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    expect(NNHAL_INVALID_ARGUMENT);
    /* What was bound before still has it. */
    desk.execution = execution;
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(protection_fits_the_use)
{
    int fd = memfd_create("protected", MFD_CLOEXEC);
    uint64_t readable, writable;

    begin();
    ck_assert_int_eq(ftruncate(fd, 4096), 0);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_READ, 100, 3000, &readable),
                      NNHAL_NONE);
    ck_assert_uint_eq(desk_import(&desk, fd, NNHAL_MEMORY_MMAP_FD, PROT_WRITE, 100, 100, &writable),
                      NNHAL_NONE);
    close(fd);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, readable, 0, 24);
    desk_input(&desk, 0, NULL, readable, 76, 24);
    desk_output(&desk, 0, NULL, writable, 0, 24);
    expect(NNHAL_NONE);
    fake.n_executed = 0;
    desk.outputs[0].location.pool_index = 0;
    desk.outputs[0].location.offset = 30;
    expect(NNHAL_INVALID_ARGUMENT);
    desk.outputs[0].location.pool_index = 1;
    desk.inputs[0].location.pool_index = 1;
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_hardware_buffer_is_an_argument_as_a_whole)
{
    uint64_t odd, wide, buffer, output;

    begin();
    buffer = desk_buffer(&desk, 6, 0);
    output = desk_buffer(&desk, 6, 0);
    wide = desk_buffer(&desk, 7, 0);
    odd = desk_buffer(&desk, 6, 1);
    memset(desk_bytes(&desk, buffer), 0x31, 24);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, buffer, 0, 0);
    desk_input(&desk, 0, NULL, memory, 0, 24);
    desk_output(&desk, 0, NULL, output, 0, 0);
    expect(NNHAL_NONE);
    ck_assert_mem_eq(desk_bytes(&desk, output), desk_bytes(&desk, buffer), 24);
    /* A part of it, twice for one thing, of another size, in an unknown order. */
    desk.inputs[0].location.length = 24;
    expect(NNHAL_INVALID_ARGUMENT);
    desk.inputs[0].location.length = 0;
    desk.pools[desk.outputs[0].location.pool_index].memory = buffer;
    expect(NNHAL_INVALID_ARGUMENT);
    desk.pools[desk.outputs[0].location.pool_index].memory = wide;
    expect(NNHAL_GENERAL_FAILURE);
    desk.pools[desk.outputs[0].location.pool_index].memory = output;
    desk.pools[desk.inputs[0].location.pool_index].memory = wide;
    expect(NNHAL_GENERAL_FAILURE);
    desk.pools[desk.inputs[0].location.pool_index].memory = odd;
    expect(NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

/* Two rows of three pixels, four apart. */
static void fill_rows(uint8_t *pixels)
{
    memset(pixels, 0x77, 32);
    memset(pixels, 0x31, 12);
    memset(pixels + 16, 0x32, 12);
}

TEST(a_padded_picture_is_copied_without_its_gaps)
{
    const uint8_t gap[4] = {0x55, 0x55, 0x55, 0x55};
    uint64_t from, to, narrow, copied;
    uint8_t *pixels;

    begin();
    from = desk_padded(&desk, 3, 2, 4);
    to = desk_padded(&desk, 3, 2, 5);
    narrow = desk_padded(&desk, 2, 2, 4);
    fill_rows(desk_bytes(&desk, from));
    pixels = desk_bytes(&desk, to);
    memset(pixels, 0x55, 40);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, from, 0, 0);
    desk_input(&desk, 0, NULL, memory, 0, 24);
    desk_output(&desk, 0, NULL, to, 0, 0);
    copied = nn_host_copied_bytes(desk.host);
    expect(NNHAL_NONE);
    ck_assert_uint_eq(nn_host_copied_bytes(desk.host) - copied, (uint64_t)fake.n_executed * 48);
    ck_assert_mem_eq(pixels, desk_bytes(&desk, from), 12);
    ck_assert_mem_eq(pixels + 20, (uint8_t *)desk_bytes(&desk, from) + 16, 12);
    ck_assert_mem_eq(pixels + 12, gap, 4);
    ck_assert_mem_eq(pixels + 32, gap, 4);
    /* What fails leaves the picture as it was; what has fewer pixels is no such tensor. */
    memset(pixels, 0x55, 40);
    fake.execute_status = NNHAL_GENERAL_FAILURE;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_mem_eq(pixels, gap, 4);
    desk.pools[desk.inputs[0].location.pool_index].memory = narrow;
    expect(NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(the_two_forms_of_a_request_exclude_each_other)
{
    uint64_t execution;
    struct nn_hal_execute_synchronously_args args;

    begin();
    desk.measure = 2;
    expect(NNHAL_INVALID_ARGUMENT);
    desk_formula_request(&desk, memory, 24);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    args = (struct nn_hal_execute_synchronously_args){
        .execution = execution, .prepared_model = prepared, .deadline_ns = NNHAL_NO_TIME};
    ck_assert_uint_eq(nn_hal_execute_synchronously(desk.hal, &args, &desk.reply, &desk.arena),
                      NNHAL_INVALID_ARGUMENT);
    desk_expect_failure(desk.reply);
    args.prepared_model = 0;
    args.request = desk.request;
    ck_assert_uint_eq(nn_hal_execute_synchronously(desk.hal, &args, &desk.reply, &desk.arena),
                      NNHAL_INVALID_ARGUMENT);
    desk_expect_failure(desk.reply);
    desk_close(&desk);
}
TEST_END

TEST(unknown_ids_are_refused)
{
    begin();
    ck_assert_uint_eq(desk_execute(&desk, prepared + 1000), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_execute(&desk, memory), NNHAL_INVALID_ARGUMENT);
    desk.execution = 0;
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_INVALID_ARGUMENT);
    desk.execution = prepared;
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_INVALID_ARGUMENT);
    desk_free_execution(&desk, 12345);
    desk_free_prepared(&desk, 12345);
    desk_free_prepared(&desk, prepared);
    desk_free_prepared(&desk, prepared);
    ck_assert_uint_eq(fake.n_released, 1);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("requests", a_good_request_is_executed_every_way, counts_equal_the_models,
           an_omitted_argument_says_nothing_else, places_lie_in_their_pools, lengths_are_exact,
           dimensions_agree_with_the_model, inputs_must_end_fully_specified,
           outputs_may_stay_open_unless_fenced, outputs_overlap_nothing,
           pools_are_memories_of_this_session, a_freed_memory_is_gone_for_new_requests,
           protection_fits_the_use, a_hardware_buffer_is_an_argument_as_a_whole,
           a_padded_picture_is_copied_without_its_gaps,
           the_two_forms_of_a_request_exclude_each_other, unknown_ids_are_refused)
