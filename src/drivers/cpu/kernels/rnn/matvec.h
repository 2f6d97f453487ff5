/* SPDX-License-Identifier: Apache-2.0 */
/* matvec.h - what recurrent cells are made of: rows of weights times a vector
 *
 * The sums run in lanes that are added up in a fixed order, so that a result
 * depends on shapes alone. Activations are those of recurrent operations, which
 * have a code of their own. Rows are as many and as long as an application likes: what is left when
 * a pace ends is not computed. */
#ifndef NN_CPU_RNN_MATVEC_H
#define NN_CPU_RNN_MATVEC_H

#include "base/stop.h"

#include <stddef.h>
#include <stdint.h>

enum nn_rnn_activation {
    NN_RNN_NONE = 0,
    NN_RNN_RELU = 1,
    NN_RNN_RELU1 = 2,
    NN_RNN_RELU6 = 3,
    NN_RNN_TANH = 4,
    NN_RNN_SIGN_BIT = 5,
    NN_RNN_SIGMOID = 6,
};

/* nn_matvec_add() - out[r] += sum over i of weights[r][i] * x[i], for n_rows rows of n. */
void nn_matvec_add(float *out /* [n_rows] */, const float *weights /* [n_rows, n] */,
                   const float *x /* [n] */, size_t n_rows, size_t n, struct nn_pace *pace);

/* nn_dot() - the sum over i of a[i] * b[i]; not of all if the pace ends. */
float nn_dot(const float *a, const float *b, size_t n, struct nn_pace *pace);

/* nn_rnn_activate() - applies an activation (a code of 0 to 6) to n values. */
void nn_rnn_activate(int32_t code, float *values, size_t n, struct nn_pace *pace);

#endif
