/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions of a service end, as if it had died and were there again at once. */
#include "failure/scenario-list.h"
#include "failure/world.h"

int scenario_recovery(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    if (story->code == 0)
        world_end_sessions();
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, story->z);
    return story_end(story);
}

int scenario_recover_compile(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_create_compilation(story);
    if (story->code == 0)
        world_end_sessions();
    return story_finish_and_compute(story);
}

int scenario_recover_event(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    if (story->code == 0)
        world_end_sessions();
    if (STEP(ANeuralNetworksExecution_startCompute(story->executions[0], &story->events[0])))
        STEP(ANeuralNetworksEvent_wait(story->events[0]));
    story_check(story, story->z);
    return story_end(story);
}

int scenario_recover_burst(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    STEP(ANeuralNetworksBurst_create(story->compilation, &story->burst));
    STEP(ANeuralNetworksExecution_burstCompute(story->executions[0], story->burst));
    if (story->code == 0)
        world_end_sessions();
    STEP(ANeuralNetworksExecution_burstCompute(story->executions[0], story->burst));
    story_check(story, story->z);
    return story_end(story);
}

/* The memory is made when the session that compiled is gone. */
int scenario_recover_domain(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    if (story->code == 0)
        world_end_sessions();
    story_use_domain(story);
    return story_end(story);
}
