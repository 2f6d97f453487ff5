/* SPDX-License-Identifier: Apache-2.0 */
/* One model in parts on asynchronous devices: they start each other by fences, no thread of the runtime stands
 * in between, and a failure reaches the parts that depend on it and nothing else. */
#include "queue-driver.h"

#include "support/check-main.h"

#include <android/NeuralNetworks.h>
#include <nnhal/ext.h>

#include <dirent.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define OK(call) ck_assert_int_eq((call), ANEURALNETWORKS_NO_ERROR)

enum { N_BYTES = QUEUE_FLOATS * sizeof(float) };

/* Each operation is a part: no device takes two that could be one. The first four are a chain, which
 * the last one has nothing to do with. Results are outputs, but for those of the second. */
enum { N_NODES = 5, N_OUTPUTS = 4, HIDDEN = 1, APART = 4, NONE = -1 };

static const struct node {
    int32_t operation;
    int after;     /* its x is the result of this one, or the first input */
    double number; /* that it makes, from x = 0 */
} nodes[N_NODES] = {
    {ANEURALNETWORKS_ADD, NONE, 1}, {ANEURALNETWORKS_MUL, 0, 12},   {ANEURALNETWORKS_ADD, 1, 121},
    {ANEURALNETWORKS_MUL, 2, 1212}, {ANEURALNETWORKS_SUB, NONE, 3},
};

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
    return node == NONE ? 0 : 2 + 2 * (uint32_t)node + is_result;
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
        const uint32_t in[] = {operand_of(nodes[i].after, true), operand_of(i, false), 1};
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

static void compile(void)
{
    const ANeuralNetworksDevice *devices[8];
    struct nnhal_plan plan = {.size = sizeof(plan)};
    uint32_t n_devices = 0, n = 0;

    OK(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n && i < 8; i++) {
        ANeuralNetworksDevice *device = NULL;
        const char *name = NULL;

        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworksDevice_getName(device, &name));
        if (strcmp(name, "nnapi-reference") != 0)
            devices[n_devices++] = device;
    }
    ck_assert_uint_eq(n_devices, 3);
    OK(ANeuralNetworksCompilation_createForDevices(stand.model, devices, n_devices,
                                                   &stand.compilation));
    OK(ANeuralNetworksCompilation_finish(stand.compilation));
    OK(nnhal_compilation_get_plan(stand.compilation, &plan));
    ck_assert_uint_eq(plan.n_parts, N_NODES);
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

    setenv("NNHAL_MODE", WAY, 1);
    setenv("NNHAL_DRIVER_PATH", DRIVER_FOLDER, 1);
    setenv("NNHAL_HOST", BUILD_ROOT "/nnhal-host", 1);
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

static ANeuralNetworksEvent *launch(void)
{
    ANeuralNetworksEvent *event = NULL;

    memset(stand.floats, 0, stand_bytes);
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

static void check_results(void)
{
    for (int i = 0; i < N_NODES; i++) {
        if (i == HIDDEN)
            continue;
        ck_assert_double_eq(result_of(i)[QUEUE_NUMBER], nodes[i].number);
        /* A part was handed over while what it waits for ran. Nothing reads the result of the one apart,
         * which is launched with the first: the last one of all waits for it, too. */
        if (i < APART)
            ck_assert_float_ge(result_of(i)[QUEUE_ACTIVE], i > 0);
    }
}

TEST(parts_are_queued_while_the_first_one_runs)
{
    begin();
    for (int round = 0; round < 3; round++) {
        ANeuralNetworksEvent *event = launch();

        for (int i = 1; i < N_NODES; i++)
            open_gate(i);
        ck_assert_int_eq(poll_fence(event, 0), 0);
        open_gate(0);
        ck_assert_int_eq(poll_fence(event, -1), POLLIN);
        OK(ANeuralNetworksEvent_wait(event));
        check_results();
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
    first_event = launch();
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
    check_results();
    ck_assert_uint_eq(count_computing(), 0);
    ANeuralNetworksEvent_free(event);
    ANeuralNetworksEvent_free(first_event);
    ANeuralNetworksExecution_free(second);
    finish();
}
TEST_END

static bool depends_on(int node, int bad)
{
    return node == bad || (node != NONE && depends_on(nodes[node].after, bad));
}

/* Parts that do not depend on it have their results, although the whole has none. */
static void spoil(int bad, enum queue_deed deed, int expected)
{
    ANeuralNetworksEvent *event = launch();
    char why[512];

    orders_of(bad)[QUEUE_DEED] = (float)deed;
    for (int i = 0; i < N_NODES; i++)
        open_gate(i);
    ck_assert_int_eq(poll_fence(event, -1) & POLLERR, POLLERR);
    ck_assert_int_eq(ANeuralNetworksEvent_wait(event), expected);
    nnhal_execution_get_error(stand.execution, why, sizeof(why));
    if (deed == QUEUE_FAIL)
        ck_assert_msg(strstr(why, "as it was told to") != NULL, "%s", why);
    for (int i = 0; i < N_NODES; i++)
        if (i != HIDDEN)
            ck_assert_double_eq(
                result_of(i)[QUEUE_NUMBER],
                depends_on(i, bad) || (i == APART - 1 && bad == APART) ? 0 : nodes[i].number);
    ANeuralNetworksEvent_free(event);
}

TEST(a_part_that_fails_fails_those_that_read_from_it)
{
    begin();
    for (int bad = 0; bad < N_NODES; bad++)
        spoil(bad, QUEUE_FAIL, ANEURALNETWORKS_OP_FAILED);
    finish();
}
TEST_END

/* And the next computation is made by the process that takes its place. */
TEST(a_part_that_dies_fails_those_that_read_from_it)
{
    ANeuralNetworksEvent *event = NULL;
    int result;

    if (strcmp(WAY, "embedded") == 0)
        return;
    begin();
    event = launch();
    orders_of(2)[QUEUE_DEED] = QUEUE_DIE;
    for (int i = 0; i < N_NODES; i++)
        open_gate(i);
    ck_assert_int_eq(poll_fence(event, -1) & POLLERR, POLLERR);
    result = ANeuralNetworksEvent_wait(event);
    ck_assert(result == ANEURALNETWORKS_DEAD_OBJECT);
    ck_assert_double_eq(result_of(APART)[QUEUE_NUMBER], nodes[APART].number);
    ANeuralNetworksEvent_free(event);
    finish();
}
TEST_END

CHECK_MAIN("chain-parts-" WAY, parts_are_queued_while_the_first_one_runs,
           a_chain_of_parts_waits_for_what_it_depends_on,
           a_part_that_fails_fails_those_that_read_from_it,
           a_part_that_dies_fails_those_that_read_from_it)
