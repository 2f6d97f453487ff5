/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - a run in progress, and what it does for kernels
 *
 * kernels/kernel.h declares what kernels may call while they run: splitting a loop,
 * asking whether to stop, shaping an output, refusing. All of it needs the run. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_SERVICES_H
#define NN_DRIVERS_CPU_EXECUTOR_SERVICES_H

#include "drivers/cpu/executor/program.h"

#include <nnhal/driver.h>

enum {
    NN_EXEC_E_DEADLINE = NN_STOP_E_DEADLINE,
    NN_EXEC_E_REFUSED = 2, /* why says what went wrong */
    NN_EXEC_E_CANCELLED = NN_STOP_E_CANCELLED,
    NN_EXEC_E_INSUFFICIENT = 4, /* some output did not fit; all shapes are set */
};

struct nn_run {
    struct nn_program *program;
    struct nn_seat *seat; /* NULL: an evaluation, which works in memory of its own */
    struct nn_workspace *workspace;
    struct nn_team *team; /* the program's */
    struct nn_stop *stop;
    uint64_t loop_timeout_ns;
    bool is_alone;             /* the team has no part in it */
    uint64_t loops_ns;         /* what the loops so far cost, as their kernels believe */
    nnhal_step_fn report_step; /* NULL: steps are not measured */
    void *report_ctx;
    struct nn_why *why; /* the caller's */
    /* Of the step that runs. */
    uint32_t graph;
    struct nn_frame *frame;
    const struct nn_plan *plan;
    const struct nn_plan_step *step;
};

/* nn_run_declared() - refuses a shape that contradicts what the model says of
 * the value. Returns: 0, NN_EXEC_E_REFUSED. */
int nn_run_declared(struct nn_run *run, const struct nn_value *value, const struct nn_slot *slot);

#endif
