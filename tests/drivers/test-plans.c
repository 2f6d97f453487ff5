/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of models without control flow, as they are traced: what settings, operations of a maker's own and
 * declared performances make of them. */
#include "drivers/split.h"

#include <math.h>
#include <stdlib.h>

enum { N = 4, OEM_OPERATION = 10000 };

/* So many that the work of an operation is more than a launch and a move. */
static const uint32_t million = 1000000, four = N;

/* For the first n devices. */
static void expect_plan(ANeuralNetworksModel *model, uint32_t n_devices, const char *expected)
{
    char text[4096];

    split_trace_plans();
    ANeuralNetworksCompilation_free(split_compile(model, n_devices));
    split_take_plans(text, sizeof(text));
    ck_assert_str_eq(text, expected);
    ANeuralNetworksModel_free(model);
}

/* Operation i makes operand i + 1 of operand i, all of one type. */
static ANeuralNetworksModel *make_chain(const uint32_t *dims, uint32_t n, const int32_t *operations)
{
    const ANeuralNetworksOperandType type = {
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = dims};
    ANeuralNetworksModel *model = NULL;
    const uint32_t input = 0;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &type));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t output = i + 1;

        OK(ANeuralNetworksModel_addOperand(model, &type));
        OK(ANeuralNetworksModel_addOperation(model, operations[i], 1, &i, 1, &output));
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &n));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* -- settings ------------------------------------------------------------------------------ */

#define IN_PARTS                                                                                   \
    "plan: 2 of 2 parts\n"                                                                         \
    "part 0  wave 0  partial-0  operations 0-1\n"                                                  \
    "part 1  wave 1  partial-1  operations 2-3\n"                                                  \
    "partial-0 does not support 2-3\n"                                                             \
    "partial-1 does not support 0-1\n"

#define AS_A_WHOLE                                                                                 \
    "plan: 1 of 1 parts\n"                                                                         \
    "part 0  wave 0  partial-2  operations 0-3\n"                                                  \
    "partial-0 does not support 2-3\n"                                                             \
    "partial-1 does not support 0-1\n"

/* partial-0 takes one half of the model, partial-1 the other one, and partial-2 all of it. */
static void expect_plan_in(const char *partitioning, const char *expected)
{
    static const int32_t operations[] = {ANEURALNETWORKS_EXP, ANEURALNETWORKS_ABS,
                                         ANEURALNETWORKS_RELU, ANEURALNETWORKS_FLOOR};

    setenv("NNHAL_PARTITION", partitioning, 1);
    split_rules("*:time=0.01;0:only=EXP+ABS;1:only=RELU+FLOOR;2:time=0.9");
    expect_plan(make_chain(&million, 4, operations), 3, expected);
}

TEST(operations_go_where_they_are_cheapest)
{
    expect_plan_in("auto", IN_PARTS);
}
TEST_END

TEST(without_partitioning_a_model_goes_to_one_device)
{
    expect_plan_in("off", AS_A_WHOLE);
}
TEST_END

/* Fallback is a matter of executions. */
TEST(who_helps_when_parts_fail_changes_no_plan)
{
    expect_plan_in("only", IN_PARTS);
}
TEST_END

TEST(that_nobody_helps_changes_no_plan)
{
    expect_plan_in("without-fallback", IN_PARTS);
}
TEST_END

/* -- an operation of a maker's own ----------------------------------------------------------- */

static const int32_t oem_operations[] = {OEM_OPERATION, ANEURALNETWORKS_EXP};

TEST(an_operation_of_a_maker_goes_to_the_device_that_takes_it)
{
    split_rules("0:not=OEM_OPERATION;1:only=OEM_OPERATION,oem=ABS");
    expect_plan(make_chain(&four, 2, oem_operations), 2,
                "plan: 2 of 2 parts\n"
                "part 0  wave 0  partial-1  operation 0\n"
                "part 1  wave 1  partial-0  operation 1\n"
                "partial-0 does not support 0 (OEM_OPERATION)\n"
                "partial-1 does not support 1 (EXP)\n");
}
TEST_END

TEST(an_operation_of_a_maker_is_computed_there)
{
    const float x[N] = {0, -1, 2, -0.5f};
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksModel *model;
    float z[N];

    split_rules("0:not=OEM_OPERATION;1:only=OEM_OPERATION,oem=ABS");
    model = make_chain(&four, 2, oem_operations);
    compilation = split_compile(model, 2);
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, sizeof(x)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, sizeof(z)));
    OK(ANeuralNetworksExecution_compute(execution));
    for (int i = 0; i < N; i++)
        ck_assert_float_eq_tol(z[i], expf(fabsf(x[i])), 1e-4f);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

/* -- what devices declare ------------------------------------------------------------------------ */

/* y = FLOOR(x) of floats, and v = RELU(u) of 8 bits. */
static ANeuralNetworksModel *make_two_types(void)
{
    const uint32_t inputs[] = {0, 2}, outputs[] = {1, 3};
    const ANeuralNetworksOperandType types[] = {
        {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &million, 0, 0},
        {ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 1, &million, 0.5f, 0},
    };
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++)
        OK(ANeuralNetworksModel_addOperand(model, &types[i / 2]));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FLOOR, 1, &inputs[0], 1,
                                         &outputs[0]));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, &inputs[1], 1,
                                         &outputs[1]));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 2, outputs));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

TEST(performance_is_looked_up_by_operand_type)
{
    split_rules("0:time=0.9,time-q8=0.01;1:time=0.01,time-q8=0.9");
    expect_plan(make_two_types(), 2,
                "plan: 2 of 2 parts\n"
                "part 0  wave 0  partial-0  operation 1\n"
                "part 1  wave 0  partial-1  operation 0\n");
}
TEST_END

/* -- branches ---------------------------------------------------------------------------------- */

/* RELU, of which EXP and FLOOR make one branch, ABS and RELU1 the other, and MUL of both. */
static ANeuralNetworksModel *make_fork(const uint32_t *dims)
{
    static const struct {
        int32_t operation;
        uint32_t n_inputs, inputs[3], output;
    } rows[] = {
        {ANEURALNETWORKS_RELU, 1, {0}, 2},  {ANEURALNETWORKS_EXP, 1, {2}, 3},
        {ANEURALNETWORKS_FLOOR, 1, {3}, 4}, {ANEURALNETWORKS_ABS, 1, {2}, 5},
        {ANEURALNETWORKS_RELU1, 1, {5}, 6}, {ANEURALNETWORKS_MUL, 3, {4, 6, 1}, 7},
    };
    const ANeuralNetworksOperandType tensor = {.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                               .dimensionCount = 1,
                                               .dimensions = dims},
                                     scalar = {.type = ANEURALNETWORKS_INT32};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const uint32_t in = 0, out = 7;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i <= out; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 1 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &none, sizeof(none)));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        OK(ANeuralNetworksModel_addOperation(model, rows[i].operation, rows[i].n_inputs,
                                             rows[i].inputs, 1, &rows[i].output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in, 1, &out));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

#define SHARED                                                                                     \
    "plan: 4 of 4 parts\n"                                                                         \
    "part 0  wave 0  partial-0  operation 0\n"                                                     \
    "part 1  wave 1  partial-0  operations 1-2\n"                                                  \
    "part 2  wave 1  partial-1  operations 3-4\n"                                                  \
    "part 3  wave 2  partial-0  operation 5\n"

#define ONE_PART                                                                                   \
    "plan: 1 of 1 parts\n"                                                                         \
    "part 0  wave 0  partial-0  operations 0-5\n"                                                  \
    "partial-1 was not asked for 0-5\n"

TEST(accelerators_that_are_as_fast_share_branches)
{
    split_rules("*:type=accelerator");
    expect_plan(make_fork(&million), 2, SHARED);
}
TEST_END

/* They would wait for each other's cores: the second one is not even asked. */
TEST(devices_on_the_cores_share_no_branches)
{
    split_rules("*:time=0.5");
    expect_plan(make_fork(&million), 2, ONE_PART);
}
TEST_END

TEST(a_slow_device_is_not_asked_for_branches)
{
    split_rules("*:type=accelerator;1:time=1.5");
    expect_plan(make_fork(&million), 2, ONE_PART);
}
TEST_END

/* It would only have helped. */
TEST(a_device_that_fails_when_asked_for_branches_is_done_without)
{
    split_rules("*:type=accelerator;1:fail=supported");
    expect_plan(make_fork(&million), 2,
                "plan: 1 of 1 parts\n"
                "part 0  wave 0  partial-0  operations 0-5\n"
                "partial-1 did not answer for 0-5\n"
                "partial-1: driver partial-1: told not to answer\n");
}
TEST_END

TEST(branches_that_are_small_are_not_shared)
{
    split_rules("*:type=accelerator");
    expect_plan(make_fork(&four), 2, ONE_PART);
}
TEST_END

TEST(a_device_that_does_not_take_a_branch_leaves_it)
{
    split_rules("*:type=accelerator;1:not=EXP+ABS");
    expect_plan(make_fork(&million), 2,
                "plan: 1 of 1 parts\n"
                "part 0  wave 0  partial-0  operations 0-5\n"
                "partial-1 does not support 1 (EXP)\n"
                "partial-1 does not support 3 (ABS)\n");
}
TEST_END

/* For this preference; n_most: parts that a plan may have, NULL: any. Returns: how many it has. */
static uint32_t count_parts(int32_t preference, const char *n_most)
{
    const ANeuralNetworksDevice *devices[2] = {find_device("partial-0"), find_device("partial-1")};
    ANeuralNetworksModel *model = make_fork(&million);
    ANeuralNetworksCompilation *compilation = NULL;
    uint32_t n;

    if (n_most)
        setenv("NNHAL_PARTITIONS", n_most, 1);
    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 2, &compilation));
    OK(ANeuralNetworksCompilation_setPreference(compilation, preference));
    OK(ANeuralNetworksCompilation_finish(compilation));
    n = split_count_parts(compilation);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return n;
}

TEST(branches_are_shared_for_speed_alone)
{
    split_rules("*:type=accelerator");
    ck_assert_uint_eq(count_parts(ANEURALNETWORKS_PREFER_LOW_POWER, NULL), 1);
    ck_assert_uint_eq(count_parts(ANEURALNETWORKS_PREFER_SUSTAINED_SPEED, NULL), 4);
}
TEST_END

TEST(branches_are_shared_within_the_limit_of_parts)
{
    split_rules("*:type=accelerator");
    ck_assert_uint_eq(count_parts(ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER, "3"), 1);
}
TEST_END

static void run_fork(ANeuralNetworksModel *model, uint32_t n_devices, const float *x, float *z)
{
    ANeuralNetworksCompilation *compilation = split_compile(model, n_devices);
    ANeuralNetworksExecution *execution = NULL;

    ck_assert_uint_eq(split_count_parts(compilation), n_devices == 1 ? 1 : 4);
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, x, million * sizeof(*x)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, z, million * sizeof(*z)));
    OK(ANeuralNetworksExecution_compute(execution));
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
}

TEST(shared_branches_have_the_bits_of_one_device)
{
    float *x = malloc(million * sizeof(*x)), *whole = malloc(million * sizeof(*whole));
    float *shared = malloc(million * sizeof(*shared));
    ANeuralNetworksModel *model;

    for (uint32_t i = 0; i < million; i++)
        x[i] = (float)(int32_t)(i * 2654435761u) / 1e9f;
    split_rules("*:type=accelerator");
    model = make_fork(&million);
    run_fork(model, 1, x, whole);
    run_fork(model, 2, x, shared);
    ck_assert_mem_eq(whole, shared, million * sizeof(*whole));
    ck_assert_float_ne(whole[1], whole[2]);
    ANeuralNetworksModel_free(model);
    free(x);
    free(whole);
    free(shared);
}
TEST_END

CHECK_MAIN("plans", operations_go_where_they_are_cheapest,
           without_partitioning_a_model_goes_to_one_device,
           who_helps_when_parts_fail_changes_no_plan, that_nobody_helps_changes_no_plan,
           an_operation_of_a_maker_goes_to_the_device_that_takes_it,
           an_operation_of_a_maker_is_computed_there, performance_is_looked_up_by_operand_type,
           accelerators_that_are_as_fast_share_branches, devices_on_the_cores_share_no_branches,
           a_slow_device_is_not_asked_for_branches,
           a_device_that_fails_when_asked_for_branches_is_done_without,
           branches_that_are_small_are_not_shared, a_device_that_does_not_take_a_branch_leaves_it,
           branches_are_shared_for_speed_alone, branches_are_shared_within_the_limit_of_parts,
           shared_branches_have_the_bits_of_one_device)
