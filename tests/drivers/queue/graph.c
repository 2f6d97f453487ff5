/* SPDX-License-Identifier: Apache-2.0 */
#include "graph.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const names[N_DEVICES] = {"left", "right"};
ANeuralNetworksDevice *chain_devices[N_DEVICES];
ANeuralNetworksCompilation *chain_compilations[N_DEVICES];

/* -- devices --------------------------------------------------------------------- */

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
    services_begin(names);
}

void chain_find_devices(void)
{
    for (int i = 0; i < N_DEVICES; i++) {
        chain_devices[i] = services_find(i);
        compile(i);
    }
}

void chain_begin(void)
{
    chain_provide_devices();
    chain_find_devices();
}

void chain_finish(void)
{
    for (int i = 0; i < N_DEVICES; i++)
        ANeuralNetworksCompilation_free(chain_compilations[i]);
    services_end();
}

int32_t chain_pid(int which)
{
    return services_pid(chain_devices[which]);
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
