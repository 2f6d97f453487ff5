/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/quantized-lstm/cell16.h"
#include "drivers/cpu/kernels/sixteen/sixteen.h"

#include <errno.h>

#define MAP (&nn_lstm_map_sixteen)

/* ---- lowering ---- */

/* No code is beyond it. */
enum { NO_CLIP = 1 << 15 };

static const float gate_scale = 0x1p-12f;
static const struct nn_smooth of_gate = {.multiplier = 3, .shift = 0};

static double scale_of(const struct nn_lower *lower, uint32_t i)
{
    return (double)lower->inputs[i].scale;
}

static struct nn_multiplier sum_multiplier(const struct nn_lower *lower, uint32_t x,
                                           uint32_t weights)
{
    return nn_multiplier_of_scales(lower->inputs[x].scale, lower->inputs[weights].scale,
                                   gate_scale);
}

/* Steps of the table are 1 / (3 * 2^12). */
static struct nn_smooth cell_steps(int exponent)
{
    if (exponent >= -12)
        return (struct nn_smooth){.multiplier = 3 << (exponent + 12)};
    return (struct nn_smooth){.multiplier = 3, .shift = -12 - exponent};
}

static int32_t clip_code(double bound, double scale)
{
    return bound > 0.0 ? (int32_t)fmin(bound / scale, INT16_MAX) : NO_CLIP;
}

int nn_cell16_lower(struct nn_lower *lower)
{
    struct nn_cell16_params *params = lower->params;
    double cell_scale = scale_of(lower, MAP->cell_state);
    uint16_t *table = nn_lower_weights(lower, NN_SMOOTH_N * sizeof(*table));

    if (!table)
        return -ENOMEM;
    nn_smooth_fill(table);
    for (uint32_t k = 0; k < NN_LSTM_GATE_N; k++) {
        params->input[k] = sum_multiplier(lower, MAP->x, MAP->weights + k);
        params->recurrent[k] = sum_multiplier(lower, MAP->output_state, MAP->recurrent + k);
    }
    params->kept = nn_multiplier_make(0x1p-15);
    params->taken = nn_multiplier_make(0x1p-30 / cell_scale);
    params->hidden = nn_multiplier_make(0x1p-30 / scale_of(lower, MAP->output_state));
    params->cell_state = cell_steps((int)lround(log2(cell_scale)));
    params->cell_clip = clip_code((double)nn_lower_f32(lower, NN_LSTM_SIXTEEN_CELL_CLIP, 0.0f),
                                  cell_scale);
    params->is_time_major = nn_lower_bool(lower, NN_LSTM_SIXTEEN_TIME_MAJOR, false);
    return 0;
}

/* ---- gates ---- */

static const struct nn_cell16_params *params_of(const struct nn_qcell *cell)
{
    return cell->args->params;
}

static const uint16_t *table_of(const struct nn_qcell *cell)
{
    return (const uint16_t *)(const void *)cell->args->weights;
}

/* What does not fit a sum wraps. */
static int16_t run_sum(const struct nn_qcell *cell, const int8_t *weights, const int16_t *x,
                       size_t n, int64_t bias, struct nn_multiplier multiplier)
{
    uint64_t sum = (uint64_t)bias;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, n, 1, &part);)
        sum += (uint64_t)nn_sixteen_dot(x + part.begin, weights + part.begin,
                                        part.end - part.begin);
    return nn_sat16(nn_sixteen_scale((int64_t)sum, multiplier, NN_ROUNDING_REDUCED));
}

/* A gate before its activation. */
static void run_gate(const struct nn_qcell *cell, uint32_t k, const struct nn_qcell_io *io,
                     int16_t *q)
{
    const struct nn_cell16_params *params = params_of(cell);
    const int8_t *input = nn_qcell_data(cell, MAP->weights + k);
    const int8_t *recurrent = nn_qcell_data(cell, MAP->recurrent + k);
    const struct nn_tensor *bias = &cell->args->inputs[MAP->bias + k];

    for (size_t u = 0; u < cell->n_cells && !nn_pace_ends(cell->pace, 20); u++) {
        int16_t of_input = run_sum(cell, input + u * cell->n_inputs, io->x, cell->n_inputs,
                                   nn_sixteen_bias(bias, u), params->input[k]);
        int16_t of_output = run_sum(cell, recurrent + u * cell->n_outputs, io->h, cell->n_outputs,
                                    0, params->recurrent[k]);

        q[u] = nn_sat16(of_input + of_output);
    }
}

static void run_logistic_gate(const struct nn_qcell *cell, uint32_t k, const struct nn_qcell_io *io,
                              int16_t *q)
{
    run_gate(cell, k, io, q);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 20, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            q[u] = nn_smooth_logistic(table_of(cell), nn_smooth_rescale(q[u], of_gate));
}

/* to may be from. */
static void run_tanh(const struct nn_qcell *cell, const int16_t *from, struct nn_smooth smooth,
                     int16_t *to)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 20, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            to[u] = nn_smooth_tanh(table_of(cell), nn_smooth_rescale(from[u], smooth));
}

/* ---- a step ---- */

static int16_t multiply(int16_t a, int16_t b, struct nn_multiplier multiplier)
{
    return nn_sat16(nn_multiplier_apply(a * b, multiplier));
}

static void update_cell(const struct nn_qcell *cell, const int16_t *i, const int16_t *f,
                        const int16_t *j, const struct nn_qcell_io *io)
{
    const struct nn_cell16_params *params = params_of(cell);
    int32_t clip = params->cell_clip;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 5, &part);)
        for (size_t u = part.begin; u < part.end; u++) {
            int16_t sum = nn_sat16(multiply(f[u], io->old[u], params->kept) +
                                   multiply(i[u], j[u], params->taken));

            io->c[u] = (int16_t)nn_clamp_i32(sum, -clip, clip);
        }
}

static void make_hidden(const struct nn_qcell *cell, const int16_t *o, const int16_t *activated,
                        int16_t *out)
{
    struct nn_multiplier multiplier = params_of(cell)->hidden;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 5, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            out[u] = multiply(activated[u], o[u], multiplier);
}

static void run_step(const struct nn_qcell *cell, const struct nn_qcell_io *io, int16_t *scratch)
{
    size_t n = cell->n_cells;
    int16_t *i = scratch, *f = i + n, *j = f + n, *o = j + n, *activated = o + n;

    run_logistic_gate(cell, NN_LSTM_FORGET, io, f);
    run_logistic_gate(cell, NN_LSTM_INPUT, io, i);
    run_gate(cell, NN_LSTM_CELL, io, j);
    run_tanh(cell, j, of_gate, j);
    run_logistic_gate(cell, NN_LSTM_OUTPUT, io, o);
    if (nn_qcell_has_ended(cell))
        return;
    update_cell(cell, i, f, j, io);
    run_tanh(cell, io->c, params_of(cell)->cell_state, activated);
    if (nn_qcell_has_ended(cell))
        return;
    make_hidden(cell, o, activated, io->out);
}

struct nn_qcell nn_cell16_open(const struct nn_kernel_args *args)
{
    struct nn_qcell cell = nn_qcell_open(args, MAP, sizeof(int16_t));

    cell.step = run_step;
    return cell;
}
