/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/scenario-list.h"
#include "failure/world.h"

#include <sys/mman.h>

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

/* Two bursts of one compilation, in turn. */
int scenario_bursts(void)
{
    struct story all, *story = &all;
    ANeuralNetworksBurst *other = NULL;

    story_begin(story);
    story_prepare(story);
    STEP(ANeuralNetworksExecution_setReusable(story->executions[0], true));
    STEP(ANeuralNetworksBurst_create(story->compilation, &story->burst));
    STEP(ANeuralNetworksBurst_create(story->compilation, &other));
    for (int i = 0; i < 2; i++) {
        STEP(ANeuralNetworksExecution_burstCompute(story->executions[0], story->burst));
        STEP(ANeuralNetworksExecution_burstCompute(story->executions[0], other));
    }
    story_check(story, story->z);
    ANeuralNetworksBurst_free(other);
    return story_end(story);
}

/* Memories come to a burst by slots; one that is freed leaves its slot. */
int scenario_burst_memory(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    STEP(ANeuralNetworksBurst_create(story->compilation, &story->burst));
    for (int i = 0; story->code == 0 && i < 2; i++) {
        for (int k = 0; k < 2; k++)
            STEP(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, world_memory_fd,
                                                    0, &story->memories[k]));
        story_set_memories(story, 2 * (uint64_t)N_BYTES);
        STEP(ANeuralNetworksExecution_burstCompute(story->executions[0], story->burst));
        story_check(story, world_memory + 2 * (size_t)N_FLOATS);
        ANeuralNetworksExecution_free(story->executions[0]);
        story->executions[0] = NULL;
        for (int k = 0; k < 2; k++) {
            ANeuralNetworksMemory_free(story->memories[k]);
            story->memories[k] = NULL;
        }
    }
    return story_end(story);
}
