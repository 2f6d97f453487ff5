/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/rnn/matvec.h"

#include <math.h>
#include <string.h>

/* Lanes of a vector that gcc and clang keep in registers, whatever the machine has. */
typedef float lanes __attribute__((__vector_size__(16)));

#define N_LANES  4
#define N_CHAINS 4 /* sums at a time, so that additions do not wait for each other */

float nn_dot(const float *a, const float *b, size_t n)
{
    lanes sums[N_CHAINS] = {{0}};
    size_t i = 0;
    float sum;

    for (; i + N_CHAINS * N_LANES <= n; i += N_CHAINS * N_LANES) {
        lanes x[N_CHAINS], y[N_CHAINS];

        memcpy(x, a + i, sizeof(x));
        memcpy(y, b + i, sizeof(y));
        for (int j = 0; j < N_CHAINS; j++)
            sums[j] += x[j] * y[j];
    }
    sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    sum = (sums[0][0] + sums[0][1]) + (sums[0][2] + sums[0][3]);
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void nn_matvec_add(float *out, const float *weights, const float *x, size_t n_rows, size_t n)
{
    for (size_t r = 0; r < n_rows; r++)
        out[r] += nn_dot(weights + r * n, x, n);
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static float activate(int32_t code, float x)
{
    switch (code) {
    case NN_RNN_RELU:
        return x < 0.0f ? 0.0f : x;
    case NN_RNN_RELU1:
        return clamp(x, -1.0f, 1.0f);
    case NN_RNN_RELU6:
        return clamp(x, 0.0f, 6.0f);
    case NN_RNN_TANH:
        return tanhf(x);
    case NN_RNN_SIGN_BIT:
        return signbit(x) ? 1.0f : 0.0f;
    case NN_RNN_SIGMOID:
        return 1.0f / (1.0f + expf(-x));
    default:
        return x;
    }
}

void nn_rnn_activate(int32_t code, float *values, size_t n)
{
    for (size_t i = 0; code != NN_RNN_NONE && i < n; i++)
        values[i] = activate(code, values[i]);
}
