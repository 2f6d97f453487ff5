/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/cpu/kernels/common/fixed-math.h"

static int32_t saturate_i32(int64_t x)
{
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x;
}

static int32_t shift_left(int32_t x, int n)
{
    return saturate_i32((int64_t)x * (INT64_C(1) << n));
}

/* e^r for r in [-1/4, 0): a Taylor series around -1/8. */
static int32_t exp_small(int32_t r)
{
    const int32_t e_eighth = 1895147668; /* e^(-1/8) */
    const int32_t third = 715827883;
    int32_t x = r + (1 << 28);
    int32_t x2 = nn_srdhm(x, x);
    int32_t x3 = nn_srdhm(x2, x);
    int32_t x4 = nn_srdhm(x2, x2);
    int32_t t = nn_rdp(nn_srdhm(nn_rdp(x4, 2) + x3, third) + x2, 1);

    return e_eighth + nn_srdhm(e_eighth, x + t);
}

int32_t nn_fx_exp(int32_t a, int integer_bits)
{
    /* e^-(2^k), k from -2 */
    static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                      39332535,   720401,     242};
    int fraction_bits = 31 - integer_bits;
    int32_t quarter = 1 << (fraction_bits - 2);
    int32_t r = (a & (quarter - 1)) - quarter;
    int32_t rest = r - a;
    int32_t e;

    if (a == 0)
        return INT32_MAX;
    e = exp_small(shift_left(r, integer_bits));
    for (int k = -2; k <= 4 && k < integer_bits; k++) {
        if (rest & (1 << (fraction_bits + k)))
            e = nn_srdhm(e, factors[k + 2]);
    }
    return e;
}

/* 2 / (1 + a) as Q2, by Newton's method from 48/17 - 32/17 h. */
static int32_t newton_reciprocal(int32_t a)
{
    int32_t h = (int32_t)(((int64_t)a + INT32_MAX + 1) / 2);
    int32_t x = 1515870810 + nn_srdhm(h, -1010580540);

    for (int i = 0; i < 3; i++)
        x += shift_left(nn_srdhm(x, (1 << 29) - nn_srdhm(h, x)), 2);
    return x;
}

int32_t nn_fx_reciprocal(int32_t a)
{
    return shift_left(newton_reciprocal(a), 1);
}

static int32_t minus_magnitude(int32_t a)
{
    return a < 0 ? a : -a;
}

int32_t nn_fx_logistic(int32_t a)
{
    int32_t y;

    if (a == 0)
        return 1 << 30;
    y = nn_fx_reciprocal(nn_fx_exp(minus_magnitude(a), 4));
    return a > 0 ? y : INT32_MAX - y;
}

int32_t nn_fx_tanh(int32_t a)
{
    int32_t y;

    if (a == 0)
        return 0;
    /* The same bits with one more integer bit are twice the number: e^-2|a|. */
    y = shift_left(newton_reciprocal(nn_fx_exp(minus_magnitude(a), 5)) - (1 << 29), 2);
    return a > 0 ? y : -y;
}

int32_t nn_fx_radius(int integer_bits, int left_shift)
{
    double largest = ((1 << integer_bits) - 1) * ldexp(1.0, 31 - integer_bits);

    return (int32_t)floor(ldexp(largest, -left_shift));
}

void nn_fx_inverse_sqrt(int64_t sum, int32_t *ret_mantissa, int *ret_right_shift)
{
    const int32_t three_halves = (1 << 28) + (1 << 27);
    const int32_t half_sqrt_2 = 1518500250;
    int32_t half, x = 1 << 28;
    int shift = 11, pairs;

    *ret_mantissa = INT32_MAX;
    *ret_right_shift = 0;
    if (sum <= 1)
        return;
    for (; sum >= 1 << 29; sum /= 4)
        shift++;
    pairs = (__builtin_clz((uint32_t)sum) - 1) / 2 - 1;
    shift -= pairs;
    half = nn_rdp((int32_t)(sum << (2 * pairs)) >> 1, 1);
    for (int i = 0; i < 5; i++) {
        int32_t cube = shift_left(nn_srdhm(nn_srdhm(x, x), x), 6);

        x = shift_left(nn_srdhm(three_halves, x) - nn_srdhm(half, cube), 3);
    }
    x = nn_srdhm(x, half_sqrt_2);
    if (shift < 0) {
        x = nn_shl_wrap(x, -shift);
        shift = 0;
    }
    *ret_mantissa = x;
    *ret_right_shift = shift;
}
