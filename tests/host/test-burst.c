/* SPDX-License-Identifier: Apache-2.0 */
/* Bursts of a host: what travels through the queues comes out as from an
 * ordinary execution, slots keep memories, and everything ends. */
#include "host/burst-line.h"

#include "base/sys.h"
#include "host/burst/cache.h"
#include "support/check-main.h"
#include "support/fail-alloc.h"
#include "support/fake-driver.h"
#include "support/fds.h"

#include <semaphore.h>

#define NS_PER_MS UINT64_C(1000000)

static struct desk desk;
static struct line line;
static uint64_t memory, prepared;

/* The model with 4 floats, and a burst for it. */
static void begin_with(const struct nn_host_session_options *options)
{
    desk_open_with(&desk, options);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    line_open(&line, &desk, prepared, 64, 64);
}

static void begin(void)
{
    begin_with(NULL);
    line_set_all(&line);
}

static void end(void)
{
    line_close(&line, true);
    desk_close(&desk);
}

/* -- executions --------------------------------------------------------------- */

TEST(a_burst_gives_what_an_execution_gives)
{
    float *bytes, expected[4];

    desk_open_sample(&desk, NULL);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    bytes = desk_bytes(&desk, memory);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 8; i++)
            bytes[i] = (float)(round * 8 + i) / 3.0f - 20.0f;
        ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
        memcpy(expected, bytes + 8, sizeof(expected));
        memset(bytes + 8, 0xff, sizeof(expected));
        ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
        ck_assert_mem_eq(expected, bytes + 8, sizeof(expected));
        ck_assert_uint_eq(line.result.n_output_shapes, 1);
        ck_assert_uint_eq(line.result.output_shapes[0].is_sufficient, 1);
        ck_assert_uint_eq(line.result.output_shapes[0].n_dimensions, 1);
        ck_assert_uint_eq(line.result.output_shapes[0].dimensions[0], 4);
        ck_assert_uint_eq(line.result.timing.time_in_driver_ns, NNHAL_NO_TIME);
    }
    end();
}
TEST_END

TEST(measuring_is_asked_for)
{
    begin();
    line.measure = 1;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_uint_ne(line.result.timing.time_in_driver_ns, NNHAL_NO_TIME);
    line.measure = 0;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_uint_eq(line.result.timing.time_in_driver_ns, NNHAL_NO_TIME);
    end();
}
TEST_END

TEST(several_requests_in_flight_are_answered_in_order)
{
    begin();
    fake_gate_close();
    line_pack(&line);
    for (int i = 0; i < 5; i++)
        line_send(&line);
    fake_gate_wait(1);
    fake_gate_open();
    for (uint32_t i = 1; i <= 5; i++) {
        line_receive(&line);
        ck_assert_uint_eq(line.result.sequence, i);
        ck_assert_uint_eq(line.result.status, NNHAL_NONE);
    }
    ck_assert_uint_eq(fake.n_executed, 5);
    end();
}
TEST_END

TEST(different_requests_in_turn_keep_their_arguments)
{
    uint64_t other;
    float *bytes, *other_bytes;

    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    other = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    bytes = desk_bytes(&desk, memory);
    other_bytes = desk_bytes(&desk, other);
    /* More of them than are remembered. */
    for (uint32_t round = 0; round < 40; round++) {
        uint32_t which = round % (NN_BURST_CACHE_BINDINGS + 2);
        uint64_t from = which * 16;

        desk_begin(&desk);
        desk_input(&desk, 0, NULL, memory, from, 16);
        desk_input(&desk, 0, NULL, memory, 1024, 16);
        desk_output(&desk, 0, NULL, other, from, 16);
        bytes[from / 4] = (float)round;
        ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
        ck_assert_float_eq(other_bytes[from / 4], (float)round);
    }
    end();
}
TEST_END

TEST(deadlines_and_loop_timeouts_reach_the_driver)
{
    begin();
    line.loop_timeout_ns = 123456;
    for (uint64_t i = 1; i < 4; i++) { /* the same request but for its deadline */
        line.deadline_ns = nn_sys_now_ns() + i * 1000000000000;
        ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
        ck_assert_uint_eq(fake.deadline_ns, line.deadline_ns);
        ck_assert_uint_eq(fake.loop_timeout_ns, 123456);
    }
    line.deadline_ns = nn_sys_now_ns() - 1;
    ck_assert_uint_eq(line_execute(&line), NNHAL_MISSED_DEADLINE_PERSISTENT);
    line_expect_refusal(&line, NNHAL_MISSED_DEADLINE_PERSISTENT);
    line.deadline_ns = NNHAL_NO_TIME;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(a_failure_of_the_driver_is_the_results_status)
{
    static const uint32_t statuses[] = {NNHAL_GENERAL_FAILURE, NNHAL_RESOURCE_EXHAUSTED_TRANSIENT,
                                        NNHAL_RESOURCE_EXHAUSTED_PERSISTENT,
                                        NNHAL_MISSED_DEADLINE_TRANSIENT};

    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(statuses); i++) {
        fake.execute_status = statuses[i];
        line_execute(&line);
        line_expect_refusal(&line, statuses[i]);
    }
    fake.execute_status = NNHAL_NONE;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(an_output_that_is_too_small_is_told_with_its_shape)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(0)));
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    desk_begin(&desk);
    desk_input(&desk, DIMS(4), memory, 0, 16);
    desk_input(&desk, DIMS(4), memory, 16, 16);
    desk_output(&desk, 0, NULL, memory, 32, 4);
    ck_assert_uint_eq(line_execute(&line), NNHAL_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_uint_eq(line.result.n_output_shapes, 1);
    ck_assert_uint_eq(line.result.output_shapes[0].is_sufficient, 0);
    ck_assert_uint_eq(line.result.output_shapes[0].dimensions[0], 4);
    end();
}
TEST_END

/* Its results have 2 + 2 * (1 + 4) elements. */
static const struct nnhal_model *two_outputs(void)
{
    struct maker *maker = &desk.maker;
    struct maker_graph *graph = &maker->graphs[0];
    uint32_t x, y, none, sum, product;

    maker_init(maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(1, 1, 1, 4));
    y = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(1, 1, 1, 4));
    none = maker_i32(maker, graph, NNHAL_FUSED_NONE);
    sum = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1, 1, 1, 4));
    product = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1, 1, 1, 4));
    maker_operation(graph, NNHAL_OP_ADD, DIMS(x, y, none), 1, &sum);
    maker_operation(graph, NNHAL_OP_MUL, DIMS(x, y, none), 1, &product);
    return maker_bind(maker);
}

/* z = concatenation of N_MANY tensors of rank 4 and open shape. */
#define N_MANY 300

static const struct nnhal_model *concatenation(void)
{
    static struct nnhal_operand operands[N_MANY + 2];
    static uint32_t lists[N_MANY + 2];
    static const uint32_t open_dimensions[4], axis;
    static struct nnhal_operation operation;
    static struct nnhal_model model;

    for (uint32_t i = 0; i < N_MANY + 2; i++) {
        lists[i] = i;
        operands[i] = (struct nnhal_operand){.type = NNHAL_TENSOR_FLOAT32,
                                             .lifetime = NNHAL_SUBGRAPH_INPUT,
                                             .n_dimensions = 4,
                                             .dimensions = open_dimensions};
    }
    operands[N_MANY] = (struct nnhal_operand){
        .type = NNHAL_INT32, .lifetime = NNHAL_CONSTANT_COPY, .location = {.length = sizeof(axis)}};
    operands[N_MANY + 1].lifetime = NNHAL_SUBGRAPH_OUTPUT;
    operation = (struct nnhal_operation){.type = NNHAL_OP_CONCATENATION,
                                         .n_inputs = N_MANY + 1,
                                         .n_outputs = 1,
                                         .inputs = lists,
                                         .outputs = &lists[N_MANY + 1]};
    model = (struct nnhal_model){.main = {.n_operands = N_MANY + 2,
                                          .operands = operands,
                                          .n_operations = 1,
                                          .operations = &operation,
                                          .n_input_indexes = N_MANY,
                                          .input_indexes = lists,
                                          .n_output_indexes = 1,
                                          .output_indexes = &lists[N_MANY + 1]}};
    model.operand_values.data = (const uint8_t *)&axis;
    model.operand_values.size = sizeof(axis);
    return &model;
}

TEST(a_packet_may_have_more_than_1024_elements)
{
    static struct nnhal_request_argument inputs[N_MANY];
    const uint32_t dimensions[4] = {1, 1, 1, 4};
    const struct nn_burst_pool pool = {.slot = 0};
    struct nnhal_request_argument output = {.location = {.offset = 64, .length = 4 * 4 * N_MANY}};
    const struct nn_burst_request request = {.deadline_ns = NNHAL_NO_TIME,
                                             .loop_timeout_ns = NNHAL_NO_TIME,
                                             .n_inputs = N_MANY,
                                             .n_outputs = 1,
                                             .n_pools = 1,
                                             .inputs = inputs,
                                             .outputs = &output,
                                             .pools = &pool};

    desk_open(&desk);
    memory = desk_memory(&desk, 16384);
    prepared = desk_prepare(&desk, concatenation());
    for (int i = 0; i < N_MANY; i++)
        inputs[i] = (struct nnhal_request_argument){
            .location = {.length = 16}, .n_dimensions = 4, .dimensions = dimensions};
    line_open(&line, &desk, prepared, LINE_ELEMENTS, 64);
    line_set_all(&line);
    ck_assert_int_eq(nn_burst_request_encode(&request, line.data, LINE_ELEMENTS, &line.n_data), 0);
    ck_assert_uint_gt(line.n_data, 1024);
    for (uint32_t i = 1; i <= 5; i++) { /* the end of the queue is crossed */
        ((float *)desk_bytes(&desk, memory))[0] = (float)i;
        line_send(&line);
        line_receive(&line);
        ck_assert_uint_eq(line.result.status, NNHAL_NONE);
        ck_assert_float_eq(((float *)desk_bytes(&desk, memory))[16], (float)i);
    }
    end();
}
TEST_END

TEST(a_result_that_does_not_fit_the_queue_is_a_failure_without_shapes)
{
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, two_outputs());
    desk_formula_request(&desk, memory, 16);
    desk_output(&desk, 0, NULL, memory, 48, 16);
    line_open(&line, &desk, prepared, 64, 8);
    line_set_all(&line);
    for (uint32_t i = 1; i <= 5; i++) {
        line_execute(&line);
        line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
        ck_assert_uint_eq(fake.n_executed, i); /* once: nothing was repeated */
    }
    end();
}
TEST_END

TEST(a_token_of_no_buffer_is_refused)
{
    begin();
    desk.pools[0] = (struct nnhal_request_pool){.token = 77};
    line_execute(&line);
    line_expect_refusal(&line, NNHAL_INVALID_ARGUMENT);
    desk.pools[0] = (struct nnhal_request_pool){.memory = memory};
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(a_steady_burst_takes_no_memory)
{
    struct nnhal_fmq_result_datum answer[64];
    uint32_t n = 0;
    int r = 0;

    begin();
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    fail_alloc_arm(1);
    for (int i = 0; i < 1000 && r == 0; i++) {
        for (uint32_t j = 0; j < line.n_data; j++)
            line.data[j].sequence = (uint32_t)i + 10;
        r = nn_ring_write(line.requests, line.data, line.n_data);
        if (r == 0)
            r = nn_ring_wait_to_read(line.results, 1, NNHAL_NO_TIME);
        if (r == 0)
            r = nn_burst_receive_result(line.results, answer, &n);
        if (r == 0 && answer[0].of.packet_information.error_status != NNHAL_NONE)
            r = -1;
    }
    ck_assert(fail_alloc_disarm());
    ck_assert_int_eq(r, 0);
    ck_assert_uint_eq(fake.n_executed, 1002);
    end();
}
TEST_END

/* -- slots ------------------------------------------------------------------------ */

TEST(a_memory_stays_in_its_slot_after_its_id_was_freed)
{
    const struct nn_hal_free_memory_args args = {.memory = 0};
    struct nn_hal_free_memory_args of = args;
    struct nn_hal_free_memory_reply reply;
    size_t n_mapped;

    begin();
    of.memory = memory;
    ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &of, &reply, &desk.arena), NNHAL_NONE);
    n_mapped = count_mappings("memfd:desk");
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    line_free(&line, 0); /* and with it the binding that was kept */
    ck_assert_uint_eq(count_mappings("memfd:desk"), n_mapped - 1);
    end();
}
TEST_END

TEST(freeing_a_slot_while_it_is_used_waits_for_nobody)
{
    size_t n_mapped = 0;
    const struct nn_hal_free_memory_args args = {.memory = 1};
    struct nn_hal_free_memory_reply reply;

    begin();
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    fake_gate_close();
    line_pack(&line);
    line_send(&line);
    fake_gate_wait(1);
    ck_assert_uint_eq(memory, args.memory);
    ck_assert_uint_eq(nn_hal_free_memory(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    n_mapped = count_mappings("memfd:desk");
    line_free(&line, 0);
    ck_assert_uint_eq(count_mappings("memfd:desk"), n_mapped); /* the run has it */
    fake_gate_open();
    line_receive(&line);
    ck_assert_uint_eq(line.result.status, NNHAL_NONE);
    line_close(&line, true);
    ck_assert_uint_lt(count_mappings("memfd:desk"), n_mapped);
    desk_close(&desk);
}
TEST_END

TEST(slots_have_rules)
{
    uint64_t other;

    begin();
    other = desk_memory(&desk, 4096);
    ck_assert_uint_eq(line_set(&line, 0, memory), NNHAL_NONE); /* again */
    ck_assert_uint_eq(line_set(&line, 0, other), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, -1, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, INT32_MIN, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, NN_BURST_CACHE_SLOTS, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, INT32_MAX, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, 5, 0), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, 5, prepared), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(line_set(&line, NN_BURST_CACHE_SLOTS - 1, other), NNHAL_NONE);
    for (int i = 0; i < 2; i++) { /* freeing what is free is no error */
        line_free(&line, 0);
        line_free(&line, -1);
        line_free(&line, INT32_MAX);
    }
    ck_assert_uint_eq(line_set(&line, 0, other), NNHAL_NONE);
    end();
}
TEST_END

TEST(a_slot_with_another_memory_means_the_other_memory)
{
    uint64_t other;

    begin();
    other = desk_memory(&desk, 4096);
    ((float *)desk_bytes(&desk, memory))[0] = 1.0f;
    ((float *)desk_bytes(&desk, other))[0] = 2.0f;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_float_eq(((float *)desk_bytes(&desk, memory))[8], 1.0f);
    line_free(&line, 0);
    ck_assert_uint_eq(line_set(&line, 0, other), NNHAL_NONE);
    line_pack(&line); /* the same packet */
    line_send(&line);
    line_receive(&line);
    ck_assert_uint_eq(line.result.status, NNHAL_NONE);
    ck_assert_float_eq(((float *)desk_bytes(&desk, other))[8], 2.0f);
    ck_assert_float_eq(((float *)desk_bytes(&desk, memory))[8], 1.0f);
    end();
}
TEST_END

/* What the device asks for. */
static struct {
    _Atomic uint32_t n_events, n_slots;
    _Atomic uint64_t burst;
    _Atomic int32_t first;
    sem_t asked;
} wanted;

static void on_get_memories(void *ctx, const struct nn_hal_get_memories_event *event)
{
    wanted.n_events++;
    wanted.n_slots += event->n_slots;
    wanted.burst = event->burst;
    wanted.first = event->slots[0];
    sem_post(&wanted.asked);
}

static void begin_wanting(void)
{
    const struct nn_host_session_options options = {.uid = getuid(),
                                                    .listener = {.get_memories = on_get_memories}};

    sem_init(&wanted.asked, 0, 0);
    begin_with(&options);
}

TEST(empty_slots_are_asked_for_and_waited_for)
{
    begin_wanting();
    line_pack(&line);
    line_send(&line);
    sem_wait(&wanted.asked);
    ck_assert_uint_eq(wanted.n_events, 1);
    ck_assert_uint_eq(wanted.n_slots, 1);
    ck_assert_uint_eq(wanted.burst, line.burst);
    ck_assert_int_eq(wanted.first, 0);
    ck_assert_uint_eq(fake.n_executed, 0);
    line_set_all(&line);
    line_receive(&line);
    ck_assert_uint_eq(line.result.status, NNHAL_NONE);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    ck_assert_uint_eq(wanted.n_events, 1);
    end();
}
TEST_END

TEST(slots_that_stay_empty_are_not_waited_for_for_ever)
{
    begin_wanting();
    line.deadline_ns = nn_sys_now_ns() + 20 * NS_PER_MS;
    line_execute(&line);
    line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
    line.deadline_ns = NNHAL_NO_TIME;
    line_execute(&line);
    line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(fake.n_executed, 0);
    line_set_all(&line);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(without_a_listener_an_empty_slot_is_refused_at_once)
{
    begin_with(NULL);
    line_execute(&line);
    line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
    line_set_all(&line);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(a_burst_that_waits_for_slots_ends)
{
    begin_wanting();
    line_pack(&line);
    line_send(&line);
    sem_wait(&wanted.asked);
    end();
}
TEST_END

TEST(many_slots_are_asked_for_in_pieces)
{
    struct nnhal_fmq_request_datum *data = line.data;
    const uint32_t n_pools = 600;
    uint32_t n;

    begin_wanting();
    line_close(&line, true);
    line_open(&line, &desk, prepared, LINE_ELEMENTS, 64);
    line_pack(&line);
    n = line.n_data;
    data[n - 2 + n_pools] = data[n - 1]; /* the end, after the pools */
    for (uint32_t i = 0; i < n_pools; i++) {
        data[n - 2 + i] = data[n - 2];
        data[n - 2 + i].of.pool_identifier.slot = (int32_t)(i % 500); /* each is asked for once */
    }
    line.n_data = n - 1 + n_pools;
    data[0].of.packet_information.packet_size = line.n_data;
    data[0].of.packet_information.n_pools = n_pools;
    data[line.n_data - 1].of.measure_timing.deadline_ns = nn_sys_now_ns() + 20 * NS_PER_MS;
    line_send(&line);
    line_receive(&line);
    line_expect_refusal(&line, NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(wanted.n_events, 2);
    ck_assert_uint_eq(wanted.n_slots, 500);
    end();
}
TEST_END

/* -- beginning and end --------------------------------------------------------------- */

TEST(bursts_leave_nothing_behind)
{
    const char *rounds = getenv("NN_TEST_ROUNDS");
    int n_rounds = rounds ? atoi(rounds) : 200;
    size_t n_fds, n_threads, n_mappings;

    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    n_fds = count_fds();
    n_threads = count_threads();
    n_mappings = count_mappings("memfd:");
    for (int i = 0; i < n_rounds; i++) {
        line_open(&line, &desk, prepared, 64, 64);
        if (i % 50 == 0)
            line_expect_threads(n_threads + 1);
        line_set_all(&line);
        if (i % 4 > 0)
            ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
        line_close(&line, true);
    }
    line_expect_threads(n_threads);
    ck_assert_uint_eq(count_mappings("memfd:"), n_mappings);
    ck_assert_uint_eq(count_fds(), n_fds);
    desk_close(&desk);
}
TEST_END

TEST(the_end_of_the_session_ends_its_bursts)
{
    static struct line lines[8];
    size_t n_threads = count_threads();

    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    desk_formula_request(&desk, memory, 16);
    for (int i = 0; i < 8; i++) {
        line_open(&lines[i], &desk, prepared, 64, 64);
        line_set_all(&lines[i]);
        ck_assert_uint_eq(line_execute(&lines[i]), NNHAL_NONE);
    }
    desk_free_prepared(&desk, prepared); /* the bursts have it */
    ck_assert_uint_eq(line_execute(&lines[0]), NNHAL_NONE);
    desk_close(&desk);
    line_expect_threads(n_threads);
    for (int i = 0; i < 8; i++)
        line_close(&lines[i], false);
}
TEST_END

TEST(the_end_of_the_session_cancels_the_execution)
{
    begin();
    fake_gate_close();
    line_pack(&line);
    line_send(&line);
    fake_gate_wait(1);
    desk_close(&desk);
    ck_assert_uint_eq(fake.was_cancelled, 1);
    line_close(&line, false);
}
TEST_END

TEST(a_client_that_takes_no_results_does_not_hold_the_end_up)
{
    begin();
    line_close(&line, true);
    line_open(&line, &desk, prepared, 1024, 8); /* two results fit */
    line_set_all(&line);
    line_pack(&line);
    for (int i = 0; i < 20; i++)
        line_send(&line);
    while (fake.n_executed < 2)
        sched_yield();
    end();
}
TEST_END

TEST(descriptors_are_judged)
{
    struct nn_hal_configure_execution_burst_args good = {.prepared_model = 0}, args;
    struct nn_hal_configure_execution_burst_reply reply;
    struct nnhal_fmq_descriptor queue;
    struct nn_ring *unsynchronized;

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        args = good;                                                                               \
        change;                                                                                    \
        ck_assert_uint_eq(nn_hal_configure_execution_burst(desk.hal, &args, &reply, &desk.arena),  \
                          NNHAL_INVALID_ARGUMENT);                                                 \
        desk_expect_failure(reply);                                                                \
    } while (0)

    begin();
    good.prepared_model = prepared;
    nn_ring_descriptor(line.requests, &queue);
    good.requests = (struct nn_hal_queue_descriptor){queue.n_elements, queue.element_size,
                                                     queue.flavour, queue.fd};
    nn_ring_descriptor(line.results, &queue);
    good.results = (struct nn_hal_queue_descriptor){queue.n_elements, queue.element_size,
                                                    queue.flavour, queue.fd};
    REFUSED(args.prepared_model = 0);
    REFUSED(args.prepared_model = memory);
    REFUSED(args.requests = args.results);
    REFUSED(args.results = good.requests);
    for (int is_results = 0; is_results < 2; is_results++) {
#define OF(member) (is_results ? &args.results.member : &args.requests.member)
        REFUSED(*OF(n_elements) = 0);
        REFUSED(*OF(n_elements) = 1);
        REFUSED(*OF(n_elements) = 2048);
        REFUSED(*OF(element_size) = 0);
        REFUSED(*OF(element_size) = 16);
        REFUSED(*OF(element_size) = UINT32_MAX);
        REFUSED(*OF(flavour) = 0);
        REFUSED(*OF(flavour) = NNHAL_FMQ_UNSYNCHRONIZED);
        REFUSED(*OF(flavour) = 3);
        REFUSED(*OF(fd) = STDERR_FILENO);
#undef OF
    }
    ck_assert_int_eq(nn_ring_new(64, sizeof(struct nnhal_fmq_request_datum),
                                 NNHAL_FMQ_UNSYNCHRONIZED, NULL, &unsynchronized),
                     0);
    nn_ring_free(unsynchronized);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

TEST(bursts_and_their_queues_are_counted)
{
    static struct line lines[3];
    const struct nn_host_session_options options = {
        .uid = getuid(), .limits = {.n_bursts = 2, .burst_bytes = 64 * (48 + 32) * 2}};

    desk_open_with(&desk, &options);
    prepared = desk_prepare(&desk, desk_formula(&desk, DIMS(4)));
    line_open(&lines[0], &desk, prepared, 64, 64);
    ck_assert_uint_eq(line_try_open(&lines[1], &desk, prepared, 64, 65),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    line_open(&lines[1], &desk, prepared, 64, 64);
    line_close(&lines[0], true);
    line_open(&lines[0], &desk, prepared, 60, 60);
    ck_assert_uint_eq(line_try_open(&lines[2], &desk, prepared, 2, 2),
                      NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    line_close(&lines[1], true);
    line_open(&lines[2], &desk, prepared, 2, 2);
    line_close(&lines[2], true);
    line_close(&lines[0], true);
    desk_close(&desk);
}
TEST_END

TEST(methods_of_no_burst)
{
    begin();
    line.burst += 1000;
    ck_assert_uint_eq(line_set(&line, 0, memory), NNHAL_INVALID_ARGUMENT);
    line_free(&line, 0);
    line.burst -= 1000;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    end();
}
TEST_END

CHECK_MAIN("burst", a_burst_gives_what_an_execution_gives, measuring_is_asked_for,
           several_requests_in_flight_are_answered_in_order,
           different_requests_in_turn_keep_their_arguments,
           deadlines_and_loop_timeouts_reach_the_driver,
           a_failure_of_the_driver_is_the_results_status,
           an_output_that_is_too_small_is_told_with_its_shape,
           a_packet_may_have_more_than_1024_elements,
           a_result_that_does_not_fit_the_queue_is_a_failure_without_shapes,
           a_token_of_no_buffer_is_refused, a_steady_burst_takes_no_memory,
           a_memory_stays_in_its_slot_after_its_id_was_freed,
           freeing_a_slot_while_it_is_used_waits_for_nobody, slots_have_rules,
           a_slot_with_another_memory_means_the_other_memory,
           empty_slots_are_asked_for_and_waited_for,
           slots_that_stay_empty_are_not_waited_for_for_ever,
           without_a_listener_an_empty_slot_is_refused_at_once, a_burst_that_waits_for_slots_ends,
           many_slots_are_asked_for_in_pieces, bursts_leave_nothing_behind,
           the_end_of_the_session_ends_its_bursts, the_end_of_the_session_cancels_the_execution,
           a_client_that_takes_no_results_does_not_hold_the_end_up, descriptors_are_judged,
           bursts_and_their_queues_are_counted, methods_of_no_burst)
