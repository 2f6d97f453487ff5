/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what a step took, for who measures (struct nnhal_step) */
#ifndef NN_DRIVERS_CPU_EXECUTOR_REPORT_H
#define NN_DRIVERS_CPU_EXECUTOR_REPORT_H

#include "base/sys.h"
#include "drivers/cpu/executor/services.h"

/* nn_report_begin() - before a step's kernel is called. Returns: the time; 0 if steps are not
 * measured, which costs one comparison. */
static inline uint64_t nn_report_begin(const struct nn_run *run)
{
    return run->report_step ? nn_sys_now_ns() : 0;
}

/* nn_report_step() - tells what run->step took, whose kernel was called with args. */
void nn_report_step(const struct nn_run *run, const struct nn_kernel_args *args,
                    uint64_t elapsed_ns);

/* nn_report_end() - the same, if steps are measured. */
static inline void nn_report_end(const struct nn_run *run, const struct nn_kernel_args *args,
                                 uint64_t begin_ns)
{
    if (run->report_step)
        nn_report_step(run, args, nn_sys_now_ns() - begin_ns);
}

#endif
