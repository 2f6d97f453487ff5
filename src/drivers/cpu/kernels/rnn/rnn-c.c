/* SPDX-License-Identifier: Apache-2.0 */
/* RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN, SVDF, plain C.
 *
 *     h' = act(W x + R h + b)         and + Waux aux, where there is one
 *
 * All arithmetic is float32. The state of a step is the output of the one
 * before, so it is read where it was written. One item of work is one batch. */
#include "drivers/cpu/kernels/kernel.h"
#include "drivers/cpu/kernels/rnn/matvec.h"
#include "drivers/cpu/kernels/rnn/sequence.h"
#include "drivers/cpu/kernels/common/widen-f16.h"
#include "model/operands.h"

#include <string.h>

/* ---- the cell ---- */

struct rnn_cell {
    size_t n_inputs, n_aux, n_units;
    const float *weights;     /* [units, inputs] */
    const float *aux_weights; /* [units, aux], or NULL */
    const float *recurrent;   /* [units, units] */
    const float *bias;        /* [units] */
    int32_t activation;
};

static void step_cell(const struct rnn_cell *cell, const float *x, const float *aux, const float *h,
                      float *out, struct nn_pace *pace)
{
    nn_pace_copy(pace, out, cell->bias, cell->n_units * sizeof(*out));
    nn_matvec_add(out, cell->weights, x, cell->n_units, cell->n_inputs, pace);
    if (cell->aux_weights)
        nn_matvec_add(out, cell->aux_weights, aux, cell->n_units, cell->n_aux, pace);
    nn_matvec_add(out, cell->recurrent, h, cell->n_units, cell->n_units, pace);
    nn_rnn_activate(cell->activation, out, cell->n_units, pace);
}

struct rnn_direction {
    const struct nn_kernel_args *args;
    struct rnn_cell cell;
    struct nn_sequence sequence;
    const float *x, *aux;
    const float *h; /* [batches, units] */
    float *out;     /* the first column that is this direction's */
    size_t out_row; /* columns of a row of it */
    float *last_h;  /* [batches, units], or NULL */
};

static size_t step_cost(const struct rnn_cell *cell)
{
    return cell->n_units * ((cell->n_inputs + cell->n_aux + cell->n_units) / 4 + 10);
}

static void walk_batches(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct rnn_direction *d = ctx;
    const struct rnn_cell *cell = &d->cell;
    struct nn_pace pace = nn_pace(d->args->stop);

    for (size_t b = begin; b < end; b++) {
        const float *h = d->h + b * cell->n_units;

        for (size_t i = 0; i < d->sequence.n_steps; i++) {
            size_t row = nn_sequence_row(&d->sequence, i, b);
            float *out = d->out + row * d->out_row;

            if (nn_pace_ends(&pace, 1))
                return;
            step_cell(cell, d->x + row * cell->n_inputs,
                      cell->aux_weights ? d->aux + row * cell->n_aux : NULL, h, out, &pace);
            h = out;
        }
        if (d->last_h)
            nn_pace_copy(&pace, d->last_h + b * cell->n_units, h, cell->n_units * sizeof(*h));
    }
}

static void walk_sequence(const struct nn_kernel_args *args, struct rnn_direction *direction)
{
    nn_parallel_for(args, direction->sequence.n_batches,
                    1 + direction->sequence.n_steps * step_cost(&direction->cell), walk_batches,
                    direction);
}

/* ---- RNN and the unidirectional sequence ---- */

struct rnn_params {
    int32_t activation;
    uint32_t is_time_major;
    uint32_t is_merged;
};

static int lower_rnn(struct nn_lower *lower)
{
    struct rnn_params *params = lower->params;

    params->activation = nn_lower_i32(lower, NN_RNN_ACTIVATION, 0);
    params->is_time_major = nn_lower_i32(lower, NN_RNN_TIME_MAJOR, 0) == 1;
    return 0;
}

/* The cell whose W, R, b and h are inputs first to first + 3. */
static void take_cell(const struct nn_kernel_args *args, struct nn_f16_scratch *wide,
                      uint32_t first, int32_t activation, struct rnn_direction *direction)
{
    const struct nn_tensor *weights = &args->inputs[first];

    direction->args = args;
    direction->cell = (struct rnn_cell){
        .n_units = weights->dims[0],
        .n_inputs = weights->dims[1],
        .weights = nn_f16_input(wide, weights),
        .recurrent = nn_f16_input(wide, &args->inputs[first + 1]),
        .bias = nn_f16_input(wide, &args->inputs[first + 2]),
        .activation = activation,
    };
    direction->h = nn_f16_input(wide, &args->inputs[first + 3]);
    direction->out_row = direction->cell.n_units;
}

static int nn_rnn__c(const struct nn_kernel_args *args)
{
    const struct rnn_params *params = args->params;
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct rnn_direction direction = {0};

    take_cell(args, &wide, NN_RNN_WEIGHTS, params->activation, &direction);
    direction.sequence = (struct nn_sequence){
        .n_steps = 1, .n_batches = args->inputs[0].dims[0], .is_time_major = true};
    direction.x = nn_f16_input(&wide, &args->inputs[0]);
    direction.out = nn_f16_output(&wide, &args->outputs[1]);
    direction.last_h = nn_f16_output(&wide, &args->outputs[0]);
    walk_sequence(args, &direction);
    nn_f16_store(&args->outputs[0], direction.last_h, args->stop);
    nn_f16_store(&args->outputs[1], direction.out, args->stop);
    return 0;
}

static int nn_unidirectional_sequence_rnn__c(const struct nn_kernel_args *args)
{
    const struct rnn_params *params = args->params;
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct rnn_direction direction = {0};
    float *results[2] = {NULL};

    take_cell(args, &wide, NN_RNN_WEIGHTS, params->activation, &direction);
    direction.sequence = nn_sequence_read(&args->inputs[0], params->is_time_major);
    direction.x = nn_f16_input(&wide, &args->inputs[0]);
    nn_f16_outputs(&wide, args, results);
    direction.out = results[0];
    direction.last_h = results[1];
    walk_sequence(args, &direction);
    nn_f16_store_all(args, results);
    return 0;
}

/* ---- both directions ---- */

static int lower_bidirectional_rnn(struct nn_lower *lower)
{
    struct rnn_params *params = lower->params;

    params->activation = nn_lower_i32(lower, NN_BIDIRECTIONAL_RNN_ACTIVATION, 0);
    params->is_time_major = nn_lower_bool(lower, NN_BIDIRECTIONAL_RNN_TIME_MAJOR, false);
    params->is_merged = nn_lower_bool(lower, NN_BIDIRECTIONAL_RNN_MERGE, false);
    return 0;
}

/* Both cells read x, and aux through weights of its own; or, if there are no
 * such weights, the backward cell reads aux instead of x. */
static void take_inputs(const struct nn_kernel_args *args, struct nn_f16_scratch *wide,
                        struct rnn_direction *forward, struct rnn_direction *backward)
{
    const float *aux = nn_f16_input(wide, &args->inputs[NN_BIDIRECTIONAL_RNN_AUX]);
    size_t n_aux = aux ? args->inputs[NN_BIDIRECTIONAL_RNN_AUX].dims[2] : 0;

    forward->x = backward->x = nn_f16_input(wide, &args->inputs[0]);
    forward->cell.aux_weights = nn_f16_input(wide, &args->inputs[NN_BIDIRECTIONAL_RNN_FORWARD_AUX]);
    backward->cell.aux_weights = nn_f16_input(wide,
                                              &args->inputs[NN_BIDIRECTIONAL_RNN_BACKWARD_AUX]);
    forward->aux = backward->aux = aux;
    forward->cell.n_aux = backward->cell.n_aux = n_aux;
    if (aux && !forward->cell.aux_weights)
        backward->x = aux;
}

static int nn_bidirectional_sequence_rnn__c(const struct nn_kernel_args *args)
{
    const struct rnn_params *params = args->params;
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct rnn_direction forward = {0}, backward = {0};
    float *results[4] = {NULL};
    uint32_t state = params->is_merged ? 1 : 2;

    take_cell(args, &wide, NN_RNN_WEIGHTS, params->activation, &forward);
    take_cell(args, &wide, NN_BIDIRECTIONAL_RNN_BACKWARD, params->activation, &backward);
    take_inputs(args, &wide, &forward, &backward);
    nn_f16_outputs(&wide, args, results);
    forward.sequence = nn_sequence_read(&args->inputs[0], params->is_time_major);
    backward.sequence = forward.sequence;
    backward.sequence.is_backward = true;
    forward.out = results[0];
    backward.out = results[1];
    if (params->is_merged) {
        backward.out = results[0] + forward.cell.n_units;
        forward.out_row += backward.cell.n_units;
        backward.out_row = forward.out_row;
    }
    if (args->n_outputs > state) {
        forward.last_h = results[state];
        backward.last_h = results[state + 1];
    }
    walk_sequence(args, &forward);
    walk_sequence(args, &backward);
    nn_f16_store_all(args, results);
    return 0;
}

/* ---- SVDF ---- */

struct svdf_params {
    int32_t rank;
    int32_t activation;
};

struct svdf {
    size_t n_inputs, n_filters, n_memory, n_units, rank;
    const float *x, *features, *time, *bias, *state;
    float *state_out, *out;
    int32_t activation;
    struct nn_stop *stop;
};

static int lower_svdf(struct nn_lower *lower)
{
    struct svdf_params *params = lower->params;

    params->rank = nn_lower_i32(lower, NN_SVDF_RANK, 1);
    params->activation = nn_lower_i32(lower, NN_SVDF_ACTIVATION, 0);
    return 0;
}

/* A filter's memory gets the newest feature at its end, is summed up in time, and
 * moves on by one; its new last place is 0. */
static float run_filter(const struct svdf *svdf, size_t f, const float *x, const float *state,
                        float *state_out, struct nn_pace *pace)
{
    const float *time = svdf->time + f * svdf->n_memory;
    size_t last = svdf->n_memory - 1;
    float newest = nn_dot(svdf->features + f * svdf->n_inputs, x, svdf->n_inputs, pace);

    if (last) {
        nn_pace_copy(pace, state_out, state + 1, (last - 1) * sizeof(*state_out));
        state_out[last - 1] = newest;
    }
    state_out[last] = 0.0f;
    return nn_dot(state, time, last, pace) + newest * time[last];
}

static void svdf_batches(void *ctx, size_t begin, size_t end, unsigned worker)
{
    const struct svdf *svdf = ctx;
    size_t n_state = svdf->n_filters * svdf->n_memory;
    struct nn_pace pace = nn_pace(svdf->stop);

    for (size_t b = begin; b < end; b++) {
        float *out = svdf->out + b * svdf->n_units;

        if (svdf->bias)
            nn_pace_copy(&pace, out, svdf->bias, svdf->n_units * sizeof(*out));
        else
            nn_pace_fill(&pace, out, 0, svdf->n_units * sizeof(*out));
        for (size_t f = 0; f < svdf->n_filters; f++) {
            if (nn_pace_ends(&pace, 5 + (svdf->n_inputs + svdf->n_memory) / 2))
                return;
            out[f / svdf->rank] += run_filter(svdf, f, svdf->x + b * svdf->n_inputs,
                                              svdf->state + b * n_state + f * svdf->n_memory,
                                              svdf->state_out + b * n_state + f * svdf->n_memory,
                                              &pace);
        }
        nn_rnn_activate(svdf->activation, out, svdf->n_units, &pace);
    }
}

static int nn_svdf__c(const struct nn_kernel_args *args)
{
    const struct svdf_params *params = args->params;
    struct nn_f16_scratch wide = {args->scratch, args->stop};
    struct svdf svdf = {
        .n_inputs = args->inputs[NN_SVDF_FEATURES].dims[1],
        .n_filters = args->inputs[NN_SVDF_FEATURES].dims[0],
        .n_memory = args->inputs[NN_SVDF_TIME].dims[1],
        .n_units = args->outputs[1].dims[1],
        .rank = (size_t)params->rank,
        .x = nn_f16_input(&wide, &args->inputs[NN_SVDF_INPUT]),
        .features = nn_f16_input(&wide, &args->inputs[NN_SVDF_FEATURES]),
        .time = nn_f16_input(&wide, &args->inputs[NN_SVDF_TIME]),
        .bias = nn_f16_input(&wide, &args->inputs[NN_SVDF_BIAS]),
        .state = nn_f16_input(&wide, &args->inputs[NN_SVDF_STATE]),
        .state_out = nn_f16_output(&wide, &args->outputs[0]),
        .out = nn_f16_output(&wide, &args->outputs[1]),
        .activation = params->activation,
        .stop = args->stop,
    };

    nn_parallel_for(args, args->inputs[NN_SVDF_INPUT].dims[0],
                    1 + svdf.n_filters * (svdf.n_inputs + svdf.n_memory) / 2, svdf_batches, &svdf);
    nn_f16_store(&args->outputs[0], svdf.state_out, args->stop);
    nn_f16_store(&args->outputs[1], svdf.out, args->stop);
    return 0;
}

static bool check_svdf(const struct nn_kernel_step *step)
{
    const struct svdf_params *p = step->params;

    return step->n_inputs == 7 && step->n_outputs == 2 &&
           step->inputs[NN_SVDF_FEATURES].n_dims == 2 && step->outputs[1].n_dims == 2 &&
           p->rank > 0 &&
           (uint64_t)step->outputs[1].dims[1] * (uint64_t)p->rank ==
               step->inputs[NN_SVDF_FEATURES].dims[0];
}

static const struct nn_kernel kernels[] = {
    {NN_ROW("rnn__c", RNN), .params_bytes = sizeof(struct rnn_params), .lower = lower_rnn,
     .find_scratch = nn_f16_find_scratch, .run = nn_rnn__c},
    {NN_ROW("unidirectional_sequence_rnn__c", UNIDIRECTIONAL_SEQUENCE_RNN),
     .params_bytes = sizeof(struct rnn_params), .lower = lower_rnn,
     .find_scratch = nn_f16_find_scratch, .run = nn_unidirectional_sequence_rnn__c},
    {NN_ROW("bidirectional_sequence_rnn__c", BIDIRECTIONAL_SEQUENCE_RNN),
     .params_bytes = sizeof(struct rnn_params), .lower = lower_bidirectional_rnn,
     .find_scratch = nn_f16_find_scratch, .run = nn_bidirectional_sequence_rnn__c},
    {NN_ROW("svdf__c", SVDF), .params_bytes = sizeof(struct svdf_params), .lower = lower_svdf,
     .find_scratch = nn_f16_find_scratch, .run = nn_svdf__c, .check = check_svdf},
};
NN_KERNEL_FAMILY(rnn, kernels);
