/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - running a program
 *
 * A run goes over a graph plan by plan: get the plan that fits the frame, give
 * memory to the slots that it writes, look up where its operands lie, run its
 * steps one after the other, and go on where it ends. IF and WHILE
 * (control.c) run other graphs on frames of their own, by the same function; the
 * arena is one for all of them, since nothing in it lives from one plan to the
 * next.
 *
 * Deadline and cancellation are looked at between steps, between rounds of
 * a loop, and where kernels ask. Who loses the deadline gets
 * NN_EXEC_E_DEADLINE; outputs are unspecified then. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_RUN_H
#define NN_DRIVERS_CPU_EXECUTOR_RUN_H

#include "drivers/cpu/executor/program.h"

#include <nnhal/driver.h>

enum {
    NN_EXEC_E_DEADLINE = 1,
    NN_EXEC_E_REFUSED = 2, /* why says what went wrong */
    NN_EXEC_E_CANCELLED = 3,
    NN_EXEC_E_INSUFFICIENT = 4, /* some output did not fit; all shapes are set */
};

struct nn_run {
    struct nn_program *program;
    struct nn_workspace *workspace;
    struct nn_team *team; /* the program's */
    uint64_t deadline_ns;
    uint64_t loop_timeout_ns;
    const uint32_t *is_cancelled;
    bool is_alone; /* the team has no part in it */
    struct nn_why why;
    /* Of the step that runs. */
    uint32_t graph;
    struct nn_frame *frame;
    const struct nn_plan *plan;
    const struct nn_plan_step *step;
};

/* nn_exec() - one execution of the program, on the calling thread and the
 * team. Sets the dimensions of all outputs, also when some do not fit.
 * Returns: 0, NN_EXEC_E_*, -ENOMEM. */
int nn_exec(struct nn_program *program, struct nnhal_execution *execution, struct nn_why *why);

/* nn_run_graph() - runs a graph whose input slots are set and whose output
 * slots may be bound. Returns: 0, NN_EXEC_E_DEADLINE, _REFUSED, _CANCELLED, -ENOMEM. */
int nn_run_graph(struct nn_run *run, uint32_t graph, struct nn_frame *frame);

/* nn_run_control() - the IF or WHILE node of the graph (control.c). Returns: as nn_run_graph(). */
int nn_run_control(struct nn_run *run, uint32_t graph, uint32_t node, struct nn_frame *frame);

/* nn_run_stopped() - Returns: 0, NN_EXEC_E_DEADLINE, NN_EXEC_E_CANCELLED. */
int nn_run_stopped(const struct nn_run *run);

/* nn_run_declared() - refuses a shape that contradicts what the model says of
 * the value. Returns: 0, NN_EXEC_E_REFUSED. */
int nn_run_declared(struct nn_run *run, const struct nn_value *value, const struct nn_slot *slot);

#endif
