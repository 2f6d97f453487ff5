/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include "support/threads.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static const int32_t operations[N_NODES] = {ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL,
                                            ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL};
static const char *const names[N_DEVICES] = {"adder", "multiplier"};

/* What z has before it is computed. */
#define POISON 0xee

struct line stand;

static const size_t set_bytes = N_PLACES * N_BYTES, all_bytes = 2 * N_PLACES * N_BYTES;

float *line_orders(int node)
{
    return stand.floats + (size_t)(1 + node) * QUEUE_FLOATS;
}

float *line_result(int which)
{
    return line_orders(N_NODES + which);
}

static size_t place_of(const float *floats)
{
    return (size_t)(floats - stand.all) * sizeof(float);
}

int line_device_of(int node)
{
    return node % N_DEVICES;
}

/* -- the model ------------------------------------------------------------------------------ */

/* Operands: x, the activation, then y and z of each node. */
static uint32_t operand_of(int node, bool is_result)
{
    return 2 + 2 * (uint32_t)node + is_result;
}

static void make_model(void)
{
    const uint32_t n = QUEUE_FLOATS;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    const uint32_t outputs[] = {operand_of(N_NODES - 1, true), operand_of(1, true)};
    uint32_t inputs[1 + N_NODES] = {0};

    OK(ANeuralNetworksModel_create(&stand.model));
    for (int i = 0; i < 2 + 2 * N_NODES; i++)
        OK(ANeuralNetworksModel_addOperand(stand.model, i == 1 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(stand.model, 1, &none, sizeof(none)));
    for (int i = 0; i < N_NODES; i++) {
        const uint32_t in[] = {i ? operand_of(i - 1, true) : 0, operand_of(i, false), 1};
        const uint32_t out = operand_of(i, true);

        OK(ANeuralNetworksModel_addOperation(stand.model, operations[i], 3, in, 1, &out));
        inputs[1 + i] = in[1];
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(stand.model, 1 + N_NODES, inputs,
                                                     1 + stand.gives_second, outputs));
    OK(ANeuralNetworksModel_finish(stand.model));
}

static void compile(void)
{
    const ANeuralNetworksDevice *devices[] = {services_find(ADDER), services_find(MULTIPLIER)};
    struct nnhal_plan plan = {.size = sizeof(plan)};

    OK(ANeuralNetworksCompilation_createForDevices(stand.model, devices, N_DEVICES,
                                                   &stand.compilation));
    OK(ANeuralNetworksCompilation_finish(stand.compilation));
    OK(nnhal_compilation_get_plan(stand.compilation, &plan));
    ck_assert_uint_eq(plan.n_parts, N_NODES);
}

ANeuralNetworksExecution *line_make_execution(void)
{
    ANeuralNetworksExecution *execution = NULL;

    OK(ANeuralNetworksExecution_create(stand.compilation, &execution));
    OK(ANeuralNetworksExecution_setReusable(execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(execution, 0, NULL, stand.memory,
                                                   place_of(stand.floats), N_BYTES));
    for (int i = 0; i < N_NODES; i++)
        OK(ANeuralNetworksExecution_setInputFromMemory(execution, 1 + i, NULL, stand.memory,
                                                       place_of(line_orders(i)), N_BYTES));
    for (int i = 0; i < 1 + stand.gives_second; i++)
        OK(ANeuralNetworksExecution_setOutputFromMemory(execution, i, NULL, stand.memory,
                                                        place_of(line_result(i)), N_BYTES));
    return execution;
}

void line_begin(bool gives_second)
{
    int fd = memfd_create("line", MFD_CLOEXEC);

    services_begin(names);
    ck_assert_int_eq(ftruncate(fd, (off_t)all_bytes), 0);
    stand.all = mmap(NULL, all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(stand.all, MAP_FAILED);
    stand.floats = stand.all;
    OK(ANeuralNetworksMemory_createFromFd(all_bytes, PROT_READ | PROT_WRITE, fd, 0, &stand.memory));
    close(fd);
    stand.gives_second = gives_second;
    make_model();
    compile();
    stand.execution = line_make_execution();
}

void line_finish(void)
{
    ANeuralNetworksExecution_free(stand.execution);
    ANeuralNetworksCompilation_free(stand.compilation);
    ANeuralNetworksModel_free(stand.model);
    ANeuralNetworksMemory_free(stand.memory);
    munmap(stand.all, all_bytes);
    services_end();
}

/* -- computing -------------------------------------------------------------------------------- */

void line_open_gate(int node)
{
    ((volatile float *)line_orders(node))[QUEUE_GATE] = 1;
}

void line_open_gates(void)
{
    for (int i = 0; i < N_NODES; i++)
        line_open_gate(i);
}

ANeuralNetworksEvent *line_start(ANeuralNetworksExecution *execution,
                                 const ANeuralNetworksEvent *after)
{
    ANeuralNetworksEvent *event = NULL;

    OK(ANeuralNetworksExecution_startComputeWithDependencies(execution, &after, after != NULL, 0,
                                                             &event));
    return event;
}

static void give_orders(int node, enum queue_deed deed)
{
    memset(stand.floats, 0, set_bytes);
    memset(line_result(0), POISON, N_BYTES);
    line_orders(node)[QUEUE_DEED] = (float)deed;
}

ANeuralNetworksEvent *line_launch(int node, enum queue_deed deed)
{
    give_orders(node, deed);
    return line_start(stand.execution, NULL);
}

int line_poll_fence(const ANeuralNetworksEvent *event, int timeout_ms)
{
    struct pollfd fd = {.events = POLLIN};
    int n;

    OK(ANeuralNetworksEvent_getSyncFenceFd(event, &fd.fd));
    n = poll(&fd, 1, timeout_ms);
    close(fd.fd);
    return n == 1 ? fd.revents & (POLLIN | POLLERR) : 0;
}

/* Of all devices: what they have been handed over, and not ended. */
static unsigned count_queued(void)
{
    unsigned n = 0;

    for (int i = 0; i < (chain_is_way("embedded") ? 1 : N_DEVICES); i++)
        n += count_threads_of(services_pid(services_find(i)), "queue-device").n_threads;
    return n;
}

void line_await_queued(unsigned n)
{
    for (int i = 0; count_queued() != n; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        chain_nap();
    }
}

unsigned line_count_computing(void)
{
    return count_threads_of(getpid(), "nn-compute").n_threads;
}

void line_check_untouched(void)
{
    for (size_t i = 0; i < N_BYTES; i++)
        ck_assert_uint_eq(((const uint8_t *)line_result(0))[i], POISON);
}

void line_check_left_untouched(void)
{
    line_open_gates();
    for (int i = 0; i < 1000; i++) {
        line_check_untouched();
        chain_nap();
    }
}

int line_run(int node, enum queue_deed deed)
{
    ANeuralNetworksEvent *event = line_launch(node, deed);
    int r;

    line_open_gates();
    r = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return r;
}

int line_try(int node, enum queue_deed deed)
{
    ANeuralNetworksEvent *before = NULL, *event = NULL;
    int fence = eventfd(0, EFD_CLOEXEC), r;

    give_orders(node, deed);
    line_open_gates();
    OK(ANeuralNetworksEvent_createFromSyncFenceFd(fence, &before));
    r = ANeuralNetworksExecution_startComputeWithDependencies(
        stand.execution, (const ANeuralNetworksEvent *const *)&before, 1, 0, &event);
    ck_assert_int_eq(eventfd_write(fence, 1), 0);
    if (r == ANEURALNETWORKS_NO_ERROR)
        r = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(before);
    close(fence);
    return r;
}

void line_check_runs(void)
{
    OK(line_run(0, QUEUE_COMPUTE));
    ck_assert_double_eq(line_result(0)[QUEUE_NUMBER], NUMBER);
}
