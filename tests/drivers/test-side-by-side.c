/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that need nothing of each other are computed at the same time.
 *
 * EXP on partial-0 and ABS on partial-1 read the model's input; ADD on partial-2 reads both. */
#include "drivers/split.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, N_AT_ONCE = 100 };

/* So slow that another thread is worth waking, as far as the library knows. */
#define DIAMOND "*:time=900;0:only=EXP;1:only=ABS;2:only=ADD"

static const float input[N] = {0, -1, -2, 0.5f};
static uint32_t n_there;

#define EQUALS "*:time=900,type=accelerator"

/* From now on each EXP and ABS waits for the other. */
static void hold(const char *rules)
{
    char address[32];

    snprintf(address, sizeof(address), "%llx", (unsigned long long)(uintptr_t)&n_there);
    setenv("NN_TEST_MEETING", address, 1);
    split_rules("%s;0:meet=2;1:meet=2", rules);
}

static ANeuralNetworksModel *make_diamond(void)
{
    const uint32_t n = N, in = 0, exp = 1, abs = 2, sum = 4, terms[] = {1, 2, 3};
    const ANeuralNetworksOperandType tensor = {.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                               .dimensionCount = 1,
                                               .dimensions = &n},
                                     scalar = {.type = ANEURALNETWORKS_INT32};
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (uint32_t i = 0; i < 3; i++)
        OK(ANeuralNetworksModel_addOperand(model, &tensor));
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    OK(ANeuralNetworksModel_addOperand(model, &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_EXP, 1, &in, 1, &exp));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ABS, 1, &in, 1, &abs));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, terms, 1, &sum));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &in, 1, &sum));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static ANeuralNetworksExecution *start(ANeuralNetworksCompilation *compilation, float *out)
{
    ANeuralNetworksExecution *execution = NULL;

    memset(out, 0, N * sizeof(*out));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, input, N * sizeof(*input)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, out, N * sizeof(*out)));
    return execution;
}

static void check_output(const float *out)
{
    for (uint32_t i = 0; i < N; i++)
        ck_assert_float_eq_tol(out[i], expf(input[i]) + fabsf(input[i]), 1e-4f);
}

/* The model that two devices compute at once. */
struct diamond {
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
};

static void diamond_init(struct diamond *diamond)
{
    split_rules(DIAMOND);
    diamond->model = make_diamond();
    diamond->compilation = split_compile(diamond->model, 3);
}

static void diamond_done(struct diamond *diamond)
{
    ANeuralNetworksCompilation_free(diamond->compilation);
    ANeuralNetworksModel_free(diamond->model);
}

/* Each of two parts waits until the other one computes. rules: the devices'. */
static void compute_at_once(const struct diamond *diamond, const char *rules)
{
    ANeuralNetworksExecution *execution;
    float out[N];

    ck_assert_uint_eq(split_count_parts(diamond->compilation), 3);
    hold(rules);
    execution = start(diamond->compilation, out);
    OK(ANeuralNetworksExecution_compute(execution));
    check_output(out);
    ANeuralNetworksExecution_free(execution);
}

TEST(two_devices_compute_at_once)
{
    struct diamond diamond;

    diamond_init(&diamond);
    compute_at_once(&diamond, DIAMOND);
    diamond_done(&diamond);
}
TEST_END

/* Each of them takes all of the model. */
TEST(accelerators_that_are_as_fast_compute_branches_at_once)
{
    struct diamond diamond;

    split_rules(EQUALS);
    diamond.model = make_diamond();
    diamond.compilation = split_compile(diamond.model, 2);
    compute_at_once(&diamond, EQUALS);
    diamond_done(&diamond);
}
TEST_END

TEST(two_parts_of_a_burst_compute_at_once)
{
    ANeuralNetworksExecution *execution;
    ANeuralNetworksBurst *burst = NULL;
    struct diamond diamond;
    float out[N];

    diamond_init(&diamond);
    hold(DIAMOND);
    execution = start(diamond.compilation, out);
    OK(ANeuralNetworksBurst_create(diamond.compilation, &burst));
    OK(ANeuralNetworksExecution_burstCompute(execution, burst));
    check_output(out);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksExecution_free(execution);
    diamond_done(&diamond);
}
TEST_END

/* Whichever of the two it is, and what its device said is what is told. */
TEST(a_part_that_fails_beside_another_fails_the_whole)
{
    struct diamond diamond;
    float out[N];

    diamond_init(&diamond);
    for (uint32_t i = 0; i < 2; i++) {
        ANeuralNetworksExecution *execution = start(diamond.compilation, out);
        char why[256];

        split_rules(DIAMOND ";%u:fail=execute", i);
        ck_assert_int_eq(ANeuralNetworksExecution_compute(execution), ANEURALNETWORKS_OP_FAILED);
        nnhal_execution_get_error(execution, why, sizeof(why));
        ck_assert_ptr_nonnull(strstr(why, "told not to execute"));
        ANeuralNetworksExecution_free(execution);
    }
    diamond_done(&diamond);
}
TEST_END

/* More than there are threads, each of which could wait for another one. */
TEST(many_executions_in_parts_all_end)
{
    static float out[N_AT_ONCE][N];
    ANeuralNetworksExecution *executions[N_AT_ONCE];
    ANeuralNetworksEvent *events[N_AT_ONCE];
    struct diamond diamond;

    diamond_init(&diamond);
    for (uint32_t i = 0; i < N_AT_ONCE; i++) {
        executions[i] = start(diamond.compilation, out[i]);
        OK(ANeuralNetworksExecution_startCompute(executions[i], &events[i]));
    }
    for (uint32_t i = 0; i < N_AT_ONCE; i++) {
        OK(ANeuralNetworksEvent_wait(events[i]));
        check_output(out[i]);
        ANeuralNetworksEvent_free(events[i]);
        ANeuralNetworksExecution_free(executions[i]);
    }
    diamond_done(&diamond);
}
TEST_END

CHECK_MAIN("side by side", two_devices_compute_at_once,
           accelerators_that_are_as_fast_compute_branches_at_once,
           two_parts_of_a_burst_compute_at_once, a_part_that_fails_beside_another_fails_the_whole,
           many_executions_in_parts_all_end)
