/* SPDX-License-Identifier: Apache-2.0 */
/* One model in parts on two asynchronous devices in turn: they start each other by fences, no thread of the
 * runtime stands in between, and a failure reaches the parts that depend on it and nothing else. */
#include "queue-driver.h"
#include "queue-services.h"

#include "support/check-main.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)

enum { N_BYTES = QUEUE_FLOATS * sizeof(float) };

/* Each operation is a part: no device takes two that could be one. Results are outputs, but for that of
 * the second. */
enum { N_NODES = 4, N_OUTPUTS = 3, HIDDEN = 1, N_DEVICES = 2 };

static const struct node {
    int32_t operation;
    double number; /* that it makes, from x = 0 */
} nodes[N_NODES] = {
    {ANEURALNETWORKS_ADD, 1},
    {ANEURALNETWORKS_MUL, 12},
    {ANEURALNETWORKS_ADD, 121},
    {ANEURALNETWORKS_MUL, 1212},
};

static const char *const names[N_DEVICES] = {"adder", "multiplier"};

/* Memory: x, then y and z of each node. */
static struct {
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution;
    ANeuralNetworksMemory *memory;
    float *floats;
} stand;

static const size_t stand_bytes = (1 + 2 * N_NODES) * N_BYTES;

static float *orders_of(int node)
{
    return stand.floats + (size_t)(1 + 2 * node) * QUEUE_FLOATS;
}

static float *result_of(int node)
{
    return orders_of(node) + QUEUE_FLOATS;
}

static size_t place_of(const float *floats)
{
    return (size_t)(floats - stand.floats) * sizeof(float);
}

static uint32_t output_of(int node)
{
    return (uint32_t)(node > HIDDEN ? node - 1 : node);
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
    uint32_t inputs[1 + N_NODES] = {0}, outputs[N_OUTPUTS];

    OK(ANeuralNetworksModel_create(&stand.model));
    for (int i = 0; i < 2 + 2 * N_NODES; i++)
        OK(ANeuralNetworksModel_addOperand(stand.model, i == 1 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(stand.model, 1, &none, sizeof(none)));
    for (int i = 0; i < N_NODES; i++) {
        const uint32_t in[] = {i ? operand_of(i - 1, true) : 0, operand_of(i, false), 1};
        const uint32_t out = operand_of(i, true);

        OK(ANeuralNetworksModel_addOperation(stand.model, nodes[i].operation, 3, in, 1, &out));
        inputs[1 + i] = in[1];
        if (i != HIDDEN)
            outputs[output_of(i)] = out;
    }
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(stand.model, 1 + N_NODES, inputs, N_OUTPUTS,
                                                     outputs));
    OK(ANeuralNetworksModel_finish(stand.model));
}

static ANeuralNetworksDevice *find_device(const char *wanted)
{
    uint32_t n = 0;

    OK(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;

        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworksDevice_getName(device, &name));
        if (strcmp(name, wanted) == 0)
            return device;
    }
    ck_abort_msg("no device %s", wanted);
}

static void compile(void)
{
    const ANeuralNetworksDevice *devices[N_DEVICES];
    struct nnhal_plan plan = {.size = sizeof(plan)};

    for (int i = 0; i < N_DEVICES; i++)
        devices[i] = find_device(names[i]);
    OK(ANeuralNetworksCompilation_createForDevices(stand.model, devices, N_DEVICES,
                                                   &stand.compilation));
    OK(ANeuralNetworksCompilation_finish(stand.compilation));
    OK(nnhal_compilation_get_plan(stand.compilation, &plan));
    ck_assert_uint_eq(plan.n_parts, N_NODES);
}

static struct nnhal_device_counts count(int which)
{
    struct nnhal_device_counts counts = {.size = sizeof(counts)};

    OK(nnhal_device_get_counts(find_device(names[which]), &counts));
    return counts;
}

static void bind_all(void)
{
    OK(ANeuralNetworksExecution_create(stand.compilation, &stand.execution));
    OK(ANeuralNetworksExecution_setReusable(stand.execution, true));
    OK(ANeuralNetworksExecution_setInputFromMemory(stand.execution, 0, NULL, stand.memory, 0,
                                                   N_BYTES));
    for (int i = 0; i < N_NODES; i++) {
        OK(ANeuralNetworksExecution_setInputFromMemory(stand.execution, 1 + i, NULL, stand.memory,
                                                       place_of(orders_of(i)), N_BYTES));
        if (i != HIDDEN)
            OK(ANeuralNetworksExecution_setOutputFromMemory(stand.execution, (int32_t)output_of(i),
                                                            NULL, stand.memory,
                                                            place_of(result_of(i)), N_BYTES));
    }
}

static void begin(void)
{
    int fd = memfd_create("chain", MFD_CLOEXEC);

    queue_services_init(names, N_DEVICES);
    ck_assert_int_eq(ftruncate(fd, (off_t)stand_bytes), 0);
    stand.floats = mmap(NULL, stand_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(stand.floats, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(stand_bytes, PROT_READ | PROT_WRITE, fd, 0,
                                          &stand.memory));
    close(fd);
    make_model();
    compile();
    bind_all();
}

static void finish(void)
{
    ANeuralNetworksExecution_free(stand.execution);
    ANeuralNetworksCompilation_free(stand.compilation);
    ANeuralNetworksModel_free(stand.model);
    ANeuralNetworksMemory_free(stand.memory);
    munmap(stand.floats, stand_bytes);
    queue_services_done();
}

#ifdef __SANITIZE_THREAD__
/* The thread of a connection ends with its driver, and is joined when the device is opened anew. */
__attribute__((__visibility__("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

/* -- computing -------------------------------------------------------------------------------- */

static void open_gate(int node)
{
    ((volatile float *)orders_of(node))[QUEUE_GATE] = 1;
}

/* With an order for one of them. */
static ANeuralNetworksEvent *launch(int node, enum queue_deed deed)
{
    ANeuralNetworksEvent *event = NULL;

    memset(stand.floats, 0, stand_bytes);
    orders_of(node)[QUEUE_DEED] = (float)deed;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(stand.execution, NULL, 0, 0, &event));
    return event;
}

static int poll_fence(const ANeuralNetworksEvent *event, int timeout_ms)
{
    struct pollfd fd = {.events = POLLIN};
    int n;

    OK(ANeuralNetworksEvent_getSyncFenceFd(event, &fd.fd));
    n = poll(&fd, 1, timeout_ms);
    close(fd.fd);
    return n == 1 ? fd.revents & (POLLIN | POLLERR) : 0;
}

/* Threads of this process that compute for the runtime. */
static unsigned count_computing(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    unsigned n = 0;

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        char path[300], name[32] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "re");
        if (file && fgets(name, sizeof(name), file))
            n += strncmp(name, "nn-compute", strlen("nn-compute")) == 0;
        if (file)
            fclose(file);
    }
    closedir(dir);
    return n;
}

/* Of those before a node. A part was handed over while the one before it ran. */
static void check_results(int end)
{
    for (int i = 0; i < N_NODES; i++) {
        if (i == HIDDEN)
            continue;
        ck_assert_double_eq(result_of(i)[QUEUE_NUMBER], i < end ? nodes[i].number : 0);
        if (i < end)
            ck_assert_float_eq(result_of(i)[QUEUE_ACTIVE], i > 0);
    }
}

static void check_numbers(void)
{
    for (int i = 0; i < N_NODES; i++)
        if (i != HIDDEN)
            ck_assert_double_eq(result_of(i)[QUEUE_NUMBER], nodes[i].number);
}

TEST(parts_are_queued_while_the_first_one_runs)
{
    begin();
    for (int round = 0; round < 3; round++) {
        ANeuralNetworksEvent *event = launch(0, QUEUE_COMPUTE);

        for (int i = 1; i < N_NODES; i++)
            open_gate(i);
        ck_assert_int_eq(poll_fence(event, 0), 0);
        open_gate(0);
        ck_assert_int_eq(poll_fence(event, -1), POLLIN);
        OK(ANeuralNetworksEvent_wait(event));
        check_results(N_NODES);
        ANeuralNetworksEvent_free(event);
    }
    ck_assert_uint_eq(count_computing(), 0);
    finish();
}
TEST_END

/* The chain waits for a fence of another execution, and that for a fence of this process. */
TEST(a_chain_of_parts_waits_for_what_it_depends_on)
{
    ANeuralNetworksExecution *second = NULL;
    ANeuralNetworksEvent *first_event, *event = NULL;

    begin();
    first_event = launch(0, QUEUE_COMPUTE);
    second = stand.execution;
    bind_all();
    OK(ANeuralNetworksExecution_startComputeWithDependencies(
        stand.execution, (const ANeuralNetworksEvent *const[]){first_event}, 1, 0, &event));
    for (int i = 1; i < N_NODES; i++)
        open_gate(i);
    ck_assert_int_eq(poll_fence(event, 0), 0);
    open_gate(0);
    ck_assert_int_eq(poll_fence(event, -1), POLLIN);
    ck_assert_int_eq(poll_fence(first_event, 0), POLLIN);
    OK(ANeuralNetworksEvent_wait(event));
    OK(ANeuralNetworksEvent_wait(first_event));
    check_numbers();
    ck_assert_uint_eq(count_computing(), 0);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(first_event);
    ANeuralNetworksExecution_free(second);
    finish();
}
TEST_END

TEST(a_part_that_fails_fails_those_after_it)
{
    char why[512];

    begin();
    for (int bad = 0; bad < N_NODES; bad++) {
        const struct nnhal_device_counts before[] = {count(0), count(1)};
        ANeuralNetworksEvent *event = launch(bad, QUEUE_FAIL);

        for (int i = 0; i < N_NODES; i++)
            open_gate(i);
        ck_assert_int_eq(poll_fence(event, -1) & POLLERR, POLLERR);
        ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_OP_FAILED);
        nnhal_execution_get_error(stand.execution, why, sizeof(why));
        ck_assert_msg(strstr(why, "as it was told to") != NULL, "%s", why);
        check_results(bad);
        /* Of its own device only. */
        for (int i = 0; i < N_DEVICES; i++)
            ck_assert_uint_eq(count(i).n_failed - before[i].n_failed, i == bad % N_DEVICES);
        ANeuralNetworksEvent_free(event);
    }
    finish();
}
TEST_END

/* Returns: what became of it. */
static int run(int node, enum queue_deed deed)
{
    ANeuralNetworksEvent *event = launch(node, deed);
    int result;

    for (int i = 0; i < N_NODES; i++)
        open_gate(i);
    result = ANeuralNetworksEvent_wait(event);
    ANeuralNetworksEvent_free(event);
    return result;
}

/* A thread computes while a device is gone, which brings it back. What its process had computed before, or
 * waited to compute, is no suspect. */
TEST(a_part_that_dies_fails_those_after_it)
{
    if (queue_is_way("embedded"))
        return;
    begin();
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(run(2, QUEUE_DIE), ANEURALNETWORKS_DEAD_OBJECT);
        check_results(2);
        queue_services_restart(0);
        OK(run(0, QUEUE_COMPUTE));
        check_numbers();
    }
    OK(run(0, QUEUE_COMPUTE));
    check_results(N_NODES);
    finish();
}
TEST_END

/* Its death may be known, or be noticed when its part is handed over. */
TEST(a_process_that_was_killed_before_is_replaced)
{
    struct nnhal_where where = {.size = sizeof(where)};
    int result = ANEURALNETWORKS_DEAD_OBJECT;

    if (queue_is_way("embedded"))
        return;
    begin();
    OK(run(0, QUEUE_COMPUTE));
    OK(nnhal_device_get_where(find_device(names[1]), &where));
    ck_assert_int_eq(kill(where.pid, SIGKILL), 0);
    queue_services_restart(1);
    for (int i = 0; i < 3 && result == ANEURALNETWORKS_DEAD_OBJECT; i++)
        result = run(0, QUEUE_COMPUTE);
    OK(result);
    OK(run(0, QUEUE_COMPUTE));
    check_results(N_NODES);
    finish();
}
TEST_END

/* One that is stopped is given up. A child is killed: its fence ends, and with it what waits for that. A service
 * may go on later; what waited for it is not computed then. */
TEST(a_process_that_is_stopped_does_not_stop_the_others)
{
    struct nnhal_where where = {.size = sizeof(where)};
    ANeuralNetworksEvent *event;

    if (queue_is_way("embedded"))
        return;
    begin();
    event = launch(0, QUEUE_COMPUTE);
    OK(nnhal_device_get_where(find_device(names[0]), &where));
    queue_stop(where.pid);
    for (int i = 0; i < N_NODES; i++)
        open_gate(i);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(event), ANEURALNETWORKS_DEAD_OBJECT);
    ANeuralNetworksEvent_free(event);
    check_results(0);
    kill(where.pid, SIGCONT);
    for (int i = 0; i < 100; i++)
        queue_nap();
    for (int i = HIDDEN + 1; i < N_NODES; i++)
        ck_assert_double_eq(result_of(i)[QUEUE_NUMBER], 0);
    OK(run(0, QUEUE_COMPUTE));
    OK(run(0, QUEUE_COMPUTE));
    check_results(N_NODES);
    finish();
}
TEST_END

CHECK_MAIN("chain-parts-" WAY, parts_are_queued_while_the_first_one_runs,
           a_chain_of_parts_waits_for_what_it_depends_on, a_part_that_fails_fails_those_after_it,
           a_part_that_dies_fails_those_after_it, a_process_that_was_killed_before_is_replaced,
           a_process_that_is_stopped_does_not_stop_the_others)
