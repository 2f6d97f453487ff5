/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM, plain C.
 *
 * All three walk a sequence with one or two cells (cell.h); LSTM's has one
 * step. One item of work is one batch. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/lstm/cell.h"
#include "drivers/cpu/kernels/rnn/sequence.h"
#include "drivers/cpu/kernels/common/widen-f16.h"

#include <string.h>

struct lstm_params {
    int32_t activation;
    float cell_clip, projection_clip;
    uint32_t is_time_major;
    uint32_t is_merged;
};

/* One cell on its way through a sequence. */
struct lstm_direction {
    const struct nn_kernel_args *args;
    struct nn_lstm_cell cell;
    struct nn_sequence sequence;
    const float *x, *aux;
    const float *h; /* [batches, outputs] */
    const float *c; /* [batches, cells] */
    float *out;     /* the first column that is this direction's */
    size_t out_row; /* columns of a row of it */
    float *last_h;  /* [batches, outputs], or NULL */
    float *last_c;  /* [batches, cells]: the state on the way, too */
};

static size_t step_cost(const struct nn_lstm_cell *cell)
{
    return cell->n_cells * (cell->n_inputs + cell->n_aux + cell->n_outputs + 50);
}

static void walk_batches(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct lstm_direction *d = ctx;
    const struct nn_lstm_cell *cell = &d->cell;
    float *scratch = nn_worker_scratch(d->args, worker);
    struct nn_pace pace = nn_pace(d->args->stop);

    for (size_t b = begin; b < end; b++) {
        const float *h = d->h + b * cell->n_outputs;
        float *c = d->last_c + b * cell->n_cells;

        nn_pace_copy(&pace, c, d->c + b * cell->n_cells, cell->n_cells * sizeof(*c));
        for (size_t i = 0; i < d->sequence.n_steps; i++) {
            size_t row = nn_sequence_row(&d->sequence, i, b);
            float *out = d->out + row * d->out_row;

            if (nn_pace_ends(&pace, 1))
                return;
            nn_lstm_step(cell,
                         &(struct nn_lstm_io){.x = d->x + row * cell->n_inputs,
                                              .aux = d->aux ? d->aux + row * cell->n_aux : NULL,
                                              .h = h,
                                              .c = c,
                                              .out = out},
                         scratch, &pace);
            h = out;
        }
        if (d->last_h)
            nn_pace_copy(&pace, d->last_h + b * cell->n_outputs, h, cell->n_outputs * sizeof(*h));
    }
}

static void walk_sequence(struct lstm_direction *direction)
{
    nn_parallel_for(direction->args, direction->sequence.n_batches,
                    1 + direction->sequence.n_steps * step_cost(&direction->cell), walk_batches,
                    direction);
}

/* ---- lowering ---- */

/* Copies of every float16 operand, and cell states where there is no output for them; each
 * worker's gates. */
static void count_scratch(const struct nn_kernel_step *step, uint32_t n_batches, uint32_t n_cells,
                          struct nn_kernel_scratch *ret)
{
    ret->bytes = nn_f16_copies_bytes(step) + 2 * nn_f16_bytes((uint64_t)n_batches * n_cells);
    ret->worker_bytes = nn_lstm_scratch(n_cells) * sizeof(float);
}

static uint32_t forward_cells(const struct nn_kernel_step *step)
{
    return step->inputs[nn_lstm_map_basic.weights + NN_LSTM_OUTPUT].dims[0];
}

static bool find_lstm_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    count_scratch(step, step->inputs[0].dims[0], forward_cells(step), ret);
    return true;
}

static bool find_sequence_scratch(const struct nn_kernel_step *step, struct nn_kernel_scratch *ret)
{
    const struct lstm_params *params = step->params;

    count_scratch(step, step->inputs[0].dims[params->is_time_major ? 1 : 0], forward_cells(step),
                  ret);
    return true;
}

static bool find_bidirectional_scratch(const struct nn_kernel_step *step,
                                       struct nn_kernel_scratch *ret)
{
    uint32_t backward = step->inputs[nn_lstm_map_backward.weights + NN_LSTM_OUTPUT].dims[0];
    const struct lstm_params *params = step->params;
    uint32_t forward = forward_cells(step);

    count_scratch(step, step->inputs[0].dims[params->is_time_major ? 1 : 0],
                  forward > backward ? forward : backward, ret);
    return true;
}

static void read_scalars(const struct nn_lower *lower, uint32_t activation,
                         struct lstm_params *params)
{
    params->activation = nn_lower_i32(lower, activation, 0);
    params->cell_clip = nn_lower_f32(lower, activation + 1, 0.0f);
    params->projection_clip = nn_lower_f32(lower, activation + 2, 0.0f);
}

static int lower_lstm(struct nn_lower *lower)
{
    read_scalars(lower, NN_LSTM_ACTIVATION, lower->params);
    return 0;
}

static int lower_unidirectional(struct nn_lower *lower)
{
    struct lstm_params *params = lower->params;

    read_scalars(lower, NN_LSTM_ACTIVATION, params);
    params->is_time_major = nn_lower_bool(lower, NN_UNIDIRECTIONAL_LSTM_TIME_MAJOR, false);
    return 0;
}

static int lower_bidirectional(struct nn_lower *lower)
{
    struct lstm_params *params = lower->params;

    read_scalars(lower, NN_BIDIRECTIONAL_LSTM_ACTIVATION, params);
    params->is_merged = nn_lower_bool(lower, NN_BIDIRECTIONAL_LSTM_MERGE, false);
    params->is_time_major = nn_lower_bool(lower, NN_BIDIRECTIONAL_LSTM_TIME_MAJOR, false);
    return 0;
}

/* ---- running ---- */

/* Input i widened, NULL if it is omitted or there is no such input. */
static const float *widen_input(const struct nn_kernel_args *args, struct nn_f16_scratch *wide,
                                uint32_t i)
{
    return i < args->n_inputs ? nn_f16_input(wide, &args->inputs[i]) : NULL;
}

static void take_gates(const struct nn_kernel_args *args, struct nn_f16_scratch *wide,
                       const struct nn_lstm_map *map, struct nn_lstm_cell *cell)
{
    static const uint32_t peepholes[NN_LSTM_GATE_N] = {0, 1, NN_LSTM_NO_OPERAND, 2};
    bool has_aux = map->aux_weights != NN_LSTM_NO_OPERAND;

    for (uint32_t k = 0; k < NN_LSTM_GATE_N; k++) {
        struct nn_lstm_gate_weights *gate = &cell->gates[k];

        gate->input = widen_input(args, wide, map->weights + k);
        gate->recurrent = widen_input(args, wide, map->recurrent + k);
        gate->bias = widen_input(args, wide, map->bias + k);
        gate->layer_norm = widen_input(args, wide, map->layer_norm + k);
        if (peepholes[k] != NN_LSTM_NO_OPERAND)
            gate->peephole = widen_input(args, wide, map->peephole + peepholes[k]);
        if (has_aux)
            gate->aux = widen_input(args, wide, map->aux_weights + k);
    }
}

static void take_direction(const struct nn_kernel_args *args, struct nn_f16_scratch *wide,
                           const struct nn_lstm_map *map, struct lstm_direction *direction)
{
    const struct lstm_params *params = args->params;
    const struct nn_tensor *weights = &args->inputs[map->weights + NN_LSTM_OUTPUT];
    struct nn_lstm_cell *cell = &direction->cell;

    *direction = (struct lstm_direction){.args = args};
    take_gates(args, wide, map, cell);
    cell->n_cells = weights->dims[0];
    cell->n_inputs = weights->dims[1];
    cell->n_outputs = args->inputs[map->recurrent + NN_LSTM_OUTPUT].dims[1];
    cell->projection = widen_input(args, wide, map->projection);
    cell->projection_bias = widen_input(args, wide, map->projection_bias);
    cell->activation = params->activation;
    cell->cell_clip = params->cell_clip;
    cell->projection_clip = params->projection_clip;
    direction->h = widen_input(args, wide, map->output_state);
    direction->c = widen_input(args, wide, map->cell_state);
    direction->out_row = cell->n_outputs;
}

/* A place for the cell state on the way, where no output is one. */
static float *cell_room(const struct lstm_direction *direction, struct nn_f16_scratch *wide)
{
    return nn_f16_take(wide, direction->sequence.n_batches * direction->cell.n_cells);
}

/* The first output is scratch in the reference; here it is all zeros. */
static int nn_lstm__c(const struct nn_kernel_args *args)
{
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct nn_pace pace = nn_pace(args->stop);
    struct lstm_direction direction;
    float *results[4];

    take_direction(args, &wide, &nn_lstm_map_basic, &direction);
    nn_f16_outputs(&wide, args, results);
    direction.sequence = (struct nn_sequence){
        .n_steps = 1, .n_batches = args->inputs[0].dims[0], .is_time_major = true};
    direction.x = widen_input(args, &wide, 0);
    direction.last_h = results[1];
    direction.last_c = results[2];
    direction.out = results[3];
    walk_sequence(&direction);
    for (uint32_t i = 1; i < 4; i++)
        nn_f16_store(&args->outputs[i], results[i], args->stop);
    nn_pace_fill(&pace, args->outputs[0].data, 0, args->outputs[0].size);
    return 0;
}

static int nn_unidirectional_sequence_lstm__c(const struct nn_kernel_args *args)
{
    const struct lstm_params *params = args->params;
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct lstm_direction direction;
    float *results[3] = {NULL};

    take_direction(args, &wide, &nn_lstm_map_unidirectional, &direction);
    nn_f16_outputs(&wide, args, results);
    direction.sequence = nn_sequence_read(&args->inputs[0], params->is_time_major);
    direction.x = widen_input(args, &wide, 0);
    direction.out = results[0];
    direction.last_h = results[1];
    direction.last_c = results[2] ? results[2] : cell_room(&direction, &wide);
    walk_sequence(&direction);
    nn_f16_store_all(args, results);
    return 0;
}

/* What the cells read: see model/lstm.h and inference for the three forms. */
static void take_sequences(const struct nn_kernel_args *args, struct nn_f16_scratch *wide,
                           struct lstm_direction *forward, struct lstm_direction *backward)
{
    const float *aux = widen_input(args, wide, NN_BIDIRECTIONAL_LSTM_AUX);
    bool has_weights = forward->cell.gates[NN_LSTM_OUTPUT].aux != NULL;

    forward->x = backward->x = widen_input(args, wide, 0);
    if (aux && has_weights) {
        forward->aux = backward->aux = aux;
        forward->cell.n_aux = args->inputs[NN_BIDIRECTIONAL_LSTM_AUX].dims[2];
        backward->cell.n_aux = forward->cell.n_aux;
    } else if (aux) {
        backward->x = aux;
    }
}

static int nn_bidirectional_sequence_lstm__c(const struct nn_kernel_args *args)
{
    const struct lstm_params *params = args->params;
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct lstm_direction forward, backward;
    float *results[6] = {NULL};
    uint32_t state = params->is_merged ? 1 : 2;

    take_direction(args, &wide, &nn_lstm_map_forward, &forward);
    take_direction(args, &wide, &nn_lstm_map_backward, &backward);
    take_sequences(args, &wide, &forward, &backward);
    nn_f16_outputs(&wide, args, results);
    forward.sequence = backward.sequence = nn_sequence_read(&args->inputs[0],
                                                            params->is_time_major);
    backward.sequence.is_backward = true;
    forward.out = results[0];
    backward.out = results[1];
    if (params->is_merged) {
        backward.out = results[0] + forward.cell.n_outputs;
        forward.out_row += backward.cell.n_outputs;
        backward.out_row = forward.out_row;
    }
    if (args->n_outputs > state) {
        forward.last_h = results[state];
        forward.last_c = results[state + 1];
        backward.last_h = results[state + 2];
        backward.last_c = results[state + 3];
    } else {
        forward.last_c = cell_room(&forward, &wide);
        backward.last_c = cell_room(&backward, &wide);
    }
    walk_sequence(&forward);
    walk_sequence(&backward);
    nn_f16_store_all(args, results);
    return 0;
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("lstm__c", LSTM), .params_bytes = sizeof(struct lstm_params), .lower = lower_lstm,
     .find_scratch = find_lstm_scratch, .run = nn_lstm__c},
    {NN_ROW("unidirectional_sequence_lstm__c", UNIDIRECTIONAL_SEQUENCE_LSTM),
     .in0 = NN_T_F32 | NN_T_F16, .params_bytes = sizeof(struct lstm_params),
     .lower = lower_unidirectional, .find_scratch = find_sequence_scratch,
     .run = nn_unidirectional_sequence_lstm__c},
    {NN_ROW("bidirectional_sequence_lstm__c", BIDIRECTIONAL_SEQUENCE_LSTM),
     .params_bytes = sizeof(struct lstm_params), .lower = lower_bidirectional,
     .find_scratch = find_bidirectional_scratch, .run = nn_bidirectional_sequence_lstm__c},
};
NN_KERNEL_FAMILY(lstm, kernels);
