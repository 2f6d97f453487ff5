/* SPDX-License-Identifier: Apache-2.0 */
#include "failure/world.h"

#include "drivers/cpu/cpu.h"
#include "runtime/builtin.h"
#include "service/stand.h"
#include "support/find-device.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

char world_folder[64];
ANeuralNetworksDevice *world_device;
const char *scenario_failed = "";
int world_memory_fd;
float *world_memory;

static struct stand stand;
static bool is_embedded;

/* -- the devices ----------------------------------------------------------------------------------- */

/* In a service there is no other of that name. */
static const struct nnhal_driver *embedded_main(const char *configuration)
{
    return is_embedded ? nn_cpu_driver_main(configuration) : NULL;
}

const struct nn_builtin nn_builtins[] = {
    {embedded_main, NULL, false}, {nn_cpu_reference_main, NULL, true}, {NULL, NULL, false}};

/* -- the world ------------------------------------------------------------------------------------- */

static void lay_memory(void)
{
    world_memory_fd = memfd_create("failure", MFD_CLOEXEC);
    ck_assert_int_eq(ftruncate(world_memory_fd, 4096), 0);
    world_memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, world_memory_fd, 0);
    ck_assert_ptr_ne(world_memory, MAP_FAILED);
}

/* In memory, where there is such a folder: thousands of processes sync their files here. */
static void make_folder(void)
{
    snprintf(world_folder, sizeof(world_folder), "/dev/shm/nnhal-failure-XXXXXX");
    if (mkdtemp(world_folder))
        return;
    snprintf(world_folder, sizeof(world_folder), "/tmp/nnhal-failure-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(world_folder));
}

void scenario_begin(enum scenario_place place)
{
    is_embedded = place == SCENARIO_EMBEDDED;
    make_folder();
    setenv("NNHAL_STATE_PATH", world_folder, 1);
    setenv("NNHAL_DRIVER_PATH", "", 1);
    setenv("NNHAL_SOCKET_PATH", "", 1);
    setenv("NNHAL_MODE", is_embedded ? "embedded" : "service", 1);

    lay_memory();
    if (place == SCENARIO_SERVICE) {
        stand_place(&stand);
        snprintf(stand.path, sizeof(stand.path), "%s/cpu.sock", stand.folder);
        setenv("NNHAL_SOCKET_PATH", stand.folder, 1);
        stand_open_with(&stand, nn_cpu_driver_main);
    }
    if (place != SCENARIO_NOWHERE) {
        world_device = find_device("nnhal-cpu");
        ck_assert_ptr_nonnull(world_device);
    }
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *ftw)
{
    return remove(path);
}

void scenario_end(void)
{
    ck_assert_int_eq(nftw(world_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    if (stand.service) {
        unlink(stand.path);
        rmdir(stand.folder);
    }
}

void world_end_sessions(void)
{
    for (int fd = 3; fd < 128; fd++) {
        int type = 0, is_listening = 1;
        socklen_t n = sizeof(int);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET &&
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &n) == 0 && !is_listening)
            shutdown(fd, SHUT_RDWR);
    }
}

/* -- stories ------------------------------------------------------------------------------------- */

void story_begin(struct story *story)
{
    memset(story, 0, sizeof(*story));
    for (int i = 0; i < N_FLOATS; i++) {
        story->x[i] = (float)i;
        story->y[i] = 0.5f;
    }
    memcpy(world_memory, story->x, sizeof(story->x));
    memcpy(world_memory + N_FLOATS, story->y, sizeof(story->y));
    memset(world_memory + 2 * (size_t)N_FLOATS, 0, sizeof(story->z));
}

int story_end(struct story *story)
{
    ANeuralNetworksBurst_free(story->burst);
    for (int i = 0; i < 2; i++) {
        ANeuralNetworksEvent_free(story->events[i]);
        ANeuralNetworksExecution_free(story->executions[i]);
        ANeuralNetworksMemory_free(story->memories[i]);
    }
    ANeuralNetworksMemoryDesc_free(story->desc);
    ANeuralNetworksCompilation_free(story->compilation);
    ANeuralNetworksModel_free(story->model);
    ANeuralNetworksModel_free(story->body);
    ANeuralNetworksModel_free(story->condition);
    return story->code;
}

int story_finish_and_compute(struct story *story)
{
    STEP(ANeuralNetworksCompilation_finish(story->compilation));
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[0])))
        story_set_arguments(story, story->executions[0]);
    STEP(ANeuralNetworksExecution_compute(story->executions[0]));
    story_check(story, story->z);
    return story_end(story);
}

ANeuralNetworksOperandType story_tensor(const uint32_t *n)
{
    return (ANeuralNetworksOperandType){
        .type = ANEURALNETWORKS_TENSOR_FLOAT32, .dimensionCount = 1, .dimensions = n};
}

void story_build(struct story *story, uint32_t n)
{
    const uint32_t inputs[] = {0, 1, 2}, output = 3;
    const ANeuralNetworksOperandType tensor = story_tensor(&n);
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const int32_t none = 0;

    STEP(ANeuralNetworksModel_create(&story->model));
    STEP(ANeuralNetworksModel_addOperand(story->model, &tensor));
    STEP(ANeuralNetworksModel_addOperand(story->model, &tensor));
    STEP(ANeuralNetworksModel_addOperand(story->model, &scalar));
    STEP(ANeuralNetworksModel_addOperand(story->model, &tensor));
    STEP(ANeuralNetworksModel_setOperandValue(story->model, 2, &none, sizeof(none)));
    STEP(ANeuralNetworksModel_addOperation(story->model, ANEURALNETWORKS_ADD, 3, inputs, 1,
                                           &output));
    STEP(ANeuralNetworksModel_identifyInputsAndOutputs(story->model, 2, inputs, 1, &output));
    STEP(ANeuralNetworksModel_finish(story->model));
}

void story_create_compilation(struct story *story)
{
    const ANeuralNetworksDevice *device = world_device;

    STEP(
        ANeuralNetworksCompilation_createForDevices(story->model, &device, 1, &story->compilation));
}

void story_compile(struct story *story)
{
    story_create_compilation(story);
    STEP(ANeuralNetworksCompilation_finish(story->compilation));
}

void story_set_arguments(struct story *story, ANeuralNetworksExecution *execution)
{
    STEP(ANeuralNetworksExecution_setInput(execution, 0, NULL, story->x, N_BYTES));
    STEP(ANeuralNetworksExecution_setInput(execution, 1, NULL, story->y, N_BYTES));
    STEP(ANeuralNetworksExecution_setOutput(execution, 0, NULL, story->z, N_BYTES));
}

void story_prepare(struct story *story)
{
    story_build(story, N_FLOATS);
    story_compile(story);
    if (STEP(ANeuralNetworksExecution_create(story->compilation, &story->executions[0])))
        story_set_arguments(story, story->executions[0]);
}

void story_set_memories(struct story *story, uint64_t z_offset)
{
    ANeuralNetworksExecution *execution = NULL;

    if (!STEP(ANeuralNetworksExecution_create(story->compilation, &execution)))
        return;
    story->executions[0] = execution;
    STEP(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, story->memories[0], 0,
                                                     N_BYTES));
    STEP(ANeuralNetworksExecution_setInputFromMemory(execution, 1, NULL, story->memories[0],
                                                     N_BYTES, N_BYTES));
    STEP(ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, story->memories[1],
                                                      z_offset, N_BYTES));
}

void story_check(struct story *story, const float *z)
{
    for (int i = 0; story->code == 0 && i < N_FLOATS; i++)
        if (z[i] < (float)i + 0.25f || z[i] > (float)i + 0.75f)
            story->code = SCENARIO_WRONG;
}
