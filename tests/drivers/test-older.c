/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of a feature level below the model's compute what they know of it. */
#include "drivers/split.h"

#include <string.h>

enum { N = SPLIT_CHAIN_FLOATS, N_CHAIN = SPLIT_CHAIN_N, N_IF = 2 };

#define TAKEN       NNHAL_VERDICT_TAKEN
#define UNSUPPORTED NNHAL_VERDICT_UNSUPPORTED
#define TOO_OLD     NNHAL_VERDICT_TOO_OLD
#define UNREACHED   NNHAL_VERDICT_UNREACHED

static const uint32_t row_dims[] = {N};
static const ANeuralNetworksOperandType row = {
    .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = row_dims};
static const float input[N] = {0, -1, 0.5f, 2};

static ANeuralNetworksCompilation *compile_chain(const char *rules, bool is_relaxed)
{
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksModel *model;

    split_rules("%s", rules);
    model = split_chain(is_relaxed, false);
    compilation = split_compile(model, 2);
    ANeuralNetworksModel_free(model);
    return compilation;
}

/* What a device of a plan says of each operation. */
static void expect_verdicts(const ANeuralNetworksCompilation *compilation, const char *name,
                            uint32_t n, const uint8_t *expected)
{
    const ANeuralNetworksDevice *device = find_device(name);
    struct nnhal_plan plan = {.size = sizeof(plan)};
    uint32_t d = 0;

    OK(nnhal_compilation_get_plan(compilation, &plan));
    while (d < plan.n_devices && plan.devices[d].device != device)
        d++;
    ck_assert_uint_lt(d, plan.n_devices);
    ck_assert_uint_eq(plan.n_operations, n);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_msg(plan.devices[d].verdicts[i] == expected[i], "%s, operation %u: %u, not %u",
                      name, i, plan.devices[d].verdicts[i], expected[i]);
}

static void expect_part(const ANeuralNetworksCompilation *compilation, uint32_t i,
                        const char *device)
{
    struct nnhal_plan plan = {.size = sizeof(plan)};

    OK(nnhal_compilation_get_plan(compilation, &plan));
    ck_assert_uint_lt(i, plan.n_parts);
    ck_assert_ptr_eq(plan.parts[i].device, find_device(device));
}

static void expect_results(ANeuralNetworksCompilation *compilation)
{
    static const float expected[N] = {1, 1, 1, 7};
    ANeuralNetworksExecution *execution = NULL;
    float out[N] = {0};

    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, sizeof(input)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, sizeof(out)));
    OK(ANeuralNetworksExecution_compute(execution));
    for (uint32_t i = 0; i < N; i++)
        ck_assert_float_eq(out[i], expected[i]);
    ANeuralNetworksExecution_free(execution);
}

TEST(an_older_device_computes_what_it_knows)
{
    static const uint8_t older[] = {TAKEN, TOO_OLD, TAKEN, TOO_OLD};
    static const uint8_t newer[] = {UNSUPPORTED, TAKEN, UNSUPPORTED, TAKEN};
    ANeuralNetworksCompilation *compilation = compile_chain("0:level=27;1:only=EXP+ABS", false);

    expect_verdicts(compilation, "partial-0", N_CHAIN, older);
    expect_verdicts(compilation, "partial-1", N_CHAIN, newer);
    ck_assert_uint_eq(split_count_parts(compilation), N_CHAIN);
    for (uint32_t i = 0; i < N_CHAIN; i++)
        expect_part(compilation, i, i % 2 ? "partial-1" : "partial-0");
    expect_results(compilation);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* Its answers are about a model with fewer operations. */
TEST(its_answers_are_about_the_right_operations)
{
    static const uint8_t older[] = {UNSUPPORTED, TOO_OLD, TAKEN, TOO_OLD};
    ANeuralNetworksCompilation *compilation = compile_chain("0:level=27,not=RELU;1:not=FLOOR",
                                                            false);

    expect_verdicts(compilation, "partial-0", N_CHAIN, older);
    expect_results(compilation);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(what_is_promised_of_an_older_device_is_kept)
{
    static const bool expected[N_CHAIN] = {true, false, true, false};
    const ANeuralNetworksDevice *devices[2];
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksModel *model;
    bool supported[N_CHAIN];

    split_rules("0:level=27;1:only=EXP+ABS");
    model = split_chain(false, false);
    devices[0] = find_device("partial-0");
    devices[1] = find_device("partial-1");
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, supported));
    ck_assert_mem_eq(supported, expected, sizeof(expected));
    OK(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &compilation));
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksCompilation_free(compilation);
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 2, supported));
    for (uint32_t i = 0; i < N_CHAIN; i++)
        ck_assert(supported[i]);
    ANeuralNetworksCompilation_free(split_compile(model, 2));
    ANeuralNetworksModel_free(model);
}
TEST_END

/* Relaxed computation is of level 2 and holds for the whole model. */
TEST(a_device_that_knows_nothing_of_a_model_is_not_asked)
{
    static const uint8_t nothing[] = {TOO_OLD, TOO_OLD, TOO_OLD, TOO_OLD};
    ANeuralNetworksCompilation *compilation = compile_chain("0:level=27,fail=supported", true);

    expect_verdicts(compilation, "partial-0", N_CHAIN, nothing);
    ck_assert_uint_eq(split_count_parts(compilation), 1);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

TEST(an_older_device_may_fail_to_answer)
{
    static const uint8_t nothing[] = {UNREACHED, UNREACHED, UNREACHED, UNREACHED};
    ANeuralNetworksCompilation *compilation = compile_chain("0:level=27,fail=supported", false);

    expect_verdicts(compilation, "partial-0", N_CHAIN, nothing);
    expect_results(compilation);
    ANeuralNetworksCompilation_free(compilation);
}
TEST_END

/* REVERSE of four floats, level 7; or RELU. */
static ANeuralNetworksModel *make_branch(bool is_new)
{
    static const uint32_t one = 1;
    const ANeuralNetworksOperandType axes = {
        .type = ANEURALNETWORKS_TENSOR_INT32, .dimensionCount = 1, .dimensions = &one};
    const uint32_t inputs[] = {0, 2}, first = 0, last = 1;
    const int32_t axis = 0;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &row));
    OK(ANeuralNetworksModel_addOperand(model, &row));
    if (is_new) {
        OK(ANeuralNetworksModel_addOperand(model, &axes));
        OK(ANeuralNetworksModel_setOperandValue(model, 2, &axis, sizeof(axis)));
    }
    OK(ANeuralNetworksModel_addOperation(model,
                                         is_new ? ANEURALNETWORKS_REVERSE : ANEURALNETWORKS_RELU,
                                         is_new ? 2 : 1, inputs, 1, &last));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &first, 1, &last));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* RELU, then IF with these branches. */
static ANeuralNetworksModel *make_if(const ANeuralNetworksModel *branches[2])
{
    static const uint32_t one = 1;
    const ANeuralNetworksOperandType condition = {
        .type = ANEURALNETWORKS_TENSOR_BOOL8, .dimensionCount = 1, .dimensions = &one};
    const ANeuralNetworksOperandType branch = {.type = ANEURALNETWORKS_MODEL};
    const uint32_t inputs[] = {0, 1}, choice[] = {0, 2, 3, 4}, relu = 4, last = 5;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &condition));
    OK(ANeuralNetworksModel_addOperand(model, &row));
    for (uint32_t i = 0; i < 2; i++) {
        OK(ANeuralNetworksModel_addOperand(model, &branch));
        OK(ANeuralNetworksModel_setOperandValueFromModel(model, (int32_t)(2 + i), branches[i]));
    }
    OK(ANeuralNetworksModel_addOperand(model, &row));
    OK(ANeuralNetworksModel_addOperand(model, &row));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_RELU, 1, &inputs[1], 1, &relu));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_IF, 4, choice, 1, &last));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, inputs, 1, &last));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* IF is of level 4, which the device knows, and one of its branches of level 7. */
TEST(control_flow_is_as_new_as_its_branches)
{
    static const uint8_t older[N_IF] = {TAKEN, TOO_OLD};
    ANeuralNetworksModel *new_branch, *old_branch, *model;
    ANeuralNetworksCompilation *compilation;

    split_rules("0:level=30;1:not=RELU");
    new_branch = make_branch(true);
    old_branch = make_branch(false);
    model = make_if((const ANeuralNetworksModel *[]){old_branch, new_branch});
    compilation = split_compile(model, 2);
    expect_verdicts(compilation, "partial-0", N_IF, older);
    expect_part(compilation, 0, "partial-0");
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    ANeuralNetworksModel_free(old_branch);
    ANeuralNetworksModel_free(new_branch);
}
TEST_END

CHECK_MAIN("older", an_older_device_computes_what_it_knows,
           its_answers_are_about_the_right_operations, what_is_promised_of_an_older_device_is_kept,
           a_device_that_knows_nothing_of_a_model_is_not_asked, an_older_device_may_fail_to_answer,
           control_flow_is_as_new_as_its_branches)
