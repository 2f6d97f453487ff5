/* SPDX-License-Identifier: Apache-2.0 */
/* IF and WHILE that no device takes, while devices take what they run: what they compute together has the
 * bits of what one device computes alone. */
#include "drivers/control.h"

#include <android/NeuralNetworksSupportLibraryImpl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_same(control_maker make, const struct control_trial *given)
{
    struct control_trial alone = *given, shared = *given;

    control_run_on(make, " ", 1, &alone);
    control_run_on(make, CONTROL_SHARED, 2, &shared);
    ck_assert_int_eq(shared.result, alone.result);
    ck_assert_uint_eq(shared.n_dims0, alone.n_dims0);
    ck_assert_mem_eq(shared.out, alone.out, sizeof(alone.out));
}

/* -- tests -------------------------------------------------------------------------------- */

TEST(a_branch_is_computed_by_the_device_that_takes_it)
{
    struct control_trial trial = control_usual;

    for (trial.is_true = 0; trial.is_true < 2; trial.is_true++)
        check_same(control_if, &trial);
}
TEST_END

TEST(a_body_is_computed_by_two_devices)
{
    struct control_trial trial = control_usual;

    /* From as many rounds as there are to none. */
    for (trial.count = 0; trial.count <= CONTROL_ROUNDS; trial.count++)
        check_same(control_loop, &trial);
}
TEST_END

TEST(a_body_chooses_between_devices_in_each_round)
{
    struct control_trial trial = control_usual;

    for (trial.is_true = 0; trial.is_true < 2; trial.is_true++)
        check_same(control_nested, &trial);
}
TEST_END

TEST(what_a_loop_carries_grows)
{
    struct control_trial trial = control_usual;

    for (trial.count = 0; trial.count <= CONTROL_ROUNDS; trial.count++)
        check_same(control_growing_loop, &trial);
}
TEST_END

TEST(an_output_that_is_too_small_is_told_of)
{
    struct control_trial trial = control_usual;

    trial.n_out = 2 * CONTROL_N;
    control_run_on(control_growing_loop, CONTROL_SHARED, 2, &trial);
    ck_assert_int_eq(trial.result, ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
    ck_assert_uint_eq(trial.n_dims0, CONTROL_N << CONTROL_ROUNDS);
}
TEST_END

TEST(an_endless_loop_ends_with_its_timeout)
{
    struct control_trial trial = control_usual;

    trial.loop_timeout_ns = 10000000;
    control_run_on(control_endless_loop, CONTROL_SHARED, 2, &trial);
    ck_assert_int_eq(trial.result, ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
}
TEST_END

/* An execution that is computed again keeps its places, and begins anew. */
TEST(a_loop_is_computed_again_with_other_numbers)
{
    ANeuralNetworksExecution *execution = NULL;
    struct control_trial trial = control_usual;
    struct control_stand stand;
    float first[CONTROL_N];

    control_stand_init(&stand, control_loop, CONTROL_SHARED, 2);
    OK(ANeuralNetworksExecution_create(stand.compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    control_set_inputs(&stand.b, execution, &trial);
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial.out,
                                          CONTROL_N * sizeof(float)));
    OK(ANeuralNetworksExecution_compute(execution));
    memcpy(first, trial.out, sizeof(first));
    trial.count = CONTROL_ROUNDS;
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(trial.out, trial.in, sizeof(trial.in));
    trial.count = 0;
    OK(ANeuralNetworksExecution_compute(execution));
    ck_assert_mem_eq(trial.out, first, sizeof(first));
    ANeuralNetworksExecution_free(execution);
    control_stand_done(&stand);
}
TEST_END

/* Before it is compiled. */
static bool is_promised(struct builder *b)
{
    const ANeuralNetworksDevice *devices[] = {find_device("partial-0"), find_device("partial-1")};
    struct split_models models;
    bool supported = false;

    split_models_init(&models, b, false);
    OK(ANeuralNetworksModel_getSupportedOperationsForDevices(models.graphs[0], devices, 2,
                                                             &supported));
    split_models_done(&models);
    return supported;
}

TEST(what_devices_share_is_promised_and_nothing_else)
{
    struct builder b;

    builder_init(&b, 1);
    control_loop(&b);
    split_rules(CONTROL_SHARED);
    ck_assert(is_promised(&b));
    split_rules("0:only=TANH;1:only=ADD");
    ck_assert(!is_promised(&b));
    split_rules(CONTROL_SHARED);
    setenv("NNHAL_PARTITION", "off", 1);
    ck_assert(!is_promised(&b));
    builder_done(&b);
}
TEST_END

TEST(the_reference_computes_no_loop_that_devices_share)
{
    struct control_trial trial = control_usual;
    struct control_stand stand;

    control_stand_init(&stand, control_loop, CONTROL_UNASKED_OF CONTROL_SHARED, 0);
    control_run(&stand.b, stand.compilation, &trial);
    OK(trial.result);
    ck_assert_uint_eq(control_count_computed("nnapi-reference"), 0);
    ck_assert_uint_eq(control_count_computed("partial-0"), CONTROL_ROUNDS);
    control_stand_done(&stand);
}
TEST_END

/* Not prepared whole on the one device that there is, which takes no IF. */
TEST(one_device_computes_what_is_nested)
{
    struct control_trial trial = control_usual;
    struct control_stand stand;

    setenv("NNHAL_DEVICES", "partial-0", 1);
    control_stand_init(&stand, control_nested, "0:only=TANH+ADD+LESS+ABS+LOGICAL_NOT", 0);
    control_run(&stand.b, stand.compilation, &trial);
    OK(trial.result);
    ck_assert_uint_eq(control_count_computed("nnapi-reference"), 0);
    /* A body is more than one computation: what stands beside the IF, and a branch. */
    ck_assert_uint_ge(control_count_computed("partial-0"), CONTROL_ROUNDS + 1 + 2 * CONTROL_ROUNDS);
    control_stand_done(&stand);
}
TEST_END

TEST(a_condition_that_was_never_written_is_not_false)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *memory = NULL;
    struct control_trial trial = control_usual;
    struct control_stand stand;

    control_stand_init(&stand, control_if, CONTROL_SHARED, 2);
    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, stand.compilation, 1, 1));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    OK(ANeuralNetworksExecution_create(stand.compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, trial.in, sizeof(trial.in)));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, memory, 0, 0));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial.out,
                                          CONTROL_N * sizeof(float)));
    ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_OP_FAILED);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
    ANeuralNetworksMemoryDesc_free(desc);
    control_stand_done(&stand);
}
TEST_END

TEST(nothing_is_shared_if_the_user_says_so)
{
    const ANeuralNetworksDevice *devices[2];
    ANeuralNetworksCompilation *compilation = NULL;
    struct split_models models;
    struct builder b;

    builder_init(&b, 1);
    control_loop(&b);
    split_rules(CONTROL_SHARED);
    setenv("NNHAL_PARTITION", "off", 1);
    split_models_init(&models, &b, false);
    devices[0] = find_device("partial-0");
    devices[1] = find_device("partial-1");
    OK(ANeuralNetworksCompilation_createForDevices(models.graphs[0], devices, 2, &compilation));
    ck_assert_int_eq(ANeuralNetworksCompilation_finish(compilation), ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    builder_done(&b);
}
TEST_END

/* -- diagnostics ------------------------------------------------------------------------------ */

static char told[2][128];

static void on_compilation(const void *ctx, const ANeuralNetworksDiagnosticCompilationInfo *info)
{
    snprintf(told[0], sizeof(told[0]), "%s",
             SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(info));
}

static void on_execution(const void *ctx, const ANeuralNetworksDiagnosticExecutionInfo *info)
{
    snprintf(told[1], sizeof(told[1]), "%s",
             SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(info));
}

TEST(devices_of_branches_are_told)
{
    struct control_trial trial = control_usual;

    SL_ANeuralNetworksDiagnostic_registerCallbacks(on_compilation, on_execution, NULL);
    control_run_on(control_if, "*:version=7;" CONTROL_SHARED, 2, &trial);
    ck_assert_str_eq(told[0], "partial-0=7,partial-1=7");
    ck_assert_str_eq(told[1], "partial-0=7,partial-1=7");
}
TEST_END

CHECK_MAIN("control", a_branch_is_computed_by_the_device_that_takes_it,
           a_body_is_computed_by_two_devices, a_body_chooses_between_devices_in_each_round,
           what_a_loop_carries_grows, an_output_that_is_too_small_is_told_of,
           an_endless_loop_ends_with_its_timeout, a_loop_is_computed_again_with_other_numbers,
           what_devices_share_is_promised_and_nothing_else,
           the_reference_computes_no_loop_that_devices_share, one_device_computes_what_is_nested,
           a_condition_that_was_never_written_is_not_false, nothing_is_shared_if_the_user_says_so,
           devices_of_branches_are_told)
