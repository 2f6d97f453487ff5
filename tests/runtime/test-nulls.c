/* SPDX-License-Identifier: Apache-2.0 */
/* Every function with every pointer that must not be NULL, one by one; every
 * _free with NULL. */
#include "rt.h"

#include <stdbool.h>

TEST(device_calls)
{
    const ANeuralNetworksDevice *devices[] = {NULL};
    ANeuralNetworksDevice *device;
    const char *text;
    int64_t level;
    int32_t type;
    bool supported[1];

    rt_init();
    devices[0] = device = RT_FAKE;
    NULLED(ANeuralNetworks_getDeviceCount(NULL));
    NULLED(ANeuralNetworks_getDevice(0, NULL));
    NULLED(ANeuralNetworks_getDevice(99, NULL));
    NULLED(ANeuralNetworksDevice_getName(NULL, &text));
    NULLED(ANeuralNetworksDevice_getName(device, NULL));
    NULLED(ANeuralNetworksDevice_getVersion(NULL, &text));
    NULLED(ANeuralNetworksDevice_getVersion(device, NULL));
    NULLED(ANeuralNetworksDevice_getType(NULL, &type));
    NULLED(ANeuralNetworksDevice_getType(device, NULL));
    NULLED(ANeuralNetworksDevice_getFeatureLevel(NULL, &level));
    NULLED(ANeuralNetworksDevice_getFeatureLevel(device, NULL));
    NULLED(ANeuralNetworksDevice_wait(NULL));
    {
        ANeuralNetworksModel *model = rt_model();

        NULLED(ANeuralNetworksModel_getSupportedOperationsForDevices(NULL, devices, 1, supported));
        NULLED(ANeuralNetworksModel_getSupportedOperationsForDevices(model, NULL, 1, supported));
        NULLED(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, NULL));
        devices[0] = NULL;
        NULLED(ANeuralNetworksModel_getSupportedOperationsForDevices(model, devices, 1, supported));
        ANeuralNetworksModel_free(model);
    }
}
TEST_END

TEST(model_calls)
{
    ANeuralNetworksOperandType type = rt_scalar(ANEURALNETWORKS_INT32);
    ANeuralNetworksModel *model = rt_open_model(4), *finished = rt_model();
    ANeuralNetworksMemory *memory = NULL;
    const uint32_t list[] = {0};

    NULLED(ANeuralNetworksMemory_createFromFd(4, 3, 0, 0, NULL));
    NULLED(ANeuralNetworksModel_create(NULL));
    NULLED(ANeuralNetworksModel_addOperand(NULL, &type));
    NULLED(ANeuralNetworksModel_addOperand(model, NULL));
    NULLED(ANeuralNetworksModel_setOperandValue(NULL, 0, list, 4));
    NULLED(ANeuralNetworksModel_setOperandValue(model, 0, NULL, 4));
    memory = rt_memory(64, NULL);
    NULLED(ANeuralNetworksModel_setOperandValueFromMemory(NULL, 0, memory, 0, 4));
    NULLED(ANeuralNetworksModel_setOperandValueFromMemory(model, 0, NULL, 0, 4));
    NULLED(ANeuralNetworksModel_setOperandValueFromModel(NULL, 0, finished));
    NULLED(ANeuralNetworksModel_setOperandValueFromModel(model, 0, NULL));
    NULLED(ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(model, 0, NULL));
    NULLED(ANeuralNetworksModel_addOperation(NULL, 0, 1, list, 1, list));
    NULLED(ANeuralNetworksModel_addOperation(model, 0, 0, NULL, 1, list));
    NULLED(ANeuralNetworksModel_addOperation(model, 0, 1, list, 0, NULL));
    NULLED(ANeuralNetworksModel_identifyInputsAndOutputs(NULL, 1, list, 1, list));
    NULLED(ANeuralNetworksModel_identifyInputsAndOutputs(model, 0, NULL, 1, list));
    NULLED(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, list, 0, NULL));
    NULLED(ANeuralNetworksModel_relaxComputationFloat32toFloat16(NULL, true));
    NULLED(ANeuralNetworksModel_finish(NULL));
    /* NULL goes before state. */
    NULLED(ANeuralNetworksModel_addOperand(finished, NULL));
    ANeuralNetworksModel_free(model);
    ANeuralNetworksModel_free(finished);
    ANeuralNetworksMemory_free(memory);
}
TEST_END

TEST(compilation_calls)
{
    const ANeuralNetworksDevice *devices[] = {NULL};
    ANeuralNetworksCompilation *compilation, *none;
    const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1};
    ANeuralNetworksModel *model;
    uint32_t value;

    rt_init();
    model = rt_model();
    compilation = rt_compilation();
    none = compilation;
    NULLED(ANeuralNetworksCompilation_create(NULL, &none));
    ck_assert_ptr_null(none);
    NULLED(ANeuralNetworksCompilation_create(model, NULL));
    NULLED(ANeuralNetworksCompilation_createForDevices(model, NULL, 1, &none));
    NULLED(ANeuralNetworksCompilation_createForDevices(model, devices, 1, &none));
    NULLED(ANeuralNetworksCompilation_createForDevices(NULL, devices, 0, &none));
    NULLED(ANeuralNetworksCompilation_createForDevices(model, devices, 0, NULL));
    NULLED(ANeuralNetworksCompilation_setPreference(NULL, 0));
    NULLED(ANeuralNetworksCompilation_setCaching(NULL, "", token));
    NULLED(ANeuralNetworksCompilation_setCaching(compilation, NULL, token));
    NULLED(ANeuralNetworksCompilation_setCaching(compilation, "", NULL));
    NULLED(ANeuralNetworksCompilation_setPriority(NULL, 100));
    NULLED(ANeuralNetworksCompilation_setTimeout(NULL, 1));
    NULLED(ANeuralNetworksCompilation_finish(NULL));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(NULL, 0, &value));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(compilation, 0, NULL));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(NULL, 0, &value));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(compilation, 0, NULL));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(NULL, 0, &value));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(compilation, 0, NULL));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(NULL, 0, &value));
    NULLED(ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(compilation, 0, NULL));
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}
TEST_END

TEST(execution_calls)
{
    ANeuralNetworksExecution *none = NULL;
    ANeuralNetworksBurst *burst = NULL;
    ANeuralNetworksMemory *memory;
    struct rt_run run;
    uint64_t duration;
    uint32_t value;

    rt_init();
    rt_run_create(&run);
    none = run.execution;
    memory = rt_memory(64, NULL);
    NULLED(ANeuralNetworksExecution_create(NULL, &none));
    ck_assert_ptr_null(none);
    NULLED(ANeuralNetworksExecution_create(run.compilation, NULL));
    NULLED(ANeuralNetworksExecution_setInput(NULL, 0, NULL, run.x, 16));
    NULLED(ANeuralNetworksExecution_setInput(run.execution, 0, NULL, NULL, 16));
    NULLED(ANeuralNetworksExecution_setInputFromMemory(NULL, 0, NULL, memory, 0, 16));
    NULLED(ANeuralNetworksExecution_setInputFromMemory(run.execution, 0, NULL, NULL, 0, 16));
    NULLED(ANeuralNetworksExecution_setOutput(NULL, 0, NULL, run.z, 16));
    NULLED(ANeuralNetworksExecution_setOutput(run.execution, 0, NULL, NULL, 16));
    NULLED(ANeuralNetworksExecution_setOutputFromMemory(NULL, 0, NULL, memory, 0, 16));
    NULLED(ANeuralNetworksExecution_setOutputFromMemory(run.execution, 0, NULL, NULL, 0, 16));
    NULLED(ANeuralNetworksExecution_enableInputAndOutputPadding(NULL, true));
    NULLED(ANeuralNetworksExecution_setReusable(NULL, true));
    NULLED(ANeuralNetworksExecution_setMeasureTiming(NULL, true));
    NULLED(ANeuralNetworksExecution_setTimeout(NULL, 1));
    NULLED(ANeuralNetworksExecution_setLoopTimeout(NULL, 1));
    NULLED(ANeuralNetworksExecution_compute(NULL));
    NULLED(ANeuralNetworksBurst_create(NULL, &burst));
    NULLED(ANeuralNetworksBurst_create(run.compilation, NULL));
    NULLED(ANeuralNetworksExecution_burstCompute(NULL, NULL));
    NULLED(ANeuralNetworksExecution_burstCompute(run.execution, NULL));
    NULLED(ANeuralNetworksExecution_getOutputOperandRank(NULL, 0, &value));
    NULLED(ANeuralNetworksExecution_getOutputOperandRank(run.execution, 0, NULL));
    NULLED(ANeuralNetworksExecution_getOutputOperandDimensions(NULL, 0, &value));
    NULLED(ANeuralNetworksExecution_getOutputOperandDimensions(run.execution, 0, NULL));
    NULLED(ANeuralNetworksExecution_getDuration(NULL, 0, &duration));
    NULLED(ANeuralNetworksExecution_getDuration(run.execution, 0, NULL));
    ANeuralNetworksMemory_free(memory);
    rt_run_done(&run);
}
TEST_END

TEST(event_calls)
{
    const ANeuralNetworksEvent *list[] = {NULL};
    ANeuralNetworksEvent *event;
    struct rt_run run;
    int fd = 7;

    rt_init();
    rt_run_init(&run);
    event = (ANeuralNetworksEvent *)&run;
    NULLED(ANeuralNetworksExecution_startCompute(NULL, &event));
    ck_assert_ptr_null(event);
    NULLED(ANeuralNetworksExecution_startCompute(run.execution, NULL));
    NULLED(ANeuralNetworksExecution_startComputeWithDependencies(NULL, NULL, 0, 0, &event));
    NULLED(
        ANeuralNetworksExecution_startComputeWithDependencies(run.execution, NULL, 1, 0, &event));
    NULLED(
        ANeuralNetworksExecution_startComputeWithDependencies(run.execution, list, 1, 0, &event));
    NULLED(ANeuralNetworksExecution_startComputeWithDependencies(run.execution, NULL, 0, 0, NULL));
    NULLED(ANeuralNetworksEvent_wait(NULL));
    NULLED(ANeuralNetworksEvent_createFromSyncFenceFd(0, NULL));
    NULLED(ANeuralNetworksEvent_getSyncFenceFd(NULL, &fd));
    ck_assert_int_eq(fd, -1);
    /* None of that used the execution up. */
    OK(ANeuralNetworksExecution_compute(run.execution));
    rt_run_done(&run);
}
TEST_END

TEST(extension_calls)
{
    struct nnhal_where where = {.size = sizeof(where)};
    struct nnhal_cache_info info = {.size = sizeof(info)};
    struct nnhal_part_info part = {.size = sizeof(part)};
    struct nnhal_device_counts counts = {.size = sizeof(counts)};
    struct nnhal_figure figure = {.size = sizeof(figure)};
    struct nnhal_plan plan = {.size = sizeof(plan)};
    struct nnhal_operation_verdict verdict = {.size = sizeof(verdict)};
    struct nnhal_part_cost cost = {.size = sizeof(cost)};
    struct nnhal_part_move move = {.size = sizeof(move)};
    ANeuralNetworksDevice *device;
    struct rt_run run;
    char text[8] = "full";

    rt_init();
    rt_run_create(&run);
    NULLED(nnhal_device_get_where(NULL, &where));
    NULLED(nnhal_device_get_where(RT_FAKE, NULL));
    NULLED(nnhal_compilation_set_deferred(NULL, 1));
    NULLED(nnhal_compilation_get_cache_info(NULL, &info));
    NULLED(nnhal_compilation_get_cache_info(run.compilation, NULL));
    NULLED(nnhal_compilation_get_cost(NULL, 0, &cost));
    NULLED(nnhal_compilation_get_cost(run.compilation, 0, NULL));
    NULLED(nnhal_compilation_get_move(NULL, 0, &move));
    NULLED(nnhal_compilation_get_move(run.compilation, 0, NULL));
    NULLED(nnhal_compilation_get_verdict(NULL, RT_FAKE, 0, &verdict));
    NULLED(nnhal_compilation_get_verdict(run.compilation, NULL, 0, &verdict));
    NULLED(nnhal_compilation_get_verdict(run.compilation, RT_FAKE, 0, NULL));
    NULLED(nnhal_compilation_get_plan(NULL, &plan));
    NULLED(nnhal_compilation_get_plan(run.compilation, NULL));
    NULLED(nnhal_compilation_get_device(NULL, &device));
    NULLED(nnhal_compilation_get_device(run.compilation, NULL));
    NULLED(nnhal_execution_get_device(NULL, &device));
    NULLED(nnhal_execution_get_device(run.execution, NULL));
    NULLED(nnhal_execution_get_part(NULL, 0, &part));
    NULLED(nnhal_execution_get_part(run.execution, 0, NULL));
    NULLED(nnhal_device_calibrate(NULL));
    NULLED(nnhal_device_get_figure(NULL, 0, &figure));
    NULLED(nnhal_device_get_figure(RT_FAKE, 0, NULL));
    NULLED(nnhal_device_get_counts(NULL, &counts));
    NULLED(nnhal_device_get_counts(RT_FAKE, NULL));
    ck_assert_uint_eq(nnhal_model_get_error(NULL, text, sizeof(text)), 0);
    ck_assert_str_eq(text, "");
    ck_assert_uint_eq(nnhal_compilation_get_error(NULL, NULL, 0), 0);
    ck_assert_uint_eq(nnhal_execution_get_error(NULL, text, 0), 0);
    rt_run_done(&run);
}
TEST_END

TEST(free_of_null)
{
    ANeuralNetworksMemory_free(NULL);
    ANeuralNetworksModel_free(NULL);
    ANeuralNetworksCompilation_free(NULL);
    ANeuralNetworksExecution_free(NULL);
    ANeuralNetworksBurst_free(NULL);
    ANeuralNetworksEvent_free(NULL);
}
TEST_END

CHECK_MAIN("nulls", device_calls, model_calls, compilation_calls, execution_calls, event_calls,
           extension_calls, free_of_null)
