# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparison and logic of two broadcast operands; one-operand functions."""

import math

import nnt
from case import FLOATS, QUANTS, broadcast_dims, broadcast_offset, count, indices, operation, ranks_of
from num import (RANGE, activation_bounds, activation_real, clamp, f32, mbqm, qm, quantize, rdp,
                 requant, round_away, srdhm, wrap32)


def pairs(a, b):
    """The broadcast shape, and for each of its elements the two operands' elements."""
    dims = broadcast_dims(a.dims, b.dims)
    return dims, [(a.values[broadcast_offset(a.dims, i)], b.values[broadcast_offset(b.dims, i)])
                  for i in indices(dims)]


def divide_floor(a, b):
    """The reference's integer division; INT32_MIN / -1 wraps, division by 0 gives 0."""
    if b == 0:
        return 0
    return wrap32(a // b)


FLOAT_OPS = {'ADD': lambda a, b: a + b, 'SUB': lambda a, b: a - b, 'MUL': lambda a, b: a * b,
             'DIV': lambda a, b: a / b}
INT_OPS = {'ADD': lambda a, b: wrap32(a + b), 'SUB': lambda a, b: wrap32(a - b),
           'MUL': lambda a, b: wrap32(a * b), 'DIV': divide_floor}


def add_quantized(a, b, qa, qb, out_scale, out_zero, sign):
    """ADD (sign 1) and SUB (-1, which negates a multiplier) of two codes, before the clamp."""
    twice = 2 * max(a.scale, b.scale)
    (ma, sa), (mb, sb) = qm(a.scale / twice), qm(b.scale / twice)
    mo, so = qm(twice / (2**20 * out_scale))
    ra = rdp(srdhm((qa - a.zero_point) << 20, ma), -sa)
    rb = rdp(srdhm((qb - b.zero_point) << 20, sign * mb), -sb)
    return rdp(srdhm(ra + rb, mo), -so) + out_zero


def mul_quantized(a, b, qa, qb, out_scale, out_zero):
    m, shift = qm(f32(a.scale * b.scale) / out_scale)
    return rdp(srdhm((qa - a.zero_point) * (qb - b.zero_point), m), -shift) + out_zero


@operation('ADD', 'SUB', 'MUL', 'DIV', 'TFLITE_DIV')
def arithmetic(case, full_name):
    name, (low_rank, high_rank) = full_name.removeprefix('TFLITE_'), ranks_of(full_name)
    type_ = case.choose(*(FLOATS + (nnt.I32,) + (() if name == 'DIV' else QUANTS)))
    dims_a, dims_b = case.broadcast_pair(high_rank, low_rank)
    wide = 2**31 - 1 if case.coin(0.3) and type_ == nnt.I32 else 100
    low, high = (-wide, wide) if type_ == nnt.I32 else (-4.0, 4.0)
    a = case.tensor(type_, dims_a, low=low, high=high)
    b_values = None
    if name == 'DIV':  # the divisor stays away from 0, where the result is undefined
        b_values = [case.choose(-1, 1) * v for v in case.values(type_, count(dims_b), 1, high)]
    b = case.tensor(type_, dims_b, b_values, low=low, high=high)
    act = 0 if type_ == nnt.I32 else case.between(0, 3)
    scalar = case.i32(act)
    dims, both = pairs(a, b)
    scale, zero = 0.0, 0
    if type_ in QUANTS:
        zero = case.zero_point(type_)
        scale = case.scale(0.004, 0.3)
        if name == 'MUL':
            scale = f32(f32(a.scale * b.scale) * case.rng.uniform(1.1, 200.0))
        low, high = activation_bounds(act, type_, scale, zero)
        if name == 'MUL':
            values = [clamp(mul_quantized(a, b, x, y, scale, zero), low, high) for x, y in both]
        else:
            sign = 1 if name == 'ADD' else -1
            values = [clamp(add_quantized(a, b, x, y, scale, zero, sign), low, high) for x, y in both]
    elif type_ == nnt.I32:
        values = [INT_OPS[name](x, y) for x, y in both]
    else:
        values = [activation_real(act, f32(FLOAT_OPS[name](x, y))) for x, y in both]
    out = case.output(type_, dims, values, scale, zero)
    return case.model(full_name, [a, b, scalar], [out])


@operation('MAXIMUM', 'MINIMUM')
def extreme(case, name):
    type_ = case.choose(*(FLOATS + QUANTS + (nnt.I32,)))
    dims_a, dims_b = case.broadcast_pair(6)
    low, high = (-2**31, 2**31 - 1) if type_ == nnt.I32 else (-4.0, 4.0)
    a = case.tensor(type_, dims_a, low=low, high=high)
    b = case.tensor(type_, dims_b, low=low, high=high)
    pick = max if name == 'MAXIMUM' else min
    dims, both = pairs(a, b)
    scale, zero = 0.0, 0
    if type_ in QUANTS:
        scale, zero = case.scale(), case.zero_point(type_)
        both = [(requant(x, a.scale, a.zero_point, scale, zero, *RANGE[type_]),
                 requant(y, b.scale, b.zero_point, scale, zero, *RANGE[type_])) for x, y in both]
    out = case.output(type_, dims, [pick(x, y) for x, y in both], scale, zero)
    return case.model(name, [a, b], [out])


@operation('POW')
def power(case, name):
    type_ = case.choose(*FLOATS)
    dims_a, dims_b = case.broadcast_pair(6)
    a = case.tensor(type_, dims_a, low=0.1, high=3.0)
    whole = case.coin(0.3)
    values = [float(case.between(-3, 3)) for _ in range(count(dims_b))] if whole else None
    b = case.tensor(type_, dims_b, values, low=-3.0, high=3.0)
    dims, both = pairs(a, b)
    return case.model(name, [a, b], [case.output(type_, dims, [f32(x**y) for x, y in both])])


@operation('PRELU')
def prelu(case, name):
    type_ = case.choose(*(FLOATS + QUANTS))
    dims_a, dims_b = case.broadcast_pair()
    a, b = case.tensor(type_, dims_a), case.tensor(type_, dims_b)
    dims, both = pairs(a, b)
    if type_ in FLOATS:
        values = [x if x >= 0 else f32(x * y) for x, y in both]
        return case.model(name, [a, b], [case.output(type_, dims, values)])
    scale, zero = case.scale(), case.zero_point(type_)
    positive = qm(f32(a.scale / scale))
    negative = qm(f32(a.scale * b.scale) / scale)

    def one(qa, qb):
        v = qa - a.zero_point
        r = mbqm(v, *positive) if v >= 0 else mbqm(v * (qb - b.zero_point), *negative)
        return clamp(r + zero, *RANGE[type_])
    return case.model(name, [a, b], [case.output(type_, dims, [one(x, y) for x, y in both], scale, zero)])


COMPARE = {'EQUAL': lambda a, b: a == b, 'NOT_EQUAL': lambda a, b: a != b,
           'GREATER': lambda a, b: a > b, 'GREATER_EQUAL': lambda a, b: a >= b,
           'LESS': lambda a, b: a < b, 'LESS_EQUAL': lambda a, b: a <= b}


@operation(*COMPARE)
def comparison(case, name):
    type_ = case.choose(*(FLOATS + QUANTS + (nnt.I32, nnt.B8)))
    dims_a, dims_b = case.broadcast_pair(6)
    shared = [case.values(type_, 6, -3, 3)[0] for _ in range(6)]  # few values, so that some are equal
    a = case.tensor(type_, dims_a, [case.choose(*shared) for _ in range(count(dims_a))])
    same = case.coin()
    b = case.tensor(type_, dims_b, [case.choose(*shared) for _ in range(count(dims_b))],
                    a.scale if same else None, a.zero_point if same else None)
    dims = broadcast_dims(a.dims, b.dims)
    ra, rb = a.real(), b.real()
    values = [int(COMPARE[name](ra[broadcast_offset(a.dims, i)], rb[broadcast_offset(b.dims, i)]))
              for i in indices(dims)]
    return case.model(name, [a, b], [case.output(nnt.B8, dims, values)])


@operation('LOGICAL_AND', 'LOGICAL_OR')
def logical(case, name):
    a, b = (case.tensor(nnt.B8, dims) for dims in case.broadcast_pair(6))
    dims, both = pairs(a, b)
    values = [x & y if name == 'LOGICAL_AND' else x | y for x, y in both]
    return case.model(name, [a, b], [case.output(nnt.B8, dims, values)])


@operation('LOGICAL_NOT')
def logical_not(case, name):
    a = case.tensor(nnt.B8, case.shape(1, 6))
    return case.model(name, [a], [case.output(nnt.B8, a.dims, [1 - v for v in a.values])])


# function, least and greatest argument, largest rank
FUNCTIONS = {'ABS': (abs, -9.0, 9.0, 6), 'EXP': (math.exp, -6.0, 3.0, 6),
             'FLOOR': (math.floor, -9.0, 9.0, 4), 'LOG': (math.log, 0.01, 50.0, 6),
             'NEG': (lambda x: -x, -9.0, 9.0, 6), 'RSQRT': (lambda x: 1 / math.sqrt(x), 0.02, 50.0, 6),
             'SIN': (math.sin, -9.0, 9.0, 6), 'SQRT': (math.sqrt, 0.0, 50.0, 6)}


@operation(*FUNCTIONS)
def unary(case, name):
    function, low, high, rank = FUNCTIONS[name]
    types = FLOATS + ((nnt.I32,) if name in ('ABS', 'NEG') else ()) + (QUANTS if name == 'RSQRT' else ())
    type_ = case.choose(*types)
    if type_ == nnt.I32:
        low, high = -2**31 + 1, 2**31 - 1
    a = case.tensor(type_, case.shape(1, rank), low=low, high=high)
    if type_ not in QUANTS:
        values = [function(v) for v in a.values]
        if type_ == nnt.F32:
            values = [f32(v) for v in values]
        return case.model(name, [a], [case.output(type_, a.dims, values)])
    scale, zero = case.scale(), case.zero_point(type_)
    lo, hi = RANGE[type_]

    # TensorFlow Lite's way: the root of the code in steps of 2^-20, times the scales' multiplier.
    m, shift = qm(1 / f32(f32(math.sqrt(a.scale)) * f32(scale)))

    def one(q):
        if q <= a.zero_point:
            return hi
        inverse = round_away(2**20 / math.sqrt(q - a.zero_point))
        return clamp(mbqm(inverse, m, shift - 20) + zero, lo, hi)
    out = case.output(type_, a.dims, [one(q) for q in a.values], scale, zero)
    return case.model(name, [a], [out])


@operation('QUANTIZE')
def quantize_operation(case, name):
    type_, to = case.choose(*FLOATS), case.choose(*QUANTS)
    a = case.tensor(type_, case.shape(1, 6), low=-6.0, high=6.0)
    scale, zero = case.scale(), case.zero_point(to)
    values = [quantize(v, scale, zero, *RANGE[to]) for v in a.values]
    return case.model(name, [a], [case.output(to, a.dims, values, scale, zero)])


@operation('DEQUANTIZE')
def dequantize_operation(case, name):
    type_, to = case.choose(nnt.Q8, nnt.Q8S, nnt.Q8Y, nnt.QPC), case.choose(*FLOATS)
    dims = case.shape()
    if type_ == nnt.QPC:
        axis = case.between(0, len(dims) - 1)
        a = case.per_channel(dims, axis)
        values = [f32(v * a.channel_scales[i[axis]]) for i, v in zip(indices(dims), a.values)]
    else:
        a = case.tensor(type_, dims, scale=case.scale())
        values = a.real()
    return case.model(name, [a], [case.output(to, dims, values)])


@operation('CAST')
def cast(case, name):
    dims = case.shape(1, 6)
    if case.coin(0.2):
        type_ = case.choose(nnt.B8, nnt.Q16A, nnt.Q16Y, nnt.Q8S, nnt.Q8Y)
        a = case.tensor(type_, dims, scale=0.0 if type_ == nnt.B8 else 0.5)
        return case.model(name, [a], [case.output(type_, dims, a.values, a.scale, a.zero_point)])
    type_, to = case.choose(nnt.F32, nnt.F16, nnt.I32, nnt.Q8), case.choose(nnt.F32, nnt.F16, nnt.I32, nnt.Q8)
    a = case.tensor(type_, dims, low=-300, high=300)
    if to == nnt.I32:
        values = [math.trunc(v) for v in a.values]
    elif to == nnt.Q8:
        values = [clamp(math.trunc(v), 0, 255) for v in a.values]
    else:
        values = [float(v) for v in a.values]
    scale = case.scale() if to == nnt.Q8 else 0.0
    return case.model(name, [a], [case.output(to, dims, values, scale, 0)])
