/* SPDX-License-Identifier: Apache-2.0 */
/* QUANTIZED_LSTM, and UNIDIRECTIONAL_SEQUENCE_LSTM of nnhal.tflite, plain C: one step of the cell of
 * cell8.h, or a sequence of them or of those of cell16.h. One item of work is one batch. */
#include "drivers/cpu/kernels/quantized-lstm/cell16.h"
#include "drivers/cpu/kernels/quantized-lstm/cell8.h"
#include "drivers/cpu/kernels/rnn/sequence.h"
#include "drivers/cpu/kernels/sixteen/sixteen.h"

#include "model/ops.h"

#define MAP (&nn_lstm_map_quantized)

/* ---- a step ---- */

static int lower_step(struct nn_lower *lower)
{
    nn_cell8_lower(lower, false, lower->params);
    return 0;
}

static bool find_step_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    size_t n_cells = step->inputs[MAP->weights + NN_LSTM_OUTPUT].dims[0];

    ret->worker_bytes = nn_qcell_scratch(n_cells) * sizeof(int16_t);
    return true;
}

static void run_batches(void *ctx, size_t begin, size_t end, unsigned worker)
{
    struct nn_qcell cell = *(const struct nn_qcell *)ctx;
    const struct nn_kernel_args *args = cell.args;
    struct nn_pace pace = nn_pace(args->stop);

    cell.pace = &pace;
    for (size_t b = begin; b < end; b++) {
        size_t at = b * cell.n_outputs;
        int8_t *out = (int8_t *)args->outputs[2].data + at;

        cell.step(&cell,
                  &(struct nn_qcell_io){
                      .x = (const int8_t *)args->inputs[MAP->x].data + b * cell.n_inputs,
                      .h = (const int8_t *)args->inputs[MAP->output_state].data + at,
                      .old = (const int16_t *)args->inputs[MAP->cell_state].data + b * cell.n_cells,
                      .c = (int16_t *)args->outputs[1].data + b * cell.n_cells,
                      .out = out},
                  nn_worker_scratch(args, worker));
        nn_pace_copy(&pace, (int8_t *)args->outputs[0].data + at, out, cell.n_outputs);
    }
}

static int nn_quantized_lstm__c(const struct nn_kernel_args *args)
{
    struct nn_qcell cell = nn_cell8_open(args);

    nn_parallel_for(args, args->inputs[0].dims[0], 1 + nn_qcell_cost(&cell), run_batches, &cell);
    return 0;
}

/* ---- a sequence ---- */

struct lite_sequence {
    struct nn_qcell cell;
    struct nn_sequence sequence;
};

static int lower_sequence(struct nn_lower *lower)
{
    nn_cell8_lower(lower, true, lower->params);
    return 0;
}

/* The cell state of a batch, behind what a step needs. Weights stand in one place for both cells. */
static bool find_sequence_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    size_t n_cells = step->inputs[MAP->weights + NN_LSTM_OUTPUT].dims[0];

    ret->worker_bytes = (nn_qcell_scratch(n_cells) + n_cells) * sizeof(int16_t);
    return true;
}

/* Row r of codes, n in each. */
static void *code_row(const struct nn_qcell *cell, const void *codes, size_t r, size_t n)
{
    return (uint8_t *)(uintptr_t)codes + r * n * cell->code_bytes;
}

static void walk_batch(const struct lite_sequence *walk, size_t b, int16_t *scratch)
{
    const struct nn_qcell *cell = &walk->cell;
    const struct nn_kernel_args *args = cell->args;
    const void *h = code_row(cell, nn_qcell_data(cell, cell->map->output_state), b,
                             cell->n_outputs);
    int16_t *c = scratch + nn_qcell_scratch(cell->n_cells);
    size_t c_bytes = cell->n_cells * sizeof(*c);

    nn_pace_copy(cell->pace, c,
                 (const int16_t *)nn_qcell_data(cell, cell->map->cell_state) + b * cell->n_cells,
                 c_bytes);
    for (size_t t = 0; t < walk->sequence.n_steps && !nn_pace_ends(cell->pace, 1); t++) {
        size_t row = nn_sequence_row(&walk->sequence, t, b);
        const void *x = code_row(cell, nn_qcell_data(cell, cell->map->x), row, cell->n_inputs);
        void *out = code_row(cell, args->outputs[0].data, row, cell->n_outputs);

        cell->step(cell, &(struct nn_qcell_io){.x = x, .h = h, .old = c, .c = c, .out = out},
                   scratch);
        h = out;
    }
    if (args->n_outputs < 3)
        return;
    nn_pace_copy(cell->pace, code_row(cell, args->outputs[1].data, b, cell->n_outputs), h,
                 cell->n_outputs * cell->code_bytes);
    nn_pace_copy(cell->pace, (int16_t *)args->outputs[2].data + b * cell->n_cells, c, c_bytes);
}

static void walk_batches(void *ctx, size_t begin, size_t end, unsigned worker)
{
    struct lite_sequence walk = *(const struct lite_sequence *)ctx;
    struct nn_pace pace = nn_pace(walk.cell.args->stop);

    walk.cell.pace = &pace;
    for (size_t b = begin; b < end; b++)
        walk_batch(&walk, b, nn_worker_scratch(walk.cell.args, worker));
}

/* An input of rank 2 is one step. */
static int run_sequence(const struct nn_qcell *cell, bool is_time_major)
{
    const struct nn_kernel_args *args = cell->args;
    const struct nn_tensor *x = &args->inputs[cell->map->x];
    struct lite_sequence walk = {
        .cell = *cell, .sequence = {.n_steps = 1, .n_batches = x->dims[0], .is_time_major = true}};

    if (x->n_dims == 3)
        walk.sequence = nn_sequence_read(x, is_time_major);
    nn_parallel_for(args, walk.sequence.n_batches, 1 + walk.sequence.n_steps * nn_qcell_cost(cell),
                    walk_batches, &walk);
    return 0;
}

static int nn_unidirectional_sequence_lstm_q8__c(const struct nn_kernel_args *args)
{
    const struct nn_cell8_params *params = args->params;
    struct nn_qcell cell = nn_cell8_open(args);

    return run_sequence(&cell, params->is_time_major);
}

static int nn_unidirectional_sequence_lstm_z16__c(const struct nn_kernel_args *args)
{
    const struct nn_cell16_params *params = args->params;
    struct nn_qcell cell = nn_cell16_open(args);

    return run_sequence(&cell, params->is_time_major);
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("quantized_lstm__c", QUANTIZED_LSTM), .params_bytes = sizeof(struct nn_cell8_params),
     .lower = lower_step, .run = nn_quantized_lstm__c, .find_scratch = find_step_scratch},
    {NN_TFLITE_ROW("unidirectional_sequence_lstm_q8__c", UNIDIRECTIONAL_SEQUENCE_LSTM),
     .in0 = NN_T_S8, .params_bytes = sizeof(struct nn_cell8_params), .lower = lower_sequence,
     .run = nn_unidirectional_sequence_lstm_q8__c, .find_scratch = find_sequence_scratch},
    {NN_TFLITE_ROW("unidirectional_sequence_lstm_z16__c", UNIDIRECTIONAL_SEQUENCE_LSTM),
     .in0 = NN_T_Z16, .params_bytes = sizeof(struct nn_cell16_params),
     .weights_bytes = NN_SMOOTH_N * sizeof(uint16_t), .lower = nn_cell16_lower,
     .run = nn_unidirectional_sequence_lstm_z16__c, .find_scratch = find_sequence_scratch},
};
NN_KERNEL_FAMILY(quantized_lstm, kernels);
