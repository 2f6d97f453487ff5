/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - one model in four parts, on two asynchronous devices in turn (queue-driver.c)
 *
 * Each operation is a part: no device takes two that could be one. All lie in one memory, twice: x, the orders
 * for each, z of the last, and that of the second, where the model gives it, too. */
#ifndef NN_TESTS_QUEUE_LINE_H
#define NN_TESTS_QUEUE_LINE_H

#include "queue-driver.h"
#include "services.h"

#include <nnhal/ext.h>

enum { ADDER, MULTIPLIER };
enum { N_NODES = 4, N_PLACES = 3 + N_NODES };
enum { N_BYTES = QUEUE_FLOATS * sizeof(float) };

/* What the four make of x = 0. */
#define NUMBER 1212

struct line {
    ANeuralNetworksModel *model;
    ANeuralNetworksCompilation *compilation;
    ANeuralNetworksExecution *execution; /* reusable */
    ANeuralNetworksMemory *memory;
    float *all, *floats; /* those of all executions, and of the next one that is made or launched */
    bool gives_second;
};

extern struct line stand;

/* line_begin() - provides the devices, compiles for both, makes the execution. line_finish() in the end. */
void line_begin(bool gives_second);
void line_finish(void);

/* line_make_execution() - another one, reusable; the caller's. */
ANeuralNetworksExecution *line_make_execution(void);

/* line_orders() - for a node; line_result() - of the last one: 0; of the second: 1. */
float *line_orders(int node);
float *line_result(int which);

int line_device_of(int node);

/* line_open_gate() - until then a node that could compute waits. */
void line_open_gate(int node);
void line_open_gates(void);

ANeuralNetworksEvent *line_start(ANeuralNetworksExecution *execution,
                                 const ANeuralNetworksEvent *after);

/* line_launch() - with an order for one node, closed gates, and a result that is not written yet. */
ANeuralNetworksEvent *line_launch(int node, enum queue_deed deed);

/* line_run() - the same with open gates. Returns: what became of it. */
int line_run(int node, enum queue_deed deed);

/* line_try() - with gates that are open from the beginning, the same request each time, which begins when it
 * has been handed over. Returns: what became of it, also if the devices were not handed it. */
int line_try(int node, enum queue_deed deed);

/* line_check_runs() - that all is as it should be. */
void line_check_runs(void);

/* line_poll_fence() - Returns: POLLIN, POLLERR; 0 after the timeout. */
int line_poll_fence(const ANeuralNetworksEvent *event, int timeout_ms);

/* line_await_queued() - until the devices have n executions that have not ended. */
void line_await_queued(unsigned n);

/* line_count_computing() - threads of this process that compute for the runtime. */
unsigned line_count_computing(void);

/* line_check_untouched() - the result; line_check_left_untouched() - also if parts could begin after all. */
void line_check_untouched(void);
void line_check_left_untouched(void);

#endif
