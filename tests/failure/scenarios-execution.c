/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/scenario-list.h"
#include "failure/world.h"

#include <sys/socket.h>
#include <unistd.h>

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

int scenario_burst(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    if (STEP(ANeuralNetworksBurst_create(story->compilation, &story->burst)))
        for (int i = 0; i < 3; i++)
            STEP(ANeuralNetworksExecution_burstCompute(story->executions[0], story->burst));
    story_check(story, story->z);
    return story_end(story);
}

/* As a service that dies and is there again at once. */
static void end_sessions(void)
{
    for (int fd = 3; fd < 128; fd++) {
        int type = 0, is_listening = 1;
        socklen_t n = sizeof(int);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET &&
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &n) == 0 && !is_listening)
            shutdown(fd, SHUT_RDWR);
    }
}

int scenario_recovery(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    if (story->code == 0)
        end_sessions();
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, story->z);
    return story_end(story);
}
