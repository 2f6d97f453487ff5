/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/rnn/matvec.h"

#include "drivers/cpu/kernels/common/math-f32.h"

#include <math.h>
#include <string.h>

/* Four floats: every machine of this project has registers of that width. */
typedef float lanes __attribute__((__vector_size__(16)));

#define N_LANES 4
#define N_ROWS  4 /* rows at a time: x is loaded once for all, and additions overlap */

static inline lanes load_lanes(const float *from)
{
    lanes value;

    memcpy(&value, from, sizeof(value));
    return value;
}

enum {
    LONG = 1 << 16,  /* products of a sum that looks by itself */
    PIECE = 1 << 14, /* between two looks */
};

/* Whether to leave sums of n_rows rows of n products each, of which n_left are left. */
static inline bool dot_ends(struct nn_pace *pace, size_t n_rows, size_t n, size_t n_left)
{
    return n > LONG &&
           nn_pace_ends(pace, n_rows * (n_left < (size_t)PIECE ? n_left : (size_t)PIECE) / 2);
}

/* The sums of n_rows rows, each in two vectors, then their lanes, then the rest:
 * in the same order for every number of rows. */
static inline __attribute__((__always_inline__)) void dot_rows(size_t n_rows, const float *weights,
                                                               const float *x, size_t n,
                                                               float *sums, struct nn_pace *pace)
{
    lanes even[N_ROWS] = {{0}}, odd[N_ROWS] = {{0}};
    size_t i = 0;

    for (size_t end; i + 2 * N_LANES <= n && !dot_ends(pace, n_rows, n, n - i);) {
        end = n > LONG && n - i > PIECE ? i + PIECE : n;
        for (; i + 2 * N_LANES <= end; i += 2 * N_LANES) {
            lanes x0 = load_lanes(x + i), x1 = load_lanes(x + i + N_LANES);

            for (size_t r = 0; r < n_rows; r++) {
                even[r] += load_lanes(weights + r * n + i) * x0;
                odd[r] += load_lanes(weights + r * n + i + N_LANES) * x1;
            }
        }
    }
    for (i = n / (2 * N_LANES) * (2 * N_LANES); i + N_LANES <= n; i += N_LANES)
        for (size_t r = 0; r < n_rows; r++)
            even[r] += load_lanes(weights + r * n + i) * load_lanes(x + i);
    for (size_t r = 0; r < n_rows; r++) {
        even[r] += odd[r];
        sums[r] = (even[r][0] + even[r][1]) + (even[r][2] + even[r][3]);
        for (size_t k = i; k < n; k++)
            sums[r] += weights[r * n + k] * x[k];
    }
}

float nn_dot(const float *a, const float *b, size_t n, struct nn_pace *pace)
{
    float sum;

    dot_rows(1, a, b, n, &sum, pace);
    return sum;
}

void nn_matvec_add(float *out, const float *weights, const float *x, size_t n_rows, size_t n,
                   struct nn_pace *pace)
{
    size_t r = 0;

    for (; r + N_ROWS <= n_rows && !nn_pace_ends(pace, 5 + n); r += N_ROWS) {
        float sums[N_ROWS];

        dot_rows(N_ROWS, weights + r * n, x, n, sums, pace);
        for (size_t k = 0; k < N_ROWS; k++)
            out[r + k] += sums[k];
    }
    for (; r < n_rows && !nn_pace_ends(pace, 5 + n / 2); r++)
        out[r] += nn_dot(weights + r * n, x, n, pace);
}

#define EACH(expression)                                                                           \
    for (size_t i = 0; i < n; i++) {                                                               \
        float x = values[i];                                                                       \
                                                                                                   \
        values[i] = (expression);                                                                  \
    }                                                                                              \
    break

static void activate_part(int32_t code, float *values, size_t n)
{
    switch (code) {
    case NN_RNN_RELU:
        EACH(x < 0.0f ? 0.0f : x);
    case NN_RNN_RELU1:
        EACH(x < -1.0f ? -1.0f : x > 1.0f ? 1.0f : x);
    case NN_RNN_RELU6:
        EACH(x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x);
    case NN_RNN_TANH:
        EACH(nn_tanh_f32(x));
    case NN_RNN_SIGN_BIT:
        EACH(signbit(x) ? 1.0f : 0.0f);
    case NN_RNN_SIGMOID:
        EACH(nn_logistic_f32(x));
    default:
        break;
    }
}

void nn_rnn_activate(int32_t code, float *values, size_t n, struct nn_pace *pace)
{
    for (struct nn_pace_part part = {0}; nn_pace_next_part(pace, n, 10, &part);)
        activate_part(code, values + part.begin, part.end - part.begin);
}
