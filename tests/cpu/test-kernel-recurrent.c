/* SPDX-License-Identifier: Apache-2.0 */
/* Cells are checked against double precision written out plainly; sequences
 * against the single steps that they consist of. */
#include "drivers/cpu/kernels/families.h"
#include "cpu/kernel-case.h"
#include "drivers/cpu/kernels/common/float16.h"
#include "drivers/cpu/kernels/rnn/matvec.h"
#include "model/lstm.h"

#include "support/check-main.h"

#include <math.h>
#include <string.h>

#define F32 NNHAL_TENSOR_FLOAT32
#define F16 NNHAL_TENSOR_FLOAT16

static struct kernel_case c;

/* A float32 or float16 tensor with elements in [-0.5, 0.5). */
static struct kernel_operand *add(uint32_t type, uint32_t rank, const uint32_t *dims,
                                  uint64_t *seed)
{
    size_t n = 1;
    void *elements;
    struct kernel_operand *operand;

    for (uint32_t d = 0; d < rank; d++)
        n *= dims[d];
    elements = kernel_case_random(F32, n, seed);
    for (size_t i = 0; i < n; i++) {
        float value = ((float *)elements)[i] / 4.0f;
        uint16_t half = nn_f32_to_f16(value);

        if (type == F32)
            memcpy((char *)elements + i * 4, &value, 4);
        else
            memcpy((char *)elements + i * 2, &half, 2);
    }
    operand = kernel_case_tensor(&c, type, rank, dims, elements);
    free(elements);
    return operand;
}

#define ADD(...)                                                                                   \
    add(type, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__},     \
        &seed)

static double in(uint32_t input, size_t i)
{
    return kernel_case_real(&c.inputs[input], i);
}

static double out(uint32_t output, size_t i)
{
    return kernel_case_real(&c.outputs[output], i);
}

static void expect_near(double got, double wanted, uint32_t type)
{
    double most = type == F32 ? 1e-5 : 2e-3;

    if (!(fabs(got - wanted) <= most))
        ck_abort_msg("got %.8g, wanted %.8g", got, wanted);
}

/* Row r of input weights times n elements of input x from first on. */
static double row_times(uint32_t weights, size_t r, uint32_t x, size_t first, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += in(weights, r * n + i) * in(x, first + i);
    return sum;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double activate(int32_t code, double x)
{
    switch (code) {
    case 1:
        return fmax(x, 0.0);
    case 2:
        return fmin(fmax(x, -1.0), 1.0);
    case 3:
        return fmin(fmax(x, 0.0), 6.0);
    case 4:
        return tanh(x);
    case 6:
        return sigmoid(x);
    default:
        return x;
    }
}

/* ---- the product ---- */

TEST(dot_products_of_every_length)
{
    struct nn_pace pace = nn_pace(NULL);
    float a[100], b[100];

    for (size_t n = 0; n < 100; n++) {
        double wanted = 0.0;

        for (size_t i = 0; i < n; i++) {
            a[i] = (float)i - 40.0f;
            b[i] = 0.5f + (float)(i % 7);
            wanted += (double)a[i] * (double)b[i];
        }
        ck_assert((double)nn_dot(a, b, n, &pace) == wanted);
    }
}
TEST_END

/* ---- RNN ---- */

TEST(rnn_is_a_fully_connected_step)
{
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t seed = i;
        uint32_t type = i % 2 ? F16 : F32, batches = 1 + (uint32_t)i % 3;
        uint32_t n_inputs = 1 + kernel_case_below(&seed, 40);
        uint32_t units = 1 + kernel_case_below(&seed, 20);
        int32_t activation = (int32_t[]){0, 1, 2, 3, 4, 6}[i % 6];

        kernel_case_init(&c, NNHAL_OP_RNN, &nn_kernels_rnn);
        ADD(batches, n_inputs);
        ADD(units, n_inputs);
        ADD(units, units);
        ADD(units);
        ADD(batches, units);
        kernel_case_i32(&c, activation);
        kernel_case_output(&c, type);
        kernel_case_output(&c, type);
        kernel_case_run(&c);
        for (size_t b = 0; b < batches; b++)
            for (size_t u = 0; u < units; u++) {
                double sum = row_times(1, u, 0, b * n_inputs, n_inputs) +
                             row_times(2, u, 4, b * units, units) + in(3, u);

                expect_near(out(1, b * units + u), activate(activation, sum), type);
                ck_assert(out(0, b * units + u) == out(1, b * units + u));
            }
        kernel_case_done(&c);
    }
}
TEST_END

/* The inputs of a sequence: x is [steps, batches, inputs] or its first two exchanged. */
static void sequence_rnn(bool is_time_major, uint32_t steps, uint32_t batches)
{
    uint32_t type = F32;
    uint64_t seed = 11;

    kernel_case_init(&c, NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_RNN, &nn_kernels_rnn);
    ADD(is_time_major ? steps : batches, is_time_major ? batches : steps, 3);
    ADD(4, 3);
    ADD(4, 4);
    ADD(4);
    ADD(batches, 4);
    kernel_case_i32(&c, 4);
    kernel_case_i32(&c, is_time_major);
    kernel_case_output(&c, F32);
    kernel_case_output(&c, F32);
}

TEST(sequence_rnn_carries_its_state)
{
    for (int is_time_major = 0; is_time_major < 2; is_time_major++) {
        sequence_rnn(is_time_major, 5, 2);
        kernel_case_run(&c);
        for (size_t b = 0; b < 2; b++)
            for (size_t t = 0; t < 5; t++) {
                size_t row = is_time_major ? t * 2 + b : b * 5 + t;
                size_t before = is_time_major ? row - 2 : row - 1;

                for (size_t u = 0; u < 4; u++) {
                    double sum = row_times(1, u, 0, row * 3, 3) + in(3, u);

                    for (size_t k = 0; k < 4; k++)
                        sum += in(2, u * 4 + k) * (t ? out(0, before * 4 + k) : in(4, b * 4 + k));
                    expect_near(out(0, row * 4 + u), tanh(sum), F32);
                    if (t == 4)
                        ck_assert(out(1, b * 4 + u) == out(0, row * 4 + u));
                }
            }
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- SVDF ---- */

TEST(svdf_moves_its_memory)
{
    for (uint64_t i = 0; i < 30; i++) {
        uint64_t seed = i;
        uint32_t type = i % 2 ? F16 : F32, batches = 2, n_inputs = 5;
        uint32_t memory = 1 + (uint32_t)i % 4, rank = 1 + (uint32_t)i % 3, units = 3;
        uint32_t filters = rank * units;

        kernel_case_init(&c, NNHAL_OP_SVDF, &nn_kernels_rnn);
        ADD(batches, n_inputs);
        ADD(filters, n_inputs);
        ADD(filters, memory);
        ADD(units);
        ADD(batches, memory * filters);
        kernel_case_i32(&c, (int32_t)rank);
        kernel_case_i32(&c, 1);
        kernel_case_output(&c, type);
        kernel_case_output(&c, type);
        kernel_case_run(&c);
        for (size_t b = 0; b < batches; b++)
            for (size_t u = 0; u < units; u++) {
                double sum = in(3, u);

                for (size_t f = u * rank; f < (u + 1) * rank; f++) {
                    size_t state = (b * filters + f) * memory;
                    double newest = row_times(1, f, 0, b * n_inputs, n_inputs);

                    for (size_t m = 0; m < memory; m++) {
                        double value = m + 1 < memory ? in(4, state + m) : newest;

                        sum += value * in(2, f * memory + m);
                        if (m)
                            expect_near(out(0, state + m - 1), value, type);
                    }
                    ck_assert(out(0, state + memory - 1) == 0.0);
                }
                expect_near(out(1, b * units + u), fmax(sum, 0.0), type);
            }
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- LSTM ---- */

struct form {
    bool is_coupled, has_peephole, has_projection, has_norm;
    float cell_clip, projection_clip;
};

static void add_or_omit(uint32_t type, bool is_there, uint32_t a, uint32_t b, uint64_t *seed)
{
    if (is_there)
        add(type, b ? 2 : 1, (uint32_t[]){a, b}, seed);
    else
        kernel_case_omit(&c, type);
}

/* Operands 1 to 17, which all LSTM operations share. */
static void add_weights(uint32_t type, const struct form *form, uint32_t n_inputs, uint32_t cells,
                        uint32_t outputs, uint64_t *seed)
{
    for (uint32_t k = 0; k < 4; k++)
        add_or_omit(type, k || !form->is_coupled, cells, n_inputs, seed);
    for (uint32_t k = 0; k < 4; k++)
        add_or_omit(type, k || !form->is_coupled, cells, outputs, seed);
    for (uint32_t k = 0; k < 3; k++)
        add_or_omit(type, form->has_peephole && (k || !form->is_coupled), cells, 0, seed);
    for (uint32_t k = 0; k < 4; k++)
        add_or_omit(type, k || !form->is_coupled, cells, 0, seed);
    add_or_omit(type, form->has_projection, outputs, cells, seed);
    add_or_omit(type, form->has_projection, outputs, 0, seed);
}

static void add_clip(uint32_t type, float clip)
{
    uint16_t half = nn_f32_to_f16(clip);

    if (type == F32)
        kernel_case_f32(&c, clip);
    else
        kernel_case_tensor(&c, NNHAL_FLOAT16, 0, NULL, &half);
}

static void make_lstm(uint32_t type, const struct form *form, uint32_t batches, uint32_t n_inputs,
                      uint32_t cells, uint32_t outputs, uint64_t *seed)
{
    kernel_case_init(&c, NNHAL_OP_LSTM, &nn_kernels_lstm);
    add(type, 2, (uint32_t[]){batches, n_inputs}, seed);
    add_weights(type, form, n_inputs, cells, outputs, seed);
    add(type, 2, (uint32_t[]){batches, outputs}, seed);
    add(type, 2, (uint32_t[]){batches, cells}, seed);
    kernel_case_i32(&c, 4);
    add_clip(type, form->cell_clip);
    add_clip(type, form->projection_clip);
    for (uint32_t k = 0; k < 4; k++)
        add_or_omit(type, form->has_norm && (k || !form->is_coupled), cells, 0, seed);
    for (uint32_t i = 0; i < 4; i++)
        kernel_case_output(&c, type);
}

/* A gate of batch b before its activation; c is the cell state for its peephole. */
static void gate(const struct form *form, uint32_t k, size_t b, const double *state, size_t cells,
                 double *z)
{
    size_t n_inputs = c.inputs[0].dims[1], outputs = c.inputs[18].dims[1];
    double mean = 0.0, variance = 0.0;

    for (size_t u = 0; u < cells; u++) {
        z[u] = row_times(1 + k, u, 0, b * n_inputs, n_inputs) +
               row_times(5 + k, u, 18, b * outputs, outputs);
        if (form->has_peephole && k != 2)
            z[u] += in(k == 3 ? 11 : 9 + k, u) * state[u];
        mean += z[u] / (double)cells;
    }
    for (size_t u = 0; u < cells; u++)
        variance += (z[u] - mean) * (z[u] - mean) / (double)cells;
    for (size_t u = 0; u < cells; u++) {
        if (form->has_norm)
            z[u] = (z[u] - mean) / sqrt(variance + 1e-8) * in(23 + k, u);
        z[u] += in(12 + k, u);
    }
}

static double clip(double x, float bound)
{
    return bound > 0.0f ? fmin(fmax(x, -(double)bound), (double)bound) : x;
}

static void check_batch(const struct form *form, uint32_t type, size_t b, size_t cells,
                        size_t outputs)
{
    double old[16] = {0}, new[16] = {0}, i[16], f[16], j[16], o[16];

    for (size_t u = 0; u < cells; u++)
        old[u] = in(19, b * cells + u);
    gate(form, 1, b, old, cells, f);
    if (!form->is_coupled)
        gate(form, 0, b, old, cells, i);
    gate(form, 2, b, old, cells, j);
    for (size_t u = 0; u < cells; u++) {
        double keep = sigmoid(f[u]), take = form->is_coupled ? 1.0 - keep : sigmoid(i[u]);

        new[u] = clip(keep * old[u] + take * tanh(j[u]), form->cell_clip);
        expect_near(out(2, b * cells + u), new[u], type);
    }
    gate(form, 3, b, new, cells, o);
    for (size_t u = 0; u < cells; u++)
        o[u] = sigmoid(o[u]) * tanh(new[u]);
    for (size_t r = 0; r < outputs; r++) {
        double y = o[r];

        if (form->has_projection) {
            y = in(17, r);
            for (size_t u = 0; u < cells; u++)
                y += in(16, r * cells + u) * o[u];
            y = clip(y, form->projection_clip);
        }
        expect_near(out(3, b * outputs + r), y, type);
        ck_assert(out(1, b * outputs + r) == out(3, b * outputs + r));
    }
}

TEST(lstm_in_all_its_forms)
{
    for (uint64_t i = 0; i < 128; i++) {
        uint64_t seed = i;
        uint32_t type = i & 1 ? F16 : F32, cells = 2 + kernel_case_below(&seed, 12);
        struct form form = {
            i & 2, i & 4, i & 8, i & 16, i & 32 ? 0.1f : 0.0f, i & 64 ? 0.05f : 0.0f};
        uint32_t outputs = form.has_projection ? 1 + kernel_case_below(&seed, 9) : cells;

        make_lstm(type, &form, 3, 1 + kernel_case_below(&seed, 20), cells, outputs, &seed);
        kernel_case_run(&c);
        for (size_t b = 0; b < 3; b++)
            check_batch(&form, type, b, cells, outputs);
        kernel_case_done(&c);
    }
}
TEST_END

TEST(lstm_refuses_half_given_parts)
{
    /* Operands of which one alone must not be omitted, in a plain cell with everything. */
    static const uint32_t parts[] = {1, 2, 5, 8, 9, 10, 11, 12, 15, 23, 24, 26};
    struct form form = {.has_peephole = true, .has_projection = true, .has_norm = true};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uint64_t seed = 1;

        make_lstm(F32, &form, 1, 2, 3, 2, &seed);
        c.inputs[parts[i]].is_omitted = true;
        ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_REFUSED);
        ck_assert_str_ne(c.why, "");
        kernel_case_done(&c);
    }
}
TEST_END

/* ---- sequences ---- */

static void sequence_lstm(bool is_time_major, uint32_t steps, uint32_t batches, uint64_t *seed)
{
    struct form form = {.has_peephole = true, .has_projection = true};

    kernel_case_init(&c, NNHAL_OP_UNIDIRECTIONAL_SEQUENCE_LSTM, &nn_kernels_lstm);
    add(F32, 3, is_time_major ? (uint32_t[]){steps, batches, 3} : (uint32_t[]){batches, steps, 3},
        seed);
    add_weights(F32, &form, 3, 4, 2, seed);
    add(F32, 2, (uint32_t[]){batches, 2}, seed);
    add(F32, 2, (uint32_t[]){batches, 4}, seed);
    kernel_case_i32(&c, 4);
    kernel_case_f32(&c, 0.0f);
    kernel_case_f32(&c, 0.0f);
    kernel_case_bool(&c, is_time_major);
    for (uint32_t k = 0; k < 4; k++)
        kernel_case_omit(&c, F32);
    for (uint32_t i = 0; i < 3; i++)
        kernel_case_output(&c, F32);
}

/* The same operands as a single step of LSTM, on row of a sequence. */
static void step_of(const struct kernel_case *sequence, size_t row, const float *h,
                    const float *cell, struct kernel_case *ret)
{
    struct kernel_case *step = ret;

    kernel_case_init(step, NNHAL_OP_LSTM, &nn_kernels_lstm);
    kernel_case_tensor(step, F32, 2, (uint32_t[]){1, 3}, sequence->inputs[0].data + row * 12);
    for (uint32_t i = 1; i <= 17; i++) {
        const struct kernel_operand *operand = &sequence->inputs[i];

        if (operand->is_omitted)
            kernel_case_omit(step, F32);
        else
            kernel_case_tensor(step, F32, operand->n_dims, operand->dims, operand->data);
    }
    kernel_case_tensor(step, F32, 2, (uint32_t[]){1, 2}, h);
    kernel_case_tensor(step, F32, 2, (uint32_t[]){1, 4}, cell);
    kernel_case_i32(step, 4);
    kernel_case_f32(step, 0.0f);
    kernel_case_f32(step, 0.0f);
    for (uint32_t i = 0; i < 4; i++)
        kernel_case_output(step, F32);
    kernel_case_run(step);
}

TEST(sequence_lstm_is_its_steps)
{
    static struct kernel_case step;
    const uint32_t steps = 4, batches = 2;

    for (int is_time_major = 0; is_time_major < 2; is_time_major++) {
        uint64_t seed = 21;

        sequence_lstm(is_time_major, steps, batches, &seed);
        kernel_case_run(&c);
        for (size_t b = 0; b < batches; b++) {
            float h[2], cell[4];

            memcpy(h, c.inputs[18].data + b * sizeof(h), sizeof(h));
            memcpy(cell, c.inputs[19].data + b * sizeof(cell), sizeof(cell));
            for (size_t t = 0; t < steps; t++) {
                size_t row = is_time_major ? t * batches + b : b * steps + t;

                step_of(&c, row, h, cell, &step);
                memcpy(h, step.outputs[3].data, sizeof(h));
                memcpy(cell, step.outputs[2].data, sizeof(cell));
                kernel_case_done(&step);
                ck_assert_int_eq(memcmp(c.outputs[0].data + row * sizeof(h), h, sizeof(h)), 0);
            }
            ck_assert_int_eq(memcmp(c.outputs[1].data + b * sizeof(h), h, sizeof(h)), 0);
            ck_assert_int_eq(memcmp(c.outputs[2].data + b * sizeof(cell), cell, sizeof(cell)), 0);
        }
        kernel_case_done(&c);
    }
}
TEST_END

TEST(long_sequences_stop_when_asked)
{
    uint64_t seed = 3;

    sequence_lstm(true, 50000, 1, &seed);
    c.is_stopped = true;
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_CANCELLED);
    kernel_case_done(&c);
    sequence_rnn(true, 50000, 1);
    c.is_stopped = true;
    ck_assert_int_eq(kernel_case_try(&c), NN_KERNEL_E_CANCELLED);
    kernel_case_done(&c);
}
TEST_END

enum { ALONE, MERGED, WITH_STATES };

/* Both directions have the same weights; x reads the same in both directions. */
static void palindrome(int form)
{
    struct form plain = {0};
    float x[5 * 2] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.3f, 0.4f, 0.1f, 0.2f};

    kernel_case_init(&c, NNHAL_OP_BIDIRECTIONAL_SEQUENCE_LSTM, &nn_kernels_lstm);
    kernel_case_tensor(&c, F32, 3, (uint32_t[]){5, 1, 2}, x);
    for (int direction = 0; direction < 2; direction++) {
        uint64_t seed = 77;

        add_weights(F32, &plain, 2, 3, 3, &seed);
    }
    for (uint32_t i = 0; i < 4; i++)
        kernel_case_tensor(&c, F32, 2, (uint32_t[]){1, 3}, (float[]){0.5f, -0.5f, 0.25f});
    for (uint32_t i = 39; i < 48; i++)
        kernel_case_omit(&c, F32);
    kernel_case_i32(&c, 4);
    kernel_case_f32(&c, 0.0f);
    kernel_case_f32(&c, 0.0f);
    kernel_case_bool(&c, form == MERGED);
    kernel_case_bool(&c, true);
    for (uint32_t i = 53; i < 61; i++)
        kernel_case_omit(&c, F32);
    for (int i = 0; i < (form == MERGED ? 1 : form == ALONE ? 2 : 6); i++)
        kernel_case_output(&c, F32);
    kernel_case_run(&c);
}

TEST(bidirectional_lstm_walks_backwards)
{
    float alone[2][15];

    palindrome(ALONE);
    memcpy(alone[0], c.outputs[0].data, sizeof(alone[0]));
    memcpy(alone[1], c.outputs[1].data, sizeof(alone[1]));
    kernel_case_done(&c);
    for (size_t t = 0; t < 5; t++)
        ck_assert_int_eq(memcmp(alone[0] + t * 3, alone[1] + (4 - t) * 3, 3 * sizeof(float)), 0);

    palindrome(MERGED);
    ck_assert_uint_eq(c.outputs[0].dims[2], 6);
    for (size_t t = 0; t < 5; t++)
        for (size_t d = 0; d < 2; d++)
            ck_assert_int_eq(memcmp(c.outputs[0].data + (t * 6 + d * 3) * sizeof(float),
                                    alone[d] + t * 3, 3 * sizeof(float)),
                             0);
    kernel_case_done(&c);

    palindrome(WITH_STATES);
    /* The last step of each walk. */
    ck_assert_int_eq(memcmp(c.outputs[2].data, alone[0] + 12, 12), 0);
    ck_assert_int_eq(memcmp(c.outputs[4].data, alone[1], 12), 0);
    ck_assert_int_eq(memcmp(c.outputs[3].data, c.outputs[5].data, 12), 0);
    kernel_case_done(&c);
}
TEST_END

CHECK_MAIN("kernel-recurrent", dot_products_of_every_length, rnn_is_a_fully_connected_step,
           sequence_rnn_carries_its_state, svdf_moves_its_memory, lstm_in_all_its_forms,
           lstm_refuses_half_given_parts, sequence_lstm_is_its_steps,
           long_sequences_stop_when_asked, bidirectional_lstm_walks_backwards)
