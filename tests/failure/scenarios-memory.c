/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/scenario-list.h"
#include "failure/world.h"

#include <android/hardware_buffer.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int scenario_memory(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    for (int i = 0; i < 2; i++)
        STEP(ANeuralNetworksMemory_createFromFd(4096, PROT_READ | PROT_WRITE, world_memory_fd, 0,
                                                &story->memories[i]));
    story_set_memories(story, 2 * (uint64_t)N_BYTES);
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, world_memory + 2 * (size_t)N_FLOATS);
    return story_end(story);
}

static int code_of(int r)
{
    return r == -ENOMEM ? ANEURALNETWORKS_OUT_OF_MEMORY : r < 0 ? ANEURALNETWORKS_OP_FAILED : 0;
}

/* Locked twice: what is written is there, what was computed is read. */
static void lock_and_copy(struct story *story, AHardwareBuffer *buffer)
{
    uint8_t *bytes = NULL;

    if (!STEP(code_of(AHardwareBuffer_lock(
            buffer, AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN | AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN,
            -1, NULL, (void **)&bytes))))
        return;
    memcpy(bytes, story->x, N_BYTES);
    memcpy(bytes + N_BYTES, story->y, N_BYTES);
    memcpy(story->z, bytes + 2 * (size_t)N_BYTES, N_BYTES);
    STEP(code_of(AHardwareBuffer_unlock(buffer, NULL)));
}

int scenario_hardware_buffer(void)
{
    const AHardwareBuffer_Desc desc = {
        .width = 4096,
        .height = 1,
        .layers = 1,
        .format = AHARDWAREBUFFER_FORMAT_BLOB,
        .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN,
    };
    struct story all, *story = &all;
    AHardwareBuffer *buffer = NULL;

    story_begin(story);
    if (STEP(code_of(AHardwareBuffer_allocate(&desc, &buffer))))
        lock_and_copy(story, buffer);
    story_build(story, N_FLOATS);
    story_compile(story);
    for (int i = 0; i < 2; i++)
        STEP(ANeuralNetworksMemory_createFromAHardwareBuffer(buffer, &story->memories[i]));
    story_set_memories(story, 2 * (uint64_t)N_BYTES);
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    if (story->code == 0)
        lock_and_copy(story, buffer);
    story_check(story, story->z);
    if (buffer)
        AHardwareBuffer_release(buffer);
    return story_end(story);
}

static void create_domain(struct story *story)
{
    STEP(ANeuralNetworksMemoryDesc_create(&story->desc));
    STEP(ANeuralNetworksMemoryDesc_addInputRole(story->desc, story->compilation, 0, 1.0f));
    STEP(ANeuralNetworksMemoryDesc_addOutputRole(story->desc, story->compilation, 0, 1.0f));
    STEP(ANeuralNetworksMemoryDesc_finish(story->desc));
    STEP(ANeuralNetworksMemory_createFromDesc(story->desc, &story->memories[0]));
    STEP(ANeuralNetworksMemory_createFromFd(N_BYTES, PROT_READ | PROT_WRITE, world_memory_fd, 0,
                                            &story->memories[1]));
}

/* x into the device's memory, x + y there, and back. */
void story_use_domain(struct story *story)
{
    ANeuralNetworksExecution *execution = NULL;

    create_domain(story);
    STEP(ANeuralNetworksMemory_copy(story->memories[1], story->memories[0]));
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &execution))) {
        story->executions[0] = execution;
        STEP(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, story->memories[0], 0,
                                                         0));
        STEP(ANeuralNetworksExecution_setInput(execution, 1, NULL, story->y, N_BYTES));
        STEP(ANeuralNetworksExecution_setOutput(execution, 0, NULL, story->z, N_BYTES));
        if (story->burst)
            STEP(ANeuralNetworksExecution_burstCompute(execution, story->burst));
        else
            STEP(ANeuralNetworksExecution_compute(execution));
    }
    STEP(ANeuralNetworksMemory_copy(story->memories[0], story->memories[1]));
    story_check(story, story->z);
    if (story->code == 0 && memcmp(world_memory, story->x, N_BYTES) != 0)
        story->code = SCENARIO_WRONG;
}

int scenario_domain(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    story_use_domain(story);
    return story_end(story);
}

int scenario_domain_burst(void)
{
    struct story all, *story = &all;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    STEP(ANeuralNetworksBurst_create(story->compilation, &story->burst));
    story_use_domain(story);
    return story_end(story);
}

/* From one memory of the device to another one. */
int scenario_domain_copy(void)
{
    struct story all, *story = &all;
    ANeuralNetworksMemory *other = NULL;

    story_begin(story);
    story_build(story, N_FLOATS);
    story_compile(story);
    create_domain(story);
    STEP(ANeuralNetworksMemory_createFromDesc(story->desc, &other));
    STEP(ANeuralNetworksMemory_copy(story->memories[1], story->memories[0]));
    STEP(ANeuralNetworksMemory_copy(story->memories[0], other));
    memset(world_memory, 0, N_BYTES);
    STEP(ANeuralNetworksMemory_copy(other, story->memories[1]));
    if (story->code == 0 && memcmp(world_memory, story->x, N_BYTES) != 0)
        story->code = SCENARIO_WRONG;
    ANeuralNetworksMemory_free(other);
    return story_end(story);
}

/* A buffer comes from another process, which sends its handle. */
int scenario_sent_buffer(void)
{
    const AHardwareBuffer_Desc desc = {
        .width = N_BYTES,
        .height = 1,
        .layers = 1,
        .format = AHARDWAREBUFFER_FORMAT_BLOB,
        .usage = AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN | AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN,
    };
    struct story all, *story = &all;
    AHardwareBuffer *buffer = NULL, *received = NULL;
    int pair[2] = {-1, -1};

    story_begin(story);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
        return ANEURALNETWORKS_OP_FAILED;
    STEP(code_of(AHardwareBuffer_allocate(&desc, &buffer)));
    STEP(code_of(AHardwareBuffer_sendHandleToUnixSocket(buffer, pair[0])));
    STEP(code_of(AHardwareBuffer_recvHandleFromUnixSocket(pair[1], &received)));
    STEP(ANeuralNetworksMemory_createFromAHardwareBuffer(received, &story->memories[0]));
    AHardwareBuffer_release(buffer);
    AHardwareBuffer_release(received);
    close(pair[0]);
    close(pair[1]);
    return story_end(story);
}
