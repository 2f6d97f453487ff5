/* SPDX-License-Identifier: Apache-2.0 */
/* nnapi-reference: the device that is always there, with loops that end and
 * loops that do not. */
#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include "support/check-main.h"

#include <string.h>

#define OK(call)       ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)
#define IS(code, call) ck_assert_int_eq((call), ANEURALNETWORKS_##code)

static const uint32_t one = 1;
static const ANeuralNetworksOperandType number = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &one, 0, 0};
static const ANeuralNetworksOperandType flag = {ANEURALNETWORKS_TENSOR_BOOL8, 1, &one, 0, 0};
static const ANeuralNetworksOperandType scalar = {ANEURALNETWORKS_INT32, 0, NULL, 0, 0};
static const ANeuralNetworksOperandType subgraph = {ANEURALNETWORKS_MODEL, 0, NULL, 0, 0};

static ANeuralNetworksDevice *reference_device(void)
{
    ANeuralNetworksDevice *device = NULL;
    const char *name = NULL;
    uint32_t n = 0;

    setenv("NNHAL_DRIVER_PATH", "", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    OK(ANeuralNetworks_getDeviceCount(&n));
    ck_assert_uint_eq(n, 1);
    OK(ANeuralNetworks_getDevice(0, &device));
    OK(ANeuralNetworksDevice_getName(device, &name));
    ck_assert_str_eq(name, "nnapi-reference");
    return device;
}

/* x < limit */
static ANeuralNetworksModel *condition_model(float limit)
{
    const uint32_t less[] = {0, 1}, input = 0, output = 2;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_addOperand(model, &flag));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &limit, sizeof(limit)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_LESS, 2, less, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

/* x + 1 */
static ANeuralNetworksModel *body_model(void)
{
    const uint32_t add[] = {0, 1, 2}, input = 0, output = 3;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const float step = 1;
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_addOperand(model, &scalar));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_setOperandValue(model, 1, &step, sizeof(step)));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static ANeuralNetworksModel *loop_model(float limit)
{
    ANeuralNetworksModel *test = condition_model(limit), *step = body_model(), *model = NULL;
    const uint32_t inputs[] = {0, 1, 2}, input = 2, output = 3;

    OK(ANeuralNetworksModel_create(&model));
    OK(ANeuralNetworksModel_addOperand(model, &subgraph));
    OK(ANeuralNetworksModel_addOperand(model, &subgraph));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_addOperand(model, &number));
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 0, test));
    OK(ANeuralNetworksModel_setOperandValueFromModel(model, 1, step));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_WHILE, 3, inputs, 1, &output));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, &input, 1, &output));
    OK(ANeuralNetworksModel_finish(model));
    ANeuralNetworksModel_free(test);
    ANeuralNetworksModel_free(step);
    return model;
}

struct times {
    uint64_t compilation_ns, execution_ns, loop_ns;
};

/* Returns: what compute() said; *ret_x is where the loop ended. */
static int run_loop(float limit, const struct times *times, float *ret_x)
{
    const ANeuralNetworksDevice *device = reference_device();
    ANeuralNetworksModel *model = loop_model(limit);
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksExecution *execution = NULL;
    float x = 0;
    int result;

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation));
    OK(ANeuralNetworksCompilation_setTimeout(compilation, times->compilation_ns));
    OK(ANeuralNetworksCompilation_finish(compilation));
    OK(ANeuralNetworksExecution_create(compilation, &execution));
    OK(ANeuralNetworksExecution_setTimeout(execution, times->execution_ns));
    if (times->loop_ns)
        OK(ANeuralNetworksExecution_setLoopTimeout(execution, times->loop_ns));
    OK(ANeuralNetworksExecution_setInput(execution, 0, NULL, &x, sizeof(x)));
    OK(ANeuralNetworksExecution_setOutput(execution, 0, NULL, ret_x, sizeof(*ret_x)));
    result = ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
    return result;
}

static bool is_missed_deadline(int result)
{
    return result == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
           result == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT;
}

TEST(a_loop_ends_by_its_condition)
{
    const struct times none = {0};
    float x = -1;

    OK(run_loop(1000, &none, &x));
    ck_assert_float_eq(x, 1000);
    OK(run_loop(-5, &none, &x)); /* not once */
    ck_assert_float_eq(x, 0);
}
TEST_END

/* Android's reference device aborts the process when there is a timeout and a loop. */
TEST(a_loop_may_have_timeouts_around_it)
{
    const struct times hour = {3600000000000, 3600000000000, 1000000000};
    float x = -1;

    OK(run_loop(10, &hour, &x));
    ck_assert_float_eq(x, 10);
}
TEST_END

TEST(an_endless_loop_is_ended)
{
    const struct times loop_only = {.loop_ns = 1000000};
    const struct times execution_only = {.execution_ns = 1000000};
    float x;

    ck_assert(is_missed_deadline(run_loop(1e30f, &loop_only, &x)));
    ck_assert(is_missed_deadline(run_loop(1e30f, &execution_only, &x)));
}
TEST_END

CHECK_MAIN("reference", a_loop_ends_by_its_condition, a_loop_may_have_timeouts_around_it,
           an_endless_loop_is_ended)
