/* SPDX-License-Identifier: Apache-2.0 */
/* IF and WHILE, shapes that only running shows, and executions that must end early. */
#include "cpu/builder.h"
#include "support/check-main.h"

#include <string.h>

static const uint32_t one[] = {1};

static uint32_t execute(struct builder *b, void *prepared, struct builder_run *run)
{
    b->why[0] = 0;
    return b->driver->execute(prepared, &run->execution);
}

static uint32_t float_constant(struct builder *b, uint32_t graph, float number)
{
    return builder_constant(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0, &number, 4, 0);
}

/* A graph that computes y = x op constant. */
static uint32_t add_binary_graph(struct builder *b, uint32_t operation, float constant)
{
    uint32_t graph = builder_add_graph(b);
    uint32_t operands[] = {builder_input(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0),
                           float_constant(b, graph, constant), builder_i32(b, graph, 0)};
    uint32_t out = builder_output(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);

    builder_operation(b, graph, operation, 3, operands, 1, &out);
    return graph;
}

/* out = condition ? in + 1 : in * 10 */
static void build_if(struct builder *b)
{
    uint32_t then_graph = add_binary_graph(b, NNHAL_OP_ADD, 1);
    uint32_t else_graph = add_binary_graph(b, NNHAL_OP_MUL, 10);
    uint32_t operands[] = {builder_input(b, 0, NNHAL_TENSOR_BOOL8, 1, one, 0, 0),
                           builder_subgraph(b, 0, then_graph), builder_subgraph(b, 0, else_graph),
                           builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0)};
    uint32_t out = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);

    builder_operation(b, 0, NNHAL_OP_IF, 4, operands, 1, &out);
}

TEST(if_takes_one_branch)
{
    struct builder_run run;
    struct builder b;
    void *prepared;

    builder_init(&b, 2);
    build_if(&b);
    prepared = builder_prepare(&b);
    for (int i = 0; i < 4; i++) {
        uint8_t condition = i % 2 ? 7 : 0;
        float in = 3, out = -1;

        builder_run_init(&run, &b);
        builder_run_input(&run, 0, &condition, 1);
        builder_run_input(&run, 1, &in, 4);
        builder_run_output(&run, 0, &out, 4);
        ck_assert_uint_eq(execute(&b, prepared, &run), NNHAL_NONE);
        ck_assert_float_eq(out, i % 2 ? 4 : 30);
    }
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

/* A graph over [value[?], count[1]] that says whether count < limit. */
static uint32_t add_condition(struct builder *b, const uint32_t *value_dims, uint32_t n_extra,
                              float limit)
{
    uint32_t graph = builder_add_graph(b);
    uint32_t operands[2], out;

    builder_input(b, graph, NNHAL_TENSOR_FLOAT32, 1, value_dims, 0, 0);
    operands[0] = builder_input(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    for (uint32_t i = 0; i < n_extra; i++)
        builder_input(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    operands[1] = float_constant(b, graph, limit);
    out = builder_output(b, graph, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    builder_operation(b, graph, NNHAL_OP_LESS, 2, operands, 1, &out);
    return graph;
}

static void add_count(struct builder *b, uint32_t graph, uint32_t count)
{
    uint32_t operands[] = {count, float_constant(b, graph, 1), builder_i32(b, graph, 0)};
    uint32_t out = builder_output(b, graph, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);

    builder_operation(b, graph, NNHAL_OP_ADD, 3, operands, 1, &out);
}

/* while (count < limit) { value = concat(value, count); count++; } */
static void build_growing(struct builder *b, float limit)
{
    uint32_t unknown[] = {0};
    uint32_t condition = add_condition(b, unknown, 0, limit);
    uint32_t body = builder_add_graph(b);
    uint32_t value = builder_input(b, body, NNHAL_TENSOR_FLOAT32, 1, unknown, 0, 0);
    uint32_t count = builder_input(b, body, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    uint32_t concat[] = {value, count, builder_i32(b, body, 0)};
    uint32_t grown = builder_output(b, body, NNHAL_TENSOR_FLOAT32, 1, unknown, 0, 0);
    uint32_t operands[4], outs[2];

    builder_operation(b, body, NNHAL_OP_CONCATENATION, 3, concat, 1, &grown);
    add_count(b, body, count);
    operands[0] = builder_subgraph(b, 0, condition);
    operands[1] = builder_subgraph(b, 0, body);
    operands[2] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    operands[3] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    outs[0] = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 1, unknown, 0, 0);
    outs[1] = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    builder_operation(b, 0, NNHAL_OP_WHILE, 4, operands, 2, outs);
}

static void run_growing(struct builder *b, void *prepared, float first_count, uint32_t n_wanted,
                        size_t capacity)
{
    float value = 100, grown[64] = {0}, count = -1;
    struct builder_run run;
    uint32_t status;

    builder_run_init(&run, b);
    builder_run_input(&run, 0, &value, 4);
    builder_run_input(&run, 1, &first_count, 4);
    builder_run_output(&run, 0, grown, capacity);
    builder_run_output(&run, 1, &count, 4);
    status = execute(b, prepared, &run);
    ck_assert_uint_eq(run.outputs[0].n_dimensions, 1);
    ck_assert_uint_eq(run.outputs[0].dimensions[0], n_wanted);
    if (capacity < n_wanted * 4) {
        ck_assert_uint_eq(status, NNHAL_OUTPUT_INSUFFICIENT_SIZE);
        ck_assert(run.outputs[0].is_insufficient && !run.outputs[1].is_insufficient);
        ck_assert_float_eq(grown[0], 0);
    } else {
        ck_assert_msg(status == NNHAL_NONE, "%u (%s)", status, b->why);
        ck_assert_float_eq(grown[0], 100);
        for (uint32_t i = 1; i < n_wanted; i++)
            ck_assert_float_eq(grown[i], first_count + (float)(i - 1));
    }
    ck_assert_float_eq(count, n_wanted > 1 ? 20 : first_count);
}

TEST(loop_whose_tensor_grows)
{
    struct builder b;
    void *prepared;

    builder_init(&b, 2);
    build_growing(&b, 20);
    prepared = builder_prepare(&b);
    run_growing(&b, prepared, 0, 21, 256);
    run_growing(&b, prepared, 5, 16, 256);
    run_growing(&b, prepared, 5, 16, 63);  /* one byte short */
    run_growing(&b, prepared, 99, 1, 256); /* no round at all */
    run_growing(&b, prepared, 0, 21, 256);
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

/* while (count < limit) { value = count < 2 ? value + 1 : value * 10; count++; } */
static void build_nested(struct builder *b, float limit)
{
    uint32_t then_graph = add_binary_graph(b, NNHAL_OP_ADD, 1);
    uint32_t else_graph = add_binary_graph(b, NNHAL_OP_MUL, 10);
    uint32_t condition = add_condition(b, one, 0, limit);
    uint32_t body = builder_add_graph(b);
    uint32_t value = builder_input(b, body, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    uint32_t count = builder_input(b, body, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    uint32_t less[] = {count, float_constant(b, body, 2)};
    uint32_t is_less = builder_temporary(b, body, NNHAL_TENSOR_BOOL8, 1, one, 0, 0);
    uint32_t branch[] = {is_less, builder_subgraph(b, body, then_graph),
                         builder_subgraph(b, body, else_graph), value};
    uint32_t next = builder_output(b, body, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    uint32_t operands[4], outs[1];

    builder_operation(b, body, NNHAL_OP_LESS, 2, less, 1, &is_less);
    builder_operation(b, body, NNHAL_OP_IF, 4, branch, 1, &next);
    add_count(b, body, count);
    operands[0] = builder_subgraph(b, 0, condition);
    operands[1] = builder_subgraph(b, 0, body);
    operands[2] = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    operands[3] = float_constant(b, 0, 0);
    outs[0] = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 1, one, 0, 0);
    builder_operation(b, 0, NNHAL_OP_WHILE, 4, operands, 1, outs);
}

static uint32_t run_nested(struct builder *b, void *prepared, struct builder_run *run, float *out)
{
    static const float in = 1;

    builder_run_input(run, 0, &in, 4);
    builder_run_output(run, 0, out, 4);
    return execute(b, prepared, run);
}

TEST(branch_inside_a_loop)
{
    struct builder_run run;
    struct builder b;
    float out = -1;
    void *prepared;

    builder_init(&b, 2);
    build_nested(&b, 4);
    prepared = builder_prepare(&b);
    builder_run_init(&run, &b);
    ck_assert_uint_eq(run_nested(&b, prepared, &run, &out), NNHAL_NONE);
    ck_assert_float_eq(out, 300); /* 1 + 1 + 1, then twice times 10 */
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

TEST(endless_loop_ends_with_its_time)
{
    struct builder_run run;
    struct builder b;
    float out;
    void *prepared;

    builder_init(&b, 2);
    build_nested(&b, 1e30f); /* count stops growing at 2^24, far below */
    prepared = builder_prepare(&b);
    builder_run_init(&run, &b);
    run.execution.loop_timeout_ns = 20 * 1000 * 1000;
    ck_assert_uint_eq(run_nested(&b, prepared, &run, &out), NNHAL_MISSED_DEADLINE_TRANSIENT);

    builder_run_init(&run, &b);
    run.execution.deadline_ns = 1; /* long ago */
    ck_assert_uint_eq(run_nested(&b, prepared, &run, &out), NNHAL_MISSED_DEADLINE_TRANSIENT);

    builder_run_init(&run, &b);
    run.is_cancelled = 1;
    ck_assert_uint_eq(run_nested(&b, prepared, &run, &out), NNHAL_GENERAL_FAILURE);
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

/* in [2,3] is reshaped to a shape that an addition computes. */
static void build_computed_shape(struct builder *b)
{
    uint32_t two[] = {2}, unknown[] = {0, 0}, in_dims[] = {2, 3};
    uint32_t zeroes[] = {0, 0};
    uint32_t in = builder_input(b, 0, NNHAL_TENSOR_FLOAT32, 2, in_dims, 0, 0);
    uint32_t add[] = {builder_input(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0),
                      builder_constant(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0, zeroes, 8, 0),
                      builder_i32(b, 0, 0)};
    uint32_t shape = builder_temporary(b, 0, NNHAL_TENSOR_INT32, 1, two, 0, 0);
    uint32_t reshape[] = {in, shape};
    uint32_t reshaped = builder_temporary(b, 0, NNHAL_TENSOR_FLOAT32, 2, unknown, 0, 0);
    uint32_t out = builder_output(b, 0, NNHAL_TENSOR_FLOAT32, 2, unknown, 0, 0);

    builder_operation(b, 0, NNHAL_OP_ADD, 3, add, 1, &shape);
    builder_operation(b, 0, NNHAL_OP_RESHAPE, 2, reshape, 1, &reshaped);
    builder_operation(b, 0, NNHAL_OP_RELU, 1, &reshaped, 1, &out);
}

TEST(shape_that_is_computed)
{
    static const float in[] = {-1, 2, -3, 4, -5, 6};
    static const int32_t shapes[][2] = {{3, 2}, {6, 1}, {-1, 3}, {3, 2}};
    struct builder_run run;
    struct builder b;
    void *prepared;

    builder_init(&b, 2);
    build_computed_shape(&b);
    prepared = builder_prepare(&b);
    for (size_t i = 0; i < 4; i++) {
        float out[6] = {0};

        builder_run_init(&run, &b);
        builder_run_input(&run, 0, in, sizeof(in));
        builder_run_input(&run, 1, shapes[i], 8);
        builder_run_output(&run, 0, out, sizeof(out));
        ck_assert_uint_eq(execute(&b, prepared, &run), NNHAL_NONE);
        ck_assert_uint_eq(run.outputs[0].dimensions[0], i == 2 ? 2 : (uint32_t)shapes[i][0]);
        ck_assert_uint_eq(run.outputs[0].dimensions[1], (uint32_t)shapes[i][1]);
        ck_assert_float_eq(out[0], 0);
        ck_assert_float_eq(out[5], 6);
    }
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

TEST(shape_that_is_wrong_is_refused_at_execution)
{
    static const float in[6] = {0};
    static const int32_t shape[2] = {4, 2};
    struct builder_run run;
    struct builder b;
    float out[8];
    void *prepared;

    builder_init(&b, 2);
    build_computed_shape(&b);
    prepared = builder_prepare(&b);
    builder_run_init(&run, &b);
    builder_run_input(&run, 0, in, sizeof(in));
    builder_run_input(&run, 1, shape, 8);
    builder_run_output(&run, 0, out, sizeof(out));
    ck_assert_uint_eq(execute(&b, prepared, &run), NNHAL_GENERAL_FAILURE);
    ck_assert_ptr_nonnull(strstr(b.why, "RESHAPE"));
    b.driver->release(prepared);
    builder_done(&b);
}
TEST_END

CHECK_MAIN("control", if_takes_one_branch, loop_whose_tensor_grows, branch_inside_a_loop,
           endless_loop_ends_with_its_time, shape_that_is_computed,
           shape_that_is_wrong_is_refused_at_execution)
