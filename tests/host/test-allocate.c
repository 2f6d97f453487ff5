/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers are asked for: what is granted, what is refused and how, what they cost. */
#include "host/desk.h"

#include "base/sys.h"
#include "host/memory/buffer.h"
#include "support/check-main.h"
#include "support/fake-driver.h"

#include <math.h>

static const uint32_t types[] = {NNHAL_TENSOR_FLOAT32, NNHAL_TENSOR_FLOAT16,
                                 NNHAL_TENSOR_QUANT8_ASYMM, NNHAL_TENSOR_INT32};

static struct desk desk;
static uint64_t prepared;
static struct desk_wish wish;

/* z = x + y of [2,3]; the wish is a buffer for x and z. */
static void begin(void)
{
    desk_open(&desk);
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(2, 3)));
    wish = desk_wish(prepared, 0, 0);
}

/* The wish as it stands has this status; it is a good one again afterwards. */
static void expect(uint32_t status)
{
    struct desk_buffer buffer;

    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), status);
    if (status == NNHAL_NONE)
        desk_free_buffer(&desk, buffer.id);
    wish = desk_wish(prepared, 0, 0);
}

TEST(a_buffer_of_every_type_is_granted)
{
    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(types); i++) {
        prepared = desk_prepare(&desk, desk_sum(&desk, types[i], DIMS(2, 3)));
        wish = desk_wish(prepared, 0, 0);
        expect(NNHAL_NONE);
        wish = desk_wish(prepared, 0, -1);
        expect(NNHAL_NONE);
        wish = desk_wish(prepared, -1, 0);
        expect(NNHAL_NONE);
        wish.n_dimensions = 2;
        wish.dimensions = (const uint32_t[]){2, 0};
        expect(NNHAL_NONE);
    }
    desk_close(&desk);
}
TEST_END

TEST(a_buffer_has_models_and_roles)
{
    begin();
    wish.n_prepared = 0;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.n_inputs = wish.n_outputs = 0;
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(models_are_prepared_ones_of_this_session)
{
    uint64_t freed;

    begin();
    freed = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(2, 3)));
    desk_free_prepared(&desk, freed);
    for (int i = 0; i < 4; i++) {
        const uint64_t bad[] = {0, freed, UINT64_MAX, desk_memory(&desk, 16)};

        wish.prepared[0] = bad[i];
        expect(NNHAL_INVALID_ARGUMENT);
        wish.prepared[1] = bad[i]; /* one that no role is of */
        wish.n_prepared = 2;
        expect(NNHAL_INVALID_ARGUMENT);
    }
    desk_close(&desk);
}
TEST_END

TEST(roles_are_in_range)
{
    begin();
    wish.inputs[0].model_index = 1;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.outputs[0].model_index = UINT32_MAX;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.inputs[0].io_index = 2;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.outputs[0].io_index = 1;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.outputs[0].io_index = UINT32_MAX;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.inputs[0].io_index = 1;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(frequencies_are_above_0_and_at_most_1)
{
    const float bad[] = {0.0f, -0.5f, 1.01f, 100.0f, NAN, INFINITY};

    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(bad); i++) {
        wish.inputs[0].frequency = bad[i];
        expect(NNHAL_INVALID_ARGUMENT);
        wish.outputs[0].frequency = bad[i];
        expect(NNHAL_INVALID_ARGUMENT);
    }
    wish.inputs[0].frequency = 1e-30f;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

TEST(a_role_is_named_once)
{
    begin();
    wish.inputs[1] = wish.inputs[0];
    wish.n_inputs = 2;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.outputs[1] = wish.outputs[0];
    wish.n_outputs = 2;
    expect(NNHAL_INVALID_ARGUMENT);
    /* Also by another index of the same model. */
    wish.prepared[1] = prepared;
    wish.n_prepared = 2;
    wish.inputs[1] = (struct nnhal_buffer_role){.model_index = 1, .io_index = 0, .frequency = 1};
    wish.n_inputs = 2;
    expect(NNHAL_INVALID_ARGUMENT);
    wish.prepared[1] = prepared;
    wish.n_prepared = 2;
    wish.inputs[1] = (struct nnhal_buffer_role){.model_index = 1, .io_index = 1, .frequency = 1};
    wish.n_inputs = 2;
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

/* A role of another model beside the good ones. */
static void add_role_of(const struct nnhal_model *model)
{
    wish.prepared[1] = desk_prepare(&desk, model);
    wish.n_prepared = 2;
    wish.inputs[1] = (struct nnhal_buffer_role){.model_index = 1, .io_index = 1, .frequency = 1};
    wish.n_inputs = 2;
}

TEST(roles_agree_in_type_scale_and_zero_point)
{
    struct nnhal_operand *operands = desk.maker.graphs[0].operands;

    begin();
    for (size_t i = 1; i < NN_N_ELEMENTS(types); i++) {
        add_role_of(desk_sum(&desk, types[i], DIMS(2, 3)));
        expect(NNHAL_INVALID_ARGUMENT);
    }
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_QUANT8_ASYMM, DIMS(2, 3)));
    wish = desk_wish(prepared, 0, 0);
    add_role_of(desk_sum(&desk, NNHAL_TENSOR_QUANT8_ASYMM, DIMS(2, 3)));
    expect(NNHAL_NONE);
    desk_sum(&desk, NNHAL_TENSOR_QUANT8_ASYMM, DIMS(2, 3));
    operands[1].scale = 0.25f;
    add_role_of(&desk.maker.model);
    expect(NNHAL_INVALID_ARGUMENT);
    desk_sum(&desk, NNHAL_TENSOR_QUANT8_ASYMM, DIMS(2, 3));
    operands[1].zero_point = 3;
    add_role_of(&desk.maker.model);
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(roles_agree_in_dimensions)
{
    begin();
    add_role_of(desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(3, 2)));
    expect(NNHAL_INVALID_ARGUMENT);
    add_role_of(desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(2, 3, 1)));
    expect(NNHAL_INVALID_ARGUMENT);
    add_role_of(desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(0, 3)));
    expect(NNHAL_NONE);
    add_role_of(desk_sum(&desk, NNHAL_TENSOR_FLOAT32, 0, NULL));
    expect(NNHAL_NONE);
    /* Three that agree by pairs with the first only. */
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(0, 3)));
    wish = desk_wish(prepared, 0, 0);
    add_role_of(desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(2, 3)));
    wish.prepared[2] = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(4, 3)));
    wish.n_prepared = 3;
    wish.inputs[2] = (struct nnhal_buffer_role){.model_index = 2, .io_index = 0, .frequency = 1};
    wish.n_inputs = 3;
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(the_description_agrees_with_the_roles)
{
    const struct {
        uint32_t n;
        uint32_t dimensions[3];
        uint32_t status;
    } cases[] = {
        {2, {2, 3}, NNHAL_NONE},          {2, {0, 3}, NNHAL_NONE},
        {2, {0, 0}, NNHAL_NONE},          {2, {3, 2}, NNHAL_INVALID_ARGUMENT},
        {1, {6}, NNHAL_INVALID_ARGUMENT}, {3, {2, 3, 1}, NNHAL_INVALID_ARGUMENT},
    };

    begin();
    for (size_t i = 0; i < NN_N_ELEMENTS(cases); i++) {
        wish.n_dimensions = cases[i].n;
        wish.dimensions = cases[i].dimensions;
        expect(cases[i].status);
    }
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, 0, NULL));
    wish = desk_wish(prepared, 0, 0);
    wish.n_dimensions = 2;
    wish.dimensions = (const uint32_t[]){65536, 65536};
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_scalar_has_no_dimensions)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint32_t x, axis, z;

    begin();
    maker_init(&desk.maker, 1);
    x = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_INPUT, DIMS(2));
    axis = maker_operand(graph, NNHAL_INT32, NNHAL_SUBGRAPH_INPUT, 0, NULL);
    z = maker_operand(graph, NNHAL_TENSOR_FLOAT32, NNHAL_SUBGRAPH_OUTPUT, DIMS(1, 2));
    maker_operation(graph, NNHAL_OP_EXPAND_DIMS, DIMS(x, axis), 1, &z);
    prepared = desk_prepare(&desk, maker_bind(&desk.maker));
    wish = desk_wish(prepared, 1, -1);
    expect(NNHAL_NONE);
    wish = desk_wish(prepared, 1, -1);
    wish.n_dimensions = 1;
    wish.dimensions = (const uint32_t[]){1};
    expect(NNHAL_INVALID_ARGUMENT);
    desk_close(&desk);
}
TEST_END

TEST(a_type_without_a_size_is_refused)
{
    struct maker_graph *graph = &desk.maker.graphs[0];
    uint32_t x, z;

    begin();
    maker_init(&desk.maker, 1);
    desk.maker.prefixes[0] = (struct nnhal_extension_prefix){.name = "com.example", .prefix = 1};
    desk.maker.n_prefixes = 1;
    x = maker_operand(graph, 1u << 16, NNHAL_SUBGRAPH_INPUT, DIMS(2));
    z = maker_operand(graph, 1u << 16, NNHAL_SUBGRAPH_OUTPUT, DIMS(2));
    maker_operation(graph, 1u << 16, 1, &x, 1, &z);
    prepared = desk_prepare(&desk, maker_bind(&desk.maker));
    wish = desk_wish(prepared, 0, 0);
    expect(NNHAL_GENERAL_FAILURE);
    desk_close(&desk);
}
TEST_END

/* -- tokens ------------------------------------------------------------------------ */

TEST(tokens_are_distinct_and_not_in_a_row)
{
    enum { N = 512 };
    struct desk_buffer buffers[N];
    uint32_t n_close = 0;

    begin();
    for (uint32_t i = 0; i < N; i++) {
        buffers[i] = desk_allocate(&desk, &wish);
        for (uint32_t j = 0; j < i; j++)
            ck_assert_uint_ne(buffers[i].token, buffers[j].token);
        if (i > 0 && buffers[i].token - buffers[i - 1].token + 65536 < 131072)
            n_close++;
    }
    ck_assert_uint_lt(n_close, 8); /* of random ones 1 in 32768 */
    desk_close(&desk);
}
TEST_END

TEST(without_random_numbers_there_is_no_buffer)
{
    struct desk_buffer buffer;

    begin();
    nn_sys_fault_errno = EIO;
    nn_sys_fault = 2; /* the pages, then the token */
    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_int_eq(nn_sys_fault, 0);
    nn_sys_fault = 1;
    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

/* What two roles cost, beside the value. */
#define ROLES_BYTES (2 * sizeof(struct nn_buffer_role))

/* -- limits ----------------------------------------------------------------------- */

static void begin_with(const struct nn_host_session_options *options)
{
    desk_open_with(&desk, options);
    prepared = desk_prepare(&desk, desk_sum(&desk, NNHAL_TENSOR_FLOAT32, DIMS(1024)));
    wish = desk_wish(prepared, 0, 0);
}

TEST(a_session_has_so_many_buffers)
{
    const struct nn_host_session_options options = {.limits = {.n_buffers = 2}};
    struct desk_buffer one, other;

    begin_with(&options);
    one = desk_allocate(&desk, &wish);
    other = desk_allocate(&desk, &wish);
    expect(NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    desk_free_buffer(&desk, other.id);
    expect(NNHAL_NONE);
    desk_free_buffer(&desk, one.id);
    desk_close(&desk);
}
TEST_END

TEST(a_session_has_so_many_bytes_and_others_go_on)
{
    const struct nn_host_session_options options = {
        .uid = 1, .limits = {.buffer_bytes = 2 * (4096 + ROLES_BYTES)}};
    const struct nn_host_session_options neighbor = {.uid = 2};
    struct nn_hal *other, *mine;
    struct desk_buffer buffer;

    begin_with(&options);
    mine = desk.hal;
    desk_allocate(&desk, &wish);
    desk_allocate(&desk, &wish);
    expect(NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    ck_assert_int_eq(nn_host_open_session(desk.host, &neighbor, &other), 0);
    desk.hal = other;
    wish.prepared[0] = desk_prepare(&desk, &desk.maker.model);
    buffer = desk_allocate(&desk, &wish);
    desk_free_buffer(&desk, buffer.id);
    nn_hal_close(other);
    desk.hal = mine;
    desk_close(&desk);
}
TEST_END

TEST(a_user_has_so_many_bytes_in_all_sessions)
{
    const struct nn_host_session_options options = {
        .uid = 1, .uid_limits = {.buffer_bytes = 4096 + ROLES_BYTES}};
    struct nn_hal *other, *mine;
    struct desk_buffer buffer;

    begin_with(&options);
    mine = desk.hal;
    buffer = desk_allocate(&desk, &wish);
    ck_assert_int_eq(nn_host_open_session(desk.host, &options, &other), 0);
    desk.hal = other;
    wish.prepared[0] = desk_prepare(&desk, &desk.maker.model);
    ck_assert_uint_eq(desk_try_allocate(&desk, &wish, &buffer), NNHAL_RESOURCE_EXHAUSTED_TRANSIENT);
    nn_hal_close(other);
    desk.hal = mine;
    desk_close(&desk);
}
TEST_END

TEST(freeing_what_is_no_buffer_is_no_error)
{
    struct desk_buffer buffer;

    begin();
    buffer = desk_allocate(&desk, &wish);
    desk_free_buffer(&desk, 0);
    desk_free_buffer(&desk, prepared);
    desk_free_buffer(&desk, buffer.id);
    desk_free_buffer(&desk, buffer.id);
    expect(NNHAL_NONE);
    desk_close(&desk);
}
TEST_END

CHECK_MAIN("allocate", a_buffer_of_every_type_is_granted, a_buffer_has_models_and_roles,
           models_are_prepared_ones_of_this_session, roles_are_in_range,
           frequencies_are_above_0_and_at_most_1, a_role_is_named_once,
           roles_agree_in_type_scale_and_zero_point, roles_agree_in_dimensions,
           the_description_agrees_with_the_roles, a_scalar_has_no_dimensions,
           a_type_without_a_size_is_refused, tokens_are_distinct_and_not_in_a_row,
           without_random_numbers_there_is_no_buffer, a_session_has_so_many_buffers,
           a_session_has_so_many_bytes_and_others_go_on, a_user_has_so_many_bytes_in_all_sessions,
           freeing_what_is_no_buffer_is_no_error)
