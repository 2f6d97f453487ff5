/* SPDX-License-Identifier: Apache-2.0 */
#include "load.h"

#include "adder.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ENDLESS_RATIO = INT32_MAX, /* 2^62 samples for a cell */
    FOLD_RATIO = 3000,
    SIDE = 4096,
    RESTS_US = 1000, /* after what was refused */
};

/* -- models ------------------------------------------------------------------------------ */

struct draft {
    ANeuralNetworksModel *model;
    uint32_t n;
};

static uint32_t add_tensor(struct draft *draft, uint32_t rank, const uint32_t *dims)
{
    const ANeuralNetworksOperandType type = {ANEURALNETWORKS_TENSOR_FLOAT32, rank, dims, 0, 0};

    ANeuralNetworksModel_addOperand(draft->model, &type);
    return draft->n++;
}

static uint32_t add_value(struct draft *draft, const ANeuralNetworksOperandType *type,
                          const void *value, size_t n_bytes)
{
    ANeuralNetworksModel_addOperand(draft->model, type);
    ANeuralNetworksModel_setOperandValue(draft->model, (int32_t)draft->n, value, n_bytes);
    return draft->n++;
}

static uint32_t add_i32(struct draft *draft, int32_t value)
{
    return add_value(draft, &(ANeuralNetworksOperandType){.type = ANEURALNETWORKS_INT32}, &value,
                     sizeof(value));
}

static const uint32_t image_dims[] = {1, 8, 8, 1}, cell_dims[] = {1, 2, 2, 1};

/* ROI_ALIGN of an image with ratio^2 samples for each of four cells. */
static uint32_t add_roi_align(struct draft *draft, uint32_t image, int32_t ratio)
{
    static const float boxes[4] = {0, 0, 7, 7}, one = 1;
    static const int32_t batch = 0;
    static const uint32_t boxes_dims[] = {1, 4}, batch_dims[] = {1};
    const ANeuralNetworksOperandType f32 = {.type = ANEURALNETWORKS_FLOAT32},
                                     boolean = {.type = ANEURALNETWORKS_BOOL};
    uint32_t in[10], out;

    in[0] = image;
    in[1] = add_value(
        draft, &(ANeuralNetworksOperandType){ANEURALNETWORKS_TENSOR_FLOAT32, 2, boxes_dims, 0, 0},
        boxes, sizeof(boxes));
    in[2] = add_value(
        draft, &(ANeuralNetworksOperandType){ANEURALNETWORKS_TENSOR_INT32, 1, batch_dims, 0, 0},
        &batch, sizeof(batch));
    in[3] = add_i32(draft, 2);
    in[4] = add_i32(draft, 2);
    in[5] = add_value(draft, &f32, &one, sizeof(one));
    in[6] = add_value(draft, &f32, &one, sizeof(one));
    in[7] = add_i32(draft, ratio);
    in[8] = add_i32(draft, ratio);
    in[9] = add_value(draft, &boolean, &(bool){false}, 1);
    out = add_tensor(draft, 4, cell_dims);
    ANeuralNetworksModel_addOperation(draft->model, ANEURALNETWORKS_ROI_ALIGN, 10, in, 1, &out);
    return out;
}

static uint32_t add_sum(struct draft *draft, uint32_t x, uint32_t y, uint32_t rank,
                        const uint32_t *dims)
{
    const uint32_t in[] = {x, y, add_i32(draft, ANEURALNETWORKS_FUSED_NONE)};
    uint32_t out = add_tensor(draft, rank, dims);

    ANeuralNetworksModel_addOperation(draft->model, ANEURALNETWORKS_ADD, 3, in, 1, &out);
    return out;
}

static ANeuralNetworksModel *make_model(enum load_kind kind)
{
    static const uint32_t column[] = {SIDE, 1}, row[] = {1, SIDE}, square[] = {SIDE, SIDE};
    static const float image[64] = {1};
    const ANeuralNetworksOperandType image_type = {ANEURALNETWORKS_TENSOR_FLOAT32, 4, image_dims, 0,
                                                   0};
    uint32_t inputs[2] = {0, 1}, output, n_inputs = 1;
    struct draft draft = {0};

    ANeuralNetworksModel_create(&draft.model);
    if (kind == LOAD_MEMORY) {
        n_inputs = 2;
        add_tensor(&draft, 2, column);
        add_tensor(&draft, 2, row);
        output = add_sum(&draft, 0, 1, 2, square);
    } else if (kind == LOAD_FOLDS) {
        add_tensor(&draft, 4, cell_dims);
        output = add_value(&draft, &image_type, image, sizeof(image));
        output = add_roi_align(&draft, output, FOLD_RATIO);
        output = add_sum(&draft, 0, output, 4, cell_dims);
    } else {
        output = add_roi_align(&draft, add_tensor(&draft, 4, image_dims), ENDLESS_RATIO);
    }
    ANeuralNetworksModel_identifyInputsAndOutputs(draft.model, n_inputs, inputs, 1, &output);
    ANeuralNetworksModel_finish(draft.model);
    return draft.model;
}

/* -- what a thread does --------------------------------------------------------------------- */

static ANeuralNetworksCompilation *compile(ANeuralNetworksModel *model, int32_t priority)
{
    const ANeuralNetworksDevice *device = adder_device("nnhal-cpu");
    ANeuralNetworksCompilation *compilation = NULL;

    ANeuralNetworksCompilation_createForDevices(model, &device, 1, &compilation);
    ANeuralNetworksCompilation_setPriority(compilation, priority);
    if (ANeuralNetworksCompilation_finish(compilation) == ANEURALNETWORKS_NO_ERROR)
        return compilation;
    ANeuralNetworksCompilation_free(compilation);
    usleep(RESTS_US);
    return NULL;
}

/* An image of zeroes, or a row and a column, to one output. */
static bool execute(ANeuralNetworksCompilation *compilation, ANeuralNetworksBurst *burst,
                    enum load_kind kind)
{
    static const float zeroes[SIDE];
    ANeuralNetworksExecution *execution = NULL;
    ANeuralNetworksMemory *memory = NULL;
    float cells[4];
    int fd = -1, r;

    ANeuralNetworksExecution_create(compilation, &execution);
    if (kind == LOAD_MEMORY) {
        const size_t n_bytes = sizeof(zeroes) * SIDE;

        fd = memfd_create("load", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)n_bytes) < 0)
            adder_die("memfd");
        ANeuralNetworksMemory_createFromFd(n_bytes, PROT_READ | PROT_WRITE, fd, 0, &memory);
        ANeuralNetworksExecution_setInput(execution, 0, NULL, zeroes, sizeof(zeroes));
        ANeuralNetworksExecution_setInput(execution, 1, NULL, zeroes, sizeof(zeroes));
        ANeuralNetworksExecution_setOutputFromMemory(execution, 0, NULL, memory, 0, n_bytes);
    } else {
        ANeuralNetworksExecution_setInput(execution, 0, NULL, zeroes, 64 * sizeof(float));
        ANeuralNetworksExecution_setOutput(execution, 0, NULL, cells, sizeof(cells));
    }
    r = burst ? ANeuralNetworksExecution_burstCompute(execution, burst)
              : ANeuralNetworksExecution_compute(execution);
    ANeuralNetworksExecution_free(execution);
    ANeuralNetworksMemory_free(memory);
    if (fd >= 0)
        close(fd);
    return r == ANEURALNETWORKS_NO_ERROR;
}

static void *load_thread(void *argument)
{
    const struct load *load = argument;
    ANeuralNetworksModel *model = make_model(load->kind);
    ANeuralNetworksCompilation *compilation = NULL;
    ANeuralNetworksBurst *burst = NULL;

    while (load->kind == LOAD_FOLDS)
        ANeuralNetworksCompilation_free(compile(model, load->priority));
    while (!compilation)
        compilation = compile(model, load->priority);
    if (load->kind == LOAD_BURSTS && ANeuralNetworksBurst_create(compilation, &burst))
        return NULL;
    for (;;)
        if (!execute(compilation, burst, load->kind))
            usleep(RESTS_US);
    return NULL;
}

/* -- processes ------------------------------------------------------------------------------ */

void load_become(uid_t user)
{
    if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 ||
        setresuid(user, user, user) < 0)
        adder_die("setresuid");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void load_main(const struct load *load)
{
    pthread_t thread;

    for (int i = 0; i < load->n_threads; i++)
        if (pthread_create(&thread, NULL, load_thread, (void *)(uintptr_t)load))
            adder_die("a thread of the load");
    for (;;)
        pause();
}

void load_start(const struct load *load, uid_t user, pid_t *pids)
{
    for (int i = 0; i < load->n_connections; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            adder_die("fork");
        if (pids[i] == 0) {
            load_become(user);
            load_main(load);
        }
    }
}

void load_stop(const struct load *load, const pid_t *pids)
{
    for (int i = 0; i < load->n_connections; i++)
        kill(pids[i], SIGKILL);
    for (int i = 0; i < load->n_connections; i++)
        waitpid(pids[i], NULL, 0);
}
