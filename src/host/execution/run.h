/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - the two halves of a run: what a driver is told, and what it says that it has done
 *
 * nn_binding_run() makes both, with execute() in between. Where a driver computes later, on
 * threads of its own, they are made apart. */
#ifndef NN_HOST_EXECUTION_RUN_H
#define NN_HOST_EXECUTION_RUN_H

#include "host/memory/admission.h"

/* nn_run_describe() - outputs are a copy of the admission's, which the driver changes. There is
 * no turn, and no one to listen to steps. */
struct nnhal_execution nn_run_describe(const struct nn_admission *admission,
                                       const struct nn_binding_run *run,
                                       struct nnhal_output *outputs);

/* nn_run_judge() - status is the driver's, checked by nn_call_check_driver(); outputs are what it
 * says of them. Returns: the status of the execution, with *message set on failure. */
uint32_t nn_run_judge(struct nn_call *call, const struct nn_admission *admission,
                      const struct nnhal_output *outputs, uint32_t status);

/* nn_run_time() - what the driver has measured, within elapsed_ns: what is not measured, or
 * makes no sense, is absent. */
struct nnhal_timing nn_run_time(const struct nnhal_execution *execution, uint64_t elapsed_ns);

#endif
