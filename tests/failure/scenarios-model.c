/* SPDX-License-Identifier: Apache-2.0 */
/* What comes before an execution. */
#include "failure/scenario-list.h"
#include "failure/world.h"

#include <nnhal/ext.h>

#include <string.h>
#include <sys/mman.h>

int scenario_devices(void)
{
    struct story all, *story = &all;
    uint32_t n = 0;

    story_begin(story);
    STEP(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *text = NULL;
        int64_t level = 0;
        int32_t type = 0;

        if (!STEP(ANeuralNetworks_getDevice(i, &device)))
            break;
        STEP(ANeuralNetworksDevice_getName(device, &text));
        STEP(ANeuralNetworksDevice_getVersion(device, &text));
        STEP(ANeuralNetworksDevice_getFeatureLevel(device, &level));
        STEP(ANeuralNetworksDevice_getType(device, &type));
        STEP(ANeuralNetworksDevice_wait(device));
    }
    return story_end(story);
}

int scenario_build(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    return story_end(story);
}

/* Two tensors of one float, and an operand of another type. */
static void add_operands(struct story *story, ANeuralNetworksModel *model,
                         const ANeuralNetworksOperandType *third)
{
    const uint32_t one = 1;
    const ANeuralNetworksOperandType number = story_tensor(&one);

    STEP(ANeuralNetworksModel_addOperand(model, &number));
    STEP(ANeuralNetworksModel_addOperand(model, &number));
    STEP(ANeuralNetworksModel_addOperand(model, third));
}

/* number < 8 */
static void build_condition(struct story *story)
{
    const uint32_t inputs[] = {0, 1}, output = 2, one = 1;
    const ANeuralNetworksOperandType flag = {
        .type = ANEURALNETWORKS_TENSOR_BOOL8, .dimensionCount = 1, .dimensions = &one};
    const float limit = 8;

    STEP(ANeuralNetworksModel_create(&story->condition));
    add_operands(story, story->condition, &flag);
    STEP(ANeuralNetworksModel_setOperandValue(story->condition, 1, &limit, sizeof(limit)));
    STEP(ANeuralNetworksModel_addOperation(story->condition, ANEURALNETWORKS_LESS, 2, inputs, 1,
                                           &output));
    STEP(ANeuralNetworksModel_identifyInputsAndOutputs(story->condition, 1, inputs, 1, &output));
    STEP(ANeuralNetworksModel_finish(story->condition));
}

/* number + number */
static void build_body(struct story *story)
{
    const uint32_t inputs[] = {0, 0, 2}, output = 1;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const int32_t none = 0;

    STEP(ANeuralNetworksModel_create(&story->body));
    add_operands(story, story->body, &scalar);
    STEP(ANeuralNetworksModel_setOperandValue(story->body, 2, &none, sizeof(none)));
    STEP(
        ANeuralNetworksModel_addOperation(story->body, ANEURALNETWORKS_ADD, 3, inputs, 1, &output));
    STEP(ANeuralNetworksModel_identifyInputsAndOutputs(story->body, 1, inputs, 1, &output));
    STEP(ANeuralNetworksModel_finish(story->body));
}

static void build_loop(struct story *story)
{
    const uint32_t inputs[] = {0, 1, 2}, input = 2, output = 3, one = 1;
    const ANeuralNetworksOperandType number = story_tensor(&one);
    const ANeuralNetworksOperandType model = {.type = ANEURALNETWORKS_MODEL};

    STEP(ANeuralNetworksModel_create(&story->model));
    STEP(ANeuralNetworksModel_addOperand(story->model, &model));
    STEP(ANeuralNetworksModel_addOperand(story->model, &model));
    STEP(ANeuralNetworksModel_addOperand(story->model, &number));
    STEP(ANeuralNetworksModel_addOperand(story->model, &number));
    STEP(ANeuralNetworksModel_setOperandValueFromModel(story->model, 0, story->condition));
    STEP(ANeuralNetworksModel_setOperandValueFromModel(story->model, 1, story->body));
    STEP(ANeuralNetworksModel_addOperation(story->model, ANEURALNETWORKS_WHILE, 3, inputs, 1,
                                           &output));
    STEP(ANeuralNetworksModel_identifyInputsAndOutputs(story->model, 1, &input, 1, &output));
    STEP(ANeuralNetworksModel_finish(story->model));
}

/* Doubles 1 until it is 8. */
int scenario_control_flow(void)
{
    struct story all, *story = &all;
    ANeuralNetworksExecution *execution = NULL;

    story_begin(story);
    build_condition(story);
    build_body(story);
    build_loop(story);
    story_compile(story);
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &execution))) {
        story->executions[0] = execution;
        STEP(ANeuralNetworksExecution_setInput(execution, 0, NULL, &story->x[1], sizeof(float)));
        STEP(ANeuralNetworksExecution_setOutput(execution, 0, NULL, story->z, sizeof(float)));
        STEP(ANeuralNetworksExecution_compute(execution));
    }
    if (story->code == 0 && (story->z[0] < 7.5f || story->z[0] > 8.5f))
        story->code = SCENARIO_WRONG;
    return story_end(story);
}

int scenario_supported(void)
{
    const ANeuralNetworksDevice *device = world_device;
    struct story all, *story = &all;
    bool is_supported = false;

    story_begin(story);
    story_build(story, N_FLOATS);
    STEP(ANeuralNetworksModel_getSupportedOperationsForDevices(story->model, &device, 1,
                                                               &is_supported));
    /* A device whose service has just ended supports nothing. */
    if (story->code == 0 && !is_supported)
        story->code = ANEURALNETWORKS_OP_FAILED;
    return story_end(story);
}

int scenario_compile(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    return story_end(story);
}

int scenario_compile_options(void)
{
    struct story all, *story = &all;
    uint32_t alignment = 0;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_create_compilation(story);
    STEP(ANeuralNetworksCompilation_setPreference(story->compilation,
                                                  ANEURALNETWORKS_PREFER_LOW_POWER));
    STEP(ANeuralNetworksCompilation_setPriority(story->compilation, ANEURALNETWORKS_PRIORITY_HIGH));
    STEP(ANeuralNetworksCompilation_setTimeout(story->compilation, 60000000000));
    STEP(ANeuralNetworksCompilation_finish(story->compilation));
    STEP(ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(story->compilation, 0,
                                                                        &alignment));
    return story_end(story);
}

/* The library chooses, and has a second device in case that the first one fails. */
int scenario_any_device(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    STEP(ANeuralNetworksCompilation_create(story->model, &story->compilation));
    return story_finish_and_compute(story);
}

int scenario_deferred(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_create_compilation(story);
    STEP(nnhal_compilation_set_deferred(story->compilation, 1));
    return story_finish_and_compute(story);
}

/* y is a constant in memory, beside one that is referred to. */
int scenario_constants(void)
{
    const uint32_t n = N_FLOATS, sums[2][3] = {{0, 1, 3}, {4, 2, 3}}, ends[] = {4, 5};
    const ANeuralNetworksOperandType tensor = story_tensor(&n);
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    static const float zeros[N_FLOATS];
    const int32_t none = 0;
    struct story all, *story = &all;

    story_begin(story);
    STEP(ANeuralNetworksMemory_createFromFd(4096, PROT_READ, world_memory_fd, 0,
                                            &story->memories[0]));
    STEP(ANeuralNetworksModel_create(&story->model));
    for (int i = 0; i < 6; i++)
        STEP(ANeuralNetworksModel_addOperand(story->model, i == 3 ? &scalar : &tensor));
    STEP(ANeuralNetworksModel_setOperandValueFromMemory(story->model, 1, story->memories[0],
                                                        N_BYTES, N_BYTES));
    STEP(ANeuralNetworksModel_setOperandValue(story->model, 2, zeros, sizeof(zeros)));
    STEP(ANeuralNetworksModel_setOperandValue(story->model, 3, &none, sizeof(none)));
    for (int i = 0; i < 2; i++)
        STEP(ANeuralNetworksModel_addOperation(story->model, ANEURALNETWORKS_ADD, 3, sums[i], 1,
                                               &ends[i]));
    STEP(ANeuralNetworksModel_identifyInputsAndOutputs(story->model, 1, sums[0], 1, &ends[1]));
    STEP(ANeuralNetworksModel_finish(story->model));
    story_compile(story);
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[0]))) {
        STEP(ANeuralNetworksExecution_setInput(story->executions[0], 0, NULL, story->x, N_BYTES));
        STEP(ANeuralNetworksExecution_setOutput(story->executions[0], 0, NULL, story->z, N_BYTES));
        STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    }
    story_check(story, story->z);
    return story_end(story);
}
