/* SPDX-License-Identifier: Apache-2.0 */
/* tflite-state.c - a recurrent model whose state stays in the device
 *
 *     tflite-state MODEL DEVICE STEPS
 *
 * The model has an input and an output of one shape, its state, and others.
 * It runs twice over the same noise: with everything given by pointer, and with
 * the state in two memories of the device, which are input and output in turn.
 * Each step's outputs must be the same bits, and the state at the end; and the
 * second run must copy nothing. Exit status 0 if so. */
#include "support/find-device.h"

#include <nnhal/ext.h>
#include <nnhal/tflite.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A memory of this process. */
struct shared {
    ANeuralNetworksMemory *memory;
    uint8_t *bytes;
    size_t n_bytes;
};

struct model {
    struct nnhal_tflite *tflite;
    ANeuralNetworksCompilation *compilation;
    uint32_t state_in, state_out; /* argument indexes */
    uint32_t other_in, other_out;
    struct shared in, out, state; /* state: to look at it, and to begin with */
};

static void fail_test(const char *what)
{
    char text[512];

    nnhal_get_last_error(text, sizeof(text));
    fprintf(stderr, "%s: %s\n", what, text);
    exit(EXIT_FAILURE);
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        if ((call) != ANEURALNETWORKS_NO_ERROR)                                                    \
            fail_test(#call);                                                                      \
    } while (0)

/* -- the model -------------------------------------------------------------------- */

static void shared_init(struct shared *shared, size_t n_bytes)
{
    int fd = memfd_create("state", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)n_bytes) < 0)
        fail_test("memfd_create");
    shared->n_bytes = n_bytes;
    shared->bytes = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared->bytes == MAP_FAILED)
        fail_test("mmap");
    OK(ANeuralNetworksMemory_createFromFd(n_bytes, PROT_READ | PROT_WRITE, fd, 0, &shared->memory));
    close(fd);
}

static bool is_same_shape(const struct nnhal_tflite_tensor *a, const struct nnhal_tflite_tensor *b)
{
    return a->type == b->type && a->n_dimensions == b->n_dimensions && a->n_bytes == b->n_bytes &&
           memcmp(a->dimensions, b->dimensions, a->n_dimensions * sizeof(*a->dimensions)) == 0;
}

/* The state is the pair of higher rank: the other one may be of one shape too. */
static void find_state(struct model *model)
{
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t k = 0; k < 2; k++) {
            const struct nnhal_tflite_tensor *in = nnhal_tflite_input(model->tflite, i);

            if (!is_same_shape(in, nnhal_tflite_output(model->tflite, k)) || in->n_dimensions < 4)
                continue;
            model->state_in = i;
            model->state_out = k;
            model->other_in = 1 - i;
            model->other_out = 1 - k;
            return;
        }
    fail_test("no state");
}

static void model_init(struct model *model, const char *path, const char *device_name)
{
    const ANeuralNetworksDevice *device = find_device(device_name);
    char message[512];

    if (!device)
        fail_test(device_name);
    if (nnhal_tflite_load(path, &model->tflite, message, sizeof(message)) != 0 ||
        nnhal_tflite_n_inputs(model->tflite) != 2 || nnhal_tflite_n_outputs(model->tflite) != 2)
        fail_test(path);
    find_state(model);
    OK(ANeuralNetworksCompilation_createForDevices(nnhal_tflite_model(model->tflite), &device, 1,
                                                   &model->compilation));
    OK(ANeuralNetworksCompilation_finish(model->compilation));
    shared_init(&model->in, nnhal_tflite_input(model->tflite, model->other_in)->n_bytes);
    shared_init(&model->out, nnhal_tflite_output(model->tflite, model->other_out)->n_bytes);
    shared_init(&model->state, nnhal_tflite_input(model->tflite, model->state_in)->n_bytes);
}

static void shared_done(struct shared *shared)
{
    ANeuralNetworksMemory_free(shared->memory);
    munmap(shared->bytes, shared->n_bytes);
}

static void model_done(struct model *model)
{
    shared_done(&model->in);
    shared_done(&model->out);
    shared_done(&model->state);
    ANeuralNetworksCompilation_free(model->compilation);
    nnhal_tflite_free(model->tflite);
}

static void make_noise(struct model *model, unsigned step)
{
    float *values = (float *)(void *)model->in.bytes;
    uint32_t x = step * 2654435761u + 1;

    for (size_t i = 0; i < model->in.n_bytes / sizeof(*values); i++) {
        x = x * 1664525u + 1013904223u;
        values[i] = (float)(x >> 8) / (float)(1u << 24);
    }
}

/* -- the two runs ------------------------------------------------------------------------ */

static ANeuralNetworksExecution *new_execution(struct model *model)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(model->compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    return execution;
}

/* outputs: one after the other, of all steps. */
static void run_with_copies(struct model *model, unsigned n_steps, uint8_t *outputs,
                            uint8_t *ret_state)
{
    size_t n_state = model->state.n_bytes;
    uint8_t *next = calloc(1, n_state);
    ANeuralNetworksExecution *execution = new_execution(model);

    memset(ret_state, 0, n_state);
    OK(ANeuralNetworksExecution_setInput(execution, (int32_t)model->other_in, NULL, model->in.bytes,
                                         model->in.n_bytes));
    OK(ANeuralNetworksExecution_setInput(execution, (int32_t)model->state_in, NULL, ret_state,
                                         n_state));
    OK(ANeuralNetworksExecution_setOutput(execution, (int32_t)model->other_out, NULL,
                                          model->out.bytes, model->out.n_bytes));
    OK(ANeuralNetworksExecution_setOutput(execution, (int32_t)model->state_out, NULL, next,
                                          n_state));
    for (unsigned i = 0; i < n_steps; i++) {
        make_noise(model, i);
        OK(ANeuralNetworksExecution_compute(execution));
        memcpy(ret_state, next, n_state);
        memcpy(outputs + i * model->out.n_bytes, model->out.bytes, model->out.n_bytes);
    }
    ANeuralNetworksExecution_free(execution);
    free(next);
}

static ANeuralNetworksMemory *new_state(struct model *model)
{
    ANeuralNetworksMemoryDesc *desc = NULL;
    ANeuralNetworksMemory *memory = NULL;

    OK(ANeuralNetworksMemoryDesc_create(&desc));
    OK(ANeuralNetworksMemoryDesc_addInputRole(desc, model->compilation, model->state_in, 1.0f));
    OK(ANeuralNetworksMemoryDesc_addOutputRole(desc, model->compilation, model->state_out, 1.0f));
    OK(ANeuralNetworksMemoryDesc_finish(desc));
    OK(ANeuralNetworksMemory_createFromDesc(desc, &memory));
    ANeuralNetworksMemoryDesc_free(desc);
    return memory;
}

static ANeuralNetworksExecution *bind_state(struct model *model, const ANeuralNetworksMemory *from,
                                            const ANeuralNetworksMemory *to)
{
    ANeuralNetworksExecution *execution = new_execution(model);

    OK(ANeuralNetworksExecution_setInputFromMemory(execution, (int32_t)model->other_in, NULL,
                                                   model->in.memory, 0, model->in.n_bytes));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, (int32_t)model->state_in, NULL, from,
                                                   0, 0));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, (int32_t)model->other_out, NULL,
                                                    model->out.memory, 0, model->out.n_bytes));
    OK(ANeuralNetworksExecution_setOutputFromMemory(execution, (int32_t)model->state_out, NULL, to,
                                                    0, 0));
    return execution;
}

/* Returns: the first step whose outputs differ, or n_steps. */
static unsigned run_in_device(struct model *model, unsigned n_steps, const uint8_t *outputs)
{
    ANeuralNetworksMemory *state[2] = {new_state(model), new_state(model)};
    ANeuralNetworksExecution *executions[2] = {bind_state(model, state[0], state[1]),
                                               bind_state(model, state[1], state[0])};
    unsigned n_same = 0;

    memset(model->state.bytes, 0, model->state.n_bytes);
    OK(ANeuralNetworksMemory_copy(model->state.memory, state[0]));
    for (unsigned i = 0; i < n_steps; i++) {
        make_noise(model, i);
        OK(ANeuralNetworksExecution_compute(executions[i % 2]));
        if (n_same == i &&
            memcmp(outputs + i * model->out.n_bytes, model->out.bytes, model->out.n_bytes) == 0)
            n_same++;
    }
    OK(ANeuralNetworksMemory_copy(state[n_steps % 2], model->state.memory));
    for (int i = 0; i < 2; i++) {
        ANeuralNetworksExecution_free(executions[i]);
        ANeuralNetworksMemory_free(state[i]);
    }
    return n_same;
}

int main(int argc, char **argv)
{
    struct model model = {0};
    uint8_t *outputs, *state;
    unsigned n_steps, n_same;
    uint64_t n_copied;
    bool is_same;

    if (argc != 4)
        return 2;
    n_steps = (unsigned)atoi(argv[3]);
    model_init(&model, argv[1], argv[2]);
    outputs = malloc(n_steps * model.out.n_bytes);
    state = malloc(model.state.n_bytes);
    run_with_copies(&model, n_steps, outputs, state);
    n_copied = nnhal_get_copied_bytes();
    n_same = run_in_device(&model, n_steps, outputs);
    n_copied = nnhal_get_copied_bytes() - n_copied;
    is_same = memcmp(state, model.state.bytes, model.state.n_bytes) == 0;
    printf("%u of %u steps give the same bits, the state at the end %s, %llu bytes copied\n",
           n_same, n_steps, is_same ? "is the same" : "differs", (unsigned long long)n_copied);
    model_done(&model);
    free(outputs);
    free(state);
    return n_same == n_steps && is_same && n_copied == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
