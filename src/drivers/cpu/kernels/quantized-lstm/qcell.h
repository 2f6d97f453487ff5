/* SPDX-License-Identifier: Apache-2.0 */
/* qcell.h - a quantized LSTM cell as a worker walks it, with activations of 8 or 16 bits
 *
 * The cells of 8 bits (cell8.h) and of 16 bits (cell16.h) differ in their arithmetic. Their operands
 * stand where a map says, cell states are int16, and a row is as long as the application likes: a
 * step looks at the worker's pace every few thousand numbers. */
#ifndef NN_CPU_QUANTIZED_LSTM_QCELL_H
#define NN_CPU_QUANTIZED_LSTM_QCELL_H

#include "drivers/cpu/kernels/kernel.h"

#include "model/lstm.h"

/* What a step of one batch reads and writes: codes are int8 or int16. */
struct nn_qcell_io {
    const void *x;      /* [inputs] */
    const void *h;      /* [outputs] */
    const int16_t *old; /* [cells] */
    int16_t *c;         /* [cells]; may be old */
    void *out;          /* [outputs] */
};

/* A worker's view of the operation. */
struct nn_qcell {
    const struct nn_kernel_args *args;
    const struct nn_lstm_map *map;
    size_t code_bytes; /* of an activation */
    size_t n_inputs, n_cells, n_outputs;
    struct nn_pace *pace; /* the worker's; a step that it ends leaves results undefined */
    void (*step)(const struct nn_qcell *cell, const struct nn_qcell_io *io, int16_t *scratch);
};

/* nn_qcell_open() - the view of an operation; its step is the caller's to set. */
static inline struct nn_qcell nn_qcell_open(const struct nn_kernel_args *args,
                                            const struct nn_lstm_map *map, size_t code_bytes)
{
    const struct nn_tensor *weights = &args->inputs[map->weights + NN_LSTM_OUTPUT];

    return (struct nn_qcell){
        .args = args,
        .map = map,
        .code_bytes = code_bytes,
        .n_inputs = weights->dims[1],
        .n_cells = weights->dims[0],
        .n_outputs = args->inputs[map->recurrent + NN_LSTM_OUTPUT].dims[1],
    };
}

/* nn_qcell_scratch() - int16s of scratch for a step. */
static inline size_t nn_qcell_scratch(size_t n_cells)
{
    return n_cells * (NN_LSTM_GATE_N + 1);
}

/* nn_qcell_cost() - of a step, as nn_parallel_for() counts. */
static inline size_t nn_qcell_cost(const struct nn_qcell *cell)
{
    return cell->n_cells * (cell->n_inputs + cell->n_outputs + 100);
}

static inline const void *nn_qcell_data(const struct nn_qcell *cell, uint32_t i)
{
    return cell->args->inputs[i].data;
}

/* nn_qcell_has_ended() - whether a look has ended the step: what it made is of no use. */
static inline bool nn_qcell_has_ended(const struct nn_qcell *cell)
{
    return nn_pace_ends(cell->pace, 0);
}

#endif
