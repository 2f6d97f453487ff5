/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/quantized-lstm/fixed16.h"

#include <stddef.h>

static int16_t divide_pow2_i16(int16_t x, int exponent)
{
    return (int16_t)nn_rdp64(x, exponent);
}

/* e^x for x in [-1/4, 0), Q0.15: a polynomial around -1/8. */
static int16_t exp_quarter(int16_t a)
{
    int16_t x = (int16_t)(a + 4096);
    int16_t x2 = nn_mul16(x, x), x3 = nn_mul16(x2, x), x4 = nn_mul16(x2, x2);
    int16_t sum = (int16_t)(divide_pow2_i16(x4, 2) + x3);
    int16_t t = divide_pow2_i16((int16_t)(nn_mul16(sum, 10923) + x2), 1);

    return nn_sat16(28918 + nn_mul16(28918, (int16_t)(x + t)));
}

/* e^x for x <= 0, Qn.(15-n) to Q0.15: the quarter's e^x times e^-(2^k) for each
 * bit k of the rest. */
static int16_t exp_negative(int16_t a, int n_integer_bits)
{
    /* e^-(1/4), e^-(1/2), e^-1, ... e^-16 in Q0.15 */
    static const int16_t factors[] = {25520, 19875, 12055, 4435, 600, 11, 0};
    int n_fraction_bits = 15 - n_integer_bits;
    int32_t quarter = 1 << (n_fraction_bits - 2);
    int16_t part = (int16_t)((a & (quarter - 1)) - quarter);
    int32_t rest = part - a;
    int16_t e = exp_quarter(nn_shl16(part, n_integer_bits));

    for (size_t i = 0; i < sizeof(factors) / sizeof(factors[0]); i++) {
        int k = (int)i - 2;

        if (n_integer_bits > k && rest & (1 << (n_fraction_bits + k)))
            e = nn_mul16(e, factors[i]);
    }
    if (n_integer_bits > 5 && a < -(1 << (20 - n_integer_bits)))
        return 0;
    return a == 0 ? INT16_MAX : e;
}

/* 2 / (1 + e) for e in [0, 1] Q0.15, as Q2.13: three Newton steps. */
static int16_t reciprocal_q15(int16_t e)
{
    int32_t sum = (int32_t)e + INT16_MAX;
    int16_t half = (int16_t)((sum + (sum >= 0 ? 1 : -1)) / 2);
    int16_t x = (int16_t)(23130 + nn_mul16(half, -15420));

    for (int i = 0; i < 3; i++)
        x = (int16_t)(x + nn_shl16(nn_mul16(x, (int16_t)(8192 - nn_mul16(half, x))), 2));
    return x;
}

/* The magnitude's opposite: -|x|, which fits for every x. */
static int16_t negative_abs(int16_t x)
{
    return x > 0 ? (int16_t)-x : x;
}

int16_t nn_logistic16(int16_t x)
{
    int16_t y;

    if (x == 0)
        return 16384;
    y = nn_shl16(reciprocal_q15(exp_negative(negative_abs(x), 3)), 1);
    return x > 0 ? y : (int16_t)(INT16_MAX - y);
}

int16_t nn_tanh16(int16_t x, int n_integer_bits)
{
    int16_t y;

    if (x == 0)
        return 0;
    y = nn_shl16(
        (int16_t)(reciprocal_q15(exp_negative(negative_abs(x), n_integer_bits + 1)) - 8192), 2);
    return x > 0 ? y : (int16_t)-y;
}
