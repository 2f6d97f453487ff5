/* SPDX-License-Identifier: Apache-2.0 */
/* smooth.h - the logistic function and tanh of 16-bit codes by a table, of nnhal.tflite
 *
 * As TensorFlow Lite's reference_integer_ops::Logistic and Tanh: the table is of the logistic function
 * in steps of 1/24, between whose entries is interpolated. Codes are brought to steps of 1 / (3 * 4096)
 * first: 512 of them are one of the table. Results have 15 bits of fraction. A table may come from a
 * cache file: any entries are defined. */
#ifndef NN_CPU_KERNELS_SMOOTH_H
#define NN_CPU_KERNELS_SMOOTH_H

#include <math.h>
#include <stdint.h>

enum { NN_SMOOTH_N = 256 };

/* What brings codes to steps of the table: code * multiplier / 2^shift. Multipliers are below 2^16,
 * shifts at most 31. */
struct nn_smooth {
    int32_t multiplier;
    int32_t shift;
};

static inline double nn_smooth_logistic_at(double step)
{
    return 65536.0 / (1.0 + exp(-step / 24.0));
}

/* nn_smooth_fill() - the table. An entry is moved by half of what the function's middle between it and
 * the next one is away from theirs. */
static inline void nn_smooth_fill(uint16_t table[NN_SMOOTH_N])
{
    for (int i = 0; i + 1 < NN_SMOOTH_N; i++) {
        double here = nn_smooth_logistic_at(i);
        double between = (here + nn_smooth_logistic_at(i + 1)) / 2.0;

        table[i] = (uint16_t)round(here + (nn_smooth_logistic_at(i + 0.5) - between) / 2.0);
    }
    table[NN_SMOOTH_N - 1] = UINT16_MAX;
}

/* nn_smooth_rescale() - a code in steps of 1 / (3 * 4096), rounded half up. */
static inline int32_t nn_smooth_rescale(int32_t code, struct nn_smooth smooth)
{
    uint32_t half = smooth.shift ? 1u << ((smooth.shift - 1) & 31) : 0;

    return (int32_t)((uint32_t)code * (uint32_t)smooth.multiplier + half) >> (smooth.shift & 31);
}

/* The table's value at a magnitude, in 2^bits parts of an entry; the last one for what is beyond. */
static inline uint32_t nn_smooth_between(const uint16_t *table, uint32_t magnitude, int bits,
                                         uint32_t last)
{
    uint32_t at = magnitude >> bits, part = magnitude & ((1u << bits) - 1);

    if (at >= NN_SMOOTH_N - 1)
        return last;
    return ((uint32_t)table[at] << bits) + part * ((uint32_t)table[at + 1] - table[at]);
}

/* nn_smooth_logistic() - of x in steps of 1 / (3 * 4096). */
static inline int16_t nn_smooth_logistic(const uint16_t *table, int32_t x)
{
    uint32_t y = nn_smooth_between(table, (uint32_t)(x < 0 ? -(int64_t)x : x), 9, 0x7fffu << 10);

    return (int16_t)((x >= 0 ? y + 512 : (1u << 25) - y + 511) >> 10);
}

/* nn_smooth_tanh() - of x in steps of 1 / (3 * 4096): 2 logistic(2x) - 1. */
static inline int16_t nn_smooth_tanh(const uint16_t *table, int32_t x)
{
    int32_t y = (int32_t)nn_smooth_between(table, (uint32_t)(x < 0 ? -(int64_t)x : x), 8,
                                           0xffffu << 8);

    return (int16_t)((x >= 0 ? y - (1 << 23) + 128 : (1 << 23) - y + 127) >> 8);
}

#endif
