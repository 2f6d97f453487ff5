/* SPDX-License-Identifier: Apache-2.0 */
/* op-recurrent.c - RNN, LSTM and their sequence forms, SVDF, quantized LSTMs
 *
 * Shapes are checked against a few sizes (batch, inputs, cells, outputs) that
 * are read from the operands that are always there. */
#include "model/infer.h"
#include "model/lstm.h"
#include "model/operands.h"

#include "base/cleanup.h"

#include <math.h>
#include <string.h>

/* -- helpers ----------------------------------------------------------------- */

static bool is_present(const struct nn_infer *infer, uint32_t i)
{
    return i < infer->n_inputs && !infer->inputs[i].is_omitted;
}

static uint32_t input_dim(const struct nn_infer *infer, uint32_t i, uint32_t d)
{
    return infer->inputs[i].dims[d];
}

/* Refuses input i unless its shape is [a]. */
static int expect_1(const struct nn_infer *infer, uint32_t i, uint32_t a)
{
    if (infer->inputs[i].n_dims != 1 || input_dim(infer, i, 0) != a)
        return nn_refuse(infer->why, "input %u must have the shape [%u]", i, a);
    return 0;
}

/* Refuses input i unless its shape is [a, b]. */
static int expect_2(const struct nn_infer *infer, uint32_t i, uint32_t a, uint32_t b)
{
    if (infer->inputs[i].n_dims != 2 || input_dim(infer, i, 0) != a || input_dim(infer, i, 1) != b)
        return nn_refuse(infer->why, "input %u must have the shape [%u, %u]", i, a, b);
    return 0;
}

/* A state of n for each batch. NNAPI's reference looks at its elements alone: a flat one will do. */
static int expect_state(const struct nn_infer *infer, uint32_t i, uint32_t n_batches, uint32_t n)
{
    if (infer->inputs[i].n_dims == 1 && input_dim(infer, i, 0) == (uint64_t)n_batches * n)
        return 0;
    return expect_2(infer, i, n_batches, n);
}

/* Refuses an activation (input i) that recurrent operations do not have:
 * 0 none, 1 relu, 2 relu1, 3 relu6, 4 tanh, 5 sign bit, 6 sigmoid. */
static int check_activation(const struct nn_infer *infer, uint32_t i)
{
    int32_t code;

    if (nn_infer_i32(infer, i, &code) == 0 && (code < 0 || code > 6))
        return nn_refuse(infer->why, "activation %d is none of 0 to 6", code);
    return 0;
}

static int check_clip(const struct nn_infer *infer, uint32_t i)
{
    float clip;

    if (nn_infer_float(infer, i, &clip) == 0 && !(clip >= 0.0f))
        return nn_refuse(infer->why, "input %u, a clipping bound, is not at least 0", i);
    return 0;
}

static void set_2(struct nn_infer *infer, uint32_t i, uint32_t a, uint32_t b)
{
    nn_infer_set_dims(infer, i, 2, (uint32_t[]){a, b});
}

/* Steps and batches of a sequence (input 0) in either order. */
struct sequence {
    uint32_t n_steps, n_batches;
    bool is_time_major;
};

static int read_sequence(const struct nn_infer *infer, bool is_time_major, struct sequence *ret)
{
    int r = nn_infer_rank(infer, 0, 3, 3);

    if (r)
        return r;
    ret->is_time_major = is_time_major;
    ret->n_steps = input_dim(infer, 0, is_time_major ? 0 : 1);
    ret->n_batches = input_dim(infer, 0, is_time_major ? 1 : 0);
    return 0;
}

static void set_sequence(struct nn_infer *infer, uint32_t i, const struct sequence *sequence,
                         uint32_t size)
{
    uint32_t n_steps = sequence->n_steps, n_batches = sequence->n_batches;

    nn_infer_set_dims(infer, i, 3,
                      sequence->is_time_major ? (uint32_t[]){n_steps, n_batches, size}
                                              : (uint32_t[]){n_batches, n_steps, size});
}

/* Refuses an auxiliary sequence (input i) unless it goes with input 0. */
static int check_aux_sequence(const struct nn_infer *infer, uint32_t i)
{
    const struct nn_infer_operand *aux = &infer->inputs[i];

    if (aux->n_dims != 3 || memcmp(aux->dims, infer->inputs[0].dims, 2 * sizeof(aux->dims[0])))
        return nn_refuse(infer->why, "input %u must have the steps and batches of input 0", i);
    return 0;
}

/* -- RNN --------------------------------------------------------------------- */

/* The inputs W, R, b and h that begin at input first: [U, n_inputs], [U, U], [U], [B, U]. */
static int check_rnn(const struct nn_infer *infer, uint32_t first, uint32_t n_batches,
                     uint32_t n_inputs, uint32_t *ret_n_units)
{
    uint32_t n_units;
    int r;

    r = nn_infer_rank(infer, first, 2, 2);
    if (r)
        return r;
    n_units = input_dim(infer, first, 0);
    if (expect_2(infer, first, n_units, n_inputs) || expect_2(infer, first + 1, n_units, n_units) ||
        expect_1(infer, first + 2, n_units) || expect_2(infer, first + 3, n_batches, n_units))
        return NN_REFUSED;
    *ret_n_units = n_units;
    return 0;
}

static int infer_rnn(struct nn_infer *infer)
{
    uint32_t n_units;
    int r;

    r = check_rnn(infer, NN_RNN_WEIGHTS, input_dim(infer, 0, 0), input_dim(infer, 0, 1), &n_units);
    if (r)
        return r;
    set_2(infer, 0, input_dim(infer, 0, 0), n_units);
    set_2(infer, 1, input_dim(infer, 0, 0), n_units);
    return check_activation(infer, NN_RNN_ACTIVATION);
}

static int infer_unidirectional_rnn(struct nn_infer *infer)
{
    struct sequence sequence;
    int32_t time_major;
    uint32_t n_units;
    int r;

    r = nn_infer_i32(infer, NN_RNN_TIME_MAJOR, &time_major);
    if (r)
        return r;
    if (time_major != 0 && time_major != 1)
        return nn_refuse(infer->why, "input 6 (time major) is %d, neither 0 nor 1", time_major);
    if ((r = read_sequence(infer, time_major, &sequence)) ||
        (r = check_rnn(infer, NN_RNN_WEIGHTS, sequence.n_batches, input_dim(infer, 0, 2),
                       &n_units)))
        return r;
    set_sequence(infer, 0, &sequence, n_units);
    if (infer->n_outputs > 1)
        set_2(infer, 1, sequence.n_batches, n_units);
    return check_activation(infer, NN_RNN_ACTIVATION);
}

/* The auxiliary inputs of BIDIRECTIONAL_SEQUENCE_RNN: none, the sequence alone
 * (the backward cell reads it instead of input 0), or with weights for both. */
static int check_rnn_aux(const struct nn_infer *infer, uint32_t n_forward, uint32_t n_backward)
{
    const struct nn_infer_operand *aux = &infer->inputs[NN_BIDIRECTIONAL_RNN_AUX];

    if (is_present(infer, NN_BIDIRECTIONAL_RNN_FORWARD_AUX) !=
            is_present(infer, NN_BIDIRECTIONAL_RNN_BACKWARD_AUX) ||
        (is_present(infer, NN_BIDIRECTIONAL_RNN_FORWARD_AUX) &&
         !is_present(infer, NN_BIDIRECTIONAL_RNN_AUX)))
        return nn_refuse(
            infer->why, "auxiliary weights must be given for both directions and with their input");
    if (!is_present(infer, NN_BIDIRECTIONAL_RNN_AUX))
        return 0;
    if (check_aux_sequence(infer, NN_BIDIRECTIONAL_RNN_AUX))
        return NN_REFUSED;
    if (is_present(infer, NN_BIDIRECTIONAL_RNN_FORWARD_AUX) &&
        (expect_2(infer, NN_BIDIRECTIONAL_RNN_FORWARD_AUX, n_forward, aux->dims[2]) ||
         expect_2(infer, NN_BIDIRECTIONAL_RNN_BACKWARD_AUX, n_backward, aux->dims[2])))
        return NN_REFUSED;
    return 0;
}

/* Refuses a number of outputs that does not fit whether they are merged:
 * an output fewer, with or without the n_states states. */
static int check_merge(const struct nn_infer *infer, bool is_merged, uint32_t n_states)
{
    uint32_t n_sequences = is_merged ? 1 : 2;

    if (infer->n_outputs != n_sequences && infer->n_outputs != n_sequences + n_states)
        return nn_refuse(infer->why, "%u outputs, but merging outputs is %s", infer->n_outputs,
                         is_merged ? "true" : "false");
    return 0;
}

static int set_merged(struct nn_infer *infer, const struct sequence *sequence, bool is_merged,
                      uint32_t n_forward, uint32_t n_backward)
{
    if (!is_merged) {
        set_sequence(infer, 0, sequence, n_forward);
        set_sequence(infer, 1, sequence, n_backward);
        return 0;
    }
    if ((uint64_t)n_forward + n_backward > UINT32_MAX)
        return nn_refuse(infer->why, "the output is too large");
    set_sequence(infer, 0, sequence, n_forward + n_backward);
    return 0;
}

static int infer_bidirectional_rnn(struct nn_infer *infer)
{
    bool is_time_major, is_merged, is_parallel;
    uint32_t n_forward, n_backward, first_state;
    struct sequence sequence;
    int r;

    if ((r = nn_infer_bool(infer, NN_BIDIRECTIONAL_RNN_TIME_MAJOR, &is_time_major)) ||
        (r = nn_infer_bool(infer, NN_BIDIRECTIONAL_RNN_MERGE, &is_merged)))
        return r;
    if (check_merge(infer, is_merged, 2))
        return NN_REFUSED;
    r = read_sequence(infer, is_time_major, &sequence);
    if (r)
        return r;
    is_parallel = is_present(infer, NN_BIDIRECTIONAL_RNN_AUX) &&
                  !is_present(infer, NN_BIDIRECTIONAL_RNN_FORWARD_AUX);
    if (is_parallel && infer->inputs[NN_BIDIRECTIONAL_RNN_AUX].n_dims != 3)
        return nn_refuse(infer->why, "input 9 must have rank 3");
    if ((r = check_rnn(infer, NN_RNN_WEIGHTS, sequence.n_batches, input_dim(infer, 0, 2),
                       &n_forward)) ||
        (r = check_rnn(infer, NN_BIDIRECTIONAL_RNN_BACKWARD, sequence.n_batches,
                       input_dim(infer, is_parallel ? NN_BIDIRECTIONAL_RNN_AUX : 0, 2),
                       &n_backward)))
        return r;
    if (check_rnn_aux(infer, n_forward, n_backward) ||
        set_merged(infer, &sequence, is_merged, n_forward, n_backward))
        return NN_REFUSED;
    first_state = is_merged ? 1 : 2;
    if (infer->n_outputs > first_state) {
        set_2(infer, first_state, sequence.n_batches, n_forward);
        set_2(infer, first_state + 1, sequence.n_batches, n_backward);
    }
    return check_activation(infer, NN_BIDIRECTIONAL_RNN_ACTIVATION);
}

/* -- SVDF -------------------------------------------------------------------- */

static int infer_svdf(struct nn_infer *infer)
{
    uint32_t n_batches, n_filters, n_memory, n_units;
    uint64_t n_state;
    int32_t rank;
    int r;

    for (uint32_t i = 0; i < 3; i++) {
        r = nn_infer_rank(infer, i, 2, 2);
        if (r)
            return r;
    }
    r = nn_infer_i32(infer, NN_SVDF_RANK, &rank);
    if (r)
        return r;
    n_batches = input_dim(infer, 0, 0);
    n_filters = input_dim(infer, NN_SVDF_FEATURES, 0);
    n_memory = input_dim(infer, NN_SVDF_TIME, 1);
    if (rank < 1 || n_filters % (uint32_t)rank)
        return nn_refuse(infer->why, "%u filters of rank %d", n_filters, rank);
    n_units = n_filters / (uint32_t)rank;
    n_state = (uint64_t)n_memory * n_filters;
    if (n_state > UINT32_MAX)
        return nn_refuse(infer->why, "the state is too large");
    if (expect_2(infer, NN_SVDF_FEATURES, n_filters, input_dim(infer, 0, 1)) ||
        expect_2(infer, NN_SVDF_TIME, n_filters, n_memory) ||
        expect_2(infer, NN_SVDF_STATE, n_batches, (uint32_t)n_state) ||
        (is_present(infer, NN_SVDF_BIAS) && expect_1(infer, NN_SVDF_BIAS, n_units)))
        return NN_REFUSED;
    set_2(infer, 0, n_batches, (uint32_t)n_state);
    set_2(infer, 1, n_batches, n_units);
    return check_activation(infer, NN_SVDF_ACTIVATION);
}

/* -- LSTM -------------------------------------------------------------------- */

struct lstm_sizes {
    uint32_t n_batches, n_inputs, n_cells, n_outputs;
    uint32_t n_aux;  /* 0: no auxiliary weights */
    bool is_coupled; /* CIFG: no input gate, it is what the forget gate leaves */
};

/* Refuses a group of four (first is the input gate's) unless all are there, or,
 * where they may be, none; a coupled cell has none for the input gate. */
static int check_group(const struct nn_infer *infer, uint32_t first, bool may_be_missing,
                       bool is_coupled)
{
    bool is_there = is_present(infer, first + NN_LSTM_OUTPUT);

    if (!is_there && !may_be_missing)
        return nn_refuse(infer->why, "input %u must not be omitted", first + NN_LSTM_OUTPUT);
    if (is_present(infer, first + NN_LSTM_FORGET) != is_there ||
        is_present(infer, first + NN_LSTM_CELL) != is_there)
        return nn_refuse(infer->why, "inputs %u to %u must be given together",
                         first + NN_LSTM_FORGET, first + NN_LSTM_OUTPUT);
    if (is_present(infer, first) != (is_there && !is_coupled))
        return nn_refuse(infer->why, "input %u must be %s", first,
                         is_there && !is_coupled ? "given" : "omitted");
    return 0;
}

static int check_peephole(const struct nn_infer *infer, uint32_t first, bool is_coupled)
{
    bool is_there = is_present(infer, first + 2);

    if (is_present(infer, first + 1) != is_there)
        return nn_refuse(infer->why, "inputs %u and %u must be given together", first + 1,
                         first + 2);
    /* A coupled cell has no use for the input gate's, but may have it. */
    if (is_coupled ? !is_there && is_present(infer, first) : is_present(infer, first) != is_there)
        return nn_refuse(infer->why, "input %u must be %s", first, is_there ? "given" : "omitted");
    return 0;
}

/* Which operands are there. */
static int check_presence(const struct nn_infer *infer, const struct nn_lstm_map *map,
                          bool is_coupled)
{
    if (check_group(infer, map->weights, false, is_coupled) ||
        check_group(infer, map->recurrent, false, is_coupled) ||
        check_peephole(infer, map->peephole, is_coupled) ||
        check_group(infer, map->bias, false, is_coupled))
        return NN_REFUSED;
    if (map->layer_norm < infer->n_inputs && check_group(infer, map->layer_norm, true, is_coupled))
        return NN_REFUSED;
    if (map->aux_weights < infer->n_inputs &&
        check_group(infer, map->aux_weights, true, is_coupled))
        return NN_REFUSED;
    if (is_present(infer, map->projection_bias) && !is_present(infer, map->projection))
        return nn_refuse(infer->why, "input %u, a projection's bias, without a projection",
                         map->projection_bias);
    return 0;
}

/* n operands from first on, those that are there, have the shape [a, b], or [a] with b 0. */
static int expect_each(const struct nn_infer *infer, uint32_t first, uint32_t n, uint32_t a,
                       uint32_t b)
{
    for (uint32_t i = first; i < first + n; i++)
        if (is_present(infer, i) && (b ? expect_2(infer, i, a, b) : expect_1(infer, i, a)))
            return NN_REFUSED;
    return 0;
}

static int check_shapes(const struct nn_infer *infer, const struct nn_lstm_map *map,
                        const struct lstm_sizes *sizes)
{
    uint32_t n_cells = sizes->n_cells, n_outputs = sizes->n_outputs;

    if (expect_each(infer, map->weights, 4, n_cells, sizes->n_inputs) ||
        expect_each(infer, map->recurrent, 4, n_cells, n_outputs) ||
        expect_each(infer, map->peephole, 3, n_cells, 0) ||
        expect_each(infer, map->bias, 4, n_cells, 0) ||
        expect_each(infer, map->projection, 1, n_outputs, n_cells) ||
        expect_each(infer, map->projection_bias, 1, n_outputs, 0) ||
        expect_state(infer, map->output_state, sizes->n_batches, n_outputs) ||
        expect_state(infer, map->cell_state, sizes->n_batches, n_cells))
        return NN_REFUSED;
    if (map->layer_norm != NN_LSTM_NO_OPERAND && expect_each(infer, map->layer_norm, 4, n_cells, 0))
        return NN_REFUSED;
    if (sizes->n_aux && expect_each(infer, map->aux_weights, 4, n_cells, sizes->n_aux))
        return NN_REFUSED;
    if (!is_present(infer, map->projection) && n_cells != n_outputs)
        return nn_refuse(infer->why, "%u cells, but %u outputs and no projection", n_cells,
                         n_outputs);
    return 0;
}

/* Checks the cell that map describes; sizes has n_batches, n_inputs and n_aux. */
static int check_lstm(const struct nn_infer *infer, const struct nn_lstm_map *map,
                      struct lstm_sizes *sizes)
{
    uint32_t weights = map->weights + NN_LSTM_OUTPUT, recurrent = map->recurrent + NN_LSTM_OUTPUT;
    int r;

    sizes->is_coupled = !is_present(infer, map->weights);
    if (check_presence(infer, map, sizes->is_coupled))
        return NN_REFUSED;
    if ((r = nn_infer_rank(infer, weights, 2, 2)) || (r = nn_infer_rank(infer, recurrent, 2, 2)))
        return r;
    sizes->n_cells = input_dim(infer, weights, 0);
    sizes->n_outputs = input_dim(infer, recurrent, 1);
    return check_shapes(infer, map, sizes);
}

/* The activation and, behind it, the two clips. */
static int check_lstm_scalars(const struct nn_infer *infer, uint32_t activation)
{
    if (check_activation(infer, activation) || check_clip(infer, activation + 1) ||
        check_clip(infer, activation + 2))
        return NN_REFUSED;
    return 0;
}

static int infer_lstm(struct nn_infer *infer)
{
    struct lstm_sizes sizes = {0};
    uint64_t n_scratch;
    int r;

    sizes.n_batches = input_dim(infer, 0, 0);
    sizes.n_inputs = input_dim(infer, 0, 1);
    r = check_lstm(infer, &nn_lstm_map_basic, &sizes);
    if (r)
        return r;
    if (check_lstm_scalars(infer, NN_LSTM_ACTIVATION))
        return NN_REFUSED;
    n_scratch = (uint64_t)sizes.n_cells * (sizes.is_coupled ? 3 : 4);
    if (n_scratch > UINT32_MAX)
        return nn_refuse(infer->why, "the scratch output is too large");
    set_2(infer, 0, sizes.n_batches, (uint32_t)n_scratch);
    set_2(infer, 1, sizes.n_batches, sizes.n_outputs);
    set_2(infer, 2, sizes.n_batches, sizes.n_cells);
    set_2(infer, 3, sizes.n_batches, sizes.n_outputs);
    return 0;
}

static int infer_unidirectional_lstm(struct nn_infer *infer)
{
    struct lstm_sizes sizes = {0};
    struct sequence sequence;
    bool is_time_major;
    int r;

    if ((r = nn_infer_bool(infer, NN_UNIDIRECTIONAL_LSTM_TIME_MAJOR, &is_time_major)) ||
        (r = read_sequence(infer, is_time_major, &sequence)))
        return r;
    sizes.n_batches = sequence.n_batches;
    sizes.n_inputs = input_dim(infer, 0, 2);
    r = check_lstm(infer, &nn_lstm_map_unidirectional, &sizes);
    if (r)
        return r;
    set_sequence(infer, 0, &sequence, sizes.n_outputs);
    if (infer->n_outputs == 3) {
        set_2(infer, 1, sizes.n_batches, sizes.n_outputs);
        set_2(infer, 2, sizes.n_batches, sizes.n_cells);
    }
    return check_activation(infer, NN_LSTM_ACTIVATION);
}

/* The auxiliary input of BIDIRECTIONAL_SEQUENCE_LSTM. Returns what the backward
 * cell reads as its x, and the size for auxiliary weights (0: there are none). */
static int read_lstm_aux(const struct nn_infer *infer, uint32_t *ret_backward, uint32_t *ret_n_aux)
{
    const struct nn_infer_operand *aux = &infer->inputs[NN_BIDIRECTIONAL_LSTM_AUX];
    bool has_forward = is_present(infer, nn_lstm_map_forward.aux_weights + NN_LSTM_OUTPUT);
    bool has_backward = is_present(infer, nn_lstm_map_backward.aux_weights + NN_LSTM_OUTPUT);
    bool has_aux = is_present(infer, NN_BIDIRECTIONAL_LSTM_AUX);

    if (has_forward != has_backward || (has_forward && !has_aux))
        return nn_refuse(
            infer->why, "auxiliary weights must be given for both directions and with their input");
    *ret_backward = has_aux && !has_forward ? NN_BIDIRECTIONAL_LSTM_AUX : 0;
    *ret_n_aux = 0;
    if (!has_aux)
        return 0;
    if (check_aux_sequence(infer, NN_BIDIRECTIONAL_LSTM_AUX))
        return NN_REFUSED;
    if (has_forward)
        *ret_n_aux = aux->dims[2];
    return 0;
}

static void set_lstm_states(struct nn_infer *infer, uint32_t i, const struct lstm_sizes *sizes)
{
    set_2(infer, i, sizes->n_batches, sizes->n_outputs);
    set_2(infer, i + 1, sizes->n_batches, sizes->n_cells);
}

static int infer_bidirectional_lstm(struct nn_infer *infer)
{
    struct lstm_sizes forward = {0}, backward = {0};
    bool is_merged, is_time_major;
    uint32_t backward_x = 0, n_aux = 0, first_state;
    struct sequence sequence;
    int r;

    if ((r = nn_infer_bool(infer, NN_BIDIRECTIONAL_LSTM_MERGE, &is_merged)) ||
        (r = nn_infer_bool(infer, NN_BIDIRECTIONAL_LSTM_TIME_MAJOR, &is_time_major)))
        return r;
    if (check_merge(infer, is_merged, 4))
        return NN_REFUSED;
    if ((r = read_sequence(infer, is_time_major, &sequence)) ||
        (r = read_lstm_aux(infer, &backward_x, &n_aux)))
        return r;
    forward.n_batches = backward.n_batches = sequence.n_batches;
    forward.n_aux = backward.n_aux = n_aux;
    forward.n_inputs = input_dim(infer, 0, 2);
    backward.n_inputs = input_dim(infer, backward_x, 2);
    if ((r = check_lstm(infer, &nn_lstm_map_forward, &forward)) ||
        (r = check_lstm(infer, &nn_lstm_map_backward, &backward)))
        return r;
    if (set_merged(infer, &sequence, is_merged, forward.n_outputs, backward.n_outputs))
        return NN_REFUSED;
    first_state = is_merged ? 1 : 2;
    if (infer->n_outputs > first_state) {
        set_lstm_states(infer, first_state, &forward);
        set_lstm_states(infer, first_state + 2, &backward);
    }
    if (check_lstm_scalars(infer, NN_BIDIRECTIONAL_LSTM_ACTIVATION))
        return NN_REFUSED;
    return 0;
}

/* -- quantized LSTMs --------------------------------------------------------- */

static int expect_quant(const struct nn_infer *infer, uint32_t i, float scale, int32_t zero_point)
{
    const struct nn_infer_operand *input = &infer->inputs[i];

    if (input->scale != scale || input->zero_point != zero_point)
        return nn_refuse(infer->why, "input %u must have scale %g and zero point %d", i,
                         (double)scale, zero_point);
    return 0;
}

/* A scale that is a power of two to about a thousandth of its exponent. */
static int read_exponent(const struct nn_infer *infer, uint32_t i, int *ret)
{
    double exponent = log2((double)infer->inputs[i].scale);

    if (!(fabs(exponent - round(exponent)) < 1e-3))
        return nn_refuse(infer->why, "the scale of input %u must be a power of two", i);
    *ret = (int)round(exponent);
    return 0;
}

static int check_16bit_quant(const struct nn_infer *infer)
{
    float scale = infer->inputs[NN_LSTM16_WEIGHTS].scale;
    int exponent;

    if (expect_quant(infer, NN_LSTM16_X, 1.0f / 128.0f, 128) ||
        expect_quant(infer, NN_LSTM16_OUTPUT_STATE, 1.0f / 128.0f, 128))
        return NN_REFUSED;
    for (uint32_t i = NN_LSTM16_WEIGHTS; i < NN_LSTM16_BIAS; i++)
        if (expect_quant(infer, i, scale, infer->inputs[NN_LSTM16_WEIGHTS].zero_point))
            return NN_REFUSED;
    for (uint32_t i = NN_LSTM16_BIAS; i < NN_LSTM16_CELL_STATE; i++)
        if (expect_quant(infer, i, scale / 128.0f, 0))
            return NN_REFUSED;
    if (read_exponent(infer, NN_LSTM16_CELL_STATE, &exponent))
        return NN_REFUSED;
    if (scale == 0.0f || exponent != -11)
        return nn_refuse(infer->why, "the scale of input 13 must be 1/2048");
    return 0;
}

static int infer_quantized_16bit_lstm(struct nn_infer *infer)
{
    uint32_t n_batches, n_inputs, n_outputs;
    int r;

    r = nn_infer_rank(infer, NN_LSTM16_OUTPUT_STATE, 2, 2);
    if (r)
        return r;
    n_batches = input_dim(infer, 0, 0);
    n_inputs = input_dim(infer, 0, 1);
    n_outputs = input_dim(infer, NN_LSTM16_OUTPUT_STATE, 1);
    if (expect_each(infer, NN_LSTM16_WEIGHTS, 4, n_outputs, n_inputs) ||
        expect_each(infer, NN_LSTM16_RECURRENT, 4, n_outputs, n_outputs) ||
        expect_each(infer, NN_LSTM16_BIAS, 4, n_outputs, 0) ||
        expect_each(infer, NN_LSTM16_CELL_STATE, 2, n_batches, n_outputs) ||
        check_16bit_quant(infer))
        return NN_REFUSED;
    set_2(infer, 0, n_batches, n_outputs);
    set_2(infer, 1, n_batches, n_outputs);
    nn_infer_set_quant_like(infer, 0, NN_LSTM16_CELL_STATE);
    nn_infer_set_quant(infer, 1, 1.0f / 128.0f, 128);
    return 0;
}

/* The scales of the gates and of the hidden state are divisors. */
static int check_positive(const struct nn_infer *infer, uint32_t i)
{
    float value;

    if (nn_infer_float(infer, i, &value) == 0 && !(value > 0.0f && isfinite(value)))
        return nn_refuse(infer->why, "input %u, a scale, is not above 0", i);
    return 0;
}

/* The cell of QUANTIZED_LSTM: its operands, the states, and the scales; sizes has n_batches and
 * n_inputs. */
static int check_quantized_cell(const struct nn_infer *infer, struct lstm_sizes *sizes)
{
    int exponent, r;

    if ((r = check_lstm(infer, &nn_lstm_map_quantized, sizes)) ||
        (r = read_exponent(infer, nn_lstm_map_quantized.cell_state, &exponent)))
        return r;
    if (exponent > -9 || exponent < -15)
        return nn_refuse(infer->why, "the cell state's scale must be in 2^-15 to 2^-9");
    for (uint32_t i = NN_QUANTIZED_LSTM_GATE_SCALE; i < NN_QUANTIZED_LSTM_HIDDEN_ZERO_POINT; i++)
        if (check_positive(infer, i))
            return NN_REFUSED;
    return check_positive(infer, NN_QUANTIZED_LSTM_HIDDEN_SCALE);
}

static int infer_quantized_lstm(struct nn_infer *infer)
{
    struct lstm_sizes sizes = {.n_batches = input_dim(infer, 0, 0),
                               .n_inputs = input_dim(infer, 0, 1)};
    int r = check_quantized_cell(infer, &sizes);

    if (r)
        return r;
    set_2(infer, 0, sizes.n_batches, sizes.n_outputs);
    set_2(infer, 1, sizes.n_batches, sizes.n_cells);
    set_2(infer, 2, sizes.n_batches, sizes.n_outputs);
    nn_infer_set_quant(infer, 0, infer->outputs[2].scale, infer->outputs[2].zero_point);
    return 0;
}

/* What TensorFlow Lite computes. With peepholes it takes as many cells as there are outputs. */
static int check_lite_cell(const struct nn_infer *infer, struct lstm_sizes *sizes)
{
    int32_t zero_point;
    int r = check_quantized_cell(infer, sizes);

    if (r)
        return r;
    if (nn_infer_i32(infer, NN_QUANTIZED_LSTM_HIDDEN_ZERO_POINT, &zero_point) == 0 &&
        (zero_point < INT8_MIN || zero_point > INT8_MAX))
        return nn_refuse(infer->why, "the hidden zero point %d is not of int8", zero_point);
    if (is_present(infer, nn_lstm_map_quantized.peephole + 1) && sizes->n_cells != sizes->n_outputs)
        return nn_refuse(infer->why, "peepholes of %u cells with %u outputs", sizes->n_cells,
                         sizes->n_outputs);
    return 0;
}

/* The states behind the last step, outputs that a model may have. */
static void set_lite_states(struct nn_infer *infer, const struct nn_lstm_map *map,
                            const struct lstm_sizes *sizes)
{
    if (infer->n_outputs == 3) {
        set_lstm_states(infer, 1, sizes);
        nn_infer_set_quant_like(infer, 1, map->output_state);
        nn_infer_set_quant_like(infer, 2, map->cell_state);
    }
}

/* The cell of 16 bits, whose parts are all there. Cell states have any power of two that the table of
 * activations can be scaled from; a sum's multiplier has 15 bits, as FULLY_CONNECTED's. */
static int check_sixteen_cell(const struct nn_infer *infer, struct lstm_sizes *sizes)
{
    const struct nn_lstm_map *map = &nn_lstm_map_sixteen;
    int exponent, r;

    if ((r = nn_infer_rank(infer, map->weights, 2, 2)) ||
        (r = read_exponent(infer, map->cell_state, &exponent)))
        return r;
    if (exponent > -1 || exponent < -30)
        return nn_refuse(infer->why, "the cell state's scale must be in 2^-30 to 2^-1");
    sizes->n_cells = sizes->n_outputs = input_dim(infer, map->weights, 0);
    if (expect_each(infer, map->weights, 4, sizes->n_cells, sizes->n_inputs) ||
        expect_each(infer, map->recurrent, 4, sizes->n_cells, sizes->n_cells) ||
        expect_each(infer, map->bias, 4, sizes->n_cells, 0) ||
        expect_state(infer, map->output_state, sizes->n_batches, sizes->n_cells) ||
        expect_state(infer, map->cell_state, sizes->n_batches, sizes->n_cells))
        return NN_REFUSED;
    for (uint32_t i = map->weights; i < map->bias; i++) {
        float x = infer->inputs[i < map->recurrent ? map->x : map->output_state].scale;

        if (!((double)x * (double)infer->inputs[i].scale < 0x1p-5))
            return nn_refuse(infer->why, "the scale of input %u is too large", i);
    }
    return check_clip(infer, NN_LSTM_SIXTEEN_CELL_CLIP);
}

static int infer_sixteen_lstm(struct nn_infer *infer)
{
    struct lstm_sizes sizes = {0};
    struct sequence sequence;
    bool is_time_major;
    int r;

    if ((r = nn_infer_bool(infer, NN_LSTM_SIXTEEN_TIME_MAJOR, &is_time_major)) ||
        (r = read_sequence(infer, is_time_major, &sequence)))
        return r;
    sizes.n_batches = sequence.n_batches;
    sizes.n_inputs = input_dim(infer, 0, 2);
    r = check_sixteen_cell(infer, &sizes);
    if (r)
        return r;
    set_sequence(infer, 0, &sequence, sizes.n_outputs);
    set_lite_states(infer, &nn_lstm_map_sixteen, &sizes);
    return 0;
}

/* The cell of 8 bits; an input of rank 2 is one step. */
static int infer_eight_lstm(struct nn_infer *infer)
{
    bool is_step = infer->inputs[0].n_dims == 2, is_time_major;
    struct sequence sequence = {.n_batches = input_dim(infer, 0, 0)};
    struct lstm_sizes sizes = {.n_inputs = input_dim(infer, 0, is_step ? 1 : 2)};
    int r = nn_infer_bool(infer, NN_QUANTIZED_LSTM_TIME_MAJOR, &is_time_major);

    if (r || (!is_step && (r = read_sequence(infer, is_time_major, &sequence))))
        return r;
    sizes.n_batches = sequence.n_batches;
    r = check_lite_cell(infer, &sizes);
    if (r)
        return r;
    if (is_step)
        set_2(infer, 0, sizes.n_batches, sizes.n_outputs);
    else
        set_sequence(infer, 0, &sequence, sizes.n_outputs);
    set_lite_states(infer, &nn_lstm_map_quantized, &sizes);
    return 0;
}

static int infer_lite_lstm(struct nn_infer *infer)
{
    return infer->inputs[0].type == NNHAL_TENSOR_QUANT16_SYMM ? infer_sixteen_lstm(infer)
                                                              : infer_eight_lstm(infer);
}

static const struct nn_op_functions functions[] = {
    {NNHAL_OP_LSTM, NULL, infer_lstm, NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 2)},
    {NNHAL_OP_RNN, NULL, infer_rnn, NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 2)},
    {NNHAL_OP_SVDF, NULL, infer_svdf, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM, NULL, infer_bidirectional_lstm, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_BIDIRECTIONAL_SEQUENCE_RNN, NULL, infer_bidirectional_rnn, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_QUANTIZED_16BIT_LSTM, NULL, infer_quantized_16bit_lstm,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 2)},
    {NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM, NULL, infer_unidirectional_lstm, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN, NULL, infer_unidirectional_rnn, NN_INFER_NOT_EMPTY},
    {NNHAL_OP_QUANTIZED_LSTM, NULL, infer_quantized_lstm, NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 2)},
    {NN_TFLITE_OP(UNIDIRECTIONAL_SEQUENCE_LSTM), NULL, infer_lite_lstm,
     NN_INFER_NOT_EMPTY | NN_INFER_RANK(2, 3)},
};

NN_OP_FAMILY(recurrent, functions);
