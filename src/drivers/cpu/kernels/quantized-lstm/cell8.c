/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/quantized-lstm/cell8.h"
#include "drivers/cpu/kernels/common/fixed-math.h"
#include "drivers/cpu/kernels/quantized-lstm/fixed16.h"

#include <math.h>

#define MAP (&nn_lstm_map_quantized)

/* ---- lowering ---- */

static float scale_of(const struct nn_lower *lower, uint32_t i)
{
    return lower->inputs[i].scale;
}

/* What a variance below 1 counts as. TensorFlow Lite asks for more than 1, NNAPI's reference for less. */
static int32_t lowest_variance(float norm, bool is_lite)
{
    float wanted = truncf(10000.0f * norm);

    return (int32_t)(is_lite ? fminf(fmaxf(wanted, 1.0f), 0x1p30f) : fminf(wanted, 1.0f));
}

static void lower_gate(const struct nn_lower *lower, uint32_t k, uint32_t peephole, int cell_shift,
                       struct nn_cell8_gate *gate)
{
    float inter = nn_lower_f32(lower, NN_QUANTIZED_LSTM_GATE_SCALE + k, 1.0f);
    float input = scale_of(lower, MAP->weights + k) * scale_of(lower, MAP->x);
    float recurrent = scale_of(lower, MAP->recurrent + k) * scale_of(lower, MAP->output_state);
    float norm = scale_of(lower, MAP->layer_norm + k);

    gate->input = nn_multiplier_make((double)(input / inter));
    gate->recurrent = nn_multiplier_make((double)(recurrent / inter));
    gate->layer_norm = nn_multiplier_make((double)norm);
    if (peephole != NN_LSTM_NO_OPERAND)
        gate->peephole = nn_multiplier_make(
            (double)(ldexpf(scale_of(lower, MAP->peephole + peephole), cell_shift) / inter));
}

/* A bound as a code: 0 if there is none. */
static int32_t clip_code(float bound, float scale, float lowest, float highest)
{
    if (!(bound > 0.0f))
        return 0;
    return (int32_t)fminf(fmaxf(bound / scale, lowest), highest);
}

void nn_cell8_lower(const struct nn_lower *lower, bool is_lite, struct nn_cell8_params *params)
{
    static const uint32_t peepholes[NN_LSTM_GATE_N] = {0, 1, NN_LSTM_NO_OPERAND, 2};
    const struct nn_lower_operand *projection = &lower->inputs[MAP->projection];
    float cell_scale = scale_of(lower, MAP->cell_state);
    float hidden_scale = nn_lower_f32(lower, NN_QUANTIZED_LSTM_HIDDEN_SCALE, 1.0f);

    params->cell_shift = (int32_t)lroundf(log2f(cell_scale));
    for (uint32_t k = 0; k < NN_LSTM_GATE_N; k++) {
        lower_gate(lower, k, peepholes[k], params->cell_shift, &params->gates[k]);
        params->gates[k].lowest_variance = lowest_variance(scale_of(lower, MAP->layer_norm + k),
                                                           is_lite);
    }
    params->hidden = nn_multiplier_make((double)(0x1p-30f / hidden_scale));
    params->hidden_zero_point = (int8_t)nn_lower_i32(lower, NN_QUANTIZED_LSTM_HIDDEN_ZERO_POINT, 0);
    params->cell_clip = clip_code(nn_lower_f32(lower, NN_QUANTIZED_LSTM_CELL_CLIP, 0.0f),
                                  cell_scale, -32768.0f, 32767.0f);
    params->is_time_major = nn_lower_bool(lower, NN_QUANTIZED_LSTM_TIME_MAJOR, false);
    if (!projection->is_omitted) {
        params->projection = nn_multiplier_make(
            (double)(projection->scale * hidden_scale / scale_of(lower, MAP->output_state)));
        params->projection_clip = clip_code(
            nn_lower_f32(lower, NN_QUANTIZED_LSTM_PROJECTION_CLIP, 0.0f),
            is_lite ? lower->outputs[0].scale : projection->scale, -128.0f, 127.0f);
    }
}

static const struct nn_cell8_params *params_of(const struct nn_qcell *cell)
{
    return cell->args->params;
}

/* ---- layer normalization ---- */

static struct nn_multiplier row_factor(const struct nn_qcell *cell, const int16_t *q,
                                       int32_t lowest, int64_t *ret_mean)
{
    size_t n = cell->n_cells;
    int64_t sum = 0, squares = 0, mean, variance, share = (INT64_C(1) << 20) / (int64_t)n;
    struct nn_multiplier factor;
    int right_shift;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, n, 1, &part);)
        for (size_t u = part.begin; u < part.end; u++) {
            sum += q[u];
            squares += (int64_t)q[u] * q[u];
        }
    mean = sum * 1024 / (int64_t)n;
    variance = (squares * share - mean * mean) / (INT64_C(1) << 20);
    if (variance < 1)
        variance = lowest;
    *ret_mean = mean;
    nn_fx_inverse_sqrt((int32_t)variance, &factor.mantissa, &right_shift);
    factor.shift = -right_shift;
    return factor;
}

static void normalize_gate(const struct nn_qcell *cell, int16_t *q,
                           const struct nn_cell8_gate *gate, const int16_t *weights,
                           const int32_t *bias)
{
    struct nn_multiplier out = gate->layer_norm, factor;
    int64_t mean;

    factor = row_factor(cell, q, gate->lowest_variance, &mean);
    out.shift = out.shift + 12 > 30 ? 30 : out.shift + 12;
    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 10, &part);)
        for (size_t u = part.begin; u < part.end; u++) {
            int32_t v = nn_multiplier_apply((int32_t)(1024 * (int64_t)q[u] - mean), factor);
            int64_t a = (int64_t)v * weights[u] + bias[u];

            a = (a > 0 ? a + 512 : a - 512) / 1024;
            q[u] = nn_sat16(nn_multiplier_apply((int32_t)a, out));
        }
}

/* ---- gates ---- */

static int32_t dot_i8(const struct nn_qcell *cell, const int8_t *weights, const int8_t *x,
                      int32_t zero_point, size_t n)
{
    uint32_t sum = 0;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, n, 1, &part);)
        for (size_t i = part.begin; i < part.end; i++)
            sum += (uint32_t)(weights[i] * (x[i] - zero_point));
    return (int32_t)sum;
}

/* A gate before its activation; peephole counts from the map's first, of the cell state c. */
static void run_gate(const struct nn_qcell *cell, uint32_t k, const struct nn_qcell_io *io,
                     uint32_t peephole, const int16_t *c, int16_t *q)
{
    const struct nn_cell8_gate *gate = &params_of(cell)->gates[k];
    int32_t x_zero = cell->args->inputs[MAP->x].zero_point;
    int32_t h_zero = cell->args->inputs[MAP->output_state].zero_point;
    const int8_t *input = nn_qcell_data(cell, MAP->weights + k);
    const int8_t *recurrent = nn_qcell_data(cell, MAP->recurrent + k);
    const int16_t *peepholes = peephole == NN_LSTM_NO_OPERAND
                                   ? NULL
                                   : nn_qcell_data(cell, MAP->peephole + peephole);
    const int16_t *norm = nn_qcell_data(cell, MAP->layer_norm + k);
    const int32_t *bias = nn_qcell_data(cell, MAP->bias + k);

    for (size_t u = 0; u < cell->n_cells && !nn_pace_ends(cell->pace, 20); u++) {
        int32_t sum = dot_i8(cell, input + u * cell->n_inputs, io->x, x_zero, cell->n_inputs);

        if (!norm)
            sum = (int32_t)((uint32_t)sum + (uint32_t)bias[u]);
        q[u] = nn_sat16(nn_multiplier_apply(sum, gate->input));
        sum = dot_i8(cell, recurrent + u * cell->n_outputs, io->h, h_zero, cell->n_outputs);
        q[u] = nn_sat16((int64_t)nn_multiplier_apply(sum, gate->recurrent) + q[u]);
        if (peepholes)
            q[u] = nn_sat16((int64_t)nn_multiplier_apply(peepholes[u] * c[u], gate->peephole) +
                            q[u]);
    }
    if (norm)
        normalize_gate(cell, q, gate, norm, bias);
}

/* ---- a step ---- */

static void update_cell(const struct nn_qcell *cell, const int16_t *i, const int16_t *f,
                        const int16_t *j, const int16_t *old, int16_t *c)
{
    int shift = 30 + params_of(cell)->cell_shift;
    int32_t clip = params_of(cell)->cell_clip;

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 5, &part);)
        for (size_t u = part.begin; u < part.end; u++) {
            int64_t kept = nn_rdp64((int64_t)f[u] * old[u], 15);
            int64_t taken = nn_rdp64((int64_t)i[u] * j[u], shift);

            c[u] = nn_sat16((int32_t)(kept + taken));
            if (clip > 0)
                c[u] = (int16_t)nn_clamp_i32(c[u], -clip, clip);
        }
}

/* The hidden state as codes; stored minus the zero point, used plus it. */
static void make_hidden(const struct nn_qcell *cell, const int16_t *o, const int16_t *c,
                        int8_t *hidden)
{
    const struct nn_cell8_params *params = params_of(cell);

    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 20, &part);)
        for (size_t u = part.begin; u < part.end; u++) {
            int32_t product = o[u] * nn_tanh16(c[u], params->cell_shift + 15);
            int16_t code = nn_sat16((int64_t)nn_multiplier_apply(product, params->hidden) -
                                    params->hidden_zero_point);

            hidden[u] = (int8_t)nn_clamp_i32(code, -128, 127);
        }
}

static void project_hidden(const struct nn_qcell *cell, const int8_t *hidden, int8_t *out)
{
    const struct nn_cell8_params *params = params_of(cell);
    const int8_t *weights = nn_qcell_data(cell, MAP->projection);
    const int32_t *bias = nn_qcell_data(cell, MAP->projection_bias);
    int32_t zero_point = cell->args->inputs[MAP->output_state].zero_point;

    for (size_t r = 0; r < cell->n_outputs && !nn_pace_ends(cell->pace, 10); r++) {
        int32_t sum = dot_i8(cell, weights + r * cell->n_cells, hidden, -params->hidden_zero_point,
                             cell->n_cells);
        int32_t y;

        if (bias)
            sum = (int32_t)((uint32_t)sum + (uint32_t)bias[r]);
        y = nn_sat16((int64_t)nn_multiplier_apply(sum, params->projection) + zero_point);
        y = nn_clamp_i32(y, -128, 127);
        if (params->projection_clip > 0)
            y = nn_clamp_i32(y, -params->projection_clip, params->projection_clip);
        out[r] = (int8_t)y;
    }
}

static void activate_gate(const struct nn_qcell *cell, int16_t *q)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 20, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            q[u] = nn_logistic16(q[u]);
}

/* What may enter the cells, and how much of it: all but what the forget gate keeps, without a gate. */
static void run_entry(const struct nn_qcell *cell, const struct nn_qcell_io *io, const int16_t *f,
                      int16_t *j, int16_t *i)
{
    run_gate(cell, NN_LSTM_CELL, io, NN_LSTM_NO_OPERAND, io->old, j);
    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 20, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            j[u] = nn_tanh16(j[u], 3);
    if (nn_qcell_has_ended(cell))
        return;
    if (nn_qcell_data(cell, MAP->weights)) {
        run_gate(cell, NN_LSTM_INPUT, io, 0, io->old, i);
        activate_gate(cell, i);
        return;
    }
    for (struct nn_pace_part part = {0}; nn_pace_next_part(cell->pace, cell->n_cells, 1, &part);)
        for (size_t u = part.begin; u < part.end; u++)
            i[u] = (int16_t)(INT16_MAX - f[u]);
}

static void run_step(const struct nn_qcell *cell, const struct nn_qcell_io *io, int16_t *scratch)
{
    size_t n = cell->n_cells;
    int16_t *i = scratch, *f = i + n, *j = f + n, *o = j + n;
    int8_t *hidden = (int8_t *)(o + n);

    run_gate(cell, NN_LSTM_FORGET, io, 1, io->old, f);
    activate_gate(cell, f);
    if (nn_qcell_has_ended(cell))
        return;
    run_entry(cell, io, f, j, i);
    if (nn_qcell_has_ended(cell))
        return;
    update_cell(cell, i, f, j, io->old, io->c);
    run_gate(cell, NN_LSTM_OUTPUT, io, 2, io->c, o);
    activate_gate(cell, o);
    if (nn_qcell_has_ended(cell))
        return;
    make_hidden(cell, o, io->c, hidden);
    if (nn_qcell_data(cell, MAP->projection))
        project_hidden(cell, hidden, io->out);
    else
        nn_pace_copy(cell->pace, io->out, hidden, n);
}

struct nn_qcell nn_cell8_open(const struct nn_kernel_args *args)
{
    struct nn_qcell cell = nn_qcell_open(args, MAP, sizeof(int8_t));

    cell.step = run_step;
    return cell;
}
