/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/scenario-list.h"
#include "failure/world.h"

int scenario_compute(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, story->z);
    return story_end(story);
}

int scenario_measure(void)
{
    struct story all, *story = &all;
    uint64_t duration_ns = 0;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setMeasureTiming(story->executions[0], true));
    STEP(ANeuralNetworksExecution_setTimeout(story->executions[0], 60000000000));
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    STEP(ANeuralNetworksExecution_getDuration(story->executions[0],
                                              ANEURALNETWORKS_DURATION_IN_DRIVER, &duration_ns));
    story_check(story, story->z);
    return story_end(story);
}

int scenario_again(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    for (int i = 0; i < 3; i++)
        STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, story->z);
    return story_end(story);
}

int scenario_event(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    if (STEP(ANeuralNetworksExecution_startCompute(story->executions[0], &story->events[0])))
        STEP(ANeuralNetworksEvent_wait(story->events[0]));
    story_check(story, story->z);
    return story_end(story);
}

/* The second waits for the first. */
int scenario_fences(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[1])))
        story_set_arguments(story, story->executions[1]);
    STEP(ANeuralNetworksExecution_startComputeWithDependencies(story->executions[0], NULL, 0, 0,
                                                               &story->events[0]));
    if (story->code == 0) {
        const ANeuralNetworksEvent *dependency = story->events[0];

        STEP(ANeuralNetworksExecution_startComputeWithDependencies(
            story->executions[1], &dependency, 1, 0, &story->events[1]));
        STEP(ANeuralNetworksEvent_wait(story->events[1]));
        STEP(ANeuralNetworksEvent_wait(story->events[0]));
    }
    story_check(story, story->z);
    return story_end(story);
}

int scenario_open_shape(void)
{
    struct story all, *story = &all;
    const uint32_t n = N_FLOATS;
    const ANeuralNetworksOperandType tensor = story_tensor(&n);
    uint32_t rank = 0, dims[1] = {0};

    story_begin(story);
    story_build(story, 0);
    story_compile(story);
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[0]))) {
        ANeuralNetworksExecution *execution = story->executions[0];

        STEP(ANeuralNetworksExecution_setInput(execution, 0, &tensor, story->x, N_BYTES));
        STEP(ANeuralNetworksExecution_setInput(execution, 1, &tensor, story->y, N_BYTES));
        STEP(ANeuralNetworksExecution_setOutput(execution, 0, NULL, story->z, N_BYTES));
        STEP(ANeuralNetworksExecution_compute(execution));
        STEP(ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank));
        STEP(ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0, dims));
    }
    if (story->code == 0 && (rank != 1 || dims[0] != N_FLOATS))
        story->code = SCENARIO_WRONG;
    story_check(story, story->z);
    return story_end(story);
}

/* A reusable execution, by an event each time. */
int scenario_event_again(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    for (int i = 0; i < 2; i++)
        if (STEP(ANeuralNetworksExecution_startCompute(story->executions[0], &story->events[i])))
            STEP(ANeuralNetworksEvent_wait(story->events[i]));
    story_check(story, story->z);
    return story_end(story);
}

/* Two executions of one compilation at once. */
int scenario_events(void)
{
    struct story all, *story = &all;
    ANeuralNetworksExecution *second = NULL;
    float z[N_FLOATS] = {0};

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_create(story->compilation, &second));
    STEP(ANeuralNetworksExecution_setInput(second, 0, NULL, story->x, N_BYTES));
    STEP(ANeuralNetworksExecution_setInput(second, 1, NULL, story->y, N_BYTES));
    STEP(ANeuralNetworksExecution_setOutput(second, 0, NULL, z, N_BYTES));
    story->executions[1] = second;
    for (int i = 0; i < 2; i++)
        STEP(ANeuralNetworksExecution_startCompute(story->executions[i], &story->events[i]));
    for (int i = 0; i < 2; i++)
        if (story->events[i]) {
            int code = ANeuralNetworksEvent_wait(story->events[i]);

            STEP(code);
        }
    story_check(story, story->z);
    story_check(story, z);
    return story_end(story);
}

/* An output of half the size is refused and says which size it needs. */
int scenario_small_output(void)
{
    struct story all, *story = &all;
    const uint32_t n = N_FLOATS;
    const ANeuralNetworksOperandType tensor = story_tensor(&n);
    uint32_t dims[1] = {0};
    int code;

    story_begin(story);
    story_build(story, 0);
    story_compile(story);
    STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[0]));
    STEP(ANeuralNetworksExecution_setInput(story->executions[0], 0, &tensor, story->x, N_BYTES));
    STEP(ANeuralNetworksExecution_setInput(story->executions[0], 1, &tensor, story->y, N_BYTES));
    STEP(ANeuralNetworksExecution_setOutput(story->executions[0], 0, NULL, story->z, N_BYTES / 2));
    if (story->code != 0)
        return story_end(story);
    code = ANeuralNetworksExecution_compute(story->executions[0]);
    if (code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
        story->code = code ? code : SCENARIO_WRONG;
        return story_end(story);
    }
    code = ANeuralNetworksExecution_getOutputOperandDimensions(story->executions[0], 0, dims);
    if (code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE || dims[0] != N_FLOATS)
        story->code = SCENARIO_WRONG;
    return story_end(story);
}
