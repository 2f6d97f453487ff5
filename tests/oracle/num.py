# SPDX-License-Identifier: Apache-2.0
"""Numbers as NNAPI's reference has them: exact float32 steps and fixed point.

Python's floats are doubles. A single +, -, *, / or square root of two float32
values, computed in double and rounded once more to float32, is the correctly
rounded float32 result (53 >= 2 * 24 + 2), so f32(a * b) is what a float32
machine computes. Integers are Python's, wrapped by hand where C wraps.
"""

import math
import struct

INT32_MAX, INT32_MIN = 2**31 - 1, -2**31
FLT_MAX = struct.unpack('<f', b'\xff\xff\x7f\x7f')[0]
# Of TENSOR_QUANT8_ASYMM, its signed form, and TENSOR_QUANT16_SYMM.
RANGE = {5: (0, 255), 14: (-128, 127), 7: (-32768, 32767)}


def f32(x):
    """x rounded to float32, half to even; overflow is infinite."""
    try:
        return struct.unpack('<f', struct.pack('<f', x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def f16(x):
    """x rounded to float16, half to even; overflow is infinite."""
    try:
        return struct.unpack('<e', struct.pack('<e', x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def round_away(x):
    """C's round(): to the nearest integer, half away from zero."""
    a = abs(x)
    n = math.floor(a)
    if a - n >= 0.5:
        n += 1
    return -n if x < 0 else n


def clamp(x, low, high):
    return low if x < low else high if x > high else x


def tdiv(a, b):
    """C's integer division, truncated toward zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def wrap32(x):
    return (x + 2**31) % 2**32 - 2**31


def srdhm(a, b):
    """Saturating rounding doubling high multiplication."""
    if a == INT32_MIN and b == INT32_MIN:
        return INT32_MAX
    p = a * b
    return tdiv(p + (2**30 if p >= 0 else 1 - 2**30), 2**31)


def rdp(x, e):
    """Rounding division by 2**e, half away from zero."""
    mask = 2**e - 1
    return (x >> e) + (1 if (x & mask) > (mask >> 1) + (1 if x < 0 else 0) else 0)


def qm(d):
    """A real multiplier as (31-bit integer, power of two)."""
    if d == 0:
        return 0, 0
    q, shift = math.frexp(d)
    m = round_away(q * 2**31)
    if m == 2**31:
        m, shift = 2**30, shift + 1
    return (0, 0) if shift < -31 else (m, shift)


def mbqm(x, m, shift):
    return rdp(srdhm(wrap32(x << max(shift, 0)), m), max(-shift, 0))


def mbqm_once(x, m, shift):
    """The same rounded once, half up."""
    return (x * m + (1 << (30 - shift))) >> (31 - shift)


def mbqm_reduced(x, m, shift):
    """A sum of 64 bits by a multiplier of 15 bits, rounded half up."""
    reduced = (m + 2**15) >> 16 if m < 0x7fff0000 else 0x7fff
    return wrap32((x * reduced + (1 << (14 - shift))) >> (15 - shift))


def shl_sat(x, k):
    return clamp(x << k, INT32_MIN, INT32_MAX)


def radius(integer_bits, left_shift):
    return math.floor((2**integer_bits - 1) * 2**(31 - integer_bits) / 2**left_shift)


def exp_q0(r):
    """e**r for r in [-1/4, 0), Q0."""
    x = r + 2**28
    x2 = srdhm(x, x)
    x3, x4 = srdhm(x2, x), srdhm(x2, x2)
    t = rdp(srdhm(rdp(x4, 2) + x3, 715827883) + x2, 1)
    return 1895147668 + srdhm(1895147668, x + t)


_EXP_FACTORS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)


def exp_negative(a, integer_bits):
    """e**a for a <= 0 with that many integer bits, Q0."""
    if a == 0:
        return INT32_MAX
    fraction_bits = 31 - integer_bits
    unit = 2**(fraction_bits - 2)
    r = (a & (unit - 1)) - unit
    e = exp_q0(shl_sat(r, integer_bits))
    rest = r - a
    for k, factor in enumerate(_EXP_FACTORS, -2):
        if integer_bits > k and rest & 2**(fraction_bits + k):
            e = srdhm(e, factor)
    return e


def newton(a):
    """About 2 / (1 + a) / 2 in Q2, for a in [0, 1) Q0."""
    h = (a + INT32_MAX + 1) // 2
    x = 1515870810 + srdhm(h, -1010580540)
    for _ in range(3):
        x += shl_sat(srdhm(x, 2**29 - srdhm(h, x)), 2)
    return x


def reciprocal(a):
    """1 / (1 + a), Q0."""
    return shl_sat(newton(a), 1)


def logistic_q4(t):
    """The logistic function of t in Q4, as Q0."""
    if t == 0:
        return 2**30
    y = reciprocal(exp_negative(-abs(t), 4))
    return y if t > 0 else INT32_MAX - y


def tanh_q4(t):
    """tanh of t in Q4, as Q0."""
    if t == 0:
        return 0
    y = shl_sat(newton(exp_negative(-abs(t), 5)) - 2**29, 2)
    return y if t > 0 else -y


def quantize(x, scale, zero_point, low, high):
    """A real value as a code: float32 division, then half away from zero."""
    return clamp(round_away(f32(x / scale)) + zero_point, low, high)


def requant(q, scale, zero_point, out_scale, out_zero_point, low, high):
    """A code from one quantization to another."""
    real = f32((q - zero_point) * scale)
    return round_away(clamp(real / out_scale + out_zero_point, low, high))


def activation_bounds(code, type_, scale, zero_point):
    """The codes between which a fused activation clamps."""
    low, high = RANGE[type_]

    def at(x):
        return zero_point + round_away(f32(x / scale))
    if code == 1:
        return max(low, at(0.0)), high
    if code == 2:
        return max(low, at(-1.0)), min(high, at(1.0))
    if code == 3:
        return max(low, at(0.0)), min(high, at(6.0))
    return low, high


def activation_real(code, x):
    """A fused activation of a real value."""
    if code == 1:
        return max(x, 0.0)
    if code == 2:
        return clamp(x, -1.0, 1.0)
    if code == 3:
        return clamp(x, 0.0, 6.0)
    return x
