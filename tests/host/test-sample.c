/* SPDX-License-Identifier: Apache-2.0 */
/* The sample driver through the HAL, in this process. */
#include "host/desk.h"

#include "base/sys.h"
#include "base/fence.h"
#include "support/check-main.h"

#include <math.h>
#include <time.h>

static struct desk desk;
static uint64_t memory;
static float *floats; /* the bytes of memory */

static void begin(const char *configuration)
{
    desk_open_sample(&desk, configuration);
    memory = desk_memory(&desk, 4096);
    floats = desk_bytes(&desk, memory);
}

/* x = 1 -2 3 -4 ..., y = 0.5 1.0 1.5 ..., n of each. */
static void fill(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        floats[i] = (float)(i + 1) * (i % 2 ? -1.0f : 1.0f);
        floats[n + i] = 0.5f * (float)(i + 1);
    }
}

static void expect_formula(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        ck_assert_float_eq(floats[2 * n + i], fmaxf(floats[i] * floats[n + i] + floats[i], 0.0f));
}

TEST(the_formula_gives_the_right_numbers)
{
    uint64_t prepared;

    begin(NULL);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(2, 3)));
    fill(6);
    desk_formula_request(&desk, memory, 24);
    desk.measure = 1;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    expect_formula(6);
    ck_assert_uint_eq(desk.reply.n_output_shapes, 1);
    ck_assert_uint_eq(desk.reply.output_shapes[0].n_dimensions, 2);
    ck_assert_uint_le(desk.reply.timing.time_on_device_ns, desk.reply.timing.time_in_driver_ns);
    ck_assert_uint_ne(desk.reply.timing.time_in_driver_ns, NNHAL_NO_TIME);
    desk_close(&desk);
}
TEST_END

TEST(shapes_are_resolved_when_they_are_known)
{
    const uint32_t ranks[] = {0, 2};
    const uint32_t open[] = {0, 3};
    uint64_t prepared;

    begin(NULL);
    for (int i = 0; i < 2; i++) {
        prepared = desk_prepare(&desk, desk_formula(&desk, ranks[i], open));
        for (uint32_t n = 1; n < 4; n++) {
            fill(3 * n);
            desk_begin(&desk);
            desk_input(&desk, DIMS(n, 3), memory, 0, 12ULL * n);
            desk_input(&desk, DIMS(n, 3), memory, 12ULL * n, 12ULL * n);
            desk_output(&desk, 0, NULL, memory, 24ULL * n, 1000);
            ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
            expect_formula(3 * n);
            ck_assert_uint_eq(desk.reply.output_shapes[0].is_sufficient, 1);
            ck_assert_uint_eq(desk.reply.output_shapes[0].n_dimensions, 2);
            ck_assert_uint_eq(desk.reply.output_shapes[0].dimensions[0], n);
            ck_assert_uint_eq(desk.reply.output_shapes[0].dimensions[1], 3);
        }
    }
    desk_close(&desk);
}
TEST_END

TEST(too_little_memory_is_told_with_the_shape)
{
    uint64_t prepared;

    begin(NULL);
    prepared = desk_prepare(&desk, desk_formula(&desk, 0, NULL));
    fill(6);
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 3), memory, 0, 24);
    desk_input(&desk, DIMS(2, 3), memory, 24, 24);
    desk_output(&desk, 0, NULL, memory, 48, 23);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_uint_eq(desk.reply.output_shapes[0].is_sufficient, 0);
    ck_assert_uint_eq(desk.reply.output_shapes[0].n_dimensions, 2);
    ck_assert_uint_eq(desk.reply.output_shapes[0].dimensions[0], 2);
    for (int i = 12; i < 24; i++)
        ck_assert_float_eq(floats[i], 0.0f);
    desk.outputs[0].location.length = 24;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    expect_formula(6);
    desk_close(&desk);
}
TEST_END

TEST(operands_are_broadcast)
{
    uint64_t prepared;

    begin(NULL);
    prepared = desk_prepare(&desk, desk_formula(&desk, 0, NULL));
    fill(6); /* x: 2x3 of 0..5; y: the last three of them */
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 1, 3), memory, 0, 24);
    desk_input(&desk, DIMS(3, 1), memory, 24, 12);
    desk_output(&desk, 0, NULL, memory, 100, 1000);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_uint_eq(desk.reply.output_shapes[0].n_dimensions, 3);
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t j = 0; j < 3; j++) {
            for (uint32_t k = 0; k < 3; k++) {
                float x = floats[3 * i + k], y = floats[6 + j];

                ck_assert_float_eq(floats[25 + 9 * i + 3 * j + k], fmaxf(x * y + x, 0.0f));
            }
        }
    }
    desk_close(&desk);
}
TEST_END

TEST(shapes_that_contradict_are_refused_when_executed)
{
    uint64_t prepared;

    begin(NULL);
    prepared = desk_prepare(&desk, desk_formula(&desk, 0, NULL));
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 3), memory, 0, 24);
    desk_input(&desk, DIMS(2, 2), memory, 24, 16);
    desk_output(&desk, 0, NULL, memory, 100, 1000);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    ck_assert_ptr_nonnull(strstr(desk.reply.message, "contradict each other"));
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 3), memory, 0, 24);
    desk_input(&desk, DIMS(2, 3), memory, 24, 24);
    desk_output(&desk, DIMS(3, 2), memory, 100, 24);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_GENERAL_FAILURE);
    desk_begin(&desk);
    desk_input(&desk, DIMS(2, 3), memory, 0, 24);
    desk_input(&desk, 0, NULL, 0, 0, 0);
    desk_output(&desk, DIMS(2, 3), memory, 100, 24);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(activations_are_fused)
{
    const float expected[4][3] = {
        {-4.0f, 0.5f, 14.0f}, {0.0f, 0.5f, 14.0f}, {-1.0f, 0.5f, 1.0f}, {0.0f, 0.5f, 6.0f}};
    uint64_t prepared;

    begin(NULL);
    for (uint32_t activation = 0; activation < 4; activation++) {
        struct maker_graph *graph = &desk.maker.graphs[0];
        uint32_t x, y, act, z;

        maker_init(&desk.maker, 1);
        x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(3));
        y = maker_constant(&desk.maker, graph, NNHAL_TENSOR_FLOAT32,
                           (const float[]){-2.0f, 0.25f, 7.0f}, 12, DIMS(3));
        act = maker_i32(&desk.maker, graph, (int32_t)activation);
        z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(3));
        maker_operation(graph, NNHAL_OP_MUL, DIMS(x, y, act), 1, &z);
        prepared = desk_prepare(&desk, maker_bind(&desk.maker));
        floats[0] = floats[1] = floats[2] = 2.0f;
        desk_begin(&desk);
        desk_input(&desk, 0, NULL, memory, 0, 12);
        desk_output(&desk, 0, NULL, memory, 12, 12);
        ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
        for (int i = 0; i < 3; i++)
            ck_assert_float_eq(floats[3 + i], expected[activation][i]);
    }
    desk_close(&desk);
}
TEST_END

TEST(constants_are_read_from_pools)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint64_t prepared, pool;
    uint32_t x, y, act, z;

    begin(NULL);
    pool = desk_memory(&desk, 64);
    ((float *)desk_bytes(&desk, pool))[1] = 10.0f;
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(1));
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_CONSTANT_REFERENCE, DIMS(1));
    graph->operands[y].location = (struct nnhal_data_location){.offset = 4, .length = 4};
    act = maker_operand(graph, NNHAL_INT32, NNHAL_CONSTANT_REFERENCE, 0, NULL);
    graph->operands[act].location = (struct nnhal_data_location){.offset = 8, .length = 4};
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1));
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, y, act), 1, &z);
    desk.maker.n_pools = 1;
    desk.maker.pools[0] = pool;
    prepared = desk_prepare(&desk, maker_bind(&desk.maker));
    floats[0] = 1.0f;
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, memory, 0, 4);
    desk_output(&desk, 0, NULL, memory, 4, 4);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    ck_assert_float_eq(floats[1], 11.0f);
    desk_close(&desk);
}
TEST_END

TEST(arguments_need_no_alignment)
{
    unsigned char *bytes;
    uint64_t prepared;
    float z;

    begin(NULL);
    bytes = desk_bytes(&desk, memory);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(1)));
    memcpy(bytes + 1, &(const float){3.0f}, 4);
    memcpy(bytes + 6, &(const float){2.0f}, 4);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, memory, 1, 4);
    desk_input(&desk, 0, NULL, memory, 6, 4);
    desk_output(&desk, 0, NULL, memory, 11, 4);
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    memcpy(&z, bytes + 11, 4);
    ck_assert_float_eq(z, 9.0f);
    desk_close(&desk);
}
TEST_END

/* -- what it accepts ------------------------------------------------------------- */

static void expect_supported(const struct nnhal_model *model, uint32_t n, const uint8_t *expected)
{
    const struct nn_hal_get_supported_operations_args args = {.model = *model};
    struct nn_hal_get_supported_operations_reply reply;

    ck_assert_uint_eq(nn_hal_get_supported_operations(desk.hal, &args, &reply, &desk.arena),
                      NNHAL_NONE);
    ck_assert_uint_eq(reply.n_supported, n);
    ck_assert_mem_eq(reply.supported, expected, n);
    /* A client over the older wire of the loopback gets no sentences. */
    for (uint32_t i = 0; i < n && !NN_TEST_OVER_WIRE; i++)
        ck_assert_int_eq(reply.n_whys && reply.whys[i] != 0, !expected[i]);
}

TEST(other_operations_and_types_are_refused)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint64_t prepared;
    uint32_t x, h, a, b, c;

    begin(NULL);
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(2));
    h = maker_operand(graph, NNHAL_TENSOR_FLOAT16, NNHAL_SUBGRAPH_INPUT, DIMS(2));
    a = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2));
    b = maker_operand(graph, NNHAL_TENSOR_FLOAT16, NNHAL_SUBGRAPH_OUTPUT, DIMS(2));
    c = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(2));
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &a);
    maker_operation(graph, NNHAL_OP_RELU, 1, &h, 1, &b);
    maker_operation(graph, NNHAL_OP_TANH, 1, &x, 1, &c);
    expect_supported(maker_bind(&desk.maker), 3, (const uint8_t[]){1, 0, 0});
    ck_assert_uint_eq(desk_try_prepare(&desk, &desk.maker.model, &prepared),
                      NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

/* A configuration file with this text; the name is used once. */
static const char *write_configuration(const char *text)
{
    static char path[64];
    int fd;

    strcpy(path, "/tmp/nnhal-sample-XXXXXX");
    fd = mkstemp(path);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

TEST(a_file_restricts_what_is_accepted)
{
    const struct {
        const char *text;
        uint8_t supported[3];
    } cases[] = {
        {"# nothing here\n\n", {1, 1, 1}},
        {"operations ADD RELU # not MUL\n", {0, 1, 1}},
        {"operations\n", {0, 0, 0}},
        {"operations MUL ADD RELU\ntypes\n", {0, 0, 0}},
        {"types TENSOR_FLOAT32\noperations MUL", {1, 0, 0}},
    };

    for (size_t i = 0; i < NN_N_ELEMENTS(cases); i++) {
        const char *path = write_configuration(cases[i].text);

        begin(path);
        unlink(path);
        expect_supported(desk_formula(&desk, DIMS(2)), 3, cases[i].supported);
        desk_close(&desk);
    }
}
TEST_END

TEST(a_file_with_an_unknown_word_is_refused)
{
    const char *const texts[] = {"operations ADD CONV_2D\n", "type TENSOR_FLOAT32\n",
                                 "\n\ntypes TENSOR_INT32\n"};

    for (size_t i = 0; i < NN_N_ELEMENTS(texts); i++) {
        const char *path = write_configuration(texts[i]);
        struct nn_host_why why;
        struct nn_host *host;

        ck_assert_int_eq(nn_host_open_module(desk_sample(), path, &why, &host), -ENODEV);
        unlink(path);
        ck_assert_ptr_nonnull(strstr(why.text, "is not known"));
        ck_assert_ptr_nonnull(strstr(why.text, i == 2 ? ":3: " : ":1: "));
    }
}
TEST_END

static uint64_t process_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* A fence that has signalled wakes the thread once, and not as long as another one is waited for. */
TEST(its_queue_sleeps_between_two_fences)
{
    struct nn_hal_execute_fenced_args args = {.deadline_ns = NNHAL_NO_TIME,
                                              .loop_timeout_ns = NNHAL_NO_TIME,
                                              .timeout_after_fence_ns = NNHAL_NO_TIME};
    const struct timespec half = {.tv_nsec = 500000000};
    struct nn_hal_execute_fenced_reply reply;
    int signallers[2], fences[2];
    uint64_t before_ns;

    begin(NULL);
    args.prepared_model = desk_prepare(&desk, desk_formula(&desk, DIMS(6)));
    fill(6);
    desk_formula_request(&desk, memory, 24);
    args.request = desk.request;
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(nn_fence_new(&signallers[i], &fences[i]), 0);
    args.wait_for = fences;
    args.n_wait_for = 2;
    ck_assert_uint_eq(nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    nn_fence_signal(signallers[0]);
    before_ns = process_ns();
    nanosleep(&half, NULL);
    ck_assert_uint_lt(process_ns() - before_ns, 200000000);
    nn_fence_signal(signallers[1]);
    ck_assert_int_eq(nn_fence_wait(reply.sync_fence, NNHAL_NO_TIME), 0);
    expect_formula(6);
    close(reply.sync_fence);
    close(fences[0]);
    close(fences[1]);
    desk_close(&desk);
}
TEST_END

/* One whose fence stays active delays no other; one whose fence fails computes nothing. */
TEST(its_queue_waits_for_fences)
{
    struct nn_hal_execute_fenced_args args = {.deadline_ns = NNHAL_NO_TIME,
                                              .loop_timeout_ns = NNHAL_NO_TIME,
                                              .timeout_after_fence_ns = NNHAL_NO_TIME};
    struct nn_hal_execute_fenced_reply replies[3];
    int signallers[2], fences[2];

    begin(NULL);
    args.prepared_model = desk_prepare(&desk, desk_formula(&desk, DIMS(6)));
    fill(6);
    for (int i = 0; i < 3; i++) {
        desk_formula_request(&desk, memory, 24);
        args.request = desk.request;
        if (i < 2)
            ck_assert_int_eq(nn_fence_new(&signallers[i], &fences[i]), 0);
        args.wait_for = &fences[i];
        args.n_wait_for = i < 2;
        ck_assert_uint_eq(nn_hal_execute_fenced(desk.hal, &args, &replies[i], &desk.arena),
                          NNHAL_NONE);
    }
    ck_assert_int_eq(nn_fence_wait(replies[2].sync_fence, NNHAL_NO_TIME), 0);
    expect_formula(6);
    memset(floats + 12, 0, 24);
    ck_assert_int_eq(nn_fence_check(replies[0].sync_fence), NN_FENCE_E_ACTIVE);
    close(signallers[1]);
    ck_assert_int_eq(nn_fence_wait(replies[1].sync_fence, NNHAL_NO_TIME), NN_FENCE_E_ERROR);
    ck_assert_float_eq(floats[12], 0);
    nn_fence_signal(signallers[0]);
    ck_assert_int_eq(nn_fence_wait(replies[0].sync_fence, NNHAL_NO_TIME), 0);
    expect_formula(6);
    for (int i = 0; i < 3; i++)
        close(replies[i].sync_fence);
    close(fences[0]);
    close(fences[1]);
    desk_close(&desk);
}
TEST_END

/* The session ends while an execution waits for a fence that never signals. */
TEST(its_queue_is_left_by_a_session_that_ends)
{
    struct nn_hal_execute_fenced_args args = {.deadline_ns = NNHAL_NO_TIME,
                                              .loop_timeout_ns = NNHAL_NO_TIME,
                                              .timeout_after_fence_ns = NNHAL_NO_TIME};
    struct nn_hal_execute_fenced_reply reply;
    int signaller, fence;

    begin(NULL);
    args.prepared_model = desk_prepare(&desk, desk_formula(&desk, DIMS(6)));
    desk_formula_request(&desk, memory, 24);
    args.request = desk.request;
    ck_assert_int_eq(nn_fence_new(&signaller, &fence), 0);
    args.wait_for = &fence;
    args.n_wait_for = 1;
    ck_assert_uint_eq(nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    desk_close(&desk);
    ck_assert_int_eq(nn_fence_check(reply.sync_fence), NN_FENCE_E_ERROR);
    close(reply.sync_fence);
    close(signaller);
    close(fence);
}
TEST_END

CHECK_MAIN("sample", the_formula_gives_the_right_numbers, shapes_are_resolved_when_they_are_known,
           too_little_memory_is_told_with_the_shape, operands_are_broadcast,
           shapes_that_contradict_are_refused_when_executed, activations_are_fused,
           constants_are_read_from_pools, arguments_need_no_alignment,
           other_operations_and_types_are_refused, a_file_restricts_what_is_accepted,
           a_file_with_an_unknown_word_is_refused, its_queue_waits_for_fences,
           its_queue_sleeps_between_two_fences, its_queue_is_left_by_a_session_that_ends)
