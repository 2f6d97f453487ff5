/* SPDX-License-Identifier: Apache-2.0 */
/* world.h - models, compilations and folders of the scenarios */
#ifndef NN_TESTS_FAILURE_WORLD_H
#define NN_TESTS_FAILURE_WORLD_H

#include "failure/scenario.h"

#include <android/NeuralNetworks.h>

#include <stdint.h>

enum { N_FLOATS = 64, N_BYTES = N_FLOATS * (int)sizeof(float) };

/* A client's things; code is the first that was not NO_ERROR. */
struct story {
    ANeuralNetworksModel *model, *body, *condition;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *executions[2];
    ANeuralNetworksEvent *events[2];
    ANeuralNetworksBurst *burst;
    ANeuralNetworksMemoryDesc *desc;
    ANeuralNetworksMemory *memories[2];
    float x[N_FLOATS], y[N_FLOATS], z[N_FLOATS];
    int code;
};

/* Makes the call unless an earlier one failed; whether all went well so far. */
#define STEP(call)                                                                                 \
    __extension__({                                                                                \
        if (story->code == 0 && (story->code = (call)) != 0)                                       \
            scenario_failed = #call;                                                               \
        story->code == 0;                                                                          \
    })

extern char world_folder[64];
extern ANeuralNetworksDevice *world_device;

/* The shared memory of the process: x at 0, y at N_BYTES, z at 2 * N_BYTES. */
extern int world_memory_fd;
extern float *world_memory;

/* As if the service had died and were there again at once. */
void world_end_sessions(void);

void story_begin(struct story *story);

/* story_end() - frees all of it. Returns its code. */

/* From a compilation that was created to the end of the story. */
int story_finish_and_compute(struct story *story);
int story_end(struct story *story);

/* A tensor of N_FLOATS floats; n 0: of an unknown number. */
ANeuralNetworksOperandType story_tensor(const uint32_t *n);

/* z = x + y; n: as in story_tensor(). */
void story_build(struct story *story, uint32_t n);

/* For the device alone. */
void story_create_compilation(struct story *story);
void story_compile(struct story *story);

/* The model, compiled, and the first execution with its arguments, by pointer. */
void story_prepare(struct story *story);
void story_set_arguments(struct story *story, ANeuralNetworksExecution *execution);

/* The first execution, with x and y of the first memory and z of the second. */
void story_set_memories(struct story *story, uint64_t z_offset);

/* Of the compilation: a memory of the device, and an execution there, in the burst if there is one. */
void story_use_domain(struct story *story);

void story_check(struct story *story, const float *z);

#endif
