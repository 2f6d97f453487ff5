/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - executions that depend on each other, on the two asynchronous devices (queue-driver.c)
 *
 * Each adds: x is zeroes or the result of another node, y has the test's words (queue-driver.h). All
 * lie in one memory. */
#ifndef NN_TESTS_QUEUE_GRAPH_H
#define NN_TESTS_QUEUE_GRAPH_H

#include "queue-driver.h"
#include "services.h"
#include "support/check-main.h"

#include <android/NeuralNetworks.h>

#include <stddef.h>
#include <stdint.h>

enum { LEFT, RIGHT };
enum { N_BYTES = QUEUE_FLOATS * sizeof(float) };
enum { MAX_NODES = 8, MAX_AFTER = 2 };

struct node {
    int device;
    uint32_t n_after;
    int after[MAX_AFTER]; /* earlier nodes; the first one's result is its x */
    double number;        /* that it makes, from x = 0 */

    ANeuralNetworksExecution *execution;
    ANeuralNetworksEvent *event;
    float *orders, *z;
};

struct graph {
    struct node *nodes;
    int n_nodes;
    ANeuralNetworksMemory *memory;
    float *floats;
};

/* ---- the devices ---- */

extern ANeuralNetworksDevice *chain_devices[N_DEVICES];
extern ANeuralNetworksCompilation *chain_compilations[N_DEVICES];

/* chain_begin() - provides the devices (a process forked before it uses them finds the same ones),
 * finds them, and compiles a model for each. */
void chain_begin(void);
void chain_provide_devices(void);
void chain_find_devices(void);

void chain_finish(void);

/* chain_model() - z = x + y. */
ANeuralNetworksModel *chain_model(void);

/* chain_pid() - the process that computes for a device. */
int32_t chain_pid(int which);

/* ---- the graph ---- */

extern struct graph graph;

/* graph_make() - nodes are the caller's, until graph_free(). */
void graph_make(struct node *nodes, int n_nodes);
void graph_free(void);
void graph_free_events(void);

/* graph_place_of_y() - in the memory. */
size_t graph_place_of_y(int i);
size_t graph_place_of_z(int i);

void graph_launch(void);
void graph_launch_node(struct node *node);

/* graph_open_gate() - until then a node that could compute waits. */
void graph_open_gate(int i);

/* graph_poll_fence() - without asking the device. Returns: POLLIN, POLLERR; 0 after the timeout. */
int graph_poll_fence(int i, int timeout_ms);

#endif
