/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - elementwise steps that run inside the step before them
 *
 * A residual ADD behind a convolution, or a chain of elementwise operations,
 * would walk over all of its memory once per step. Steps that have joined walk
 * together: the first, the head, writes a range of its output, and the others,
 * the tail, compute over that range, each on the result of the one before,
 * while it is in the nearest cache. Each runs its own kernel with its own
 * rounding, so that results are those of the steps in sequence, bit for bit.
 *
 * The head is a kernel that calls nn_epilogue_run() (its row has runs_epilogue), or an
 * elementwise one, which runs in parts. All have outputs of one shape. */
#ifndef NN_DRIVERS_CPU_EXECUTOR_EPILOGUE_H
#define NN_DRIVERS_CPU_EXECUTOR_EPILOGUE_H

#include "drivers/cpu/kernels/kernel.h"

enum {
    NN_EPILOGUE_MAX = 7, /* steps behind one head */
};

struct nn_epilogue_step {
    const struct nn_kernel *kernel;
    struct nn_kernel_args args;
};

/* nn_epilogue_takes() - whether a step of this row may stand before a fused one. */
static inline bool nn_epilogue_takes(const struct nn_kernel *head)
{
    return head->runs_epilogue || head->is_elementwise;
}

/* nn_epilogue_run_head() - runs an elementwise step with the epilogue that args has, range by range. */
void nn_epilogue_run_head(const struct nn_kernel *head, const struct nn_kernel_args *args);

#endif
