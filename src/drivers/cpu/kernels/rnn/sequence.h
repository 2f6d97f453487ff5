/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.h - where the steps of a sequence lie
 *
 * A sequence tensor is [steps, batches, size] (time-major) or [batches, steps,
 * size]; a result may be some columns of a wider row, where two directions
 * share it. Cells walk a sequence forwards or backwards without copying it. */
#ifndef NN_CPU_RNN_SEQUENCE_H
#define NN_CPU_RNN_SEQUENCE_H

#include "drivers/cpu/kernels/kernel.h"

struct nn_sequence {
    size_t n_steps, n_batches;
    bool is_time_major;
    bool is_backward; /* walked from the last step to the first */
};

/* nn_sequence_read() - of a tensor, walked forwards. */
static inline struct nn_sequence nn_sequence_read(const struct nn_tensor *x, bool is_time_major)
{
    return (struct nn_sequence){.n_steps = x->dims[is_time_major ? 0 : 1],
                                .n_batches = x->dims[is_time_major ? 1 : 0],
                                .is_time_major = is_time_major};
}

/* nn_sequence_row() - which row of the tensor the i-th step walked is, for a batch. */
static inline size_t nn_sequence_row(const struct nn_sequence *sequence, size_t i, size_t batch)
{
    size_t step = sequence->is_backward ? sequence->n_steps - 1 - i : i;

    return sequence->is_time_major ? step * sequence->n_batches + batch
                                   : batch * sequence->n_steps + step;
}

#endif
