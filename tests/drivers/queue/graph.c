/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <nnhal/ext.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const names[N_DEVICES] = {"left", "right"};
static char folder[] = "/tmp/nnhal-chain-XXXXXX";
pid_t chain_services[N_DEVICES];
ANeuralNetworksDevice *chain_devices[N_DEVICES];
ANeuralNetworksCompilation *chain_compilations[N_DEVICES];

bool chain_is_way(const char *way)
{
    return strcmp(WAY, way) == 0;
}

void chain_nap(void)
{
    const struct timespec duration = {.tv_nsec = 2000000};

    nanosleep(&duration, NULL);
}

/* -- devices --------------------------------------------------------------------- */

static void socket_path(int which, char *path, size_t n_bytes)
{
    snprintf(path, n_bytes, "%s/%s.sock", folder, names[which]);
}

static void start_service(int which)
{
    pid_t parent = getpid();
    char path[64];

    socket_path(which, path, sizeof(path));
    chain_services[which] = fork();
    if (chain_services[which] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            execl(BUILD_ROOT "/nnhal-host", "nnhal-host", names[which], NULL);
        _exit(127);
    }
    for (int i = 0; access(path, F_OK) != 0; i++) {
        ck_assert_int_lt(i, LIMIT_S * 500);
        chain_nap();
    }
}

ANeuralNetworksModel *chain_model(void)
{
    const uint32_t n = QUEUE_FLOATS, add[] = {0, 1, 2}, in[] = {0, 1}, z = 3;
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32};
    const ANeuralNetworksOperandType tensor = {ANEURALNETWORKS_TENSOR_FLOAT32, 1, &n, 0, 0};
    ANeuralNetworksModel *model = NULL;

    OK(ANeuralNetworksModel_create(&model));
    for (int i = 0; i < 4; i++)
        OK(ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &tensor));
    OK(ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof(none)));
    OK(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_ADD, 3, add, 1, &z));
    OK(ANeuralNetworksModel_identifyInputsAndOutputs(model, 2, in, 1, &z));
    OK(ANeuralNetworksModel_finish(model));
    return model;
}

static void find_device(int which)
{
    const char *name;
    uint32_t n = 0;

    OK(ANeuralNetworks_getDeviceCount(&n));
    for (uint32_t i = 0; i < n; i++) {
        ANeuralNetworksDevice *device = NULL;

        OK(ANeuralNetworks_getDevice(i, &device));
        OK(ANeuralNetworksDevice_getName(device, &name));
        if (strcmp(name, names[which]) == 0)
            chain_devices[which] = device;
    }
    ck_assert_ptr_nonnull(chain_devices[which]);
}

static void compile(int which)
{
    const ANeuralNetworksDevice *device = chain_devices[which];
    ANeuralNetworksModel *model = chain_model();

    OK(ANeuralNetworksCompilation_createForDevices(model, &device, 1, &chain_compilations[which]));
    OK(ANeuralNetworksCompilation_finish(chain_compilations[which]));
    ANeuralNetworksModel_free(model);
}

void chain_provide_devices(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    setenv("NNHAL_MODE", WAY, 1);
    setenv("NNHAL_DRIVER_PATH", DRIVER_FOLDER, 1);
    setenv("NNHAL_SOCKET_PATH", folder, 1);
    setenv("NNHAL_HOST", BUILD_ROOT "/nnhal-host", 1);
    for (int i = 0; i < N_DEVICES; i++)
        if (chain_is_way("service"))
            start_service(i);
}

void chain_find_devices(void)
{
    for (int i = 0; i < N_DEVICES; i++) {
        find_device(i);
        compile(i);
    }
}

#ifdef __SANITIZE_THREAD__
/* Drivers end before this process does. The thread of a connection to one ends with it, and is
 * joined when the device is opened anew, which is not done here. */
__attribute__((__visibility__("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

void chain_begin(void)
{
    chain_provide_devices();
    chain_find_devices();
}

void chain_finish(void)
{
    char path[64];

    for (int i = 0; i < N_DEVICES; i++) {
        ANeuralNetworksCompilation_free(chain_compilations[i]);
        if (!chain_services[i])
            continue;
        kill(chain_services[i], SIGTERM);
        waitpid(chain_services[i], NULL, 0);
        socket_path(i, path, sizeof(path));
        unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0);
}

int32_t chain_pid(int which)
{
    struct nnhal_where where = {.size = sizeof(where)};

    OK(nnhal_device_get_where(chain_devices[which], &where));
    return where.pid;
}

/* -- nodes of a graph of executions -------------------------------------------------- */

struct graph graph;

static const size_t graph_bytes = (2 * MAX_NODES + 1) * N_BYTES;

/* Memory: x of those without one, then y and z of each node. */
size_t graph_place_of_y(int i)
{
    return (size_t)(1 + 2 * i) * N_BYTES;
}

size_t graph_place_of_z(int i)
{
    return graph_place_of_y(i) + N_BYTES;
}

static void node_make(int i)
{
    struct node *node = &graph.nodes[i];
    size_t x = node->n_after ? graph_place_of_z(node->after[0]) : 0;

    node->orders = graph.floats + graph_place_of_y(i) / sizeof(float);
    node->z = graph.floats + graph_place_of_z(i) / sizeof(float);
    OK(ANeuralNetworksExecution_create(chain_compilations[node->device], &node->execution));
    OK(ANeuralNetworksExecution_setInputFromMemory(node->execution, 0, NULL, graph.memory, x,
                                                   N_BYTES));
    OK(ANeuralNetworksExecution_setInputFromMemory(node->execution, 1, NULL, graph.memory,
                                                   graph_place_of_y(i), N_BYTES));
    OK(ANeuralNetworksExecution_setOutputFromMemory(node->execution, 0, NULL, graph.memory,
                                                    graph_place_of_z(i), N_BYTES));
}

void graph_make(struct node *nodes, int n_nodes)
{
    int fd = memfd_create("chain", MFD_CLOEXEC);

    ck_assert_int_eq(ftruncate(fd, (off_t)graph_bytes), 0);
    graph.floats = mmap(NULL, graph_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(graph.floats, MAP_FAILED);
    OK(ANeuralNetworksMemory_createFromFd(graph_bytes, PROT_READ | PROT_WRITE, fd, 0,
                                          &graph.memory));
    close(fd);
    graph.nodes = nodes;
    graph.n_nodes = n_nodes;
    for (int i = 0; i < n_nodes; i++)
        node_make(i);
}

void graph_launch_node(struct node *node)
{
    const ANeuralNetworksEvent *after[MAX_AFTER];

    for (uint32_t i = 0; i < node->n_after; i++)
        after[i] = graph.nodes[node->after[i]].event;
    OK(ANeuralNetworksExecution_startComputeWithDependencies(node->execution, after, node->n_after,
                                                             0, &node->event));
}

void graph_launch(void)
{
    for (int i = 0; i < graph.n_nodes; i++)
        graph_launch_node(&graph.nodes[i]);
}

void graph_open_gate(int i)
{
    ((volatile float *)graph.nodes[i].orders)[QUEUE_GATE] = 1;
}

void graph_free_events(void)
{
    for (int i = 0; i < graph.n_nodes; i++) {
        ANeuralNetworksEvent_free(graph.nodes[i].event);
        graph.nodes[i].event = NULL;
    }
}

void graph_free(void)
{
    graph_free_events();
    for (int i = 0; i < graph.n_nodes; i++)
        ANeuralNetworksExecution_free(graph.nodes[i].execution);
    ANeuralNetworksMemory_free(graph.memory);
    munmap(graph.floats, graph_bytes);
}

int graph_poll_fence(int i, int timeout_ms)
{
    struct pollfd fd = {.events = POLLIN};
    int n;

    OK(ANeuralNetworksEvent_getSyncFenceFd(graph.nodes[i].event, &fd.fd));
    n = poll(&fd, 1, timeout_ms);
    close(fd.fd);
    return n == 1 ? fd.revents & (POLLIN | POLLERR) : 0;
}
