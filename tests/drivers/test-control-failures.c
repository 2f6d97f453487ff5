/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of devices that share an IF or WHILE, what is told of them, and what is left afterwards. */
#include "drivers/control.h"
#include "support/fds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a process of its own, which ends in its third computation. */
static void run_with_death(struct control_trial *trial)
{
    setenv("NNHAL_MODE", "private", 1);
    control_run_on(control_loop, CONTROL_SHARED ";0:die-at=3", 2, trial);
}

/* It is started again, and the round is computed again from what the one before has left. */
TEST(a_device_that_dies_in_round_three_is_asked_again)
{
    const uint32_t whole[] = {2};
    struct control_trial alone = control_usual, shared = control_usual;
    ANeuralNetworksCompilation *compilation;
    struct split_models models;
    struct builder b;

    run_with_death(&shared);
    OK(shared.result);
    /* Not from what a process that was given up can still write to. */
    ck_assert_uint_gt(control_count_computed("partial-0"), CONTROL_ROUNDS + 1);
    builder_init(&b, 1);
    control_loop(&b);
    split_models_init(&models, &b, false);
    compilation = split_compile_on(models.graphs[0], 1, whole);
    control_run(&b, compilation, &alone);
    OK(alone.result);
    ck_assert_mem_eq(shared.out, alone.out, sizeof(alone.out));
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    builder_done(&b);
}
TEST_END

TEST(without_recovery_a_death_in_round_three_is_told_of)
{
    struct control_trial trial = control_usual;

    setenv("NNHAL_RECOVERY", "off", 1);
    run_with_death(&trial);
    ck_assert_int_eq(trial.result, ANEURALNETWORKS_DEAD_OBJECT);
}
TEST_END

/* -- what is told ------------------------------------------------------------------------------ */

static void expect_name(const ANeuralNetworksDevice *device, const char *wanted)
{
    const char *name = NULL;

    OK(ANeuralNetworksDevice_getName(device, &name));
    ck_assert_str_eq(name, wanted);
}

/* A branch, a condition or a body of this model fails, where it is computed by failing. */
static void expect_reason(control_maker make, const char *failing)
{
    struct nnhal_part_info info = {.size = sizeof(info)};
    ANeuralNetworksExecution *execution = NULL;
    struct control_trial trial = control_usual;
    struct control_stand stand;
    char name[32], rules[256];

    snprintf(name, sizeof(name), "partial-%s", failing);
    snprintf(rules, sizeof(rules), CONTROL_UNASKED_OF CONTROL_SHARED ";%s:fail=execute", failing);
    control_stand_init(&stand, make, rules, 0);
    OK(ANeuralNetworksExecution_create(stand.compilation, &execution));
    control_set_inputs(&stand.b, execution, &trial);
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, trial.out,
                                          CONTROL_N * sizeof(float)));
    OK(ANeuralNetworksExecution_compute(execution));
    OK(nnhal_execution_get_part(execution, 0, &info));
    ck_assert_uint_eq(info.n_parts, 1);
    expect_name(info.device, "nnapi-reference");
    ck_assert_msg(strstr(info.why, name) && strstr(info.why, "told not to execute"), "%s",
                  info.why);
    ANeuralNetworksExecution_free(execution);
    control_stand_done(&stand);
}

TEST(why_a_branch_was_computed_elsewhere_is_told)
{
    expect_reason(control_if, "0");
}
TEST_END

TEST(why_a_part_of_a_body_was_computed_elsewhere_is_told)
{
    expect_reason(control_loop, "0");
}
TEST_END

TEST(why_a_condition_was_computed_elsewhere_is_told)
{
    expect_reason(control_loop, "1");
}
TEST_END

TEST(why_a_branch_within_a_body_was_computed_elsewhere_is_told)
{
    expect_reason(control_nested, "0");
}
TEST_END

/* -- settings of the model -------------------------------------------------------------------- */

/* Devices that prepare relaxed models alone. As in Android the flag of the model that is compiled counts,
 * not those of the models that it refers to. */
static void compute_relaxed(control_maker make)
{
    struct control_trial trial = control_usual;
    struct split_models models;
    ANeuralNetworksCompilation *compilation;
    struct builder b;

    builder_init(&b, 1);
    make(&b);
    b.model.relax_computation_float32_to_float16 = 1;
    split_rules("*:relaxed=1;" CONTROL_SHARED);
    split_models_init(&models, &b, false);
    compilation = split_compile(models.graphs[0], 2);
    control_run(&b, compilation, &trial);
    OK(trial.result);
    ANeuralNetworksCompilation_free(compilation);
    split_models_done(&models);
    builder_done(&b);
}

TEST(branches_of_a_relaxed_model_are_relaxed)
{
    compute_relaxed(control_if);
    compute_relaxed(control_loop);
    compute_relaxed(control_nested);
}
TEST_END

/* -- what is left ------------------------------------------------------------------------------ */

/* Executions that have computed, and cannot again, keep nothing of what their loops needed. */
static void expect_no_growth(control_maker make)
{
    ANeuralNetworksExecution *executions[12] = {NULL};
    struct control_trial trial = control_usual;
    struct control_stand stand;
    size_t n_before = 0;

    control_stand_init(&stand, make, CONTROL_SHARED, 2);
    for (uint32_t i = 0; i < 12; i++) {
        OK(ANeuralNetworksExecution_create(stand.compilation, &executions[i]));
        control_set_inputs(&stand.b, executions[i], &trial);
        OK(ANeuralNetworksExecution_setOutput(executions[i], 0, NULL, trial.out,
                                              CONTROL_N * sizeof(float)));
        OK(ANeuralNetworksExecution_compute(executions[i]));
        if (i == 1)
            n_before = count_mappings("nnhal-arguments");
    }
    ck_assert_uint_gt(n_before, 0);
    ck_assert_uint_eq(count_mappings("nnhal-arguments"), n_before);
    for (uint32_t i = 0; i < 12; i++)
        ANeuralNetworksExecution_free(executions[i]);
    control_stand_done(&stand);
}

TEST(a_loop_that_has_ended_keeps_no_memory)
{
    expect_no_growth(control_loop);
}
TEST_END

TEST(what_was_nested_keeps_no_memory)
{
    expect_no_growth(control_nested);
}
TEST_END

CHECK_MAIN("control failures", a_device_that_dies_in_round_three_is_asked_again,
           without_recovery_a_death_in_round_three_is_told_of,
           why_a_branch_was_computed_elsewhere_is_told,
           why_a_part_of_a_body_was_computed_elsewhere_is_told,
           why_a_condition_was_computed_elsewhere_is_told,
           why_a_branch_within_a_body_was_computed_elsewhere_is_told,
           branches_of_a_relaxed_model_are_relaxed, a_loop_that_has_ended_keeps_no_memory,
           what_was_nested_keeps_no_memory)
