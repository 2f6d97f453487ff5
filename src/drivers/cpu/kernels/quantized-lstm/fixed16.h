/* SPDX-License-Identifier: Apache-2.0 */
/* fixed16.h - 16-bit fixed point: logistic and tanh, exactly
 *
 * Qm.n is an int16 with m integer and n fraction bits. These are gemmlowp's
 * functions for 16 bits, which the quantized LSTMs are defined by; every
 * intermediate is an int16, and what does not fit wraps or saturates as there. */
#ifndef NN_CPU_QUANTIZED_LSTM_FIXED16_H
#define NN_CPU_QUANTIZED_LSTM_FIXED16_H

#include "drivers/cpu/kernels/common/fixed-point.h"

/* nn_rdp64() - x / 2^exponent, rounded half away from zero. */
static inline int64_t nn_rdp64(int64_t x, int exponent)
{
    int64_t mask = (INT64_C(1) << exponent) - 1;
    int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);

    return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
}

/* nn_shl16() - x * 2^n, saturating. */
static inline int16_t nn_shl16(int16_t x, int n)
{
    int32_t limit = (1 << (15 - n)) - 1;

    if (x > limit)
        return INT16_MAX;
    if (x < -limit)
        return INT16_MIN;
    return (int16_t)(x * (1 << n));
}

/* nn_logistic16() - Q3.12 to Q0.15. */
int16_t nn_logistic16(int16_t x);

/* nn_tanh16() - Qn.(15-n) to Q0.15; n in [0, 6]. */
int16_t nn_tanh16(int16_t x, int n_integer_bits);

#endif
