/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers in executions: who may use which, in what state, of what shape; the
 * same for every way of executing the request and every holder of the bytes. */
#include "host/burst-line.h"

#include "base/fence.h"
#include "host/memory/buffer.h"
#include "support/check-main.h"
#include "support/fake-driver.h"
#include "support/loopback.h"

static const uint32_t types[] = {NNHAL_TENSOR_FLOAT32, NNHAL_TENSOR_FLOAT16,
                                 NNHAL_TENSOR_QUANT8_ASYMM, NNHAL_TENSOR_INT32};

/* The ways in which a request is executed. */
enum way {
    ONCE,
    REUSABLE,
    BURST,
    FENCED,
    REUSABLE_FENCED,
    N_WAYS,
};

static struct desk desk;
static uint64_t prepared, memory;
static uint32_t type, n_bytes;
static struct desk_buffer in, out;
static struct line line;

/* z = x + y of [2,3]; what x and z can be is in a buffer each, and one memory
 * has y and the other arguments. Six elements take n_bytes. */
static void begin(uint32_t of_type, uint32_t n, const uint32_t *dimensions)
{
    struct desk_wish wish;

    type = of_type;
    n_bytes = 6 * nn_type_bytes(type);
    fake_holds_buffers = NN_TEST_HELD_BY_DRIVER;
    desk_open(&desk);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_sum(&desk, type, n, dimensions));
    wish = desk_wish(prepared, 0, 0);
    in = desk_allocate(&desk, &wish);
    out = desk_allocate(&desk, &wish);
}

static void begin_fixed(uint32_t of_type)
{
    begin(of_type, DIMS(2, 3));
}

static uint64_t value(uint8_t first, uint32_t n)
{
    uint64_t of = desk_memory(&desk, n);
    uint8_t *bytes = desk_bytes(&desk, of);

    for (uint32_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(first + i);
    return of;
}

static void initialize(struct desk_buffer buffer, uint8_t first)
{
    ck_assert_uint_eq(desk_copy_from(&desk, buffer.id, value(first, n_bytes), DIMS(2, 3)),
                      NNHAL_NONE);
}

static bool is_initialized(struct desk_buffer buffer)
{
    uint32_t status = desk_copy_to(&desk, buffer.id, desk_memory(&desk, n_bytes));

    ck_assert(status == NNHAL_NONE || status == NNHAL_GENERAL_FAILURE);
    return status == NNHAL_NONE;
}

static void expect_value(struct desk_buffer buffer, uint8_t first)
{
    uint64_t copy = desk_memory(&desk, n_bytes);
    const uint8_t *bytes = desk_bytes(&desk, copy);

    ck_assert_uint_eq(desk_copy_to(&desk, buffer.id, copy), NNHAL_NONE);
    for (uint32_t i = 0; i < n_bytes; i++)
        ck_assert_uint_eq(bytes[i], (uint8_t)(first + i));
}

/* x in one buffer, z in another. */
static void request(void)
{
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, in.token);
    desk_input(&desk, DIMS(2, 3), memory, 0, n_bytes);
    desk_output_token(&desk, 0, NULL, out.token);
}

/* A burst of one request. */
static uint32_t execute_burst(void)
{
    uint32_t status;

    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    status = line_execute(&line);
    line_close(&line, true);
    return status;
}

/* What the request as it stands comes to, from binding or from running. */
static uint32_t execute(enum way way)
{
    uint64_t execution;
    uint32_t status;

    if (way == BURST)
        return execute_burst();
    if (way == ONCE)
        return desk_execute(&desk, prepared);
    if (way == FENCED)
        return desk_execute_fenced(&desk, prepared);
    status = desk_create_execution(&desk, prepared, &execution);
    if (status != NNHAL_NONE)
        return status;
    desk.execution = execution;
    status = way == REUSABLE ? desk_execute(&desk, 0) : desk_execute_fenced(&desk, 0);
    desk_free_execution(&desk, execution);
    return status;
}

static void expect(uint32_t status)
{
    for (enum way way = 0; way < N_WAYS; way++)
        ck_assert_uint_eq(execute(way), status);
}

/* The same for what a burst's packet cannot say. */
static void expect_without_burst(uint32_t status)
{
    for (enum way way = 0; way < N_WAYS; way++)
        if (way != BURST)
            ck_assert_uint_eq(execute(way), status);
}

TEST(buffers_are_read_and_written_in_place)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++)
        for (enum way way = 0; way < N_WAYS; way++) {
            begin_fixed(types[i]);
            initialize(in, 7);
            request();
            ck_assert_uint_eq(execute(way), NNHAL_NONE);
            ck_assert_ptr_nonnull(fake.input_data);
            ck_assert_ptr_nonnull(fake.output_data);
            expect_value(out, 7);
            expect_value(in, 7);
            desk_close(&desk);
        }
}
TEST_END

TEST(state_goes_from_execution_to_execution)
{
    uint64_t forth, back;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    request();
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &forth), NNHAL_NONE);
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, out.token);
    desk_input(&desk, 0, NULL, memory, 0, n_bytes);
    desk_output_token(&desk, 0, NULL, in.token);
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &back), NNHAL_NONE);
    initialize(in, 1);
    for (int i = 0; i < 10; i++) {
        desk.execution = i % 2 ? back : forth;
        ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_NONE);
    }
    expect_value(in, 1);
    expect_value(out, 1);
    desk_close(&desk);
}
TEST_END

TEST(a_steady_burst_knows_what_became_of_its_buffers)
{
    struct desk_wish wish;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    request();
    line_open(&line, &desk, prepared, 64, 64);
    line_set_all(&line);
    ck_assert_uint_eq(line_execute(&line), NNHAL_GENERAL_FAILURE); /* x holds no value */
    initialize(in, 1);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    initialize(in, 7);
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    expect_value(out, 7);
    desk_free_buffer(&desk, in.id);
    ck_assert_uint_eq(line_execute(&line), NNHAL_INVALID_ARGUMENT);
    wish = desk_wish(prepared, 0, -1);
    in = desk_allocate(&desk, &wish);
    initialize(in, 9);
    desk.pools[0].token = in.token;
    ck_assert_uint_eq(line_execute(&line), NNHAL_NONE);
    expect_value(out, 9);
    line_close(&line, true);
    desk_close(&desk);
}
TEST_END

/* What crosses between client and service. */
static uint64_t n_wire_bytes, n_wire_fds;

static void count_message(void *ctx, const struct nn_codec_message *message)
{
    n_wire_bytes += message->n_bytes;
    n_wire_fds += message->n_fds;
}

TEST(a_state_costs_the_wire_a_token)
{
    enum { N_FLOATS = 1 << 18, N_STEPS = 100 };
    const struct loopback_observer observer = {.call = count_message, .reply = count_message};
    struct desk_wish wish;
    uint64_t value_memory, n_copied;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    desk.hal = loopback_hal(desk.hal, &observer);
    prepared = desk_prepare(&desk, desk_sum(&desk, type, DIMS(N_FLOATS)));
    wish = desk_wish(prepared, 0, 0);
    in = desk_allocate(&desk, &wish);
    out = desk_allocate(&desk, &wish);
    value_memory = desk_memory(&desk, 4 * N_FLOATS);
    ck_assert_uint_eq(desk_copy_from(&desk, in.id, value_memory, 0, NULL), NNHAL_NONE);
    fake.writes_nothing = true; /* it is the bytes on the way that count */
    n_copied = nn_host_copied_bytes(desk.host);
    ck_assert_uint_eq(n_copied, 4 * N_FLOATS);
    n_wire_bytes = n_wire_fds = 0;
    for (int i = 0; i < N_STEPS; i++) {
        desk_begin(&desk);
        desk_input_token(&desk, 0, NULL, i % 2 ? out.token : in.token);
        desk_input(&desk, 0, NULL, 0, 0, 0);
        desk_output_token(&desk, 0, NULL, i % 2 ? in.token : out.token);
        ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_NONE);
    }
    ck_assert_uint_eq(nn_host_copied_bytes(desk.host), n_copied);
    ck_assert_uint_eq(n_wire_fds, 0);
    ck_assert_uint_lt(n_wire_bytes, N_STEPS * 600);
    ck_assert_uint_eq(desk_copy_to(&desk, in.id, value_memory), NNHAL_NONE);
    ck_assert_uint_eq(nn_host_copied_bytes(desk.host), 2 * n_copied);
    desk_close(&desk);
}
TEST_END

/* -- tokens and roles --------------------------------------------------------------- */

TEST(a_token_names_a_live_buffer)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        begin_fixed(types[i]);
        initialize(in, 1);
        request();
        desk.pools[0].token = 0;
        expect_without_burst(NNHAL_INVALID_ARGUMENT);
        desk.pools[0].token = in.token + 1;
        expect(NNHAL_INVALID_ARGUMENT);
        desk.pools[0].token = in.token;
        desk.pools[0].memory = memory;
        expect_without_burst(NNHAL_INVALID_ARGUMENT);
        desk.pools[0].memory = 0;
        expect(NNHAL_NONE);
        desk_free_buffer(&desk, in.id);
        expect(NNHAL_INVALID_ARGUMENT);
        ck_assert(is_initialized(out));
        desk_close(&desk);
    }
}
TEST_END

TEST(a_token_that_no_argument_uses_is_judged_too)
{
    begin_fixed(NNHAL_TENSOR_FLOAT32);
    initialize(in, 1);
    request();
    desk.pools[desk.request.n_pools++] = (struct nnhal_request_pool){.token = 77};
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_freed_buffer_ends_a_reusable_execution)
{
    uint64_t execution;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    initialize(in, 1);
    request();
    ck_assert_uint_eq(desk_create_execution(&desk, prepared, &execution), NNHAL_NONE);
    desk.execution = execution;
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_NONE);
    desk_free_buffer(&desk, in.id);
    ck_assert_uint_eq(desk_execute(&desk, 0), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_execute_fenced(&desk, 0), NNHAL_INVALID_ARGUMENT);
    expect_value(out, 1); /* a refusal changes nothing */
    desk_close(&desk);
}
TEST_END

TEST(a_buffer_serves_its_roles_only)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        struct desk_wish wish;
        uint64_t other;

        begin_fixed(types[i]);
        initialize(in, 1);
        /* Another input. */
        desk_begin(&desk);
        desk_input(&desk, 0, NULL, memory, 0, n_bytes);
        desk_input_token(&desk, 0, NULL, in.token);
        desk_output(&desk, 0, NULL, memory, 1024, n_bytes);
        expect(NNHAL_INVALID_ARGUMENT);
        /* An output, with a buffer for an input; an input, with one for an output. */
        wish = desk_wish(prepared, 0, -1);
        out = desk_allocate(&desk, &wish);
        request();
        expect(NNHAL_INVALID_ARGUMENT);
        wish = desk_wish(prepared, -1, 0);
        in = out = desk_allocate(&desk, &wish);
        initialize(in, 1);
        desk_begin(&desk);
        desk_input_token(&desk, 0, NULL, in.token);
        desk_input(&desk, 0, NULL, memory, 0, n_bytes);
        desk_output(&desk, 0, NULL, memory, 1024, n_bytes);
        expect(NNHAL_INVALID_ARGUMENT);
        /* The same model, prepared once more. */
        other = desk_prepare(&desk, &desk.maker.model);
        wish = desk_wish(other, 0, 0);
        in = desk_allocate(&desk, &wish);
        initialize(in, 1);
        desk.pools[0].token = in.token;
        expect(NNHAL_INVALID_ARGUMENT);
        prepared = other;
        expect(NNHAL_NONE);
        desk_close(&desk);
    }
}
TEST_END

TEST(a_buffer_outlives_the_model_of_its_roles)
{
    begin_fixed(NNHAL_TENSOR_FLOAT32);
    initialize(in, 1);
    desk_free_prepared(&desk, prepared);
    expect_value(in, 1);
    prepared = desk_prepare(&desk, &desk.maker.model);
    request();
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_buffer_is_used_as_a_whole)
{
    struct nnhal_data_location *locations[] = {&desk.inputs[0].location, &desk.outputs[0].location};

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    initialize(in, 1);
    for (int i = 0; i < 2; i++) {
        request();
        locations[i]->length = n_bytes;
        expect(NNHAL_INVALID_ARGUMENT);
        locations[i]->length = 0;
        locations[i]->offset = 4;
        expect(NNHAL_INVALID_ARGUMENT);
        locations[i]->offset = 0;
        locations[i]->padding = 1;
        expect_without_burst(NNHAL_INVALID_ARGUMENT);
    }
    desk_close(&desk);
}
TEST_END

TEST(one_buffer_is_one_output_or_several_inputs)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        struct desk_wish wish;

        begin_fixed(types[i]);
        initialize(in, 1);
        /* Input and output, by one pool and by two. */
        out = in;
        request();
        expect(NNHAL_INVALID_ARGUMENT);
        desk.pools[desk.request.n_pools] = desk.pools[0];
        desk.outputs[0].location.pool_index = desk.request.n_pools++;
        expect(NNHAL_INVALID_ARGUMENT);
        /* Both inputs, by one pool and by two. */
        wish = desk_wish(prepared, 0, -1);
        wish.inputs[1] = (struct nnhal_buffer_role){.io_index = 1, .frequency = 0.5f};
        wish.n_inputs = 2;
        in = desk_allocate(&desk, &wish);
        initialize(in, 3);
        desk_begin(&desk);
        desk_input_token(&desk, 0, NULL, in.token);
        desk_input_token(&desk, 0, NULL, in.token);
        desk_output(&desk, 0, NULL, memory, 0, n_bytes);
        expect(NNHAL_NONE);
        desk.pools[2] = desk.pools[0];
        desk.request.n_pools = 3;
        desk.inputs[1].location.pool_index = 2;
        expect(NNHAL_NONE);
        ck_assert_uint_eq(*(uint8_t *)desk_bytes(&desk, memory), 3);
        desk_close(&desk);
    }
}
TEST_END

TEST(two_outputs_are_two_buffers)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    struct desk_wish wish;
    uint32_t x, y, z;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, type, NNHAL_SUBGRAPH_INPUT, DIMS(2, 3));
    y = maker_operand(graph, type, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 3));
    z = maker_operand(graph, type, NNHAL_SUBGRAPH_OUTPUT, DIMS(2, 3));
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &y);
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &z);
    prepared = desk_prepare(&desk, maker_bind(&desk.maker));
    wish = desk_wish(prepared, -1, 0);
    wish.outputs[1] = (struct nnhal_buffer_role){.io_index = 1, .frequency = 1};
    wish.n_outputs = 2;
    in = desk_allocate(&desk, &wish);
    out = desk_allocate(&desk, &wish);
    desk_begin(&desk);
    desk_input(&desk, 0, NULL, memory, 0, n_bytes);
    desk_output_token(&desk, 0, NULL, out.token);
    desk_output_token(&desk, 0, NULL, out.token);
    expect(NNHAL_INVALID_ARGUMENT);
    desk.pools[desk.request.n_pools++] = (struct nnhal_request_pool){.token = in.token};
    desk.outputs[1].location.pool_index = 2;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

/* -- states ------------------------------------------------------------------------- */

TEST(an_input_holds_a_value)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        begin_fixed(types[i]);
        request();
        expect(NNHAL_GENERAL_FAILURE);
        ck_assert_uint_eq(fake.n_executed, 0);
        initialize(in, 1);
        expect(NNHAL_NONE);
        desk_close(&desk);
    }
}
TEST_END

TEST(a_failed_execution_leaves_no_value)
{
    for (enum way way = 0; way < N_WAYS; way++) {
        begin_fixed(NNHAL_TENSOR_FLOAT32);
        initialize(in, 1);
        initialize(out, 9);
        request();
        fake.execute_status = NNHAL_GENERAL_FAILURE;
        ck_assert_uint_eq(execute(way), NNHAL_GENERAL_FAILURE);
        ck_assert(!is_initialized(out));
        expect_value(in, 1); /* inputs are as they were */
        fake.execute_status = NNHAL_NONE;
        ck_assert_uint_eq(execute(way), NNHAL_NONE);
        expect_value(out, 1);
        desk_close(&desk);
    }
}
TEST_END

TEST(a_refused_execution_changes_nothing)
{
    begin_fixed(NNHAL_TENSOR_FLOAT32);
    initialize(out, 9);
    request();
    expect(NNHAL_GENERAL_FAILURE); /* x holds no value */
    expect_value(out, 9);
    initialize(in, 1);
    desk.deadline_ns = 1;
    ck_assert_uint_eq(desk_execute(&desk, prepared), NNHAL_MISSED_DEADLINE_PERSISTENT);
    expect_value(out, 9);
    desk_close(&desk);
}
TEST_END

/* -- shapes -------------------------------------------------------------------------- */

TEST(an_inputs_dimensions_are_its_values)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        begin(types[i], DIMS(0, 3));
        initialize(in, 1);
        desk_begin(&desk);
        desk_input_token(&desk, DIMS(3, 3), in.token);
        desk_input(&desk, DIMS(2, 3), memory, 0, n_bytes);
        desk_output(&desk, DIMS(2, 3), memory, 1024, n_bytes);
        expect(NNHAL_INVALID_ARGUMENT);
        desk.inputs[0].n_dimensions = 1;
        expect(NNHAL_INVALID_ARGUMENT);
        desk.inputs[0].n_dimensions = 2;
        desk.inputs[0].dimensions = (const uint32_t[]){2, 3};
        expect(NNHAL_NONE);
        desk.inputs[0].dimensions = (const uint32_t[]){0, 3};
        expect(NNHAL_NONE);
        desk.inputs[0].n_dimensions = 0;
        expect(NNHAL_NONE);
        desk_close(&desk);
    }
}
TEST_END

TEST(an_outputs_dimensions_agree_with_its_buffer)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        struct desk_wish wish;

        begin(types[i], DIMS(0, 0));
        initialize(in, 1);
        wish = desk_wish(prepared, -1, 0);
        wish.n_dimensions = 2;
        wish.dimensions = (const uint32_t[]){0, 3};
        out = desk_allocate(&desk, &wish);
        request();
        desk.outputs[0].n_dimensions = 2;
        desk.outputs[0].dimensions = (const uint32_t[]){3, 2};
        expect(NNHAL_INVALID_ARGUMENT);
        desk.outputs[0].dimensions = (const uint32_t[]){2, 3};
        expect(NNHAL_NONE);
        desk_close(&desk);
    }
}
TEST_END

/* Open shapes, which a fenced execution does not take. */
static void expect_unfenced(uint32_t status)
{
    ck_assert_uint_eq(execute(ONCE), status);
    ck_assert_uint_eq(execute(REUSABLE), status);
    ck_assert_uint_eq(execute(BURST), status);
    ck_assert_uint_eq(execute(FENCED), NNHAL_INVALID_ARGUMENT);
}

TEST(a_buffer_of_open_shape_takes_whatever_is_computed)
{
    static const uint32_t rows[] = {2, 5000, 3, 1, 20000};

    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        begin(types[i], DIMS(0, 3));
        request();
        for (size_t j = 0; j < NN_N_ELEMENTS(rows); j++) {
            uint32_t n = rows[j] * n_bytes / 2, dimensions[] = {rows[j], 3};
            uint64_t first = value((uint8_t)j, n), copy = desk_memory(&desk, n);

            ck_assert_uint_eq(desk_copy_from(&desk, in.id, first, 2, dimensions), NNHAL_NONE);
            expect_unfenced(NNHAL_NONE);
            ck_assert_uint_eq(desk_copy_to(&desk, out.id, copy), NNHAL_NONE);
            ck_assert_mem_eq(desk_bytes(&desk, copy), desk_bytes(&desk, first), n);
        }
        desk_close(&desk);
    }
}
TEST_END

/* Its room is not looked for again while a value fits, be there some to spare or none. */
TEST(a_buffer_with_room_stays_where_it_is)
{
    for (uint32_t n_rows = 0; n_rows <= 2; n_rows += 2) {
        const void *place;

        begin(NNHAL_TENSOR_FLOAT32, DIMS(n_rows, 3));
        initialize(in, 1);
        request();
        ck_assert_uint_eq(execute(ONCE), NNHAL_NONE);
        place = fake.output_data;
        for (int i = 0; i < 3; i++) {
            ck_assert_uint_eq(execute(ONCE), NNHAL_NONE);
            ck_assert_ptr_eq(fake.output_data, place);
            ck_assert_uint_eq(execute(BURST), NNHAL_NONE);
            ck_assert_ptr_eq(fake.output_data, place);
        }
        desk_close(&desk);
    }
}
TEST_END

static uint32_t rows_said;
static uint64_t capacities[3];

/* Says of the output that it did not fit, first without a number. */
static void say_insufficient_twice(struct nnhal_execution *execution)
{
    struct nnhal_output *output = &execution->outputs[0];

    capacities[rows_said] = output->capacity;
    output->is_insufficient = rows_said < 2;
    output->dimensions[0] = rows_said == 0 ? 0 : rows_said == 1 ? 6000 : 2;
    fake.execute_status = rows_said < 2 ? NNHAL_OUTPUT_INSUFFICIENT_SIZE : NNHAL_NONE;
    rows_said++;
}

TEST(a_driver_need_not_know_how_much_it_lacks)
{
    begin(NNHAL_TENSOR_FLOAT32, DIMS(0, 3));
    initialize(in, 1);
    request();
    ck_assert_uint_eq(execute(ONCE), NNHAL_NONE);
    rows_said = 0;
    fake.on_execute = say_insufficient_twice;
    ck_assert_uint_eq(execute(ONCE), NNHAL_NONE);
    ck_assert_uint_eq(rows_said, 3);
    ck_assert_uint_ge(capacities[0], n_bytes);
    ck_assert_uint_eq(capacities[1], 2 * capacities[0]);
    ck_assert_uint_eq(capacities[2], 6000 * n_bytes / 2);
    ck_assert_ptr_null(desk.reply.message);
    expect_value(out, 1);
    desk_close(&desk);
}
TEST_END

TEST(a_fenced_output_of_known_shape_finds_room)
{
    uint32_t n = 9000 * 4;

    begin(NNHAL_TENSOR_FLOAT32, DIMS(0));
    ck_assert_uint_eq(desk_copy_from(&desk, in.id, value(3, n), DIMS(9000)), NNHAL_NONE);
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, in.token);
    desk_input(&desk, DIMS(9), memory, 0, 36);
    desk_output_token(&desk, DIMS(9000), out.token);
    ck_assert_uint_eq(execute(FENCED), NNHAL_NONE);
    ck_assert_uint_eq(desk_copy_to(&desk, out.id, desk_memory(&desk, n)), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(an_output_larger_than_its_buffer_is_a_failure)
{
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        struct desk_wish wish;
        uint32_t n;

        begin(types[i], DIMS(0, 3));
        wish = desk_wish(prepared, -1, 0);
        wish.n_dimensions = 2;
        wish.dimensions = (const uint32_t[]){2, 3};
        out = desk_allocate(&desk, &wish);
        initialize(out, 5);
        n = 3 * n_bytes / 2;
        ck_assert_uint_eq(desk_copy_from(&desk, in.id, value(1, n), DIMS(3, 3)), NNHAL_NONE);
        request();
        expect_unfenced(NNHAL_GENERAL_FAILURE);
        ck_assert(!is_initialized(out));
        /* Nor one that is smaller. */
        ck_assert_uint_eq(desk_copy_from(&desk, in.id, value(1, n_bytes / 2), DIMS(1, 3)),
                          NNHAL_NONE);
        expect_unfenced(NNHAL_GENERAL_FAILURE);
        initialize(in, 1);
        expect_unfenced(NNHAL_NONE);
        desk_close(&desk);
    }
}
TEST_END

TEST(an_output_that_exceeds_the_quota_is_told_so)
{
    const struct nn_host_session_options options = {
        .limits = {.buffer_bytes = 3 * 4096 + 2 * sizeof(struct nn_buffer_role)}};
    struct desk_wish wish;

    fake_holds_buffers = NN_TEST_HELD_BY_DRIVER;
    desk_open_with(&desk, &options);
    memory = desk_memory(&desk, 8192);
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, 0, NULL));
    wish = desk_wish(prepared, -1, 0);
    out = desk_allocate(&desk, &wish);
    in = desk_allocate(&desk, &wish);
    desk_begin(&desk);
    desk_input(&desk, DIMS(2048), memory, 0, 8192);
    desk_input(&desk, DIMS(2048), memory, 0, 8192);
    desk_output_token(&desk, 0, NULL, out.token);
    ck_assert_uint_eq(execute(ONCE), NNHAL_NONE);
    desk.pools[1].token = in.token;
    ck_assert_uint_eq(execute(ONCE), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    desk_free_buffer(&desk, out.id);
    ck_assert_uint_eq(execute(ONCE), NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

/* y = relu(x), z = relu(x), of any length; in and out serve as both outputs. */
static void begin_two_outputs(void)
{
    const struct nn_host_session_options options = {
        .limits = {.buffer_bytes = 3 * 4096 + 4 * sizeof(struct nn_buffer_role)}};
    struct maker_graph *graph = &desk.maker.graphs[0];
    struct desk_wish wish;
    uint32_t x, y, z;

    type = NNHAL_TENSOR_FLOAT32;
    n_bytes = 6 * nn_type_bytes(type);
    fake_holds_buffers = NN_TEST_HELD_BY_DRIVER;
    desk_open_with(&desk, &options);
    memory = desk_memory(&desk, 8192);
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, type, NNHAL_SUBGRAPH_INPUT, DIMS(0));
    y = maker_operand(graph, type, NNHAL_SUBGRAPH_OUTPUT, DIMS(0));
    z = maker_operand(graph, type, NNHAL_SUBGRAPH_OUTPUT, DIMS(0));
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &y);
    maker_operation(graph, NNHAL_OP_RELU, 1, &x, 1, &z);
    prepared = desk_prepare(&desk, maker_bind(&desk.maker));
    wish = desk_wish(prepared, -1, 0);
    wish.outputs[1] = (struct nnhal_buffer_role){.io_index = 1, .frequency = 1};
    wish.n_outputs = 2;
    in = desk_allocate(&desk, &wish);
    out = desk_allocate(&desk, &wish);
}

/* There is room for one of the two, which is made before the other is refused. */
TEST(room_that_is_made_in_vain_costs_no_value)
{
    begin_two_outputs();
    ck_assert_uint_eq(desk_copy_from(&desk, out.id, value(9, n_bytes), DIMS(6)), NNHAL_NONE);
    desk_begin(&desk);
    desk_input(&desk, DIMS(2048), memory, 0, 8192);
    desk_output_token(&desk, DIMS(2048), out.token);
    desk_output_token(&desk, DIMS(2048), in.token);
    ck_assert_uint_eq(execute(ONCE), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_uint_eq(fake.n_executed, 0);
    expect_value(out, 9);
    desk_close(&desk);
}
TEST_END

/* -- concurrent use ------------------------------------------------------------------ */

static uint64_t launch(struct desk_buffer from, struct desk_buffer to, int *ret_fence)
{
    struct nn_hal_execute_fenced_args args = {.prepared_model = prepared,
                                              .deadline_ns = NNHAL_NO_TIME,
                                              .loop_timeout_ns = NNHAL_NO_TIME,
                                              .timeout_after_fence_ns = NNHAL_NO_TIME};
    struct nn_hal_execute_fenced_reply reply;

    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, from.token);
    desk_input(&desk, 0, NULL, memory, 0, n_bytes);
    desk_output_token(&desk, 0, NULL, to.token);
    args.request = desk.request;
    ck_assert_uint_eq(nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    *ret_fence = reply.sync_fence;
    return reply.callback;
}

static void await(int fence, int result)
{
    ck_assert_int_eq(nn_fence_wait(fence, UINT64_MAX), result);
    close(fence);
}

TEST(while_one_writes_nobody_else_may)
{
    int fence;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    initialize(in, 1);
    initialize(out, 2);
    fake_gate_close();
    launch(in, out, &fence);
    fake_gate_wait(1);
    /* A reader is welcome where one reads. */
    expect_value(in, 1);
    ck_assert_uint_eq(desk_copy_from(&desk, in.id, value(3, n_bytes), 0, NULL),
                      NNHAL_GENERAL_FAILURE);
    /* No reader while one writes. */
    ck_assert_uint_eq(desk_copy_to(&desk, out.id, desk_memory(&desk, n_bytes)),
                      NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(desk_copy_from(&desk, out.id, value(3, n_bytes), 0, NULL),
                      NNHAL_GENERAL_FAILURE);
    request();
    ck_assert_uint_eq(execute(ONCE), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(execute(REUSABLE), NNHAL_GENERAL_FAILURE);
    ck_assert_uint_eq(execute(BURST), NNHAL_GENERAL_FAILURE);
    fake_gate_open();
    await(fence, 0);
    expect_value(out, 1);
    expect_value(in, 1);
    desk_close(&desk);
}
TEST_END

TEST(a_freed_buffer_stays_for_who_uses_it)
{
    const struct nn_host_session_options options = {
        .limits = {.buffer_bytes = 48 + 6 * sizeof(struct nn_buffer_role)}};
    struct desk_buffer third;
    struct desk_wish wish;
    int fence;

    n_bytes = 24;
    type = NNHAL_TENSOR_FLOAT32;
    fake_holds_buffers = NN_TEST_HELD_BY_DRIVER;
    desk_open_with(&desk, &options);
    memory = desk_memory(&desk, 4096);
    prepared = desk_prepare(&desk, desk_sum(&desk, type, DIMS(2, 3)));
    wish = desk_wish(prepared, 0, 0);
    in = desk_allocate(&desk, &wish);
    out = desk_allocate(&desk, &wish);
    initialize(in, 1);
    fake_gate_close();
    launch(in, out, &fence);
    fake_gate_wait(1);
    desk_free_buffer(&desk, in.id);
    ck_assert_uint_eq(desk_copy_to(&desk, in.id, memory), NNHAL_INVALID_ARGUMENT);
    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &third), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    fake_gate_open();
    await(fence, 0);
    expect_value(out, 1);
    third = desk_allocate(&desk, &wish);
    ck_assert_uint_eq(desk_copy_to(&desk, third.id, desk_memory(&desk, 24)), NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

TEST(fences_put_writer_and_reader_in_order)
{
    struct nn_hal_execute_fenced_args args = {.deadline_ns = NNHAL_NO_TIME,
                                              .loop_timeout_ns = NNHAL_NO_TIME,
                                              .timeout_after_fence_ns = NNHAL_NO_TIME,
                                              .n_wait_for = 1};
    struct nn_hal_execute_fenced_reply reply;
    struct desk_wish wish;
    struct desk_buffer last;
    int fence;

    begin_fixed(NNHAL_TENSOR_FLOAT32);
    wish = desk_wish(prepared, 0, 0);
    last = desk_allocate(&desk, &wish);
    initialize(in, 5);
    fake_gate_close();
    launch(in, out, &fence); /* out holds nothing yet, and its reader is launched */
    desk_begin(&desk);
    desk_input_token(&desk, 0, NULL, out.token);
    desk_input(&desk, 0, NULL, memory, 0, n_bytes);
    desk_output_token(&desk, 0, NULL, last.token);
    args.prepared_model = prepared;
    args.request = desk.request;
    args.wait_for = &fence;
    ck_assert_uint_eq(nn_hal_execute_fenced(desk.hal, &args, &reply, &desk.arena), NNHAL_NONE);
    fake_gate_open();
    await(reply.sync_fence, 0);
    close(fence);
    expect_value(last, 5);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("buffers", buffers_are_read_and_written_in_place, state_goes_from_execution_to_execution,
           a_steady_burst_knows_what_became_of_its_buffers, a_state_costs_the_wire_a_token,
           a_token_names_a_live_buffer, a_token_that_no_argument_uses_is_judged_too,
           a_freed_buffer_ends_a_reusable_execution, a_buffer_serves_its_roles_only,
           a_buffer_outlives_the_model_of_its_roles, a_buffer_is_used_as_a_whole,
           one_buffer_is_one_output_or_several_inputs, two_outputs_are_two_buffers,
           an_input_holds_a_value, a_failed_execution_leaves_no_value,
           a_refused_execution_changes_nothing, an_inputs_dimensions_are_its_values,
           an_outputs_dimensions_agree_with_its_buffer,
           a_buffer_of_open_shape_takes_whatever_is_computed, a_buffer_with_room_stays_where_it_is,
           a_driver_need_not_know_how_much_it_lacks, a_fenced_output_of_known_shape_finds_room,
           an_output_larger_than_its_buffer_is_a_failure,
           an_output_that_exceeds_the_quota_is_told_so, room_that_is_made_in_vain_costs_no_value,
           while_one_writes_nobody_else_may, a_freed_buffer_stays_for_who_uses_it,
           fences_put_writer_and_reader_in_order)
